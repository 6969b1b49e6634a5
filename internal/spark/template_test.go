// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSparkContainer(t *testing.T) {
	named := func(names ...string) (containers []corev1.Container) {
		for _, name := range names {
			containers = append(containers, corev1.Container{Name: name})
		}
		return containers
	}
	tests := []struct {
		containers []corev1.Container
		name       string
		want       int
		reason     string
	}{
		{nil, "x", -1, "no containers"},
		{named("a", "x"), "", 0, "the first without a name"},
		{named("a", "x"), "x", 1, "by name"},
		{named("a", "b"), "x", 0, "the first if the name is missing"},
		{named("a", "x", "x"), "x", 0, "the first if the name is there twice"},
	}
	for _, test := range tests {
		if got := sparkContainer(test.containers, test.name); got != test.want {
			t.Errorf("got %d, want %d: %s", got, test.want, test.reason)
		}
	}
}

// Words that YAML 1.1 takes for booleans are texts to Spark's parser.
func TestParseTemplate(t *testing.T) {
	template, err := ParseTemplate(`
metadata: {labels: {a: y, b: no, "on": off}}   # comment
spec:
  hostNetwork: true
  activeDeadlineSeconds: 5
  unknown: [1]
  containers:
  - name: y
    env: [{name: N, value: "1"}, {name: M, value: yes}]
    resources: {requests: {cpu: 2}}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "y", "b": "no", "on": "off"}},
		Spec: corev1.PodSpec{HostNetwork: true, ActiveDeadlineSeconds: new(int64(5)), Containers: []corev1.Container{{
			Name: "y", Env: []corev1.EnvVar{{Name: "N", Value: "1"}, {Name: "M", Value: "yes"}},
			Resources: template.Spec.Containers[0].Resources,
		}}},
	}
	if diff := cmp.Diff(want, template); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if cpu := template.Spec.Containers[0].Resources.Requests.Cpu().Value(); cpu != 2 {
		t.Errorf("%d cores, want 2", cpu)
	}
	for text, reason := range map[string]string{
		"":                         "nothing",
		"spec:":                    "no spec",
		"kind: Service":            "another kind",
		"spec: {containers: 1}":    "not a list",
		"a: [1\n b: }":             "not YAML",
		"spec: {containers: [{}]}": "",
		`{"spec": {}}`:             "",
		"a: &a [*a]\nspec: *a":     "an alias of itself",
	} {
		if _, err := ParseTemplate(text); (err == nil) != (reason == "") {
			t.Errorf("%q: error %v, want one because of: %q", text, err, reason)
		}
	}
}

func TestDriverTemplateNamespace(t *testing.T) {
	app := sparkPi()
	app.Driver.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere"}}
	if err := refused(t, app, "3.3"); err.Key != ConfNamespace {
		t.Errorf("%v, want a refusal of the namespace", err)
	}
	if got := mustBuild(t, app, "3.4").Driver.Namespace; got != "jobs" {
		t.Errorf("namespace %q, want that of the application", got)
	}
}

// executorTemplate returns the text that is shipped and the property that names its container.
func executorTemplateOf(t *testing.T, app Application) (text, container string) {
	t.Helper()
	submission := mustBuild(t, app, "4.1")
	if got, want := submission.Properties[ConfExecTemplateFile], "/opt/spark/pod-template/pod-spec-template.yml"; got != want {
		t.Errorf("template file %q, want %q", got, want)
	}
	shipped := resourceOf[*corev1.ConfigMap](t, submission, "-driver-podspec-conf-map")
	if shipped.Immutable != nil || submission.ExecutorTemplate != shipped {
		t.Errorf("an edit cannot reach a running driver: immutable %v", shipped.Immutable)
	}
	return shipped.Data["podspec-configmap-key"], submission.Properties[ConfExecTemplateContainer]
}

// A driver that has a template keeps reading it when nothing is to be said in it any more.
func TestTemplateThatSaysNothing(t *testing.T) {
	app := sparkPi()
	app.Conf[ConfExecTemplateContainer] = "mine"
	submission := mustBuild(t, app, "4.1")
	template, err := ParseTemplate(submission.ExecutorTemplate.Data["podspec-configmap-key"])
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mine"}}}}
	if diff := cmp.Diff(want, template); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, resource := range submission.Resources {
		if resource.GetName() == submission.ExecutorTemplate.Name {
			t.Error("a ConfigMap is created that nobody reads")
		}
	}
}

func TestExecutorTemplateText(t *testing.T) {
	const text = "# comment\r\nspec: {containers: [{name: ex}]}\n---\n"
	app := sparkPi()
	app.Executor.TemplateText = text
	got, container := executorTemplateOf(t, app)
	if got != text || container != "" {
		t.Errorf("%q and container %q, want the text as it is, and the user's choice of the container", got, container)
	}

	app = with(map[string]string{ConfExecTemplateFile: "/e.yaml"})
	app.Submitter.Files = map[string][]byte{"/e.yaml": []byte(text)}
	if got, _ = executorTemplateOf(t, app); got != text {
		t.Errorf("%q, want the file as it is", got)
	}
}

func TestExecutorTemplateWritten(t *testing.T) {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"from": "template"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "first"}, {Name: "second"}}},
	}
	overlay := PodOverlay{
		Env: []corev1.EnvVar{{Name: "A", Value: "1"}}, Sidecars: []corev1.Container{{Name: "sidecar"}},
		Labels: map[string]string{"team": "data"},
	}
	tests := []struct {
		name       string
		role       Role
		conf       map[string]string
		containers []string
		spark      int
		reason     string
	}{
		{"template", Role{Template: template}, nil, []string{"first", "second"}, 0, "Spark takes the first"},
		{"named", Role{Template: template}, map[string]string{ConfExecTemplateContainer: "second"},
			[]string{"first", "second"}, 1, "the named one"},
		{"overlay", Role{Overlay: overlay}, nil, []string{ExecutorContainerName, "sidecar"}, 0, "a container is made for it"},
		{"overlay named", Role{Overlay: overlay}, map[string]string{ConfExecTemplateContainer: "ex"},
			[]string{"ex", "sidecar"}, 0, "by the name that was asked for"},
		{"both", Role{Template: template, Overlay: overlay}, nil, []string{"first", "second", "sidecar"}, 0, "both"},
		{"text and overlay", Role{TemplateText: "spec: {containers: [{name: t}]}", Overlay: overlay}, nil,
			[]string{"t", "sidecar"}, 0, "an overlay is laid over a text, too"},
		{"template without containers", Role{Template: &corev1.PodTemplateSpec{}, Overlay: overlay}, nil,
			[]string{ExecutorContainerName, "sidecar"}, 0, "a container is made for it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			app := with(test.conf)
			app.Executor = test.role
			text, container := executorTemplateOf(t, app)
			written, err := ParseTemplate(text)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range written.Spec.Containers {
				names = append(names, c.Name)
			}
			if diff := cmp.Diff(test.containers, names); diff != "" {
				t.Errorf("containers, %s (-want +got):\n%s", test.reason, diff)
			}
			if container != test.containers[test.spark] {
				t.Errorf("Spark's container is %q, want %q: %s", container, test.containers[test.spark], test.reason)
			}
			hasOverlay := written.Labels["team"] == "data" && len(written.Spec.Containers[test.spark].Env) == 1
			if hasOverlay == test.role.Overlay.isZero() {
				t.Errorf("overlay laid over: %t", hasOverlay)
			}
			for _, noise := range []string{"status", "creationTimestamp"} {
				if strings.Contains(text, noise) {
					t.Errorf("the text mentions %s:\n%s", noise, text)
				}
			}
		})
	}
}

func TestConfDirFiles(t *testing.T) {
	app := with(map[string]string{confMapMaxSize: "40"})
	app.Submitter.ConfDir = map[string][]byte{
		"my.conf": []byte("12345"), "b.txt": []byte("1234567"), "z.txt": []byte("1234567"), "big": []byte(strings.Repeat("x", 40)),
		"spark-defaults.conf": {}, "spark.properties": {}, "x.template": {}, "a.jar": {}, "a.tar": {}, "a.gz": {},
		"spark-env.sh": []byte("#"), "bin": {0xff}, "sub/x": {},
	}
	submission := mustBuild(t, app, "4.1")
	config := resourceOf[*corev1.ConfigMap](t, submission, "-conf-map")
	want := []string{"b.txt", "my.conf", "spark.kubernetes.namespace", "spark.properties", "z.txt"}
	if diff := cmp.Diff(want, sortedKeys(config.Data)); diff != "" {
		t.Errorf("keys: smallest files first, until the map is full (-want +got):\n%s", diff)
	}
	volumes := submission.Driver.Spec.Volumes
	var items []string
	for _, item := range volumes[len(volumes)-1].ConfigMap.Items {
		items = append(items, item.Key)
	}
	if diff := cmp.Diff([]string{"b.txt", "my.conf", "spark.properties", "z.txt"}, items); diff != "" {
		t.Errorf("the namespace is not a file (-want +got):\n%s", diff)
	}
}

// Executors are those that are asked for, or there are none: the step that ships their template is not left out beside one.
func TestTemplateIsShipped(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
	cases := map[string]struct {
		reason string
		change func(*Application)
		want   string
	}{
		"Excluded": {reason: "there is nothing to ship", change: func(*Application) {}},
		"Template": {reason: "the driver would read another one from its image", change: func(a *Application) { a.Executor.Template = template }, want: "gets no template for its executors"},
		"Text":     {reason: "the same as text", change: func(a *Application) { a.Executor.TemplateText = "spec: {containers: []}" }, want: "gets no template for its executors"},
		"Overlay":  {reason: "fields go into the template, too", change: func(a *Application) { a.Executor.Overlay.PriorityClassName = "low" }, want: "gets no template for its executors"},
		"OldSpark": {reason: "it excludes nothing", change: func(a *Application) { a.SparkVersion, a.Executor.Template = "3.5.7", template }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := sparkPi()
			app.SparkVersion = "4.1.0"
			app.Conf[confExcludedSteps] = templateStep
			tc.change(&app)
			profile, err := ProfileFor(app.SparkVersion)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Build(app, Identity{}, profile)
			var refused *ConfError
			if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &refused) || refused.Key != confExcludedSteps || !strings.Contains(refused.Problem, tc.want)) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
