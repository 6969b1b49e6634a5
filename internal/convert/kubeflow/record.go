// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// FromStatus reads the record from the status that ToStatus or another operator wrote.
func FromStatus(s *v1beta2.SparkApplicationStatus) lifecycle.Record {
	r := lifecycle.Record{
		State:        stateOf(s),
		Generation:   s.ObservedGeneration,
		SpecHash:     s.SpecHash,
		Attempt:      max(1, s.Attempt),
		Submissions:  s.SubmissionAttempts,
		Executions:   s.ExecutionAttempts,
		SubmittedAt:  s.LastSubmissionAttemptTime.Time,
		TerminatedAt: s.TerminationTime.Time,
		SparkAppID:   s.SparkApplicationID,
		DriverName:   s.DriverInfo.PodName,
		Cause:        causeOf(s),
		Attempts:     attemptsOf(s.Attempts),
		Retries:      retriesOf(s.Retries),
		Exposure:     exposureOf(s),
		Submitter:    submitterOf(s.Submitter),
	}
	schedulingOf(&r, s.Scheduling)
	if p := s.ExecutorPlacement; p != nil {
		r.Placement = lifecycle.Placement{Rest: p.RestHash, Made: p.Hash, Outdated: p.Outdated, Problem: p.Problem}
	}
	if m := s.MissingExecutors; m != nil {
		r.Missing = lifecycle.Missing{Since: timeOf(m.Since), AskedAt: timeOf(m.AskTime), Refusal: m.Refusal}
	}
	if s.Rerun != nil {
		r.Rerun = lifecycle.Rerun{At: timeOf(s.Rerun.At), Ignored: s.Rerun.Ignored}
	}
	for _, what := range s.Released {
		r.Released.DriverPod = r.Released.DriverPod || what == releasedDriverPod
		r.Released.Resources = r.Released.Resources || what == releasedResources
	}
	for name, state := range s.ExecutorState {
		if r.Executors == nil {
			r.Executors = make(map[string]lifecycle.ExecutorState, len(s.ExecutorState))
		}
		r.Executors[name] = executorStateOf(state)
	}
	executorsOf(&r, s.Executors)
	if s.Attempt == 0 {
		takeOver(&r, s)
	}
	switch current := r.Current(); {
	case r.State.Starting(): // the next attempt gets its own submission id
	case s.Attempt == 0:
		r.SubmissionID = s.SubmissionID
	case current != nil:
		r.SubmissionID = current.SubmissionID
	}
	return r
}

// spent returns the positive counts.
func spent(counts map[lifecycle.FailureClass]int32) map[lifecycle.FailureClass]int32 {
	var used map[lifecycle.FailureClass]int32
	for class, n := range counts {
		if n <= 0 {
			continue
		}
		if used == nil {
			used = map[lifecycle.FailureClass]int32{}
		}
		used[class] = n
	}
	return used
}

// causeOf reads the cause.
func causeOf(s *v1beta2.SparkApplicationStatus) lifecycle.Cause {
	if s.Cause == nil {
		return conditionCause(s, stateOf(s))
	}
	return lifecycle.Cause{Reason: lifecycle.Reason(s.Cause.Reason), Message: s.Cause.Message}
}

func attemptsOf(all []v1beta2.AttemptStatus) []lifecycle.Attempt {
	var out []lifecycle.Attempt
	for _, a := range all {
		out = append(out, lifecycle.Attempt{
			Number: a.Attempt, SubmissionID: a.SubmissionID, StartedAt: timeOf(a.StartTime), EndedAt: timeOf(a.EndTime), ExitCode: a.ExitCode,
			Class: lifecycle.FailureClass(a.FailureClass), Cause: lifecycle.Cause{Reason: lifecycle.Reason(a.Reason), Message: a.Message},
			LogTail: a.LogTail, Withdrawn: a.Withdrawn,
		})
	}
	return out
}

func retriesOf(s *v1beta2.RetryStatus) lifecycle.Retries {
	if s == nil {
		return lifecycle.Retries{}
	}
	return lifecycle.Retries{MemoryRaises: s.MemoryRaises, Used: spent(map[lifecycle.FailureClass]int32{
		lifecycle.Infrastructure: s.Infrastructure, lifecycle.Submission: s.Submission,
		lifecycle.OutOfMemory: s.OutOfMemory, lifecycle.ApplicationExit: s.Application,
	})}
}

func schedulingOf(r *lifecycle.Record, s *v1beta2.SchedulingStatus) {
	if s == nil {
		return
	}
	r.QueuedAt = timeOf(s.QueuedAt)
	r.Scheduling = lifecycle.Scheduling{
		Choice:      scheduler.Choice{Scheduler: s.Scheduler, Source: scheduler.Source(s.Source), Queue: s.Queue, Group: s.Group, Parameters: s.Parameters},
		Warning:     s.Warning,
		AdmittedAt:  timeOf(s.AdmittedAt),
		HeldAttempt: s.HeldAttempt,
		HeldBy:      s.HeldBy,
	}
	if s.Evictions > 0 {
		if r.Retries.Used == nil {
			r.Retries.Used = map[lifecycle.FailureClass]int32{}
		}
		r.Retries.Used[lifecycle.Evicted] = s.Evictions
	}
}

func executorsOf(r *lifecycle.Record, s *v1beta2.ExecutorSummary) {
	if s == nil {
		r.Counts = countsOf(r.Executors)
		return
	}
	r.Counts = lifecycle.ExecutorCounts{
		Pending: s.Pending, Running: s.Running, Succeeded: s.Completed, Failed: s.Failed,
		Total: s.Pending + s.Running + s.Completed + s.Failed + s.Unknown,
	}
	for _, f := range s.Failures {
		r.Failures = append(r.Failures, lifecycle.ExecutorFailure{Name: f.PodName, ExitCode: f.ExitCode, Reason: f.Reason})
	}
}

// stateOf reads the state. This operator does not write UNKNOWN, which means a run in an unknown state.
func stateOf(s *v1beta2.SparkApplicationStatus) lifecycle.State {
	switch s.AppState.State {
	case v1beta2.ApplicationStateSubmitted:
		if s.ExecutionAttempts == 0 { // no driver exists yet
			return lifecycle.Queued
		}
		return lifecycle.Submitted
	case v1beta2.ApplicationStatePendingRerun:
		return lifecycle.Rerunning
	case v1beta2.ApplicationStateInvalidating:
		return lifecycle.Invalidating
	case v1beta2.ApplicationStateSuspending:
		return lifecycle.Suspending
	case v1beta2.ApplicationStateSuspended:
		return lifecycle.Suspended
	case v1beta2.ApplicationStateResuming:
		return lifecycle.Resuming
	case v1beta2.ApplicationStateRunning, v1beta2.ApplicationStateUnknown:
		return lifecycle.Running
	case v1beta2.ApplicationStateSucceeding:
		return lifecycle.Succeeding
	case v1beta2.ApplicationStateFailing:
		return lifecycle.Failing
	case v1beta2.ApplicationStateCompleted:
		return lifecycle.Succeeded
	case v1beta2.ApplicationStateFailed:
		return lifecycle.Failed
	case v1beta2.ApplicationStateSubmissionFailed:
		return lifecycle.SubmissionFailed
	case v1beta2.ApplicationStateNew:
	}
	return lifecycle.New
}

func executorStateOf(s v1beta2.ExecutorState) lifecycle.ExecutorState {
	for neutral, ours := range executorStates {
		if s == ours {
			return neutral
		}
	}
	return lifecycle.ExecutorLost
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
