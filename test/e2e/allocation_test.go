// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

var _ = Describe("Dynamic allocation", Label(exhaustive), func() {
	ctx := context.Background()

	It("grows with the work and shrinks without it, with no shuffle service", func() {
		app := pythonJob(ctx, newNamespace(ctx, "dynamic"), "4.1.4", sparkImage, "allocate.py", "3", "1")
		app.Spec.Executor.Instances = nil
		app.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{
			Enabled: true, InitialExecutors: ptr.To[int32](1), MinExecutors: ptr.To[int32](1), MaxExecutors: ptr.To[int32](3),
			ShuffleTrackingTimeout: ptr.To[int64](3000),
		}
		app.Spec.SparkConf = map[string]string{
			"spark.dynamicAllocation.executorIdleTimeout":       "5s",
			"spark.dynamicAllocation.cachedExecutorIdleTimeout": "5s",
			"spark.kubernetes.allocation.batch.delay":           "200ms",
		}
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		log := driverLog(ctx, app)
		for _, line := range []string{"sum at first: 4950", "grew: True registered at least: 3", "shrank to: 1", "sum at last: 4950"} {
			Expect(log).To(ContainSubstring(line + "\n"))
		}
		Expect(len(s.ExecutorState)).To(BeNumerically(">=", 3), "the status knows all executors that there were")
		Expect(s.ExecutorState).NotTo(ContainElement(v1beta2.ExecutorStateRunning))
	})
})
