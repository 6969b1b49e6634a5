// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// From the first look to the last: a group of its own, room, a driver, the end, and nothing left.
func TestStory(t *testing.T) {
	c := schedulertest.NewCluster(t, New(""), queue(t, "team-a", "", "Open", 40, 36))
	a := attempt()
	said := func(want scheduler.Reason, got scheduler.Admission) {
		t.Helper()
		if got.Reason != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	said(scheduler.ReasonWaitingForScheduler, c.Admit(a))
	c.Status(groupOf(a), "Pending", "phase")
	said(scheduler.ReasonWaitingForQuota, c.Admit(a))
	said(scheduler.ReasonWaitingForQuota, c.Admit(a))
	if c.Writes != 1 {
		t.Errorf("%d writes: a wait writes nothing twice", c.Writes)
	}
	c.Status(groupOf(a), "Inqueue", "phase")
	said(scheduler.ReasonAdmitted, c.Admit(a))
	driver, _ := c.Decorate(a)
	if got := driver.Annotations["scheduling.k8s.io/group-name"]; c.Get(scheduler.Ref{GroupVersionKind: podGroupKind, Namespace: "team-a", Name: got}) == nil {
		t.Errorf("the driver is in the group %q, which does not exist", got)
	}
	c.Status(groupOf(a), "Running", "phase")
	if o := c.Observe(a, up(3)); o.Stage != scheduler.StagePlaced || c.Writes != 1 {
		t.Errorf("%+v after %d writes", o, c.Writes)
	}
	c.Release(a)
	c.Release(a)
	if c.Get(groupOf(a)) != nil || c.Writes != 2 {
		t.Errorf("a group that is left behind reserves room again; %d writes", c.Writes)
	}
}

func TestStoryOfARetry(t *testing.T) {
	c := schedulertest.NewCluster(t, New(""), queue(t, "team-a", "", "Open", 0, 0))
	first, second := attempt(), attempt()
	second.Number, second.ID = 2, "spark-0123456789abcdef-2"
	c.Admit(first)
	c.Status(groupOf(first), "Completed", "phase")
	c.Release(first)
	got := c.Admit(second)
	if got.Reason != scheduler.ReasonWaitingForScheduler || c.Get(groupOf(first)) != nil {
		t.Errorf("%+v: the second attempt begins with a group of its own", got)
	}
	if diff := cmp.Diff(groupOf(second), *got.Group); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The queue is missing, appears, is closed, opened, and gets children.
func TestStoryOfAQueue(t *testing.T) {
	c := schedulertest.NewCluster(t, New(""), queue(t, "default", "", "Open", 0, 0))
	a := attempt()
	team := scheduler.Ref{GroupVersionKind: queueKind, Name: "team-a"}
	steps := []struct {
		reason string
		change func()
		want   scheduler.Reason
		group  bool
	}{
		{"no one made it", func() {}, scheduler.ReasonQueueNotFound, false},
		{"it appears", func() { c.Put(queue(t, "team-a", "", "", 0, 0)) }, scheduler.ReasonWaitingForScheduler, true},
		{"it is closed", func() { c.Status(team, "Closed", "state") }, scheduler.ReasonQueueClosed, false},
		{"it is opened", func() { c.Status(team, "Open", "state") }, scheduler.ReasonWaitingForScheduler, true},
		{"it gets children", func() { c.Put(queue(t, "child", "team-a", "Open", 0, 0)) }, scheduler.ReasonQueueNotLeaf, false},
		{"they go", func() { c.Remove(scheduler.Ref{GroupVersionKind: queueKind, Name: "child"}) }, scheduler.ReasonWaitingForScheduler, true},
		{"it shrinks", func() { c.Put(queue(t, "team-a", "", "Open", 5, 0)) }, scheduler.ReasonExceedsQueueCapacity, false},
		{"it goes", func() { c.Remove(team) }, scheduler.ReasonQueueNotFound, false},
	}
	for _, step := range steps {
		step.change()
		got := c.Admit(a)
		if got.Reason != step.want {
			t.Errorf("%s: %+v, want %s", step.reason, got, step.want)
		}
		if exists := c.Get(groupOf(a)) != nil; exists != step.group {
			t.Errorf("%s: the group exists: %t", step.reason, exists)
		}
	}
}

// Someone deletes the group, or changes it.
func TestStoryOfMeddling(t *testing.T) {
	c := schedulertest.NewCluster(t, New(""), queue(t, "team-a", "", "Open", 0, 0))
	a := attempt()
	c.Admit(a)
	whole := c.Get(groupOf(a)).DeepCopy()
	c.Remove(groupOf(a))
	c.Admit(a)
	if diff := cmp.Diff(whole, c.Get(groupOf(a))); diff != "" {
		t.Errorf("while it waits (-want +got):\n%s", diff)
	}
	c.Remove(groupOf(a))
	c.Observe(a, up(3))
	if diff := cmp.Diff(whole, c.Get(groupOf(a))); diff != "" {
		t.Errorf("while it runs (-want +got):\n%s", diff)
	}
	spoilt := whole.DeepCopy()
	spoilt.Object["spec"] = map[string]any{"minMember": int64(4)}
	spoilt.Object["status"] = map[string]any{"phase": "Running"}
	c.Put(spoilt)
	c.Observe(a, up(3))
	if got := c.Get(groupOf(a)); !cmp.Equal(got.Object["spec"], whole.Object["spec"]) || phaseOf(got) != "Running" {
		t.Errorf("what was changed is put right, and the status is the scheduler's: %v", got.Object)
	}
}

// A larger specification, while it waits.
func TestStoryOfAResize(t *testing.T) {
	c := schedulertest.NewCluster(t, New(""), queue(t, "team-a", "", "Open", 40, 0))
	a := attempt()
	c.Admit(a)
	a.PodSets.Initial = 5
	c.Admit(a)
	if cpu, _, _ := unstructured.NestedString(c.Get(groupOf(a)).Object, "spec", "minResources", "cpu"); cpu != "11" || c.Writes != 2 {
		t.Errorf("the group asks for %s CPU after %d writes", cpu, c.Writes)
	}
	a.PodSets.Initial = 50
	if got := c.Admit(a); got.Reason != scheduler.ReasonExceedsQueueCapacity || c.Get(groupOf(a)) != nil {
		t.Errorf("%+v", got)
	}
}

// With the option the group is lowered once, and stays so through a restart of the operator.
func TestStoryOfARunningGroup(t *testing.T) {
	c := schedulertest.NewCluster(t, New(""), queue(t, "team-a", "", "Open", 0, 0))
	a := attempt()
	a.Parameters = []byte(`{"afterStart":"DriverOnly"}`)
	c.Admit(a)
	for i, facts := range []scheduler.PodStatuses{up(1), up(3), up(3), up(1), up(0)} {
		c.Observe(a, facts)
		if want := min(i+1, 2); c.Writes != want {
			t.Errorf("step %d: %d writes, want %d", i, c.Writes, want)
		}
	}
}
