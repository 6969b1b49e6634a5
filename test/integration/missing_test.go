// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

var _ = Describe("An operator that starts before the definitions are installed", func() {
	It("runs applications as soon as theirs is, and the others as soon as theirs are", func(ctx SpecContext) {
		definition := func(plural string) string {
			return filepath.Join("..", "..", "config", "crd", "bases", "sparkoperator.k8s.io_"+plural+".yaml")
		}
		env := &envtest.Environment{}
		cfg, err := env.Start()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(env.Stop)
		c, err := client.New(cfg, client.Options{Scheme: controller.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		configuration, err := config.Parse([]byte("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nhealth: {bindAddress: \"0\"}\nmetrics: {bindAddress: \"" + freeAddress() + "\", prefix: late-, labels: [namespace]}\n"))
		Expect(err).NotTo(HaveOccurred())
		registry, err := scheduler.NewRegistry(configuration.BatchScheduler.Default, kube.Plugin{})
		Expect(err).NotTo(HaveOccurred())
		mgr, err := controller.NewManager(cfg, configuration)
		Expect(err).NotTo(HaveOccurred())
		runs, stop := context.WithCancel(context.Background())
		Expect(controller.SetupWith(runs, again{mgr}, configuration, registry, shortPeriods)).To(Succeed())
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(runs) }()
		DeferCleanup(func() {
			stop()
			Eventually(ended, wait).Should(Receive(BeNil()))
		})

		install := func(plural string) {
			_, err := envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{Paths: []string{definition(plural)}, ErrorIfPathMissing: true})
			Expect(err).NotTo(HaveOccurred())
		}
		Eventually(mgr.Elected(), wait).Should(BeClosed())
		install("sparkapplications")
		Expect(c.Create(ctx, sparkPi("default", "pi"))).To(Succeed())
		Eventually(func() error {
			return c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "pi-driver"}, &corev1.Pod{})
		}, wait, poll).Should(Succeed())

		for _, plural := range []string{"scheduledsparkapplications", "sparkconnects"} {
			install(plural)
		}
		Expect(c.Create(ctx, connectServer("default"))).To(Succeed())
		Expect(c.Create(ctx, &v1beta2.ScheduledSparkApplication{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "often"},
			Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: "@every 1s", Template: sparkPi("default", "pi").Spec},
		})).To(Succeed())
		Eventually(func(g Gomega) {
			var apps v1beta2.SparkApplicationList
			g.Expect(c.List(ctx, &apps, client.MatchingLabels{v1beta2.LabelScheduledAppName: "often"})).To(Succeed())
			g.Expect(apps.Items).NotTo(BeEmpty())
		}, wait, poll).Should(Succeed())

		By("running a server, which is enqueued by what happens to its pod and its Service")
		at := client.ObjectKey{Namespace: "default", Name: "notebooks-server"}
		var pod corev1.Pod
		Eventually(func() error { return c.Get(ctx, at, &pod) }, wait, poll).Should(Succeed())
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "192.0.2.254", []corev1.PodIP{{IP: "192.0.2.254"}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: driverContainer, State: running()}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		Expect(c.Status().Update(ctx, &pod)).To(Succeed())
		Eventually(func(g Gomega) {
			var o v1alpha1.SparkConnect
			g.Expect(c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "notebooks"}, &o)).To(Succeed())
			g.Expect(o.Status.State).To(Equal(v1alpha1.SparkConnectStateReady))
		}, wait, poll).Should(Succeed())
		Expect(c.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}})).To(Succeed())
		Eventually(func() error { return c.Get(ctx, at, &corev1.Service{}) }, wait, poll).Should(Succeed())

		By("counting both in the metrics")
		address := configuration.Metrics.BindAddress
		Eventually(func(g Gomega) {
			values, err := scrape(ctx, "http://"+address+"/metrics")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(values[`late_spark_schedules{namespace="default",state="Scheduled"}`]).To(Equal(1.0))
			g.Expect(values[`late_spark_connect_servers{namespace="default",state="Ready"}`]).To(Equal(1.0))
		}, wait, poll).Should(Succeed())
	})
})
