// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var groupKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Group"}

func groupObject(spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(groupKind)
	u.SetNamespace("jobs")
	u.SetName("spark-1")
	return u
}

// What was applied is applied again only if it was changed: an edit of what was meant is undone, and what others add
// is theirs.
func TestScheduleUndoesEdits(t *testing.T) {
	wanted := map[string]any{"minMember": int64(1), "minResources": map[string]any{"cpu": "2", "memory": "1Gi"}, "nodes": []any{"a", "b"}, "unset": nil, "empty": map[string]any{}}
	cases := map[string]struct {
		reason  string
		have    map[string]any
		applied bool
	}{
		"Same":     {reason: "nothing to do", have: map[string]any{"minMember": int64(1), "minResources": map[string]any{"cpu": "2", "memory": "1Gi"}, "nodes": []any{"a", "b"}}},
		"Default":  {reason: "an additional field belongs to others", have: map[string]any{"minMember": int64(1), "minResources": map[string]any{"cpu": "2", "memory": "1Gi", "pods": "3"}, "nodes": []any{"a", "b"}, "queue": "default"}},
		"Notation": {reason: "the same quantities in other words", have: map[string]any{"minMember": int64(1), "minResources": map[string]any{"cpu": int64(2), "memory": "1024Mi"}, "nodes": []any{"a", "b"}}},
		"Number":   {reason: "an edited number", have: map[string]any{"minMember": int64(7), "minResources": map[string]any{"cpu": "2", "memory": "1Gi"}, "nodes": []any{"a", "b"}}, applied: true},
		"Nested":   {reason: "an edited quantity", have: map[string]any{"minMember": int64(1), "minResources": map[string]any{"cpu": "3", "memory": "1Gi"}, "nodes": []any{"a", "b"}}, applied: true},
		"Removed":  {reason: "a field less", have: map[string]any{"minMember": int64(1), "nodes": []any{"a", "b"}}, applied: true},
		"List":     {reason: "another list", have: map[string]any{"minMember": int64(1), "minResources": map[string]any{"cpu": "2", "memory": "1Gi"}, "nodes": []any{"a"}}, applied: true},
		"Nothing":  {reason: "no spec at all", applied: true},
	}
	owner := lifecycle.Owner{Reference: metav1.OwnerReference{APIVersion: "v1", Kind: "App", Name: "app", UID: "u1", Controller: ptr.To(true)}, SubmissionID: "s1"}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			existing, err := scheduled(groupObject(wanted), owner, "app")
			if err != nil {
				t.Fatal(err)
			}
			owner.Own(existing)
			existing.Object["spec"] = tc.have
			writes := 0
			c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					writes++
					return nil
				},
			}).Build()
			object := groupObject(wanted)
			ref := scheduler.Ref{GroupVersionKind: groupKind, Namespace: "jobs", Name: "spark-1"}
			r := Writer{Client: c}.Schedule(t.Context(), owner, "app", scheduler.Admission{Apply: []*unstructured.Unstructured{object}}, scheduler.Snapshot{ref.Read(): existing})
			if r.Class != lifecycle.ClassDone || (writes > 0) != tc.applied {
				t.Errorf("%s: %d writes, %+v", tc.reason, writes, r)
			}
		})
	}
}

// What stands in the way is left alone, and the message names the kind whose object it does not belong to.
func TestScheduleNamesTheOwnerThatAnotherObjectHasNot(t *testing.T) {
	owner := lifecycle.Owner{Reference: metav1.OwnerReference{APIVersion: "v1", Kind: "SparkCluster", Name: "lab", UID: "u1", Controller: ptr.To(true)}, SubmissionID: "s1"}
	object := groupObject(map[string]any{"minMember": int64(1)})
	ref := scheduler.Ref{GroupVersionKind: groupKind, Namespace: "jobs", Name: "spark-1"}
	r := Writer{Client: fake.NewClientBuilder().Build()}.Schedule(t.Context(), owner, "lab", scheduler.Admission{Apply: []*unstructured.Unstructured{object}}, scheduler.Snapshot{ref.Read(): groupObject(nil)})
	const want = "Group spark-1 already exists and does not belong to SparkCluster lab; delete or rename it"
	if r.Class != lifecycle.ClassNameTaken || r.Message != want {
		t.Errorf("%+v, want %q", r, want)
	}
}
