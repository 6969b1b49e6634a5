// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
)

// apiField is one field of the spec.
type apiField struct {
	// Path is the field's path in the spec, such as "driver.cores". "[]" is any element, ".<name>" any key.
	Path string
	// Type is the type of the value in a manifest.
	Type string
	// Owner and Name are the Go type and field, for looking up the comment.
	Owner, Name string
	// Effects are the Spark properties and parts of pods that change with the field.
	Effects []string
	// Restarts is set if an edit makes the application run again. Other edits take effect immediately, or with the next attempt.
	Restarts bool
	// Late is set if an edit takes effect only for later executors, without a restart.
	Late bool
	// Edit describes the effect of an edit if Restarts does not; "" otherwise.
	Edit string
	// Ignored explains why the field has no effect; "" if it has one.
	Ignored string
}

// apiFields returns the fields of the spec in the order of the Go types.
func apiFields() []apiField {
	var all []apiField
	visit(reflect.ValueOf(sample()).Elem().FieldByName("Spec"), "", func(f apiField, _ reflect.Value) { all = append(all, f) })
	for i := range all {
		o := effects(all[i].Path)
		all[i].Effects, all[i].Restarts, all[i].Late = o.Effects, o.Restarts, o.Late && !o.Restarts
		all[i].Ignored = ignored(all[i].Path)
	}
	return all
}

// ignored returns the reason why a path, or a field around it, is ignored; "" if it is not.
func ignored(path string) string {
	for prefix, reason := range kubeflow.Ignored() {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return reason
		}
	}
	return ""
}

// api is the prefix of the APIs' package paths.
var api, _, _ = strings.Cut(reflect.TypeFor[v1beta2.SparkApplicationSpec]().PkgPath(), "sparkoperator/")

// ours reports whether a type is a struct of the API. The fields of such a struct are visited one by one.
func ours(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), api)
}

// visit calls leaf for every field below a struct of the API. leaf may change the given value.
func visit(v reflect.Value, prefix string, leaf func(apiField, reflect.Value)) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			visit(value, prefix, leaf)
			continue
		}
		path := prefix + name
		switch t := field.Type; {
		case ours(t):
			visit(value, path+".", leaf)
		case t.Kind() == reflect.Pointer && ours(t.Elem()):
			visit(value.Elem(), path+".", leaf)
		case t.Kind() == reflect.Slice && ours(t.Elem()):
			visit(value.Index(0), path+"[].", leaf)
		case t.Kind() == reflect.Map && ours(t.Elem()):
			for _, key := range value.MapKeys() {
				element := reflect.New(t.Elem()).Elem()
				element.Set(value.MapIndex(key))
				visit(element, path+".<name>.", leaf)
				value.SetMapIndex(key, element)
			}
		default:
			leaf(apiField{Path: path, Type: typeName(t), Owner: v.Type().Name(), Name: field.Name}, value)
		}
	}
}

// typeName returns the name of a type in the CRD. Types of Kubernetes keep their names.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		if strings.HasPrefix(t.PkgPath(), "k8s.io/") {
			return t.Name()
		}
		return "map of " + typeName(t.Elem())
	case reflect.Struct:
		return t.Name()
	case reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Bool:
		return "boolean"
	default:
		return "string"
	}
}

const scheduleHead = `
## Fields of ScheduledSparkApplication

What they do is in [Schedules](schedules.md). An edit acts at once, on the runs to come.

| Field of ` + "`spec`" + ` | Type | Description |
|---|---|---|
`

// scheduleTable lists the fields of a schedule. Its template has the fields of an application, which are listed above.
func scheduleTable(comments map[string]string) (string, error) {
	var b strings.Builder
	b.WriteString(scheduleHead)
	err := scheduleRows(&b, reflect.TypeFor[v1beta2.ScheduledSparkApplicationSpec](), "", comments)
	return b.String(), err
}

func scheduleRows(b *strings.Builder, t reflect.Type, prefix string, comments map[string]string) error {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		below := field.Type
		if below.Kind() == reflect.Pointer {
			below = below.Elem()
		}
		if ours(below) && below != reflect.TypeFor[v1beta2.SparkApplicationSpec]() {
			if err := scheduleRows(b, below, prefix+name+".", comments); err != nil {
				return err
			}
			continue
		}
		comment := comments[t.Name()+"."+field.Name]
		if comment == "" {
			return fmt.Errorf("%s.%s has no comment", t.Name(), field.Name)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", named("scheduled.", prefix+name), typeName(field.Type), cell(comment))
	}
	return nil
}
