// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

var podsResource = schema.GroupResource{Resource: "pods"}

func TestSubmit(t *testing.T) {
	s := newServer()
	want := submission("a=b")
	got := s.writer().Submit(t.Context(), owner, want)
	if got.Class != lifecycle.ClassDone || got.Kind != lifecycle.Submit {
		t.Fatalf("result %+v, want Done", got)
	}
	if diff := cmp.Diff([]string{"create service pi-svc", "create ConfigMap pi-conf", "create pod pi-driver"}, s.log); diff != "" {
		t.Errorf("the driver comes last, so that it never waits for what it needs (-want +got):\n%s", diff)
	}
	for _, obj := range []client.Object{&corev1.Service{ObjectMeta: metaOf("pi-svc")}, &corev1.ConfigMap{ObjectMeta: metaOf("pi-conf")}, &corev1.Pod{ObjectMeta: metaOf("pi-driver")}} {
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
		ref := metav1.GetControllerOf(obj)
		if ref == nil || ref.UID != "app" || ref.Kind != "SparkApplication" || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
			t.Errorf("%s: garbage collection needs the application as controller, got %+v", nameOf(obj), ref)
		}
	}
	if diff := cmp.Diff(submission("a=b"), want); diff != "" {
		t.Errorf("the submission given was changed (-want +got):\n%s", diff)
	}
}

// The operator dies after each write in turn, and a new one repeats the submission: there is one driver, and one of
// everything that it needs.
func TestSubmitSurvivesACrashAnywhere(t *testing.T) {
	const writes = 3
	for n := 1; n <= writes; n++ {
		t.Run(fmt.Sprintf("after write %d", n), func(t *testing.T) {
			s := newServer()
			s.crashesAfter = n
			first := s.writer().Submit(t.Context(), owner, submission("a=b"))
			if n < writes && first.Class != lifecycle.ClassTransient {
				t.Fatalf("the crash was treated as %+v", first)
			}
			s.crashesAfter = 0
			if got := s.writer().Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassDone {
				t.Fatalf("the repetition ends with %+v, want Done", got)
			}
			if diff := cmp.Diff(whole, s.inventory(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			drivers := 0
			for _, entry := range s.log {
				if entry == "create pod pi-driver" {
					drivers++
				}
			}
			if drivers != 1 {
				t.Errorf("%d drivers were created: %v", drivers, s.log)
			}
		})
	}
}

// The repetition may crash as well, while it replaces what the first one left.
func TestSubmitSurvivesTwoCrashes(t *testing.T) {
	for first := 1; first <= 3; first++ {
		for second := first + 1; second <= first+5; second++ {
			s := newServer()
			s.crashesAfter = first
			s.writer().Submit(t.Context(), owner, submission("a=b"))
			s.crashesAfter = second
			s.writer().Submit(t.Context(), owner, submission("a=b"))
			s.crashesAfter = 0
			if got := s.writer().Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassDone {
				t.Fatalf("crashes after %d and %d writes: the third try ends with %+v", first, second, got)
			}
			if diff := cmp.Diff(whole, s.inventory(t)); diff != "" {
				t.Errorf("crashes after %d and %d writes (-want +got):\n%s", first, second, diff)
			}
		}
	}
}

// Repeating what was done is done, and writes nothing: the driver's ConfigMap and Service are in use.
func TestSubmitAgainTouchesNothing(t *testing.T) {
	s := newServer()
	s.writer().Submit(t.Context(), owner, submission("a=b"))
	before := len(s.log)
	if got := s.writer().Submit(t.Context(), owner, submission("a=c")); got.Class != lifecycle.ClassDone {
		t.Fatalf("result %+v, want Done", got)
	}
	if len(s.log) != before {
		t.Errorf("the repetition wrote %v", s.log[before:])
	}
	if got := s.content(t); got != "a=b" {
		t.Errorf("the driver's configuration was replaced under it: %q", got)
	}
}

// Without a driver the spec may have been edited since: what is left of the earlier try is out of date.
func TestSubmitReplacesALeftover(t *testing.T) {
	s := newServer()
	s.crashesAfter = 2
	s.writer().Submit(t.Context(), owner, submission("old"))
	s.crashesAfter = 0
	if got := s.writer().Submit(t.Context(), owner, submission("new")); got.Class != lifecycle.ClassDone {
		t.Fatalf("result %+v, want Done", got)
	}
	if got := s.content(t); got != "new" {
		t.Errorf("the driver starts with the configuration %q of the earlier try", got)
	}
	if diff := cmp.Diff(whole, s.inventory(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A submission that does not get its driver leaves nothing behind, unless the API server is merely in trouble.
func TestSubmitRefused(t *testing.T) {
	refusals := map[string]struct {
		reason string
		err    error
		class  lifecycle.Class
		left   []string
	}{
		"Quota":     {reason: "a waiting application holds nothing", err: apierrors.NewForbidden(podsResource, "pi-driver", errors.New("exceeded quota: team")), class: lifecycle.ClassQuota},
		"Security":  {reason: "a failed application holds nothing", err: apierrors.NewForbidden(podsResource, "pi-driver", errors.New("violates PodSecurity")), class: lifecycle.ClassPolicy},
		"Invalid":   {reason: "a failed application holds nothing", err: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "pi-driver", nil), class: lifecycle.ClassRefused},
		"Rights":    {reason: "a waiting application holds nothing", err: apierrors.NewForbidden(podsResource, "pi-driver", errors.New(`User "x" cannot create resource "pods"`)), class: lifecycle.ClassOperatorForbidden},
		"Timeout":   {reason: "the driver may have been created: what it needs stays", err: apierrors.NewTimeoutError("slow", 1), class: lifecycle.ClassTransient, left: []string{"ConfigMap pi-conf", "service pi-svc"}},
		"NoNetwork": {reason: "the next try will need it", err: errors.New("connection refused"), class: lifecycle.ClassTransient, left: []string{"ConfigMap pi-conf", "service pi-svc"}},
	}
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.refuse = refusing(tc.err)
			got := s.writer().Submit(t.Context(), owner, submission("a=b"))
			if got.Class != tc.class || got.Kind != lifecycle.Submit {
				t.Errorf("%s: result %+v, want %s", tc.reason, got, tc.class)
			}
			if !strings.Contains(got.Message, tc.err.Error()) {
				t.Errorf("%s: the API server's words are lost: %q", tc.reason, got.Message)
			}
			if diff := cmp.Diff(tc.left, s.inventory(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			s.refuse = nil
			if got := s.writer().Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassDone {
				t.Errorf("%s: later it ends with %+v, want Done", tc.reason, got)
			}
		})
	}
}

// The same of a resource before the driver.
func TestSubmitResourceRefused(t *testing.T) {
	s := newServer()
	s.refuse = func(obj client.Object) error {
		if _, isMap := obj.(*corev1.ConfigMap); isMap {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "pi-conf", errors.New("exceeded quota: team"))
		}
		return nil
	}
	if got := s.writer().Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassQuota {
		t.Errorf("result %+v, want Quota", got)
	}
	if left := s.inventory(t); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The API server refuses the successor of a leftover for what it says: to send it again and again would not help.
func TestSubmitSuccessorOfALeftoverRefused(t *testing.T) {
	s := newServer()
	s.crashesAfter = 2
	s.writer().Submit(t.Context(), owner, submission("old"))
	s.crashesAfter = 0
	s.refuse = func(obj client.Object) error {
		taken := s.Get(t.Context(), client.ObjectKeyFromObject(obj), &corev1.ConfigMap{}) == nil
		if _, isMap := obj.(*corev1.ConfigMap); isMap && !taken {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, obj.GetName(), nil)
		}
		return nil
	}
	if got := s.writer().Submit(t.Context(), owner, submission("new")); got.Class != lifecycle.ClassRefused || !got.BySpec {
		t.Errorf("result %+v, want Refused by what the specification says", got)
	}
}

// If the taking back fails, the submission is repeated: nothing is forgotten.
func TestSubmitRefusedAndCannotCleanUp(t *testing.T) {
	s := newServer()
	s.refuse = refusing(apierrors.NewForbidden(podsResource, "pi-driver", errors.New("exceeded quota: team")))
	s.crashesAfter = 3 // both creates and the first delete happen
	if got := s.writer().Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassTransient {
		t.Errorf("result %+v, want a repetition", got)
	}
	s.crashesAfter = 0
	if got := s.writer().Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassQuota {
		t.Errorf("result %+v, want Quota", got)
	}
	if left := s.inventory(t); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Every delete means one very object.
func TestDeletesCarryTheUID(t *testing.T) {
	s := newServer()
	s.refuse = refusing(apierrors.NewForbidden(podsResource, "pi-driver", errors.New("exceeded quota: team")))
	s.writer().Submit(t.Context(), owner, submission("a=b"))
	s.writer().DeleteDriver(t.Context(), "jobs", "pi-driver", lifecycle.Action{UID: "uid-9"})
	if len(s.deletes) != 3 {
		t.Fatalf("%d deletes, want those of Service, ConfigMap and driver", len(s.deletes))
	}
	for i, o := range s.deletes {
		if o.Preconditions == nil || o.Preconditions.UID == nil || *o.Preconditions.UID == "" {
			t.Errorf("delete %d has no UID precondition: %+v", i, o)
		}
		if o.PropagationPolicy == nil || *o.PropagationPolicy != metav1.DeletePropagationBackground {
			t.Errorf("delete %d: propagation %v, want background", i, o.PropagationPolicy)
		}
	}
}

// "Could not look" is not "there is no driver": Service and ConfigMap are not replaced under a live one.
func TestSubmitInDoubtReplacesNothing(t *testing.T) {
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
func TestSubmitBesideAFormerDriverWritesNothing(t *testing.T) {
	s := newServer(belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "app", "s-0"))
	s.writer().Submit(t.Context(), owner, submission("a=b"))
	before := len(s.log)
	s.writer().Submit(t.Context(), owner, submission("a=b"))
	if n := len(s.log) - before; n != 0 {
		t.Errorf("%d writes that change nothing: %v", n, s.log[before:])
	}
}

// A quota is checked before the name, so what an earlier try left does not meet AlreadyExists; it goes all the same.
func TestSubmitRefusedTakesAwayAnEarlierLeftover(t *testing.T) {
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

// A create that meets a driver which an earlier reconcile made from an earlier spec must not be treated as done: the
// status would say that the present spec runs.
func TestSubmitMeetsADriverOfAnEarlierSpec(t *testing.T) {
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
func TestSubmitKeepsTheResourcesOfASecondLeadersDriver(t *testing.T) {
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
