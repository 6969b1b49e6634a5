// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// A field of the status that FromStatus or ToStatus forgets would be lost, or kept for ever, without this.
func TestEveryStatusFieldIsWritten(t *testing.T) {
	manifest, err := os.ReadFile("../../../api/sparkoperator/v1beta2/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var app v1beta2.SparkApplication
	if err := yaml.Unmarshal(manifest, &app); err != nil {
		t.Fatal(err)
	}
	record, written := FromStatus(&app.Status), map[string]bool{}
	for _, record.State = range lifecycle.States() { // some fields are only there while an application waits
		outcome := lifecycle.Outcome{Record: record, Conditions: []lifecycle.Condition{{Type: lifecycle.ConditionAdmitted}}}
		status := ToStatus(&v1beta2.SparkApplicationStatus{}, outcome, now)
		collect(fields(t, &status), "status", written)
	}
	want := map[string]bool{}
	collect(fields(t, &app.Status), "status", want)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(written))); diff != "" {
		t.Errorf("fields of the manifest's status (-) and of what is written for it (+) differ:\n%s", diff)
	}
}

func fields(t *testing.T, s *v1beta2.SparkApplicationStatus) map[string]any {
	t.Helper()
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// collect adds the paths of the fields of a JSON value.
func collect(value any, path string, found map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			collect(child, path+"."+name, found)
		}
	case []any:
		for _, child := range v {
			collect(child, path+"[]", found)
		}
	default:
		found[path] = true
	}
}
