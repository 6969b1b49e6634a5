// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func TestNormalizeProblems(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    func(*v1beta2.SparkApplication)
		field  string
		value  string
		says   string
	}{
		"Client":    {reason: "a driver outside of pods", set: func(o *v1beta2.SparkApplication) { o.Spec.Mode = v1beta2.DeployModeClient }, field: "spec.mode", value: "client", says: `"cluster"`},
		"Malformed": {reason: "a spec that cannot be decoded", set: func(o *v1beta2.SparkApplication) { o.MalformedSpec = "json: cannot unmarshal string" }, field: "spec", says: "json: cannot unmarshal string"},
		"Limit":     {reason: "a limit that is no size", set: func(o *v1beta2.SparkApplication) { o.Spec.Driver.MemoryLimit = new("much") }, field: "spec.driver.memoryLimit", value: "much", says: `"2g"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(o)
			_, problems := Normalize(o)
			if len(problems) != 1 {
				t.Fatalf("%s: %d problems, want one: %v", tc.reason, len(problems), problems)
			}
			p := problems[0]
			if sparkApplications.Fields.Path(p.Field) != tc.field || p.Value != tc.value || !strings.Contains(p.Problem, tc.says) {
				t.Errorf("%s: got field %q, value %q, problem %q; want %q, %q and a problem with %q", tc.reason, p.Field, p.Value, p.Problem, tc.field, tc.value, tc.says)
			}
		})
	}
}

func TestClusterModeIsFine(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Mode = v1beta2.DeployModeCluster
	normalize(t, o)
}

func TestAllProblemsAreReported(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Mode = v1beta2.DeployModeClient
	o.Spec.Driver.MemoryLimit, o.Spec.Executor.MemoryLimit = new("a"), new("b")
	if _, problems := Normalize(o); len(problems) != 3 {
		t.Errorf("%d problems, want all 3 at once: %v", len(problems), problems)
	}
}

// An application whose spec cannot be decoded still has its identity, so that it can be told about.
func TestMalformedSpecKeepsIdentity(t *testing.T) {
	text := `{"metadata":{"namespace":"jobs","name":"pi","uid":"u","generation":3},"spec":{"driver":{"template":{"spec":{"containers":"none"}}}}}`
	var o v1beta2.SparkApplication
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	app, problems := Normalize(&o)
	if len(problems) != 1 {
		t.Fatalf("%d problems, want one", len(problems))
	}
	if app.Namespace != "jobs" || app.Name != "pi" || app.UID != "u" || app.Generation != 3 || app.OperatorConf[spark.ConfDriverPodName] != "pi-driver" {
		t.Errorf("identity is lost: %+v", app)
	}
}

func TestIdentity(t *testing.T) {
	app := normalize(t, testutil.Pi())
	want := spark.Application{Namespace: "jobs", Name: "pi", UID: "7b0f0a52-0000-4000-8000-000000000001", Generation: 1}
	got := spark.Application{Namespace: app.Namespace, Name: app.Name, UID: app.UID, Generation: app.Generation}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if app.Submitter.User != "spark" {
		t.Errorf("submitter %q: the user of the official images is spark", app.Submitter.User)
	}
}

// Messages name fields of the user's object, also for what is no property.
func TestPathsOfModelFields(t *testing.T) {
	want := map[spark.Field]string{
		spark.FieldSparkVersion: "spec.sparkVersion", spark.FieldMainFile: "spec.mainApplicationFile", spark.FieldMainClass: "spec.mainClass",
		spark.FieldDriverName: "spec.driver.podName", spark.FieldName: "metadata.name", spark.FieldSpec: "spec",
	}
	for field, path := range want {
		for _, schedule := range []bool{false, true} {
			app := SparkApplications{Template: schedule}.Load(testutil.Pi(), lifecycle.Record{}).App
			if schedule && path != "metadata.name" {
				path = strings.Replace(path, "spec", "spec.template", 1)
			}
			if got := app.Fields.Path(field); got != path {
				t.Errorf("%s is said to come from %q, want %q", field, got, path)
			}
		}
	}
}

// An unknown field may have the name of a field that all families share, and is still the user's.
func TestUnknownFieldsKeepTheirPaths(t *testing.T) {
	o := testutil.Pi()
	o.UnknownFields = []string{"spec.ports", "spec.driver.volumes[0].nam"}
	for schedule, want := range map[bool]string{false: "spec.ports spec.driver.volumes[0].nam", true: "spec.template.ports spec.template.driver.volumes[0].nam"} {
		app := SparkApplications{Template: schedule}.Load(o, lifecycle.Record{}).App
		var paths []string
		for _, w := range app.Warnings {
			paths = append(paths, app.PathOf(w))
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Package lifecycle knows no API family, but its labels are this family's.
func TestLabelsAgreeWithTheAPI(t *testing.T) {
	pairs := map[string][2]string{
		"app":         {v1beta2.LabelAppName, v1beta2.LabelAppName},
		"launched by": {v1beta2.LabelLaunchedBy, v1beta2.LabelLaunchedBy},
		"submission":  {v1beta2.LabelSubmissionID, v1beta2.LabelSubmissionID},
	}
	for name, pair := range pairs {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q here, %q in the API", name, pair[0], pair[1])
		}
	}
}
