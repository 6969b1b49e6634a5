// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/test/golden"
)

var _ = Describe("The admission policy for the memory of executors", func() {
	It("raises the limit of executors that a real driver was seen to make, and nothing else of them", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		for _, o := range manifests("config", "executor-memory", "policy.yaml") {
			install(ctx, o)
		}
		made := func(pod *corev1.Pod) (of string, limits map[string]string) {
			GinkgoHelper()
			pod.ResourceVersion, pod.UID = "", ""
			Expect(admin.Create(ctx, pod)).To(Succeed())
			Expect(admin.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(0))).To(Succeed())
			limits = map[string]string{}
			for _, c := range pod.Spec.Containers {
				for _, e := range c.Env {
					if e.Name == "SPARK_EXECUTOR_ID" {
						of = c.Name
					}
				}
				limits[c.Name] = c.Resources.Limits.Memory().String()
			}
			return of, limits
		}
		corpus := golden.Open(GinkgoTB(), "GOLDEN", filepath.Join("..", "..", "internal", "spark", "testdata", "golden.zip"))
		seen := 0
		for file, text := range corpus.ExecutorPods(GinkgoTB()) {
			var pod corev1.Pod
			Expect(yaml.Unmarshal(text, &pod)).To(Succeed())
			pod.Namespace, pod.Spec.PriorityClassName, pod.OwnerReferences = ns, "", nil
			maps.DeleteFunc(pod.Labels, func(_, value string) bool { return strings.Contains(value, "{") })
			_, before := made(pod.DeepCopy())
			for limit, raised := range map[string]bool{"99Gi": true, "1Mi": false, "much": false} {
				annotated := pod.DeepCopy()
				annotated.Annotations = map[string]string{"firesteel.dev/memory-limit": limit}
				attempt := func() error {
					of, after := made(annotated.DeepCopy())
					want := maps.Clone(before)
					if raised {
						want[of] = limit
					}
					if !maps.Equal(want, after) {
						return fmt.Errorf("%s with %s: %v, want %v", file, limit, after, want)
					}
					return nil
				}
				Eventually(attempt, wait, poll).Should(Succeed()) // the API server has to notice the policy
			}
			seen++
		}
		Expect(seen).To(BeNumerically(">", 15))
	})
})
