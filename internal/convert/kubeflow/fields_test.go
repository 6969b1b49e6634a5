// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// fieldCase sets one field of the API and says what becomes of it in the model.
type fieldCase struct {
	reason string
	set    func(*v1beta2.SparkApplicationSpec)
	// conf are the Spark properties that the field becomes, and origin is what error messages call it.
	conf   map[string]string
	origin string
	// model picks the part of the model that the field becomes, if it is no property.
	model func(spark.Application) any
	want  any
}

type spec = v1beta2.SparkApplicationSpec

type props = map[string]string

// specCases are the fields of the spec that belong to no role.
func specCases() map[string]fieldCase {
	return map[string]fieldCase{
		"suspend":             {reason: "a policy of the model", set: func(s *spec) { s.Suspend = new(true) }, model: func(a spark.Application) any { return a.Suspend }, want: true},
		"sparkVersion":        {reason: "selects the profile", set: func(s *spec) { s.SparkVersion = "3.5.9" }, model: func(a spark.Application) any { return a.SparkVersion }, want: "3.5.9"},
		"proxyUser":           {reason: "--proxy-user", set: func(s *spec) { s.ProxyUser = new("ada") }, model: func(a spark.Application) any { return a.ProxyUser }, want: "ada"},
		"image":               {reason: "of both roles", set: func(s *spec) { s.Image = new("example/spark") }, conf: props{spark.ConfImage: "example/spark"}, origin: "spec.image"},
		"imagePullPolicy":     {reason: "of both roles", set: func(s *spec) { s.ImagePullPolicy = new("Always") }, conf: props{spark.ConfImagePullPolicy: "Always"}, origin: "spec.imagePullPolicy"},
		"imagePullSecrets":    {reason: "Spark takes a list with commas", set: func(s *spec) { s.ImagePullSecrets = []string{"a", "b"} }, conf: props{spark.ConfImagePullSecrets: "a,b"}, origin: "spec.imagePullSecrets"},
		"mainClass":           {reason: "--class", set: func(s *spec) { s.MainClass = new("org.example.Job") }, model: func(a spark.Application) any { return a.MainClass }, want: "org.example.Job"},
		"mainApplicationFile": {reason: "the primary resource", set: func(s *spec) { s.MainApplicationFile = new("local:///job.py") }, model: func(a spark.Application) any { return a.MainFile }, want: "local:///job.py"},
		"arguments":           {reason: "in their order", set: func(s *spec) { s.Arguments = []string{"b", "a", ""} }, model: func(a spark.Application) any { return a.Arguments }, want: []string{"b", "a", ""}},
		"sparkConf":           {reason: "as it is", set: func(s *spec) { s.SparkConf = props{"spark.eventLog.enabled": "true"} }, conf: props{"spark.eventLog.enabled": "true"}, origin: `spec.sparkConf["spark.eventLog.enabled"]`},
		"hadoopConf":          {reason: "with Spark's prefix", set: func(s *spec) { s.HadoopConf = props{"fs.s3a.endpoint": "http://minio"} }, conf: props{"spark.hadoop.fs.s3a.endpoint": "http://minio"}, origin: `spec.hadoopConf["fs.s3a.endpoint"]`},
		"nodeSelector":        {reason: "of both roles", set: func(s *spec) { s.NodeSelector = props{"pool": "spark"} }, conf: props{"spark.kubernetes.node.selector.pool": "spark"}, origin: `spec.nodeSelector["pool"]`},
		"pythonVersion":       {reason: "releases before 4.1 read it", set: func(s *spec) { s.PythonVersion = new("3") }, conf: props{"spark.kubernetes.pyspark.pythonVersion": "3"}, origin: "spec.pythonVersion"},
		"memoryOverheadFactor": {
			reason: "of both roles", set: func(s *spec) { s.MemoryOverheadFactor = new("0.2") },
			conf: props{spark.ConfMemoryOverheadFactor: "0.2"}, origin: "spec.memoryOverheadFactor",
		},
		"sparkConfigMap": {
			reason: "mounted on both roles, and SPARK_CONF_DIR points there", set: func(s *spec) { s.SparkConfigMap = new("sc") },
			model: bothRoles(mountedAt), want: [2]any{[]string{"spark-configmap-volume/sc /etc/spark/conf SPARK_CONF_DIR"}, []string{"spark-configmap-volume/sc /etc/spark/conf SPARK_CONF_DIR"}},
		},
		"hadoopConfigMap": {
			reason: "mounted on both roles, and HADOOP_CONF_DIR points there", set: func(s *spec) { s.HadoopConfigMap = new("hc") },
			model: bothRoles(mountedAt), want: [2]any{[]string{"hadoop-configmap-volume/hc /etc/hadoop/conf HADOOP_CONF_DIR"}, []string{"hadoop-configmap-volume/hc /etc/hadoop/conf HADOOP_CONF_DIR"}},
		},
		"volumes": {
			reason: "a pool: a role gets what it mounts, and only that", set: func(s *spec) {
				s.Volumes = []corev1.Volume{volume("data", corev1.VolumeSource{}), volume("other", corev1.VolumeSource{})}
				s.Executor.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "data", MountPath: "/again"}}
			},
			model: bothRoles(func(o spark.PodOverlay) any { return o.Volumes }),
			want:  [2]any{[]corev1.Volume(nil), []corev1.Volume{volume("data", corev1.VolumeSource{})}},
		},
		"batchScheduler": {reason: "the plugin's name", set: func(s *spec) { s.BatchScheduler = new("kube") }, model: func(a spark.Application) any { return a.Scheduling.Scheduler }, want: "kube"},
		"batchSchedulerOptions.queue": {
			reason: "for the plugin", set: func(s *spec) { s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("root.a")} },
			model: func(a spark.Application) any { return a.Scheduling.Queue }, want: "root.a",
		},
		"batchSchedulerOptions.priorityClassName": {
			reason: "for the plugin", set: func(s *spec) {
				s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{PriorityClassName: new("high")}
			},
			model: func(a spark.Application) any { return a.Scheduling.PriorityClassName }, want: "high",
		},
		"batchSchedulerOptions.resources": {
			reason: "for the plugin", set: func(s *spec) {
				s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Resources: corev1.ResourceList{"cpu": resource.MustParse("3")}}
			},
			model: func(a spark.Application) any { return a.Scheduling.Resources }, want: corev1.ResourceList{"cpu": resource.MustParse("3")},
		},
	}
}

func depsCases() map[string]fieldCase {
	deps := func(pick func(*v1beta2.Dependencies) *[]string, model func(spark.Dependencies) []string) fieldCase {
		return fieldCase{
			reason: "a list of spark-submit's",
			set:    func(s *spec) { *pick(&s.Deps) = []string{"x", "y"} },
			model:  func(a spark.Application) any { return model(a.Deps) }, want: []string{"x", "y"},
		}
	}
	return map[string]fieldCase{
		"deps.jars":            deps(func(d *v1beta2.Dependencies) *[]string { return &d.Jars }, func(d spark.Dependencies) []string { return d.Jars }),
		"deps.files":           deps(func(d *v1beta2.Dependencies) *[]string { return &d.Files }, func(d spark.Dependencies) []string { return d.Files }),
		"deps.pyFiles":         deps(func(d *v1beta2.Dependencies) *[]string { return &d.PyFiles }, func(d spark.Dependencies) []string { return d.PyFiles }),
		"deps.packages":        deps(func(d *v1beta2.Dependencies) *[]string { return &d.Packages }, func(d spark.Dependencies) []string { return d.Packages }),
		"deps.excludePackages": deps(func(d *v1beta2.Dependencies) *[]string { return &d.ExcludePackages }, func(d spark.Dependencies) []string { return d.ExcludePackages }),
		"deps.repositories":    deps(func(d *v1beta2.Dependencies) *[]string { return &d.Repositories }, func(d spark.Dependencies) []string { return d.Repositories }),
		"deps.archives":        deps(func(d *v1beta2.Dependencies) *[]string { return &d.Archives }, func(d spark.Dependencies) []string { return d.Archives }),
	}
}

func dynamicCases() map[string]fieldCase {
	with := func(reason, name, value string, set func(*v1beta2.DynamicAllocation)) fieldCase {
		return fieldCase{
			reason: reason,
			set: func(s *spec) {
				s.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true}
				set(s.DynamicAllocation)
			},
			conf: props{"spark.dynamicAllocation." + name: value},
		}
	}
	cases := map[string]fieldCase{
		"enabled":          with("turns it on", "enabled", "true", func(*v1beta2.DynamicAllocation) {}),
		"initialExecutors": with("0 is a number", "initialExecutors", "0", func(d *v1beta2.DynamicAllocation) { d.InitialExecutors = new(int32(0)) }),
		"minExecutors":     with("as it is", "minExecutors", "1", func(d *v1beta2.DynamicAllocation) { d.MinExecutors = new(int32(1)) }),
		"maxExecutors":     with("as it is", "maxExecutors", "9", func(d *v1beta2.DynamicAllocation) { d.MaxExecutors = new(int32(9)) }),
		"shuffleTrackingEnabled": with("there is no shuffle service, so it is on unless turned off", "shuffleTracking.enabled", "false",
			func(d *v1beta2.DynamicAllocation) { d.ShuffleTrackingEnabled = new(false) }),
		"shuffleTrackingTimeout": with("milliseconds, which Spark reads without a unit", "shuffleTracking.timeout", "60000",
			func(d *v1beta2.DynamicAllocation) { d.ShuffleTrackingTimeout = new(int64(60000)) }),
	}
	out := map[string]fieldCase{}
	for name, c := range cases {
		c.origin = "spec.dynamicAllocation." + name
		out["dynamicAllocation."+name] = c
	}
	return out
}

// fieldCases are all fields that have a meaning, by their path in the spec.
func fieldCases() map[string]fieldCase {
	all := specCases()
	for _, some := range []map[string]fieldCase{depsCases(), dynamicCases(), driverCases(), executorCases()} {
		maps.Copy(all, some)
	}
	return all
}

func TestNormalizeFields(t *testing.T) {
	for path, tc := range fieldCases() {
		t.Run(path, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(&o.Spec)
			app := normalize(t, o)
			for key, value := range tc.conf {
				if got, set := app.Conf[key]; !set || got != value {
					t.Errorf("%s: property %s is %q, want %q", tc.reason, key, got, value)
				}
				if tc.origin != "" && app.Field(key) != tc.origin {
					t.Errorf("%s: property %s is said to come from %s, want %s", tc.reason, key, app.Field(key), tc.origin)
				}
			}
			if tc.model != nil {
				if diff := cmp.Diff(tc.want, tc.model(app)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
			if tc.model == nil && len(tc.conf) == 0 {
				t.Error("the case says nothing about the field")
			}
			checkFieldMatters(t, tc)
		})
	}
}

// checkFieldMatters makes sure that the case could fail: the smallest application does not have the value already.
func checkFieldMatters(t *testing.T, tc fieldCase) {
	t.Helper()
	bare := normalize(t, testutil.Pi())
	for key, value := range tc.conf {
		if bare.Conf[key] == value {
			t.Errorf("property %s has the value %q also without the field", key, value)
		}
	}
	if tc.model != nil && cmp.Equal(tc.want, tc.model(bare)) {
		t.Error("the model looks the same also without the field")
	}
}
