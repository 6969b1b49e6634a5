// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// FuzzNormalise feeds everything that the API server can store. Normalize never panics, never changes its input, is
// deterministic, and what it returns shares no map with the input that a later step could write to.
func FuzzNormalise(f *testing.F) {
	for _, tc := range fieldCases() {
		o := testutil.Pi()
		tc.set(&o.Spec)
		text, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{}`, `{"spec":null}`, `{"metadata":{"labels":{"":""}},"spec":{"mode":"client"}}`,
		`{"spec":{"driver":{"memoryLimit":"99999999999999999999p","gpu":{"name":"","quantity":-1}}}}`,
		`{"spec":{"driver":{"template":{"spec":{"containers":"none"}}}}}`,
		`{"spec":{"volumes":[{"name":"spark-local-dir-"},{"name":"spark-local-dir-","emptyDir":{}}],"driver":{"volumeMounts":[{"name":"spark-local-dir-"}]}}}`,
		`{"spec":{"sparkConf":{"":"","spark.dynamicAllocation.enabled":"maybe"},"executor":{"configMaps":[{"name":"","path":""}]}}}`,
	} {
		f.Add([]byte(text))
	}
	addBombs(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		defer heaptest.Bound(t, len(text))()
		var o v1beta2.SparkApplication
		if json.Unmarshal(text, &o) != nil {
			return // the API server would not have stored it
		}
		before := o.DeepCopy()
		app, problems := Normalize(&o)
		if diff := cmp.Diff(before, &o); diff != "" {
			t.Fatalf("the input was changed (-before +after):\n%s", diff)
		}
		again, _ := Normalize(&o)
		if diff := cmp.Diff(app, again); diff != "" {
			t.Fatalf("not deterministic:\n%s", diff)
		}
		for _, p := range problems {
			if p.Problem == "" || p.Field == spark.FieldSpec && p.Key == "" && app.Malformed == "" {
				t.Errorf("a problem names its field and what is wrong: %+v", p)
			}
		}
		for _, m := range []map[string]string{app.Conf, app.OperatorConf, app.Labels} {
			if m != nil {
				m["written.by.a.later.step"] = "x"
			}
		}
		if app.Origins != nil {
			app.Origins["written.by.a.later.step"] = spark.Origin{}
		}
		if diff := cmp.Diff(before, &o); diff != "" {
			t.Fatalf("the model shares a map with the input (-before +after):\n%s", diff)
		}
	})
}

// addBombs adds applications that are small and expand to what is not.
func addBombs(f *testing.F) {
	f.Helper()
	for _, conf := range heaptest.Bombs() {
		o := testutil.Pi()
		o.Spec.SparkConf = conf
		text, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

// FuzzSubmission goes one step further: whatever can be stored is built, or refused with a sentence; and what validation
// accepts is built.
func FuzzSubmission(f *testing.F) {
	text, err := json.Marshal(testutil.Pi())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"spec":{"sparkVersion":"4.1","mainApplicationFile":"x.py","executor":{"instances":-1}}}`))
	profile, err := spark.ProfileFor("4.1")
	if err != nil {
		f.Fatal(err)
	}
	addBombs(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		defer heaptest.Bound(t, len(text))()
		var o v1beta2.SparkApplication
		if json.Unmarshal(text, &o) != nil {
			return // the API server would not have stored it
		}
		before := o.DeepCopy()
		app, _ := Normalize(&o)
		found := objections(&o)
		for _, f := range found {
			if validation.Explain(app, f) == "" || f.Problem == "" {
				t.Errorf("a finding says nothing: %+v", f)
			}
		}
		release := profile
		if own, err := spark.ProfileFor(app.SparkVersion); err == nil {
			release = own
		}
		_, err := spark.Build(app, spark.NewIdentity(app.UID, 1, now), release)
		if len(found) == 0 && err != nil {
			t.Errorf("accepted, but refused by Build: %v", err)
		}
		var refusal *spark.ConfError
		if err != nil && !errors.As(err, &refusal) {
			t.Errorf("a refusal that the author can lift names what to change: %v", err)
		}
		if diff := cmp.Diff(before, &o); diff != "" {
			t.Fatalf("building changed the stored object (-before +after):\n%s", diff)
		}
	})
}
