// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/exposure"
)

var _ = Describe("A driver", Serial, Ordered, func() {
	const everything = `
driverPodDisruptionBudget: {enabled: true}
historyServer: {urlFormat: "https://history.example.org/history/{{$appId}}/jobs/"}
ui:
  ingress: {urlFormat: "https://ui.example.org/{{$appNamespace}}/{{$appName}}", className: nginx}
  route: {urlFormat: "ui.example.org/{{$appNamespace}}/{{$appName}}", parentRefs: [{name: public}]}
`
	var (
		ctx context.Context
		ns  string
	)
	BeforeAll(func() {
		installGatewayAPI(context.Background())
		restartOperator(func() { extraConfig = everything })
	})
	AfterAll(func() {
		restartOperator(func() { extraConfig = "" })
		removeGatewayAPI(context.Background())
	})
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
	})

	full := func() *v1beta2.SparkApplication {
		a := sparkPi(ns, "pi")
		a.Spec.SparkConf = map[string]string{"spark.eventLog.enabled": "true"}
		a.Spec.DriverPodDisruptionBudget = ptr.To(true)
		a.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServiceAnnotations: map[string]string{"old": "yes"}}
		a.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{ServicePort: ptr.To[int32](8000), ServicePortName: ptr.To("rest"), IngressURLFormat: "rest.example.org"}}
		return a
	}
	all := []string{"httproute/pi-ui-route", "ingress/pi-ing-8000", "ingress/pi-ui-ingress", "poddisruptionbudget/pi-driver", "service/pi-driver-8000", "service/pi-ui-svc"}
	// auxiliary lists what really is there.
	auxiliary := func() []string {
		found := []string{}
		for _, kind := range exposure.Kinds(exposure.Config{Ingress: exposure.Ingress{Enabled: true}, Route: exposure.Route{URLFormat: "x"}, DisruptionBudget: true}) {
			var list unstructured.UnstructuredList
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			Expect(admin.List(ctx, &list, client.InNamespace(ns), client.HasLabels{"sparkoperator.k8s.io/exposes"})).To(Succeed())
			for _, o := range list.Items {
				found = append(found, exposure.Ref{Kind: kind, Name: o.GetName()}.String())
			}
		}
		return found
	}
	run := func() *corev1.Pod {
		driver := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)
		return driver
	}
	get := func(o client.Object, name string) {
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, o)).To(Succeed())
	}

	It("is exposed from its creation to its end", smoke, func() {
		Expect(admin.Create(ctx, full())).To(Succeed())
		driver := run()
		Expect(auxiliary()).To(ConsistOf(all))
		s := app(ctx, ns, "pi").Status.DriverInfo
		var service corev1.Service
		get(&service, "pi-ui-svc")
		Expect(service.Spec.ClusterIP).NotTo(BeEmpty())
		Expect(s).To(Equal(v1beta2.DriverInfo{
			PodName: "pi-driver", WebUIServiceName: "pi-ui-svc", WebUIPort: 4040, WebUIAddress: service.Spec.ClusterIP + ":4040",
			WebUIIngressName: "pi-ui-ingress", WebUIIngressAddress: "https://ui.example.org/" + ns + "/pi",
			WebUIRouteName: "pi-ui-route", WebUIRouteAddress: "http://ui.example.org/" + ns + "/pi",
			HistoryServerURL: "https://history.example.org/history/" + driver.Labels["spark-app-selector"] + "/jobs/", ExposedBy: all,
		}))
		Expect(service.Spec.Selector).To(Equal(map[string]string{"sparkoperator.k8s.io/app-name": "pi", "spark-role": "driver"}))
		Expect(metav1.GetControllerOf(&service).UID).To(Equal(app(ctx, ns, "pi").UID))

		kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)
		Expect(auxiliary()).To(BeEmpty())
		Expect(app(ctx, ns, "pi").Status.DriverInfo).To(Equal(v1beta2.DriverInfo{PodName: "pi-driver", HistoryServerURL: s.HistoryServerURL}))
		Expect(count(writes.in(ns), "PATCH", "/sparkapplications/")).To(BeNumerically("<=", 4), "%v", writes.in(ns))
	})

	It("gets back at once what is deleted", func() {
		Expect(admin.Create(ctx, full())).To(Succeed())
		run()
		for _, o := range []client.Object{&corev1.Service{}, &networkingv1.Ingress{}, &policyv1.PodDisruptionBudget{}} {
			Expect(admin.DeleteAllOf(ctx, o, client.InNamespace(ns), client.HasLabels{"sparkoperator.k8s.io/exposes"})).To(Succeed())
		}
		Eventually(auxiliary, wait, poll).Should(ConsistOf(all))
		var service corev1.Service
		get(&service, "pi-ui-svc")
		Eventually(func() string { return app(ctx, ns, "pi").Status.DriverInfo.WebUIAddress }, wait, poll).Should(Equal(service.Spec.ClusterIP + ":4040"))
	})

	It("follows edits in place", func() {
		Expect(admin.Create(ctx, full())).To(Succeed())
		driver := run()
		var before, after corev1.Service
		get(&before, "pi-ui-svc")
		Expect(admin.Patch(ctx, &before, mergePatch(`{"metadata":{"annotations":{"theirs":"stays"}}}`))).To(Succeed())

		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) {
			s.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: ptr.To[int32](80), ServicePortName: ptr.To("http"), ServiceType: ptr.To(corev1.ServiceTypeNodePort)}
			s.DriverPodDisruptionBudget, s.DriverIngressOptions = ptr.To(false), nil
		})
		Eventually(auxiliary, wait, poll).Should(ConsistOf("httproute/pi-ui-route", "ingress/pi-ui-ingress", "service/pi-ui-svc"))
		Eventually(func() int32 { return app(ctx, ns, "pi").Status.DriverInfo.WebUIPort }, wait, poll).Should(BeEquivalentTo(80))
		get(&after, "pi-ui-svc")
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Spec.ClusterIP).To(Equal(before.Spec.ClusterIP))
		Expect(after.Spec.Type).To(Equal(corev1.ServiceTypeNodePort))
		Expect(after.Spec.Ports).To(HaveLen(1), "the old port is gone")
		Expect(after.Spec.Ports[0].Port).To(BeEquivalentTo(80))
		Expect(after.Annotations).To(HaveKeyWithValue("theirs", "stays"))
		Expect(after.Annotations).NotTo(HaveKey("old"), "what is not wanted any more is taken away")
		var ingress networkingv1.Ingress
		get(&ingress, "pi-ui-ingress")
		Expect(ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Number).To(BeEquivalentTo(80))
		Expect(driverPod(ctx, ns, "pi-driver").UID).To(Equal(driver.UID), "nothing was restarted")
		Expect(app(ctx, ns, "pi").Status.ExecutionAttempts).To(BeEquivalentTo(1))

		By("turning the budget on again")
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { s.DriverPodDisruptionBudget = ptr.To(true) })
		Eventually(auxiliary, wait, poll).Should(ContainElement("poddisruptionbudget/pi-driver"))
	})

	It("is exposed by what another operator has made, which becomes ours", func() {
		restartOperator(func() {
			Expect(admin.Create(ctx, full())).To(Succeed())
			a := app(ctx, ns, "pi")
			theirs := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pi-ui-svc", Labels: map[string]string{"sparkoperator.k8s.io/created-by-spark-operator": "true"}},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"spark-role": "driver"}, Ports: []corev1.ServicePort{{Name: "spark-driver-ui-port", Port: 4040}}},
			}
			theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "pi", UID: a.UID, Controller: ptr.To(true)}}
			Expect(admin.Create(ctx, theirs, client.FieldOwner("spark-operator"))).To(Succeed())
		})
		driver := run()
		Expect(auxiliary()).To(ConsistOf(all))
		var service corev1.Service
		get(&service, "pi-ui-svc")
		Expect(service.Spec.Ports).To(HaveLen(1))
		Expect(service.Spec.Selector).To(HaveKey("sparkoperator.k8s.io/app-name"))
		kubelet(ctx, driver, corev1.PodFailed, driverContainer, exited(1, "Error"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
		Expect(auxiliary()).To(BeEmpty())
	})

	It("leaves alone what belongs to others, says so, and runs", func() {
		notOwned := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pi-ui-svc"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
		Expect(admin.Create(ctx, notOwned)).To(Succeed())
		Expect(admin.Create(ctx, full())).To(Succeed())
		driver := run()
		Expect(condition(ctx, ns, "pi", "Exposed").Reason).To(Equal("NameConflict"))
		Expect(condition(ctx, ns, "pi", "Exposed").Message).To(ContainSubstring("pi-ui-svc already exists"))
		kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)
		var left corev1.Service
		get(&left, "pi-ui-svc")
		Expect(left.UID).To(Equal(notOwned.UID))
		Expect(left.Labels).To(BeEmpty())
		Expect(condition(ctx, ns, "pi", "Exposed").Reason).To(BeEmpty())
	})

	It("leaves nothing behind when the operator was away at its end", func() {
		Expect(admin.Create(ctx, full())).To(Succeed())
		driver := run()
		restartOperator(func() { kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed")) })
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)
		Expect(auxiliary()).To(BeEmpty())
	})

	It("leaves nothing behind that no one recorded, found at the start or made by an operator that was behind", func() {
		Expect(admin.Create(ctx, full())).To(Succeed())
		driver := run()
		kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)
		Expect(auxiliary()).To(BeEmpty())
		orphan := func(name string) {
			s := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"sparkoperator.k8s.io/app-name": "pi", "sparkoperator.k8s.io/exposes": "ui"}},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 4040}}},
			}
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "pi", UID: app(ctx, ns, "pi").UID, Controller: ptr.To(true)}}
			Expect(admin.Create(ctx, s)).To(Succeed())
		}
		restartOperator(func() { orphan("pi-ui-svc") })
		Eventually(auxiliary, wait, poll).Should(BeEmpty())

		By("waiting until the operator has checked everything, and will not look again")
		restartOperator(func() {})
		Expect(admin.Create(ctx, sparkPi(ns, "later"))).To(Succeed())
		driverPod(ctx, ns, "later-driver")
		Eventually(auxiliary, wait, poll).Should(ContainElement("service/later-ui-svc"))
		orphan("pi-ui-svc")
		Eventually(auxiliary, wait, poll).ShouldNot(ContainElement("service/pi-ui-svc"))
	})

	It("is deleted when it is suspended, and created when it continues", func() {
		Expect(admin.Create(ctx, full())).To(Succeed())
		run()
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { s.Suspend = ptr.To(true) })
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSuspended)
		Expect(auxiliary()).To(BeEmpty())
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { s.Suspend = nil })
		Eventually(auxiliary, wait, poll).Should(ConsistOf(all))
	})
})
