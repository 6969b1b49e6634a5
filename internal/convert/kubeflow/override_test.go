// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

const hijacked = "hijacked"

// ways are all ways in which the author of an application can try to set a property.
var ways = map[string]func(*spec, string){
	"sparkConf":        func(s *spec, key string) { s.SparkConf = props{key: hijacked} },
	"hadoopConf":       func(s *spec, key string) { s.HadoopConf = props{key: hijacked, "../" + key: hijacked} },
	"hadoopConf twice": func(s *spec, key string) { s.HadoopConf = props{"spark.hadoop." + key: hijacked} },
	"a line in sparkConf": func(s *spec, key string) {
		s.SparkConf = props{"spark.mine": "x\n" + key + "=" + hijacked, "spark.mine\n" + key: hijacked}
	},
	"a label": func(s *spec, key string) {
		if label, ok := strings.CutPrefix(key, spark.ConfDriverLabelPrefix); ok {
			s.Driver.Labels = props{label: hijacked}
		}
		if label, ok := strings.CutPrefix(key, spark.ConfExecutorLabelPrefix); ok {
			s.Executor.Labels = props{label: hijacked}
		}
	},
	"envVars": func(s *spec, key string) {
		s.Driver.EnvVars, s.Executor.EnvVars = props{key: hijacked}, props{key: hijacked}
	},
	"a reference": func(s *spec, key string) { s.SparkConf = props{"spark.mine": hijacked, key: "${spark.mine}"} },
}

// No way leads past what the operator owns: it is laid over everything else, or written by Spark's own steps.
func TestNoWayOverridesTheOperator(t *testing.T) {
	keys := map[string]string{ // the property, and why it is the operator's
		"spark.master":                                          "the cluster",
		"spark.submit.deployMode":                               "the driver runs in a pod",
		"spark.app.name":                                        "names are functions of it",
		"spark.app.id":                                          "pods are found by it",
		"spark.kubernetes.namespace":                            "an application stays in its own",
		"spark.kubernetes.driver.pod.name":                      "the typed name wins",
		"spark.kubernetes.submission.waitAppCompletion":         "nobody waits",
		"spark.kubernetes.submitInDriver":                       "Spark's own",
		"spark.kubernetes.resource.type":                        "Spark's own",
		"spark.driver.host":                                     "the service",
		"spark.kubernetes.container.image":                      "spec.image is set",
		"spark.kubernetes.driver.container.image":               "spec.image is set",
		"spark.kubernetes.executor.container.image":             "spec.image is set",
		spark.ConfDriverServiceAccount:                          "spec.driver.serviceAccount is set",
		spark.ConfExecutorServiceAccount:                        "spec.executor.serviceAccount is set",
		spark.ConfDriverLabelPrefix + v1beta2.LabelAppName:      "pods are found by it",
		spark.ConfExecutorLabelPrefix + v1beta2.LabelAppName:    "pods are found by it",
		spark.ConfDriverLabelPrefix + v1beta2.LabelLaunchedBy:   "the cache is restricted to it",
		spark.ConfExecutorLabelPrefix + v1beta2.LabelLaunchedBy: "the cache is restricted to it",
	}
	for key, why := range keys {
		for way, set := range ways {
			t.Run(key+" by "+way, func(t *testing.T) {
				o := testutil.Pi()
				o.Spec.Driver.PodName = new("chosen")
				o.Spec.Driver.ServiceAccount, o.Spec.Executor.ServiceAccount = new("own"), new("own")
				set(&o.Spec, key)
				app := normalize(t, o)
				profile, err := spark.ProfileFor(app.SparkVersion)
				if err != nil {
					t.Fatal(err)
				}
				s, err := spark.Build(app, spark.NewIdentity(app.UID, 1, now), profile)
				if err != nil {
					return // refused is as good
				}
				if got := s.Properties[key]; strings.Contains(got, hijacked) || strings.Contains(got, "${spark.mine}") {
					t.Errorf("%s: %s=%s", why, key, got)
				}
				untouched(t, s)
			})
		}
	}
}

// untouched checks what the properties are for.
func untouched(t *testing.T, s spark.Submission) {
	t.Helper()
	p := s.Driver
	if p.Namespace != "jobs" || p.Name != "chosen" || p.Labels[v1beta2.LabelAppName] != "pi" || p.Labels[v1beta2.LabelLaunchedBy] != "true" ||
		p.Labels[spark.LabelRole] != "driver" || p.Spec.ServiceAccountName != "own" || p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("the driver pod is %s/%s with the labels %v, account %s, restart policy %s", p.Namespace, p.Name, p.Labels, p.Spec.ServiceAccountName, p.Spec.RestartPolicy)
	}
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == spark.DriverContainerName && c.Image != "spark:4.1.4" {
			t.Errorf("Spark's container runs %s", c.Image)
		}
	}
	for _, r := range s.Resources {
		m, ok := r.(*corev1.ConfigMap)
		if !ok {
			continue
		}
		for line := range strings.SplitSeq(m.Data["spark.properties"], "\n") {
			if strings.HasSuffix(line, "="+hijacked) && !strings.Contains(line, "mine") && !strings.Contains(line, "hadoop") && !strings.Contains(line, "nv.") {
				t.Errorf("a line of the properties is %q", line)
			}
		}
	}
}

// A template is where Spark starts from, so it cannot say what Spark or the operator says later.
func TestTemplatesDoNotOverride(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Driver.PodName, o.Spec.Driver.ServiceAccount = new("chosen"), new("own")
	template := func(container string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Name: hijacked, Namespace: hijacked, OwnerReferences: nil,
				Labels: map[string]string{
					v1beta2.LabelAppName: hijacked, v1beta2.LabelLaunchedBy: hijacked, spark.LabelRole: hijacked, spark.LabelAppSelector: hijacked,
				},
			},
			Spec: corev1.PodSpec{
				ServiceAccountName: hijacked, RestartPolicy: corev1.RestartPolicyAlways,
				Containers: []corev1.Container{{Name: container, Image: hijacked}},
			},
		}
	}
	o.Spec.Driver.Template, o.Spec.Executor.Template = template(spark.DriverContainerName), template(spark.ExecutorContainerName)
	s := build(t, o)
	untouched(t, s)
	if s.Driver.Labels[spark.LabelAppSelector] == hijacked {
		t.Error("the application's id comes from the template")
	}
}

// Tables of the Kubeflow operator: a property that a tenant may not set is refused by its name, with what to use
// instead.
func TestDeniedKeysAreRefusedByName(t *testing.T) {
	for _, key := range []string{
		"spark.kubernetes.authenticate.driver.serviceAccountName", "spark.kubernetes.authenticate.executor.serviceAccountName",
		"spark.kubernetes.authenticate.oauthToken", "spark.kubernetes.authenticate.oauthTokenFile",
		"spark.kubernetes.authenticate.driver.oauthToken", "spark.kubernetes.authenticate.driver.oauthTokenFile",
		"spark.kubernetes.authenticate.executor.oauthToken", "spark.kubernetes.authenticate.executor.oauthTokenFile",
		"spark.master", "spark.kubernetes.driver.master", "spark.kubernetes.driver.container.image",
		"spark.kubernetes.executor.container.image", "spark.kubernetes.namespace",
	} {
		o := testutil.Pi()
		o.Spec.SparkConf = props{key: hijacked}
		app, _ := Normalize(o)
		text := ""
		for _, f := range objections(o) {
			text += validation.Explain(app, f) + "\n"
		}
		if !strings.Contains(text, `sparkConf key "`+key+`" is not allowed: `) {
			t.Errorf("%s: %q", key, text)
		}
	}
}

// Four typed fields are below sparkConf, as the Kubeflow operator puts them; each is named if it is overruled.
func TestSparkConfWinsOverFourFields(t *testing.T) {
	o := testutil.Pi()
	o.Spec.ImagePullPolicy, o.Spec.ImagePullSecrets = new("Always"), []string{"field"}
	o.Spec.PythonVersion, o.Spec.MemoryOverheadFactor = new("3"), new("0.2")
	fields, _ := Normalize(o)
	o.Spec.SparkConf = props{
		spark.ConfImagePullPolicy: "Never", spark.ConfImagePullSecrets: "conf",
		"spark.kubernetes.pyspark.pythonVersion": "2", spark.ConfMemoryOverheadFactor: "0.3",
	}
	app, _ := Normalize(o)
	text := ""
	for _, w := range app.Warnings {
		text += validation.Explain(app, w) + "\n"
	}
	for key, want := range o.Spec.SparkConf {
		if got := app.Conf[key]; got != want {
			t.Errorf("%s=%s, want %s of sparkConf", key, got, want)
		}
		if field := fields.Field(key); !strings.Contains(text, field+": ") || !strings.Contains(text, key) {
			t.Errorf("%s is overruled by %s, and nobody is told:\n%s", field, key, text)
		}
	}
}

// What is the user's stays the user's.
func TestUsersPropertiesAreKept(t *testing.T) {
	o := testutil.Pi()
	o.Spec.SparkConf = props{"spark.kubernetes.memoryOverheadFactor": "0.3", "spark.executor.cores": "2", "spark.ui.port": "4141"}
	for key, want := range o.Spec.SparkConf {
		if got := build(t, o).Properties[key]; got != want {
			t.Errorf("%s=%s, want the user's %s", key, got, want)
		}
	}
}
