// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// As Volcano 1.14 writes them: the first about a group that its queue has no room for, the second about every group without pods.
const (
	noRoom = "queue resource quota insufficient: insufficient cpu"
	noPods = "0/0 tasks in gang unschedulable: pod group is not ready, 1 minAvailable"
)

// after is so long after the attempts of these tests began to wait, as events have it.
func after(d time.Duration) string { return schedulertest.Start.Add(d).Format(time.RFC3339) }

// A group that waits is not said to wait for room when Volcano has stopped to write about it.
func TestSilence(t *testing.T) {
	const minute = time.Minute
	heard := func(kind string, at time.Duration, words string) *unstructured.Unstructured {
		return event(t, kind, "Unschedulable", after(at), words)
	}
	other := heard("Warning", 29*minute, noPods)
	if err := unstructured.SetNestedField(other.Object, "another", "involvedObject", "name"); err != nil {
		t.Fatal(err)
	}
	const (
		capacity = "waiting for capacity in queue team-a: asked cpu 7, memory 14Gi; the queue has allocated cpu 4 of 40"
		quota    = "waiting for quota in queue team-a: cpu asked 7, free 4 of 40"
		gone     = "; Volcano has been silent since 2026-11-21T09:18:00Z; check that it runs"
	)
	cases := map[string]struct {
		reason    string
		phase     string
		allocated int
		events    []*unstructured.Unstructured
		denied    bool
		age       time.Duration
		code      scheduler.Reason
		message   string
	}{
		"Speaks":  {reason: "an event in five minutes is what comes through", phase: "Pending", allocated: 4, events: []*unstructured.Unstructured{heard("Normal", 25*minute, noRoom), heard("Warning", 20*minute, noPods)}, age: 30 * minute, code: scheduler.ReasonWaitingForCapacity, message: capacity + "; " + noRoom},
		"Lost":    {reason: "one of them was lost", phase: "Pending", allocated: 4, events: []*unstructured.Unstructured{heard("Normal", 20*minute, noRoom)}, age: 30 * minute, code: scheduler.ReasonWaitingForCapacity, message: capacity + "; " + noRoom},
		"Warning": {reason: "the warning is that event", phase: "Pending", allocated: 4, events: []*unstructured.Unstructured{heard("Normal", minute, noRoom), heard("Warning", 25*minute, noPods)}, age: 30 * minute, code: scheduler.ReasonWaitingForCapacity, message: capacity + "; " + noRoom},
		"Other":   {reason: "it writes about another group", phase: "Pending", allocated: 4, events: []*unstructured.Unstructured{heard("Normal", minute, noRoom), other}, age: 30 * minute, code: scheduler.ReasonWaitingForCapacity, message: capacity + "; " + noRoom},
		"Died":    {reason: "it wrote the phase, spoke and died", phase: "Pending", allocated: 4, events: []*unstructured.Unstructured{heard("Normal", 18*minute, noRoom), heard("Warning", 13*minute, noPods)}, age: 30 * minute, code: scheduler.ReasonWaitingForScheduler, message: capacity + "; " + noRoom + gone},
		"Full":    {reason: "the numbers of the queue are Volcano's, too", phase: "Pending", allocated: 36, events: []*unstructured.Unstructured{heard("Warning", 18*minute, noPods)}, age: 30 * minute, code: scheduler.ReasonWaitingForScheduler, message: quota + gone},
		"Forgot":  {reason: "the API server has deleted its events", phase: "Pending", allocated: 4, age: 2 * time.Hour, code: scheduler.ReasonWaitingForScheduler, message: capacity + "; Volcano has become silent; check that it runs"},
		"Young":   {reason: "the group is new", phase: "Pending", allocated: 4, age: 10 * minute, code: scheduler.ReasonWaitingForCapacity, message: capacity},
		"Denied":  {reason: "who may not read events cannot tell", phase: "Pending", allocated: 4, denied: true, age: 2 * time.Hour, code: scheduler.ReasonWaitingForCapacity, message: capacity},
		"Inqueue": {reason: "the room is held", phase: "Inqueue", allocated: 4, age: 2 * time.Hour, code: scheduler.ReasonAdmitted, message: "queue team-a has reserved capacity for the whole application"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.Now = schedulertest.Start.Add(tc.age)
			group := podGroup(t, tc.phase)
			group.SetCreationTimestamp(metav1.NewTime(schedulertest.Start))
			s := snapshot(a, group, tc.events, queue(t, "team-a", "", "Open", 40, tc.allocated))
			if tc.denied {
				s[groupEvents(a)] = &unstructured.Unstructured{}
			}
			got, err := scheduler.AdmitAttempt(New(""), a, s)
			if err != nil || got.Reason != tc.code || got.Message != tc.message {
				t.Errorf("%s: %+v, %v; want %s and %q", tc.reason, got, err, tc.code, tc.message)
			}
			schedulertest.Keeps(t, New(""), a, s, scheduler.PodStatuses{})
		})
	}
}

// The same for a driver that waits: Volcano writes about its group until it runs, and no more while executors wait.
func TestSilenceOfPods(t *testing.T) {
	const minute = time.Minute
	driver := &scheduler.PodStatus{Name: "d", Phase: corev1.PodPending, SchedulerName: "volcano", CreatedAt: schedulertest.Start, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu.",
	}}}
	executor := *driver
	runs := up(0).Driver
	const (
		waits = "the driver waits for a node: 0/3 nodes are available: 3 Insufficient cpu."
		gone  = "; Volcano has been silent since 2026-11-21T09:18:00Z; check that it runs"
	)
	cases := map[string]struct {
		reason    string
		phase     string
		driver    *scheduler.PodStatus
		executors []scheduler.PodStatus
		at        time.Duration
		code      scheduler.Reason
		message   string
	}{
		"Speaks":    {reason: "it is heard", phase: "Inqueue", driver: driver, at: 25 * minute, code: scheduler.ReasonWaitingForCapacity, message: waits},
		"Died":      {reason: "it is not", phase: "Inqueue", driver: driver, at: 18 * minute, code: scheduler.ReasonWaitingForScheduler, message: waits + gone},
		"Running":   {reason: "about a group that runs it need not write", phase: "Running", driver: driver, at: 18 * minute, code: scheduler.ReasonWaitingForCapacity, message: waits},
		"Executors": {reason: "nor about executors that wait", phase: "Running", driver: runs, executors: []scheduler.PodStatus{executor}, at: 18 * minute, code: scheduler.ReasonWaitingForCapacity, message: "1 of 1 executors wait for a node: 0/3 nodes are available: 3 Insufficient cpu."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, f := attempt(), scheduler.PodStatuses{Now: schedulertest.Start.Add(30 * minute), Driver: tc.driver, Executors: tc.executors}
			s := scheduler.Snapshot{}
			for _, read := range New("").ObserveReads(a, f) {
				if s[read] = podGroup(t, tc.phase); strings.HasPrefix(read.Kind, "Event") {
					s[read] = scheduler.NewList(event(t, "Warning", "Unschedulable", after(tc.at), "1/1 tasks in gang unschedulable"))
				}
			}
			got, err := scheduler.Observe(New(""), a, s, f)
			if err != nil || got.Reason != tc.code || got.Message != tc.message || len(got.Apply) != 1 {
				t.Errorf("%s: %+v, %v; want %s and %q", tc.reason, got, err, tc.code, tc.message)
			}
		})
	}
}
