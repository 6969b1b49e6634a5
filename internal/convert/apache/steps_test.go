// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// told is what of a state users and tools read.
func told(state v1.ApplicationStateSummary, message string) v1.ApplicationState {
	return v1.ApplicationState{CurrentStateSummary: state, Message: message, LastTransitionTime: noonText}
}

// attemptOne is the record of a first attempt that got a driver.
func attemptOne(state lifecycle.State, changes ...func(*lifecycle.Record)) lifecycle.Record {
	r := lifecycle.Record{State: state, Attempt: 1, Submissions: 1, Executions: 1, Attempts: []lifecycle.Attempt{{Number: 1}}}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// because is why an attempt ended.
func because(class lifecycle.FailureClass, reason lifecycle.Reason) func(*lifecycle.Record) {
	return func(r *lifecycle.Record) {
		r.Cause = lifecycle.Cause{Reason: reason, Message: "why"}
		r.Attempts[0].Class, r.Attempts[0].Cause = class, r.Cause
	}
}

func withoutDriver(r *lifecycle.Record) { r.Attempts, r.Executions, r.Cause.Message = nil, 0, "why" }

// stateCase is an application in a state, what has become of it since, and the states that are added.
type stateCase struct {
	reason    string
	at        v1.ApplicationStateSummary
	spec      string
	record    lifecycle.Record
	driver    lifecycle.Driver
	following *lifecycle.Counters
	want      []v1.ApplicationState
}

func (tc stateCase) run(t *testing.T) {
	t.Helper()
	o := own(nil).app
	if err := yaml.UnmarshalStrict([]byte(tc.spec), &o.Spec); err != nil {
		t.Fatal(err)
	}
	if tc.at != "" {
		s := told(tc.at, "")
		o.Status.CurrentState, o.Status.StateTransitionHistory = &s, map[string]v1.ApplicationState{"0": s}
	}
	next, _ := SparkApplications{KeepHistory: true}.ToStatus(o, lifecycle.Outcome{Record: tc.record, Driver: tc.driver, Following: tc.following}, noon)
	if tc.at != "" {
		delete(next.Status.StateTransitionHistory, "0")
	}
	var got []v1.ApplicationState
	for _, key := range keysOf(next.Status.StateTransitionHistory) {
		got = append(got, next.Status.StateTransitionHistory[key])
	}
	if diff := cmp.Diff(tc.want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
	}
}

// A driver is followed to where it has come, and each state that it has come to is told once, and in words.
func TestStatesOfARun(t *testing.T) {
	submitted, requested := told(v1.StateSubmitted, "the application is known to the operator"), told(v1.StateDriverRequested, "the driver pod was created")
	started, ready := told(v1.StateDriverStarted, "the driver's container is ready"), told(v1.StateDriverReady, "the driver pod is ready")
	progress := func(c lifecycle.Capacity) func(*lifecycle.Record) {
		return func(r *lifecycle.Record) {
			r.Progress = lifecycle.Progress{StartedAt: noon, ReadyAt: noon, Capacity: c}
		}
	}
	starts := func(r *lifecycle.Record) { r.Progress.StartedAt = noon }
	again := told(v1.StateScheduledToRestart, "the application runs again")
	suspended := told(v1.StateSuspended, "spec.suspend is true: the driver is stopped")
	suspended.SuspendReason = v1.SuspendedBySpec
	heldBack := lifecycle.Record{State: lifecycle.Queued, Cause: lifecycle.Cause{Reason: lifecycle.ReasonSuspended}}
	list := func(all ...v1.ApplicationState) []v1.ApplicationState { return all }
	for name, tc := range map[string]stateCase{
		"New":       {reason: "nothing is decided", record: lifecycle.Record{State: lifecycle.New}},
		"HeldBack":  {reason: "it is suspended before it began", record: heldBack},
		"Queued":    {reason: "it is known", record: lifecycle.Record{State: lifecycle.Queued}, want: list(submitted)},
		"Waits":     {reason: "it is told already", at: v1.StateSubmitted, record: lifecycle.Record{State: lifecycle.Queued}},
		"Requested": {reason: "two states in one step", record: attemptOne(lifecycle.Submitted), want: list(submitted, requested)},
		"Started":   {reason: "its container is ready before the pod is", at: v1.StateDriverRequested, record: attemptOne(lifecycle.Running, starts), want: list(started)},
		"Ready":     {reason: "executors are not seen yet", at: v1.StateDriverStarted, record: attemptOne(lifecycle.Running, progress(lifecycle.CapacityUnknown)), want: list(ready)},
		"Below": {
			reason: "executors come one by one", at: v1.StateDriverReady, record: attemptOne(lifecycle.Running, progress(lifecycle.CapacityBelowInitial)),
			want: list(told(v1.StateInitializedBelowThresholdExecutors, "fewer executors are ready than initExecutors")),
		},
		"All":     {reason: "all in one step", at: v1.StateDriverRequested, record: attemptOne(lifecycle.Running, progress(lifecycle.CapacityFull)), want: list(started, ready, told(v1.StateRunningHealthy, "the application runs"))},
		"Same":    {reason: "nothing is new", at: v1.StateRunningHealthy, record: attemptOne(lifecycle.Running, progress(lifecycle.CapacityFull))},
		"Partial": {reason: "some are lost", at: v1.StateRunningHealthy, record: attemptOne(lifecycle.Running, progress(lifecycle.CapacityPartial)), want: list(told(v1.StateRunningWithPartialCapacity, "fewer executors are ready than maxExecutors"))},
		"Few":     {reason: "too many are lost", at: v1.StateRunningHealthy, record: attemptOne(lifecycle.Running, progress(lifecycle.CapacityBelowMin)), want: list(told(v1.StateRunningWithBelowThresholdExecutors, "fewer executors are ready than minExecutors"))},
		"Rerun":   {reason: "the next attempt waits", at: v1.StateFailed, record: lifecycle.Record{State: lifecycle.Rerunning, Attempt: 2}, want: list(again)},
		"RerunSaid": {
			reason: "why is known", at: v1.StateFailed, record: lifecycle.Record{State: lifecycle.Rerunning, Attempt: 2, Cause: lifecycle.Cause{Message: "because"}},
			want: list(told(v1.StateScheduledToRestart, "because")),
		},
		"RerunTold": {reason: "it is told already", at: v1.StateScheduledToRestart, record: lifecycle.Record{State: lifecycle.Rerunning, Attempt: 2}},
		"Resumed": {
			reason: "a new attempt begins", at: v1.StateSuspended, record: lifecycle.Record{State: lifecycle.Resuming, Attempt: 2},
			want: list(told(v1.StateSubmitted, "spec.suspend is false again: the application runs again")),
		},
		"ResumedTold":  {reason: "it is told already", at: v1.StateSubmitted, record: lifecycle.Record{State: lifecycle.Resuming, Attempt: 2}},
		"Suspended":    {reason: "its driver is stopped", at: v1.StateRunningHealthy, record: attemptOne(lifecycle.Suspending), want: list(suspended)},
		"SuspendTold":  {reason: "it is told already", at: v1.StateSuspended, record: attemptOne(lifecycle.Suspended)},
		"SuspendQueue": {reason: "nothing runs of it", at: v1.StateSubmitted, record: lifecycle.Record{State: lifecycle.Suspended}},
		"SuspendEnded": {reason: "it was to run again, which it does later", at: v1.StateFailed, record: attemptOne(lifecycle.Suspending), want: list(again)},
	} {
		t.Run(name, tc.run)
	}
}

// An application that runs again begins a new attempt, whose number is counted from 0. If it is resumed, submissions are counted anew, and restarts are not.
func TestCountersOfTheNextAttempt(t *testing.T) {
	for state, tc := range map[lifecycle.State]struct {
		at   v1.ApplicationStateSummary
		want v1.AttemptInfo
	}{
		lifecycle.Resuming:  {v1.StateSuspended, v1.AttemptInfo{ID: 2, RestartCounter: 1, FailureRestartCounter: 2}},
		lifecycle.Rerunning: {v1.StateFailed, v1.AttemptInfo{ID: 2, RestartCounter: 1, FailureRestartCounter: 2, SchedulingFailureRestartCounter: 3}},
	} {
		o := own(nil).app
		o.Status.CurrentState = new(told(tc.at, ""))
		record := lifecycle.Record{State: state, Attempt: 3, Retries: lifecycle.Retries{Counters: lifecycle.Counters{Restarts: 1, Failures: 2, Submissions: 3}}}
		next, _ := SparkApplications{}.ToStatus(o, lifecycle.Outcome{Record: record}, noon)
		if diff := cmp.Diff(&tc.want, attemptOf(next.Status.CurrentAttemptSummary)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
	}
}

// How an attempt ended is told in the words that tools know, with what is known of its driver, and then what becomes of the application.
func TestStatesOfAnEnd(t *testing.T) {
	const keeps = "applicationTolerations: {resourceRetainPolicy: Always}"
	released, retained := told(v1.StateResourceReleased, "the driver pod and its objects are deleted"), told(v1.StateTerminatedWithoutReleaseResources, "the driver pod and its objects are kept")
	stopped := told(v1.StateResourceReleased, "the driver was stopped: its pod and its objects are deleted")
	succeeded, requested := told(v1.StateSucceeded, "the driver finished with exit code 0"), told(v1.StateDriverRequested, "the driver pod was created")
	gone := func(r *lifecycle.Record) { r.Released.DriverPod = true }
	failed := func(state v1.ApplicationStateSummary) v1.ApplicationState { return told(state, "why") }
	exit := lifecycle.Driver{
		Presence: lifecycle.Present, Phase: lifecycle.DriverFailed, PodIP: "10.0.0.1", Disruption: lifecycle.Cause{Reason: "Evicted", Message: "node"},
		Exit: lifecycle.Exit{Code: 3, Reason: "Error", Message: "trace"},
	}
	noExit := lifecycle.Driver{Presence: lifecycle.Present, Phase: lifecycle.DriverFailed, Exit: lifecycle.Exit{Code: -1}}
	withPod := func(s v1.ApplicationState, pod *corev1.PodStatus) v1.ApplicationState {
		s.LastObservedDriverStatus = pod
		return s
	}
	exited := &corev1.PodStatus{Phase: "Failed", Reason: "Evicted", Message: "node", PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{{
		Name: "spark-kubernetes-driver", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "trace"}},
	}}}
	list := func(all ...v1.ApplicationState) []v1.ApplicationState { return all }
	cases := map[string]stateCase{
		"Succeeded":   {reason: "what is left is deleted first", at: v1.StateRunningHealthy, record: attemptOne(lifecycle.Succeeding), want: list(succeeded)},
		"Released":    {reason: "it is over", at: v1.StateSucceeded, record: attemptOne(lifecycle.Succeeded, gone), want: list(released)},
		"AllAtOnce":   {reason: "it came and went between two looks", at: v1.StateSubmitted, record: attemptOne(lifecycle.Succeeded, gone), want: list(requested, succeeded, released)},
		"AllUnseen":   {reason: "nobody looked before", record: attemptOne(lifecycle.Succeeded, gone), want: list(told(v1.StateSubmitted, "the application is known to the operator"), requested, succeeded, released)},
		"Over":        {reason: "it is told already", at: v1.StateResourceReleased, record: attemptOne(lifecycle.Succeeded, gone)},
		"NotDeleted":  {reason: "its driver is about to be deleted", at: v1.StateSucceeded, record: attemptOne(lifecycle.Succeeded)},
		"Retained":    {reason: "the user wants it so", at: v1.StateSucceeded, spec: keeps, record: attemptOne(lifecycle.Succeeded), want: list(retained)},
		"RetainedYet": {reason: "it is told already", at: v1.StateTerminatedWithoutReleaseResources, spec: keeps, record: attemptOne(lifecycle.Succeeded)},
		"KeptEnough":  {reason: "its time is over", at: v1.StateTerminatedWithoutReleaseResources, spec: keeps, record: attemptOne(lifecycle.Succeeded, gone), want: list(released)},
		"Exit":        {reason: "the pod may be gone when somebody asks", at: v1.StateRunningHealthy, driver: exit, record: attemptOne(lifecycle.Failing, because(lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed)), want: list(withPod(failed(v1.StateFailed), exited))},
		"NoExit":      {reason: "its container reported nothing", at: v1.StateRunningHealthy, driver: noExit, record: attemptOne(lifecycle.Failing, because(lifecycle.Infrastructure, lifecycle.ReasonDriverFailed)), want: list(withPod(failed(v1.StateFailed), &corev1.PodStatus{Phase: "Failed"}))},
		"Exit0":       {reason: "an exit code of 0 is one", at: v1.StateRunningHealthy, driver: lifecycle.Driver{Phase: lifecycle.DriverFailed}, record: attemptOne(lifecycle.Failing, because(lifecycle.Infrastructure, lifecycle.ReasonDriverFailed)), want: list(withPod(failed(v1.StateFailed), &corev1.PodStatus{Phase: "Failed", ContainerStatuses: []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}}))},
		"Scheduler":   {reason: "a batch scheduler took it", at: v1.StateRunningHealthy, record: attemptOne(lifecycle.Failing, because(lifecycle.Evicted, "PreemptedByScheduler")), want: list(failed(v1.StateDriverEvicted))},
		"NoDriver":    {reason: "the API server refused it", at: v1.StateSubmitted, record: attemptOne(lifecycle.SubmissionFailed, withoutDriver), want: list(failed(v1.StateSchedulingFailure))},
		"Invalid":     {reason: "it was not even tried", at: v1.StateSubmitted, spec: "deploymentMode: ClientMode", record: attemptOne(lifecycle.SubmissionFailed, withoutDriver), want: list(failed(v1.StateFailed))},
		"InvalidRoute": {
			reason: "nor this", at: v1.StateSubmitted, spec: "driverHttpRouteList: [{serviceMetadata: {}, serviceSpec: {}, httpRouteMetadata: {name: ui}, httpRouteSpec: {parentRefs: [{name: g}]}}]",
			record: attemptOne(lifecycle.SubmissionFailed, withoutDriver), want: list(failed(v1.StateFailed)),
		},
		"Following": {
			reason: "the next attempt waits", at: v1.StateRunningHealthy, record: attemptOne(lifecycle.Succeeding), following: &lifecycle.Counters{Restarts: 1},
			want: list(succeeded, told(v1.StateScheduledToRestart, "the application runs again")),
		},
		"StoppedKept": {
			reason: "it was too late", at: v1.StateDriverStartTimedOut, spec: keeps, record: attemptOne(lifecycle.Failed, because(lifecycle.StartTimeout, lifecycle.ReasonStartTimeout)), want: list(stopped),
		},
		"DeadlineKept": {reason: "nor is this", at: v1.StateDriverReadyTimedOut, spec: keeps, record: attemptOne(lifecycle.Failed, because(lifecycle.Deadline, lifecycle.ReasonNotReadyTimeout)), want: list(stopped)},
		"EvictedKept":  {reason: "nor this", at: v1.StateDriverEvicted, spec: keeps, record: attemptOne(lifecycle.Failed, because(lifecycle.Evicted, "PreemptedByScheduler")), want: list(stopped)},
		"FailedKept":   {reason: "its pod may be gone, and was not stopped", at: v1.StateFailed, spec: keeps, record: attemptOne(lifecycle.Failed, because(lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed)), want: list(retained)},
		"NeverKept":    {reason: "there was none to be kept", at: v1.StateSchedulingFailure, spec: keeps, record: attemptOne(lifecycle.Failed, withoutDriver), want: list(retained)},
	}
	for reason, state := range map[lifecycle.Reason]v1.ApplicationStateSummary{
		lifecycle.ReasonStartTimeout: v1.StateDriverStartTimedOut, lifecycle.ReasonSchedulingTimeout: v1.StateDriverStartTimedOut, lifecycle.ReasonReadyTimeout: v1.StateDriverStartTimedOut,
		lifecycle.ReasonNotReadyTimeout: v1.StateDriverReadyTimedOut, lifecycle.ReasonExecutorsTimeout: v1.StateExecutorsStartTimedOut, lifecycle.ReasonDriverEvicted: v1.StateDriverEvicted,
		lifecycle.ReasonDriverFailed: v1.StateFailed,
	} {
		cases[string(reason)] = stateCase{reason: "its word", at: v1.StateDriverRequested, record: attemptOne(lifecycle.Failing, because(lifecycle.Deadline, reason)), want: list(failed(state))}
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// Metrics have the time between two states, each once, and nothing where a time or a word is none.
func TestMeasuredChangesOfStates(t *testing.T) {
	state := func(word string, minutes int) v1.ApplicationState {
		return v1.ApplicationState{CurrentStateSummary: v1.ApplicationStateSummary(word), LastTransitionTime: instant(minute(minutes))}
	}
	history := func(from int, all ...v1.ApplicationState) map[string]v1.ApplicationState {
		h := map[string]v1.ApplicationState{}
		for i, s := range all {
			h[string(rune('0'+from+i))] = s
		}
		return h
	}
	change := func(from, to string, minutes int) lifecycle.StateChange {
		return lifecycle.StateChange{From: from, To: to, Took: time.Duration(minutes) * time.Minute}
	}
	failed := state("Failed", 4)
	broken := v1.ApplicationState{CurrentStateSummary: v1.StateDriverRequested, LastTransitionTime: "noon"}
	created := own(nil).app
	created.CreationTimestamp.Time = noon
	for name, tc := range map[string]struct {
		reason        string
		before, after v1.SparkApplicationStatus
		want          []lifecycle.StateChange
	}{
		"First": {reason: "since it was created", after: v1.SparkApplicationStatus{StateTransitionHistory: history(0, state("Submitted", 1))}, want: []lifecycle.StateChange{change("", "Submitted", 1)}},
		"Next": {
			reason: "since the state before", before: v1.SparkApplicationStatus{StateTransitionHistory: history(0, state("Submitted", 1))},
			after: v1.SparkApplicationStatus{StateTransitionHistory: history(0, state("Submitted", 1), state("DriverRequested", 3), state("DriverStarted", 7))},
			want:  []lifecycle.StateChange{change("Submitted", "DriverRequested", 2), change("DriverRequested", "DriverStarted", 4)},
		},
		"Attempt": {
			reason: "the states of an attempt that is over are beside", before: v1.SparkApplicationStatus{StateTransitionHistory: history(3, state("RunningHealthy", 1))},
			after: v1.SparkApplicationStatus{
				PreviousAttemptSummary: &v1.AttemptSummary{StateTransitionHistory: history(3, state("RunningHealthy", 1), failed)}, StateTransitionHistory: history(5, state("ScheduledToRestart", 9)),
			},
			want: []lifecycle.StateChange{change("RunningHealthy", "Failed", 3), change("Failed", "ScheduledToRestart", 5)},
		},
		"Lost":     {reason: "its history is empty", before: v1.SparkApplicationStatus{CurrentState: &failed}, after: v1.SparkApplicationStatus{StateTransitionHistory: history(0, state("ResourceReleased", 5))}, want: []lifecycle.StateChange{change("Failed", "ResourceReleased", 1)}},
		"Backward": {reason: "clocks differ", after: v1.SparkApplicationStatus{StateTransitionHistory: history(0, state("Submitted", -1))}, want: []lifecycle.StateChange{change("", "Submitted", 0)}},
		"Word":     {reason: "series of others' words would be without end", after: v1.SparkApplicationStatus{StateTransitionHistory: history(0, state("Mine", 1), state("Submitted", 2), state("Failed", 3))}, want: []lifecycle.StateChange{change("Submitted", "Failed", 1)}},
		"Time":     {reason: "it took nobody knows how long", after: v1.SparkApplicationStatus{StateTransitionHistory: history(0, state("Submitted", 1), broken, state("Failed", 3))}, want: []lifecycle.StateChange{change("", "Submitted", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := created.DeepCopy(), created.DeepCopy()
			before.Status, after.Status = tc.before, tc.after
			if diff := cmp.Diff(tc.want, SparkApplications{}.StateChanges(before, after)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
