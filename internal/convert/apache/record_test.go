// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// minute is a time of a test: so many minutes after noon.
func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// cameTo is the status of an application under Apache's operator that came to a state each minute, in its second attempt.
func cameTo(states ...v1.ApplicationStateSummary) v1.SparkApplicationStatus {
	s := v1.SparkApplicationStatus{
		StateTransitionHistory: map[string]v1.ApplicationState{},
		CurrentAttemptSummary:  &v1.AttemptSummary{AttemptInfo: &v1.AttemptInfo{ID: 1, RestartCounter: 1, FailureRestartCounter: 2, SchedulingFailureRestartCounter: 3}},
	}
	for i, state := range states {
		entry := v1.ApplicationState{CurrentStateSummary: state, LastTransitionTime: instant(minute(i)), Message: "said\n\tat java"}
		s.StateTransitionHistory[strconv.Itoa(i)], s.CurrentState = entry, &entry
	}
	return s
}

// What Apache's operator has stored is read as a whole: what runs is found, waits go on since they began, and counters stay.
func TestRecordsThatAreTakenOver(t *testing.T) {
	read := func(change func(*lifecycle.Record)) lifecycle.Record {
		r := lifecycle.Record{Attempt: 2, Retries: lifecycle.Retries{Counters: lifecycle.Counters{Restarts: 1, Failures: 2, Submissions: 3}}}
		if change != nil {
			change(&r)
		}
		return r
	}
	driven := func(state lifecycle.State, change func(*lifecycle.Record)) lifecycle.Record {
		return read(func(r *lifecycle.Record) {
			r.State, r.Executions, r.Submissions, r.SubmissionID, r.SparkAppID, r.DriverName = state, 2, 2, "demo-1", "demo-1", "demo-1-driver"
			r.Attempts = []lifecycle.Attempt{{Number: 2, SubmissionID: "demo-1"}}
			if change != nil {
				change(r)
			}
		})
	}
	run := []v1.ApplicationStateSummary{v1.StateSubmitted, v1.StateDriverRequested, v1.StateDriverStarted, v1.StateDriverReady}
	requested := func(r *lifecycle.Record) { r.SubmittedAt = minute(1) }
	started := func(r *lifecycle.Record) {
		requested(r)
		r.Attempts[0].StartedAt, r.Progress.StartedAt = minute(2), minute(2)
	}
	ready := func(r *lifecycle.Record) { started(r); r.Progress.ReadyAt = minute(3) }
	capacity := func(c lifecycle.Capacity) func(*lifecycle.Record) {
		return func(r *lifecycle.Record) { ready(r); r.Progress.Capacity, r.Progress.CapacityAt = c, minute(4) }
	}
	ended := func(class lifecycle.FailureClass, reason lifecycle.Reason) func(*lifecycle.Record) {
		return func(r *lifecycle.Record) {
			ready(r)
			r.Progress, r.TerminatedAt, r.Attempts[0].EndedAt = lifecycle.Progress{}, minute(4), minute(4)
			if reason != "" {
				r.Cause = lifecycle.Cause{Reason: reason, Message: "said"}
				r.Attempts[0].Class, r.Attempts[0].Cause = class, r.Cause
			}
		}
	}
	released := func(r *lifecycle.Record) { ended("", "")(r); r.Released.DriverPod = true }
	after := func(more ...v1.ApplicationStateSummary) []v1.ApplicationStateSummary {
		return append(run[:4:4], more...)
	}
	cases := map[string]struct {
		reason string
		states []v1.ApplicationStateSummary
		want   lifecycle.Record
	}{
		"None":          {reason: "nothing was done", want: read(nil)},
		"Submitted":     {reason: "nothing runs yet", states: run[:1], want: read(nil)},
		"Requested":     {reason: "its start is bounded since then", states: run[:2], want: driven(lifecycle.Submitted, requested)},
		"Started":       {reason: "so is its readiness", states: run[:3], want: driven(lifecycle.Running, started)},
		"Ready":         {reason: "and its executors", states: run, want: driven(lifecycle.Running, ready)},
		"Below":         {reason: "too few executors yet", states: after(v1.StateInitializedBelowThresholdExecutors), want: driven(lifecycle.Running, capacity(lifecycle.CapacityBelowInitial))},
		"Healthy":       {reason: "all are there", states: after(v1.StateRunningHealthy), want: driven(lifecycle.Running, capacity(lifecycle.CapacityFull))},
		"Partial":       {reason: "enough are there", states: after(v1.StateRunningWithPartialCapacity), want: driven(lifecycle.Running, capacity(lifecycle.CapacityPartial))},
		"Few":           {reason: "too few are left", states: after(v1.StateRunningWithBelowThresholdExecutors), want: driven(lifecycle.Running, capacity(lifecycle.CapacityBelowMin))},
		"Suspended":     {reason: "what is left of it is deleted", states: after(v1.StateSuspended), want: driven(lifecycle.Suspending, func(r *lifecycle.Record) { ready(r); r.Progress = lifecycle.Progress{} })},
		"Scheduled":     {reason: "its wait goes on", states: after(v1.StateScheduledToRestart), want: read(func(r *lifecycle.Record) { r.State, r.Executions, r.QueuedAt = lifecycle.Rerunning, 1, minute(4) })},
		"Succeeded":     {reason: "nothing was wrong", states: after(v1.StateSucceeded), want: driven(lifecycle.Succeeding, ended("", ""))},
		"Failed":        {reason: "a stack trace is no message", states: after(v1.StateFailed), want: driven(lifecycle.Failing, ended(lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed))},
		"StartTimeout":  {reason: "an infrastructure's failure", states: after(v1.StateDriverStartTimedOut), want: driven(lifecycle.Failing, ended(lifecycle.StartTimeout, lifecycle.ReasonStartTimeout))},
		"NoExecutors":   {reason: "so is this", states: after(v1.StateExecutorsStartTimedOut), want: driven(lifecycle.Failing, ended(lifecycle.StartTimeout, lifecycle.ReasonExecutorsTimeout))},
		"ReadyTimeout":  {reason: "the program did not get ready", states: after(v1.StateDriverReadyTimedOut), want: driven(lifecycle.Failing, ended(lifecycle.Deadline, lifecycle.ReasonNotReadyTimeout))},
		"DriverEvicted": {reason: "its node is the reason", states: after(v1.StateDriverEvicted), want: driven(lifecycle.Failing, ended(lifecycle.Infrastructure, lifecycle.ReasonDriverEvicted))},
		"Refused": {
			reason: "there is no driver", states: []v1.ApplicationStateSummary{v1.StateSubmitted, v1.StateSchedulingFailure}, want: read(func(r *lifecycle.Record) {
				r.State, r.TerminatedAt, r.SubmittedAt, r.Cause = lifecycle.SubmissionFailed, minute(1), minute(1), lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: "said"}
			}),
		},
		"Released": {reason: "it ended when its driver did", states: after(v1.StateSucceeded, v1.StateResourceReleased), want: driven(lifecycle.Succeeded, released)},
		"Retained": {reason: "its driver is there", states: after(v1.StateFailed, v1.StateTerminatedWithoutReleaseResources), want: driven(lifecycle.Failed, ended(lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := own(nil).app
			o.Status = cameTo(tc.states...)
			if diff := cmp.Diff(tc.want, FromStatus(o)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// How an application ended is looked for in the attempt before, too, where the history of the last one is lost.
func TestEndsOfTheAttemptBefore(t *testing.T) {
	failed := v1.ApplicationState{CurrentStateSummary: v1.StateFailed, LastTransitionTime: instant(minute(1)), Message: "said"}
	released := v1.ApplicationState{CurrentStateSummary: v1.StateResourceReleased, LastTransitionTime: instant(minute(2))}
	succeeded := v1.ApplicationState{CurrentStateSummary: v1.StateSucceeded, LastTransitionTime: instant(minute(1))}
	before := &v1.AttemptSummary{StateTransitionHistory: map[string]v1.ApplicationState{"1": failed}}
	for name, tc := range map[string]struct {
		reason string
		status v1.SparkApplicationStatus
		want   v1.ApplicationState
	}{
		"Current":  {reason: "the last attempt has an end", status: v1.SparkApplicationStatus{StateTransitionHistory: map[string]v1.ApplicationState{"2": succeeded, "3": released}, PreviousAttemptSummary: before, CurrentState: &released}, want: succeeded},
		"Last":     {reason: "one history may have the ends of all attempts", status: v1.SparkApplicationStatus{StateTransitionHistory: map[string]v1.ApplicationState{"9": succeeded, "10": failed}, CurrentState: &released}, want: failed},
		"Previous": {reason: "it has none", status: v1.SparkApplicationStatus{StateTransitionHistory: map[string]v1.ApplicationState{"2": released}, PreviousAttemptSummary: before, CurrentState: &released}, want: failed},
		"Nowhere":  {reason: "what it is now is all that is known", status: v1.SparkApplicationStatus{CurrentState: &released}, want: released},
		"Nothing":  {reason: "it has no status"},
	} {
		if diff := cmp.Diff(tc.want, outcomeOf(&tc.status)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// Times of the details have whole seconds; waits go on from the exact ones of the states, if those are of the same end.
func TestTimesAreExact(t *testing.T) {
	whole := func(t time.Time) time.Time { return t.Truncate(time.Second) }
	for name, tc := range map[string]struct {
		reason string
		moved  time.Duration
		want   [3]time.Time
	}{
		"Same":  {reason: "the states are of this attempt", want: [3]time.Time{minute(1), minute(4), minute(4)}},
		"Other": {reason: "they are of another", moved: time.Second, want: [3]time.Time{whole(minute(1)).Add(time.Second), whole(minute(4)).Add(time.Second), whole(minute(4)).Add(time.Second)}},
	} {
		s := cameTo(v1.StateSubmitted, v1.StateDriverRequested, v1.StateDriverStarted, v1.StateDriverReady, v1.StateFailed)
		at := func(n int) time.Time { return whole(minute(n)).Add(tc.moved) }
		r := lifecycle.Record{Attempt: 1, Executions: 1, SubmittedAt: at(1), TerminatedAt: at(4), Attempts: []lifecycle.Attempt{{Number: 1, EndedAt: at(4)}}}
		refine(&r, &s)
		if diff := cmp.Diff(tc.want, [3]time.Time{r.SubmittedAt, r.TerminatedAt, r.Attempts[0].EndedAt}); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
