// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/test/golden"
)

var _ = Describe("The definition of spark.apache.org SparkApplications", smoke, func() {
	It("takes every manifest that Apache's definition took, and keeps what was written", func(ctx SpecContext) {
		corpus := golden.Open(GinkgoTB(), "GOLDEN_APACHE", filepath.Join("..", "..", "internal", "convert", "apache", "testdata", "golden.zip"))
		taken := 0
		for _, c := range corpus.Cases(GinkgoTB()) {
			var input struct{ Manifest map[string]any }
			corpus.Read(GinkgoTB(), &input, c.Dir, "case.json")
			o := &unstructured.Unstructured{Object: input.Manifest}
			if o.GetKind() != "SparkApplication" {
				continue
			}
			written := o.DeepCopy()
			o.SetNamespace("default")
			Expect(admin.Create(ctx, o, client.DryRunAll)).To(Succeed(), c.Dir)
			taken++
			if o.GroupVersionKind().Version == "v1beta1" {
				spec, _, _ := unstructured.NestedMap(o.Object, "spec")
				Expect(spec).NotTo(HaveKey("driverHttpRouteList"), "the frozen version does not have it")
				continue
			}
			// defaults of the definition, where the object around them is there
			unstructured.RemoveNestedField(o.Object, "spec", "applicationTolerations")
			unstructured.RemoveNestedField(written.Object, "spec", "applicationTolerations")
			want, err := json.Marshal(written.Object["spec"])
			Expect(err).NotTo(HaveOccurred())
			Expect(json.Marshal(o.Object["spec"])).To(MatchJSON(want), c.Dir)
		}
		Expect(taken).To(BeNumerically(">", 100))
	})
})
