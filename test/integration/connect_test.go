// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
)

var _ = Describe("A Spark Connect server", func() {
	var (
		ctx context.Context
		ns  string
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
	})
	withToken := func(o *v1alpha1.SparkConnect) { o.Spec.Authentication = &v1alpha1.AuthenticationSpec{Token: true} }
	moreMemory := func(o *v1alpha1.SparkConnect) { o.Spec.Server.Memory = new("1g") }

	It("comes with all that it needs, and says when it accepts clients", smoke, func() {
		o := connectServer(ns, withToken)
		Expect(admin.Create(ctx, o)).To(Succeed())
		pod := serverPod(ctx, ns, nil)
		eventuallyServer(ctx, ns, v1alpha1.SparkConnectStateProvisioning)
		Expect(pod.Labels).To(HaveKeyWithValue("spark-role", "connect-server"))

		By("having a Service whose address is known before the server accepts clients")
		service := clientsService(ctx, ns)
		Expect(service.Spec.ClusterIP).NotTo(BeEmpty())
		Expect(ownedBy(service, o)).To(BeTrue())
		for key, value := range service.Spec.Selector {
			Expect(pod.Labels).To(HaveKeyWithValue(key, value), "the Service selects the pod")
		}
		Expect(objectsOf(ctx, ns)).To(ContainElements("ConfigMap/notebooks-conf", "Service/notebooks-server", HaveSuffix("-driver-svc")))

		By("having one Secret with a token")
		secrets := secretsOf(ctx, ns)
		Expect(secrets).To(HaveLen(1))
		Expect(secrets[0].Data).To(And(HaveLen(1), HaveKeyWithValue("token", HaveLen(64))))
		Expect(ownedBy(&secrets[0], o)).To(BeTrue())

		By("being ready when its pod is")
		kubelet(ctx, pod, corev1.PodRunning, driverContainer, running())
		Consistently(func() v1alpha1.SparkConnectState { return notebooks(ctx, ns).Status.State }, time.Second, poll).
			Should(Equal(v1alpha1.SparkConnectStateProvisioning), "its probe has not succeeded")
		takesClients(ctx, pod, nil)
		eventuallyServer(ctx, ns, v1alpha1.SparkConnectStateReady)
		Expect(notebooks(ctx, ns).Status.Server).To(Equal(v1alpha1.ServerStatus{
			PodName: "notebooks-server", PodIP: "192.0.2.254", ServiceName: "notebooks-server", TokenSecretName: secrets[0].Name,
		}))
		Expect(serverReason(ctx, ns, v1alpha1.ConditionServerPodReady)()).To(Equal("ServerPodReady"))
		Expect(serverReason(ctx, ns, "Exposed")()).NotTo(Equal("NameConflict"))
		Expect(count(writes.in(ns), "POST", "/secrets")).To(Equal(1), "%v", writes.in(ns))
		Expect(count(writes.in(ns), "PATCH", "/sparkconnects/")).To(BeNumerically("<=", 5), "%v", writes.in(ns))

		By("not being ready when its pod is not")
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		kubelet(ctx, pod, corev1.PodRunning, driverContainer, running())
		eventuallyServer(ctx, ns, v1alpha1.SparkConnectStateNotReady)
	})

	It("is replaced after a pause when it ends, at the same address and with the same token", func() {
		ends := map[string]func(*corev1.Pod){
			"fails": func(pod *corev1.Pod) { kubelet(ctx, pod, corev1.PodFailed, driverContainer, exited(1, "Error")) },
			"is evicted": func(pod *corev1.Pod) {
				pod.Status.Reason, pod.Status.Message = "Evicted", "The node was low on resource: memory."
				kubelet(ctx, pod, corev1.PodFailed, driverContainer, exited(137, "Error"))
			},
			"ends well": func(pod *corev1.Pod) {
				kubelet(ctx, pod, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
			},
			"is deleted": func(pod *corev1.Pod) { Expect(admin.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed()) },
		}
		type left struct {
			ns      string
			pod     *corev1.Pod
			service *corev1.Service
			secrets []corev1.Secret
			ended   time.Time
		}
		all := map[string]left{}
		for how, end := range ends {
			w := left{ns: newNamespace(ctx)}
			Expect(admin.Create(ctx, connectServer(w.ns, withToken))).To(Succeed())
			w.pod = isReady(ctx, w.ns, nil, nil)
			w.service, w.secrets, w.ended = clientsService(ctx, w.ns), secretsOf(ctx, w.ns), time.Now()
			end(w.pod)
			all[how] = w
		}
		for how, w := range all {
			By("replacing one that " + how)
			after := isReady(ctx, w.ns, w.pod, nil)
			if how == "fails" {
				Expect(after.CreationTimestamp.Sub(w.ended)).To(BeNumerically(">", serverPause-2*time.Second), "there is a pause; both times are cut to seconds")
			}
			service := clientsService(ctx, w.ns)
			Expect(service.UID).To(Equal(w.service.UID))
			Expect(service.Spec).To(Equal(w.service.Spec))
			Expect(secretsOf(ctx, w.ns)).To(Equal(w.secrets))
			Expect(count(writes.in(w.ns), "DELETE", "/services/notebooks-server")).To(BeZero(), "%v", writes.in(w.ns))
		}
	})

	It("is replaced after an edit when its sessions have ended", func() {
		ui := startUI("open-no-query")
		Expect(admin.Create(ctx, connectServer(ns))).To(Succeed())
		first := isReady(ctx, ns, nil, ui)
		editNotebooks(ctx, ns, moreMemory)
		Eventually(serverReason(ctx, ns, "Reconciling"), wait, poll).Should(Equal("Draining"))
		Expect(notebooks(ctx, ns).Status.DrainSince).NotTo(BeNil())
		Expect(notebooks(ctx, ns).Status.ObservedGeneration).To(BeNumerically("<", notebooks(ctx, ns).Generation))
		Expect(serverPod(ctx, ns, nil).UID).To(Equal(first.UID), "somebody works with it")

		By("rolling when the last session is closed")
		ui.shows("never")
		goes(ctx, first)
		second := isReady(ctx, ns, first, ui)
		Expect(second.Spec.Containers[0].Resources.Limits.Memory().Value()).To(BeNumerically(">", first.Spec.Containers[0].Resources.Limits.Memory().Value()))
		o := notebooks(ctx, ns)
		Expect(o.Status.ObservedGeneration).To(Equal(o.Generation))
		Expect(o.Status.DrainSince).To(BeNil())
	})

	It("is replaced after an edit when the drain is over, whoever is connected", func() {
		ui := startUI("running")
		Expect(admin.Create(ctx, connectServer(ns, func(o *v1alpha1.SparkConnect) { o.Spec.DrainTimeout = &metav1.Duration{Duration: 3 * time.Second} }))).To(Succeed())
		first := isReady(ctx, ns, nil, ui)
		editNotebooks(ctx, ns, moreMemory)
		goes(ctx, first)
		isReady(ctx, ns, first, ui)
	})

	It("stops when it is idle, and comes back when it is woken", func() {
		ui := startUI("never")
		Expect(admin.Create(ctx, connectServer(ns, func(o *v1alpha1.SparkConnect) { o.Spec.IdleTimeout = &metav1.Duration{Duration: 3 * time.Second} }))).To(Succeed())
		first := isReady(ctx, ns, nil, ui)
		service := clientsService(ctx, ns)
		goes(ctx, first)
		eventuallyServer(ctx, ns, v1alpha1.SparkConnectStateNotReady)
		Eventually(serverReason(ctx, ns, "Suspended"), wait, poll).Should(Equal("Idle"))
		stopped := notebooks(ctx, ns).Status.Idle.StoppedAt
		Expect(stopped).NotTo(BeNil())

		By("staying away while nobody wakes it, an edit and a restart of the operator included")
		editNotebooks(ctx, ns, moreMemory)
		Consistently(gone(ctx, first.DeepCopy()), 2*time.Second, poll).Should(BeTrue())

		By("waking it")
		editNotebooks(ctx, ns, func(o *v1alpha1.SparkConnect) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1alpha1.AnnotationWakeAt, time.Now().UTC().Add(time.Second).Format(time.RFC3339))
		})
		ui.shows("running")
		isReady(ctx, ns, first, ui)
		Expect(clientsService(ctx, ns).Spec.ClusterIP).To(Equal(service.Spec.ClusterIP), "clients keep the address")
	})

	It("is suspended and resumed", func() {
		Expect(admin.Create(ctx, connectServer(ns))).To(Succeed())
		first := isReady(ctx, ns, nil, nil)
		editNotebooks(ctx, ns, func(o *v1alpha1.SparkConnect) { o.Spec.Suspend = new(true) })
		goes(ctx, first)
		eventuallyServer(ctx, ns, v1alpha1.SparkConnectStateNotReady)
		service := clientsService(ctx, ns)
		editNotebooks(ctx, ns, func(o *v1alpha1.SparkConnect) { o.Spec.Suspend = nil })
		isReady(ctx, ns, first, nil)
		Expect(clientsService(ctx, ns).UID).To(Equal(service.UID))
	})

	It("gets its Service back, and follows edits of it in place", func() {
		Expect(admin.Create(ctx, connectServer(ns))).To(Succeed())
		pod := isReady(ctx, ns, nil, nil)
		Expect(admin.Delete(ctx, clientsService(ctx, ns))).To(Succeed())
		before := clientsService(ctx, ns)
		editNotebooks(ctx, ns, func(o *v1alpha1.SparkConnect) {
			o.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"team": "a"}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
		})
		Eventually(func() corev1.ServiceType { return clientsService(ctx, ns).Spec.Type }, wait, poll).Should(Equal(corev1.ServiceTypeNodePort))
		after := clientsService(ctx, ns)
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Annotations).To(HaveKeyWithValue("team", "a"))
		Expect(serverPod(ctx, ns, nil).UID).To(Equal(pod.UID), "that restarts nothing")

		By("getting another name")
		editNotebooks(ctx, ns, func(o *v1alpha1.SparkConnect) { o.Spec.Server.Service.Name = "lab" })
		Eventually(gone(ctx, before), wait, poll).Should(BeTrue())
		Eventually(func() string { return notebooks(ctx, ns).Status.Server.ServiceName }, wait, poll).Should(Equal("lab"))
	})

	It("leaves nothing that is not its own when it is deleted", func() {
		o := connectServer(ns, withToken)
		Expect(admin.Create(ctx, o)).To(Succeed())
		pod := isReady(ctx, ns, nil, nil)
		Expect(admin.Delete(ctx, o)).To(Succeed())
		Eventually(gone(ctx, o), wait, poll).Should(BeTrue(), "there is no finalizer")
		Expect(ownedBy(pod, o)).To(BeTrue())
		var maps corev1.ConfigMapList
		var services corev1.ServiceList
		Expect(admin.List(ctx, &maps, client.InNamespace(ns))).To(Succeed())
		Expect(admin.List(ctx, &services, client.InNamespace(ns))).To(Succeed())
		for i := range maps.Items {
			if maps.Items[i].Name != "kube-root-ca.crt" {
				Expect(ownedBy(&maps.Items[i], o)).To(BeTrue(), "the garbage collector takes %s", maps.Items[i].Name)
			}
		}
		for i := range services.Items {
			Expect(ownedBy(&services.Items[i], o)).To(BeTrue(), "the garbage collector takes %s", services.Items[i].Name)
		}
		before := len(writes.in(ns))
		Expect(admin.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		Consistently(func() []string { return writes.in(ns) }, time.Second, poll).Should(HaveLen(before), "nothing is made again")
	})
})
