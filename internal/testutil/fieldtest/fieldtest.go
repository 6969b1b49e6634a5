// SPDX-License-Identifier: Apache-2.0

// Package fieldtest compares a manifest that has every field of a kind with the kind's Go type.
package fieldtest

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Read reads a manifest into object, a pointer to a type without a lenient decoder.
func Read(t *testing.T, file string, object any) []byte {
	t.Helper()
	manifest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(manifest, object); err != nil {
		t.Fatalf("the manifest names an unknown field or a wrong type: %v", err)
	}
	return manifest
}

// RoundTrip fails the test unless object is encoded to the same manifest.
func RoundTrip(t *testing.T, manifest []byte, object any) {
	t.Helper()
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := yaml.Unmarshal(manifest, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-) and its way through the Go types (+) differ:\n%s", diff)
	}
}

// ours is the path prefix of packages whose types are walked. A type of another package counts as one field.
const ours = "github.com/firesteel-dev/firesteel/api/"

// Unset returns the paths of zero fields in a value.
func Unset(value any, path string) []string {
	var unset []string
	walk(reflect.ValueOf(value), path, &unset)
	return unset
}

func walk(value reflect.Value, path string, unset *[]string) {
	switch value.Kind() {
	case reflect.Pointer:
		walk(value.Elem(), path, unset)
	case reflect.Slice:
		for i := range value.Len() {
			walk(value.Index(i), path+"[]", unset)
		}
	case reflect.Struct:
		if !strings.HasPrefix(value.Type().PkgPath(), ours) {
			return
		}
		for field, child := range value.Fields() {
			childPath := path + "." + field.Name
			if child.IsZero() {
				*unset = append(*unset, childPath)
				continue
			}
			walk(child, childPath, unset)
		}
	default:
	}
}
