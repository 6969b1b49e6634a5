// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// schemas is an API server that serves schemas.
type schemas map[string]string

func (s schemas) Paths() (map[string]openapi.GroupVersion, error) {
	if s == nil {
		return nil, errors.New("connection refused")
	}
	paths := map[string]openapi.GroupVersion{}
	for path, text := range s {
		paths[path] = document(text)
	}
	return paths, nil
}

type document string

func (d document) Schema(string) ([]byte, error) { return []byte(d), nil }
func (d document) ServerRelativeURL() string     { return "" }

// servedBy is what an API server publishes of the definition in config/crd, after a change.
func servedBy(t *testing.T, change func(status map[string]any)) schemas {
	t.Helper()
	text, err := os.ReadFile("../../config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	served := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	status, found, err := unstructured.NestedFieldNoCopy(served, "properties", "status")
	if !found || err != nil {
		t.Fatalf("no schema of the status: %v", err)
	}
	change(status.(map[string]any))
	served["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": v1beta2.GroupVersion.Group, "version": v1beta2.GroupVersion.Version, "kind": "SparkApplication"}}
	all, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": map[string]any{"it": served, "other": map[string]any{"additionalProperties": true}}}})
	if err != nil {
		t.Fatal(err)
	}
	return schemas{"apis/" + v1beta2.GroupVersion.String(): string(all)}
}

// olderRelease makes the definitions those of a release that kept only the fields that it knew, and lacked one.
func olderRelease(fields ...string) func(map[string]any) {
	return func(status map[string]any) {
		unstructured.RemoveNestedField(status, fields...)
		testutil.CloseSchema(status)
	}
}

func TestDefinitions(t *testing.T) {
	cases := map[string]struct {
		reason string
		served schemas
		says   []string // "" for nothing
	}{
		"Current": {reason: "the one of this release", served: servedBy(t, func(map[string]any) {})},
		"Older":   {reason: "a field that was added since", served: servedBy(t, olderRelease("properties", "specHash")), says: []string{"SparkApplication lacks status.specHash; the API server drops"}},
		"Inner":   {reason: "a field of a list", served: servedBy(t, olderRelease("properties", "attempts", "items", "properties", "attempt")), says: []string{"status.attempts[].attempt;"}},
		"Kubeflow": {reason: "the most that is lacking is counted", served: servedBy(t, func(status map[string]any) {
			testutil.CloseSchema(status)
			status["properties"] = map[string]any{"applicationState": map[string]any{"x-kubernetes-preserve-unknown-fields": true}}
		}), says: []string{"more fields"}},
		"Open": {reason: "everything is kept", served: servedBy(t, func(status map[string]any) {
			delete(status, "properties")
			status["x-kubernetes-preserve-unknown-fields"] = true
		})},
		"Kept":   {reason: "a field that the schema does not name is kept, too", served: servedBy(t, func(status map[string]any) { unstructured.RemoveNestedField(status, "properties", "specHash") })},
		"None":   {reason: "it is not installed; others say so", served: schemas{}},
		"Absent": {reason: "an API server that does not answer is no reason for an event", served: nil},
	}
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(5)
			var logged strings.Builder
			d := &comparison{
				log: funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{}), served: tc.served, scheme: scheme,
				versions: []schema.GroupVersion{v1beta2.GroupVersion}, recorder: recorder, pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "it"}},
			}
			d.look()
			d.look()
			close(recorder.Events)
			var all []string
			for event := range recorder.Events {
				all = append(all, event)
			}
			if len(tc.says) == 0 {
				if len(all) > 0 || tc.served != nil && logged.Len() > 0 {
					t.Errorf("%s: events %q, log %s", tc.reason, all, logged.String())
				}
				return
			}
			if len(all) != 1 || !strings.HasPrefix(all[0], "Warning DefinitionsOutdated") {
				t.Fatalf("%s: events %q, want one", tc.reason, all)
			}
			for _, text := range tc.says {
				if !strings.Contains(all[0], text) || strings.Count(logged.String(), "the definitions are older than this operator") != 1 {
					t.Errorf("%s: it does not say %q: %q; log %s", tc.reason, text, all[0], logged.String())
				}
			}
		})
	}
}

// TestDefinitionsUpdated : what was reported is taken back.
func TestDefinitionsUpdated(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	d := &comparison{log: funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{}), scheme: scheme, versions: []schema.GroupVersion{v1beta2.GroupVersion}}
	d.served = servedBy(t, olderRelease("properties", "cause"))
	d.look()
	d.served = servedBy(t, func(map[string]any) {})
	d.look()
	if text := logged.String(); !strings.Contains(text, "lacks status.cause") || !strings.Contains(text, "have all fields") {
		t.Errorf("the log says %s", text)
	}
}
