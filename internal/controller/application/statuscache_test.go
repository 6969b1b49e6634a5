// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/statuscache"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// What else has to be checked soon does not wait for a status that is held back.
func TestHeldWriteKeepsTheSoonerTimer(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Deadlines = &v1beta2.Deadlines{Run: &metav1.Duration{Duration: 20 * time.Second}}
	w := newHarness(t, o)
	w.reconcile()
	w.kubelet(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}})
	w.reconcile()
	w.pass(9 * time.Second)
	w.executor("pi-exec-1", corev1.PodRunning)
	w.pass(2 * time.Second)
	w.reconcile() // reports it
	w.pass(7 * time.Second)
	w.executor("pi-exec-2", corev1.PodRunning)
	before := w.writes["status"]
	if r := w.reconcile(); w.writes["status"] != before || r.RequeueAfter > 2*time.Second {
		t.Errorf("%d writes, and checked again after %s: its time is over in 2 s", w.writes["status"]-before, r.RequeueAfter)
	}
}

// The executors of a short job come and go within the window, and are worth no write of their own. Its status reports
// them all the same when it is over.
func TestExecutorsOfAShortJobAreTold(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	before := w.writes["status"]
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
		w.executor("pi-exec-1", phase)
		if r := w.reconcile(); r.RequeueAfter <= 0 || r.RequeueAfter > statuscache.ChurnWindow {
			t.Errorf("the write comes after %s, want within %s", r.RequeueAfter, statuscache.ChurnWindow)
		}
		w.pass(time.Second)
	}
	if err := w.c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-exec-1"}}); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if n := w.writes["status"] - before; n != 0 {
		t.Errorf("%d writes for executors within the window", n)
	}
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	for range 3 {
		w.reconcile()
	}
	want := map[string]v1beta2.ExecutorState{"pi-exec-1": v1beta2.ExecutorStateCompleted}
	if diff := cmp.Diff(want, w.app().Status.ExecutorState); diff != "" {
		t.Errorf("executors (-want +got):\n%s", diff)
	}
}

// A cache behind our own write must not be decided on: the driver would be looked for as if it had not been created.
func TestStaleCacheIsNotDecidedOn(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	stale := w.app()
	w.reconcile()
	fresh := w.engine.Cache
	w.engine.Cache = staleCache{Reader: fresh, app: stale}
	before := w.writes["create *v1.Pod"]
	if r := w.reconcile(); r.RequeueAfter != staleRetry {
		t.Errorf("checked again after %s, want %s: the event may be lost", r.RequeueAfter, staleRetry)
	}
	if w.writes["create *v1.Pod"] != before || w.writes["status"] != 1 {
		t.Errorf("decided on a version that we have replaced: %v", w.writes)
	}
	w.engine.Cache = fresh
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	if w.state() != "RUNNING" {
		t.Errorf("state %q when the cache has caught up", w.state())
	}
}

// Nothing is remembered of an application that has ended or gone.
func TestEngineForgets(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	for range 3 {
		w.reconcile()
	}
	if n := w.engine.written.Len(); n != 0 {
		t.Errorf("%d finished applications remembered", n)
	}
}

// An operator that has missed the start of an attempt takes its driver for a previous one's: it must not stop it. It is the
// case of a second leader, which remembers no write of the first.
func TestStaleCacheStopsNobodysDriver(t *testing.T) {
	o := testutil.Pi()
	o.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(3)), OnFailureRetryInterval: new(int64(1))}
	w := newHarness(t, o)
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	w.kubelet(corev1.PodFailed, exited(1, "Error"))
	w.reconcile()
	stale := w.app()
	for range 6 {
		w.pass(10 * time.Second)
		w.reconcile()
	}
	if n := w.app().Status.ExecutionAttempts; n != 2 || len(w.drivers()) != 1 {
		t.Fatalf("%d attempts and %d drivers: the second attempt did not start", n, len(w.drivers()))
	}
	second := w.drivers()[0].UID
	w.restart()
	w.engine.Cache = staleCache{Reader: w.engine.Cache, app: stale}
	for range 6 {
		w.pass(10 * time.Second)
		w.reconcile()
	}
	if drivers := w.drivers(); len(drivers) != 1 || drivers[0].UID != second {
		t.Errorf("an operator with a stale cache stopped the driver of the second attempt: %+v", drivers)
	}
}
