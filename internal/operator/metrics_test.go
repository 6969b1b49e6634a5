// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/testutil"
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
			if got := (writeCounter{scheme: testutil.Scheme()}).resource(tc.object); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
