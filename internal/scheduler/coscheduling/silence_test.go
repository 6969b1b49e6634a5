// SPDX-License-Identifier: Apache-2.0

package coscheduling

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// Executors that the scheduler has left alone show that it does not run, unless they are members of a gang that have found room.
func TestSilence(t *testing.T) {
	const second, minute = time.Second, time.Minute
	// waits is an executor that was created so long after the driver, and seen one that the scheduler found no room for.
	waits := func(after time.Duration) scheduler.PodStatus {
		return scheduler.PodStatus{Phase: corev1.PodPending, CreatedAt: schedulertest.Start.Add(after)}
	}
	seen := func(after time.Duration) scheduler.PodStatus {
		p := waits(after)
		c := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}
		c.LastTransitionTime.Time = p.CreatedAt
		p.Conditions = []corev1.PodCondition{c}
		return p
	}
	mine := map[string]string{"scheduling.x-k8s.io/pod-group": "mine"}
	const silent = ": no scheduler has processed a pod of the application since 2026-11-21T09:00:20Z; check that it runs"
	cases := map[string]struct {
		reason, parameters string
		theirs             bool
		executors          []scheduler.PodStatus
		now                time.Duration
		code               scheduler.Reason
		message            string
	}{
		"Alone":   {reason: "it died when it had placed the driver", executors: []scheduler.PodStatus{waits(20 * second)}, now: 2 * minute, code: scheduler.ReasonWaitingForScheduler, message: "1 of 1 executors wait for a node" + silent},
		"Later":   {reason: "it died when it had found no room for the first", executors: []scheduler.PodStatus{seen(10 * second), waits(20 * second)}, now: 2 * minute, code: scheduler.ReasonWaitingForScheduler, message: "2 of 2 executors wait for a node" + silent},
		"Gang":    {reason: "a member that has found room waits for the other without a word", parameters: gangOfExecutors, executors: []scheduler.PodStatus{seen(10 * second), waits(20 * second)}, now: 2 * minute, code: scheduler.ReasonWaitingForGang, message: "2 of 2 executors wait for a node: no room"},
		"NoOne":   {reason: "of a gang that is incomplete each member is told so", parameters: gangOfExecutors, executors: []scheduler.PodStatus{waits(20 * second), waits(21 * second)}, now: 2 * minute, code: scheduler.ReasonWaitingForScheduler, message: "2 of 2 executors wait for a node" + silent},
		"New":     {reason: "they have just come", parameters: gangOfExecutors, executors: []scheduler.PodStatus{waits(20 * second)}, now: 30 * second, code: scheduler.ReasonWaitingForGang, message: "1 of 1 executors wait for a node"},
		"Theirs":  {reason: "a group of the user's own may be a gang", theirs: true, executors: []scheduler.PodStatus{seen(10 * second), waits(20 * second)}, now: 2 * minute, code: scheduler.ReasonWaitingForCapacity, message: "2 of 2 executors wait for a node: no room"},
		"Waiting": {reason: "the scheduler writes the same again and again, of which nothing can be seen for half an hour", executors: []scheduler.PodStatus{seen(20 * second)}, now: 25 * minute, code: scheduler.ReasonWaitingForCapacity, message: "1 of 1 executors wait for a node: no room"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			if tc.theirs {
				a.PodSets.DriverAttributes.Labels, a.PodSets.ExecutorAttributes.Labels = mine, mine
			}
			f := facts(tc.now, true, 0)
			f.Driver.SchedulerName, f.Driver.CreatedAt, f.Executors = schedulerName, schedulertest.Start, tc.executors
			got, err := scheduler.Observe(New(""), a, scheduler.Snapshot{}, f)
			if err != nil || got.Reason != tc.code || got.Message != tc.message {
				t.Errorf("%s: %+v, %v; want %s and %q", tc.reason, got, err, tc.code, tc.message)
			}
			if !tc.theirs && got.RetryAfter == 0 {
				t.Errorf("%s: it is not looked at again", tc.reason)
			}
			schedulertest.Keeps(t, New(""), a, scheduler.Snapshot{groupOf(a).Read(): (*unstructured.Unstructured)(nil)}, f)
		})
	}
}
