// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// A class that appears, a driver that waits for a node, runs and is preempted.
func TestStory(t *testing.T) {
	c := schedulertest.NewCluster(t, Plugin{})
	a := schedulertest.Attempt(Name)
	a.PriorityClass = "high"
	if got := c.Admit(a); got.Reason != scheduler.ReasonPriorityClassNotFound {
		t.Errorf("%+v", got)
	}
	c.Put(schedulertest.Object(t, "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}"))
	if got := c.Admit(a); got.Verdict != scheduler.Admit {
		t.Errorf("%+v", got)
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: kind, Status: status, Reason: reason}}
	}
	steps := []struct {
		reason string
		driver scheduler.PodStatus
		stage  scheduler.Stage
		code   scheduler.Reason
	}{
		{"no node has room", scheduler.PodStatus{Phase: corev1.PodPending, Conditions: condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable")}, scheduler.StageQueued, scheduler.ReasonWaitingForCapacity},
		{"whatever scheduler the user named is fine", scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1", SchedulerName: "mine"}, scheduler.StagePlaced, scheduler.ReasonScheduled},
		{"someone more important", scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1", Conditions: condition(corev1.DisruptionTarget, corev1.ConditionTrue, corev1.PodReasonPreemptionByScheduler)}, scheduler.StageEvicted, scheduler.ReasonPreempted},
	}
	for _, step := range steps {
		if got := c.Observe(a, scheduler.PodStatuses{Driver: &step.driver}); got.Stage != step.stage || got.Reason != step.code {
			t.Errorf("%s: %+v, want %s and %s", step.reason, got, step.stage, step.code)
		}
	}
	c.Release(a)
	if c.Writes != 0 {
		t.Errorf("%d writes: plain Kubernetes has no objects", c.Writes)
	}
}
