// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Samples as they are, applied as a user does. make demo runs spark-pi and pyspark-pi, schedules_test.go the schedule.
var _ = Describe("The sample", func() {
	runs := func(name, says string) {
		ctx := context.Background()
		namespace := newNamespace(ctx, "sample")
		kubectl("apply", "-n", namespace, "-f", filepath.Join("..", "..", "config", "samples", name+".yaml"))
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(kubectl("logs", "-n", namespace, name+"-driver")).To(ContainSubstring(says))
	}
	DescribeTable("runs to its end", runs,
		Entry("python-file", "python-file", "the sum is 499500"),
		Entry("python-dependencies", "python-dependencies", "the total is 71.4"),
		Entry("dynamic-allocation", Label(exhaustive), "dynamic-allocation", "Pi is roughly 3.1"),
		Entry("retries", Label(exhaustive), "retries", "Pi is roughly 3.1"),
		Entry("quota", Label(exhaustive), "quota", "Pi is roughly 3.1"),
		Entry("monitoring", Label(exhaustive), "monitoring", "Pi is roughly 3.1"),
	)

	It("apache-spark-pi runs to its end, and leaves nothing", func(ctx SpecContext) {
		app := apachePi(newNamespace(ctx, "sample"), "apache-spark-pi")
		kubectl("apply", "-n", app.Namespace, "-f", filepath.Join("..", "..", "config", "samples", "apache-spark-pi.yaml"))
		eventuallyApache(ctx, app, toRun+" Succeeded ResourceReleased")
		Expect(apachePods(ctx, app)).To(BeEmpty())
	})
})
