// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
