// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// What YuniKorn says about executors that wait beside a driver that runs, and that it says nothing.
func TestExecutorEvents(t *testing.T) {
	const (
		full     = "Request 'p' does not fit in queue 'root.team-a' (requested map[vcore:2000], available map[vcore:0])"
		queuedUp = "team-a/e is queued and waiting for allocation"
		one      = "1 of 1 executors wait for a node"
		two      = "2 of 2 executors wait for a node"
		gone     = ": no scheduler has processed a pod of the application since "
		again    = "; check that it runs"
	)
	// waits is an executor that was created so many seconds after the beginning.
	waits := func(name string, after int) scheduler.PodStatus {
		return scheduler.PodStatus{Name: name, UID: name + "1", Phase: corev1.PodPending, SchedulerName: "yunikorn", CreatedAt: schedulertest.Start.Add(time.Duration(after) * time.Second)}
	}
	first, second := waits("e", 0), waits("f", 600)
	noNode := first
	noNode.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "request is waiting for cluster resources become available"}}
	seen := said(t, 1, "e", "e1", "Normal", "Scheduling", queuedUp)
	type list = []*unstructured.Unstructured
	cases := map[string]struct {
		reason    string
		executors []scheduler.PodStatus
		age       time.Duration
		events    list
		denied    bool
		code      scheduler.Reason
		message   string
		again     time.Duration
	}{
		"Early":     {reason: "it takes a moment until YuniKorn says why, and only the first sentence of a reason is stored", executors: []scheduler.PodStatus{first}, age: 5 * time.Second, events: list{seen}, code: scheduler.ReasonWaitingForScheduler, message: one + "; YuniKorn has not reported a reason yet", again: 10 * time.Second},
		"Full":      {reason: "the queue has no room, of which there is no condition", executors: []scheduler.PodStatus{first}, age: 5 * time.Second, events: list{seen, said(t, 2, "e", "e1", "Normal", "Informational", full)}, code: scheduler.ReasonWaitingForCapacity, message: one + "; YuniKorn says: " + full},
		"NoNode":    {reason: "no node has", executors: []scheduler.PodStatus{noNode}, age: 5 * time.Second, events: list{seen}, code: scheduler.ReasonWaitingForCapacity, message: one + ": request is waiting for cluster resources become available"},
		"Last":      {reason: "its last word counts", executors: []scheduler.PodStatus{first}, age: time.Minute, events: list{said(t, 9, "e", "e1", "Warning", "FailedScheduling", "no volume"), said(t, 2, "e", "e1", "Normal", "Informational", full)}, code: scheduler.ReasonWaitingForCapacity, message: one + "; YuniKorn says: no volume"},
		"Quiet":     {reason: "it has queued them and need not say more", executors: []scheduler.PodStatus{first}, age: 40 * time.Minute, events: list{seen}, code: scheduler.ReasonWaitingForCapacity, message: one},
		"Died":      {reason: "it writes that it has queued a pod", executors: []scheduler.PodStatus{first}, age: time.Minute, code: scheduler.ReasonWaitingForScheduler, message: one + gone + "2026-11-21T09:00:00Z" + again, again: eventsRetry},
		"DiedLater": {reason: "it spoke about the first, and not about the one that came ten minutes later", executors: []scheduler.PodStatus{first, second}, age: 11 * time.Minute, events: list{seen, said(t, 2, "e", "e1", "Normal", "Informational", full)}, code: scheduler.ReasonWaitingForScheduler, message: two + gone + "2026-11-21T09:10:00Z" + again, again: eventsRetry},
		"Soon":      {reason: "the second has just come", executors: []scheduler.PodStatus{first, second}, age: 610 * time.Second, events: list{seen}, code: scheduler.ReasonWaitingForCapacity, message: two, again: 50 * time.Second},
		"Earlier":   {reason: "it is about an executor of the same name", executors: []scheduler.PodStatus{first}, age: time.Minute, events: list{said(t, -9, "e", "e0", "Normal", "Informational", full)}, code: scheduler.ReasonWaitingForScheduler, message: one + gone + "2026-11-21T09:00:00Z" + again, again: eventsRetry},
		"Neighbor":  {reason: "it is about another application", executors: []scheduler.PodStatus{first}, age: time.Minute, events: list{said(t, 9, "x", "x1", "Normal", "Informational", full)}, code: scheduler.ReasonWaitingForScheduler, message: one + gone + "2026-11-21T09:00:00Z" + again, again: eventsRetry},
		"Old":       {reason: "the API server forgets events after an hour", executors: []scheduler.PodStatus{first}, age: time.Hour, code: scheduler.ReasonWaitingForCapacity, message: one + unheard},
		"Denied":    {reason: "who may not read events does not know", executors: []scheduler.PodStatus{first}, age: 2 * time.Minute, denied: true, code: scheduler.ReasonWaitingForCapacity, message: one + unheard},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			driver := scheduler.PodStatus{Name: "d", UID: "d1", Phase: corev1.PodRunning, Node: "n1", Started: true, SchedulerName: "yunikorn", CreatedAt: schedulertest.Start.Add(-time.Minute)}
			a, facts := attempt(""), scheduler.PodStatuses{Now: schedulertest.Start.Add(tc.age), Driver: &driver, Executors: tc.executors}
			s := scheduler.Snapshot{}
			for _, read := range (Plugin{}).ObserveReads(a, facts) {
				if s[read] = scheduler.NewList(tc.events...); tc.denied {
					s[read] = &unstructured.Unstructured{}
				}
			}
			got, err := scheduler.Observe(Plugin{}, a, s, facts)
			if err != nil || got.Stage != scheduler.StageShort || got.Reason != tc.code || got.Message != tc.message || got.RetryAfter != tc.again {
				t.Errorf("%s: %+v, %v; want %s, again after %s, and %q", tc.reason, got, err, tc.code, tc.again, tc.message)
			}
			schedulertest.Keeps(t, Plugin{}, a, s, facts)
		})
	}
}
