// SPDX-License-Identifier: Apache-2.0

// Package definitions compares the schemas of an API server with Go types, because the API server silently drops every field that its schema lacks. It is pure,
// and knows no kind.
package definitions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Schema is the part of an OpenAPI v3 schema that the comparison needs.
type Schema struct {
	Properties           map[string]Schema
	Items                *Schema
	AdditionalProperties json.RawMessage           // a schema, or a boolean
	Preserve             bool                      `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds                []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

// Decode decodes the JSON document that an API server publishes for a group version.
func Decode(document []byte) (map[schema.GroupVersionKind]Schema, error) {
	var served struct {
		Components struct{ Schemas map[string]Schema }
	}
	if err := json.Unmarshal(document, &served); err != nil {
		return nil, err
	}
	all := map[schema.GroupVersionKind]Schema{}
	for _, s := range served.Components.Schemas {
		for _, kind := range s.Kinds {
			all[kind] = s
		}
	}
	return all, nil
}

// Some joins up to five fields, and counts the others.
func Some(fields []string) string {
	const few = 5
	if len(fields) <= few {
		return strings.Join(fields, ", ")
	}
	return fmt.Sprintf("%s and %d more fields", strings.Join(fields[:few], ", "), len(fields)-few)
}

// Lacking returns the fields of a type that a schema lacks. A type with its own encoding, such as a time, has no fields.
func Lacking(t reflect.Type, served Schema, path string) []string {
	if served.Preserve || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return Lacking(t.Elem(), served, path)
	case reflect.Slice:
		if served.Items != nil {
			return Lacking(t.Elem(), *served.Items, path+"[]")
		}
	case reflect.Map:
		var values Schema
		if json.Unmarshal(served.AdditionalProperties, &values) == nil {
			return Lacking(t.Elem(), values, path+".*")
		}
	case reflect.Struct:
		var all []string
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			inner, found := served.Properties[name]
			switch {
			case name == "-":
			case name == "":
				all = append(all, Lacking(field.Type, served, path)...)
			case !found:
				all = append(all, path+"."+name)
			default:
				all = append(all, Lacking(field.Type, inner, path+"."+name)...)
			}
		}
		return all
	default:
	}
	return nil
}
