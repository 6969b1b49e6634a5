// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// held is an application that a finalizer of someone keeps when it is deleted.
func held() *v1beta2.SparkApplication {
	o := testutil.Pi()
	o.Finalizers = []string{"foregroundDeletion"}
	return o
}

func (w *harness) deleteApp() {
	w.t.Helper()
	o := w.app()
	if err := w.c.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func TestDeletionStopsTheDriver(t *testing.T) {
	w := newHarness(t, held())
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	w.events()
	w.deleteApp()
	before := w.app().Status
	for range 3 {
		w.reconcile()
	}
	if len(w.drivers()) != 0 || w.writes["delete *v1.Pod"] != 1 {
		t.Errorf("%d drivers after %d deletes", len(w.drivers()), w.writes["delete *v1.Pod"])
	}
	if !equality.Semantic.DeepEqual(before, w.app().Status) {
		t.Errorf("the status of what goes away was written: %+v", w.app().Status)
	}
	if events := w.events(); len(events) != 0 {
		t.Errorf("events %q", events)
	}
}

func TestDeletionCreatesNothing(t *testing.T) {
	w := newHarness(t, held())
	w.deleteApp()
	clear(w.writes)
	for range 2 {
		w.reconcile()
	}
	if len(w.writes) != 0 {
		t.Errorf("writes for an application that goes away: %v", w.writes)
	}
}

func TestDeletionTouchesOnlyWhatIsOwned(t *testing.T) {
	notOwned := &corev1.Pod{}
	notOwned.Namespace, notOwned.Name, notOwned.UID = "jobs", "pi-driver", "theirs"
	w := newHarness(t, held(), notOwned)
	w.reconcile()
	w.deleteApp()
	w.reconcile()
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(notOwned), notOwned); err != nil || notOwned.UID != "theirs" {
		t.Errorf("the other owner's pod: %v", err)
	}
}
