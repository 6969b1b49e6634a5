// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

type tree = map[string]any

// yamlLike is the first line of a block that is meant as YAML.
var yamlLike = regexp.MustCompile(`^\s*(- )?[A-Za-z]+:( |$)`)

// Each block of YAML is an application, a part of one, the operator's configuration, or values of the chart, and is right as such.
func TestManifests(t *testing.T) {
	counts := map[string]int{}
	for name, page := range pages(t) {
		for _, b := range markdown.Blocks(page) {
			first, _, _ := strings.Cut(strings.TrimLeft(b.Text, "\n"), "\n")
			if b.Language != "yaml" && (b.Language != "" || !yamlLike.MatchString(first)) || strings.HasPrefix(b.Mark, fromMark) {
				continue
			}
			kind, err := check(t, b.Text)
			counts[kind]++
			if err != nil && !strings.HasPrefix(b.Mark, "wrong: ") {
				t.Errorf("%s:%d: %s: %v", name, b.Line, kind, err)
			}
		}
	}
	for kind, least := range map[string]int{"application": 2, "schedule": 1, "server": 1, "spec": 12, "configuration": 6, "values": 6, "object": 3} {
		if counts[kind] < least {
			t.Errorf("%d blocks of kind %s were found, at least %d are there", counts[kind], kind, least)
		}
	}
}

// check says what a block is, and what is wrong with it.
func check(t *testing.T, text string) (string, error) {
	t.Helper()
	var content tree
	if err := yaml.UnmarshalStrict([]byte(text), &content); err != nil {
		return "YAML", err
	}
	switch {
	case content["apiVersion"] == apachev1.SchemeGroupVersion.String():
		return "whole", judgedText([]byte(text)) // as it is: a number may be too large for a float
	case content["kind"] == v1beta2ApplicationKind:
		return "application", application(content)
	case content["kind"] == kubeflow.ScheduleKind:
		return "schedule", judged(content)
	case content["kind"] == kubeflow.ConnectKind:
		return "server", judged(content)
	case content["kind"] == config.Kind:
		return "configuration", configuration(content)
	case objects[kindOf(content)] != nil:
		return "object", yaml.UnmarshalStrict([]byte(text), reflect.New(reflect.TypeOf(objects[kindOf(content)])).Interface())
	case slices.Contains(unjudged, kindOf(content).GroupKind().String()):
		return "unjudged", nil
	case content["spec"] != nil:
		spec := tree{"spec": content["spec"]}
		delete(content, "spec") // a block may show both sides of one thing
		if len(content) == 0 {
			return "spec", application(spec)
		}
		return "spec", errors.Join(application(spec), configuration(content))
	case within(content, fieldsOf(v1beta2.SparkApplicationSpec{})) && configuration(content) != nil:
		return "spec", application(tree{"spec": content})
	case within(content, fieldsOf(config.OperatorConfiguration{})):
		return "configuration", configuration(content)
	}
	return "values", values(t, content)
}

const v1beta2ApplicationKind = "SparkApplication"

// objects are those of Kubernetes and of schedulers that pages show, by their kinds.
var objects = map[schema.GroupVersionKind]any{
	corev1.SchemeGroupVersion.WithKind("ResourceQuota"):            corev1.ResourceQuota{},
	rbacv1.SchemeGroupVersion.WithKind("Role"):                     rbacv1.Role{},
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"):              rbacv1.RoleBinding{},
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"):    corev1.PersistentVolumeClaim{},
	corev1.SchemeGroupVersion.WithKind("Service"):                  corev1.Service{},
	volcanov1beta1.SchemeGroupVersion.WithKind("Queue"):            volcanov1beta1.Queue{},
	schedulingv1alpha1.SchemeGroupVersion.WithKind("ElasticQuota"): schedulingv1alpha1.ElasticQuota{},
}

// unjudged are kinds whose types are in no package of ours: of them only the YAML is checked.
var unjudged = []string{"Application.argoproj.io", "Kustomization.kustomize.toolkit.fluxcd.io", "LocalQueue.kueue.x-k8s.io", "NodePool.karpenter.sh"}

func kindOf(content tree) schema.GroupVersionKind {
	version, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	return schema.FromAPIVersionAndKind(version, kind)
}

func within(content tree, fields []string) bool {
	for key := range content {
		if !slices.Contains(fields, key) {
			return false
		}
	}
	return true
}

// fieldsOf are the JSON names of a struct's fields.
func fieldsOf(v any) []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

// application checks an application as kubectl spark validate does. What a part of one leaves out is filled in.
func application(content tree) error {
	whole := tree{
		"apiVersion": v1beta2.GroupVersion.String(), "kind": v1beta2ApplicationKind, "metadata": tree{"name": "pi"},
		"spec": tree{
			"type": "Python", "sparkVersion": "4.1.4", "image": "spark:4.1.4", "mainApplicationFile": "local:///pi.py",
			"driver": tree{}, "executor": tree{"instances": 2},
		},
	}
	merge(whole, content)
	return judged(whole)
}

// judged says what kubectl spark validate would.
func judged(content tree) error {
	text, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return judgedText(text)
}

func judgedText(text []byte) error {
	documents, err := manifest.Read(text)
	if err != nil {
		return err
	}
	registry, err := plugins.Every()
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range manifest.Check(documents, kinds.Assumed{}, resolve.Operator{Registry: registry}) {
		if f.Severity == manifest.Error {
			errs = append(errs, errors.New(f.Message))
		}
	}
	return errors.Join(errs...)
}

func merge(into, from tree) {
	for key, value := range from {
		below, ok := value.(tree)
		if previous, both := into[key].(tree); ok && both {
			merge(previous, below)
		} else {
			into[key] = value
		}
	}
}

// configuration checks a part of the operator's configuration file.
func configuration(content tree) error {
	whole := tree{"apiVersion": config.APIVersion, "kind": config.Kind}
	maps.Copy(whole, content)
	text, err := yaml.Marshal(whole)
	if err != nil {
		return err
	}
	_, err = config.Parse(text)
	return err
}

func chartValues(t *testing.T) tree {
	t.Helper()
	var out tree
	if err := yaml.Unmarshal([]byte(read(t, "charts/spark-operator/values.yaml")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// values checks that the chart has such keys.
func values(t *testing.T, content tree) error {
	t.Helper()
	return known(chartValues(t), content, "")
}

func known(defaults, content tree, at string) error {
	var errs []error
	for key, value := range content {
		preset, found := defaults[key]
		if !found {
			errs = append(errs, fmt.Errorf("the chart has no value %s%s", at, key))
			continue
		}
		below, nested := value.(tree)
		if free, _ := preset.(tree); nested && len(free) > 0 {
			errs = append(errs, known(free, below, at+key+"."))
		}
	}
	return errors.Join(errs...)
}

var (
	// setting is one assignment of --set, whose value may be a list in braces.
	setting = regexp.MustCompile(`((?:[^=,\\]|\\.)+)=(\{[^}]*\}|[^,]*)`)
	// ofTheChart are keys that are no properties of Spark.
	ofTheChart = regexp.MustCompile(`^(controller|crds|image|prometheus|userRoles|webhook|spark\.(jobNamespaces|jobNamespaceSelector|createJobNamespaces|rbac|serviceAccount))[.\w]*=`)
)

// Each value that a helm command or a sentence sets exists in the chart.
func TestChartValuesExist(t *testing.T) {
	seen := 0
	for name, page := range pages(t) {
		var assignments []string
		for _, c := range commands(page) {
			for i, word := range c.Words {
				if i > 0 && strings.HasPrefix(c.Words[i-1], "--set") || i == 0 && ofTheChart.MatchString(word) {
					assignments = append(assignments, word)
				}
			}
		}
		for _, word := range assignments {
			for _, m := range setting.FindAllStringSubmatch(word, -1) {
				seen++
				if err := values(t, nested(m[1])); err != nil {
					t.Errorf("%s: %s: %v", name, word, err)
				}
			}
		}
	}
	if seen < 12 {
		t.Errorf("only %d values were found: the test does not see what it should", seen)
	}
}

// nested turns a.b into {a: {b: {}}}; a dot behind a backslash is none.
func nested(key string) tree {
	keys := strings.Split(strings.ReplaceAll(key, `\.`, "\x00"), ".")
	content := tree{}
	for _, k := range slices.Backward(keys) {
		content = tree{strings.ReplaceAll(k, "\x00", "."): content}
	}
	return content
}

// The tests above find what is wrong.
func TestChecksCanFail(t *testing.T) {
	for name, test := range map[string]struct{ reason, text, want string }{
		"Field":         {"a field that does not exist", "spec:\n  imagePullPolice: Always\n", "imagePullPolice"},
		"Value":         {"a value that cannot be", "spec:\n  driver: {memory: 2gb}\n", "spec.driver.memory"},
		"Configuration": {"a field that the configuration lacks", "ui: {services: true}\n", "ui.services"},
		"Values":        {"a key that the chart lacks", "controller: {worker: 3}\n", "controller.worker"},
		"Object":        {"a field that a queue lacks", "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nspec: {wait: 1}\n", "wait"},
		"Nothing":       {"a block that is nothing of ours", "nonsense: 1\n", "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := check(t, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want a mention of %s", test.reason, err, test.want)
			}
		})
	}
}
