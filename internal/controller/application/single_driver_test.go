// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// Never two live drivers: the first was created just before a crash, then the user renamed the driver.
func TestRenamedDriverAfterACrash(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.patchFails = errCrash{}
	_, _ = w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	w.patchFails = nil
	w.restart()
	w.kubelet(corev1.PodRunning, running())
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Driver.PodName = new("renamed") })
	w.reconcile()
	var names []string
	for _, d := range w.drivers() {
		names = append(names, d.Name)
	}
	if len(names) != 1 {
		t.Errorf("live drivers of one application: %s", strings.Join(names, ", "))
	}
	if w.writes["delete *v1.ConfigMap"] != 0 || w.writes["delete *v1.Service"] != 0 {
		t.Errorf("Service and ConfigMap of a live driver were deleted: %v", w.writes)
	}
}

// Another operator that believed to lead has deleted a ConfigMap of the driver: it would wait for its volume for ever.
func TestDriverThatLacksItsConfigMap(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.reconcile()
	made := w.resources(w.app().Status.SubmissionID)
	var maps corev1.ConfigMapList
	if err := w.c.List(t.Context(), &maps); err != nil || len(maps.Items) == 0 {
		t.Fatalf("%d ConfigMaps, %v", len(maps.Items), err)
	}
	for i := range maps.Items {
		if err := w.c.Delete(t.Context(), &maps.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
	w.reconcile()
	if n := w.resources(w.app().Status.SubmissionID); n == made {
		t.Fatal("it is created again although nobody waits for it")
	}
	driver := w.drivers()[0]
	driver.Status.Conditions = append(driver.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now())})
	if err := w.c.Status().Update(t.Context(), &driver); err != nil {
		t.Fatal(err)
	}
	failed := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: driver.Namespace, Name: "failed"}, Type: corev1.EventTypeWarning, Reason: "FailedMount",
		InvolvedObject: corev1.ObjectReference{Name: driver.Name, UID: driver.UID}, Message: "MountVolume.SetUp failed: not found",
	}
	if err := w.c.Create(t.Context(), &failed); err != nil {
		t.Fatal(err)
	}
	w.pass(10 * time.Second) // events are not asked for before
	w.reconcile()
	if n := w.resources(w.app().Status.SubmissionID); n != made {
		t.Errorf("%d resources, want the %d of the submission", n, made)
	}
}

// The driver came, was recorded and was deleted; an operator that has just been started has a cache from before.
func TestStaleCacheRunsNothingTwice(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	stale := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithObjects(testutil.Pi()).WithStatusSubresource(&v1beta2.SparkApplication{}).Build()
	for _, p := range w.drivers() {
		if err := w.c.Delete(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	w.engine.Cache, w.engine.Reader.Cache = stale, stale
	before := w.writes["create *v1.Pod"]
	r, err := w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	if err != nil || r.RequeueAfter == 0 {
		t.Errorf("result %+v, %v: want another look", r, err)
	}
	if n := w.writes["create *v1.Pod"] - before; n > 0 || len(w.drivers()) > 0 {
		t.Errorf("%d more drivers: the application ran twice", n)
	}
}

// A slower operator that also believed to lead creates a driver for an application that has failed already.
func TestStrayDriverOfAFinishedApplicationIsStopped(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	orphan := w.drivers()[0]
	w.kubelet(corev1.PodFailed, exited(1, "Error"))
	for range 4 {
		w.reconcile()
	}
	if w.state() != "FAILED" {
		t.Fatalf("state %s", w.state())
	}
	if err := w.c.Delete(t.Context(), &orphan); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	orphan.ResourceVersion, orphan.UID = "", ""
	if err := w.c.Create(t.Context(), &orphan); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if n := len(w.drivers()); n != 0 || w.state() != "FAILED" {
		t.Errorf("state %s with %d drivers", w.state(), n)
	}
}

// A driver was deleted before any status told of it, and the answer about the next one was lost: the operator knows the first one's UID, and
// still stops the second when its user suspends and renames it.
func TestSuspendedAfterALostAnswer(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.patchFails = errCrash{}
	_, _ = w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	w.patchFails = nil
	for _, p := range w.drivers() {
		if err := w.c.Delete(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	suspend := func(v bool) func(*v1beta2.SparkApplication) {
		return func(o *v1beta2.SparkApplication) { o.Spec.Suspend = new(v) }
	}
	w.edit(suspend(true))
	w.settle()
	w.edit(suspend(false))
	w.answer(apierrors.NewInternalError(errors.New("leader changed")), true)
	w.patchFails = errCrash{}
	_, _ = w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	w.patchFails = nil
	if n := len(w.drivers()); n != 1 {
		t.Fatalf("%d drivers, want the one about which nothing is known", n)
	}
	w.edit(suspend(true))
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Driver.PodName = new("renamed") })
	w.settle()
	if n := len(w.drivers()); n != 0 {
		t.Errorf("%d drivers of a suspended application, state %s", n, w.state())
	}
}

// The operator follows a driver that it had taken for another one, and asks the API server for it no more.
func TestDriverOfALostAnswerIsFollowedInTheCache(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.patchFails = errCrash{}
	_, _ = w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	for _, p := range w.drivers() {
		if err := w.c.Delete(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	w.answer(apierrors.NewInternalError(errors.New("leader changed")), true)
	_, _ = w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	w.patchFails = nil
	w.reconcile()
	w.engine.Reader.Live = interceptor.NewClient(w.c, interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
		t.Errorf("the API server is asked for a %T", obj)
		return nil
	}})
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	if w.state() != "RUNNING" {
		t.Errorf("state %s", w.state())
	}
}

type errCrash struct{}

func (errCrash) Error() string { return "the operator is dead" }
