// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// From the priority class that is missing to a second attempt, which YuniKorn must not take for the first.
func TestStory(t *testing.T) {
	c := schedulertest.NewCluster(t, Plugin{})
	a := attempt("")
	a.PriorityClass = "high"
	if got := c.Admit(a); got.Reason != scheduler.ReasonPriorityClassNotFound {
		t.Errorf("%+v", got)
	}
	c.Put(schedulertest.Object(t, "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}"))
	if got := c.Admit(a); got.Verdict != scheduler.Admit {
		t.Errorf("%+v", got)
	}
	waits := &scheduler.PodStatus{Name: "d", UID: "u", Phase: corev1.PodPending, SchedulerName: "yunikorn"}
	if got := c.Observe(a, scheduler.PodStatuses{Driver: waits}); got.Reason != scheduler.ReasonWaitingForScheduler {
		t.Errorf("YuniKorn has not seen it: %+v", got)
	}
	event := said(t, 1, "tg-"+a.ID+"-driver-x", "p", "Normal", "Informational", "it does not fit")
	event.SetAPIVersion("v1")
	event.SetKind("Event")
	event.SetNamespace(a.App.Namespace)
	c.Put(event)
	steps := []struct {
		reason string
		driver *scheduler.PodStatus
		want   scheduler.Stage
	}{
		{"placeholders are gathered", waits, scheduler.StageReserving},
		{"the gang is complete", &scheduler.PodStatus{Name: "d", Phase: corev1.PodRunning, Node: "n1", Started: true}, scheduler.StagePlaced},
		{"it is preempted without a word", nil, scheduler.StageGone},
		{"YuniKorn refuses what comes next", &scheduler.PodStatus{Name: "d", Phase: corev1.PodFailed, Reason: "ApplicationRejected"}, scheduler.StageRefused},
	}
	for _, step := range steps {
		if got := c.Observe(a, scheduler.PodStatuses{Driver: step.driver}); got.Stage != step.want {
			t.Errorf("%s: %+v", step.reason, got)
		}
	}
	c.Release(a)
	second := a
	second.Number, second.ID = 2, "spark-0123456789abcdef-2"
	old, _ := c.Decorate(a)
	driver, executor := c.Decorate(second)
	const id = "yunikorn.apache.org/app-id"
	if driver.Labels[id] == old.Labels[id] || driver.Labels[id] != executor.Labels[id] {
		t.Errorf("ids %q, %q after %q: each attempt is an application, and its pods are one", driver.Labels[id], executor.Labels[id], old.Labels[id])
	}
	if c.Writes != 0 {
		t.Errorf("%d writes: YuniKorn has no objects", c.Writes)
	}
}

// Another scheduler's admission controller took the driver.
func TestStoryOfATheft(t *testing.T) {
	c := schedulertest.NewCluster(t, Plugin{})
	got := c.Observe(attempt(""), scheduler.PodStatuses{Driver: &scheduler.PodStatus{Name: "d", Phase: corev1.PodPending, SchedulerName: "volcano"}})
	if got.Reason != scheduler.ReasonCapturedByOther {
		t.Errorf("%+v", got)
	}
}
