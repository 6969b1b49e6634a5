// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// kubeflowSubmitted is when the Kubeflow operator submitted.
var kubeflowSubmitted = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// kubeflowStatus is a status as the Kubeflow operator writes it: no conditions, no observed generation.
func kubeflowStatus(t *testing.T, state, errorMessage string, submissions, executions int) v1beta2.SparkApplicationStatus {
	t.Helper()
	text := fmt.Sprintf(`{
		"sparkApplicationId": "spark-abc", "submissionID": "6e2e3f1c-0000-4000-8000-000000000001",
		"lastSubmissionAttemptTime": "2026-11-21T08:00:00Z", "terminationTime": null,
		"driverInfo": {"podName": "pi-driver", "webUIServiceName": "pi-ui-svc", "webUIAddress": "10.0.0.1:4040", "webUIPort": 4040},
		"applicationState": {"state": %q, "errorMessage": %q},
		"executorState": {"pi-exec-1": "RUNNING", "pi-exec-2": "FAILED", "pi-exec-3": "UNKNOWN"},
		"submissionAttempts": %d, "executionAttempts": %d
	}`, state, errorMessage, submissions, executions)
	var s v1beta2.SparkApplicationStatus
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The record of each state that the Kubeflow operator may leave: nothing that it counted is lost, and a state before
// the first driver stays one.
func TestKubeflowStates(t *testing.T) {
	const id = "6e2e3f1c-0000-4000-8000-000000000001"
	failure := lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "driver container failed"}
	refusal := lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: "driver container failed"}
	said := lifecycle.Cause{Message: "driver container failed"}
	retried := func(class lifecycle.FailureClass, n int32) lifecycle.Retries {
		return lifecycle.Retries{Used: map[lifecycle.FailureClass]int32{class: n}}
	}
	cases := map[string]struct {
		reason            string
		state             string
		submissions, runs int
		want              lifecycle.Record
		// last is the attempt that has had a driver.
		last *lifecycle.Attempt
	}{
		"New":                {reason: "it has not been reconciled", want: lifecycle.Record{Attempt: 1, Cause: said}},
		"Submitted":          {reason: "there is a driver", state: "SUBMITTED", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Submitted, Attempt: 1, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"Running":            {reason: "there is a running driver", state: "RUNNING", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Running, Attempt: 1, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"RunningAgain":       {reason: "two runs failed and one submission was refused before", state: "RUNNING", submissions: 4, runs: 3, want: lifecycle.Record{State: lifecycle.Running, Attempt: 3, Cause: said, SubmissionID: id, Retries: lifecycle.Retries{Used: map[lifecycle.FailureClass]int32{lifecycle.ApplicationExit: 2, lifecycle.Submission: 1}}}, last: &lifecycle.Attempt{Number: 3, SubmissionID: id, Cause: said}},
		"Completed":          {reason: "an outcome is kept", state: "COMPLETED", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Succeeded, Attempt: 1, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"Failed":             {reason: "an outcome is kept", state: "FAILED", submissions: 2, runs: 2, want: lifecycle.Record{State: lifecycle.Failed, Attempt: 2, Cause: failure, SubmissionID: id, Retries: retried(lifecycle.ApplicationExit, 1)}, last: &lifecycle.Attempt{Number: 2, SubmissionID: id, Class: lifecycle.ApplicationExit, Cause: failure}},
		"FailedUnsubmitted":  {reason: "it never had a driver", state: "FAILED", submissions: 1, want: lifecycle.Record{State: lifecycle.Failed, Attempt: 1, Cause: refusal, SubmissionID: id, Retries: retried(lifecycle.Submission, 1)}},
		"SubmissionFailed":   {reason: "no driver was created, and the wait counts from the try", state: "SUBMISSION_FAILED", submissions: 3, want: lifecycle.Record{State: lifecycle.SubmissionFailed, Attempt: 1, Cause: refusal, TerminatedAt: kubeflowSubmitted, Retries: retried(lifecycle.Submission, 2)}},
		"RerunRefused":       {reason: "the second driver was refused", state: "SUBMISSION_FAILED", submissions: 2, runs: 1, want: lifecycle.Record{State: lifecycle.SubmissionFailed, Attempt: 2, Cause: refusal, TerminatedAt: kubeflowSubmitted}, last: &lifecycle.Attempt{Number: 1}},
		"PendingRerun":       {reason: "the next driver is to be created", state: "PENDING_RERUN", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Rerunning, Attempt: 2, Cause: said}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"PendingInvalidated": {reason: "the counts were reset, yet there was a driver, which may be on its way out", state: "PENDING_RERUN", want: lifecycle.Record{State: lifecycle.Rerunning, Attempt: 2, Cause: said}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"Invalidating":       {reason: "the next driver is to be created, and counts begin again", state: "INVALIDATING", submissions: 3, runs: 2, want: lifecycle.Record{State: lifecycle.Invalidating, Attempt: 2, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 2, SubmissionID: id, Cause: said}},
		"Succeeding":         {reason: "the driver ended well", state: "SUCCEEDING", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Succeeding, Attempt: 1, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"Failing":            {reason: "the driver failed", state: "FAILING", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Failing, Attempt: 1, Cause: failure, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Class: lifecycle.ApplicationExit, Cause: failure}},
		"Suspending":         {reason: "the driver is to be stopped", state: "SUSPENDING", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Suspending, Attempt: 1, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"Suspended":          {reason: "nothing is to run until it is resumed", state: "SUSPENDED", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Suspended, Attempt: 1, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"CreatedSuspended":   {reason: "it never had a driver: tools wait while it is SUBMITTED", state: "SUSPENDED", want: lifecycle.Record{State: lifecycle.Queued, Attempt: 1, Cause: said}},
		"Resuming":           {reason: "the next driver is to be created", state: "RESUMING", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Resuming, Attempt: 2, Cause: said}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
		"FirstResume":        {reason: "it never had a driver", state: "RESUMING", want: lifecycle.Record{State: lifecycle.Queued, Attempt: 1, Cause: said}},
		"Unknown":            {reason: "an unknown driver has not ended", state: "UNKNOWN", submissions: 1, runs: 1, want: lifecycle.Record{State: lifecycle.Running, Attempt: 1, Cause: said, SubmissionID: id}, last: &lifecycle.Attempt{Number: 1, SubmissionID: id, Cause: said}},
	}
	states := map[string]bool{}
	for name, tc := range cases {
		states[tc.state] = true
		t.Run(name, func(t *testing.T) {
			s := kubeflowStatus(t, tc.state, "driver container failed", tc.submissions, tc.runs)
			want := tc.want
			if want.State != lifecycle.Invalidating {
				want.Submissions, want.Executions = int32(tc.submissions), int32(tc.runs)
			}
			want.SubmittedAt, want.SparkAppID, want.DriverName = kubeflowSubmitted, "spark-abc", "pi-driver"
			want.Executors = map[string]lifecycle.ExecutorState{
				"pi-exec-1": lifecycle.ExecutorRunning, "pi-exec-2": lifecycle.ExecutorFailed, "pi-exec-3": lifecycle.ExecutorLost,
			}
			want.Counts = lifecycle.ExecutorCounts{Running: 1, Failed: 1, Total: 3}
			want.Exposure = lifecycle.Exposure{Service: "pi-ui-svc", ServiceAddress: "10.0.0.1:4040", ServicePort: 4040}
			if tc.last != nil {
				want.Attempts = []lifecycle.Attempt{*tc.last}
			}
			if diff := cmp.Diff(want, FromStatus(&s), same); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if len(states) != 14 {
		t.Errorf("%d states of the Kubeflow operator tested, there are 14", len(states))
	}
}

// The first projection over a status of the Kubeflow operator keeps what users and tools read from it.
func TestKubeflowStatusSurvivesTheFirstWrite(t *testing.T) {
	for _, state := range []string{"SUBMITTED", "RUNNING", "COMPLETED", "FAILED", "SUCCEEDING", "FAILING", "SUSPENDING", "SUSPENDED"} {
		s := kubeflowStatus(t, state, "", 3, 2)
		if state == "FAILED" || state == "FAILING" {
			s.AppState.ErrorMessage = "driver container failed with ExitCode: 1, Reason: Error"
		}
		got := ToStatus(&s, settled(FromStatus(&s)), now)
		if got.Attempt != 2 || len(got.Attempts) != 1 || got.Attempts[0].SubmissionID != s.SubmissionID {
			t.Errorf("%s: attempt %d with the history %+v, want the second one", state, got.Attempt, got.Attempts)
		}
		if want := (v1beta2.RetryStatus{Application: 1, Submission: 1}); got.Retries == nil || *got.Retries != want {
			t.Errorf("%s: retries %+v, want %+v", state, got.Retries, want)
		}
		if want := (v1beta2.ExecutorSummary{Running: 1, Failed: 1, Unknown: 1}); got.Executors == nil || !cmp.Equal(*got.Executors, want) {
			t.Errorf("%s: executors %+v, want %+v", state, got.Executors, want)
		}
		got.Conditions, got.Cause, got.Attempt, got.Attempts, got.Retries, got.Executors = nil, nil, 0, nil, nil, nil // what it knows nothing of
		if diff := cmp.Diff(s, got, same); diff != "" {
			t.Errorf("%s: lost or changed (-kubeflow +ours):\n%s", state, diff)
		}
	}
}

// An executor state that no version of the API knows is doubt, not an error.
func TestUnknownExecutorState(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{ExecutorState: map[string]v1beta2.ExecutorState{"e-1": "EXPLODED", "e-2": ""}}
	want := map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorLost, "e-2": lifecycle.ExecutorLost}
	if diff := cmp.Diff(want, FromStatus(&s).Executors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A state that no version of the API knows is looked at again: the driver, if there is one, is recognized.
func TestUnknownState(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "EXPLODED"}}
	if got := FromStatus(&s).State; got != lifecycle.New {
		t.Errorf("state %q, want New", got)
	}
}
