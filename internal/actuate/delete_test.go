// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Auxiliary objects are found by their label; the driver's labels are the submission's own.
func TestSubmitMarksResources(t *testing.T) {
	s := newServer()
	want := submission("a=b")
	want.Resources[0].SetLabels(map[string]string{"team": "a", v1beta2.LabelSubmissionID: "hijacked"})
	s.writer().Submit(t.Context(), owner, want)
	service := stored(t, s, &corev1.Service{ObjectMeta: metaOf("pi-svc")})
	marks := map[string]string{"team": "a", v1beta2.LabelSubmissionID: "s-1", v1beta2.LabelCreatedBy: "true"}
	if diff := cmp.Diff(marks, service.GetLabels()); diff != "" {
		t.Errorf("service (-want +got):\n%s", diff)
	}
	driver := stored(t, s, &corev1.Pod{ObjectMeta: metaOf("pi-driver")})
	if diff := cmp.Diff(map[string]string{v1beta2.LabelSubmissionID: "s-1"}, driver.GetLabels()); diff != "" {
		t.Errorf("driver (-want +got):\n%s", diff)
	}
	if want.Resources[0].GetLabels()[v1beta2.LabelSubmissionID] != "hijacked" {
		t.Error("the submission given was changed")
	}
}

// A label can be copied; the owner cannot.
func TestDeleteResources(t *testing.T) {
	conf := func(name string) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: metaOf(name)} }
	going := belongsTo(conf("going"), "app", "s-1")
	going.SetFinalizers([]string{"example.com/hold"})
	going.SetDeletionTimestamp(&metav1.Time{Time: metav1.Now().Time})
	cases := map[string]struct {
		reason string
		object client.Object
		kept   bool
	}{
		"Ours":     {reason: "created for the attempt", object: belongsTo(conf("ours"), "app", "s-1")},
		"Service":  {reason: "of whatever kind", object: belongsTo(&corev1.Service{ObjectMeta: metaOf("ours")}, "app", "s-1")},
		"Next":     {reason: "another attempt's", object: belongsTo(conf("next"), "app", "s-2"), kept: true},
		"Copied":   {reason: "a user copied our label", object: belongsTo(conf("copied"), "", "s-1"), kept: true},
		"Namesake": {reason: "an application of the same name that was deleted", object: belongsTo(conf("namesake"), "old-app", "s-1"), kept: true},
		"Going":    {reason: "it is being deleted already", object: going, kept: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(tc.object)
			if got := s.writer().DeleteResources(t.Context(), "jobs", owner); got.Class != lifecycle.ClassDone || got.Kind != lifecycle.DeleteResources {
				t.Errorf("%s: result %+v, want Done", tc.reason, got)
			}
			if kept := len(s.log) == 0; kept != tc.kept {
				t.Errorf("%s: writes %v, want it kept: %t", tc.reason, s.log, tc.kept)
			}
			for _, d := range s.deletes {
				if d.Preconditions == nil || d.Preconditions.UID == nil || *d.Preconditions.UID != tc.object.GetUID() {
					t.Errorf("%s: a delete that does not mean this very object: %+v", tc.reason, d.Preconditions)
				}
			}
		})
	}
}

// The operator dies after each write in turn, and a new one repeats the deletion.
func TestDeleteResourcesSurvivesACrashAnywhere(t *testing.T) {
	for n := 4; n <= 5; n++ {
		s := newServer()
		s.writer().Submit(t.Context(), owner, submission("a=b"))
		s.crashesAfter = n
		first := s.writer().DeleteResources(t.Context(), "jobs", owner)
		if n == 4 && first.Class != lifecycle.ClassTransient {
			t.Errorf("dead after %d writes: result %+v, want a repetition", n, first)
		}
		s.crashesAfter = 0
		for range 2 { // and once more, of what is gone
			if got := s.writer().DeleteResources(t.Context(), "jobs", owner); got.Class != lifecycle.ClassDone {
				t.Errorf("dead after %d writes: the repetition ends with %+v", n, got)
			}
		}
		if diff := cmp.Diff([]string{"pod pi-driver"}, s.inventory(t)); diff != "" {
			t.Errorf("dead after %d writes: the driver stays, and nothing else (-want +got):\n%s", n, diff)
		}
		if want := 3 + 2; len(s.log) != want {
			t.Errorf("dead after %d writes: %d writes, want %d: %v", n, len(s.log), want, s.log)
		}
	}
}

func TestDeleteResourcesTrouble(t *testing.T) {
	s := newServer(belongsTo(&corev1.ConfigMap{ObjectMeta: metaOf("ours")}, "app", "s-1"))
	w := s.writer()
	w.Resources = func(context.Context, string, string) ([]client.Object, error) { return nil, errors.New("boom") }
	if got := w.DeleteResources(t.Context(), "jobs", owner); got.Class != lifecycle.ClassTransient {
		t.Errorf("result %+v: what cannot be listed is not known to be gone", got)
	}
	w = s.writer()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "ours", errors.New(`User "x" cannot delete resource "configmaps"`))
	w.Client = interceptor.NewClient(s, interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return forbidden }})
	if got := w.DeleteResources(t.Context(), "jobs", owner); got.Class != lifecycle.ClassOperatorForbidden {
		t.Errorf("result %+v, want the operator's rights", got)
	}
}

// The cache keeps 16 finalizers of an object. Those behind are somebody's, too.
func TestRemoveFinalizerKeepsThoseThatAreNotCached(t *testing.T) {
	live := &corev1.ConfigMap{ObjectMeta: metaOf("pi")}
	for i := range 20 {
		live.Finalizers = append(live.Finalizers, fmt.Sprintf("example.com/%d", i))
	}
	s := newServer(live)
	cached := stored(t, s, &corev1.ConfigMap{ObjectMeta: metaOf("pi")})
	cached.SetFinalizers(cached.GetFinalizers()[:16])
	if got := s.writer().RemoveFinalizer(t.Context(), cached, "example.com/3"); got.Class != lifecycle.ClassDone {
		t.Errorf("result %+v", got)
	}
	left := stored(t, s, &corev1.ConfigMap{ObjectMeta: metaOf("pi")})
	if diff := cmp.Diff(slices.Delete(slices.Clone(live.Finalizers), 3, 4), left.GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if got := s.writer().RemoveFinalizer(t.Context(), cached, "example.com/4"); got.Class != lifecycle.ClassTransient {
		t.Errorf("result %+v for an object that has changed since, want another look", got)
	}
}

// The application is deleted as it was read: an edit in between, such as a longer time to live, saves it.
func TestDeleteApplication(t *testing.T) {
	read := func(s *server) client.Object { return stored(t, s, &corev1.ConfigMap{ObjectMeta: metaOf("pi")}) }
	cases := map[string]struct {
		reason string
		edit   func(*server)
		class  lifecycle.Class
		left   int
	}{
		"AsRead": {reason: "nothing has happened", edit: func(*server) {}, class: lifecycle.ClassDone},
		"Edited": {reason: "it is to be looked at again", class: lifecycle.ClassTransient, left: 1, edit: func(s *server) {
			o := read(s)
			o.SetLabels(map[string]string{"keep": "me"})
			if err := s.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}},
		"Gone": {reason: "somebody was faster", class: lifecycle.ClassDone, edit: func(s *server) {
			if err := s.Delete(t.Context(), read(s)); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "app"}})
			o := read(s)
			tc.edit(s)
			got := s.writer().DeleteApplication(t.Context(), o)
			if got.Class != tc.class || got.Kind != lifecycle.DeleteApplication {
				t.Errorf("%s: result %+v, want %s", tc.reason, got, tc.class)
			}
			if left := s.inventory(t); len(left) != tc.left {
				t.Errorf("%s: left are %v, want %d", tc.reason, left, tc.left)
			}
			last := s.deletes[len(s.deletes)-1]
			if p := last.Preconditions; p == nil || p.UID == nil || *p.UID != "app" || p.ResourceVersion == nil || *p.ResourceVersion != o.GetResourceVersion() {
				t.Errorf("%s: the delete does not mean what was read: %+v", tc.reason, p)
			}
			if last.PropagationPolicy == nil || *last.PropagationPolicy != metav1.DeletePropagationBackground {
				t.Errorf("%s: propagation %v: what is left goes with it, and nobody waits", tc.reason, last.PropagationPolicy)
			}
		})
	}
}
