// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// application is what is changed.
type application = v1beta2.SparkApplication

// texts are values that people, editors and templates produce.
var texts = []string{"", "a", "A", "a b", "a.b", "a/b", "-", "1", "0", "ä", "a=b", "a:b", strings.Repeat("x", 64), "${x}", "line\nline", "{{APP_ID}}", "x-y"}

var changes = []func(*rand.Rand, *application){
	func(r *rand.Rand, o *application) {
		one(r, o).Memory = ptr.To(pick(r, "1g", "512m", "2048", "2Gi", "", "1.5g", "1t", "0g", "1gb"))
	},
	func(r *rand.Rand, o *application) {
		one(r, o).MemoryOverhead = ptr.To(pick(r, "1g", "0", "-1m", "10", "512Mi", "x"))
	},
	func(r *rand.Rand, o *application) {
		one(r, o).MemoryLimit = ptr.To(pick(r, "1g", "8g", "8Gi", "100", "x", "-1", "0"))
	},
	func(r *rand.Rand, o *application) {
		o.Spec.MemoryOverheadFactor = ptr.To(pick(r, "0.1", "0", "1", "-1", "x", "NaN"))
	},
	func(r *rand.Rand, o *application) { one(r, o).Cores = ptr.To(pick[int32](r, 1, 2, 0, -1)) },
	func(r *rand.Rand, o *application) {
		one(r, o).CoreLimit = ptr.To(pick(r, "1", "2", "500m", "x", "0", "1e3", ""))
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Driver.CoreRequest = ptr.To(pick(r, "1", "100m", "x", "0.0001", "1e99"))
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Executor.CoreRequest = ptr.To(pick(r, "1", "100m", "3", "-1"))
	},
	func(r *rand.Rand, o *application) {
		one(r, o).GPU = &v1beta2.GPUSpec{Name: pick(r, "nvidia.com/gpu", "gpu", "", "a b/c", "kubernetes.io/x"), Quantity: pick[int64](r, 1, 0, -1)}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Image = ptr.To(pick(r, "spark", "", " spark ", "r:5000/a/b:c"))
	},
	func(r *rand.Rand, o *application) {
		one(r, o).ConfigMaps = append(one(r, o).ConfigMaps, v1beta2.NamePath{Name: pick(r, "settings", "my.settings", strings.Repeat("s", 80), "A b", ""), Path: pick(r, "/settings", "/data", "", "rel", "/a:b")})
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Secrets = append(one(r, o).Secrets, v1beta2.SecretInfo{Name: pick(r, "token", "my.token", strings.Repeat("t", 60), "B"), Path: pick(r, "/token", "/data"), SecretType: pick[v1beta2.SecretType](r, "Generic", "GCPServiceAccount", "HadoopDelegationToken", "x")})
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Env = append(one(r, o).Env, corev1.EnvVar{Name: pick(r, texts...), Value: pick(r, texts...)})
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Env = []corev1.EnvVar{{Name: "E", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: pick(r, "s", "")}, Key: pick(r, texts...)}}}}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).EnvVars = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).EnvSecretKeyRefs = map[string]v1beta2.NameKey{pick(r, texts...): {Name: pick(r, "s", "", "A"), Key: pick(r, texts...)}}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).EnvFrom = []corev1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Labels = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		o.Labels = map[string]string{pick(r, "team", "spark-role", "example.org/a"): pick(r, "a", "b")}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Annotations = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Driver.ServiceLabels = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Driver.ServiceAnnotations = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.NodeSelector = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).NodeSelector = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).ServiceAccount = ptr.To(pick(r, "spark", "", "A", "a.b", "a b"))
	},
	func(r *rand.Rand, o *application) { o.Spec.Driver.Ports = ports(r) },
	func(r *rand.Rand, o *application) { o.Spec.Executor.Ports = ports(r) },
	func(r *rand.Rand, o *application) { one(r, o).HostNetwork = ptr.To(true) },
	func(r *rand.Rand, o *application) { one(r, o).ShareProcessNamespace = ptr.To(true) },
	func(r *rand.Rand, o *application) {
		one(r, o).TerminationGracePeriodSeconds = ptr.To(pick[int64](r, 0, 30, 3600))
	},
	func(r *rand.Rand, o *application) {
		one(r, o).DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"10.0.0.10"}, Searches: []string{"example.org"}}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).HostAliases = []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"db.example.org"}}}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).SecurityContext = &corev1.SecurityContext{RunAsNonRoot: ptr.To(true), Privileged: ptr.To(pick(r, true, false))}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).PodSecurityContext = &corev1.PodSecurityContext{FSGroup: ptr.To[int64](185), RunAsUser: ptr.To[int64](185)}
	},
	func(r *rand.Rand, o *application) {
		one(r, o).Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname"}}}}}
	},
	func(r *rand.Rand, o *application) { p := one(r, o); p.Sidecars = append(p.Sidecars, container(r)) },
	func(r *rand.Rand, o *application) {
		p := one(r, o)
		p.InitContainers = append(p.InitContainers, container(r))
	},
	func(r *rand.Rand, o *application) { mount(r, o, one(r, o)) },
	func(r *rand.Rand, o *application) { mount(r, o, one(r, o)) },
	func(r *rand.Rand, o *application) { mount(r, o, one(r, o)) },
	func(r *rand.Rand, o *application) { one(r, o).Template = template(r) },
	func(r *rand.Rand, o *application) { one(r, o).Template = template(r) },
	func(r *rand.Rand, o *application) {
		hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}}}
		o.Spec.Driver.Lifecycle, o.Spec.Executor.Lifecycle = hook, hook
	},
	func(r *rand.Rand, o *application) { o.Spec.Driver.PriorityClassName = ptr.To("system-node-critical") },
	func(r *rand.Rand, o *application) {
		o.Spec.Driver.PodName = ptr.To(pick(r, "my-driver", "my.driver", "My", strings.Repeat("d", 70), strings.Repeat("d", 254)))
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Driver.JavaOptions = ptr.To(pick(r, "-Da=b", "-Xmx1g", "-Da=\"b c\"\n"))
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Driver.KubernetesMaster = ptr.To(pick(r, "https://10.0.0.1", "x"))
	},
	func(r *rand.Rand, o *application) { o.Spec.Executor.Instances = ptr.To(pick[int32](r, 1, 3, 0, -1)) },
	func(r *rand.Rand, o *application) { o.Spec.Executor.DeleteOnTermination = ptr.To(false) },
	func(r *rand.Rand, o *application) {
		o.Spec.SparkConfigMap, o.Spec.HadoopConfigMap = ptr.To("sc"), ptr.To("hc")
	},
	func(r *rand.Rand, o *application) {
		o.Spec.HadoopConf = map[string]string{pick(r, texts...): pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) { o.Spec.Arguments = []string{pick(r, texts...), pick(r, texts...)} },
	func(r *rand.Rand, o *application) {
		o.Spec.ImagePullPolicy = ptr.To(pick(r, "Always", "Never", "always", ""))
	},
	func(r *rand.Rand, o *application) { o.Spec.ImagePullSecrets = []string{pick(r, "a", "a b", "")} },
	func(r *rand.Rand, o *application) { o.Spec.ProxyUser = ptr.To(pick(r, texts...)) },
	func(r *rand.Rand, o *application) { o.Spec.PythonVersion = ptr.To(pick(r, "2", "3")) },
	func(r *rand.Rand, o *application) {
		o.Spec.MainApplicationFile = ptr.To(pick(r, "local:///a.py", "s3a://b/a.jar", "/a.py", "a.R", "spark-internal", "http://x/a.jar?b=c"))
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Deps.Jars = []string{pick(r, "local:///a.jar", "/a.jar", "s3a://b/*.jar", "", "http://x/a.jar")}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Deps.Packages, o.Spec.Deps.PyFiles = []string{"g:a:1"}, []string{"s3a://b/a.zip"}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, MinExecutors: ptr.To(pick[int32](r, 0, 1, -1)), InitialExecutors: ptr.To(pick[int32](r, 0, 2, 9)), MaxExecutors: ptr.To(pick[int32](r, 3, 0, 1))}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: pick(r, true, false), ExposeExecutorMetrics: pick(r, true, false)}
		if pick(r, true, false) {
			o.Spec.Monitoring.Prometheus = &v1beta2.PrometheusSpec{JmxExporterJar: "/jmx.jar", PortName: ptr.To(pick(r, "prom", "spark-ui", "a-name-that-is-too-long")), Port: ptr.To(pick[int32](r, 8090, 4040))}
		}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.SparkConf = map[string]string{"spark.ui.port": pick(r, "4040", "0", "7078", "x", "70000"), "spark.driver.port": pick(r, "7078", "7079", "-1")}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.SparkConf = map[string]string{"spark.mine": pick(r, texts...), pick(r, texts...): "x", "spark.kubernetes.driver.label.mine": pick(r, texts...)}
	},
	func(r *rand.Rand, o *application) {
		const p = "spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-1."
		o.Spec.SparkConf = map[string]string{p + "options.claimName": pick(r, "OnDemand", "mine", "A B"), p + "mount.path": pick(r, "/tmp/x", "/data"), p + "options.storageClass": "fast", p + "options.sizeLimit": pick(r, "1Gi", "5", "x", "-1Gi")}
	},
	func(r *rand.Rand, o *application) {
		const p = "spark.kubernetes.executor.volumes.emptyDir.scratch."
		o.Spec.SparkConf = map[string]string{p + "mount.path": pick(r, "/tmp/x", "/data"), p + "options.sizeLimit": pick(r, "1Gi", "x")}
	},
	func(r *rand.Rand, o *application) {
		o.Spec.SparkConf = map[string]string{"spark.driver.resource.gpu.amount": pick(r, "1", "0", "x"), "spark.driver.resource.gpu.vendor": pick(r, "nvidia.com", "a b")}
	},
	func(r *rand.Rand, o *application) { o.Name = pick(r, strings.Repeat("n", 63), "9lives", "a.b", "x") },
}

func ports(r *rand.Rand) []v1beta2.Port {
	var out []v1beta2.Port
	for range 1 + r.IntN(2) {
		out = append(out, v1beta2.Port{Name: pick(r, "http", "debug", "spark-ui", "Http", "", "99"), Protocol: pick(r, "TCP", "UDP", "tcp", ""), ContainerPort: pick[int32](r, 80, 4040, 5005, 0, 70000)})
	}
	return out
}

func container(r *rand.Rand) corev1.Container {
	c := corev1.Container{Name: pick(r, "log", "proxy", "spark-kubernetes-driver", "A", "log2"), Image: pick(r, "log:1", "log:2", "log:3", "")}
	if pick(r, true, false) {
		c.VolumeMounts = []corev1.VolumeMount{{Name: pick(r, "data", "spark-local-dir-1", "nope"), MountPath: "/data"}}
	}
	if pick(r, true, false) {
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(pick(r, "10m", "2"))}
		c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("64Mi")}
	}
	return c
}

func mount(r *rand.Rand, o *application, p *v1beta2.SparkPodSpec) {
	name := pick(r, "data", "spark-local-dir-1", "claim", "scratch", "Bad_Name")
	v := emptyDir(name)
	switch r.IntN(5) {
	case 0:
		v.VolumeSource = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}
	case 1:
		v.VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}}
	case 2:
		v.VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		}}}}
	}
	if r.IntN(8) > 0 {
		o.Spec.Volumes = append(o.Spec.Volumes, v)
	}
	p.VolumeMounts = append(p.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: pick(r, "/data", "/scratch", "/more", "", "/opt/spark/conf"), SubPath: pick(r, "", "", "a", "../a", "/a")})
}

func template(r *rand.Rand) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Labels = map[string]string{"from": pick(r, "template", "a b"), "spark-role": "x"}
	t.Namespace, t.Name = pick(r, "", "other"), "template"
	t.Spec.RestartPolicy = corev1.RestartPolicyAlways
	t.Spec.ServiceAccountName = pick(r, "", "own", "A")
	for _, name := range []string{"spark-kubernetes-driver", "log", "spark-kubernetes-executor"}[r.IntN(3):] {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: name, Image: pick(r, "own", ""), Ports: []corev1.ContainerPort{{ContainerPort: pick[int32](r, 81, 4040, 0)}}})
	}
	return t
}
