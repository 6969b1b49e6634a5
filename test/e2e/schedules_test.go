// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// sampleSchedule is the one of config/samples, in a namespace of its own.
func sampleSchedule(ctx context.Context) *v1beta2.ScheduledSparkApplication {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "scheduled-spark-pi.yaml"))
	Expect(err).NotTo(HaveOccurred())
	o := &v1beta2.ScheduledSparkApplication{}
	Expect(yaml.UnmarshalStrict(text, o)).To(Succeed())
	o.Namespace = newNamespace(ctx, "schedule")
	o.Spec.Template.Arguments = []string{"10"}
	o.Spec.Template.Driver.JavaOptions, o.Spec.Template.Executor.JavaOptions = ptr.To(quickStart), ptr.To(quickStart)
	return o
}

// runsOf are the runs of a schedule.
func runsOf(ctx context.Context, o *v1beta2.ScheduledSparkApplication) []v1beta2.SparkApplication {
	GinkgoHelper()
	var list v1beta2.SparkApplicationList
	Expect(admin.List(ctx, &list, client.InNamespace(o.Namespace), client.MatchingLabels{v1beta2.LabelScheduledAppName: o.Name})).To(Succeed())
	return list.Items
}

var _ = Describe("A schedule", func() {
	ctx := context.Background()

	It("runs the sample when it is triggered, once", func() {
		o := sampleSchedule(ctx)
		Expect(admin.Create(ctx, o)).To(Succeed())
		said, code := plugin(ctx, "trigger", o.Name, "-n", o.Namespace)
		Expect(code).To(BeZero(), said)
		Eventually(func() int { return len(runsOf(ctx, o)) }, jobWait, poll).Should(Equal(1))
		run := runsOf(ctx, o)[0]
		Expect(run.Annotations).To(HaveKeyWithValue(v1beta2.AnnotationRunReason, "Trigger"))
		Expect(run.Spec.SparkConf["spark.pi.day"]).To(MatchRegexp(`^\d{4}-\d\d-\d\d$`), "the day that the run is about")
		eventuallyState(ctx, &run, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, &run)).To(ContainSubstring("Pi is roughly 3.1"))
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			g.Expect(o.Status.PastSuccessfulRunNames).To(Equal([]string{run.Name}))
			g.Expect(o.Status.Active).To(BeEmpty())
		}, jobWait, poll).Should(Succeed())
		Expect(kubectl("get", "scheduledsparkapp", "-n", o.Namespace)).To(ContainSubstring(run.Name))
		Expect(runsOf(ctx, o)).To(HaveLen(1))
	})

	It("runs every few seconds, one after the other, and keeps the last", Label(exhaustive), func() {
		o := sampleSchedule(ctx)
		o.Spec.Schedule = "@every 20s"
		Expect(admin.Create(ctx, o)).To(Succeed())
		first := ""
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			g.Expect(len(o.Status.Active)).To(BeNumerically("<=", 1), "concurrencyPolicy is Forbid")
			g.Expect(o.Status.PastSuccessfulRunNames).NotTo(BeEmpty())
			first = o.Status.PastSuccessfulRunNames[0]
		}, jobWait, poll).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			g.Expect(len(o.Status.Active)).To(BeNumerically("<=", 1), "concurrencyPolicy is Forbid")
			g.Expect(o.Status.PastSuccessfulRunNames).To(And(HaveLen(1), Not(ContainElement(first))))
		}, jobWait, poll).Should(Succeed())

		By("deleting it, and its runs with it")
		Expect(admin.Delete(ctx, o, client.PropagationPolicy("Background"))).To(Succeed())
		Eventually(func() []v1beta2.SparkApplication { return runsOf(ctx, o) }, jobWait, poll).Should(BeEmpty())
	})
})
