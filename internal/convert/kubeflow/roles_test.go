// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// roleUnderTest is one of the two roles, with the names of its properties spelled out as Spark documents them.
type roleUnderTest struct {
	field string
	pod   func(*spec) *v1beta2.SparkPodSpec
	model func(spark.Application) spark.Role
	// conf is the prefix spark.<role>., k8s the prefix spark.kubernetes.<role>., env that of environment variables.
	conf, k8s, env, account string
	// limit is what becomes of a memoryLimit of 2g.
	limit string
}

var (
	driverUnderTest = roleUnderTest{
		field: "driver", limit: "2Gi", conf: "spark.driver.", k8s: "spark.kubernetes.driver.", env: "spark.kubernetes.driverEnv.",
		account: "spark.kubernetes.authenticate.driver.serviceAccountName",
		pod:     func(s *spec) *v1beta2.SparkPodSpec { return &s.Driver.SparkPodSpec },
		model:   func(a spark.Application) spark.Role { return a.Driver },
	}
	executorUnderTest = roleUnderTest{
		field: "executor", conf: "spark.executor.", k8s: "spark.kubernetes.executor.", env: "spark.executorEnv.",
		account: "spark.kubernetes.authenticate.executor.serviceAccountName",
		pod:     func(s *spec) *v1beta2.SparkPodSpec { return &s.Executor.SparkPodSpec },
		model:   func(a spark.Application) spark.Role { return a.Executor },
	}
)

func bothRoles(pick func(spark.PodOverlay) any) func(spark.Application) any {
	return func(a spark.Application) any { return [2]any{pick(a.Driver.Overlay), pick(a.Executor.Overlay)} }
}

// mountedAt lists mounted ConfigMaps as "volume/map path variable".
func mountedAt(o spark.PodOverlay) any {
	var out []string
	for i, m := range o.VolumeMounts {
		text := m.Name + "/" + o.Volumes[i].ConfigMap.Name + " " + m.MountPath
		for _, e := range o.Env {
			if e.Value == m.MountPath {
				text += " " + e.Name
			}
		}
		out = append(out, text)
	}
	return out
}

// podCases are the fields that both roles have.
func podCases(r roleUnderTest) map[string]fieldCase {
	type pod = v1beta2.SparkPodSpec
	cases := map[string]fieldCase{}
	conf := func(name, reason string, set func(*pod), want props) {
		c := fieldCase{reason: reason, set: func(s *spec) { set(r.pod(s)) }, conf: want}
		if len(want) == 1 {
			c.origin = "spec." + r.field + "." + name
		}
		cases[r.field+"."+name] = c
	}
	keyed := func(name, key, reason string, set func(*pod), want props) {
		conf(name, reason, set, want)
		c := cases[r.field+"."+name]
		c.origin = "spec." + r.field + "." + name + `["` + key + `"]`
		cases[r.field+"."+name] = c
	}
	overlay := func(name, reason string, set func(*pod), pick func(spark.PodOverlay) any, want any) {
		cases[r.field+"."+name] = fieldCase{
			reason: reason, set: func(s *spec) { set(r.pod(s)) }, want: want,
			model: func(a spark.Application) any { return pick(r.model(a).Overlay) },
		}
	}
	conf("cores", "task slots", func(p *pod) { p.Cores = new(int32(3)) }, props{r.conf + "cores": "3"})
	conf("coreLimit", "CPU limit", func(p *pod) { p.CoreLimit = new("1200m") }, props{r.k8s + "limit.cores": "1200m"})
	conf("memory", "heap", func(p *pod) { p.Memory = new("3g") }, props{r.conf + "memory": "3g"})
	conf("memoryOverhead", "beside the heap", func(p *pod) { p.MemoryOverhead = new("700m") }, props{r.conf + "memoryOverhead": "700m"})
	conf("image", "the role's own image", func(p *pod) { p.Image = new("own") }, props{r.k8s + "container.image": "own"})
	conf("serviceAccount", "the role's rights", func(p *pod) { p.ServiceAccount = new("spark") }, props{r.account: "spark"})
	keyed("labels", "team", "pod labels", func(p *pod) { p.Labels = props{"team": "a"} }, props{r.k8s + "label.team": "a"})
	keyed("annotations", "note", "pod annotations", func(p *pod) { p.Annotations = props{"note": "b"} }, props{r.k8s + "annotation.note": "b"})
	keyed("envVars", "A", "Spark's own way to set variables", func(p *pod) { p.EnvVars = props{"A": "1"} }, props{r.env + "A": "1"})
	keyed("envSecretKeyRefs", "PW", "name and key with a colon", func(p *pod) { p.EnvSecretKeyRefs = map[string]v1beta2.NameKey{"PW": {Name: "s", Key: "k"}} }, props{r.k8s + "secretKeyRef.PW": "s:k"})
	conf("secrets", "mounted, and announced by type", func(p *pod) {
		p.Secrets = []v1beta2.SecretInfo{{Name: "gcp", Path: "/mnt/gcp/", SecretType: v1beta2.SecretTypeGCPServiceAccount}, {Name: "hdt", Path: "/mnt/hdt", SecretType: v1beta2.SecretTypeHadoopDelegationToken}, {Name: "any", Path: "/mnt/any", SecretType: "Whatever"}}
	}, props{
		r.k8s + "secrets.gcp": "/mnt/gcp/", r.env + "GOOGLE_APPLICATION_CREDENTIALS": "/mnt/gcp/key.json",
		r.k8s + "secrets.hdt": "/mnt/hdt", r.env + "HADOOP_TOKEN_FILE_LOCATION": "/mnt/hdt/hadoop.token",
		r.k8s + "secrets.any": "/mnt/any",
	})

	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "n1"}}
	cases[r.field+".template"] = fieldCase{
		reason: "where Spark starts from", set: func(s *spec) { r.pod(s).Template = template },
		model: func(a spark.Application) any { return r.model(a).Template }, want: template,
	}
	if r.limit == "" {
		overlay("memoryLimit", "Java's g is Gi, and Spark overwrites it in executors: admission goes by the annotation", func(p *pod) { p.MemoryLimit = new("2g") },
			func(o spark.PodOverlay) any { return o.Annotations["firesteel.dev/memory-limit"] + limitText(o) }, "2Gi")
	} else {
		overlay("memoryLimit", "Java's g is Gi, and Spark overwrites it in executors", func(p *pod) { p.MemoryLimit = new("2g") }, func(o spark.PodOverlay) any { return limitText(o) }, r.limit)
	}
	overlay("gpu", "an extended resource has a limit only", func(p *pod) { p.GPU = &v1beta2.GPUSpec{Name: "nvidia.com/gpu", Quantity: 2} }, func(o spark.PodOverlay) any { return o.Limits }, corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")})
	overlay("configMaps", "a volume each", func(p *pod) { p.ConfigMaps = []v1beta2.NamePath{{Name: "cm", Path: "/cm"}, {Name: "cn", Path: "/cn"}} }, mountedAt, []string{"cm-vol/cm /cm", "cn-vol/cn /cn"})
	env := []corev1.EnvVar{{Name: "B", Value: "2"}, {Name: "A", Value: "1"}}
	overlay("env", "in their order", func(p *pod) { p.Env = env }, func(o spark.PodOverlay) any { return o.Env }, env)
	from := []corev1.EnvFromSource{{Prefix: "P_"}}
	overlay("envFrom", "as it is", func(p *pod) { p.EnvFrom = from }, func(o spark.PodOverlay) any { return o.EnvFrom }, from)
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	overlay("affinity", "as it is", func(p *pod) { p.Affinity = affinity }, func(o spark.PodOverlay) any { return o.Affinity }, affinity)
	tolerations := []corev1.Toleration{{Key: "spot"}}
	overlay("tolerations", "as they are", func(p *pod) { p.Tolerations = tolerations }, func(o spark.PodOverlay) any { return o.Tolerations }, tolerations)
	podContext := &corev1.PodSecurityContext{FSGroup: new(int64(185))}
	overlay("podSecurityContext", "as it is", func(p *pod) { p.PodSecurityContext = podContext }, func(o spark.PodOverlay) any { return o.PodSecurityContext }, podContext)
	security := &corev1.SecurityContext{RunAsNonRoot: new(true)}
	overlay("securityContext", "as it is", func(p *pod) { p.SecurityContext = security }, func(o spark.PodOverlay) any { return o.SecurityContext }, security)
	overlay("schedulerName", "as it is", func(p *pod) { p.SchedulerName = new("mine") }, func(o spark.PodOverlay) any { return o.SchedulerName }, "mine")
	sidecars := []corev1.Container{{Name: "log", Image: "fluent"}}
	overlay("sidecars", "as they are", func(p *pod) { p.Sidecars = sidecars }, func(o spark.PodOverlay) any { return o.Sidecars }, sidecars)
	overlay("initContainers", "as they are", func(p *pod) { p.InitContainers = sidecars }, func(o spark.PodOverlay) any { return o.InitContainers }, sidecars)
	overlay("hostNetwork", "a choice", func(p *pod) { p.HostNetwork = new(true) }, func(o spark.PodOverlay) any { return o.HostNetwork }, true)
	overlay("nodeSelector", "of this role only", func(p *pod) { p.NodeSelector = props{"pool": "a"} }, func(o spark.PodOverlay) any { return o.NodeSelector }, props{"pool": "a"})
	dns := &corev1.PodDNSConfig{Nameservers: []string{"10.0.0.10"}}
	overlay("dnsConfig", "as it is", func(p *pod) { p.DNSConfig = dns }, func(o spark.PodOverlay) any { return o.DNSConfig }, dns)
	overlay("terminationGracePeriodSeconds", "0 is a number", func(p *pod) { p.TerminationGracePeriodSeconds = new(int64(0)) }, func(o spark.PodOverlay) any { return o.TerminationGracePeriodSeconds }, new(int64(0)))
	aliases := []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"db"}}}
	overlay("hostAliases", "as they are", func(p *pod) { p.HostAliases = aliases }, func(o spark.PodOverlay) any { return o.HostAliases }, aliases)
	overlay("shareProcessNamespace", "a choice", func(p *pod) { p.ShareProcessNamespace = new(true) }, func(o spark.PodOverlay) any { return o.ShareProcessNamespace }, true)
	cases[r.field+".volumeMounts"] = fieldCase{
		reason: "each names one of spec.volumes", want: []corev1.VolumeMount{{Name: "data", MountPath: "/d", ReadOnly: true}},
		set: func(s *spec) {
			s.Volumes = []corev1.Volume{volume("data", corev1.VolumeSource{})}
			r.pod(s).VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/d", ReadOnly: true}}
		},
		model: func(a spark.Application) any { return r.model(a).Overlay.VolumeMounts },
	}
	return cases
}

func limitText(o spark.PodOverlay) string {
	if o.MemoryLimit == nil {
		return ""
	}
	return o.MemoryLimit.String()
}

var (
	somePorts = []v1beta2.Port{{Name: "http", Protocol: "TCP", ContainerPort: 8090}}
	wantPorts = []corev1.ContainerPort{{Name: "http", Protocol: corev1.ProtocolTCP, ContainerPort: 8090}}
	someHook  = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "1"}}}}
)

func driverCases() map[string]fieldCase {
	all := podCases(driverUnderTest)
	overlay := func(a spark.Application) spark.PodOverlay { return a.Driver.Overlay }
	for name, c := range map[string]fieldCase{
		"podName": {reason: "the operator owns the name, the user may choose it", set: func(s *spec) { s.Driver.PodName = new("mine") },
			model: func(a spark.Application) any { return a.OperatorConf[spark.ConfDriverPodName] }, want: "mine"},
		"coreRequest":        {reason: "CPU request", set: func(s *spec) { s.Driver.CoreRequest = new("500m") }, conf: props{"spark.kubernetes.driver.request.cores": "500m"}, origin: "spec.driver.coreRequest"},
		"javaOptions":        {reason: "options of the JVM", set: func(s *spec) { s.Driver.JavaOptions = new("-Da=b") }, conf: props{"spark.driver.extraJavaOptions": "-Da=b"}, origin: "spec.driver.javaOptions"},
		"kubernetesMaster":   {reason: "how the driver reaches the API server", set: func(s *spec) { s.Driver.KubernetesMaster = new("https://10.0.0.1") }, conf: props{"spark.kubernetes.driver.master": "https://10.0.0.1"}, origin: "spec.driver.kubernetesMaster"},
		"serviceAnnotations": {reason: "of the headless Service", set: func(s *spec) { s.Driver.ServiceAnnotations = props{"a": "b"} }, conf: props{"spark.kubernetes.driver.service.annotation.a": "b"}, origin: `spec.driver.serviceAnnotations["a"]`},
		"serviceLabels":      {reason: "of the headless Service", set: func(s *spec) { s.Driver.ServiceLabels = props{"a": "b"} }, conf: props{"spark.kubernetes.driver.service.label.a": "b"}, origin: `spec.driver.serviceLabels["a"]`},
		"lifecycle":          {reason: "hooks", set: func(s *spec) { s.Driver.Lifecycle = someHook }, model: func(a spark.Application) any { return overlay(a).Lifecycle }, want: someHook},
		"ports":              {reason: "further ports", set: func(s *spec) { s.Driver.Ports = somePorts }, model: func(a spark.Application) any { return overlay(a).Ports }, want: wantPorts},
		"priorityClassName":  {reason: "the pod's own", set: func(s *spec) { s.Driver.PriorityClassName = new("high") }, model: func(a spark.Application) any { return overlay(a).PriorityClassName }, want: "high"},
	} {
		all["driver."+name] = c
	}
	return all
}

func executorCases() map[string]fieldCase {
	all := podCases(executorUnderTest)
	overlay := func(a spark.Application) spark.PodOverlay { return a.Executor.Overlay }
	for name, c := range map[string]fieldCase{
		"instances":           {reason: "how many", set: func(s *spec) { s.Executor.Instances = new(int32(7)) }, conf: props{"spark.executor.instances": "7"}, origin: "spec.executor.instances"},
		"coreRequest":         {reason: "CPU request", set: func(s *spec) { s.Executor.CoreRequest = new("500m") }, conf: props{"spark.kubernetes.executor.request.cores": "500m"}, origin: "spec.executor.coreRequest"},
		"javaOptions":         {reason: "options of the JVM", set: func(s *spec) { s.Executor.JavaOptions = new("-Da=b") }, conf: props{"spark.executor.extraJavaOptions": "-Da=b"}, origin: "spec.executor.javaOptions"},
		"deleteOnTermination": {reason: "false is a choice", set: func(s *spec) { s.Executor.DeleteOnTermination = new(false) }, conf: props{"spark.kubernetes.executor.deleteOnTermination": "false"}, origin: "spec.executor.deleteOnTermination"},
		"lifecycle":           {reason: "hooks", set: func(s *spec) { s.Executor.Lifecycle = someHook }, model: func(a spark.Application) any { return overlay(a).Lifecycle }, want: someHook},
		"ports":               {reason: "further ports", set: func(s *spec) { s.Executor.Ports = somePorts }, model: func(a spark.Application) any { return overlay(a).Ports }, want: wantPorts},
		"priorityClassName":   {reason: "the pods' own", set: func(s *spec) { s.Executor.PriorityClassName = new("low") }, model: func(a spark.Application) any { return overlay(a).PriorityClassName }, want: "low"},
	} {
		all["executor."+name] = c
	}
	return all
}

// A role is not laid over the other one.
func TestRolesAreSeparate(t *testing.T) {
	for _, r := range []struct{ set, other roleUnderTest }{{driverUnderTest, executorUnderTest}, {executorUnderTest, driverUnderTest}} {
		o := testutil.Pi()
		p := r.set.pod(&o.Spec)
		p.Memory, p.Labels, p.NodeSelector = new("9g"), props{"team": "a"}, props{"pool": "a"}
		app := normalize(t, o)
		if _, set := app.Conf[r.other.conf+"memory"]; set {
			t.Errorf("memory of the %s reached the %s", r.set.field, r.other.field)
		}
		if _, set := app.Conf[r.other.k8s+"label.team"]; set {
			t.Errorf("labels of the %s reached the %s", r.set.field, r.other.field)
		}
		if len(r.other.model(app).Overlay.NodeSelector) != 0 {
			t.Errorf("the node selector of the %s reached the %s", r.set.field, r.other.field)
		}
	}
}
