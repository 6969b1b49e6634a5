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

// An application from its group to its end. Each look is repeated: nothing may be written twice.
func TestStory(t *testing.T) {
	const second = time.Second
	c := schedulertest.NewCluster(t, New(""))
	a := attempt("")
	if got := c.Admit(a); got.Verdict != scheduler.Admit || c.Get(groupOf(a)) == nil {
		t.Fatalf("%+v: the group is there before the driver", got)
	}
	room := facts(40*second, false, 0)
	room.RoomMadeAt = schedulertest.Start.Add(39 * second)
	steps := []struct {
		reason string
		facts  scheduler.PodStatuses
		stage  scheduler.Stage
		cpu    string
		writes int
	}{
		{"the driver waits for the room of all", facts(10*second, false, 0), scheduler.StageQueued, "7", 1},
		{"someone's pod ended: the scheduler is told", room, scheduler.StageQueued, "7", 2},
		{"the driver has a node: the group asks for its room only", facts(50*second, true, 0), scheduler.StagePlaced, "1", 3},
		{"executors are there, and the scheduler judges by the old group", facts(52*second, true, 3), scheduler.StageShort, "1", 3},
		{"it is told again", facts(56*second, true, 3), scheduler.StageShort, "1", 4},
		{"one is placed", facts(60*second, true, 2), scheduler.StageShort, "1", 4},
		{"all are placed", facts(70*second, true, 0), scheduler.StagePlaced, "1", 4},
	}
	for _, step := range steps {
		for range 3 {
			got := c.Observe(a, step.facts)
			if got.Stage != step.stage {
				t.Errorf("%s: %+v", step.reason, got)
			}
		}
		cpu, _, _ := unstructured.NestedString(c.Get(groupOf(a)).Object, "spec", "minResources", "cpu")
		if cpu != step.cpu || c.Writes != step.writes {
			t.Errorf("%s: asks for %s CPU after %d writes, want %s after %d", step.reason, cpu, c.Writes, step.cpu, step.writes)
		}
	}
	c.Release(a)
	if c.Get(groupOf(a)) != nil {
		t.Error("the group outlives its attempt")
	}
}

// The group is deleted by someone while the application runs: late executors would not be scheduled.
func TestStoryOfMeddling(t *testing.T) {
	c := schedulertest.NewCluster(t, New(""))
	a := attempt(gangOfExecutors)
	c.Admit(a)
	c.Remove(groupOf(a))
	c.Observe(a, facts(0, true, 2))
	members, _, _ := unstructured.NestedInt64(c.Get(groupOf(a)).Object, "spec", "minMember")
	if members != 3 {
		t.Errorf("%d members", members)
	}
	if driver, executor := c.Decorate(a); driver.Labels != nil || executor.Labels["scheduling.x-k8s.io/pod-group"] != a.ID {
		t.Errorf("labels %v and %v", driver.Labels, executor.Labels)
	}
}

// A gang of executors, from the first to the last. Those that come after it was complete are not held by it.
func TestStoryOfAGang(t *testing.T) {
	const second = time.Second
	placed := func(f scheduler.PodStatuses, executors int) scheduler.PodStatuses {
		for range executors {
			f.Executors = append(f.Executors, scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1", Started: true})
		}
		return f
	}
	cases := map[string]struct {
		reason           string
		minimum, initial int32
	}{
		"Static":  {reason: "all of them are the gang", minimum: 3, initial: 3},
		"Dynamic": {reason: "the minimum of dynamic allocation is the gang", minimum: 3, initial: 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := schedulertest.NewCluster(t, New(""))
			a := attempt(gangOfExecutors)
			dynamic(tc.minimum, tc.initial)(&a)
			c.Admit(a)
			for _, step := range []struct {
				reason  string
				facts   scheduler.PodStatuses
				why     scheduler.Reason
				members int64
				writes  int
			}{
				{"the driver has a node", facts(0, true, 0), scheduler.ReasonScheduled, 3, 1},
				{"executors wait for each other", facts(10*second, true, 2), scheduler.ReasonWaitingForGang, 3, 1},
				{"the scheduler binds none before the gang is complete", placed(facts(20*second, true, 2), 1), scheduler.ReasonWaitingForCapacity, 1, 2},
				{"it is told again, as it still judges by the old group", placed(facts(26*second, true, 2), 1), scheduler.ReasonWaitingForCapacity, 1, 3},
				{"two are left", placed(facts(60*second, true, 0), 2), scheduler.ReasonScheduled, 1, 3},
				{"a new one waits alone", placed(facts(70*second, true, 1), 2), scheduler.ReasonWaitingForCapacity, 1, 3},
				{"all are gone, and one comes back", facts(80*second, true, 1), scheduler.ReasonWaitingForCapacity, 1, 3},
			} {
				for range 2 {
					if got := c.Observe(a, step.facts); got.Reason != step.why {
						t.Errorf("%s: %s: %+v, want %s", tc.reason, step.reason, got, step.why)
					}
				}
				members, _, _ := unstructured.NestedInt64(c.Get(groupOf(a)).Object, "spec", "minMember")
				if room, _, _ := unstructured.NestedMap(c.Get(groupOf(a)).Object, "spec", "minResources"); members != step.members || c.Writes != step.writes || room != nil {
					t.Errorf("%s: %s: %d members and room %v after %d writes, want %d after %d", tc.reason, step.reason, members, room, c.Writes, step.members, step.writes)
				}
			}
		})
	}
}
