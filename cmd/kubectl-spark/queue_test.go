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

package main

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

func TestWaitingOf(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	queued := metav1.NewTime(created.Add(time.Minute))
	submitted := metav1.NewTime(created.Add(2 * time.Minute))
	condition := func(kind, status, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
	}
	cases := map[string]struct {
		reason string
		status v1beta2.SparkApplicationStatus
		waits  bool
		since  time.Time
		why    string
	}{
		"New": {reason: "the operator may be down", waits: true, since: created.Time, why: "the operator has not looked at it yet"},
		"Queued": {
			reason: "the scheduler's sentence, since the attempt was queued", waits: true, since: queued.Time, why: "waiting for quota in queue team-a",
			status: v1beta2.SparkApplicationStatus{
				Attempt: 1, AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSubmitted}, Scheduling: &v1beta2.SchedulingStatus{QueuedAt: &queued},
				Conditions: []metav1.Condition{condition("Succeeded", "Unknown", "WaitingForQuota", "waiting: waiting for quota in queue team-a")},
			},
		},
		"Pending": {
			reason: "a driver pod without a node waits, too", waits: true, since: submitted.Time, why: "0/3 nodes are available",
			status: v1beta2.SparkApplicationStatus{
				Attempt: 1, ExecutionAttempts: 1, LastSubmissionAttemptTime: submitted, AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSubmitted},
				Conditions: []metav1.Condition{condition("Submitted", "True", "DriverCreated", ""), condition("DriverReady", "False", "Unschedulable", "0/3 nodes are available")},
			},
		},
		"Running": {reason: "it has what it waited for", status: v1beta2.SparkApplicationStatus{Attempt: 1, ExecutionAttempts: 1, AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateRunning}}},
		"Failed":  {reason: "it is over", status: v1beta2.SparkApplicationStatus{Attempt: 1, ExecutionAttempts: 1, AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateFailed}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}, Status: tc.status}
			got, waits := waitingOf(o)
			if waits != tc.waits || waits && (!got.since.Equal(tc.since) || got.why != tc.why) {
				t.Errorf("%s: waits %v since %s: %q; want %v since %s: %q", tc.reason, waits, got.since, got.why, tc.waits, tc.since, tc.why)
			}
		})
	}
}
