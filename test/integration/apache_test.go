// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/test/golden"
)

func newApache(namespace string) *v1.SparkApplication {
	return &v1.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pi"},
		Spec: v1.SparkApplicationSpec{
			RuntimeVersions: v1.RuntimeVersions{SparkVersion: testutil.SparkVersion},
			MainClass:       "org.apache.spark.examples.SparkPi", Jars: "local:///opt/spark/examples/jars/spark-examples.jar",
			SparkConf: map[string]string{"spark.kubernetes.container.image": "spark", "spark.executor.instances": "1"},
			DriverServiceIngressList: []v1.DriverServiceIngress{{
				ServiceMetadata: metav1.ObjectMeta{Name: "ui"}, ServiceSpec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 4040}}},
				IngressMetadata: metav1.ObjectMeta{Name: "ui"},
			}},
			ConfigMapSpecs: []v1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "b"}}},
		},
	}
}

// apacheStates are the states of the application in their order.
func (w *twoFamilies) apacheStates(ctx context.Context, ns string) func() []string {
	return func() []string {
		var o v1.SparkApplication
		Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "pi"}, &o)).To(Succeed())
		return testutil.ApacheStates(&o.Status)
	}
}

// ready sets the status of a driver that runs and is ready.
func (w *twoFamilies) ready(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: driverContainer, State: running(), Ready: true}}
	Expect(w.c.Status().Update(ctx, pod)).To(Succeed())
}

func (w *twoFamilies) runsApache(ctx context.Context, ns string) {
	GinkgoHelper()
	Expect(w.c.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
	app := newApache(ns)
	Expect(w.c.Create(ctx, app)).To(Succeed())
	driver := w.driver(ctx, ns, "pi-0-driver")
	Expect(driver.OwnerReferences).To(ConsistOf(metav1.OwnerReference{
		APIVersion: "spark.apache.org/v1", Kind: "SparkApplication", Name: "pi", UID: app.UID, BlockOwnerDeletion: new(true),
	}))
	Eventually(w.apacheStates(ctx, ns), wait, poll).Should(Equal([]string{"Submitted", "DriverRequested"}))

	By("creating what belongs to the driver")
	for _, o := range []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "pi-0-driver-svc"}}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "ui"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "pi-0-spark-drv-conf-map"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "pi-0-policy"}}, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "ui"}},
	} {
		Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: o.GetName()}, o)).To(Succeed())
		Expect(o.GetOwnerReferences()).To(ConsistOf(metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID}))
		Expect(o.GetLabels()).To(HaveKeyWithValue("spark.operator/spark-app-name", "pi"))
	}

	By("following the driver to its end")
	w.ready(ctx, driver)
	run := []string{"Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy"}
	Eventually(w.apacheStates(ctx, ns), wait, poll).Should(Equal(run))
	w.kubelet(ctx, driver, corev1.PodSucceeded, exited(0, "Completed"))
	Eventually(w.apacheStates(ctx, ns), wait, poll).Should(Equal(append(run, "Succeeded", "ResourceReleased")))
	Eventually(func() error { return w.c.Get(ctx, client.ObjectKeyFromObject(driver), &corev1.Pod{}) }, wait, poll).Should(MatchError(ContainSubstring("not found")))
	Expect(w.c.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
	Expect(meta.IsStatusConditionTrue(app.Status.Conditions, "Succeeded")).To(BeTrue())
	Expect(app.Status.CurrentState.CurrentStateSummary).To(Equal(v1.StateResourceReleased))
	Expect(w.driver(ctx, ns, "pi-driver").DeletionTimestamp).To(BeNil(), "that of the other family")
}

func (w *twoFamilies) restartsApache(ctx context.Context, ns string) {
	GinkgoHelper()
	app := newApache(ns)
	app.Spec.DriverServiceIngressList, app.Spec.ConfigMapSpecs = nil, nil // they go with the driver, and nobody collects them here
	app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{
		RestartPolicy: v1.RestartOnFailure, MaxRestartAttempts: new(int64(1)), RestartBackoffMillis: new(int64(100)),
	}}
	Expect(w.c.Create(ctx, app)).To(Succeed())
	for _, name := range []string{"pi-0-driver", "pi-1-driver"} {
		driver := w.driver(ctx, ns, name)
		w.ready(ctx, driver)
		Eventually(func() string { return strings.Join(w.apacheStates(ctx, ns)(), " ") }, wait, poll).Should(HaveSuffix("RunningHealthy"))
		w.kubelet(ctx, driver, corev1.PodFailed, exited(3, "Error"))
	}
	Eventually(w.apacheStates(ctx, ns), wait, poll).Should(Equal([]string{
		"Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy", "Failed",
		"ScheduledToRestart", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy", "Failed", "ResourceReleased",
	}))
	Expect(w.c.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
	Expect(*app.Status.CurrentAttemptSummary.AttemptInfo).To(Equal(v1.AttemptInfo{ID: 1, RestartCounter: 1, FailureRestartCounter: 1}))
	failed := app.Status.StateTransitionHistory["11"]
	Expect(failed.LastObservedDriverStatus.ContainerStatuses[0].State.Terminated.ExitCode).To(Equal(int32(3)))
	Expect(meta.FindStatusCondition(app.Status.Conditions, "Succeeded").Message).To(ContainSubstring("ExitCode: 3"))
}

// routesApache begins without the Gateway API, and installs it.
func (w *twoFamilies) routesApache(ctx context.Context, ns string) {
	GinkgoHelper()
	gateway := &runtime.RawExtension{Raw: []byte(`{"parentRefs": [{"name": "public", "namespace": "gateways"}], "hostnames": ["ui.example.org"]}`)}
	service := func(name string, port int32) (metav1.ObjectMeta, corev1.ServiceSpec) {
		return metav1.ObjectMeta{Name: name}, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port}}}
	}
	app := newApache(ns)
	app.Spec.DriverServiceIngressList, app.Spec.ConfigMapSpecs = nil, nil
	web := v1.DriverHTTPRoute{HTTPRouteMetadata: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"team": "data"}}, HTTPRouteSpec: gateway}
	web.ServiceMetadata, web.ServiceSpec = service("web", 4040)
	api := v1.DriverGRPCRoute{GRPCRouteMetadata: metav1.ObjectMeta{Name: "api"}, GRPCRouteSpec: gateway}
	api.ServiceMetadata, api.ServiceSpec = service("api", 15002)
	app.Spec.DriverHTTPRouteList, app.Spec.DriverGRPCRouteList = []v1.DriverHTTPRoute{web}, []v1.DriverGRPCRoute{api}

	By("saying what is missing")
	without := app.DeepCopy()
	Expect(w.c.Create(ctx, without)).To(Succeed())
	Eventually(w.apacheStates(ctx, ns), wait, poll).Should(Equal([]string{"Submitted", "SchedulingFailure", "ResourceReleased"}))
	Expect(w.c.Get(ctx, client.ObjectKeyFromObject(without), without)).To(Succeed())
	Expect(without.Status.StateTransitionHistory["1"].Message).To(ContainSubstring("HTTPRoute"))
	Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(w.c.List(ctx, &pods, client.InNamespace(ns))).To(Succeed())
		g.Expect(pods.Items).To(BeEmpty())
	}, wait, poll).Should(Succeed())
	Expect(w.c.Delete(ctx, without)).To(Succeed())
	w.collect(ctx, ns, without.UID)

	By("creating them where it is not")
	_, err := envtest.InstallCRDs(w.cfg, gatewayAPI(ctx))
	Expect(err).NotTo(HaveOccurred())
	Expect(w.c.Create(ctx, app)).To(Succeed())
	driver := w.driver(ctx, ns, "pi-0-driver")
	for kind, name := range map[string]string{"HTTPRoute": "web", "GRPCRoute": "api"} {
		route := &unstructured.Unstructured{}
		route.SetGroupVersionKind(exposure.HTTPRoute.GroupVersion().WithKind(kind))
		Eventually(func() error { return w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, route) }, wait, poll).Should(Succeed())
		Expect(route.GetOwnerReferences()).To(ConsistOf(metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID}))
		rules, _, err := unstructured.NestedSlice(route.Object, "spec", "rules")
		Expect(err).NotTo(HaveOccurred())
		Expect(rules).To(ConsistOf(HaveKeyWithValue("backendRefs", ConsistOf(HaveKeyWithValue("name", name)))), "to the Service of the entry")
		Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &corev1.Service{})).To(Succeed())
	}
}

var _ = Describe("The definitions of spark.apache.org", smoke, func() {
	It("take every manifest that Apache's definitions took, and keep what was written", func(ctx SpecContext) {
		corpus := golden.Open(GinkgoTB(), "GOLDEN_APACHE", filepath.Join("..", "..", "internal", "convert", "apache", "testdata", "golden.zip"))
		taken := map[string]int{}
		for _, c := range corpus.Cases(GinkgoTB()) {
			var input struct{ Manifest map[string]any }
			var recorded struct{ Calls map[string]int }
			corpus.Read(GinkgoTB(), &input, c.Dir, "case.json")
			o := &unstructured.Unstructured{Object: input.Manifest}
			written := o.DeepCopy()
			o.SetNamespace("default")
			if _, err := corpus.ReadFile(c.Dir, "states.json"); err == nil {
				corpus.Read(GinkgoTB(), &recorded, c.Dir, "states.json")
			}
			if len(recorded.Calls) == 0 && o.GetKind() == "SparkCluster" && o.GetLabels()[v1.LabelSentinel] == "" {
				Expect(admin.Create(ctx, o, client.DryRunAll)).To(MatchError(ContainSubstring("clusterTolerations: Required value")), c.Dir)
				taken["refused"]++
				continue
			}
			Expect(admin.Create(ctx, o, client.DryRunAll)).To(Succeed(), c.Dir)
			taken[o.GetKind()]++
			// defaults of the definition, where the object around them is there
			unstructured.RemoveNestedField(o.Object, "spec", "applicationTolerations")
			unstructured.RemoveNestedField(written.Object, "spec", "applicationTolerations")
			want, err := json.Marshal(written.Object["spec"])
			Expect(err).NotTo(HaveOccurred())
			Expect(json.Marshal(o.Object["spec"])).To(MatchJSON(want), c.Dir)
		}
		Expect(taken).To(Equal(map[string]int{"SparkApplication": 116, "SparkCluster": 18, "refused": 1}))
	})
})
