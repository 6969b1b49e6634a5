// SPDX-License-Identifier: Apache-2.0

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the variables of the policy add, which the chart's hardened sets.
var _ = Describe("The admission policy for hardened executors", Ordered, func() {
	const image, node = "may not have the image ", "may not reach its node"
	var it bound

	// with is an executor of an image that is allowed, and something else.
	with := func(change func(*corev1.PodSpec)) *corev1.Pod {
		pod := it.executor("x")
		pod.Spec.Containers[0].Image = "registry.example/spark:4.1.4"
		change(&pod.Spec)
		return pod
	}
	context := func(c corev1.SecurityContext) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) { s.Containers[0].SecurityContext = &c }
	}
	volume := func(v corev1.VolumeSource) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) { s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: v}} }
	}
	initContainer := func(c corev1.Container) func(*corev1.PodSpec) {
		c.Name = "init"
		return func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{c} }
	}

	BeforeAll(func(ctx SpecContext) {
		it = bindExecutors(ctx, map[string]string{"images": `["registry.example/spark*", "registry.example/x.y"]`, "hostAccess": "false"})
	})

	DescribeTable("lets pass", func(ctx SpecContext, change func(*corev1.PodSpec)) {
		pod := with(change)
		Expect(it.client.Create(ctx, pod)).To(Succeed())
		Expect(it.client.Patch(ctx, pod, mergePatch(`{"metadata":{"labels":{"spark-exec-inactive":"true"}}}`))).To(Succeed())
		Expect(it.client.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	},
		Entry("a plain executor", func(*corev1.PodSpec) {}),
		Entry("what the standard restricted asks for", func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](185), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
			context(corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}})(s)
		}),
		Entry("a capability that the standard baseline knows", context(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}})),
		Entry("volumes that are not the node's, and ports of its own", func(s *corev1.PodSpec) {
			volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})(s)
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 7079}}
		}),
		Entry("an init container of an image that is allowed", initContainer(corev1.Container{Image: "registry.example/x.y"})),
	)

	DescribeTable("refuses", func(ctx SpecContext, says string, change func(*corev1.PodSpec)) {
		refused(it.client.Create(ctx, with(change)), says)
	},
		Entry("another image", image+"evil; allowed are registry.example/spark*, registry.example/x.y", func(s *corev1.PodSpec) { s.Containers[0].Image = "evil" }),
		Entry("an image that only contains the pattern", image, func(s *corev1.PodSpec) { s.Containers[0].Image = "evil.example/registry.example/spark" }),
		Entry("an image that a dot would match", image, func(s *corev1.PodSpec) { s.Containers[0].Image = "registry.example/xzy" }),
		Entry("an image of an init container", image, initContainer(corev1.Container{Image: "evil"})),
		Entry("an image of a sidecar", image, func(s *corev1.PodSpec) {
			s.Containers = append(s.Containers, corev1.Container{Name: "side", Image: "evil"})
		}),
		Entry("an image volume", image, volume(corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "evil"}})),
		Entry("the node's network", node, func(s *corev1.PodSpec) { s.HostNetwork = true }),
		Entry("the node's processes", node, func(s *corev1.PodSpec) { s.HostPID = true }),
		Entry("the node's memory", node, func(s *corev1.PodSpec) { s.HostIPC = true }),
		Entry("a node of its choice", node, func(s *corev1.PodSpec) { s.NodeName = "control-plane" }),
		Entry("the node's files", node, volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}})),
		Entry("a port of the node", node, func(s *corev1.PodSpec) {
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}),
		Entry("all privileges", node, context(corev1.SecurityContext{Privileged: ptr.To(true)})),
		Entry("all privileges of an init container", node, initContainer(corev1.Container{Image: "registry.example/spark", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}})),
		Entry("a capability", node, context(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}})),
		Entry("every system call", node, context(corev1.SecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}})),
		Entry("every system call of the pod", node, func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}}
		}),
		Entry("no AppArmor", node, context(corev1.SecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}})),
		Entry("another SELinux type", node, context(corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Type: "spc_t"}})),
		Entry("a sysctl", node, func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}}
		}),
		Entry("the node's /proc", node, func(s *corev1.PodSpec) {
			s.HostUsers = ptr.To(false) // else the API server refuses it itself
			context(corev1.SecurityContext{ProcMount: ptr.To(corev1.UnmaskedProcMount)})(s)
		}),
		Entry("someone else's rights", "may not have the service account powerful", func(s *corev1.PodSpec) { s.ServiceAccountName = "powerful" }),
	)

	It("holds the images of what runs, too", func(ctx SpecContext) {
		pod := with(func(*corev1.PodSpec) {})
		Expect(it.client.Create(ctx, pod)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed()) })
		swap := client.RawPatch("application/strategic-merge-patch+json", []byte(`{"spec":{"containers":[{"name":"c","image":"evil"}]}}`))
		refused(it.client.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, swap), "neither images nor owners nor finalizers")
	})
})
