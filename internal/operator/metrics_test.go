// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

func TestResourceOfAWrite(t *testing.T) {
	group := &unstructured.Unstructured{}
	group.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "PodGroup"})
	cases := map[string]struct {
		reason string
		object runtime.Object
		want   string
	}{
		"Typed":   {reason: "a type that the scheme knows", object: &corev1.Pod{}, want: "pods"},
		"Untyped": {reason: "a plugin's object says it itself", object: group, want: "podgroups"},
		"Applied": {reason: "actuate applies like this", object: client.ApplyConfigurationFromUnstructured(group).(runtime.Object), want: "podgroups"},
		"Nothing": {reason: "no object at all", want: "unknown"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (writeCounter{scheme: apiserver.Scheme()}).resource(tc.object); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// Of a written status only the new version comes back: the object says the rest itself.
func TestAnswerToAStatusWrite(t *testing.T) {
	stored := testutil.Pi()
	var asked client.Object
	inner := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithObjects(stored).WithStatusSubresource(stored).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			asked = o
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	w := actuate.Writer{Client: CountWrites(inner, metrics.New(config.Metrics{MaxLabelValues: 1}), clocktesting.NewFakePassiveClock(metav1.Now().Time), apiserver.Scheme())}
	before := testutil.Pi()
	if err := inner.Get(t.Context(), client.ObjectKeyFromObject(stored), before); err != nil {
		t.Fatal(err)
	}
	next := before.DeepCopy()
	next.Status.Attempt = 3
	if err := w.PatchStatus(t.Context(), before, next); err != nil {
		t.Fatal(err)
	}
	after := testutil.Pi()
	if err := inner.Get(t.Context(), client.ObjectKeyFromObject(stored), after); err != nil {
		t.Fatal(err)
	}
	if _, metadata := asked.(*metav1.PartialObjectMetadata); !metadata || after.Status.Attempt != 3 || next.ResourceVersion != after.ResourceVersion || next.ResourceVersion == before.ResourceVersion {
		t.Errorf("asked for %T; attempt %d, version %s of the object and %s of what is stored", asked, after.Status.Attempt, next.ResourceVersion, after.ResourceVersion)
	}
	if err := w.PatchStatus(t.Context(), before, before.DeepCopy()); !apierrors.IsConflict(err) {
		t.Errorf("error %v for an old version, want a conflict", err)
	}
}
