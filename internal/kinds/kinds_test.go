// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"reflect"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/config/crd"
)

// The rows are the kinds that are defined, by the names that the API server gives them.
func TestRowsAreTheDefinitions(t *testing.T) {
	files, err := crd.Definitions.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(All()) {
		t.Fatalf("there are %d definitions and %d rows", len(files), len(All()))
	}
	for _, file := range files {
		text, err := crd.Definitions.ReadFile("bases/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		names := d.Spec.Names
		var row *Row
		for i, v := range d.Spec.Versions {
			if of := Of(schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: names.Kind}); i > 0 && of != row {
				t.Errorf("version %s of %s has another row than the others", v.Name, d.Name)
			} else {
				row = of
			}
		}
		switch {
		case row == nil:
			t.Errorf("%s has no row", d.Name)
		case row.Plural != names.Plural || row.Singular() != names.Singular || !slices.Contains(names.ShortNames, row.Short):
			t.Errorf("%s is called %+v, and in its row %s, %s, %s", d.Name, names, row.Plural, row.Singular(), row.Short)
		}
	}
}

func TestRowsFitTogether(t *testing.T) {
	for _, row := range All() {
		t.Run(row.Kind, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := row.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			if kinds, _, err := scheme.ObjectKinds(row.New()); err != nil || !slices.Contains(kinds, row.GroupVersionKind) {
				t.Errorf("New returns a %v (%v)", kinds, err)
			}
			if of := row.Family.GroupVersionKind(); of != row.GroupVersionKind && row != ScheduledSparkApplication {
				t.Errorf("Family is that of %s", of)
			}
			if slices.ContainsFunc(All(), func(other *Row) bool { return other.Group == row.Group && other.Optional != row.Optional }) {
				t.Errorf("Optional is that of only some kinds of %s", row.Group)
			}
			if (row.Read != nil) == (row.ReadSchedule != nil || row.ReadCluster != nil) || (row.ReadSchedule != nil) != (row.TriggerAt != "") {
				t.Error("its objects are read as what they are not")
			}
			if s := row.Family.Submitter; s.User == "" || s.Groups == "" {
				t.Errorf("admission has no annotations for the submitter: %+v", s)
			}
			fields, object := reflect.TypeOf(row.Fields()).Elem(), reflect.TypeOf(row.New()).Elem()
			if !fields.ConvertibleTo(object) {
				t.Errorf("Fields has not the fields of %s", object)
			}
			o, malformed, err := row.Decode([]byte(`{"metadata": {"name": "pi"}, "spec": {"typo": 1, "sparkVersion": ["4"], "schedule": ["@daily"], "runtimeVersions": "4"}}`))
			if err != nil || o.GetName() != "pi" || malformed == "" || reflect.TypeOf(o) != reflect.TypeOf(row.New()) {
				t.Errorf("Decode returns %T %q with the malformed spec %q (%v)", o, o.GetName(), malformed, err)
			}
		})
	}
}

// Who writes a kind of ours wrong learns how it is written.
func TestServed(t *testing.T) {
	const want = "kind: SparkApplication or ScheduledSparkApplication, apiVersion: sparkoperator.k8s.io/v1beta2, or kind: SparkConnect, apiVersion: sparkoperator.k8s.io/v1alpha1"
	if got := Served("sparkoperator.k8s.io"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Served("apps"); got != "" {
		t.Errorf("another group: %q", got)
	}
}
