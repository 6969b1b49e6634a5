// SPDX-License-Identifier: Apache-2.0

package offline

import (
	stdcmp "cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func operator(t *testing.T) Operator {
	t.Helper()
	r, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	return Operator{Registry: r}
}

const good = `apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata:
  name: pi
spec:
  type: Scala
  sparkVersion: 4.1.4
  image: spark:4.1.4
  mainClass: Main
  mainApplicationFile: local:///a.jar
`

func read(t *testing.T, text string) []manifest.Document {
	t.Helper()
	documents, err := manifest.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

func pi(t *testing.T, more string) *v1beta2.SparkApplication {
	t.Helper()
	return read(t, good+more)[0].Application
}

func TestRender(t *testing.T) {
	o := pi(t, "")
	rendered, err := Render(o, Cluster{}, operator(t))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Render(o, Cluster{}, operator(t))
	if diff := cmp.Diff(rendered, again); err != nil || diff != "" {
		t.Errorf("the same manifest gives other objects (%v):\n%s", err, diff)
	}
	if o.UID != "" || o.Namespace != "" {
		t.Error("the application given was changed")
	}
	var kinds []string
	for _, object := range rendered.Objects {
		kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
		owners := object.GetOwnerReferences()
		if object.GetNamespace() != DefaultNamespace || len(owners) != 1 || owners[0].UID != DefaultUID || owners[0].Name != "pi" {
			t.Errorf("%s is in %q and belongs to %v", object.GetName(), object.GetNamespace(), owners)
		}
	}
	if diff := cmp.Diff([]string{"Service", "ConfigMap", "Pod"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	id := spark.NewIdentity(DefaultUID, 1, DefaultSubmitTime)
	driver := rendered.Objects[len(rendered.Objects)-1]
	if driver.GetName() != "pi-driver" || driver.GetLabels()[lifecycle.LabelSubmission] != id.SubmissionID {
		t.Errorf("the driver %s has the labels %v", driver.GetName(), driver.GetLabels())
	}
}

func TestRenderTakesWhatTheClusterKnows(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	o := pi(t, "")
	o.UID = "stored"
	cases := map[string]struct {
		reason    string
		cluster   Cluster
		namespace string
		owner     string
	}{
		"stored": {"the manifest comes from a cluster", Cluster{Namespace: "jobs", SubmitTime: at}, "jobs", "stored"},
		"given":  {"a UID that was given wins", Cluster{UID: "given"}, DefaultNamespace, "given"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rendered, err := Render(o, tc.cluster, operator(t))
			if err != nil {
				t.Fatal(err)
			}
			object := rendered.Objects[0]
			if object.GetNamespace() != tc.namespace || string(object.GetOwnerReferences()[0].UID) != tc.owner {
				t.Errorf("%s: it is in %s and belongs to %v", tc.reason, object.GetNamespace(), object.GetOwnerReferences())
			}
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		more   string
		want   Refusal
	}{
		"checks":    {"the operator's words", "  driver: {memory: 2gb}\n", Refusal{Message: `spec.driver.memory: "2gb": not a heap size`}},
		"scheduler": {"another operator may know it", "  batchScheduler: nobody\n", Refusal{Message: `"nobody" is not known`, Waits: true}},
		"build":     {"Spark's own rules", "  sparkConf: {spark.driver.bindAddress: x}\n", Refusal{Message: `spec.sparkConf["spark.driver.bindAddress"]`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Render(pi(t, tc.more), Cluster{}, operator(t))
			refusal, ok := errors.AsType[*Refusal](err)
			if !ok || !strings.Contains(err.Error(), tc.want.Message) || refusal.Waits != tc.want.Waits {
				t.Errorf("%s: %#v, want %+v", tc.reason, err, tc.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	class := "  batchSchedulerOptions:\n    priorityClassName: high\n"
	cases := map[string]struct {
		reason string
		text   string
		want   []Finding
	}{
		"good":     {"nothing to say", good, nil},
		"other":    {"other kinds are noted", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", []Finding{{1, Note, "Pod x (v1): not checked"}}},
		"slip":     {"a slip in our own kind is no success", "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkAplication\nmetadata: {name: x}\n", []Finding{{1, Error, "SparkAplication x (sparkoperator.k8s.io/v1beta2): sparkoperator.k8s.io has no such kind; write kind: SparkApplication, apiVersion: sparkoperator.k8s.io/v1beta2"}}},
		"sibling":  {"other kinds of our group are noted", "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata: {name: x}\n", []Finding{{1, Note, "ScheduledSparkApplication x (sparkoperator.k8s.io/v1beta2): not checked"}}},
		"no kind":  {"not even an object", "a: b\n", []Finding{{1, Note, "not a Kubernetes object: not checked"}}},
		"no name":  {"a name is needed", strings.ReplaceAll(good, "name: pi", "labels: {}"), []Finding{{3, Error, "metadata.name: missing; an application needs a name"}}},
		"strict":   {"unknown fields", good + "  sparkConfig: {}\n", []Finding{{11, Error, "spec.sparkConfig: there is no such field; the API server would drop it"}}},
		"decoding": {"said once", good + "  arguments: x\n", []Finding{{11, Error, "spec.arguments: a string cannot stand here; write a list"}}},
		"assumes":  {"what the cluster must have", good + class, []Finding{{1, Note, "PriorityClass high must exist"}}},
		"suspended": {
			"what holds it back", good + "  suspend: true\n",
			[]Finding{{11, Note, "spec.suspend: nothing is created while it is true"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Validate(read(t, tc.text), Cluster{}, operator(t))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The words are the operator's; the line is that of the field.
func TestValidateFindsTheLine(t *testing.T) {
	cases := map[string]struct {
		reason   string
		more     string
		line     int
		severity Severity
	}{
		"check":     {"a check of the operator", "  driver:\n    memory: 2gb\n", 12, Error},
		"key":       {"a key of sparkConf", "  sparkConf:\n    spark.a: x\n    spark.driver.bindAddress: x\n", 13, Error},
		"scheduler": {"another operator may know it", "  batchScheduler: nobody\n", 11, Warning},
		"around":    {"what is missing is said of what is there", "  executor:\n    memory: much\n", 12, Error},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Validate(read(t, good+tc.more), Cluster{}, operator(t))
			if len(got) != 1 || got[0].Line != tc.line || got[0].Severity != tc.severity {
				t.Errorf("%s: %+v, want %s in line %d", tc.reason, got, tc.severity, tc.line)
			}
		})
	}
}

// queues is a scheduler that has some.
type queues struct{ kube.Plugin }

func (queues) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "queues", Supports: scheduler.Support{Queues: true}}
}

// What the operator is configured to is part of what it would do.
func TestOperator(t *testing.T) {
	all := scheduler.Policy{Default: "kube", NamespaceDefaults: true}
	all.Enabled = []string{"kube", "queues"}
	annotated, err := scheduler.NewRegistryFor(all, kube.Plugin{}, queues{})
	if err != nil {
		t.Fatal(err)
	}
	const note = "no annotation of namespace team-a must choose a scheduler or a queue"
	none := int32(0)
	here := func(p policy.Policy) func(*Operator) {
		p.Name, p.Namespaces = "team", []string{"team-*"}
		return func(o *Operator) { o.Policies = policy.Set{p} }
	}
	url := exposure.Config{Service: true, Ingress: exposure.Ingress{URLFormat: "ui.example/{{$appName}}"}}
	cases := map[string]struct {
		reason    string
		configure func(*Operator)
		more      string
		namespace string
		conf      map[string]string
		refused   string
		findings  []Finding
	}{
		"Defaults": {
			reason: "they reach the driver", configure: here(policy.Policy{Defaults: policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}}),
			conf: map[string]string{spark.ConfDriverMemory: "3g"},
		},
		"OtherNamespace": {
			reason: "the policy is not for it", namespace: "jobs",
			configure: here(policy.Policy{Defaults: policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}, Limits: policy.Limits{Executors: &none}}),
			conf:      map[string]string{spark.ConfDriverMemory: ""},
		},
		"Limits": {
			reason: "the operator's words, at the field", configure: here(policy.Policy{Limits: policy.Limits{Executors: &none}}), more: "  executor:\n    instances: 2\n",
			refused:  `spec.executor.instances: "2": namespace team-a allows at most 0 executors at a time (operator policy "team")`,
			findings: []Finding{{12, Error, `spec.executor.instances: "2": namespace team-a allows at most 0 executors at a time (operator policy "team")`}},
		},
		"Retention": {
			reason: "how long it is kept, too", configure: here(policy.Policy{Limits: policy.Limits{TimeToLiveSeconds: new(int64(60))}}), more: "  timeToLiveSeconds: 61\n",
			refused:  `spec.timeToLiveSeconds: "1m1s": namespace team-a allows at most 60 seconds (operator policy "team")`,
			findings: []Finding{{11, Error, `spec.timeToLiveSeconds: "1m1s": namespace team-a allows at most 60 seconds (operator policy "team")`}},
		},
		"Exposure": {
			reason: "the UI knows its path", configure: func(o *Operator) { o.Exposure = url }, conf: map[string]string{spark.ConfUIProxyBase: "/pi"},
		},
		"Annotations": {
			reason: "what the namespace says is not known", configure: func(o *Operator) { o.Registry = annotated }, conf: map[string]string{}, findings: []Finding{{1, Note, note}},
		},
		"AnnotatedQueue": {
			reason: "the queue may be the namespace's", configure: func(o *Operator) { o.Registry = annotated }, more: "  batchScheduler: queues\n", findings: []Finding{{1, Note, note}},
		},
		"OwnQueue": {
			reason: "everything is chosen", configure: func(o *Operator) { o.Registry = annotated }, more: "  batchScheduler: queues\n  batchSchedulerOptions: {queue: a}\n",
		},
		"OwnWord": {
			reason: "who names a scheduler has chosen", configure: func(o *Operator) { o.Registry = annotated }, more: "  batchScheduler: kube\n", conf: map[string]string{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configured := operator(t)
			tc.configure(&configured)
			cluster := Cluster{Namespace: stdcmp.Or(tc.namespace, "team-a")}
			rendered, err := Render(pi(t, tc.more), cluster, configured)
			if tc.refused != "" && (err == nil || err.Error() != tc.refused) || tc.refused == "" && err != nil {
				t.Fatalf("%s: %v, want %q", tc.reason, err, tc.refused)
			}
			for key, want := range tc.conf {
				if got := property(rendered, key); got != want {
					t.Errorf("%s: %s is %q, want %q", tc.reason, key, got, want)
				}
			}
			if diff := cmp.Diff(tc.findings, Validate(read(t, good+tc.more), cluster, configured)); diff != "" {
				t.Errorf("%s: findings (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// property is what the driver reads of a property; "" if it is not there.
func property(r Rendered, key string) string {
	for _, object := range r.Objects {
		configMap, ok := object.(*corev1.ConfigMap)
		if !ok {
			continue
		}
		for line := range strings.Lines(configMap.Data["spark.properties"]) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name == key {
				return value
			}
		}
	}
	return ""
}
