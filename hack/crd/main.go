// SPDX-License-Identifier: Apache-2.0

// Command crd makes the generated CustomResourceDefinitions smaller. It also makes every version keep the fields of the others.
//
//	go run ./hack/crd FILE...
//
// Core Kubernetes types inside a CRD (containers, volumes, affinity ...) would take most of its size. If the Go types mark such a field with
// x-kubernetes-preserve-unknown-fields, its schema keeps only the types of the first level. That is enough to refuse a number in place of a string (the usual
// error in env), and the API server drops no field of a manifest.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

const preserve = "x-kubernetes-preserve-unknown-fields"

// kept are the keys that determine how a value is decoded. The validation of pods checks rules such as required or enum.
var kept = []string{"type", "format", "items", "additionalProperties", "anyOf", "pattern", "x-kubernetes-int-or-string"}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: crd FILE...")
		os.Exit(2)
	}
	var errs []error
	for _, path := range os.Args[1:] {
		if err := rewrite(path); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rewrite(path string) error {
	in, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	out, err := shrink(in)
	if err != nil {
		return err
	}
	return os.WriteFile(path, out, 0o644)
}

// shrink returns the CRD with its marked schemas reduced. It returns its own result unchanged.
func shrink(crd []byte) ([]byte, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(crd, &doc); err != nil {
		return nil, fmt.Errorf("read yaml: %w", err)
	}
	walk(doc)
	keep(doc)
	out, err := yaml.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write yaml: %w", err)
	}
	return append([]byte("---\n"), out...), nil
}

// walk reduces the marked schemas anywhere below node.
func walk(node any) {
	switch node := node.(type) {
	case map[string]any:
		if node[preserve] == true {
			trim(node)
			return
		}
		for name, child := range node {
			if _, root := node["spec"]; name != "status" || !root { // keep marks a status
				walk(child)
			}
		}
		if items, ok := node["items"].(map[string]any); ok && items[preserve] == true {
			delete(items, "description") // this is the core type's description, and the list has our own
		}
	case []any:
		for _, child := range node {
			walk(child)
		}
	}
}

// trim reduces a marked schema to the types of its properties. It omits nested objects, because the mark preserves them.
func trim(schema map[string]any) {
	delete(schema, "required")
	delete(schema, "x-kubernetes-map-type")
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	maps.DeleteFunc(properties, func(_ string, property any) bool { return nested(property) })
	for _, property := range properties {
		bare(property)
	}
	if len(properties) == 0 {
		delete(schema, "properties")
	}
}

// nested reports whether a schema is an object with properties, or contains one.
func nested(node any) bool {
	schema, ok := node.(map[string]any)
	if !ok {
		return false
	}
	_, object := schema["properties"]
	return object || nested(schema["items"]) || nested(schema["additionalProperties"])
}

// bare removes everything but types from a schema without nested objects.
func bare(node any) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	maps.DeleteFunc(schema, func(key string, _ any) bool { return !slices.Contains(kept, key) })
	bare(schema["items"])
	bare(schema["additionalProperties"])
}
