// SPDX-License-Identifier: Apache-2.0

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

var _ = Describe("An operator with a label selector", smoke, func() {
	const ns = "chosen"
	next := map[string]string{"channel": "next"}
	application := func(name string, labels map[string]string) *v1.SparkApplication {
		o := newApache(ns)
		o.Name, o.Labels = name, labels
		o.Spec.DriverServiceIngressList, o.Spec.ConfigMapSpecs = nil, nil
		return o
	}

	It("works on what matches, and leaves alone what does not and what does no longer", func(ctx SpecContext) {
		w := &twoFamilies{}
		w.startWith(`{enabled: true, labelSelector: "channel in (next)"}`)
		Expect(w.c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		other, others := application("other", map[string]string{"channel": "stable"}), newCluster(ns)
		others.Name = "others"
		for _, o := range []client.Object{other, others} {
			Expect(w.c.Create(ctx, o)).To(Succeed())
		}
		mine, cluster := application("pi", next), newCluster(ns)
		cluster.Labels = next
		for _, o := range []client.Object{mine, cluster} {
			Expect(w.c.Create(ctx, o)).To(Succeed())
		}
		driver := w.driver(ctx, ns, "pi-0-driver")
		Eventually(w.clusterStates(ctx, cluster), wait, poll).Should(Equal([]string{"Submitted", "RunningHealthy"}))
		Expect(w.clusterParts(ctx, ns)()).NotTo(ContainElement(ContainSubstring("others")))

		By("leaving alone one that runs and loses its label")
		requested := []string{"Submitted", "DriverRequested"}
		Eventually(w.apacheStates(ctx, ns), wait, poll).Should(Equal(requested))
		change(ctx, w.c, ns, "pi", func(o *v1.SparkApplication) { o.Labels = nil })
		first := application("first", next) // its driver says that the watch is behind the edit
		Expect(w.c.Create(ctx, first)).To(Succeed())
		w.driver(ctx, ns, "first-0-driver")
		w.ready(ctx, driver)
		Expect(w.c.Create(ctx, application("second", next))).To(Succeed())
		w.driver(ctx, ns, "second-0-driver")
		Expect(w.apacheStates(ctx, ns)()).To(Equal(requested))

		By("following it as soon as it has its label again")
		change(ctx, w.c, ns, "pi", func(o *v1.SparkApplication) { o.Labels = next })
		Eventually(w.apacheStates(ctx, ns), wait, poll).Should(Equal(append(requested, "DriverStarted", "DriverReady", "RunningHealthy")))

		By("having written nothing of the others")
		for _, o := range []client.Object{other, others} {
			before := o.GetResourceVersion()
			Expect(w.c.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			Expect(o.GetResourceVersion()).To(Equal(before))
		}
		var pods corev1.PodList
		Expect(w.c.List(ctx, &pods, client.InNamespace(ns), client.MatchingLabels{v1.LabelAppName: other.Name})).To(Succeed())
		Expect(pods.Items).To(BeEmpty())
	})
})

var _ = Describe("Sentinels", func() {
	It("are edited in each period, and get neither pods nor a status", func(ctx SpecContext) {
		const ns = "sentinels"
		w := &twoFamilies{}
		w.startWith(`{enabled: true, sentinelPeriod: 10s}`)
		Expect(w.c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		app, cluster := newApache(ns), newCluster(ns)
		app.Labels, cluster.Labels = map[string]string{v1.LabelSentinel: "true"}, map[string]string{v1.LabelSentinel: "true"}
		for _, o := range []client.Object{app, cluster} {
			Expect(w.c.Create(ctx, o)).To(Succeed())
		}
		numbers := func(g Gomega) []string {
			g.Expect(w.c.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
			g.Expect(w.c.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
			return []string{app.Spec.SparkConf["sentinel.dummy.number"], cluster.Spec.SparkConf["sentinel.dummy.number"]}
		}
		Eventually(numbers, wait, poll).Should(Equal([]string{"1", "1"}))
		Eventually(numbers, wait, poll).Should(Equal([]string{"2", "2"}), "the cache has shown the first edit")
		Expect(app.Status).To(Equal(v1.SparkApplicationStatus{}))
		Expect(cluster.Status).To(Equal(v1.SparkClusterStatus{}))
		Expect(app.Finalizers).To(BeEmpty())
		Expect(w.clusterParts(ctx, ns)()).To(BeEmpty())
		var pods corev1.PodList
		Expect(w.c.List(ctx, &pods, client.InNamespace(ns))).To(Succeed())
		Expect(pods.Items).To(BeEmpty())
	})
})
