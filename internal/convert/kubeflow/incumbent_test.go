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
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// incumbent is a status as the Kubeflow operator writes it: no conditions, no observed generation.
func incumbent(t *testing.T, state, errorMessage string, submissions, executions int) v1beta2.SparkApplicationStatus {
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

func TestIncumbentStates(t *testing.T) {
	cases := map[string]struct {
		reason string
		state  string
		runs   int
		want   lifecycle.State
		cause  lifecycle.Reason
	}{
		"New":              {reason: "nobody has looked at it", state: "", want: lifecycle.New},
		"Submitted":        {reason: "there is a driver", state: "SUBMITTED", runs: 1, want: lifecycle.Submitted},
		"Running":          {reason: "there is a running driver", state: "RUNNING", runs: 1, want: lifecycle.Running},
		"Completed":        {reason: "an outcome is kept", state: "COMPLETED", runs: 1, want: lifecycle.Succeeded},
		"Failed":           {reason: "an outcome is kept", state: "FAILED", runs: 1, want: lifecycle.Failed, cause: lifecycle.ReasonDriverFailed},
		"SubmissionFailed": {reason: "no driver was created", state: "SUBMISSION_FAILED", want: lifecycle.SubmissionFailed, cause: lifecycle.ReasonSubmissionRefused},
		"PendingRerun":     {reason: "the next driver is to be created", state: "PENDING_RERUN", runs: 1, want: lifecycle.New},
		"Invalidating":     {reason: "the next driver is to be created", state: "INVALIDATING", runs: 1, want: lifecycle.New},
		"Succeeding":       {reason: "the driver ended well", state: "SUCCEEDING", runs: 1, want: lifecycle.Succeeding},
		"Failing":          {reason: "the driver failed", state: "FAILING", runs: 1, want: lifecycle.Failing, cause: lifecycle.ReasonDriverFailed},
		"Suspending":       {reason: "nothing is to run until it is resumed", state: "SUSPENDING", runs: 1, want: lifecycle.New},
		"Suspended":        {reason: "nothing is to run until it is resumed", state: "SUSPENDED", runs: 1, want: lifecycle.New},
		"Resuming":         {reason: "the next driver is to be created", state: "RESUMING", runs: 1, want: lifecycle.New},
		"Unknown":          {reason: "doubt about a driver is not its end", state: "UNKNOWN", runs: 1, want: lifecycle.Running},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := incumbent(t, tc.state, "driver container failed", 1, tc.runs)
			got := RecordOf(&s)
			want := lifecycle.Record{
				State: tc.want, Attempt: 1, Submissions: 1, Executions: int32(tc.runs),
				SubmittedAt: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), SparkAppID: "spark-abc", DriverName: "pi-driver",
				Cause: lifecycle.Cause{Message: "driver container failed"},
				Executors: map[string]lifecycle.ExecutorState{
					"pi-exec-1": lifecycle.ExecutorRunning, "pi-exec-2": lifecycle.ExecutorFailed, "pi-exec-3": lifecycle.ExecutorLost,
				},
			}
			if want.Started() {
				want.SubmissionID = s.SubmissionID
			}
			want.Cause.Reason = tc.cause
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if len(cases) != 14 {
		t.Errorf("%d states of the incumbent tested, there are 14", len(cases))
	}
}

// The first projection over a status of the incumbent keeps what users and tools read from it.
func TestIncumbentStatusSurvivesTheFirstWrite(t *testing.T) {
	for _, state := range []string{"SUBMITTED", "RUNNING", "COMPLETED", "FAILED", "SUCCEEDING", "FAILING"} {
		s := incumbent(t, state, "", 3, 2)
		if state == "FAILED" || state == "FAILING" {
			s.AppState.ErrorMessage = "driver container failed with ExitCode: 1, Reason: Error"
		}
		got := Project(&s, settled(RecordOf(&s)), now)
		want := s
		want.Conditions, got.Conditions = nil, nil
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("%s: lost or changed (-incumbent +ours):\n%s", state, diff)
		}
	}
}

// An executor state that no version of the API knows is doubt, not an error.
func TestUnknownExecutorState(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{ExecutorState: map[string]v1beta2.ExecutorState{"e-1": "EXPLODED", "e-2": ""}}
	want := map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorLost, "e-2": lifecycle.ExecutorLost}
	if diff := cmp.Diff(want, RecordOf(&s).Executors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A state that no version of the API knows is looked at anew: the driver, if there is one, is recognised.
func TestUnknownState(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "EXPLODED"}}
	if got := RecordOf(&s).State; got != lifecycle.New {
		t.Errorf("state %q, want New", got)
	}
}
