// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestEvents(t *testing.T) {
	said := func(object, message string, more map[string]any) *unstructured.Unstructured {
		content := map[string]any{"type": corev1.EventTypeNormal, "message": message, "involvedObject": map[string]any{"name": object, "uid": "u"}}
		for key, value := range more {
			content[key] = value
		}
		return &unstructured.Unstructured{Object: content}
	}
	read := Read{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), Namespace: "jobs"}
	cases := map[string]struct {
		reason string
		list   *unstructured.Unstructured
		want   []string
	}{
		"None":   {reason: "the list was not read"},
		"Denied": {reason: "the operator may not read events", list: &unstructured.Unstructured{}},
		"Others": {reason: "those of other objects are not returned", list: NewList(said("b", "other", nil)), want: nil},
		"Order": {reason: "each library writes the time in a way of its own", list: NewList(
			said("a", "fourth", map[string]any{"eventTime": "2026-11-21T09:00:00.000001Z", "series": map[string]any{"lastObservedTime": "2026-11-21T09:00:03.000001Z"}}),
			said("a", "third", map[string]any{"lastTimestamp": "2026-11-21T09:00:02Z", "eventTime": nil}),
			said("a", "second", map[string]any{"lastTimestamp": nil, "eventTime": "2026-11-21T09:00:01.500000Z"}),
			said("a", "first", nil),
		), want: []string{"first", "second", "third", "fourth"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range (Snapshot{read: tc.list}).Events(read, func(object string) bool { return object == "a" }) {
				got = append(got, e.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	warning := said("a", "m", map[string]any{"type": corev1.EventTypeWarning, "reason": "R", "lastTimestamp": "2026-11-21T09:00:02Z"})
	want := []ObjectEvent{{Object: "a", UID: "u", Type: "Warning", Reason: "R", Message: "m", At: time.Date(2026, 11, 21, 9, 0, 2, 0, time.UTC)}}
	got := Snapshot{read: NewList(warning)}.Events(read, func(string) bool { return true })
	if diff := cmp.Diff(want, got); diff != "" || !got[0].Warns() {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
