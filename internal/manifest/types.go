// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// typing compares an object with the Go type that it is decoded into: Kubernetes' decoder stops at the first value of a wrong type, and
// names neither key nor index.
type typing struct {
	// wrong are values that cannot be decoded, unknown the paths of fields that the type lacks.
	wrong, unknown []mismatch
}

// mismatch is a place of an object, with what is wrong there; for an unknown field with the names that would be right.
type mismatch struct {
	path, message string
	names         []string
}

var decodes = reflect.TypeFor[json.Unmarshaler]()

// compare finds all that is wrong at a path and below it.
func (y *typing) compare(value any, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case value == nil || t.Kind() == reflect.Interface:
	case reflect.PointerTo(t).Implements(decodes):
		y.decode(value, t, path)
	default:
		y.plain(value, t, path)
	}
}

// decode tries a type that decodes itself.
func (y *typing) decode(value any, t reflect.Type, path string) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err == nil {
		return
	}
	message, known := rightly[t]
	if !known {
		message = err.Error()
	}
	y.wrong = append(y.wrong, mismatch{path: path, message: fmt.Sprintf("%s: %s: %s", path, text, message)})
}

// rightly says what would be right for types whose own errors name neither value nor remedy.
var rightly = map[reflect.Type]string{
	reflect.TypeFor[metav1.Duration]():   `not a duration; write a number and a unit, such as "90s", "30m" or "24h"`,
	reflect.TypeFor[metav1.Time]():       `not a time in RFC 3339; write one such as "2026-01-31T08:30:00Z"`,
	reflect.TypeFor[resource.Quantity](): `not a quantity; write a number with a unit, such as "500m", "512Mi" or "2Gi"`,
}

func (y *typing) plain(value any, t reflect.Type, path string) {
	switch v := value.(type) {
	case map[string]any:
		y.object(v, t, path)
	case []any:
		if t.Kind() != reflect.Slice {
			y.mistyped("array", t, path)
			return
		}
		for i, one := range v {
			y.compare(one, t.Elem(), path+"["+strconv.Itoa(i)+"]")
		}
	case string:
		if t.Kind() != reflect.String && (t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8) {
			y.mistyped("string", t, path)
		}
	case bool:
		if t.Kind() != reflect.Bool {
			y.mistyped("bool", t, path)
		}
	default:
		y.number(v, t, path)
	}
}

func (y *typing) object(value map[string]any, t reflect.Type, path string) {
	switch t.Kind() { //nolint:exhaustive // all others are mistakes
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			y.compare(value[key], t.Elem(), path+"["+strconv.Quote(key)+"]")
		}
	case reflect.Struct:
		fields := fieldsOf(t)
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			if field, known := fields[key]; known {
				y.compare(value[key], field, at)
				continue
			}
			y.unknown = append(y.unknown, mismatch{path: at, names: slices.Sorted(maps.Keys(fields))})
		}
	default:
		y.mistyped("object", t, path)
	}
}

// number checks a number, which is an int64 or a float64.
func (y *typing) number(value any, t reflect.Type, path string) {
	whole, isWhole := value.(int64)
	switch {
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
	case t.Kind() != reflect.Int && t.Kind() != reflect.Int32 && t.Kind() != reflect.Int64:
		y.mistyped("number", t, path)
	case !isWhole:
		y.wrong = append(y.wrong, mismatch{path: path, message: fmt.Sprintf("%s: %v is not valid here; write a whole number", path, value)})
	case reflect.Zero(t).OverflowInt(whole):
		y.wrong = append(y.wrong, mismatch{path: path, message: fmt.Sprintf("%s: %d is too large; write a number of at most %d", path, whole, int64(1)<<(t.Bits()-1)-1)})
	}
}

func (y *typing) mistyped(is string, t reflect.Type, path string) {
	y.wrong = append(y.wrong, mismatch{path: path, message: fmt.Sprintf("%s: %s %s is not valid here; write %s", path, article(is), is, describeKind(t.Kind()))})
}

func article(word string) string {
	if strings.HasPrefix(word, "a") || strings.HasPrefix(word, "o") {
		return "an"
	}
	return "a"
}

// fieldsOf are the fields of a type by their names in JSON, with those of what is inlined.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			maps.Copy(fields, fieldsOf(field.Type))
		case name != "":
			fields[name] = field.Type
		}
	}
	return fields
}
