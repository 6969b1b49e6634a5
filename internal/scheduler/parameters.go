// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// DecodeParameters decodes the plugin options into a struct that holds the defaults. Each error names its parameter, which is unknown, of a wrong type, or
// given twice. Names are case-sensitive.
func DecodeParameters(a Attempt, options any) field.ErrorList {
	if text := bytes.TrimSpace(a.Parameters); len(text) == 0 || string(text) == "null" {
		return nil
	}
	var given map[string]json.RawMessage
	twice, err := kjson.UnmarshalStrict(a.Parameters, &given)
	if err != nil {
		return field.ErrorList{Invalid(a.Field(FieldParameters), "must be an object of parameters and their values")}
	}
	var findings field.ErrorList
	for _, problem := range twice {
		findings = append(findings, Invalid(a.Field(FieldParameters), problem.Error()))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if problem := decodeParameter(a.Scheduler, name, given[name], options); problem != "" {
			findings = append(findings, Invalid(a.Field(FieldParameters)+"."+name, problem))
		}
	}
	return findings
}

// WithDefaults adds defaults for parameters that are missing or null, because null means no value in Kubernetes objects. If the parameters are not an object,
// DecodeParameters reports it.
func WithDefaults(given json.RawMessage, defaults string) json.RawMessage {
	if defaults == "" {
		return given
	}
	if text := bytes.TrimSpace(given); len(text) == 0 || string(text) == "null" {
		return json.RawMessage(defaults)
	}
	var all, own map[string]json.RawMessage
	if twice, err := kjson.UnmarshalStrict(given, &own); err != nil || len(twice) > 0 || json.Unmarshal([]byte(defaults), &all) != nil {
		return given
	}
	for name, value := range own {
		if _, known := all[name]; !known || string(value) != "null" {
			all[name] = value
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return given
	}
	return text
}

// decodeParameter decodes one parameter and returns its error.
func decodeParameter(plugin, name string, value json.RawMessage, options any) string {
	object, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return err.Error()
	}
	unknown, err := kjson.UnmarshalStrict(object, options)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		return fmt.Sprintf("%s: must be %s", value, kindOf(mismatch.Type))
	case err != nil:
		return fmt.Sprintf("%s: %v", value, err)
	case len(unknown) > 0:
		return "is not a parameter of " + plugin + "; " + oneOf(parameterNames(options))
	}
	return ""
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	return "must be one of " + strings.Join(names, ", ")
}

// parameterNames returns the field names of the options struct, in order.
func parameterNames(options any) []string {
	t := reflect.Indirect(reflect.ValueOf(options)).Type()
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, cmp.Or(name, f.Name))
	}
	slices.Sort(names)
	return names
}

// kindOf returns the JSON name of a Go type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Int32, reflect.Int64, reflect.Int:
		return "a whole number"
	default:
		return "a " + t.Kind().String()
	}
}

// Ignored returns the application's options that have no meaning for the named scheduler. They do not block the application.
func (r *Registry) Ignored(scheduler string, asked spark.Scheduling, fields spark.Fields) field.ErrorList {
	if r == nil || r.plugins[scheduler].plugin == nil {
		return nil
	}
	return ignored(r.plugins[scheduler].own, asked, fields)
}

func ignored(d Descriptor, asked spark.Scheduling, fields spark.Fields) field.ErrorList {
	var all field.ErrorList
	add := func(name spark.Field, why string) {
		all = append(all, &field.Error{
			Type: field.ErrorTypeInvalid, Field: fields.Path(name), BadValue: field.OmitValueType{},
			Detail: "has no effect: the scheduler " + strconv.Quote(d.Name) + " " + why,
		})
	}
	if asked.Queue != "" && asked.QueueFrom == "" && !d.Supports.Queues {
		add(FieldQueue, "has no queues")
	}
	if len(asked.Resources) > 0 && !d.Supports.Resources {
		add(FieldResources, "takes what the pods ask for")
	}
	return all
}
