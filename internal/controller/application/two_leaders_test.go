// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// repairing is permit that creates its object again while the attempt runs.
type repairing struct{ permit }

func (p repairing) ObserveReads(a scheduler.Attempt, _ scheduler.PodStatuses) []scheduler.Read {
	return p.Reads(a)
}

func (p repairing) Observe(a scheduler.Attempt, seen scheduler.Snapshot, _ scheduler.PodStatuses) (scheduler.Observation, error) {
	answer, err := p.Admit(a, seen)
	return scheduler.Observation{Apply: answer.Apply}, err
}

// A leader that was paused goes on with the application as it was then. What its successor has done to the scheduler's objects meanwhile stays.
func TestPausedLeaderLeavesTheSchedulersObjectsAlone(t *testing.T) {
	suspend := func(value bool) func(*harness) {
		return func(w *harness) {
			w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = &value })
		}
	}
	cases := map[string]struct {
		reason string
		plugin scheduler.Plugin
		// before leads to what the paused leader has seen; what after does is the successor's.
		before, after func(*harness)
		want          int
	}{
		"Schedule": {
			reason: "the object of an application that is suspended holds its queue", plugin: gang{}, before: func(*harness) {}, after: suspend(true),
		},
		"Release": {
			reason: "the application waits again", plugin: gang{}, before: suspend(true), after: suspend(false), want: 1,
		},
		"Adjust": {
			reason: "the object of an application that is over holds its queue", plugin: repairing{},
			before: func(w *harness) { w.kubelet(corev1.PodRunning, running()) },
			after:  func(w *harness) { w.kubelet(corev1.PodSucceeded, exited(0, "Completed")) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("gang") }))
			w.others = []scheduler.Plugin{tc.plugin}
			w.restart()
			w.settle()
			tc.before(w)
			stale := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithObjects(w.app()).WithStatusSubresource(&v1beta2.SparkApplication{})
			for _, driver := range w.drivers() {
				stale.WithObjects(&driver)
			}
			paused := stale.Build()
			w.settle()
			tc.after(w)
			w.settle()
			there := w.tickets()
			if len(there) != tc.want {
				t.Fatalf("%v, want %d", there, tc.want)
			}
			w.restart()
			w.engine.Cache, w.engine.Reader.Cache, w.engine.Reader.Pods = paused, paused, nil
			for range 3 {
				if r := w.reconcile(); r.RequeueAfter == 0 {
					t.Error("the application is not reconciled again")
				}
			}
			if diff := cmp.Diff(there, w.tickets()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// owning is permit that says which kind of objects it makes.
type owning struct{ permit }

func (owning) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "gang", Owns: []schema.GroupVersionKind{ticketKind}}
}

// A request that was late, of a leader that stood still or behind a network that does, makes a scheduler's object after the end of the application,
// which nothing else would look at again.
func TestLateObjectsOfSchedulersGo(t *testing.T) {
	w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("gang") }))
	w.others = []scheduler.Plugin{owning{}}
	w.restart()
	w.engine.Reader.Owned = func(ctx context.Context, kind schema.GroupVersionKind, namespace, value string) ([]unstructured.Unstructured, error) {
		label, app, _ := strings.Cut(value, "=")
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		err := w.c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{label: app})
		return list.Items, err
	}
	w.settle()
	made := w.tickets()
	var late corev1.ConfigMap
	if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: made[0]}, &late); err != nil {
		t.Fatal(err)
	}
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.settle()
	if left := w.tickets(); len(left) > 0 {
		t.Fatalf("the application is over, and %v is left", left)
	}
	late.ResourceVersion = ""
	foreign := late.DeepCopy()
	foreign.Name, foreign.OwnerReferences = "of-somebody-else", []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x", Controller: new(true)}}
	for _, o := range []*corev1.ConfigMap{&late, foreign} {
		if err := w.c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.settle()
	if diff := cmp.Diff([]string{foreign.Name}, w.tickets()); diff != "" {
		t.Errorf("what belongs to the application goes, and nothing else (-want +got):\n%s", diff)
	}
}
