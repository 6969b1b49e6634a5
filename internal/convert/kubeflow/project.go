/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package kubeflow

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// states translates the neutral states. Tools poll for SUBMITTED as "no driver yet", so a queued application shows it
// too, and conditions say what it waits for.
var states = map[lifecycle.State]v1beta2.ApplicationStateType{
	lifecycle.New:              v1beta2.ApplicationStateNew,
	lifecycle.Queued:           v1beta2.ApplicationStateSubmitted,
	lifecycle.Submitted:        v1beta2.ApplicationStateSubmitted,
	lifecycle.Running:          v1beta2.ApplicationStateRunning,
	lifecycle.Succeeding:       v1beta2.ApplicationStateSucceeding,
	lifecycle.Failing:          v1beta2.ApplicationStateFailing,
	lifecycle.Succeeded:        v1beta2.ApplicationStateCompleted,
	lifecycle.Failed:           v1beta2.ApplicationStateFailed,
	lifecycle.SubmissionFailed: v1beta2.ApplicationStateSubmissionFailed,
}

var executorStates = map[lifecycle.ExecutorState]v1beta2.ExecutorState{
	lifecycle.ExecutorPending:   v1beta2.ExecutorStatePending,
	lifecycle.ExecutorRunning:   v1beta2.ExecutorStateRunning,
	lifecycle.ExecutorSucceeded: v1beta2.ExecutorStateCompleted,
	lifecycle.ExecutorFailed:    v1beta2.ExecutorStateFailed,
	lifecycle.ExecutorLost:      v1beta2.ExecutorStateUnknown,
}

// submissionPrefix begins the error message of a refused submission.
const submissionPrefix = "failed to submit spark application: "

// RecordOf reads back from a status what Project wrote, or what an operator before us did.
func RecordOf(s *v1beta2.SparkApplicationStatus) lifecycle.Record {
	r := lifecycle.Record{
		State:        stateOf(s),
		Generation:   s.ObservedGeneration,
		Attempt:      max(1, s.SubmissionAttempts),
		Submissions:  s.SubmissionAttempts,
		Executions:   s.ExecutionAttempts,
		SubmittedAt:  s.LastSubmissionAttemptTime.Time,
		TerminatedAt: s.TerminationTime.Time,
		SparkAppID:   s.SparkApplicationID,
		DriverName:   s.DriverInfo.PodName,
		Cause:        causeOf(s),
	}
	if r.Started() { // the next attempt gets a mark of its own
		r.SubmissionID = s.SubmissionID
	}
	for name, state := range s.ExecutorState {
		if r.Executors == nil {
			r.Executors = make(map[string]lifecycle.ExecutorState, len(s.ExecutorState))
		}
		r.Executors[name] = executorStateOf(state)
	}
	return r
}

// stateOf reads the state back. States that this operator does not write are taken for the nearest that it does.
func stateOf(s *v1beta2.SparkApplicationStatus) lifecycle.State {
	switch s.AppState.State {
	case v1beta2.ApplicationStateSubmitted:
		c := meta.FindStatusCondition(s.Conditions, string(lifecycle.ConditionSubmitted))
		if s.ExecutionAttempts == 0 || c != nil && c.Status == metav1.ConditionFalse {
			return lifecycle.Queued
		}
		return lifecycle.Submitted
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
	case v1beta2.ApplicationStateNew, v1beta2.ApplicationStatePendingRerun, v1beta2.ApplicationStateInvalidating,
		v1beta2.ApplicationStateSuspending, v1beta2.ApplicationStateSuspended, v1beta2.ApplicationStateResuming:
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

// causeOf reads the cause back: the reason from the outcome's condition, the sentence from the error message.
func causeOf(s *v1beta2.SparkApplicationStatus) lifecycle.Cause {
	if len(s.Conditions) == 0 {
		return foreignCause(s)
	}
	c := meta.FindStatusCondition(s.Conditions, string(lifecycle.ConditionSucceeded))
	if c == nil || c.Status == metav1.ConditionTrue || c.Reason == string(lifecycle.ReasonInProgress) {
		return lifecycle.Cause{Message: s.AppState.ErrorMessage}
	}
	message := strings.TrimPrefix(s.AppState.ErrorMessage, submissionPrefix)
	if message == "" {
		message = strings.TrimPrefix(c.Message, lifecycle.WaitingPrefix)
	}
	return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: message}
}

// foreignCause makes a cause for a failure that an operator without conditions has recorded.
func foreignCause(s *v1beta2.SparkApplicationStatus) lifecycle.Cause {
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

// Project returns the status for an outcome. Conditions keep the time of their last transition; now is that of those
// that change.
func Project(old *v1beta2.SparkApplicationStatus, o lifecycle.Outcome, now time.Time) v1beta2.SparkApplicationStatus {
	s := *old.DeepCopy()
	r := o.Record
	s.AppState = v1beta2.ApplicationState{State: states[r.State], ErrorMessage: errorMessage(r)}
	s.ObservedGeneration = r.Generation
	s.SubmissionAttempts, s.ExecutionAttempts = r.Submissions, r.Executions
	s.LastSubmissionAttemptTime, s.TerminationTime = seconds(r.SubmittedAt), seconds(r.TerminatedAt)
	s.SparkApplicationID = r.SparkAppID
	s.DriverInfo.PodName = r.DriverName
	s.SubmissionID = r.SubmissionID
	s.ExecutorState = nil
	for name, state := range r.Executors {
		if s.ExecutorState == nil {
			s.ExecutorState = make(map[string]v1beta2.ExecutorState, len(r.Executors))
		}
		s.ExecutorState[name] = executorStates[state]
	}
	for _, c := range o.Conditions {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: string(c.Reason), Message: c.Message,
			ObservedGeneration: r.Generation, LastTransitionTime: seconds(now),
		})
	}
	return s
}

func errorMessage(r lifecycle.Record) string {
	switch r.State {
	case lifecycle.Failing, lifecycle.Failed:
		return r.Cause.Message
	case lifecycle.SubmissionFailed:
		return submissionPrefix + r.Cause.Message
	case lifecycle.New, lifecycle.Queued, lifecycle.Submitted, lifecycle.Running, lifecycle.Succeeding, lifecycle.Succeeded:
	}
	return ""
}

// seconds is the resolution that the API stores; a finer time would differ from itself after a round trip.
func seconds(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.Truncate(time.Second))
}
