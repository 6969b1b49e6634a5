// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/config/crd"
	"github.com/firesteel-dev/firesteel/internal/definitions"
)

// schemaOf is the schema in the definition of a kind.
func schemaOf(t *testing.T, r *Row) definitions.Schema {
	t.Helper()
	text, err := crd.Definitions.ReadFile("bases/" + r.Group + "_" + r.Plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema json.RawMessage }
			}
		}
	}
	if err := yaml.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	for _, v := range stored.Spec.Versions {
		if v.Name == r.Version {
			var s definitions.Schema
			if err := json.Unmarshal(v.Schema.OpenAPIV3Schema, &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
	t.Fatalf("no version %s", r.Version)
	return definitions.Schema{}
}

func TestLacking(t *testing.T) {
	for _, r := range All() {
		if lacks := r.Lacking(schemaOf(t, r)); len(lacks) > 0 {
			t.Errorf("%s: its own definition lacks %v", r.GroupVersionKind, lacks)
		}
	}
	older := schemaOf(t, SparkApplication)
	delete(older.Properties["spec"].Properties, "suspend")
	delete(older.Properties["spec"].Properties["driver"].Properties, "memory")
	if diff := cmp.Diff([]string{"spec.suspend", "spec.driver.memory"}, SparkApplication.Lacking(older)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lacks := SparkConnect.Lacking(definitions.Schema{}); len(lacks) == 0 {
		t.Error("a definition without a schema lacks nothing")
	}
}
