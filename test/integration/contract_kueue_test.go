// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Kueue suspends the application when it is created, admits it by one update of suspend and the roles' node selectors, and evicts it by one that puts
// both back. test/schedulers runs Kueue itself; these cases are about the operator's part.
var _ = Describe("Kueue", func() {
	var (
		ctx context.Context
		ns  string
		d   *diary
	)
	pool := map[string]string{"cloud.example.org/flavor": "spot"}

	admit := func() {
		GinkgoHelper()
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) {
			s.Suspend, s.Driver.NodeSelector, s.Executor.NodeSelector = ptr.To(false), pool, pool
		})
	}
	evict := func() {
		GinkgoHelper()
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) {
			s.Suspend, s.Driver.NodeSelector, s.Executor.NodeSelector = ptr.To(true), nil, nil
		})
	}
	configuration := func() string {
		GinkgoHelper()
		var maps corev1.ConfigMapList
		Expect(admin.List(ctx, &maps, client.InNamespace(ns), client.HasLabels{"sparkoperator.k8s.io/submission-id"})).To(Succeed())
		text := ""
		for _, m := range maps.Items {
			for _, content := range m.Data {
				text += content
			}
		}
		return text
	}

	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
		d = keepDiary(ctx, ns)
		a := sparkPi(ns, "pi")
		a.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/managed": "true"}
		a.Spec.Suspend = ptr.To(true)
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Submitted").Reason }, wait, poll).Should(Equal("Suspended"))
		Expect(pods(ctx, ns)).To(BeEmpty(), "nothing runs before it is admitted")
	})

	It("has what it runs in another cluster to itself, which nobody can change", func() {
		a := sparkPi(ns, "far")
		a.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikeue")
		Expect(admin.Create(ctx, a)).To(MatchError(ContainSubstring("spec.managedBy: Unsupported value")))
		a.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "far", "Admitted").Reason }, wait, poll).Should(Equal("ManagedByAnother"))
		for name, by := range map[string]*string{"far": nil, "pi": ptr.To("kueue.x-k8s.io/multikueue")} {
			o := app(ctx, ns, name)
			o.Spec.ManagedBy = by
			Expect(admin.Update(ctx, o)).To(MatchError(ContainSubstring("spec.managedBy: Invalid value: cannot be changed")), name)
		}
		Expect(pods(ctx, ns)).To(BeEmpty())
	})

	It("places the pods where it has room, without a webhook, and once", func() {
		admit()
		driver := driverPod(ctx, ns, "pi-driver")
		Expect(driver.Spec.NodeSelector).To(Equal(pool))
		Expect(configuration()).To(ContainSubstring("cloud.example.org/flavor"), "the executors' template has it, too")
		for k := range driver.Labels {
			Expect(k).NotTo(HavePrefix("kueue.x-k8s.io/"), "a pod with Kueue's labels would be queued once more")
		}
		Expect(configuration()).NotTo(ContainSubstring("kueue.x-k8s.io"))
		succeeds(ctx, driver)
		s := app(ctx, ns, "pi").Status
		Expect([]int32{s.SubmissionAttempts, s.ExecutionAttempts, s.Attempt}).To(Equal([]int32{1, 1, 1}))
		Expect(count(writes.in(ns), "POST", "/pods")).To(Equal(1), "the change of the selector starts no second driver")
		Expect(d.states()).To(Equal([]string{"SUBMITTED", "RUNNING", "COMPLETED"}))
	})

	It("evicts an application, and admits it again elsewhere", func() {
		admit()
		first := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, first, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)

		evict()
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSuspended)
		Expect(pods(ctx, ns)).To(BeEmpty(), "what it used is free")

		pool = map[string]string{"cloud.example.org/flavor": "on-demand"}
		admit()
		var second *corev1.Pod
		Eventually(func() types.UID { second = driverPod(ctx, ns, "pi-driver"); return second.UID }, wait, poll).ShouldNot(Equal(first.UID))
		Expect(second.Spec.NodeSelector).To(Equal(pool))
		succeeds(ctx, second)
		s := app(ctx, ns, "pi").Status
		Expect(count(writes.in(ns), "POST", "/pods")).To(Equal(2), "one driver for each admission")
		Expect(s.Attempt).To(BeEquivalentTo(2))
		Expect(s.Attempts).To(HaveLen(2))
		Expect(s.Attempts[0].FailureClass).To(BeEmpty(), "an eviction by the user's will is no failure")
		Expect(s.Retries).To(BeNil())
		Expect(d.states()).NotTo(ContainElement(Or(Equal("UNKNOWN"), Equal("FAILED"), Equal("INVALIDATING"))))

		By("keeping the outcome, whatever is done with suspend")
		for _, suspend := range []bool{true, false} {
			a := edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { s.Suspend = ptr.To(suspend) })
			Eventually(func() int64 { return app(ctx, ns, "pi").Status.ObservedGeneration }, wait, poll).Should(Equal(a.Generation))
			Expect(app(ctx, ns, "pi").Status.AppState.State).To(Equal(v1beta2.ApplicationStateCompleted))
		}
		Expect(count(writes.in(ns), "POST", "/pods")).To(Equal(2))
	})
})
