// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// Every typed field that becomes a property wins over the same property in sparkConf, but for four.
func TestTypedFieldsWinOverSparkConf(t *testing.T) {
	for path, tc := range fieldCases() {
		if path == "sparkConf" {
			continue
		}
		for key, want := range tc.conf {
			o := testutil.Pi()
			o.Spec.SparkConf = props{key: "from-sparkConf"}
			tc.set(&o.Spec)
			switch path {
			case "imagePullPolicy", "imagePullSecrets", "pythonVersion", "memoryOverheadFactor":
				want = "from-sparkConf"
			}
			if got := normalize(t, o).Conf[key]; got != want {
				t.Errorf("%s, in sparkConf and in the typed field %s: %q, want %q", key, path, got, want)
			}
		}
	}
}

// A variable of an executor that Spark sets, too: a value of the user's becomes a property, whose variables come after Spark's.
func TestExecutorVariablesOverSparks(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Executor.EnvVars = map[string]string{"SPARK_USER": "by envVars"}
	o.Spec.Executor.Env = []corev1.EnvVar{
		{Name: "SPARK_USER", Value: "ada"}, {Name: "SPARK_CONF_DIR", Value: "/mine"}, {Name: "MINE", Value: "x"}, {Name: "SPARK_LOCAL_DIRS", Value: "/tmp"},
		{Name: "SPARK_EXECUTOR_CORES", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}},
	}
	app, got := normalize(t, o), props{}
	for key, value := range app.Conf {
		if name, ok := strings.CutPrefix(key, "spark.executorEnv."); ok {
			got[name] = value
		}
	}
	if diff := cmp.Diff(props{"SPARK_USER": "ada", "SPARK_CONF_DIR": "/mine"}, got); diff != "" {
		t.Errorf("variables of executors by properties (-want +got):\n%s", diff)
	}
	if len(app.Warnings) != 2 {
		t.Errorf("two of the variables cannot replace Spark's: %v", app.Warnings)
	}
}

// A property that no typed field sets is the user's.
func TestSparkConfIsKept(t *testing.T) {
	o := testutil.Pi()
	o.Spec.SparkConf = props{"spark.driver.memory": "5g", "spark.executor.instances": "4", "spark.executor.cores": "2", "spark.sql.shuffle.partitions": "8"}
	app := normalize(t, o)
	for key, want := range o.Spec.SparkConf {
		if app.Conf[key] != want {
			t.Errorf("%s is %q, want the user's %q", key, app.Conf[key], want)
		}
	}
}

// hijack tries to set a property in every way that an author of an application has.
func hijack(o *v1beta2.SparkApplication, key, value string) {
	o.Spec.SparkConf = props{key: value}
	for prefix, labels := range map[string]*map[string]string{
		spark.ConfDriverLabelPrefix:   &o.Spec.Driver.Labels,
		spark.ConfExecutorLabelPrefix: &o.Spec.Executor.Labels,
	} {
		if len(key) > len(prefix) && key[:len(prefix)] == prefix {
			*labels = map[string]string{key[len(prefix):]: value}
			o.Labels = map[string]string{key[len(prefix):]: value}
		}
	}
}

func TestOperatorOwnedKeysCannotBeOverridden(t *testing.T) {
	owned := map[string]struct {
		reason string
		key    string
		want   string
	}{
		"Master":            {reason: "the driver would talk to another cluster", key: "spark.master", want: "k8s://https://kubernetes.default.svc:443"},
		"DeployMode":        {reason: "client mode would run in the operator", key: "spark.submit.deployMode", want: "cluster"},
		"AppName":           {reason: "names are functions of the application", key: "spark.app.name", want: "pi"},
		"Namespace":         {reason: "an application stays in its namespace", key: "spark.kubernetes.namespace", want: "jobs"},
		"Wait":              {reason: "nobody waits for the driver", key: "spark.kubernetes.submission.waitAppCompletion", want: "false"},
		"DriverApp":         {reason: "pods are found by the label", key: spark.ConfDriverLabelPrefix + v1beta2.LabelAppName, want: "pi"},
		"ExecutorApp":       {reason: "pods are found by the label", key: spark.ConfExecutorLabelPrefix + v1beta2.LabelAppName, want: "pi"},
		"DriverLaunchedBy":  {reason: "the cache is restricted to the label", key: spark.ConfDriverLabelPrefix + v1beta2.LabelLaunchedBy, want: "true"},
		"ExecutorLaunchedB": {reason: "the cache is restricted to the label", key: spark.ConfExecutorLabelPrefix + v1beta2.LabelLaunchedBy, want: "true"},
		"DriverPodName":     {reason: "the typed name wins, and without it the user may choose", key: spark.ConfDriverPodName, want: "chosen"},
	}
	tested := map[string]bool{}
	for name, tc := range owned {
		tested[tc.key] = true
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			o.Spec.Driver.PodName = new("chosen")
			hijack(o, tc.key, "hijacked")
			s := build(t, o)
			if got := s.Properties[tc.key]; got != tc.want && tc.key != spark.ConfMaster {
				t.Errorf("%s: the driver would get %s=%q, want %q", tc.reason, tc.key, got, tc.want)
			}
			if got := normalize(t, o).OperatorConf[tc.key]; got != tc.want {
				t.Errorf("%s: %s=%q, want %q", tc.reason, tc.key, got, tc.want)
			}
			for key, value := range s.Properties {
				if value == "hijacked" {
					t.Errorf("%s: %s=hijacked reached the driver", tc.reason, key)
				}
			}
			if s.Driver.Namespace != "jobs" || s.Driver.Name != "chosen" || s.Driver.Labels[v1beta2.LabelAppName] != "pi" || s.Driver.Labels[v1beta2.LabelLaunchedBy] != "true" {
				t.Errorf("%s: the driver pod is %s/%s with labels %v", tc.reason, s.Driver.Namespace, s.Driver.Name, s.Driver.Labels)
			}
		})
	}
	for key := range normalize(t, testutil.Pi()).OperatorConf {
		if !tested[key] {
			t.Errorf("the operator owns %s, and no case tries to override it", key)
		}
	}
}

// Labels in the user's pod template come first, so the operator's are laid over them.
func TestTemplateLabelsDoNotHideThePod(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Driver.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Name: "other", Namespace: "kube-system",
		Labels: map[string]string{v1beta2.LabelLaunchedBy: "false", v1beta2.LabelAppName: "other", "team": "a"},
	}}
	got := build(t, o).Driver
	want := map[string]string{v1beta2.LabelLaunchedBy: "true", v1beta2.LabelAppName: "pi", "team": "a"}
	for label, value := range want {
		if got.Labels[label] != value {
			t.Errorf("label %s is %q, want %q", label, got.Labels[label], value)
		}
	}
	if got.Namespace != "jobs" || got.Name != "pi-driver" {
		t.Errorf("the template moved the driver to %s/%s", got.Namespace, got.Name)
	}
}

func TestLabelsOfTheApplication(t *testing.T) {
	o := testutil.Pi()
	o.Labels = map[string]string{"team": "a", "tier": "b", "kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "p"}
	o.Spec.Driver.Labels = map[string]string{"tier": "own"}
	app := normalize(t, o)
	cases := map[string]struct{ reason, key, want string }{
		"Propagated":         {reason: "labels of the application reach the driver", key: spark.ConfDriverLabelPrefix + "team", want: "a"},
		"PropagatedExecutor": {reason: "labels of the application reach the executors", key: spark.ConfExecutorLabelPrefix + "team", want: "a"},
		"RoleWins":           {reason: "the role's own label is closer", key: spark.ConfDriverLabelPrefix + "tier", want: "own"},
		"OtherRole":          {reason: "the other role keeps the application's", key: spark.ConfExecutorLabelPrefix + "tier", want: "b"},
		"KueueDriver":        {reason: "Kueue would manage the pod a second time", key: spark.ConfDriverLabelPrefix + "kueue.x-k8s.io/queue-name"},
		"KueueExecutor":      {reason: "Kueue would manage the pods a second time", key: spark.ConfExecutorLabelPrefix + "kueue.x-k8s.io/priority-class"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := app.Conf[tc.key]; got != tc.want {
				t.Errorf("%s: %s=%q, want %q", tc.reason, tc.key, got, tc.want)
			}
		})
	}
	if diff := cmp.Diff(o.Labels, app.Labels); diff != "" {
		t.Errorf("schedulers get all labels (-want +got):\n%s", diff)
	}
	if app.Field(spark.ConfDriverLabelPrefix+"team") != "metadata.labels[\"team\"]" {
		t.Errorf("the label is said to come from %s", app.Field(spark.ConfDriverLabelPrefix+"team"))
	}
}

func TestDriverName(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    func(*spec)
		want   string
	}{
		"Default":   {reason: "tools look for it", set: func(*spec) {}, want: "pi-driver"},
		"Typed":     {reason: "the user's choice", set: func(s *spec) { s.Driver.PodName = new("a") }, want: "a"},
		"SparkConf": {reason: "the user's choice, said in Spark's words", set: func(s *spec) { s.SparkConf = props{spark.ConfDriverPodName: "b"} }, want: "b"},
		"Both":      {reason: "typed fields win", set: func(s *spec) { s.Driver.PodName = new("a"); s.SparkConf = props{spark.ConfDriverPodName: "b"} }, want: "a"},
		"Empty":     {reason: "an empty name is none", set: func(s *spec) { s.Driver.PodName = new(""); s.SparkConf = props{spark.ConfDriverPodName: ""} }, want: "pi-driver"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(&o.Spec)
			if got := DriverName(o); got != tc.want {
				t.Errorf("%s: DriverName = %q, want %q", tc.reason, got, tc.want)
			}
			if got := build(t, o).Driver.Name; got != tc.want {
				t.Errorf("%s: the pod is called %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestExecutorInstances(t *testing.T) {
	const key = spark.ConfExecutorInstances
	dynamicOn := &v1beta2.DynamicAllocation{Enabled: true}
	cases := map[string]struct {
		reason string
		set    func(*spec)
		want   string
	}{
		"Default":     {reason: "users of this API rely on 1, Spark's own default is 2", set: func(*spec) {}, want: "1"},
		"Typed":       {reason: "the typed number", set: func(s *spec) { s.Executor.Instances = new(int32(5)) }, want: "5"},
		"SparkConf":   {reason: "the user said it in Spark's words", set: func(s *spec) { s.SparkConf = props{key: "3"} }, want: "3"},
		"Dynamic":     {reason: "a number would be a minimum", set: func(s *spec) { s.DynamicAllocation = dynamicOn }},
		"DynamicConf": {reason: "dynamic allocation in Spark's words", set: func(s *spec) { s.SparkConf = props{spark.ConfDynamicAllocation: "TRUE"} }},
		"DynamicOff":  {reason: "false is not dynamic", set: func(s *spec) { s.DynamicAllocation = &v1beta2.DynamicAllocation{MinExecutors: new(int32(2))} }, want: "1"},
		"Both":        {reason: "a number the user gave is kept", set: func(s *spec) { s.DynamicAllocation = dynamicOn; s.Executor.Instances = new(int32(2)) }, want: "2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(&o.Spec)
			if got := normalize(t, o).Conf[key]; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDynamicAllocationOffSaysNothing(t *testing.T) {
	o := testutil.Pi()
	o.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{MinExecutors: new(int32(2)), MaxExecutors: new(int32(9))}
	if diff := cmp.Diff(normalize(t, testutil.Pi()), normalize(t, o)); diff != "" {
		t.Errorf("numbers without enabled mean nothing (-want +got):\n%s", diff)
	}
}

func TestShuffleTrackingDefaultsToOn(t *testing.T) {
	o := testutil.Pi()
	o.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true}
	if got := normalize(t, o).Conf["spark.dynamicAllocation.shuffleTracking.enabled"]; got != "true" {
		t.Errorf("shuffle tracking is %q: without it Spark refuses dynamic allocation on Kubernetes", got)
	}
}

// Absent and empty typed fields leave sparkConf alone.
func TestEmptyFieldsSetNothing(t *testing.T) {
	o := testutil.Pi()
	bare := maps.Clone(normalize(t, o).Conf)
	o.Spec.Driver.Memory, o.Spec.Driver.CoreLimit, o.Spec.Executor.JavaOptions = new(""), new(""), new("")
	o.Spec.ImagePullSecrets, o.Spec.HadoopConf = []string{}, props{}
	if diff := cmp.Diff(bare, normalize(t, o).Conf); diff != "" {
		t.Errorf("empty fields became properties (-want +got):\n%s", diff)
	}
}
