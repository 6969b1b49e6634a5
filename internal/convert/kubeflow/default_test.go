// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// bare is pi without a word that has a default.
func bare() *v1beta2.SparkApplication {
	o := testutil.Pi()
	o.Spec.Type = ""
	return o
}

func TestDefault(t *testing.T) {
	usual := []string{"type", "mode", "restartPolicy.type", "driver.cores", "driver.memory", "executor.cores", "executor.memory", "executor.instances"}
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(usual), func(name string) bool { return slices.Contains(names, name) })
	}
	with := func(names ...string) []string {
		list := slices.Clone(usual)
		at := slices.Index(list, "restartPolicy.type") + 1
		return slices.Insert(list, at, names...)
	}
	cases := map[string]struct {
		reason string
		spec   string
		fields []string
		want   string
	}{
		"Nothing": {
			reason: "the values of the Kubeflow operator's webhook", spec: `{}`, fields: usual,
			want: `{"type":"Scala","mode":"cluster","restartPolicy":{"type":"Never"},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g","instances":1}}`,
		},
		"Python": {
			reason: "Scala would contradict the file", spec: `{"mainApplicationFile":"local:///a.py"}`, fields: usual,
			want: `{"mainApplicationFile":"local:///a.py","type":"Python","mode":"cluster","restartPolicy":{"type":"Never"},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g","instances":1}}`,
		},
		"R": {
			reason: "Scala would contradict the file", spec: `{"mainApplicationFile":"local:///a.R"}`, fields: usual,
			want: `{"mainApplicationFile":"local:///a.R","type":"R","mode":"cluster","restartPolicy":{"type":"Never"},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g","instances":1}}`,
		},
		"Restarts": {
			reason: "what restarts has intervals", spec: `{"type":"Java","restartPolicy":{"type":"Always","onFailureRetryInterval":7}}`,
			fields: slices.DeleteFunc(with("restartPolicy.onSubmissionFailureRetryInterval"), func(s string) bool { return s == "type" || s == "restartPolicy.type" }),
			want:   `{"type":"Java","mode":"cluster","restartPolicy":{"type":"Always","onFailureRetryInterval":7,"onSubmissionFailureRetryInterval":5},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g","instances":1}}`,
		},
		"Rules": {
			reason: "rules without a type mean OnFailure, and Never would forbid them", spec: `{"restartPolicy":{"infrastructure":{"retries":2}}}`,
			fields: with("restartPolicy.onFailureRetryInterval", "restartPolicy.onSubmissionFailureRetryInterval"),
			want:   `{"type":"Scala","mode":"cluster","restartPolicy":{"type":"OnFailure","infrastructure":{"retries":2},"onFailureRetryInterval":5,"onSubmissionFailureRetryInterval":5},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g","instances":1}}`,
		},
		"SparkConf": {
			reason: "what sparkConf says would be overridden", fields: without("driver.cores", "driver.memory", "executor.cores", "executor.memory", "executor.instances"),
			spec: `{"sparkConf":{"spark.driver.cores":"2","spark.driver.memory":"2g","spark.executor.cores":"3","spark.executor.memory":"3g","spark.executor.instances":"4"}}`,
			want: `{"type":"Scala","mode":"cluster","restartPolicy":{"type":"Never"},"driver":{},"executor":{},"sparkConf":{"spark.driver.cores":"2","spark.driver.memory":"2g","spark.executor.cores":"3","spark.executor.memory":"3g","spark.executor.instances":"4"}}`,
		},
		"Dynamic": {
			reason: "Spark chooses the number of executors", spec: `{"dynamicAllocation":{"enabled":true}}`,
			fields: append(without("executor.instances"), "dynamicAllocation.shuffleTrackingEnabled"),
			want:   `{"type":"Scala","mode":"cluster","restartPolicy":{"type":"Never"},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g"},"dynamicAllocation":{"enabled":true,"shuffleTrackingEnabled":true}}`,
		},
		"DynamicByConf": {
			reason: "their webhook misspells the property", spec: `{"sparkConf":{"spark.dynamicAllocation.enabled":"TRUE"}}`, fields: without("executor.instances"),
			want: `{"type":"Scala","mode":"cluster","restartPolicy":{"type":"Never"},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g"},"sparkConf":{"spark.dynamicAllocation.enabled":"TRUE"}}`,
		},
		"NotDynamic": {
			reason: "it is turned off", spec: `{"dynamicAllocation":{}}`, fields: usual,
			want: `{"type":"Scala","mode":"cluster","restartPolicy":{"type":"Never"},"driver":{"cores":1,"memory":"1g"},"executor":{"cores":1,"memory":"1g","instances":1},"dynamicAllocation":{}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var o, want v1beta2.SparkApplication
			decode(t, tc.spec, &o.Spec)
			decode(t, tc.want, &want.Spec)
			Default(&o)
			if diff := cmp.Diff(want.Spec, o.Spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := o.Annotations[AnnotationDefaulted]; got != strings.Join(tc.fields, ",") {
				t.Errorf("%s: it tells of %s,\nwant %s", tc.reason, got, strings.Join(tc.fields, ","))
			}
		})
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultLeavesAlone(t *testing.T) {
	malformed := bare()
	malformed.MalformedSpec, malformed.Spec = "json: cannot unmarshal", v1beta2.SparkApplicationSpec{}
	complete := bare()
	Default(complete)
	complete.Annotations = nil
	for reason, o := range map[string]*v1beta2.SparkApplication{
		"what cannot be decoded would be lost": malformed, "everything is the user's": complete,
	} {
		before := o.DeepCopy()
		Default(o)
		if diff := cmp.Diff(before, o); diff != "" {
			t.Errorf("%s (-before +after):\n%s", reason, diff)
		}
	}
}

// variants are applications that differ in one field each, and in what the defaults look at.
func variants() map[string]*v1beta2.SparkApplication {
	all := map[string]*v1beta2.SparkApplication{"bare": bare(), "pi": testutil.Pi()}
	for path, tc := range fieldCases() {
		o := bare()
		tc.set(&o.Spec)
		all[path] = o
	}
	conf := map[string]string{}
	for key, value := range map[string]string{
		"spark.driver.cores": "2", "spark.driver.memory": "2g", "spark.executor.cores": "2", "spark.executor.memory": "2g",
		"spark.executor.instances": "2", "spark.dynamicAllocation.enabled": "true",
	} {
		o := bare()
		o.Spec.SparkConf = map[string]string{key: value}
		all[key] = o
		conf[key] = value
	}
	o := bare()
	o.Spec.SparkConf = conf
	all["conf"] = o
	return all
}

// Defaults are what is treated as nothing: with them the same is run, refused and remarked upon.
func TestDefaultChangesNothing(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			defaulted := o.DeepCopy()
			Default(defaulted)
			if a, b := SpecHash(o), SpecHash(defaulted); a != b {
				t.Errorf("the hash %s becomes %s: a running application would be run again", a, b)
			}
			if diff := cmp.Diff(outcome(t, o), outcome(t, defaulted)); diff != "" {
				t.Errorf("(-without defaults +with):\n%s", diff)
			}
			again := defaulted.DeepCopy()
			Default(again)
			if diff := cmp.Diff(defaulted, again); diff != "" {
				t.Errorf("a second pass changes something:\n%s", diff)
			}
		})
	}
}

// result is what comes of an application.
type result struct {
	Submission   spark.Submission
	Policies     lifecycle.Policies
	RaisedMemory string
	Says         []string
}

func outcome(t *testing.T, o *v1beta2.SparkApplication) result {
	t.Helper()
	var r result
	app, _ := Normalize(o)
	r.Policies, _ = Policies(o)
	if RaisesMemory(o) {
		r.RaisedMemory = WithRaisedMemory(app, o, 1).Conf[spark.ConfDriverMemory]
	}
	for _, p := range objections(o) {
		r.Says = append(r.Says, validation.Explain(app, p))
	}
	for _, w := range validation.Warnings(app) {
		r.Says = append(r.Says, validation.Explain(app, w))
	}
	// What Spark takes for nothing need not be in its properties.
	for key, preset := range map[string]string{"spark.driver.cores": "1", "spark.driver.memory": "1g", "spark.executor.cores": "1", "spark.executor.memory": "1g"} {
		if _, set := app.Conf[key]; !set {
			app.Conf[key] = preset
		}
	}
	profile, err := spark.ProfileFor(app.SparkVersion)
	if err == nil {
		r.Submission, err = spark.Build(app, spark.NewIdentity(app.UID, 1, now), profile)
	}
	if c, ok := errors.AsType[*spark.ConfError](err); ok {
		r.Says = append(r.Says, validation.Explain(app, c))
	}
	return r
}

// An edit means the same whether defaults were stored before or not, and whoever sends it: kubectl replace sends the
// manifest, kubectl apply what has changed in it.
func TestDefaultSurvivesEdits(t *testing.T) {
	all := variants()
	names := slices.Sorted(maps.Keys(all))
	least := bare()
	Default(least)
	usual := least.Annotations[AnnotationDefaulted]
	for _, from := range names {
		stored := all[from].DeepCopy()
		Default(stored)
		for _, to := range names {
			want := all[to].DeepCopy()
			Default(want)
			if stored.Annotations[AnnotationDefaulted] == usual && want.Annotations[AnnotationDefaulted] == usual {
				continue // no default comes or goes
			}
			put := all[to].DeepCopy()
			Default(put)
			applied := apply(t, stored, all[from], all[to])
			Default(applied)
			for how, got := range map[string]*v1beta2.SparkApplication{"replace": put, "apply": applied} {
				if !equality.Semantic.DeepEqual(want.Spec, got.Spec) {
					t.Errorf("%s of %s over %s (-want +got):\n%s", how, to, from, cmp.Diff(want.Spec, got.Spec))
				}
			}
		}
	}
}

// apply changes what is stored by the difference between two manifests.
func apply(t *testing.T, stored, from, to *v1beta2.SparkApplication) *v1beta2.SparkApplication {
	t.Helper()
	patch, err := jsonpatch.CreateMergePatch([]byte(mustJSON(t, from)), []byte(mustJSON(t, to)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := jsonpatch.MergePatch([]byte(mustJSON(t, stored)), patch)
	if err != nil {
		t.Fatal(err)
	}
	var out v1beta2.SparkApplication
	decode(t, string(text), &out)
	return &out
}
