// SPDX-License-Identifier: Apache-2.0

package podrules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pod(change func(*corev1.PodSpec)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	change(&p.Spec)
	return p
}

// test/integration compares the rules with those of a running API server. This holds what that cannot: what depends on how a cluster is set up.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*corev1.PodSpec)
		want   string
	}{
		"Defaults": {"what is left out gets a default before", func(*corev1.PodSpec) {}, ""},
		"Privileged": {"a flag of the API server, which nearly all set", func(s *corev1.PodSpec) {
			s.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		}, ""},
		"Feature": {"a cluster may have it", func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpGt, Value: "3"}}
		}, ""},
		"Image": {"missing", func(s *corev1.PodSpec) { s.Containers[0].Image = "" }, "spec.containers[0].image: Required value"},
	} {
		given := pod(tc.change)
		before, got := given.DeepCopy(), ""
		for _, e := range Errors(given) {
			got += e.Error()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if diff := cmp.Diff(before, given); diff != "" {
			t.Errorf("%s: the pod was changed (-before +after):\n%s", name, diff)
		}
	}
}

func BenchmarkErrors(b *testing.B) {
	given := pod(func(*corev1.PodSpec) {})
	b.ReportAllocs()
	for b.Loop() {
		Errors(given)
	}
}
