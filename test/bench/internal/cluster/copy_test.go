// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const ended = `{"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
	"metadata": {"name": "warm-up", "namespace": "bench", "uid": "u", "resourceVersion": "7", "generation": 1, "creationTimestamp": "2026-11-22T10:00:00Z", "labels": {"a": "b"}, "finalizers": ["f"]},
	"spec": {"type": "Scala"}, "status": {"applicationState": {"state": "COMPLETED"}, "driverInfo": {"podName": "warm-up-driver"}}}`

func TestParseOriginal(t *testing.T) {
	o, err := parseOriginal([]byte(ended))
	if err != nil {
		t.Fatal(err)
	}
	same := func(reason, want string, got []byte) {
		t.Helper()
		var a, b any
		if err := json.Unmarshal([]byte(want), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	same("what the API server adds is not copied", `{"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
		"metadata": {"name": "x", "namespace": "bench", "labels": {"a": "b"}, "finalizers": ["f"]}, "spec": {"type": "Scala"}}`, o.as(o.application, "x"))
	same("names in the status are the copy's", `{"status": {"applicationState": {"state": "COMPLETED"}, "driverInfo": {"podName": "x-driver"}}}`, o.as(o.status, "x"))
	if _, err := parseOriginal([]byte("{")); err == nil {
		t.Error("half an application is taken")
	}
}

func TestDriverOf(t *testing.T) {
	o := original{name: "warm-up", driver: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "warm-up-driver", Namespace: "bench", UID: "u", ResourceVersion: "7", Labels: map[string]string{labelApplication: "warm-up"}, OwnerReferences: []metav1.OwnerReference{{Name: "warm-up", UID: "old"}}},
		Spec:       corev1.PodSpec{NodeName: "kwok-0", ServiceAccountName: "spark"},
		Status:     corev1.PodStatus{Phase: corev1.PodSucceeded},
	}}
	got, err := o.driverOf("x", "new")
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x-driver", Namespace: "bench", Labels: map[string]string{labelApplication: "x"}, OwnerReferences: []metav1.OwnerReference{{Name: "x", UID: "new"}}},
		Spec:       corev1.PodSpec{NodeName: elsewhere, ServiceAccountName: "spark"},
		Status:     corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("no one plays the copy's node, and it belongs to the new application (-want +got):\n%s", diff)
	}
}
