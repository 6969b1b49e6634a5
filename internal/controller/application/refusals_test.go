// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// bySpec are the answers of an API server to what it takes neither now nor later.
var bySpec = map[string]error{
	"422":  apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "pi", nil),
	"413":  apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
	"etcd": apierrors.NewInternalError(errors.New("etcdserver: request is too large")),
}

// What is refused for what the specification says ends the application, which is told, and is not sent again and again.
func TestRefusedBySpec(t *testing.T) {
	group := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "x.example.org/v1", "kind": "Group"}}
	group.SetNamespace("jobs")
	group.SetName("pi-group")
	kinds := map[string]func(client.Object) bool{
		"driver":    func(o client.Object) bool { _, is := o.(*corev1.Pod); return is },
		"service":   func(o client.Object) bool { _, is := o.(*corev1.Service); return is },
		"configMap": func(o client.Object) bool { _, is := o.(*corev1.ConfigMap); return is },
		"group":     func(o client.Object) bool { _, is := o.(*unstructured.Unstructured); return is },
	}
	for kind, refused := range kinds {
		for answer, err := range bySpec {
			t.Run(kind+answer, func(t *testing.T) {
				w := newHarness(t, testutil.Pi())
				w.plugin.admission = scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: "go", Apply: []*unstructured.Unstructured{group}}
				w.restart()
				sent := w.refuse(refused, err)
				for range 20 {
					w.pass(w.reconcile().RequeueAfter)
				}
				if w.state() != "FAILED" || *sent > 2 {
					t.Errorf("the application is %s after %d tries, want FAILED after one or two", w.state(), *sent)
				}
				if m := w.app().Status.AppState.ErrorMessage; !strings.Contains(m, err.Error()) {
					t.Errorf("the user reads %q, want what the API server says", m)
				}
				if all := w.events(); !slices.ContainsFunc(all, func(e string) bool { return strings.Contains(e, err.Error()) }) {
					t.Errorf("no event says it: %q", all)
				}
			})
		}
	}
}

// refuse makes the API server refuse some objects, and counts them.
func (w *harness) refuse(which func(client.Object) bool, err error) *int {
	sent := 0
	w.engine.Writer.Client = interceptor.NewClient(w.c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if which(o) {
				sent++
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	})
	return &sent
}

// An auxiliary object that the API server refuses for what it says is sent a few times, until it says something else. The driver runs on.
func TestAuxiliaryRefusedBySpec(t *testing.T) {
	for answer, err := range bySpec {
		t.Run(answer, func(t *testing.T) {
			w := exposed(t)
			sent := w.refuse(func(o client.Object) bool {
				return o.GetLabels()[v1beta2.LabelExposes] == "ui" && o.GetObjectKind().GroupVersionKind().Kind == "Service"
			}, err)
			w.reconcile()
			w.reconcile()
			w.kubelet(corev1.PodRunning, running())
			for range 50 {
				w.reconcile()
				w.pass(time.Minute)
			}
			if most := 5; *sent > most {
				t.Errorf("it is sent %d times, want at most %d", *sent, most)
			}
			c := meta.FindStatusCondition(w.app().Status.Conditions, "Exposed")
			if w.state() != "RUNNING" || c == nil || !strings.Contains(c.Message, err.Error()) {
				t.Errorf("the application is %s, and the user reads %+v", w.state(), c)
			}
			before := *sent
			w.edit(func(o *v1beta2.SparkApplication) {
				o.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(8123))}
			})
			w.reconcile()
			if *sent == before {
				t.Error("another specification is not tried")
			}
		})
	}
}

// keep makes the API server refuse the deletion of Services, as an admission policy does, and returns how often it did.
func (w *harness) keep(err error) *int {
	refused := 0
	w.engine.Writer.Client = interceptor.NewClient(w.c, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == "Service" {
				refused++
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
	})
	return &refused
}

// try reconciles until nothing is due, and returns the last error.
func (w *harness) try() (last error) {
	for range 10 {
		if _, err := w.engine.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.app())}); err != nil {
			last = err
		}
		w.pass(2 * time.Second)
	}
	return last
}

// Fault 23: what is left behind of an attempt, because somebody refuses its deletion, keeps neither its driver nor the next attempt.
func TestRefusedDeletion(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "pi", errors.New("kept by a policy"))
	t.Run("Retention", func(t *testing.T) {
		w := started(t, func(s *v1beta2.SparkApplicationSpec) {
			s.Retention = &v1beta2.Retention{OnFailure: &v1beta2.RetentionTimes{Resources: every(0), DriverPod: every(0)}}
		})
		w.keep(forbidden)
		id := w.app().Status.SubmissionID
		w.kubelet(corev1.PodFailed, exited(1, "Error"))
		if err := w.try(); err == nil || !strings.Contains(err.Error(), "kept by a policy") {
			t.Errorf("the log has %v, want what is refused", err)
		}
		if len(w.drivers()) != 0 || w.resources(id) != 1 {
			t.Errorf("%d drivers and %d resources are left, want the Service", len(w.drivers()), w.resources(id))
		}
		if got := w.app().Status.Released; slices.Contains(got, "resources") {
			t.Errorf("released %q, and the Service is there", got)
		}
		w.engine.Writer.Client = w.c
		w.settle()
		if diff := cmp.Diff([]string{"driverPod", "resources"}, w.app().Status.Released); diff != "" {
			t.Errorf("when it is allowed again (-want +got):\n%s", diff)
		}
	})
	t.Run("NextAttempt", func(t *testing.T) {
		w := started(t, func(s *v1beta2.SparkApplicationSpec) {
			s.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyAlways}
		})
		refused := w.keep(forbidden)
		first := w.app().Status.SubmissionID
		w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
		err := w.try()
		if got := w.app().Status; got.SubmissionID == first || len(w.drivers()) != 1 || w.state() != "SUBMITTED" {
			t.Errorf("%s with %d drivers, submission %s: the next attempt does not start", w.state(), len(w.drivers()), got.SubmissionID)
		}
		if err == nil || !strings.Contains(err.Error(), "kept by a policy") || *refused == 0 {
			t.Errorf("the log has %v, want what is refused", err)
		}
	})
}
