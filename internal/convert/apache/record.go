// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strings"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// FromStatus reads the record from the status that ToStatus or Apache's operator wrote.
func FromStatus(o *v1.SparkApplication) lifecycle.Record {
	s := &o.Status
	if s.Details == nil {
		return takeOver(o)
	}
	d := details(s)
	r := kubeflow.FromStatus(&d)
	r.Progress = progressOf(s)
	refine(&r, s)
	info := currentAttempt(s)
	if p := s.PreviousAttemptSummary; shownNext(s, &r) && p != nil && p.AttemptInfo != nil {
		info = *p.AttemptInfo
	}
	r.Retries.Counters = counters(info)
	return r
}

// refine replaces times in whole seconds with the exact times of states, because waits and timeouts have milliseconds.
func refine(r *lifecycle.Record, s *v1.SparkApplicationStatus) {
	exact := func(t *time.Time, of time.Time) {
		if of.Truncate(time.Second).Equal(*t) {
			*t = of
		}
	}
	exact(&r.SubmittedAt, reached(s, v1.StateDriverRequested))
	ended := instantOf(outcomeOf(s).LastTransitionTime)
	exact(&r.TerminatedAt, ended)
	if a := r.Current(); a != nil {
		exact(&a.EndedAt, ended)
	}
}

func currentAttempt(s *v1.SparkApplicationStatus) v1.AttemptInfo {
	if c := s.CurrentAttemptSummary; c != nil && c.AttemptInfo != nil {
		return *c.AttemptInfo
	}
	return v1.AttemptInfo{}
}

// countable bounds a stored counter, so that incrementing it does not overflow.
func countable(n int64) int64 { return min(max(0, n), 1<<30) }

func counters(info v1.AttemptInfo) lifecycle.Counters {
	return lifecycle.Counters{
		Restarts: countable(info.RestartCounter), Failures: countable(info.FailureRestartCounter), Submissions: countable(info.SchedulingFailureRestartCounter),
	}
}

// reached returns when an attempt reached a state; zero if it has not.
func reached(s *v1.SparkApplicationStatus, state v1.ApplicationStateSummary) time.Time {
	var last time.Time
	for _, h := range s.StateTransitionHistory {
		if t := instantOf(h.LastTransitionTime); h.CurrentStateSummary == state && t.After(last) {
			last = t
		}
	}
	return last
}

// progressOf reads the progress of a run from its history.
func progressOf(s *v1.SparkApplicationStatus) lifecycle.Progress {
	if s.CurrentState == nil || !requested(s.CurrentState.CurrentStateSummary) {
		return lifecycle.Progress{}
	}
	var p lifecycle.Progress
	now := s.CurrentState
	if !before(now.CurrentStateSummary, v1.StateDriverStarted) {
		p.StartedAt = reached(s, v1.StateDriverStarted)
	}
	if !before(now.CurrentStateSummary, v1.StateDriverReady) {
		p.ReadyAt = reached(s, v1.StateDriverReady)
	}
	for capacity, c := range capacities {
		if c.state == now.CurrentStateSummary {
			p.Capacity, p.CapacityAt = capacity, instantOf(now.LastTransitionTime)
		}
	}
	return p
}

// takeOver reads the status that Apache's operator wrote. Running objects keep their names.
func takeOver(o *v1.SparkApplication) lifecycle.Record {
	s := &o.Status
	info := currentAttempt(s)
	attempt := int32(countable(info.ID)) + 1
	r := lifecycle.Record{Attempt: attempt, Retries: lifecycle.Retries{Counters: counters(info)}}
	if s.CurrentState == nil {
		return r
	}
	at, since := s.CurrentState.CurrentStateSummary, instantOf(s.CurrentState.LastTransitionTime)
	r.Progress = progressOf(s)
	id := Identity(o, attempt, time.Time{})
	driven := func(state lifecycle.State) {
		r.State, r.Executions, r.Submissions = state, attempt, attempt
		r.SubmissionID, r.SparkAppID, r.DriverName = id.SubmissionID, id.AppID, driverName(o, id)
		r.SubmittedAt = reached(s, v1.StateDriverRequested)
		r.Attempts = []lifecycle.Attempt{{Number: attempt, SubmissionID: id.SubmissionID, StartedAt: reached(s, v1.StateDriverStarted)}}
	}
	end := func(state lifecycle.State, of v1.ApplicationState) {
		driven(state)
		r.TerminatedAt = instantOf(of.LastTransitionTime)
		a := &r.Attempts[0]
		a.EndedAt = r.TerminatedAt
		if of.CurrentStateSummary != v1.StateSucceeded {
			a.Class, a.Cause = endedBy(of)
			r.Cause = a.Cause
		}
	}
	switch {
	case at == v1.StateSubmitted:
	case at == v1.StateScheduledToRestart:
		r.State, r.Executions = lifecycle.Rerunning, attempt-1
		r.QueuedAt = since
	case at == v1.StateDriverRequested:
		driven(lifecycle.Submitted)
	case requested(at):
		driven(lifecycle.Running)
	case at == v1.StateSuspended:
		driven(lifecycle.Suspending)
	case at == v1.StateSchedulingFailure:
		r.State, r.TerminatedAt, r.SubmittedAt = lifecycle.SubmissionFailed, since, since
		r.Cause = lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: firstLine(s.CurrentState.Message)}
	case stopping(at):
		state := lifecycle.Failing
		if at == v1.StateSucceeded {
			state = lifecycle.Succeeding
		}
		end(state, *s.CurrentState)
	case terminated(at):
		of := outcomeOf(s)
		state := lifecycle.Failed
		if of.CurrentStateSummary == v1.StateSucceeded {
			state = lifecycle.Succeeded
		}
		end(state, of)
		r.Released.DriverPod = at == v1.StateResourceReleased
	}
	return r
}

// outcomeOf returns the final state of the last attempt that ended, or else the current state.
func outcomeOf(s *v1.SparkApplicationStatus) v1.ApplicationState {
	histories := []map[string]v1.ApplicationState{s.StateTransitionHistory}
	if p := s.PreviousAttemptSummary; p != nil {
		histories = append(histories, p.StateTransitionHistory)
	}
	for _, history := range histories {
		ends := map[string]v1.ApplicationState{}
		for key, state := range history {
			if stopping(state.CurrentStateSummary) {
				ends[key] = state
			}
		}
		if last, _ := lastOf(ends); last != nil {
			return *last
		}
	}
	return ptr.Deref(s.CurrentState, v1.ApplicationState{})
}

// failuresOf maps the state of a failure to its class and reason.
var failuresOf = map[v1.ApplicationStateSummary]struct {
	class  lifecycle.FailureClass
	reason lifecycle.Reason
}{
	v1.StateDriverStartTimedOut:    {lifecycle.StartTimeout, lifecycle.ReasonStartTimeout},
	v1.StateExecutorsStartTimedOut: {lifecycle.StartTimeout, lifecycle.ReasonExecutorsTimeout},
	v1.StateDriverReadyTimedOut:    {lifecycle.Deadline, lifecycle.ReasonNotReadyTimeout},
	v1.StateDriverEvicted:          {lifecycle.Infrastructure, lifecycle.ReasonDriverEvicted},
	v1.StateSchedulingFailure:      {lifecycle.Submission, lifecycle.ReasonSubmissionRefused},
}

// endedBy returns the class and the cause of an attempt's failure.
func endedBy(s v1.ApplicationState) (lifecycle.FailureClass, lifecycle.Cause) {
	f, known := failuresOf[s.CurrentStateSummary]
	if !known {
		f.class, f.reason = lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed
	}
	return f.class, lifecycle.Cause{Reason: f.reason, Message: firstLine(s.Message)}
}

// firstLine returns a message without the stack trace that Apache's operator appends.
func firstLine(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return line
}

// driverName returns the name of an attempt's driver.
func driverName(o *v1.SparkApplication, id spark.Identity) string {
	app, _ := Normalize(o)
	return spark.DriverName(app, id)
}
