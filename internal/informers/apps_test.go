// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestAppsOf(t *testing.T) {
	other := lifecycle.Family{Group: "example.org", Kind: "Job", Labels: lifecycle.Labels{App: "example.org/name"}}
	families := []lifecycle.Family{kubeflow.SparkApplications{}.Family(), other}
	p := &corev1.Pod{}
	p.Namespace, p.Name = "jobs", "pi-exec-1"
	if got := appsOf(families, p); got != nil {
		t.Errorf("a pod of no one enqueues %v", got)
	}
	p.Labels = map[string]string{v1beta2.LabelAppName: "pi"}
	want := []scheduler.Key{{Kind: families[0].GroupKind(), Namespace: "jobs", Name: "pi"}}
	if diff := cmp.Diff(want, appsOf(families, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.Labels["example.org/name"] = "pi"
	want = append(want, scheduler.Key{Kind: other.GroupKind(), Namespace: "jobs", Name: "pi"})
	if diff := cmp.Diff(want, appsOf(families, p)); diff != "" {
		t.Errorf("a label of each family, which anyone can set (-want +got):\n%s", diff)
	}
}
