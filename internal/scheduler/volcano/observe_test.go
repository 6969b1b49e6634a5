// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

func up(executors int) scheduler.PodStatuses {
	f := scheduler.PodStatuses{Driver: &scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1", Started: true, SchedulerName: "volcano"}}
	for range executors {
		f.Executors = append(f.Executors, scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1"})
	}
	return f
}

// evictedBy is a driver as Volcano 1.14 leaves it; the words are its own.
func evictedBy(action string) scheduler.PodStatuses {
	f := up(0)
	f.Driver.Deleting = true
	f.Driver.Conditions = []corev1.PodCondition{
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", Message: "volcano: preempting to accommodate a higher priority pod"},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "Evict", Message: "Pod is evicted, because of " + action},
	}
	return f
}

func TestObserve(t *testing.T) {
	deleting, ended := up(0), up(0)
	deleting.Driver.Deleting = true
	ended.Driver.Phase = corev1.PodSucceeded
	waiting := scheduler.PodStatuses{Driver: &scheduler.PodStatus{Phase: corev1.PodPending, SchedulerName: "volcano", Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu.",
	}}}}
	drained := evictedBy("x")
	drained.Driver.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"}}
	cases := map[string]struct {
		reason  string
		facts   scheduler.PodStatuses
		stage   scheduler.Stage
		code    scheduler.Reason
		message string
		applies bool
	}{
		"Running":   {reason: "the group is kept: late executors need it", facts: up(3), stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled, message: "all pods have a node", applies: true},
		"Waiting":   {reason: "the driver is larger than any node", facts: waiting, stage: scheduler.StageQueued, code: scheduler.ReasonWaitingForCapacity, message: "the driver waits for a node: 0/3 nodes are available: 3 Insufficient cpu.", applies: true},
		"Reclaimed": {reason: "another queue took its share", facts: evictedBy("reclaim"), stage: scheduler.StageEvicted, code: scheduler.ReasonReclaimed, message: "the driver was evicted: Pod is evicted, because of reclaim"},
		"Preempted": {reason: "someone more important", facts: evictedBy("preempt"), stage: scheduler.StageEvicted, code: scheduler.ReasonPreempted, message: "the driver was evicted: Pod is evicted, because of preempt"},
		"Drained":   {reason: "not Volcano's doing", facts: drained, stage: scheduler.StageEvicted, code: scheduler.ReasonNodeFailure, message: "the driver was evicted"},
		"Deleting":  {reason: "a group that is being deleted is not recreated", facts: deleting, stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled, message: "all pods have a node"},
		"Ended":     {reason: "an attempt that is over needs no group", facts: ended, stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled, message: "all pods have a node"},
		"Gone":      {reason: "nothing to look after", stage: scheduler.StageGone, code: scheduler.ReasonDriverGone, message: "the driver pod is gone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			got, err := scheduler.Observe(New(""), a, scheduler.Snapshot{groupOf(a).Read(): nil}, tc.facts)
			if err != nil || got.Stage != tc.stage || got.Reason != tc.code || got.Message != tc.message {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.stage, tc.code, tc.message)
			}
			if (got.Eviction != nil) != (tc.stage == scheduler.StageEvicted) {
				t.Errorf("%s: eviction %+v", tc.reason, got.Eviction)
			}
			if applied := len(got.Apply) > 0; applied != tc.applies {
				t.Errorf("%s: the group is applied: %t", tc.reason, applied)
			}
			queues := queue(t, "team-a", "", "Open", 0, 0)
			schedulertest.Keeps(t, New(""), a, snapshot(a, podGroup(t, "Running"), nil, queues), tc.facts)
		})
	}
}

// With DriverOnly the group shrinks once, when all initial executors have run, and stays so.
func TestAfterStart(t *testing.T) {
	lowered := podGroup(t, "Running")
	lowered.SetAnnotations(map[string]string{annotationHolds: driverOnly})
	const option, keep = `{"afterStart":"DriverOnly"}`, `{"afterStart":"KeepReservation"}`
	// with adds an executor that waits, and those that are known to have been there.
	with := func(f scheduler.PodStatuses, waits int64, ever int32) scheduler.PodStatuses {
		f.ExecutorsEver = ever
		if waits > 0 {
			f.Executors = append(f.Executors, scheduler.PodStatus{ExecutorID: waits, Phase: corev1.PodPending})
		}
		return f
	}
	cases := map[string]struct {
		reason     string
		parameters string
		dynamic    bool
		facts      scheduler.PodStatuses
		group      *unstructured.Unstructured
		cpu        string
	}{
		"Keep":    {reason: "the room stays held by default", facts: up(3), cpu: "7"},
		"Early":   {reason: "executors are still to come", parameters: option, facts: up(2), cpu: "7"},
		"Lower":   {reason: "all of them run", parameters: option, facts: up(3), cpu: "1"},
		"Stays":   {reason: "executors that ended are not asked for again", parameters: option, facts: up(1), group: lowered, cpu: "1"},
		"Changed": {reason: "the mark means nothing without the option", facts: up(1), group: lowered, cpu: "7"},
		"Dynamic": {reason: "dynamic allocation deletes executors that are idle: no one would use their room", dynamic: true, facts: up(3), cpu: "1"},
		"Starts":  {reason: "dynamic allocation has not started all of them", dynamic: true, facts: up(2), cpu: "7"},
		"Idle":    {reason: "two were idle and went before all ran at one moment", dynamic: true, facts: with(up(1), 0, 3), cpu: "1"},
		"Waits":   {reason: "one of the initial executors waits, though another went", dynamic: true, facts: with(up(1), 3, 3), cpu: "7"},
		"Later":   {reason: "the fourth is not one of them, and no room was held for it", dynamic: true, facts: with(up(1), 4, 4), cpu: "1"},
		"Asked":   {reason: "the user wants to keep it all the same", dynamic: true, parameters: keep, facts: up(3), cpu: "7"},
		"Driver":  {reason: "the driver does not run yet", dynamic: true, facts: scheduler.PodStatuses{Driver: &scheduler.PodStatus{Phase: corev1.PodPending, SchedulerName: "volcano"}, ExecutorsEver: 3}, cpu: "7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.Parameters = []byte(tc.parameters)
			if tc.dynamic {
				a.PodSets.Min, a.PodSets.Max = 1, 10
			}
			if tc.group == nil {
				tc.group = podGroup(t, "Running")
			}
			got, err := scheduler.Observe(New(""), a, scheduler.Snapshot{groupOf(a).Read(): tc.group}, tc.facts)
			if err != nil || len(got.Apply) != 1 {
				t.Fatalf("%s: %+v, %v", tc.reason, got, err)
			}
			cpu, _, _ := unstructured.NestedString(got.Apply[0].Object, "spec", "minResources", "cpu")
			if cpu != tc.cpu {
				t.Errorf("%s: the group asks for %s CPU, want %s", tc.reason, cpu, tc.cpu)
			}
			if marked := got.Apply[0].GetAnnotations()[annotationHolds] != ""; marked != (tc.cpu == "1") {
				t.Errorf("%s: marked as lowered: %t", tc.reason, marked)
			}
		})
	}
}

// Executors that shall start together are counted from the start of the driver on: the group would never be complete before.
func TestExecutorGang(t *testing.T) {
	const gang, shrinks = `{"executorGang":true}`, `{"executorGang":true,"afterStart":"DriverOnly"}`
	waiting := scheduler.PodStatuses{Driver: &scheduler.PodStatus{Phase: corev1.PodPending, SchedulerName: "volcano"}}
	cases := map[string]struct {
		reason     string
		parameters string
		min        int32
		facts      scheduler.PodStatuses
		members    int64
	}{
		"Default":   {reason: "executors start one by one", min: 3, facts: up(0), members: 1},
		"Driver":    {reason: "the driver waits for a node: there are no executors before it runs", parameters: gang, min: 3, facts: waiting, members: 1},
		"Runs":      {reason: "its executors are to come", parameters: gang, min: 3, facts: up(0), members: 4},
		"Stays":     {reason: "a later executor is one of the gang", parameters: gang, min: 3, facts: up(3), members: 4},
		"Lowered":   {reason: "others may have the room of executors once all have started", parameters: shrinks, min: 3, facts: up(3), members: 1},
		"Starts":    {reason: "they have not", parameters: shrinks, min: 3, facts: up(2), members: 4},
		"Minimum":   {reason: "dynamic allocation may delete the others", parameters: gang, min: 2, facts: up(0), members: 3},
		"NoMinimum": {reason: "there is no number that is sure to come", parameters: gang, facts: up(0), members: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.Parameters, a.PodSets.Min = []byte(tc.parameters), tc.min
			got, err := scheduler.Observe(New(""), a, scheduler.Snapshot{groupOf(a).Read(): podGroup(t, "Running")}, tc.facts)
			if err != nil || len(got.Apply) != 1 {
				t.Fatalf("%s: %+v, %v", tc.reason, got, err)
			}
			if members, _, _ := unstructured.NestedInt64(got.Apply[0].Object, "spec", "minMember"); members != tc.members {
				t.Errorf("%s: %d members, want %d", tc.reason, members, tc.members)
			}
		})
	}
}

// A gang that can never be complete is refused, and one that has no member is said.
func TestGangWithoutExecutors(t *testing.T) {
	a := attempt()
	a.Parameters, a.PodSets.MaxPending = []byte(`{"executorGang":true}`), 2
	if got := New("").Validate(a); len(got) != 1 || !strings.Contains(got[0].Error(), "3 executors must exist before the first of them starts, but spark.kubernetes.allocation.maxPendingPods allows 2") {
		t.Errorf("%v", got)
	}
	a.PodSets.MaxPending, a.PodSets.Min = 0, 0
	got, err := scheduler.AdmitAttempt(New(""), a, snapshot(a, podGroup(t, "Inqueue"), nil, queue(t, "team-a", "", "Open", 0, 0)))
	if err != nil || got.Verdict != scheduler.Admit || !strings.HasPrefix(got.Warning, "executorGang has no effect: ") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Dynamic allocation may want fewer executors than it began with before all of them were created. Their room is free for others after a
// while in which none came.
func TestFewerThanInitial(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	// two is an attempt that had two of three executors, the newer so long ago; each has a phase.
	two := func(ago time.Duration, phases ...corev1.PodPhase) scheduler.PodStatuses {
		f := up(len(phases))
		f.Now, f.Driver.CreatedAt, f.ExecutorsEver = now, now.Add(-time.Hour), 2
		for i, phase := range phases {
			f.Executors[i].Phase, f.Executors[i].ExecutorID, f.Executors[i].CreatedAt = phase, int64(i+1), now.Add(-ago)
		}
		return f
	}
	const runs, waits = corev1.PodRunning, corev1.PodPending
	young := two(0)
	young.Driver.CreatedAt = now.Add(-time.Minute)
	starts := two(0)
	starts.Driver.Phase = waits
	cases := map[string]struct {
		reason string
		static bool
		facts  scheduler.PodStatuses
		cpu    string
		retry  time.Duration
	}{
		"Soon":   {reason: "the third may come", facts: two(time.Minute, runs, runs), cpu: "7", retry: 4 * time.Minute},
		"Late":   {reason: "no one asks for the third", facts: two(5*time.Minute, runs, runs), cpu: "1"},
		"Gone":   {reason: "both were idle: the driver is what is known", facts: two(0), cpu: "1"},
		"Young":  {reason: "the driver has just asked", facts: young, cpu: "7", retry: 4 * time.Minute},
		"Waits":  {reason: "the second waits for room, in the order of its queue", facts: two(time.Hour, runs, waits), cpu: "7"},
		"Starts": {reason: "the driver asks for none before it runs", facts: starts, cpu: "7"},
		"Static": {reason: "all of them come in the end, after a quota has room", static: true, facts: two(time.Hour, runs, runs), cpu: "7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.Parameters = []byte(`{"afterStart":"DriverOnly"}`)
			if !tc.static {
				a.PodSets.Min, a.PodSets.Max = 1, 10
			}
			got, err := scheduler.Observe(New(""), a, scheduler.Snapshot{groupOf(a).Read(): podGroup(t, "Running")}, tc.facts)
			if err != nil || len(got.Apply) != 1 {
				t.Fatalf("%s: %+v, %v", tc.reason, got, err)
			}
			if cpu, _, _ := unstructured.NestedString(got.Apply[0].Object, "spec", "minResources", "cpu"); cpu != tc.cpu || got.RetryAfter != tc.retry {
				t.Errorf("%s: the group asks for %s CPU, next look after %s; want %s and %s", tc.reason, cpu, got.RetryAfter, tc.cpu, tc.retry)
			}
		})
	}
}

func TestObserveReads(t *testing.T) {
	a := attempt()
	if diff := cmp.Diff([]scheduler.Read{groupOf(a).Read()}, New("").ObserveReads(a, scheduler.PodStatuses{})); diff != "" {
		t.Errorf("a running attempt looks at its group only (-want +got):\n%s", diff)
	}
}
