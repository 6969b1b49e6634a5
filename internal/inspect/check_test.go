// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestVersionOf(t *testing.T) {
	for name, tc := range map[string]struct{ reason, container, image, label, want string }{
		"Tag":      {"what runs", operatorContainer, "firesteel/spark-operator:v1.2.3", "v1.0.0", "v1.2.3"},
		"Registry": {"a port is no tag", operatorContainer, "localhost:5000/spark-operator:v1.2.3", "", "v1.2.3"},
		"Both":     {"a digest behind the tag", operatorContainer, "a/b:v1.2.3@sha256:00", "", "v1.2.3"},
		"Digest":   {"without a tag the label counts", operatorContainer, "localhost:5000/b@sha256:00", "v1.0.0", "v1.0.0"},
		"Sidecar":  {"another container is not the operator", "proxy", "a/b:v9", "v1.0.0", "v1.0.0"},
		"Nothing":  {"neither", operatorContainer, "a/b", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var d appsv1.Deployment
			d.Labels = map[string]string{"app.kubernetes.io/version": tc.label}
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: tc.container, Image: tc.image}}
			if got := versionOf(&d); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
