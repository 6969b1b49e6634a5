// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// This file reads statuses that the Kubeflow operator wrote, and statuses of releases before status.cause. No other code parses the messages of a status.

// takeOver completes the record of an application that another operator started. The status of that operator counts attempts without failure classes.
func takeOver(r *lifecycle.Record, s *v1beta2.SparkApplicationStatus) {
	rerun := r.State == lifecycle.Rerunning || r.State == lifecycle.Invalidating
	if r.State == lifecycle.SubmissionFailed && r.TerminatedAt.IsZero() {
		r.TerminatedAt = r.SubmittedAt // that operator waits from this time
	}
	refused := s.SubmissionAttempts - s.ExecutionAttempts
	if r.State == lifecycle.SubmissionFailed {
		refused-- // the last refused submission was not retried yet
	}
	r.Retries = lifecycle.Retries{Used: spent(map[lifecycle.FailureClass]int32{
		lifecycle.Submission: refused, lifecycle.ApplicationExit: s.ExecutionAttempts - 1,
	})}
	if s.ExecutionAttempts == 0 && !rerun {
		if r.State == lifecycle.Suspending || r.State == lifecycle.Suspended || r.State == lifecycle.Resuming {
			r.State = lifecycle.Queued // it was suspended when it was created; SUSPENDED means that an application has run
		}
		return
	}
	r.Attempt = max(1, s.ExecutionAttempts)
	last := lifecycle.Attempt{Number: r.Attempt, SubmissionID: s.SubmissionID, EndedAt: s.TerminationTime.Time, Cause: r.Cause}
	switch r.State {
	case lifecycle.Failing, lifecycle.Failed:
		last.Class = lifecycle.ApplicationExit
	case lifecycle.SubmissionFailed: // id and cause belong to a driver that never existed
		last.SubmissionID, last.Cause = "", lifecycle.Cause{}
	case lifecycle.Invalidating: // that operator resets its counts when it leaves the state, this operator when it enters it
		r.Submissions, r.Executions, r.Retries = 0, 0, lifecycle.Retries{}
	default: // the count is right
	}
	r.Attempts = []lifecycle.Attempt{last}
	if r.State.Starting() {
		r.Attempt++
	}
}

// conditionCause reads the cause from conditions and the error message, for statuses of releases without status.cause.
func conditionCause(s *v1beta2.SparkApplicationStatus, state lifecycle.State) lifecycle.Cause {
	if s.Attempt == 0 {
		return kubeflowCause(s)
	}
	switch state {
	case lifecycle.Submitted, lifecycle.Running, lifecycle.Succeeding, lifecycle.Succeeded:
		return lifecycle.Cause{} // no release stores a cause in these states
	default:
	}
	c := meta.FindStatusCondition(s.Conditions, string(lifecycle.ConditionSucceeded))
	if c == nil || c.Reason == string(lifecycle.ReasonInProgress) {
		return lifecycle.Cause{}
	}
	message := strings.TrimPrefix(s.AppState.ErrorMessage, submissionPrefix)
	if message == "" {
		message = strings.TrimPrefix(c.Message, "waiting: ")
	}
	return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: message}
}

// kubeflowCause derives a cause from a failure recorded without conditions.
func kubeflowCause(s *v1beta2.SparkApplicationStatus) lifecycle.Cause {
	c := lifecycle.Cause{Message: s.AppState.ErrorMessage}
	switch {
	case s.AppState.State != v1beta2.ApplicationStateFailed && s.AppState.State != v1beta2.ApplicationStateFailing &&
		s.AppState.State != v1beta2.ApplicationStateSubmissionFailed:
		return c
	case s.AppState.State == v1beta2.ApplicationStateSubmissionFailed || s.ExecutionAttempts == 0:
		c.Reason, c.Message = lifecycle.ReasonSubmissionRefused, strings.TrimPrefix(c.Message, submissionPrefix)
	default:
		c.Reason = lifecycle.ReasonDriverFailed
	}
	if c.Message == "" {
		c.Message = "no reason was recorded"
	}
	return c
}

// countsOf counts the recorded executors of an operator that does not store counts.
func countsOf(executors map[string]lifecycle.ExecutorState) lifecycle.ExecutorCounts {
	c := lifecycle.ExecutorCounts{Total: int32(len(executors))}
	for _, state := range executors {
		switch state {
		case lifecycle.ExecutorPending:
			c.Pending++
		case lifecycle.ExecutorRunning:
			c.Running++
		case lifecycle.ExecutorSucceeded:
			c.Succeeded++
		case lifecycle.ExecutorFailed:
			c.Failed++
		case lifecycle.ExecutorLost: // every executor that is not counted otherwise
		}
	}
	return c
}
