// SPDX-License-Identifier: Apache-2.0

package lenient

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mismatch is a value of an object that does not fit its Go type.
type Mismatch struct {
	// Path is the path of the value: spec.driver.sidecars[0].image, spec.sparkConf["spark.x"].
	Path string
	// Message begins with the path, and describes the error and a correct value; "" for an unknown field.
	Message string
}

// Compare compares an object, decoded from JSON without a type, with its Go type. It is needed because Kubernetes' decoder stops at the first value of a wrong
// type, and names neither key nor index. wrong has the values that cannot be decoded, and unknown the fields that the type lacks.
func Compare(object map[string]any, t reflect.Type) (wrong, unknown []Mismatch) {
	var y typing
	y.compare(object, t, "")
	return y.wrong, y.unknown
}

// NamesAt returns the field names of the struct that contains the end of a path; none if the path does not exist.
func NamesAt(t reflect.Type, path string) []string {
	if t = TypeAt(t, path[:max(0, strings.LastIndex(path, "."))]); t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	return slices.Sorted(maps.Keys(FieldsOf(t)))
}

// TypeAt returns the type at a path of a type; nil if the path does not exist.
func TypeAt(t reflect.Type, path string) reflect.Type {
	if path != "" {
		for step := range strings.SplitSeq(strings.NewReplacer("[", ".[").Replace(path), ".") {
			if t = under(t, step); t == nil {
				return nil
			}
		}
	}
	return pointed(t)
}

// under returns the type of a field, an element or a value; nil if there is none.
func under(t reflect.Type, step string) reflect.Type {
	switch t = pointed(t); {
	case t.Kind() == reflect.Struct:
		return FieldsOf(t)[step]
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return t.Elem()
	}
	return nil
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// typing collects the mismatches of an object.
type typing struct{ wrong, unknown []Mismatch }

var decodes = reflect.TypeFor[json.Unmarshaler]()

// compare finds all mismatches at and below a path.
func (y *typing) compare(value any, t reflect.Type, path string) {
	t = pointed(t)
	switch {
	case value == nil || t.Kind() == reflect.Interface:
	case reflect.PointerTo(t).Implements(decodes):
		y.decode(value, t, path)
	default:
		y.plain(value, t, path)
	}
}

// decode tries the type's own decoder.
func (y *typing) decode(value any, t reflect.Type, path string) {
	text, err := json.Marshal(value)
	switch {
	case err == nil && t == quantity && Endless(fmt.Sprint(value)):
		y.wrong = append(y.wrong, Mismatch{Path: path, Message: fmt.Sprintf("%s: %s: %s", path, cut(string(text), maxShown), endless)})
		return
	case err == nil:
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err == nil {
		return
	}
	message, known := rightly[t]
	if !known {
		message = err.Error()
	}
	y.wrong = append(y.wrong, Mismatch{Path: path, Message: fmt.Sprintf("%s: %s: %s", path, cut(string(text), maxShown), message)})
}

// maxShown bounds a value in a message, in bytes.
const maxShown = 100

// rightly describes correct values of types whose own errors name neither the value nor a remedy.
var rightly = map[reflect.Type]string{
	reflect.TypeFor[metav1.Duration](): `not a duration; write a number and a unit, such as "90s", "30m" or "24h"`,
	reflect.TypeFor[metav1.Time]():     `not a time in RFC 3339; write one such as "2026-01-31T08:30:00Z"`,
	quantity:                           `not a quantity; write a number with a unit, such as "500m", "512Mi" or "2Gi"`,
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
	switch t.Kind() { //nolint:exhaustive // all other kinds are mismatches
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			y.compare(value[key], t.Elem(), path+"["+strconv.Quote(key)+"]")
		}
	case reflect.Struct:
		fields := FieldsOf(t)
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			if field, known := fields[key]; known {
				y.compare(value[key], field, at)
				continue
			}
			y.unknown = append(y.unknown, Mismatch{Path: at})
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
	case !isWhole && math.Abs(asFloat(value)) >= math.MaxInt64:
		y.tooLarge(path, "the number", t)
	case !isWhole:
		y.wrong = append(y.wrong, Mismatch{Path: path, Message: fmt.Sprintf("%s: %v is not valid here; write a whole number", path, value)})
	case reflect.Zero(t).OverflowInt(whole):
		y.tooLarge(path, strconv.FormatInt(whole, 10), t)
	}
}

func (y *typing) tooLarge(path, what string, t reflect.Type) {
	most := int64(math.MaxInt64) >> (64 - t.Bits())
	y.wrong = append(y.wrong, Mismatch{Path: path, Message: fmt.Sprintf("%s: %s is too large; write a number of at most %d", path, what, most)})
}

// asFloat returns a number that has a fraction or exceeds the range of integers.
func asFloat(value any) float64 {
	f, _ := value.(float64)
	return f
}

func (y *typing) mistyped(is string, t reflect.Type, path string) {
	y.wrong = append(y.wrong, Mismatch{Path: path, Message: fmt.Sprintf("%s: %s %s is not valid here; write %s", path, article(is), is, describeKind(t.Kind()))})
}

func article(word string) string {
	if strings.HasPrefix(word, "a") || strings.HasPrefix(word, "o") {
		return "an"
	}
	return "a"
}

// FieldsOf returns the types of fields by their JSON names, including inlined fields.
func FieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			maps.Copy(fields, FieldsOf(field.Type))
		case name != "":
			fields[name] = field.Type
		}
	}
	return fields
}

// describeKind describes a Go type as a value in a manifest.
func describeKind(kind reflect.Kind) string {
	switch kind {
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a map"
	default:
		return "a string, in quotes if it looks like a number"
	}
}
