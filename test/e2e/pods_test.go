// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// enforceLabel makes a namespace refuse pods that do not keep a level of the pod security standards.
const enforceLabel = "pod-security.kubernetes.io/enforce"

var _ = Describe("A namespace that enforces the restricted pod security standard", func() {
	ctx := context.Background()

	It("refuses a job that does not keep it, and the status says what is missing", func() {
		app := sparkPi(restrictedNamespace(ctx), "careless")
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateFailed)
		Expect(s.AppState.ErrorMessage).To(And(ContainSubstring(`violates PodSecurity "restricted:latest"`), ContainSubstring("runAsNonRoot")))
	})

	DescribeTable("runs a job with templates, init containers and sidecars in both roles, which finds its mounts, its environment and its settings", func(version, image string) {
		app := pythonJob(ctx, restrictedNamespace(ctx), version, image, "look.py")
		looks := request{
			Files:  []string{"/shared/init", "/template/look.py", "/etc/hosts", "/etc/resolv.conf"},
			Writes: []string{"/opt/spark/file", "/shared/file"}, Arrivals: []string{"/shared/native", "/shared/sidecar"},
		}
		templates := map[string]string{"FROM_TEMPLATE": "yes", "NOTE": "from the template: yes", "FROM_FIELD": "12:30"}
		looks.Env = slices.Collect(maps.Keys(templates))
		app.Spec.Volumes = []corev1.Volume{emptyDir("shared"), emptyDir("tmp"), emptyDir("work")}
		for _, pod := range podsIn(app) {
			keepRestricted(pod, image)
		}
		conf, environment := mounts(ctx, app, &looks)
		maps.Copy(environment, templates)
		arguments := app.Spec.Arguments
		app.Spec.Arguments = append([]string{asJSON(looks)}, arguments...)

		s := seen(ctx, app)
		Expect(s.Conf).To(Equal(conf))
		Expect(s.Arguments).To(Equal(arguments))
		for role, saw := range s.roles() {
			By("comparing what the " + role + " saw")
			Expect(saw.Env).To(Equal(environment))
			sawMounts(role, saw)
			sawRestricted(saw)
		}
		Expect(s.Executor.Trees["/scratch"]).To(ContainElement(MatchRegexp(`^shuffle_.*\.data$`)), "the executor shuffles there")
		driver := driverOf(ctx, app)
		Expect(driver.Status.ContainerStatuses).To(ContainElement(And(HaveField("Name", "beside"), HaveField("State.Running", Not(BeNil())))),
			"the sidecar still runs and does not hide that the driver has ended")
	}, onSpark4, onSpark3)
})

// keepRestricted gives a role a template, init containers and a sidecar, all of which keep the standard.
func keepRestricted(pod *v1beta2.SparkPodSpec, image string) {
	pod.Template = template()
	pod.PodSecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](185), RunAsGroup: ptr.To[int64](54321),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod.SecurityContext = restricted()
	pod.VolumeMounts = []corev1.VolumeMount{
		{Name: "shared", MountPath: "/shared"},
		{Name: "tmp", MountPath: "/tmp"},
		{Name: "work", MountPath: "/opt/spark/work-dir"},
	}
	pod.InitContainers = []corev1.Container{
		helper("first", image, "echo from the init container >/shared/init"),
		helper("native", image, lasting("native")),
	}
	pod.InitContainers[1].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	pod.Sidecars = []corev1.Container{helper("beside", image, lasting("sidecar"))}
	pod.Env = []corev1.EnvVar{{Name: "FROM_FIELD", Value: "12:30"}}
	pod.HostAliases = []corev1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"lake.example"}}}
	pod.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: ptr.To("3")}}}
	pod.TerminationGracePeriodSeconds = ptr.To[int64](5)
}

// sawRestricted compares what a role saw with what keepRestricted has given it.
func sawRestricted(saw sight) {
	GinkgoHelper()
	Expect(saw.Files).To(And(
		HaveKeyWithValue("/shared/init", "from the init container\n"),
		HaveKeyWithValue("/template/look.py", ContainSubstring("SEEN")),
		HaveKeyWithValue("/etc/hosts", MatchRegexp(`192\.0\.2\.7\s+lake\.example`)),
		HaveKeyWithValue("/etc/resolv.conf", ContainSubstring("ndots:3")),
	))
	Expect(saw.Arrivals).To(Equal(map[string]string{"/shared/native": "from native\n", "/shared/sidecar": "from sidecar\n"}))
	Expect(saw.Writes).To(Equal(map[string]string{"/opt/spark/file": "Read-only file system", "/shared/file": ""}))
	Expect(saw.Process).To(Equal(map[string]string{
		"Uid": "185 185 185 185", "Gid": "54321 54321 54321 54321",
		"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0000000000000000",
	}))
}

func restrictedNamespace(ctx context.Context) string {
	GinkgoHelper()
	name := newNamespace(ctx, "restricted")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+enforceLabel+`":"restricted"}}}`))
	Expect(admin.Patch(ctx, ns, patch)).To(Succeed())
	return name
}

// restricted is what the standard asks of every container, and a root file system that cannot be written.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// template is a pod template with a part of everything: metadata, an environment that reads it, a volume.
func template() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"example.com/note": "from the template: yes"}},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{Name: "of-template", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "jobs"}},
			}}},
			Containers: []corev1.Container{{
				Name: "spark",
				Env: []corev1.EnvVar{
					{Name: "FROM_TEMPLATE", Value: "yes"},
					{Name: "NOTE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['example.com/note']"}}},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "of-template", MountPath: "/template"}},
			}},
		},
	}
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// helper is a container beside Spark's that runs a line of shell.
func helper(name, image, line string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, Command: []string{"sh", "-c", line}, SecurityContext: restricted(),
		VolumeMounts: []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}},
	}
}

// lasting leaves a file and then stays until it is told to end.
func lasting(name string) string {
	return strings.ReplaceAll("trap exit TERM; echo from NAME >/shared/NAME; sleep infinity & wait", "NAME", name)
}
