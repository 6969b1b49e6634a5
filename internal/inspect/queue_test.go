// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/quota"
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
		why    lifecycle.Cause
	}{
		"New": {reason: "the operator may be down", waits: true, since: created.Time, why: lifecycle.Cause{Message: "the operator has not reconciled it yet"}},
		"Queued": {
			reason: "the scheduler's sentence, since the attempt was queued", waits: true, since: queued.Time, why: lifecycle.Cause{Reason: "WaitingForQuota", Message: "waiting for quota in queue team-a"},
			status: v1beta2.SparkApplicationStatus{
				Attempt: 1, AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSubmitted}, Scheduling: &v1beta2.SchedulingStatus{QueuedAt: &queued},
				Cause: &v1beta2.CauseStatus{Reason: "WaitingForQuota", Message: "waiting for quota in queue team-a"},
			},
		},
		"Pending": {
			reason: "a driver pod without a node waits, too", waits: true, since: submitted.Time, why: lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes are available"},
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
			got, waits := waitingOf(Application{Applications, o, Applications.Read(o, resolve.Operator{}, time.Time{})})
			if waits != tc.waits || waits && (!got.Since.Equal(tc.since) || got.Why != tc.why) {
				t.Errorf("%s: waits %v since %s: %+v; want %v since %s: %+v", tc.reason, waits, got.Since, got.Why, tc.waits, tc.since, tc.why)
			}
		})
	}
}

// restricted is a cluster in which a user sees some namespaces only.
type restricted struct{ client.Reader }

func (restricted) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, key.Name, nil)
}

func (restricted) List(_ context.Context, o client.ObjectList, options ...client.ListOption) error {
	if (&client.ListOptions{}).ApplyOptions(options).Namespace == "" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, "", nil)
	}
	return nil
}

// What a user may not see makes positions unknown, not wrong.
func TestStandingsOfWhatIsHidden(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		class, plugin string
		hidden        bool
		says          string
	}{
		"Own":      {reason: "all that matters is in the namespace", plugin: "kube"},
		"Shared":   {reason: "quotas of other namespaces matter", plugin: "coscheduling", hidden: true},
		"Priority": {reason: "a priority that is not known may be the highest", plugin: "kube", class: "high", says: "PriorityClass high of jobs/a: you may not read it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &standings{plugin: quota.New("Enforce", []string{"coscheduling"}), reader: observe.Reader{Live: restricted{}}, seen: scheduler.Snapshot{}}
			w := contender{Attempt: scheduler.Attempt{App: scheduler.App{Namespace: "jobs", Name: "a"}, PriorityClass: tc.class, Choice: scheduler.Choice{Scheduler: tc.plugin}}}
			err := s.look(t.Context(), &w)
			if s.hidden != tc.hidden || (tc.says == "") != (err == nil) || err != nil && err.Error() != tc.says {
				t.Errorf("%s: hidden %v, %v", tc.reason, s.hidden, err)
			}
		})
	}
}
