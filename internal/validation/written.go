// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// source finds the fields that set the parts of a finished pod or StatefulSet.
type source struct {
	// made is the finished object.
	made reflect.Value
	// container is the index of Spark's container in the pod, and own its index in the user's template; -1 if there is none.
	container, own int
	parts          []writtenPart
}

// writtenPart is a part with its path.
type writtenPart struct {
	spark.Written
	at []segment
}

func newSource(made any, container, own int, parts []spark.Written) source {
	s := source{made: reflect.ValueOf(made), container: container, own: own}
	for _, p := range parts {
		s.parts = append(s.parts, writtenPart{p, segments(p.At)})
	}
	return s
}

// sourceOf returns the source of a role's pod. container is the index of Spark's container.
func sourceOf(app spark.Application, role string, pod *corev1.Pod, container int) source {
	own, _ := spark.RoleContainer(app, role)
	wanted := app.Driver
	if role == spark.RoleExecutor {
		wanted = app.Executor
	}
	return newSource(pod, container, own, wanted.Parts(spark.Field(role)))
}

// segment is one step of a path: a name, or the content of brackets.
type segment struct {
	name    string
	bracket bool
}

// segments splits the path of a field.Error, such as "spec.containers[0].resources.limits[example.org/gpu]".
func segments(path string) (out []segment) {
	for path != "" {
		if path[0] == '[' {
			end := max(1, strings.IndexByte(path, ']'))
			out, path = append(out, segment{path[1:end], true}), strings.TrimPrefix(path[end:], "]")
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		out, path = append(out, segment{path[:end], false}), path[end:]
	}
	return out
}

func join(path []segment) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.bracket:
			b.WriteString("[" + s.name + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// child returns the value one step further, by JSON names; the zero Value if there is none.
func child(node reflect.Value, s segment) reflect.Value {
	node = content(node)
	if node.Kind() == reflect.Struct {
		return member(node, s.name)
	}
	if node.Kind() == reflect.Map {
		return content(node.MapIndex(reflect.ValueOf(s.name).Convert(node.Type().Key())))
	}
	if i, err := strconv.Atoi(s.name); node.Kind() == reflect.Slice && err == nil && i >= 0 && i < node.Len() {
		return entry(node, i)
	}
	return reflect.Value{}
}

// entry returns an entry of a list, also an empty one.
func entry(list reflect.Value, i int) reflect.Value {
	e := list.Index(i)
	for e.Kind() == reflect.Pointer || e.Kind() == reflect.Interface {
		e = e.Elem()
	}
	return e
}

// member returns a field of a struct, or of a struct that is inlined in its JSON.
func member(node reflect.Value, name string) reflect.Value {
	for i := range node.NumField() {
		f := node.Type().Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return content(node.Field(i))
		}
		if tag == "" && f.Anonymous && f.Type.Kind() == reflect.Struct {
			if found := member(node.Field(i), name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

// content returns the value behind pointers; the zero Value if JSON would omit it.
func content(v reflect.Value) reflect.Value {
	there := false
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		there = there || v.Kind() == reflect.Pointer && !v.IsNil()
		v = v.Elem()
	}
	if !v.IsValid() || !there && v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return reflect.Value{}
	}
	return v
}

// reach follows a path.
func reach(node reflect.Value, path []segment) reflect.Value {
	node = content(node)
	for _, s := range path {
		node = child(node, s)
	}
	return node
}

// field returns the user's field for a part of the pod; false if the user did not write the part.
func (s source) field(path []segment) (spark.Field, bool) {
	short := path
	if s.inSpark(path) {
		short = append([]segment{{name: spark.WrittenContainer}}, path[3:]...)
	}
	for _, part := range s.parts {
		at, asked := part.at, path
		if len(at) > 0 && at[0].name == spark.WrittenContainer {
			asked = short
		}
		if len(asked) < len(at) || !slices.Equal(asked[:len(at)], at) {
			continue
		}
		built := reach(s.made, path[:len(path)-len(asked)+len(at)])
		if rest, ok := s.rest(asked[len(at):], built, content(reflect.ValueOf(part.Value)), part.At == ""); ok {
			if part.Whole {
				rest = ""
			}
			return part.Field + rest, true
		}
	}
	return "", false
}

// inSpark reports whether a path is in Spark's container.
func (s source) inSpark(path []segment) bool {
	return len(path) >= 3 && join(path[:3]) == "spec.containers["+strconv.Itoa(s.container)+"]"
}

// rest follows a path through the built object and the user's part together. It returns the path with the indices of the user's part. A step that neither has
// is a missing field below the user's part.
func (s source) rest(path []segment, built, own reflect.Value, template bool) (spark.Field, bool) {
	if !own.IsValid() {
		return "", false
	}
	var at spark.Field
	for i, step := range path {
		listed := own.Kind() == reflect.Slice
		built = child(built, step)
		switch {
		case listed && template && i == 2 && s.inSpark(path[:3]):
			own = child(own, segment{name: strconv.Itoa(s.own)})
			at = at.Index(s.own)
		case listed:
			index := sameEntry(own, built, step.name)
			if index < 0 {
				return "", false
			}
			own, at = entry(own, index), at.Index(index)
		case step.bracket:
			own, at = child(own, step), at.Key(step.name)
		default:
			own, at = child(own, step), at+"."+spark.Field(step.name)
		}
		if !own.IsValid() {
			return at + fieldOf(path[i+1:]), !built.IsValid()
		}
	}
	return at, true
}

// fieldOf converts a path to a part of a field.
func fieldOf(path []segment) (at spark.Field) {
	for _, s := range path {
		if _, err := strconv.Atoi(s.name); s.bracket && err != nil {
			at = at.Key(s.name)
			continue
		}
		at += spark.Field(strings.TrimPrefix(join([]segment{{}, s}), "."))
	}
	return at
}

// sameEntry returns the index of the user's entry for an entry of the pod: an equal entry, or the only one with the same name; -1 if there is none.
func sameEntry(entries, built reflect.Value, index string) int {
	if !built.IsValid() {
		return -1
	}
	name := child(built, segment{name: "name"})
	named := func(e reflect.Value) bool {
		own := child(e, segment{name: "name"})
		return own.IsValid() == name.IsValid() && (!name.IsValid() || own.Interface() == name.Interface())
	}
	same := func(e reflect.Value) bool { // names are cheaper to compare than whole entries
		return named(e) && equality.Semantic.DeepEqual(e.Interface(), built.Interface())
	}
	if i, err := strconv.Atoi(index); err == nil && i < entries.Len() && same(entries.Index(i)) {
		return i // of equal entries, prefer the one with the same index
	}
	found, alike := -1, 0
	for i := range entries.Len() {
		e := entries.Index(i)
		if same(e) {
			return i
		}
		if name.IsValid() && named(e) {
			found, alike = i, alike+1
		}
	}
	if alike != 1 {
		return -1
	}
	return found
}

// key returns the property that set a part of the pod; "" if none did.
func (s source) key(conf map[string]string, role string, path []segment) string {
	for i := len(path) - 1; i > 0; i-- {
		list, entry := join(path[:i]), path[i].name
		if s.inSpark(path[:i]) {
			list = strings.TrimSuffix(spark.WrittenContainer+"."+join(path[3:i]), ".")
		}
		if name := child(reach(s.made, path[:i+1]), segment{name: "name"}); name.IsValid() {
			entry = name.String()
		}
		for _, key := range spark.SourceKeys(role, list, entry) {
			if _, set := conf[key]; set {
				return key
			}
		}
		if strings.HasPrefix(list, "spec.volumes") || strings.HasSuffix(list, ".volumeMounts") {
			if key := volumeKey(conf, role, entry); key != "" {
				return key
			}
		}
	}
	return ""
}

// volumeKey returns the first property of a volume.
func volumeKey(conf map[string]string, role, name string) string {
	for _, key := range keysUnder(spark.Application{Conf: conf}, "spark.kubernetes."+role+".volumes.") {
		if parts := strings.SplitN(key, ".", 7); len(parts) > 5 && parts[5] == name {
			return key
		}
	}
	return ""
}
