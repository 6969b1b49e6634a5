// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	launchedBy  = "sparkoperator.k8s.io/launched-by-spark-operator"
	connectName = "sparkoperator.k8s.io/connect-name"
)

// connectServerApp is a Spark Connect server as the operator would describe it, with nothing that it can do without.
func connectServerApp() Application {
	return Application{
		Namespace: "jobs", Name: "sc", UID: "7b0f0a52-0000-4000-8000-000000000001", SparkVersion: "4.1.4",
		MainFile: NoResource, MainClass: "org.apache.spark.sql.connect.service.SparkConnectServer",
		Conf: map[string]string{ConfImage: "spark:4.1.4"},
		OperatorConf: map[string]string{
			ConfMaster: "k8s://https://kubernetes.default.svc", ConfDeployMode: "client", ConfAppName: "sc", ConfNamespace: "jobs",
			ConfDriverPodName:                      "sc-server",
			ConfDriverLabelPrefix + launchedBy:     "true",
			ConfDriverLabelPrefix + connectName:    "sc",
			ConfExecutorLabelPrefix + launchedBy:   "true",
			ConfExecutorLabelPrefix + connectName:  "sc",
			ConfDriverLabelPrefix + "of-object":    "x",
			ConfExecutorLabelPrefix + "of-object":  "x",
			ConfServiceLabelPrefix + "not-theirs":  "x",
			"spark.kubernetes.driverEnv.UNRELATED": "x",
		},
		Submitter: Submitter{User: "spark"},
		Server:    &Server{TemplateMap: "sc-conf", Labels: map[string]string{connectName: "sc"}},
	}
}

// fieldOfServer is one field of section 4 of what Kubeflow's operator makes of a SparkConnect.
type fieldOfServer struct {
	field  string
	theirs any
	got    func(*serverObjects) any
	// ours and why are set where the difference is on purpose.
	ours any
	why  string
}

// serverObjects are the objects that the fields are looked up in.
type serverObjects struct {
	Submission
	pod       *corev1.Pod
	container *corev1.Container
	templates *corev1.ConfigMap
}

func (o *serverObjects) env(name string) any {
	for _, e := range o.container.Env {
		if e.Name != name {
			continue
		}
		if e.ValueFrom != nil {
			return e.ValueFrom.FieldRef.FieldPath
		}
		return e.Value
	}
	return "unset"
}

func (o *serverObjects) property(name string) any {
	if value, ok := o.Properties[name]; ok {
		return value
	}
	return "unset"
}

func property(name string) func(*serverObjects) any {
	return func(o *serverObjects) any { return o.property(name) }
}

// serverFields are all fields of the ConfigMap, the pod and the command line. The Service is made by package exposure, which compares it.
var serverFields = []fieldOfServer{
	{field: "ConfigMap name", theirs: "sc-conf", got: func(o *serverObjects) any { return o.templates.Name }},
	{field: "ConfigMap label connect-name", theirs: "sc", got: func(o *serverObjects) any { return o.templates.Labels[connectName] }},
	{field: "ConfigMap key", theirs: "null\n", got: func(o *serverObjects) any { return o.templates.Data["executor-pod-template.yaml"] }},
	{field: "ConfigMap can be changed", theirs: true, got: func(o *serverObjects) any { return o.templates.Immutable == nil }},
	{field: "pod name", theirs: "sc-server", got: func(o *serverObjects) any { return o.pod.Name }},
	{field: "container name", theirs: "spark-kubernetes-driver", got: func(o *serverObjects) any { return o.container.Name }},
	{field: "image", theirs: "spark:4.1.4", got: func(o *serverObjects) any { return o.container.Image }},
	{
		field: "command", theirs: []string{"bash", "-c"}, got: func(o *serverObjects) any { return o.container.Command },
		ours: []string(nil), why: "the image's entrypoint starts Spark, as for every other driver; no text goes through a shell",
	},
	{
		field: "args", theirs: []string{"${SPARK_HOME}/sbin/start-connect-server.sh ..."}, got: func(o *serverObjects) any { return o.container.Args },
		ours: []string{
			"driver", "--properties-file", "/opt/spark/conf/spark.properties",
			"--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
		},
		why: "the script starts this class by spark-submit, too; properties are in a file, where nothing has to be quoted",
	},
	{field: "startup probe", theirs: &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(15002)}},
		InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 30,
	}, got: func(o *serverObjects) any { return o.container.StartupProbe }},
	{field: "readiness probe", theirs: &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(15002)}},
		PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3,
	}, got: func(o *serverObjects) any { return o.container.ReadinessProbe }},
	{field: "liveness probe", theirs: (*corev1.Probe)(nil), got: func(o *serverObjects) any { return o.container.LivenessProbe }},
	{field: "POD_IP", theirs: "status.podIP", got: func(o *serverObjects) any { return o.env("POD_IP") }},
	{field: "SPARK_NO_DAEMONIZE", theirs: "true", got: func(o *serverObjects) any { return o.env("SPARK_NO_DAEMONIZE") }},
	{field: "volume of the template", theirs: "sc-conf", got: func(o *serverObjects) any {
		for _, v := range o.pod.Spec.Volumes {
			if v.Name == "spark-conf" {
				return v.ConfigMap.Name
			}
		}
		return "none"
	}},
	{field: "mount of the template", theirs: corev1.VolumeMount{
		Name: "spark-conf", MountPath: "/tmp/spark/executor-pod-template.yaml", SubPath: "executor-pod-template.yaml", ReadOnly: true,
	}, got: func(o *serverObjects) any {
		for _, m := range o.container.VolumeMounts {
			if m.Name == "spark-conf" {
				return m
			}
		}
		return "none"
	}},
	{
		field: "lifecycle", theirs: "preStop: ${SPARK_HOME}/sbin/stop-connect-server.sh", got: func(o *serverObjects) any { return o.container.Lifecycle },
		ours: (*corev1.Lifecycle)(nil), why: "Spark stops by the signal that the kubelet sends; a hook of the template is kept instead of being replaced",
	},
	{field: "label launched-by", theirs: "true", got: func(o *serverObjects) any { return o.pod.Labels[launchedBy] }},
	{field: "label connect-name", theirs: "sc", got: func(o *serverObjects) any { return o.pod.Labels[connectName] }},
	{field: "label spark-role", theirs: "connect-server", got: func(o *serverObjects) any { return o.pod.Labels[LabelRole] }},
	{field: "label spark-version", theirs: "4.1.4", got: func(o *serverObjects) any { return o.pod.Labels[LabelVersion] }},
	{
		field: "resources", theirs: corev1.ResourceList{}, got: func(o *serverObjects) any { return o.container.Resources.Limits },
		ours: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1408Mi")},
		why:  "a server without limits is the first that a node kills; what the template names is kept",
	},
	{
		field: "restart policy", theirs: corev1.RestartPolicyAlways, got: func(o *serverObjects) any { return o.pod.Spec.RestartPolicy },
		ours: corev1.RestartPolicyNever, why: "the operator replaces the pod; a container restarted in place meets its own executors' names",
	},
	{
		field: "spark.master", theirs: "k8s://https://<host>:<port>", got: property("spark.master"),
		ours: "k8s://https://kubernetes.default.svc", why: "the name in the API server's certificate, instead of what the kubelet puts into variables",
	},
	{field: "spark.kubernetes.namespace", theirs: "jobs", got: property("spark.kubernetes.namespace")},
	{field: "spark.kubernetes.container.image", theirs: "spark:4.1.4", got: property("spark.kubernetes.container.image")},
	{field: "driver label launched-by", theirs: "true", got: property("spark.kubernetes.driver.label." + launchedBy)},
	{field: "driver label connect-name", theirs: "sc", got: property("spark.kubernetes.driver.label." + connectName)},
	{field: "driver label of the object", theirs: "x", got: property("spark.kubernetes.driver.label.of-object")},
	{
		field: "spark.driver.bindAddress", theirs: "0.0.0.0", got: property("spark.driver.bindAddress"),
		ours: "unset", why: "the image's entrypoint passes the address of the pod",
	},
	{
		field: "spark.driver.host", theirs: "$POD_IP", got: property("spark.driver.host"),
		ours: "sc-" + testIdentity().NameID + "-driver-svc.jobs.svc", why: "a name of one attempt is right for IPv4 and IPv6, and needs no shell",
	},
	{field: "spark.driver.port", theirs: "7078", got: property("spark.driver.port")},
	{field: "spark.driver.blockManager.port", theirs: "7079", got: property("spark.driver.blockManager.port")},
	{field: "spark.kubernetes.driver.pod.name", theirs: "sc-server", got: property("spark.kubernetes.driver.pod.name")},
	{field: "executor label launched-by", theirs: "true", got: property("spark.kubernetes.executor.label." + launchedBy)},
	{field: "executor label connect-name", theirs: "sc", got: property("spark.kubernetes.executor.label." + connectName)},
	{
		field: "spark.kubernetes.executor.podNamePrefix", theirs: "sc", got: property("spark.kubernetes.executor.podNamePrefix"),
		ours: "sc-" + testIdentity().NameID[:8], why: "executors of an attempt before may still exist; a server would meet their names",
	},
	{field: "template file without a template", theirs: "unset", got: property("spark.kubernetes.executor.podTemplateFile")},
	{field: "template container without a template", theirs: "unset", got: property("spark.kubernetes.executor.podTemplateContainerName")},
	{field: "spark.kubernetes.submitInDriver", theirs: "unset", got: property("spark.kubernetes.submitInDriver")},
	{field: "spark.kubernetes.memoryOverheadFactor", theirs: "unset", got: property("spark.kubernetes.memoryOverheadFactor")},
	{field: "spark.kubernetes.resource.type", theirs: "unset", got: property("spark.kubernetes.resource.type")},
	{
		field: "spark.app.id", theirs: "unset", got: property("spark.app.id"),
		ours: testIdentity().AppID, why: "labels of the pod, its Service and its executors agree",
	},
	{
		field: "spark.connect.grpc.binding.port", theirs: "unset", got: property("spark.connect.grpc.binding.port"),
		ours: "15002", why: "the same number as in ports and probes, whatever the release's default is",
	},
	{
		field: "spark.kubernetes.driver.service.deleteOnTermination", theirs: "unset", got: property("spark.kubernetes.driver.service.deleteOnTermination"),
		ours: "false", why: "Services belong to the operator",
	},
}

func TestServerFields(t *testing.T) {
	submission := mustBuild(t, connectServerApp(), "4.1")
	o := &serverObjects{Submission: submission, pod: submission.Driver, templates: resourceOf[*corev1.ConfigMap](t, submission, "sc-conf")}
	o.container = sparkContainerOf(t, o.pod, DriverContainerName)
	for _, f := range serverFields {
		got := f.got(o)
		if f.why == "" {
			if diff := cmp.Diff(f.theirs, got); diff != "" {
				t.Errorf("%s (-theirs +ours):\n%s", f.field, diff)
			}
			continue
		}
		if diff := cmp.Diff(f.ours, got); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", f.field, f.why, diff)
		}
		if cmp.Equal(f.theirs, got) {
			t.Errorf("%s does not differ: %s", f.field, f.why)
		}
	}
}

// The template's labels, annotations and spec reach the pod, as there; and its container's values hold.
func TestServerTemplate(t *testing.T) {
	app := connectServerApp()
	hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	app.Driver.Template = &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Name: "theirs", Labels: map[string]string{"team": "data", LabelRole: "mine"}, Annotations: map[string]string{"note": "x"},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways, DeprecatedServiceAccount: "of-server",
			Containers: []corev1.Container{{Name: "side"}, {
				Name: DriverContainerName, Command: []string{"sleep"}, Args: []string{"1"}, ImagePullPolicy: corev1.PullAlways,
				Lifecycle: hook, ReadinessProbe: probe, LivenessProbe: probe,
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(true)},
				Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")}},
			}},
		},
	}
	app.Conf[ConfDriverTemplateContainer] = DriverContainerName
	app.Conf[ConfDriverServiceAccount] = "of-both"
	app.Conf["spark.driver.resource.gpu.amount"], app.Conf["spark.driver.resource.gpu.vendor"] = "1", "nvidia.com"
	for _, version := range []string{"3.5", "4.3"} {
		app.SparkVersion = version
		pod := mustBuild(t, app, version).Driver
		container := sparkContainerOf(t, pod, DriverContainerName)
		for _, check := range []struct {
			what      string
			want, got any
		}{
			{"name", "sc-server", pod.Name},
			{"labels", []string{"data", RoleServer}, []string{pod.Labels["team"], pod.Labels[LabelRole]}},
			{"annotations", map[string]string{"note": "x"}, pod.Annotations},
			{"service account", []string{"", "of-server"}, []string{pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount}},
			{"restart policy", corev1.RestartPolicyNever, pod.Spec.RestartPolicy},
			{"containers", []string{"side", DriverContainerName}, []string{pod.Spec.Containers[0].Name, pod.Spec.Containers[1].Name}},
			{"command", 0, len(container.Command)},
			{"arguments", "driver", container.Args[0]},
			{"pull policy", corev1.PullAlways, container.ImagePullPolicy},
			{"lifecycle", hook, container.Lifecycle},
			{"readiness probe", probe, container.ReadinessProbe},
			{"liveness probe", probe, container.LivenessProbe},
			{"startup probe", true, container.StartupProbe != nil},
			{"privileges", true, *container.SecurityContext.AllowPrivilegeEscalation},
			{"resources", corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("8Gi")},
				Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
			}, container.Resources},
		} {
			if diff := cmp.Diff(check.want, check.got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", version, check.what, diff)
			}
		}
	}
}
