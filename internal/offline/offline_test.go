/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package offline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func registry(t *testing.T) *scheduler.Registry {
	t.Helper()
	r, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	return r
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
	rendered, err := Render(o, Cluster{}, registry(t))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Render(o, Cluster{}, registry(t))
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
			rendered, err := Render(o, tc.cluster, registry(t))
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
			_, err := Render(pi(t, tc.more), Cluster{}, registry(t))
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
			if diff := cmp.Diff(tc.want, Validate(read(t, tc.text), Cluster{}, registry(t))); diff != "" {
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
			got := Validate(read(t, good+tc.more), Cluster{}, registry(t))
			if len(got) != 1 || got[0].Line != tc.line || got[0].Severity != tc.severity {
				t.Errorf("%s: %+v, want %s in line %d", tc.reason, got, tc.severity, tc.line)
			}
		})
	}
}
