// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// leftServer is a server that the Kubeflow operator has left, in a namespace of its own.
type leftServer struct {
	namespace string
	pod       *corev1.Pod
	service   *corev1.Service
	conf      *corev1.ConfigMap
}

// leave makes what the Kubeflow operator makes for a server, and lets it write its status: "" for none.
func leave(ctx context.Context, state v1alpha1.SparkConnectState, phase corev1.PodPhase) leftServer {
	GinkgoHelper()
	w := leftServer{namespace: newNamespace(ctx)}
	o := connectServer(w.namespace)
	Expect(admin.Create(ctx, o)).To(Succeed())
	labels := map[string]string{v1alpha1.LabelConnectName: o.Name, v1beta2.LabelCreatedBy: "true"}
	owned := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "sparkoperator.k8s.io/v1alpha1", Kind: "SparkConnect", Name: o.Name, UID: o.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}}}
	}
	w.conf = &corev1.ConfigMap{ObjectMeta: owned("notebooks-conf", labels), Data: map[string]string{"executor-pod-template.yaml": "null\n"}}
	Expect(admin.Create(ctx, w.conf)).To(Succeed())
	role := map[string]string{
		v1beta2.LabelLaunchedBy: "true", v1alpha1.LabelConnectName: o.Name, "spark-role": "connect-server", "spark-version": "4.1.4",
	}
	w.pod = &corev1.Pod{ObjectMeta: owned("notebooks-server", role), Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: driverContainer, Image: *o.Spec.Image, Command: []string{"bash", "-c"}, Args: []string{"${SPARK_HOME}/sbin/start-connect-server.sh"},
			VolumeMounts: []corev1.VolumeMount{{Name: "spark-conf", MountPath: "/tmp/spark/executor-pod-template.yaml", SubPath: "executor-pod-template.yaml", ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{{Name: "spark-conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "notebooks-conf"}}}}},
	}}
	Expect(admin.Create(ctx, w.pod)).To(Succeed())
	w.service = &corev1.Service{ObjectMeta: owned("notebooks-server", labels), Spec: corev1.ServiceSpec{Selector: role, Ports: []corev1.ServicePort{
		{Name: "driver-rpc", Port: 7078, AppProtocol: new("tcp")}, {Name: "blockmanager", Port: 7079, AppProtocol: new("tcp")},
		{Name: "web-ui", Port: 4040, AppProtocol: new("http")}, {Name: "spark-connect-server", Port: 15002, AppProtocol: new("grpc")},
	}}}
	Expect(admin.Create(ctx, w.service, client.FieldOwner("spark-operator"))).To(Succeed())
	executor := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "notebooks-exec-1", Labels: map[string]string{v1beta2.LabelLaunchedBy: "true", v1alpha1.LabelConnectName: o.Name, "spark-role": "executor"},
	}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-executor", Image: *o.Spec.Image}}}}
	Expect(admin.Create(ctx, executor)).To(Succeed())
	kubelet(ctx, executor, corev1.PodRunning, "spark-kubernetes-executor", running())
	w.observed(ctx, state, phase)
	w.wroteStatus(ctx, o, state)
	return w
}

// observed writes what the kubelet says of the server's pod.
func (w leftServer) observed(ctx context.Context, state v1alpha1.SparkConnectState, phase corev1.PodPhase) {
	GinkgoHelper()
	switch {
	case phase == corev1.PodFailed:
		w.pod.Status.Reason, w.pod.Status.Message = "Evicted", "The node was low on resource: memory."
		kubelet(ctx, w.pod, phase, driverContainer, exited(137, "Error"))
	case state == v1alpha1.SparkConnectStateNotReady:
		kubelet(ctx, w.pod, phase, driverContainer, running())
	default:
		takesClients(ctx, w.pod, nil)
	}
}

// wroteStatus writes the status of the Kubeflow operator.
func (w leftServer) wroteStatus(ctx context.Context, o *v1alpha1.SparkConnect, state v1alpha1.SparkConnectState) {
	GinkgoHelper()
	if state == v1alpha1.SparkConnectStateNew {
		return
	}
	ready := metav1.Condition{Type: "ServerPodReady", Status: metav1.ConditionFalse, Reason: "ServerPodNotReady", Message: "Server pod is not ready: ", LastTransitionTime: metav1.Now()}
	if state == v1alpha1.SparkConnectStateReady {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, "ServerPodReady", "Server pod is ready"
	}
	o.Status = v1alpha1.SparkConnectStatus{
		State: state, Conditions: []metav1.Condition{ready}, Executors: map[string]int{"running": 1}, StartTime: metav1.Now(), LastUpdateTime: metav1.Now(),
		Server: v1alpha1.ServerStatus{PodName: "notebooks-server", PodIP: w.pod.Status.PodIP, ServiceName: "notebooks-server"},
	}
	Expect(admin.Status().Update(ctx, o)).To(Succeed())
}

// goesOn checks that the server and its ConfigMap were not touched, and that the Service was taken over in place.
func (w leftServer) goesOn(ctx context.Context) {
	GinkgoHelper()
	var pod corev1.Pod
	var conf corev1.ConfigMap
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(w.pod), &pod)).To(Succeed())
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(w.conf), &conf)).To(Succeed())
	Expect(pod.UID).To(Equal(w.pod.UID))
	Expect(pod.ResourceVersion).To(Equal(w.pod.ResourceVersion), "the server is not touched")
	Expect(conf.ResourceVersion).To(Equal(w.conf.ResourceVersion), "it is in use")
	w.sameService(ctx)
}

func (w leftServer) sameService(ctx context.Context) {
	GinkgoHelper()
	after := clientsService(ctx, w.namespace)
	Expect(after.UID).To(Equal(w.service.UID))
	Expect(after.Spec).To(Equal(w.service.Spec), "it leads where it led")
	Expect(after.Labels).To(HaveKeyWithValue(v1beta2.LabelExposes, "connect"))
}

var _ = Describe("Servers that the Kubeflow operator has left", Serial, func() {
	It("go on as they are, and are kept alive from now on", func(ctx SpecContext) {
		const ready, notReady, none = v1alpha1.SparkConnectStateReady, v1alpha1.SparkConnectStateNotReady, v1alpha1.SparkConnectStateNew
		servers := map[string]leftServer{}
		restartOperator(func() {
			servers["Ready"] = leave(ctx, ready, corev1.PodRunning)
			servers["NotReady"] = leave(ctx, notReady, corev1.PodRunning)
			servers["WithoutStatus"] = leave(ctx, none, corev1.PodRunning)
			servers["FailedWhileReady"] = leave(ctx, ready, corev1.PodFailed)
			servers["Failed"] = leave(ctx, notReady, corev1.PodFailed)
			gone := leave(ctx, notReady, corev1.PodRunning)
			Expect(admin.Delete(ctx, gone.pod, client.GracePeriodSeconds(0))).To(Succeed())
			servers["Gone"] = gone
		})
		for name, want := range map[string]v1alpha1.SparkConnectState{"Ready": ready, "NotReady": notReady, "WithoutStatus": ready} {
			By("leaving alone a server that runs: " + name)
			w := servers[name]
			Eventually(func() bool { return notebooks(ctx, w.namespace).Status.Run != nil }, wait, poll).Should(BeTrue(), "it is taken over")
			eventuallyServer(ctx, w.namespace, want)
			Eventually(func() map[string]int { return notebooks(ctx, w.namespace).Status.Executors }, wait, poll).Should(Equal(map[string]int{"running": 1}))
			Consistently(func() []string { return writes.in(w.namespace) }, time.Second, poll).ShouldNot(ContainElement(ContainSubstring("/pods")))
			w.goesOn(ctx)
			Expect(count(writes.in(w.namespace), "DELETE", "")).To(BeZero(), "%v", writes.in(w.namespace))
		}
		for _, name := range []string{"FailedWhileReady", "Failed", "Gone"} {
			By("replacing one that does not run: " + name)
			w := servers[name]
			after := isReady(ctx, w.namespace, w.pod, nil)
			Expect(after.Spec.Containers[0].Command).To(BeEmpty(), "it starts as our servers do")
			w.sameService(ctx)
			var conf corev1.ConfigMap
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(w.conf), &conf)).To(Succeed())
			Expect(conf.Labels).To(HaveKey(v1beta2.LabelSubmissionID), "it is the new attempt's")
		}

		By("following an edit of a server that was taken over")
		w := servers["Ready"]
		editNotebooks(ctx, w.namespace, func(o *v1alpha1.SparkConnect) {
			o.Spec.DrainTimeout, o.Spec.Server.Memory = &metav1.Duration{Duration: time.Second}, new("1g")
		})
		goes(ctx, w.pod)
		isReady(ctx, w.namespace, w.pod, nil)
		w.sameService(ctx)
	})

	It("wait for names that others have, and touch nothing of theirs", func(ctx SpecContext) {
		marks := map[string]string{v1alpha1.LabelConnectName: "notebooks", v1beta2.LabelCreatedBy: "true", v1beta2.LabelLaunchedBy: "true"}
		cases := map[string]struct {
			notOwned  client.Object
			condition string
		}{
			"Service":   {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "notebooks-server"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, "Exposed"},
			"ConfigMap": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "notebooks-conf"}, Data: map[string]string{"executor-pod-template.yaml": "theirs"}}, "Submitted"},
			"Pod":       {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "notebooks-server"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}, "Submitted"},
		}
		for kind, tc := range cases {
			By("meeting a " + kind)
			ns := newNamespace(ctx)
			tc.notOwned.SetNamespace(ns)
			tc.notOwned.SetLabels(marks)
			Expect(admin.Create(ctx, tc.notOwned)).To(Succeed())
			before := tc.notOwned.GetResourceVersion()
			Expect(admin.Create(ctx, connectServer(ns))).To(Succeed())
			Eventually(serverReason(ctx, ns, tc.condition), wait, poll).Should(Equal("NameConflict"), func() string { return fmt.Sprintf("%+v", notebooks(ctx, ns).Status.Conditions) })
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(tc.notOwned), tc.notOwned)).To(Succeed())
			Expect(tc.notOwned.GetResourceVersion()).To(Equal(before), "%v", writes.in(ns))

			By("coming when the name is free")
			Expect(admin.Delete(ctx, tc.notOwned, client.GracePeriodSeconds(0))).To(Succeed())
			Eventually(serverReason(ctx, ns, tc.condition), wait, poll).ShouldNot(Equal("NameConflict"))
			serverPod(ctx, ns, nil)
			Expect(ownedBy(clientsService(ctx, ns), notebooks(ctx, ns))).To(BeTrue())
		}
	})

	It("are kept alive where the operator works, and nowhere else", func(ctx SpecContext) {
		var inside, outside string
		DeferCleanup(func() { restartOperator(func() { extraConfig = "" }) })
		restartOperator(func() {
			extraConfig = "namespaceSelector: servers=yes\n"
			inside, outside = newNamespace(ctx), newNamespace(ctx)
			label(ctx, inside, "yes")
		})
		Expect(admin.Create(ctx, connectServer(inside))).To(Succeed())
		Expect(admin.Create(ctx, connectServer(outside))).To(Succeed())
		isReady(ctx, inside, nil, nil)
		Consistently(func() []string { return writes.in(outside) }, time.Second, poll).Should(BeEmpty())
		label(ctx, outside, "yes")
		isReady(ctx, outside, nil, nil)

		By("leaving a server alone whose namespace is the operator's no more")
		label(ctx, outside, "no")
		Eventually(func(g Gomega) { // it hears of the label a moment later
			before := len(writes.in(outside))
			editNotebooks(ctx, outside, func(o *v1alpha1.SparkConnect) { o.Spec.Suspend = new(!ptr.Deref(o.Spec.Suspend, false)) })
			g.Consistently(func() int { return len(writes.in(outside)) }, time.Second, poll).Should(Equal(before))
		}, wait, poll).Should(Succeed())
	})
})

// label says whether a namespace is one of the operator's servers.
func label(ctx context.Context, namespace, value string) {
	GinkgoHelper()
	change(ctx, admin, "", namespace, func(ns *corev1.Namespace) { ns.Labels["servers"] = value })
}
