// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// "Could not look" is not "there is no driver": Service and ConfigMap are not replaced under a live one.
func TestDoubtAboutTheDriverReplacesItsResources(t *testing.T) {
	s := newServer()
	if got := s.writer().Submit(t.Context(), owner, submission("running")); got.Class != lifecycle.ClassDone {
		t.Fatal(got)
	}
	before := len(s.log)
	w := s.writer()
	look := w.Existing
	w.Existing = func(ctx context.Context, obj client.Object) (client.Object, error) {
		if _, isPod := obj.(*corev1.Pod); isPod {
			return nil, apierrors.NewTimeoutError("slow", 1)
		}
		return look(ctx, obj)
	}
	got := w.Submit(t.Context(), owner, submission("edited"))
	if len(s.log) != before || s.content(t) != "running" {
		t.Errorf("result %+v, but a live driver lost its resources: %v", got, s.log[before:])
	}
}

// While a driver of an earlier attempt is still going, another try writes nothing.
func TestFormerDriverCausesWritesForNothing(t *testing.T) {
	s := newServer(belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "app", "s-0"))
	s.writer().Submit(t.Context(), owner, submission("a=b"))
	before := len(s.log)
	s.writer().Submit(t.Context(), owner, submission("a=b"))
	if n := len(s.log) - before; n != 0 {
		t.Errorf("%d writes that change nothing: %v", n, s.log[before:])
	}
}

// A quota is checked before the name, so what an earlier try left does not meet AlreadyExists; it goes all the same.
func TestLeftoverStaysWhenALaterTryIsRefused(t *testing.T) {
	s := newServer()
	s.refuse = refusing(errors.New("connection refused"))
	s.writer().Submit(t.Context(), owner, submission("a=b"))
	s.refuse = func(client.Object) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "x", errors.New("exceeded quota: team"))
	}
	if got := s.writer().Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassQuota {
		t.Fatal(got)
	}
	if left := s.inventory(t); len(left) != 0 {
		t.Errorf("a submission that does not get its driver leaves nothing behind, but there is %v", left)
	}
}

// A create that meets a driver which an earlier reconcile made from an earlier spec must not be taken for done: the
// status would say that the present spec runs.
func TestDriverOfAnEarlierSpecIsNotTakenForThisOne(t *testing.T) {
	s := newServer()
	before, after := submission("a=b"), submission("a=c")
	before.Driver.Labels[v1beta2.LabelSpecHash], after.Driver.Labels[v1beta2.LabelSpecHash] = "one", "two"
	if got := s.writer().Submit(t.Context(), owner, before); got.Class != lifecycle.ClassDone {
		t.Fatalf("result %+v, want Done", got)
	}
	if got := s.writer().Submit(t.Context(), owner, after); got.Class != lifecycle.ClassTransient {
		t.Errorf("result %+v, want another look", got)
	}
	if got := s.writer().Submit(t.Context(), owner, before); got.Class != lifecycle.ClassDone {
		t.Errorf("the very driver is not recognized: %+v", got)
	}
}

// Two operators believe to lead. One is refused and takes its resources back; the other has just made the driver, which
// would wait for its ConfigMap for ever.
func TestDriverOfASecondLeaderKeepsItsResources(t *testing.T) {
	s := newServer()
	s.refuse = refusing(apierrors.NewForbidden(podsResource, "pi-driver", errors.New("exceeded quota: team")))
	w := s.writer()
	look := w.Existing
	w.Existing = func(ctx context.Context, obj client.Object) (client.Object, error) {
		if _, isService := obj.(*corev1.Service); isService && s.refuse != nil {
			s.refuse = nil
			if err := s.Create(ctx, owned(submission("a=b").Driver, owner)); err != nil {
				t.Fatal(err)
			}
		}
		return look(ctx, obj)
	}
	if got := w.Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassDone {
		t.Errorf("result %+v, want Done: there is a driver", got)
	}
	if diff := cmp.Diff(whole, s.inventory(t)); diff != "" {
		t.Errorf("the driver lacks what it needs (-want +got):\n%s", diff)
	}
}
