// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func texts(findings []*spark.ConfError) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.About(sparkApplications.Fields.Path(f.Field)))
	}
	return out
}

func TestConflicts(t *testing.T) {
	port := func(n int32, url string) v1beta2.DriverIngressConfiguration {
		return v1beta2.DriverIngressConfiguration{ServicePort: &n, ServicePortName: new("p"), IngressURLFormat: url}
	}
	cases := map[string]struct {
		reason string
		set    func(*v1beta2.SparkApplication)
		want   []string // what the sentences begin with
	}{
		"Fine": {reason: "one selector, two ports", set: func(o *v1beta2.SparkApplication) {
			o.Spec.NodeSelector = props{"a": "b"}
			o.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{port(1, "a"), port(2, "b")}
		}},
		"Name":     {reason: "the Kubeflow operator's rule", set: func(o *v1beta2.SparkApplication) { o.Name = "1st.job" }, want: []string{`metadata.name: invalid SparkApplication name "1st.job": must not contain dots`}},
		"LongName": {reason: "63 characters", set: func(o *v1beta2.SparkApplication) { o.Name = strings.Repeat("a", 64) }, want: []string{"metadata.name: invalid SparkApplication name"}},
		"Selectors": {reason: "the Kubeflow operator's rule", set: func(o *v1beta2.SparkApplication) {
			o.Spec.NodeSelector, o.Spec.Executor.NodeSelector = props{"a": "b"}, props{"c": "d"}
		}, want: []string{"spec.nodeSelector: node selector cannot be defined at both SparkApplication and Driver/Executor"}},
		"NoPort": {reason: "the Kubeflow operator's rule", set: func(o *v1beta2.SparkApplication) {
			o.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{IngressURLFormat: "a"}}
		}, want: []string{"spec.driverIngressOptions[0].servicePort: DriverIngressOptions has no servicePort"}},
		"SamePort": {reason: "the Kubeflow operator's rule", set: func(o *v1beta2.SparkApplication) {
			o.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{port(1, "a"), port(1, "b")}
		}, want: []string{`spec.driverIngressOptions[1].servicePort: "1": DriverIngressOptions has a duplicate servicePort`}},
		"NoURL": {reason: "the Kubeflow operator's rule", set: func(o *v1beta2.SparkApplication) {
			o.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{port(1, "")}
		}, want: []string{"spec.driverIngressOptions[0].ingressURLFormat: DriverIngressOptions has an empty ingressURLFormat"}},
		"SameURL": {reason: "the Kubeflow operator's rule", set: func(o *v1beta2.SparkApplication) {
			o.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{port(1, "a"), port(2, "a")}
		}, want: []string{`spec.driverIngressOptions[1].ingressURLFormat: "a": DriverIngressOptions has a duplicate`}},
		"LocalDir": {reason: "the Kubeflow operator's submission fails, too", set: func(o *v1beta2.SparkApplication) {
			o.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "spark-local-dir-1", MountPath: "/x"}}
		}, want: []string{`spec.driver.volumeMounts: "spark-local-dir-1": volume not found`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(o)
			_, problems := Normalize(o)
			got := texts(problems)
			if len(got) != len(tc.want) {
				t.Fatalf("%s: %q, want %q", tc.reason, got, tc.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.want[i]) {
					t.Errorf("%s: %q, want %q", tc.reason, got[i], tc.want[i])
				}
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	containers := func(names ...string) *corev1.PodTemplateSpec {
		t := &corev1.PodTemplateSpec{}
		for _, n := range names {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: n})
		}
		return t
	}
	cases := map[string]struct {
		reason string
		set    func(*spec)
		want   []string
	}{
		"None":       {reason: "nothing odd", set: func(*spec) {}},
		"Type":       {reason: "the suffix decides", set: func(s *spec) { s.MainApplicationFile = new("local:///a.py") }, want: []string{`spec.type: "Scala": the suffix of "local:///a.py" makes Spark run it as Python; write that type`}},
		"Java":       {reason: "Java and Scala run alike", set: func(s *spec) { s.Type = v1beta2.ApplicationTypeJava }},
		"R":          {reason: "the suffix decides", set: func(s *spec) { s.Type, s.MainApplicationFile = v1beta2.ApplicationTypePython, new("local:///a.R") }, want: []string{`spec.type: "Python": the suffix of "local:///a.R" makes Spark run it as R; write that type`}},
		"Mount":      {reason: "the Kubeflow operator mounts nothing either", set: func(s *spec) { s.Executor.VolumeMounts = []corev1.VolumeMount{{Name: "nope", MountPath: "/x"}} }, want: []string{`spec.executor.volumeMounts: "nope": no volume of spec.volumes has this name; nothing is mounted`}},
		"Volumes":    {reason: "the last one counts", set: func(s *spec) { s.Volumes = []corev1.Volume{{Name: "a"}, {Name: "a"}} }, want: []string{`spec.volumes: "a": there are several volumes of this name; the last one is used`}},
		"SecretType": {reason: "the schema lets it through", set: func(s *spec) { s.Driver.Secrets = []v1beta2.SecretInfo{{Name: "a", Path: "/a", SecretType: "generic"}} }, want: []string{`spec.driver.secrets: "generic": not a known secretType and treated as Generic; write GCPServiceAccount, HadoopDelegationToken or Generic`}},
		"GPU":        {reason: "ignored, as ever", set: func(s *spec) { s.Driver.GPU = &v1beta2.GPUSpec{Name: "nvidia.com/gpu"} }, want: []string{`spec.driver.gpu: "nvidia.com/gpu": no GPU is requested; write a name and a positive quantity`}},
		"Template":   {reason: "the user's container is replaced", set: func(s *spec) { s.Driver.Template = containers("log", "job") }, want: []string{`spec.driver.template: "log": no container is named spark-kubernetes-driver; the first one becomes Spark's`}},
		"Named":      {reason: "Spark's container is found", set: func(s *spec) { s.Executor.Template = containers("log", "spark-kubernetes-executor") }},
		"Limit":      {reason: "Spark overwrites it", set: func(s *spec) { s.Executor.MemoryLimit = new("2g") }, want: []string{`spec.executor.memoryLimit: "2g": has no effect without the admission policy for executors' memory: Spark limits each of them to its memory and memoryOverhead; spec.executor.memoryOverhead: "1024m" gives the same limit, or ask for the policy`}},
		"SmallLimit": {reason: "no overhead makes it so small (finding 15)", set: func(s *spec) { s.Executor.MemoryLimit, s.Executor.Memory = new("2Gi"), new("3g") }, want: []string{`spec.executor.memoryLimit: "2Gi": has no effect without the admission policy for executors' memory: Spark limits each of them to its memory and memoryOverhead; raise spec.executor.memoryOverhead, or ask for the policy`}},
		"Env":        {reason: "Spark's own comes last", set: func(s *spec) { s.Executor.Env = []corev1.EnvVar{{Name: "SPARK_LOCAL_DIRS"}, {Name: "MINE"}} }, want: []string{`spec.executor.env: "SPARK_LOCAL_DIRS": has no effect: Spark sets this variable last; mount scratch space as volumes named spark-local-dir-...`}},
		"Retries":    {reason: "nobody reads them", set: func(s *spec) { s.FailureRetries, s.RetryInterval = new(int32(1)), new(int64(1)) }, want: []string{"spec.failureRetries: has no effect; use spec.restartPolicy.onFailureRetries", "spec.retryInterval: has no effect; use spec.restartPolicy.onFailureRetryInterval"}},
		"NotSparks": {reason: "spark-submit reads it no more than we do", set: func(s *spec) { s.SparkConf = props{"fs.s3a.endpoint": "x", "spark.a": "b", "executor.memory": "1g"} }, want: []string{
			`spec.sparkConf: "executor.memory": has no effect: Spark reads properties that begin with "spark." and no others; write a Hadoop property in spec.hadoopConf`,
			`spec.sparkConf: "fs.s3a.endpoint": has no effect: Spark reads properties that begin with "spark." and no others; write a Hadoop property in spec.hadoopConf`,
		}},
		"HadoopTwice": {reason: "the prefix is added", set: func(s *spec) {
			s.HadoopConf = props{"fs.s3a.path.style.access": "true", "spark.hadoop.fs.s3a.endpoint": "x", "spark.sql.warehouse.dir": "y"}
		}, want: []string{
			`spec.hadoopConf: "spark.hadoop.fs.s3a.endpoint": becomes spark.hadoop.spark.hadoop.fs.s3a.endpoint, which nothing reads; write fs.s3a.endpoint`,
			`spec.hadoopConf: "spark.sql.warehouse.dir": becomes spark.hadoop.spark.sql.warehouse.dir, which Spark does not read; write it to spec.sparkConf`,
		}},
		"NoNumber": {reason: "case 015: the author believes that it retries", set: func(s *spec) { s.RestartPolicy.Type = "OnFailure" }, want: []string{
			`spec.restartPolicy.type: "OnFailure": has no effect after a failure of the driver: the default of spec.restartPolicy.onFailureRetries is 0; write how often it is to run again`}},
		"OneKind": {reason: "case 015: submissions are no failures of a driver", set: func(s *spec) {
			s.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", OnSubmissionFailureRetries: new(int32(2))}
		}, want: []string{
			`spec.restartPolicy.type: "OnFailure": has no effect after a failure of the driver: the default of spec.restartPolicy.onFailureRetries is 0; write how often it is to run again`}},
		"Number": {reason: "case 015: it says how often", set: func(s *spec) {
			s.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", OnFailureRetries: new(int32(0))}
		}},
		"OfAClass": {reason: "case 015: it says what", set: func(s *spec) {
			s.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", Infrastructure: &v1beta2.RetryRule{}}
		}},
		"Always":  {reason: "case 015: it runs again for ever", set: func(s *spec) { s.RestartPolicy.Type = "Always" }},
		"Untyped": {reason: "the default is Never", set: func(s *spec) { s.RestartPolicy.OnFailureRetries = new(int32(3)) }, want: []string{`spec.restartPolicy.onFailureRetries: "3": has no effect with the type Never, the default: nothing runs again; write type: OnFailure`}},
		"NeverRetried": {reason: "nothing is retried", set: func(s *spec) {
			s.RestartPolicy = v1beta2.RestartPolicy{Type: "Never", OnFailureRetries: new(int32(0)), OnSubmissionFailureRetries: new(int32(2))}
		}, want: []string{`spec.restartPolicy.onSubmissionFailureRetries: "2": has no effect with the type Never, the default: nothing runs again; write type: OnFailure`}},
		"Retried": {reason: "a number that counts", set: func(s *spec) {
			s.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", OnFailureRetries: new(int32(3))}
		}},
		"ByClass": {reason: "a rule of a class makes it OnFailure", set: func(s *spec) {
			s.RestartPolicy = v1beta2.RestartPolicy{OnFailureRetries: new(int32(3)), Infrastructure: &v1beta2.RetryRule{Retries: 1}}
		}},
		"HiddenProperties": {reason: "no role has metrics", set: func(s *spec) { s.Monitoring = &v1beta2.MonitoringSpec{MetricsProperties: new("*.sink=x")} }, want: []string{"spec.monitoring.metricsProperties: has no effect: neither exposeDriverMetrics nor exposeExecutorMetrics is true; set one of them"}},
		"HiddenFile":       {reason: "no role has metrics", set: func(s *spec) { s.Monitoring = &v1beta2.MonitoringSpec{MetricsPropertiesFile: new("/m.properties")} }, want: []string{`spec.monitoring.metricsPropertiesFile: "/m.properties": has no effect: neither exposeDriverMetrics nor exposeExecutorMetrics is true; set one of them`}},
		"HiddenExporter": {reason: "no role loads the agent", set: func(s *spec) {
			s.Monitoring = &v1beta2.MonitoringSpec{Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/x.jar"}}
		}, want: []string{"spec.monitoring.prometheus: has no effect: neither exposeDriverMetrics nor exposeExecutorMetrics is true; set one of them"}},
		"Shown": {reason: "a role shows them", set: func(s *spec) {
			s.Monitoring = &v1beta2.MonitoringSpec{ExposeExecutorMetrics: true, MetricsProperties: new("*.sink=x")}
		}},
		"NoUI": {reason: "nobody serves the metrics", set: func(s *spec) {
			s.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true}
			s.SparkConf = props{"spark.ui.enabled": "false"}
		}, want: []string{"spec.monitoring: without prometheus, Spark's UI serves the metrics, but spark.ui.enabled turns it off"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(&o.Spec)
			if diff := cmp.Diff(tc.want, texts(normalize(t, o).Warnings)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What the driver overwrites in its executors' template travels as properties.
func TestExecutorOverrides(t *testing.T) {
	o := testutil.Pi()
	o.Spec.SparkConfigMap = new("sc")
	o.Spec.Executor.TerminationGracePeriodSeconds = new(int64(90))
	o.Spec.Executor.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(true)}
	conf := normalize(t, o).Conf
	want := props{
		"spark.kubernetes.executor.terminationGracePeriodSeconds":            "90s",
		"spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "true",
		"spark.executorEnv.SPARK_CONF_DIR":                                   "/etc/spark/conf",
	}
	for key, value := range want {
		if conf[key] != value {
			t.Errorf("%s=%q, want %q", key, conf[key], value)
		}
	}
}

// Spark takes the first container of a template unless it is told a name.
func TestTemplateContainerIsFoundByName(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Driver.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "log", Image: "log"}, {Name: "spark-kubernetes-driver", Env: []corev1.EnvVar{{Name: "MINE", Value: "1"}}},
	}}}
	for _, c := range build(t, o).Driver.Spec.Containers {
		if isSpark := len(c.Args) > 0; isSpark != (c.Name == "spark-kubernetes-driver") || c.Name == "log" && c.Image != "log" {
			t.Errorf("container %s, image %s, arguments %v", c.Name, c.Image, c.Args)
		}
	}
}

// A scratch volume that is no property is used by the driver all the same, and does not collide with Spark's own.
func TestEphemeralScratchVolume(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Volumes = []corev1.Volume{volume("spark-local-dir-1", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})}
	o.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "spark-local-dir-1", MountPath: "/scratch"}}
	pod := build(t, o).Driver.Spec
	count := 0
	for _, v := range pod.Volumes {
		if strings.HasPrefix(v.Name, "spark-local-dir-") {
			count++
		}
	}
	dirs := ""
	for _, e := range pod.Containers[0].Env {
		if e.Name == "SPARK_LOCAL_DIRS" {
			dirs = e.Value
		}
	}
	if count != 1 || dirs != "/scratch" {
		t.Errorf("%d scratch volumes, SPARK_LOCAL_DIRS=%s", count, dirs)
	}
}
