// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/lenient"
	"github.com/firesteel-dev/firesteel/internal/hints"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// meant says what to write instead of an unknown field; "" if nothing is known. If another API or kind has a field of this name, the hint names the field that
// does the same here. Otherwise it names the place of a field with this name, or a field with a similar name.
func (d *Document) meant(object map[string]any, path string) string {
	h := hinter{row: d.Row, t: reflect.TypeOf(d.Row.Fields()), object: object}
	return h.hint(path)
}

// hinter finds replacements for the unknown fields of an object.
type hinter struct {
	row    *kinds.Row
	t      reflect.Type
	object map[string]any
}

func (h hinter) hint(path string) string {
	value, of := valueAt(h.object, path), h.otherKind(path)
	block, _ := value.(map[string]any)
	if of != nil && len(block) > 0 {
		if places := h.parts(of, path, block); len(places) > 0 {
			return "write " + text.Some(places)
		}
	}
	if places := h.places(of, path, value); len(places) > 0 {
		_, name := hints.Parted(path)
		return hints.Write(places) + unit(h.t, name, places[0])
	}
	parent, _ := hints.Parted(path)
	names := lenient.NamesAt(h.t, path)
	unknown := func(key string) bool { return !slices.Contains(names, key) }
	if len(block) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(block)), unknown) {
		return "write its fields below " + strings.TrimSuffix(parent, ".")
	}
	hint := hints.Field(h.t, path, value)
	if hint == "" && of != nil {
		return "it is a field of a " + of.Kind + " of " + of.GroupVersion().String()
	}
	return hint
}

// parts finds the places for the fields of a block that another kind has.
func (h hinter) parts(of *kinds.Row, path string, block map[string]any) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(block)) {
		at := path + "." + key
		places := h.places(of, at, block[key])
		if inner, is := block[key].(map[string]any); is && len(places) == 0 {
			places = h.parts(of, at, inner)
		}
		all = append(all, places...)
	}
	return all
}

// places finds the place for a value: from the way another kind reads the field, or from a synonym of its name.
func (h hinter) places(of *kinds.Row, path string, value any) []string {
	if of != nil {
		if found := h.shared(of, path, value); len(found) > 0 {
			return found
		}
	}
	parent, name := hints.Parted(path)
	for _, word := range synonyms[name] {
		at := h.row.Family.Fields.Path(spark.Field(word))
		if strings.HasPrefix(at, "annotation ") || h.takes(at, value) {
			return []string{at}
		}
		if h.takes(parent+word, value) {
			return []string{parent + word}
		}
		if places := hints.Elsewhere(h.t, parent+word, value); len(places) > 0 {
			return places
		}
	}
	if of == nil {
		return nil
	}
	return h.properties(of, path)
}

// takes reports whether a path is a property, or a field that can hold the value.
func (h hinter) takes(path string, value any) bool {
	if at, _, property := strings.Cut(path, `["`); property {
		return lenient.TypeAt(h.t, at) != nil
	}
	t := lenient.TypeAt(h.t, path)
	return t != nil && hints.Fits(t, value)
}

// unit names the unit of the field at a place, unless the unknown field's name also has the unit.
func unit(t reflect.Type, name, place string) string {
	if lenient.TypeAt(t, place) == reflect.TypeFor[metav1.Duration]() {
		return `, a duration such as "30m"`
	}
	for suffix, in := range map[string]string{"Millis": ", in milliseconds", "Seconds": ", in seconds"} {
		if strings.HasSuffix(place, suffix) && !strings.Contains(name, suffix) {
			return in
		}
	}
	return ""
}

// otherKind returns the row of another kind that has the field; nil if none has it.
func (h hinter) otherKind(path string) *kinds.Row {
	for _, other := range kinds.All() {
		if other != h.row && lenient.TypeAt(reflect.TypeOf(other.Fields()), path) != nil {
			return other
		}
	}
	return nil
}

// shared finds the fields of this kind that correspond to a field of another kind, by the names that all kinds share.
func (h hinter) shared(of *kinds.Row, path string, value any) []string {
	var found []string
	for _, name := range sharedNames(of, path) {
		at := h.row.Family.Fields.Path(name)
		if key := spark.DependencyProperties[name]; key != "" && !h.takes(at, value) {
			at = h.conf(key)
		}
		if at == path || !h.takes(at, value) {
			continue
		}
		found = slices.DeleteFunc(found, func(other string) bool { return within(at, other) })
		found = append(found, at)
	}
	return found
}

// conf returns the path of a Spark property.
func (h hinter) conf(key string) string {
	return h.row.Family.Fields.Path(spark.FieldSparkConf.Key(key))
}

// sharedNames returns the shared names for a field of a kind.
func sharedNames(of *kinds.Row, path string) (shared []spark.Field) {
	fields := of.Family.Fields
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "" && fields[name] == path {
			shared = append(shared, name)
		}
	}
	if rest, below := strings.CutPrefix(path, fields.Path(spark.FieldSpec)+"."); below && len(shared) == 0 {
		shared = append(shared, spark.Field(rest))
	}
	return shared
}

// valueAt returns the value of a field; nil if it is absent, or if the path leads through a list.
func valueAt(object map[string]any, path string) any {
	var value any = object
	for step := range strings.SplitSeq(path, ".") {
		of, _ := value.(map[string]any)
		value = of[step]
	}
	return value
}

// properties returns the paths of the Spark properties that another kind derives from a field, if this kind takes properties.
func (h hinter) properties(of *kinds.Row, path string) (all []string) {
	if of.Read == nil || !h.takes(h.row.Family.Fields.Path(spark.FieldSparkConf), nil) {
		return nil
	}
	whole := maps.Clone(h.object)
	whole["apiVersion"], whole["kind"] = of.GroupVersion().String(), of.Kind
	content, err := json.Marshal(whole)
	if err != nil {
		return nil
	}
	o, malformed, err := of.Decode(content)
	if err != nil || malformed != "" {
		return nil
	}
	app := of.Read(o, resolve.Operator{}, kinds.DefaultSubmitTime).App
	for _, key := range slices.Sorted(maps.Keys(app.Origins)) {
		if from, _, _ := strings.Cut(app.Field(key), `["`); within(from, path) && valueAt(h.object, from) != nil {
			all = append(all, h.conf(key))
		}
	}
	return all
}
