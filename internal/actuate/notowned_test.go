// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// belongsTo makes an application of the UID the controller of an object of the given attempt.
func belongsTo(obj client.Object, uid types.UID, submission string) client.Object {
	obj.SetUID("other-uid")
	obj.SetLabels(map[string]string{v1beta2.LabelSubmissionID: submission, "mark": "untouched"})
	if uid != "" {
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "pi", UID: uid, Controller: new(true)}})
	}
	return obj
}

// leaving makes an object of another owner one that is being deleted.
func leaving(obj client.Object) client.Object {
	obj = belongsTo(obj, "another", "")
	obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1_700_000_000, 0)})
	obj.SetFinalizers([]string{"example.org/kept"}) // what the fake API server asks for
	return obj
}

// ofPredecessor makes the application that had the name before the owner of an object.
func ofPredecessor(obj client.Object) client.Object {
	before := owner
	before.Reference.UID = "old-app"
	obj.SetUID("other-uid")
	before.Own(obj)
	return obj
}

// Identity is never the name alone: what belongs to somebody else is reported and not touched.
func TestSubmitNotOwned(t *testing.T) {
	cases := map[string]struct {
		reason   string
		notOwned client.Object
		says     string
		class    lifecycle.Class
	}{
		"Pod":             {reason: "nobody's pod", notOwned: belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "", ""), says: "pod pi-driver", class: lifecycle.ClassNameTaken},
		"PodWithLabel":    {reason: "labels can be copied", notOwned: belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "", "s-1"), says: "pod pi-driver", class: lifecycle.ClassNameTaken},
		"PodOfSameName":   {reason: "a deleted application of the same name had another UID", notOwned: belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "old-app", "s-1"), says: "pod pi-driver", class: lifecycle.ClassNameTaken},
		"PodPrevious":     {reason: "the driver of an earlier attempt is waited for", notOwned: belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "app", "s-0"), says: "earlier attempt", class: lifecycle.ClassTransient},
		"ConfigMap":       {reason: "nobody's ConfigMap", notOwned: belongsTo(&corev1.ConfigMap{ObjectMeta: metaOf("pi-conf")}, "", ""), says: "ConfigMap pi-conf", class: lifecycle.ClassNameTaken},
		"ConfigMapOfSame": {reason: "another UID is another application", notOwned: belongsTo(&corev1.ConfigMap{ObjectMeta: metaOf("pi-conf")}, "old-app", "s-1"), says: "ConfigMap pi-conf", class: lifecycle.ClassNameTaken},
		"PodLeaves":       {reason: "case 018: it goes with the application that had the name", notOwned: ofPredecessor(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}), says: "pod pi-driver of a deleted application of this name", class: lifecycle.ClassLeaving},
		"PodIsDeleted":    {reason: "whoever deletes it", notOwned: leaving(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}), says: "pod pi-driver of another owner is not deleted yet", class: lifecycle.ClassLeaving},
		"ServiceLeaves":   {reason: "case 018: so does all else", notOwned: ofPredecessor(&corev1.Service{ObjectMeta: metaOf("pi-svc")}), says: "service pi-svc of a deleted application of this name", class: lifecycle.ClassLeaving},
		"Service":         {reason: "nobody's Service", notOwned: belongsTo(&corev1.Service{ObjectMeta: metaOf("pi-svc")}, "", ""), says: "service pi-svc", class: lifecycle.ClassNameTaken},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(tc.notOwned)
			before := stored(t, s, tc.notOwned)
			got := s.writer().Submit(t.Context(), owner, submission("a=b"))
			if got.Class != tc.class || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: result %+v, want %s and %q", tc.reason, got, tc.class, tc.says)
			}
			if diff := cmp.Diff(before, stored(t, s, tc.notOwned)); diff != "" {
				t.Errorf("%s: it was touched (-before +after):\n%s", tc.reason, diff)
			}
			if tc.class == lifecycle.ClassNameTaken {
				if diff := cmp.Diff([]string{nameOf(tc.notOwned)}, s.inventory(t)); diff != "" {
					t.Errorf("%s: something was left behind (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// stored is the object as the server has it.
func stored(t *testing.T, s *server, obj client.Object) client.Object {
	t.Helper()
	got, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", obj)
	}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(obj), got); err != nil {
		t.Fatal(err)
	}
	return got
}

// A name that was taken and is free again a moment later is no conflict.
func TestSubmitNameFreedMeanwhile(t *testing.T) {
	s := newServer(belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "", ""))
	w := s.writer()
	w.Existing = func(context.Context, client.Object) (client.Object, error) { return nil, nil }
	if got := w.Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassTransient {
		t.Errorf("result %+v, want a repetition", got)
	}
}

// Doubt about whose pod it is, is no answer.
func TestSubmitCannotLook(t *testing.T) {
	s := newServer(belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "app", "s-1"))
	w := s.writer()
	w.Existing = func(context.Context, client.Object) (client.Object, error) { return nil, errors.New("boom") }
	if got := w.Submit(t.Context(), owner, submission("a=b")); got.Class != lifecycle.ClassTransient || !strings.Contains(got.Message, "boom") {
		t.Errorf("result %+v, want a repetition that says boom", got)
	}
}

func TestDeleteDriver(t *testing.T) {
	pod := belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "app", "s-1")
	cases := map[string]struct {
		reason string
		uid    string
		// old asks for a version that the pod does not have any more, same for the one that it has.
		old, same bool
		fail      error
		class     lifecycle.Class
		left      []string
	}{
		"Unchanged": {reason: "the very version", uid: "other-uid", same: true, class: lifecycle.ClassDone},
		"Changed":   {reason: "it may have got a node since: it is looked at again", uid: "other-uid", old: true, class: lifecycle.ClassTransient, left: []string{"pod pi-driver"}},
		"Meant":     {reason: "the very pod", uid: "other-uid", class: lifecycle.ClassDone},
		"Replaced":  {reason: "another pod of the name is left alone, and the one meant is gone", uid: "uid-0", class: lifecycle.ClassDone, left: []string{"pod pi-driver"}},
		"Trouble":   {reason: "an API server in trouble is asked again", uid: "other-uid", fail: apierrors.NewServiceUnavailable("etcd"), class: lifecycle.ClassTransient, left: []string{"pod pi-driver"}},
		"Forbidden": {reason: "the operator's rights", uid: "other-uid", fail: apierrors.NewForbidden(podsResource, "pi-driver", errors.New(`User "x" cannot delete resource "pods"`)), class: lifecycle.ClassOperatorForbidden, left: []string{"pod pi-driver"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(pod.DeepCopyObject().(client.Object))
			w := s.writer()
			if tc.fail != nil {
				w.Client = interceptor.NewClient(s, interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return tc.fail }})
			}
			version := ""
			switch found, err := w.Existing(t.Context(), &corev1.Pod{ObjectMeta: metaOf("pi-driver")}); {
			case err != nil:
				t.Fatal(err)
			case tc.old:
				version = found.GetResourceVersion() + "0"
			case tc.same:
				version = found.GetResourceVersion()
			}
			got := w.DeleteDriver(t.Context(), "jobs", "pi-driver", lifecycle.Action{UID: tc.uid, Version: version})
			if got.Class != tc.class || got.Kind != lifecycle.DeleteDriver {
				t.Errorf("%s: result %+v, want %s", tc.reason, got, tc.class)
			}
			if diff := cmp.Diff(tc.left, s.inventory(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Force is no time for the node, and still only for the pod that is meant.
func TestDeleteDriverByForce(t *testing.T) {
	s := newServer(belongsTo(&corev1.Pod{ObjectMeta: metaOf("pi-driver")}, "app", "s-1"))
	w, asked := s.writer(), client.DeleteOptions{}
	w.Client = interceptor.NewClient(s, interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption) error {
		asked.ApplyOptions(opts)
		return nil
	}})
	w.DeleteDriver(t.Context(), "jobs", "pi-driver", lifecycle.Action{UID: "other-uid", Force: true})
	if asked.GracePeriodSeconds == nil || *asked.GracePeriodSeconds != 0 || asked.Preconditions == nil || *asked.Preconditions.UID != "other-uid" {
		t.Errorf("%+v", asked)
	}
}

func TestDeleteDriverThatIsGone(t *testing.T) {
	if got := newServer().writer().DeleteDriver(t.Context(), "jobs", "pi-driver", lifecycle.Action{UID: "u"}); got.Class != lifecycle.ClassDone {
		t.Errorf("result %+v, want Done", got)
	}
}

// A status is written over the very version that it was decided from, and nothing but the status is sent.
func TestPatchStatus(t *testing.T) {
	stored := &corev1.Pod{ObjectMeta: metaOf("pi")}
	var sent map[string]any
	c := fake.NewClientBuilder().WithObjects(stored).WithStatusSubresource(stored).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			data, err := patch.Data(obj)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(data, &sent); err != nil {
				return err
			}
			if sub != "status" || patch.Type() != types.MergePatchType {
				return errors.New("not a merge patch of the status")
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	read := func() *corev1.Pod {
		var p corev1.Pod
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), &p); err != nil {
			t.Fatal(err)
		}
		return &p
	}
	before := read()
	next := before.DeepCopy()
	next.Status.Message = "first"
	if err := (Writer{Client: c}).PatchStatus(t.Context(), before, next); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{"resourceVersion": before.ResourceVersion}, "status": map[string]any{"message": "first"}}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	if next.ResourceVersion == before.ResourceVersion || next.ResourceVersion != read().ResourceVersion {
		t.Errorf("the version after the write is %s, the object has %s", read().ResourceVersion, next.ResourceVersion)
	}
	late := before.DeepCopy()
	late.Status.Message = "second"
	if err := (Writer{Client: c}).PatchStatus(t.Context(), before, late); !apierrors.IsConflict(err) {
		t.Errorf("error %v: a decision about an old version must meet a conflict", err)
	}
	if got := read().Status.Message; got != "first" {
		t.Errorf("the status is %q: it was written over a version that nobody had seen", got)
	}
}

func TestKindsInSentences(t *testing.T) {
	want := map[string]client.Object{
		"pod": &corev1.Pod{}, "service": &corev1.Service{}, "ConfigMap": &corev1.ConfigMap{}, "Secret": &corev1.Secret{},
		"PersistentVolumeClaim": &corev1.PersistentVolumeClaim{}, "*v1.NetworkPolicy": &networkingv1.NetworkPolicy{},
	}
	for text, obj := range want {
		if got := kindOf(obj); got != text {
			t.Errorf("a %T is called %q, want %q", obj, got, text)
		}
	}
}
