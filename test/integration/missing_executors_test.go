// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

var _ = Describe("A driver without executors", func() {
	events := func(ctx context.Context, ns string) (notes []string) {
		var all eventsv1.EventList
		Expect(admin.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
		for i := range all.Items {
			if all.Items[i].Reason == "SparkExecutorsRefused" {
				notes = append(notes, all.Items[i].Note)
			}
		}
		return notes
	}
	reason := func(ctx context.Context, ns string) func() string {
		return func() string { return condition(ctx, ns, "pi", "ExecutorsReady").Reason }
	}

	DescribeTable("has the API server's words in its status", func(ctx SpecContext, refuse func(ctx context.Context, ns string), words string) {
		ns := newNamespace(ctx)
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		refuse(ctx, ns)
		kubelet(ctx, driver, corev1.PodRunning, driverContainer,
			corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))}})
		Eventually(reason(ctx, ns), wait, poll).Should(Equal("ExecutorsRefused"), func() string { return condition(ctx, ns, "pi", "ExecutorsReady").Message })
		Expect(condition(ctx, ns, "pi", "ExecutorsReady").Message).To(ContainSubstring(words))
		Expect(app(ctx, ns, "pi").Status.MissingExecutors.Refusal).To(ContainSubstring(words))
		Expect(app(ctx, ns, "pi").Status.AppState.State).To(Equal(v1beta2.ApplicationStateRunning))
		Eventually(func() []string { return events(ctx, ns) }, wait, poll).Should(ConsistOf(ContainSubstring(words)))

		By("asking no more")
		asked := count(writes.in(ns), "POST", "/pods")
		change(ctx, admin, ns, "pi", func(o *v1beta2.SparkApplication) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, "looks", "again") })
		Consistently(func() int { return count(writes.in(ns), "POST", "/pods") }, time.Second, poll).Should(Equal(asked))
		Expect(events(ctx, ns)).To(HaveLen(1))
	},
		Entry("of a policy", smoke, func(ctx context.Context, ns string) {
			forbidPods(ctx, ns, `object.metadata.?labels['spark-role'].orValue('') != 'driver'`, "executors need the label team")
		}, "executors need the label team"),
		Entry("of pod security", func(ctx context.Context, ns string) {
			var namespace corev1.Namespace
			Expect(admin.Get(ctx, client.ObjectKey{Name: ns}, &namespace)).To(Succeed())
			namespace.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
			Expect(admin.Update(ctx, &namespace)).To(Succeed())
			Eventually(func() error { return admin.Create(ctx, simplePod(ns, "any", "", nil), client.DryRunAll) }, wait, poll).
				Should(MatchError(ContainSubstring("PodSecurity")))
		}, `violates PodSecurity "restricted:latest"`),
		Entry("of a quota", func(ctx context.Context, ns string) {
			one := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "team"}, Spec: corev1.ResourceQuotaSpec{Hard: one}}
			Expect(admin.Create(ctx, quota)).To(Succeed())
			quota.Status = corev1.ResourceQuotaStatus{Hard: one, Used: one} // no controller counts here
			Expect(admin.Status().Update(ctx, quota)).To(Succeed())
			Eventually(func() error { return admin.Create(ctx, simplePod(ns, "any", "", nil), client.DryRunAll) }, wait, poll).
				Should(MatchError(ContainSubstring("quota")))
		}, "exceeded quota: team"),
	)

	It("is forgotten when they come", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, driver, corev1.PodRunning, driverContainer,
			corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))}})
		Eventually(func() *metav1.Time {
			if m := app(ctx, ns, "pi").Status.MissingExecutors; m != nil {
				return m.AskTime
			}
			return nil
		}, wait, poll).ShouldNot(BeNil())
		Expect(reason(ctx, ns)()).To(Equal("ExecutorsPending"))
		pod := simplePod(ns, "pi-exec-1", "", map[string]string{"spark-role": "executor", "spark-exec-id": "1"})
		for _, k := range []string{v1beta2.LabelAppName, v1beta2.LabelSubmissionID, "sparkoperator.k8s.io/launched-by-spark-operator"} {
			pod.Labels[k] = driver.Labels[k]
		}
		Expect(admin.Create(ctx, pod)).To(Succeed())
		kubelet(ctx, pod, corev1.PodRunning, executorContainer, running())
		Eventually(func() any { return app(ctx, ns, "pi").Status.MissingExecutors }, 2*wait, poll).Should(BeNil())
		Expect(events(ctx, ns)).To(BeEmpty())
	})
})
