// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// builds is a plugin that observes, whose attempts count for quotas, and that counts how often the application is built to be validated: it is
// asked for placeholders each time. What is built once more, as it is decorated, is counted in package admission.
type builds struct {
	counting
	validated *int
}

func (b builds) Placeholders(scheduler.Attempt) []scheduler.Placeholder {
	*b.validated++
	return nil
}

func (builds) ObserveReads(scheduler.Attempt, scheduler.PodStatuses) []scheduler.Read { return nil }
func (builds) Observe(scheduler.Attempt, scheduler.Snapshot, scheduler.PodStatuses) (scheduler.Observation, error) {
	return scheduler.Observation{}, nil
}

// adjusting wants an object of a running attempt that the API server refuses.
type adjusting struct{ builds }

func (adjusting) Observe(scheduler.Attempt, scheduler.Snapshot, scheduler.PodStatuses) (scheduler.Observation, error) {
	group := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "x.example.org/v1", "kind": "Group"}}
	group.SetNamespace("jobs")
	group.SetName("pi-group")
	return scheduler.Observation{Apply: []*unstructured.Unstructured{group}}, nil
}

// A driver gets back what it lacks, also when its scheduler's objects cannot be adjusted, and nothing of that fails the application.
func TestRestoringDoesNotWaitForAdjusting(t *testing.T) {
	got := 0
	w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("counting") }))
	w.others = []scheduler.Plugin{adjusting{builds{counting{plain{goAhead}}, &got}}}
	w.restart()
	sent := w.refuse(func(o client.Object) bool { _, is := o.(*unstructured.Unstructured); return is }, bySpec["422"])
	w.settle()
	w.lacksVolume()
	clear(w.writes)
	w.reconcile()
	if *sent == 0 || w.writes["create *v1.ConfigMap"] == 0 || w.state() != "SUBMITTED" {
		t.Errorf("%d objects are refused, the application is %s, writes %v", *sent, w.state(), w.writes)
	}
}

// Building an application is the expensive part of a step: whatever is asked about it in a step is asked about the same candidate.
func TestStepValidatesOnce(t *testing.T) {
	waits := scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota, Message: "no room"}
	cases := map[string]struct {
		reason  string
		answer  scheduler.Admission
		prepare func(w *harness)
		// creates is whether a driver gets its ConfigMaps.
		creates bool
	}{
		"Starts": {reason: "it is asked before it starts, and does not change in between", answer: goAhead, creates: true},
		"Waits":  {reason: "it is asked once", answer: waits},
		"Restarted": {
			reason: "the ledger and the scheduler are told of the same attempt", answer: goAhead,
			prepare: func(w *harness) { w.settle(); w.restart() },
		},
		"Restored": {
			reason: "what the driver lacks is of the same attempt, too", answer: goAhead, creates: true,
			prepare: func(w *harness) { w.settle(); w.lacksVolume(); w.restart() },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := 0
			w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("counting") }))
			w.others = []scheduler.Plugin{builds{counting{plain{tc.answer}}, &got}}
			w.restart()
			if tc.prepare != nil {
				tc.prepare(w)
			}
			got = 0
			clear(w.writes)
			w.reconcile()
			if got != 1 {
				t.Errorf("%s: it is validated %d times, want once", tc.reason, got)
			}
			if created := w.writes["create *v1.ConfigMap"] > 0; created != tc.creates {
				t.Errorf("%s: ConfigMaps are created: %t; writes %v", tc.reason, created, w.writes)
			}
		})
	}
}

// lacksVolume takes the ConfigMaps away for which the driver pod waits, long enough for its events to be read.
func (w *harness) lacksVolume() {
	w.t.Helper()
	if err := w.c.DeleteAllOf(w.t.Context(), &corev1.ConfigMap{}, client.InNamespace("jobs")); err != nil {
		w.t.Fatal(err)
	}
	driver := w.drivers()[0]
	driver.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now())}}
	if err := w.c.Status().Update(w.t.Context(), &driver); err != nil {
		w.t.Fatal(err)
	}
	failed := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: driver.Namespace, Name: "failed"}, Type: corev1.EventTypeWarning, Reason: "FailedMount",
		InvolvedObject: corev1.ObjectReference{Name: driver.Name, UID: driver.UID}, Message: "MountVolume.SetUp failed: not found",
	}
	if err := w.c.Create(w.t.Context(), &failed); err != nil {
		w.t.Fatal(err)
	}
	w.pass(10 * time.Second) // events are not asked for before
}
