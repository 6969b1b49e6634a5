// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// The proof is worth what it notices.
func TestHistory(t *testing.T) {
	type event struct {
		kind    apiwatch.EventType
		pod     types.UID
		app     types.UID
		attempt int32
		phase   corev1.PodPhase
	}
	created := func(pod, app types.UID, attempt int32) event {
		return event{apiwatch.Added, pod, app, attempt, corev1.PodPending}
	}
	cases := map[string]struct {
		reason string
		events []event
		says   string
	}{
		"Retry":      {reason: "one after the other", events: []event{created("a", "x", 1), {apiwatch.Modified, "a", "x", 1, corev1.PodFailed}, created("b", "x", 2)}},
		"Gone":       {reason: "a pod that is gone runs no more", events: []event{created("a", "x", 1), {apiwatch.Deleted, "a", "x", 1, corev1.PodRunning}, created("b", "x", 2)}},
		"Neighbours": {reason: "each application has its own", events: []event{created("a", "x", 1), created("b", "y", 1)}},
		"Doubled":    {reason: "the first still runs", events: []event{created("a", "x", 1), {apiwatch.Modified, "a", "x", 1, corev1.PodRunning}, created("b", "x", 2)}, says: "lives"},
		"Repeated":   {reason: "the same attempt ran twice", events: []event{created("a", "x", 1), {apiwatch.Deleted, "a", "x", 1, corev1.PodRunning}, created("b", "x", 1)}, says: "are both of submission"},
		"Skipped":    {reason: "an attempt is missing", events: []event{created("a", "x", 1), {apiwatch.Deleted, "a", "x", 1, corev1.PodRunning}, created("b", "x", 3)}, says: "is not of attempt 2"},
		"NotOwned":   {reason: "only drivers are in the namespace", events: []event{created("a", "", 1)}, says: "belongs to no one"},
		"Missed":     {reason: "the watch has a hole", events: []event{{apiwatch.Modified, "a", "x", 1, corev1.PodRunning}}, says: "was never created"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHistory(nil)
			for _, e := range tc.events {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(e.pod), UID: e.pod}, Status: corev1.PodStatus{Phase: e.phase}}
				pod.Labels = map[string]string{v1beta2.LabelSubmissionID: spark.NewIdentity(e.app, e.attempt, time.Time{}).SubmissionID}
				if e.app != "" {
					pod.OwnerReferences = []metav1.OwnerReference{{Name: string(e.app), UID: e.app, Controller: new(true)}}
				}
				h.add(e.kind, pod)
			}
			got := strings.Join(h.violations(), "\n")
			if (tc.says == "") != (got == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%s: want a violation that says %q, got %q", tc.reason, tc.says, got)
			}
		})
	}
}
