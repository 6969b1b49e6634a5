// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// hole is a list, a map or a text of an object, which is filled. The types say which there are, those of Kubernetes included, where the
// definition of the kind is open.
type hole struct {
	kind schema.GroupVersionKind
	// path is where it is: names of fields; [] is an element of a list, {} a value of a map.
	path []string
	typ  reflect.Type
}

func (h hole) String() string {
	return h.kind.Kind + " " + strings.NewReplacer(".[]", "[]", ".{}", "{}").Replace(strings.Join(h.path, "."))
}

// holes returns those of a kind. A type of Kubernetes that several fields have is looked into once, one of this API once for
// each field of the spec.
func holes(kind schema.GroupVersionKind, object any) []hole {
	w := walker{kind: kind, seen: map[string]bool{}}
	t := reflect.TypeOf(object)
	spec, _ := t.FieldByName("Spec")
	w.walk([]string{"spec"}, spec.Type)
	return w.found
}

// allHoles are those of all kinds. The template of a schedule is the spec of an application: of a schedule only what is its own counts.
func allHoles() []hole {
	all := holes(application, v1beta2.SparkApplication{})
	for _, h := range holes(schedule, v1beta2.ScheduledSparkApplication{}) {
		if h.path[1] != "template" || len(h.path) == 3 {
			all = append(all, h)
		}
	}
	for _, h := range holes(connect, v1alpha1.SparkConnect{}) {
		if t := strings.Join(h.path, "."); !strings.Contains(t, ".template.spec.") {
			all = append(all, h)
		}
	}
	return all
}

type walker struct {
	kind  schema.GroupVersionKind
	seen  map[string]bool
	found []hole
}

// leaves are types that are written as one text or number.
var leaves = map[reflect.Type]bool{
	reflect.TypeFor[resource.Quantity](): true, reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true,
	reflect.TypeFor[metav1.Duration](): true, reflect.TypeFor[intstr.IntOrString](): true, reflect.TypeFor[metav1.FieldsV1](): true,
}

func (w *walker) walk(path []string, t reflect.Type) {
	at := func(more ...string) []string { return append(append([]string{}, path...), more...) }
	switch {
	case leaves[t] || t.Kind() == reflect.String:
		w.found = append(w.found, hole{w.kind, path, t})
	case t.Kind() == reflect.Pointer:
		w.walk(path, t.Elem())
	case t.Kind() == reflect.Slice:
		w.found = append(w.found, hole{w.kind, path, t})
		w.walk(at("[]"), t.Elem())
	case t.Kind() == reflect.Map:
		w.found = append(w.found, hole{w.kind, path, t})
		w.walk(at("{}"), t.Elem())
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				w.walk(path, f.Type)
			case name != "" && name != "-" && !w.once(path, t, name):
				w.walk(at(name), f.Type)
			}
		}
	}
}

// once reports whether a field was looked into before, and remembers it.
func (w *walker) once(path []string, t reflect.Type, name string) bool {
	key := t.PkgPath() + "." + t.Name() + "." + name
	if own(t) {
		key = strings.Join(path, ".") + "/" + key
	}
	known := w.seen[key]
	w.seen[key] = true
	return known
}

// own reports whether a type is one of this API.
func own(t reflect.Type) bool { return strings.Contains(t.PkgPath(), "firesteel") }

// smallest is the shortest text that may be a value of a type.
func smallest(t reflect.Type) string {
	switch {
	case leaves[t], t.Kind() == reflect.String:
		return `""`
	case t.Kind() == reflect.Pointer:
		return smallest(t.Elem())
	case t.Kind() == reflect.Slice:
		return "[]"
	case t.Kind() == reflect.Map:
		return "{}"
	case t.Kind() == reflect.Bool:
		return "false"
	case t.Kind() != reflect.Struct:
		return "0"
	case !own(t):
		return "{}"
	}
	fields := []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && options == "" {
			fields = append(fields, `"`+name+`":`+smallest(f.Type))
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// fill returns so many bytes of a value of the hole's type.
func (h hole) fill(size int) string {
	var b strings.Builder
	b.Grow(size + 16)
	switch h.typ.Kind() {
	case reflect.Slice:
		element := smallest(h.typ.Elem())
		b.WriteString("[" + element)
		for b.Len()+len(element) < size {
			b.WriteString("," + element)
		}
		b.WriteString("]")
	case reflect.Map:
		value := smallest(h.typ.Elem())
		b.WriteString(`{"a":` + value)
		for i := 0; b.Len()+len(value) < size; i++ {
			b.WriteString(`,"` + key(i) + `":` + value)
		}
		b.WriteString("}")
	default:
		return `"` + strings.Repeat("1", max(1, size-2)) + `"`
	}
	return b.String()
}

// key is the i-th of many short keys, which are labels and names of environment variables as well.
func key(i int) string {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	text := "a"
	for ; i > 0; i /= len(digits) {
		text += string(digits[i%len(digits)])
	}
	return text + "b"
}

// in returns an object whose holes are filled, as a text.
func (a *arena) in(name string, values map[*hole]string) (string, error) {
	var o map[string]any
	for h, text := range values {
		if o == nil {
			u, err := a.object(h.kind, name)
			if err != nil {
				return "", err
			}
			o = u.Object
		}
		put(o, h.path, json.RawMessage(text))
	}
	text, err := json.Marshal(o)
	return string(text), err
}

// put lays a value under a path, and makes what is missing on the way. Elements of lists get the name that most have to have.
func put(in any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch path[0] {
	case "[]":
		list, _ := in.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = put(list[0], path[1:], value)
		if element, ok := list[0].(map[string]any); ok && element["name"] == nil {
			element["name"] = "x"
		}
		return list
	case "{}":
		path = append([]string{"x"}, path[1:]...)
	}
	object, _ := in.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	object[path[0]] = put(object[path[0]], path[1:], value)
	return object
}

// isText reports whether a hole is a text, and not a list or a map.
func (h hole) isText() bool { return h.typ.Kind() != reflect.Slice && h.typ.Kind() != reflect.Map }

// isPod reports whether a hole is in a pod template of Kubernetes.
func (h hole) isPod() bool { return strings.Contains(strings.Join(h.path, "."), ".template.") }
