// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

func stripped[T client.Object](t *testing.T, o T) T {
	t.Helper()
	out, err := transform(o)
	if err != nil {
		t.Fatal(err)
	}
	object, ok := out.(T)
	if !ok {
		t.Fatalf("a %T became a %T", o, out)
	}
	return object
}

var transform = Strip(family)

// What users write beside a usual spec is bounded, and what the operator reads of it stays.
func TestMetadataIsBounded(t *testing.T) {
	o := testutil.Pi()
	many := map[string]string{}
	for i := range 100_000 {
		many[fmt.Sprint("a", i)] = "x"
	}
	o.Labels, o.Annotations = many, map[string]string{annotationApplied: strings.Repeat("x", 200_000), v1beta2.AnnotationRerunAt: "now", "a": strings.Repeat("x", 50_000)}
	o.Labels[v1beta2.LabelScheduledAppName] = "s"
	o.ManagedFields = make([]metav1.ManagedFieldsEntry, 5)
	o.OwnerReferences = make([]metav1.OwnerReference, 1000)
	o.OwnerReferences[999] = metav1.OwnerReference{Name: "s", Controller: ptr.To(true)}
	o.Finalizers = make([]string, 1000)
	spec := o.Spec.DeepCopy()
	got := stripped(t, o)
	if diff := cmp.Diff(map[string]string{v1beta2.AnnotationRerunAt: "now"}, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	size := 0
	for k, v := range got.Labels {
		size += len(k) + len(v)
	}
	if size > maxMetadata || size < maxMetadata/2 || got.Labels[v1beta2.LabelScheduledAppName] != "s" {
		t.Errorf("%d labels with %d bytes", len(got.Labels), size)
	}
	if len(got.OwnerReferences) != maxReferences || metav1.GetControllerOf(got).Name != "s" || len(got.Finalizers) != maxReferences || got.ManagedFields != nil {
		t.Errorf("%d owners, %d finalizers, %d managers", len(got.OwnerReferences), len(got.Finalizers), len(got.ManagedFields))
	}
	if diff := cmp.Diff(spec, &got.Spec); diff != "" || IsStub(got) {
		t.Errorf("a usual spec stays (-want +got):\n%s", diff)
	}
}

func TestLargeSpecsAreNotCached(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*v1beta2.SparkApplicationSpec)
		stub   bool
	}{
		"Usual": {reason: "as nearly all are", change: func(*v1beta2.SparkApplicationSpec) {}},
		"Text":  {reason: "a long text", change: func(s *v1beta2.SparkApplicationSpec) { s.MainClass = ptr.To(strings.Repeat("x", maxSpec)) }, stub: true},
		"List":  {reason: "small elements", change: func(s *v1beta2.SparkApplicationSpec) { s.Arguments = make([]string, maxSpec/16) }, stub: true},
		"Map": {reason: "a long value", change: func(s *v1beta2.SparkApplicationSpec) {
			s.SparkConf = map[string]string{"a": strings.Repeat("x", maxSpec)}
		}, stub: true},
		"Nested": {reason: "empty containers", change: func(s *v1beta2.SparkApplicationSpec) {
			s.Driver.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 100)}}
		}, stub: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.change(&o.Spec)
			o.ResourceVersion = ""
			live := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithObjects(o.DeepCopy()).Build()
			cached := stripped(t, o.DeepCopy())
			if IsStub(cached) != tc.stub || tc.stub != reflect.ValueOf(cached.Spec).IsZero() {
				t.Fatalf("%s: a stub: %t, want %t", tc.reason, IsStub(cached), tc.stub)
			}
			reads := 0
			reader := WithStubs(one{o: cached}, live, func() { reads++ })
			var got v1beta2.SparkApplication
			if err := reader.Get(t.Context(), client.ObjectKeyFromObject(o), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(o.Spec, got.Spec); diff != "" || IsStub(&got) || reads != map[bool]int{true: 1}[tc.stub] {
				t.Errorf("%s: read live %d times (-want +got):\n%s", tc.reason, reads, diff)
			}
		})
	}
}

// one is a cache with one application.
type one struct {
	client.Reader
	o *v1beta2.SparkApplication
}

func (c one) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	app, ok := into.(*v1beta2.SparkApplication)
	if !ok {
		return fmt.Errorf("a %T", into)
	}
	c.o.DeepCopyInto(app)
	return nil
}

func TestPodsAreBounded(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"spark-role": "driver"}}}
	for i := range 100_000 {
		pod.Labels[fmt.Sprint("a", i)] = "x"
	}
	pod.Spec.SchedulingGates = make([]corev1.PodSchedulingGate, 1000)
	pod.OwnerReferences = make([]metav1.OwnerReference, 1000)
	got := cachedPod(pod)
	if diff := cmp.Diff(map[string]string{"spark-role": "driver"}, got.GetLabels()); diff != "" || len(got.status.Gates) != maxReferences || len(got.OwnerReferences) > 1 {
		t.Errorf("%d gates, %d owners, labels (-want +got):\n%s", len(got.status.Gates), len(got.OwnerReferences), diff)
	}
}

func TestTombstonesStay(t *testing.T) {
	if out, err := transform("key"); out != "key" || err != nil {
		t.Errorf("%v, %v", out, err)
	}
}
