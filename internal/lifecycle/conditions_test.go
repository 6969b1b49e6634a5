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

package lifecycle

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// brief is a condition without its sentence.
func brief(c Condition) string { return fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason) }

func TestConditions(t *testing.T) {
	ran := func(s State, c Cause) Record {
		return Record{State: s, Attempt: 1, Generation: 1, Submissions: 1, Executions: 1, DriverName: "pi-driver", Cause: c}
	}
	unready := driver(Current, DriverPending)
	unready.Waiting = Cause{"ImagePullBackOff", "container spark-kubernetes-driver: Back-off pulling image"}
	failure := Cause{ReasonDriverFailed, "exit code 1"}
	refusal := Cause{ReasonSubmissionRefused, "service account not found"}
	cases := map[string]struct {
		reason string
		plan   Plan
		want   []string
	}{
		"Untouched": {
			reason: "before anything was checked nothing is claimed", plan: Plan{Driver: absent},
			want: []string{"Admitted=Unknown (InProgress)", "Submitted=False (NotSubmitted)", "DriverReady=False (NotSubmitted)", "Succeeded=Unknown (InProgress)"},
		},
		"AdmittedNotCreated": {
			reason: "trouble with the API server after the admission", plan: Plan{Driver: absent, Gate: admit},
			want: []string{"Admitted=True (Admitted)", "Submitted=False (NotSubmitted)", "DriverReady=False (NotSubmitted)", "Succeeded=Unknown (InProgress)"},
		},
		"WaitsForScheduler": {
			reason: "the scheduler's reason everywhere it explains something", plan: Plan{Record: Record{State: Queued, Cause: hold.Cause}, Driver: absent, Gate: hold},
			want: []string{"Admitted=False (SchedulerUnknown)", "Submitted=False (SchedulerUnknown)", "DriverReady=False (NotSubmitted)", "Succeeded=Unknown (SchedulerUnknown)"},
		},
		"WaitsForQuota": {
			reason: "admitted, but the API server has no room", plan: Plan{Record: Record{State: Queued, Cause: Cause{ReasonQuotaExceeded, "no room"}}, Driver: absent, Gate: admit},
			want: []string{"Admitted=True (Admitted)", "Submitted=False (QuotaExceeded)", "DriverReady=False (NotSubmitted)", "Succeeded=Unknown (QuotaExceeded)"},
		},
		"Suspended": {
			reason: "no gate is asked while suspended", plan: Plan{Record: Record{State: Queued, Cause: Cause{ReasonSuspended, "spec.suspend is true"}}, Driver: absent},
			want: []string{"Admitted=False (Suspended)", "Submitted=False (Suspended)", "DriverReady=False (NotSubmitted)", "Succeeded=Unknown (Suspended)"},
		},
		"Invalid": {
			reason: "a spec that cannot run", plan: Plan{Record: Record{State: Failed, Cause: reject.Cause}, Driver: absent, Gate: reject},
			want: []string{"Admitted=False (InvalidSpec)", "Submitted=False (InvalidSpec)", "DriverReady=False (NotSubmitted)", "Succeeded=False (InvalidSpec)"},
		},
		"Refused": {
			reason: "the API server refuses the pod", plan: Plan{Record: Record{State: SubmissionFailed, Submissions: 1, Cause: refusal}, Driver: absent, Gate: admit},
			want: []string{"Admitted=True (Admitted)", "Submitted=False (SubmissionRefused)", "DriverReady=False (NotSubmitted)", "Succeeded=False (SubmissionRefused)"},
		},
		"Pending": {
			reason: "created, not running", plan: Plan{Record: ran(Submitted, Cause{}), Driver: driver(Current, DriverPending)},
			want: []string{"Admitted=True (Admitted)", "Submitted=True (DriverCreated)", "DriverReady=False (DriverPending)", "Succeeded=Unknown (InProgress)"},
		},
		"PendingForAReason": {
			reason: "the kubelet's word is better than ours", plan: Plan{Record: ran(Submitted, Cause{}), Driver: unready},
			want: []string{"Admitted=True (Admitted)", "Submitted=True (DriverCreated)", "DriverReady=False (ImagePullBackOff)", "Succeeded=Unknown (InProgress)"},
		},
		"Running": {
			reason: "the container runs", plan: Plan{Record: ran(Running, Cause{}), Driver: driver(Current, DriverRunning)},
			want: []string{"Admitted=True (Admitted)", "Submitted=True (DriverCreated)", "DriverReady=True (DriverRunning)", "Succeeded=Unknown (InProgress)"},
		},
		"Succeeded": {
			reason: "an ended driver is not ready", plan: Plan{Record: ran(Succeeded, Cause{}), Driver: driver(Current, DriverSucceeded)},
			want: []string{"Admitted=True (Admitted)", "Submitted=True (DriverCreated)", "DriverReady=False (DriverSucceeded)", "Succeeded=True (DriverSucceeded)"},
		},
		"Failed": {
			reason: "the cause of the failure", plan: Plan{Record: ran(Failed, failure), Driver: failedDriver(1)},
			want: []string{"Admitted=True (Admitted)", "Submitted=True (DriverCreated)", "DriverReady=False (DriverFailed)", "Succeeded=False (DriverFailed)"},
		},
		"Lost": {
			reason: "a driver that disappeared", plan: Plan{Record: ran(Failing, Cause{ReasonDriverNotFound, "driver pod not found"}), Driver: absent},
			want: []string{"Admitted=True (Admitted)", "Submitted=True (DriverCreated)", "DriverReady=False (DriverNotFound)", "Succeeded=False (DriverNotFound)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Settle(tc.plan, nil, Env{Now: later}).Conditions {
				got = append(got, brief(c))
				if c.Message == "" {
					t.Errorf("%s: %s has no sentence", tc.reason, c.Type)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What an application waits for is read in one place: the sentence of the outcome.
func TestConditionOfAWaitingApplication(t *testing.T) {
	p := Plan{Record: Record{State: Queued, Cause: hold.Cause}, Driver: absent, Gate: hold}
	for _, c := range Settle(p, nil, Env{Now: later}).Conditions {
		if c.Type == ConditionSucceeded && c.Message != "waiting: no such scheduler" {
			t.Errorf("outcome's sentence %q, want the cause behind the prefix", c.Message)
		}
	}
}

// The four come true in their order: whoever is ready was submitted, whoever was submitted was admitted.
func TestConditionsComeTrueInOrder(t *testing.T) {
	domain(func(name string, app Application, rec Record, obs Observation, gate Gate) {
		p := Decide(app, rec, obs, gate, Env{Now: later})
		status := map[ConditionType]Status{}
		for _, c := range Settle(p, nil, Env{Now: later}).Conditions {
			status[c.Type] = c.Status
		}
		if status[ConditionDriverReady] == True && status[ConditionSubmitted] != True ||
			status[ConditionSubmitted] == True && status[ConditionAdmitted] != True ||
			status[ConditionSucceeded] == True && status[ConditionSubmitted] != True {
			t.Errorf("%s: conditions contradict each other: %v", name, status)
		}
	})
}
