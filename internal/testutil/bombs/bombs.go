// SPDX-License-Identifier: Apache-2.0

// Package bombs generates specs that are small as text and as large as possible in memory. For each list, map and string of a type, at any depth, one spec
// fills it with the smallest elements.
package bombs

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Bomb is a spec with one field of a type filled.
type Bomb struct {
	// Name is the path of the field, with the variant of its content.
	Name string
	path []step
	fill filler
}

// Budget is the maximum size of a spec: bytes, values, and objects and lists among the values.
type Budget struct{ Bytes, Values, Nodes int }

// filler writes the value of a field within a budget.
type filler func(Budget) string

// step is a field of a struct. It may be a list, whose first element contains the next step, or a map with one entry.
type step struct {
	field       string
	list, keyed bool
	// named is set if the element has a name.
	named bool
}

// Of returns the bombs of a type, one or more for each field of each struct. A struct's field that is reachable on several paths counts once below each field
// of the type itself.
func Of(t reflect.Type) []Bomb {
	var all []Bomb
	for _, f := range fieldsOf(t) {
		w := walker{seen: map[string]bool{}}
		w.field(f, t, nil)
		all = append(all, w.found...)
	}
	return all
}

type walker struct {
	seen  map[string]bool
	found []Bomb
}

// depth bounds the depth of fields.
const depth = 9

// field adds the bombs of a struct's field, and of the fields below it.
func (w *walker) field(f member, parent reflect.Type, path []step) {
	id := parent.String() + "." + f.name
	if w.seen[id] || len(path) > depth {
		return
	}
	w.seen[id] = true
	at := append(slices.Clone(path), step{field: f.name})
	w.value(f.of, at)
}

func (w *walker) value(t reflect.Type, path []step) {
	last := &path[len(path)-1]
	switch t := indirect(t); {
	case scalar(t):
		if t.Kind() == reflect.String {
			w.add(path, "a long text", longText)
		}
	case t.Kind() == reflect.Slice:
		w.elements(indirect(t.Elem()), path, false)
		last.list, last.named = true, has(t.Elem(), "name")
		w.below(t.Elem(), path)
	case t.Kind() == reflect.Map:
		w.elements(indirect(t.Elem()), path, true)
		last.keyed = true
		w.below(t.Elem(), path)
	case t.Kind() == reflect.Struct:
		w.below(t, path)
	}
}

// below adds the bombs of the fields of a struct.
func (w *walker) below(t reflect.Type, path []step) {
	t = indirect(t)
	if t.Kind() != reflect.Struct || scalar(t) {
		return
	}
	for _, f := range fieldsOf(t) {
		w.field(f, t, path)
	}
}

// elements adds the bombs of a list or a map with elements of the given type.
func (w *walker) elements(t reflect.Type, path []step, keyed bool) {
	variants := map[string]func(i int) string{"smallest": func(int) string { return smallest(t) }}
	if t.Kind() == reflect.Struct && !scalar(t) {
		if has(t, "name") {
			variants["named"] = func(i int) string { return `{"name":"n` + strconv.Itoa(i) + `"}` }
		}
		if heavy := pointers(t); heavy != "{}" {
			variants["heavy"] = func(int) string { return heavy }
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		w.add(path, name, repeated(variants[name], keyed))
	}
}

func (w *walker) add(path []step, what string, fill filler) {
	var at []string
	for _, s := range path {
		at = append(at, s.field)
	}
	w.found = append(w.found, Bomb{Name: strings.Join(at, ".") + " " + what, path: slices.Clone(path), fill: fill})
}

// longText returns one string that uses all bytes of the budget.
func longText(b Budget) string { return `"` + strings.Repeat("a", max(1, b.Bytes)) + `"` }

// repeated fills a list or a map with elements.
func repeated(element func(i int) string, keyed bool) filler {
	return func(budget Budget) string {
		ends := "[]"
		if keyed {
			ends = "{}"
		}
		var b strings.Builder
		b.WriteByte(ends[0])
		for i := 0; ; i++ {
			e := element(i)
			budget.Nodes -= strings.Count(e, "{") + strings.Count(e, "[")
			budget.Values -= 1 + strings.Count(e, ":")
			if keyed {
				e = `"k` + strconv.Itoa(i) + `":` + e
			}
			if budget.Bytes -= len(e) + 1; budget.Bytes < 0 || budget.Values < 0 || budget.Nodes < 0 {
				break
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(e)
		}
		b.WriteByte(ends[1])
		return b.String()
	}
}

// Spec returns a spec with the bomb, within a budget. base is the rest of the spec, a JSON object.
func (b Bomb) Spec(base string, budget Budget) (string, error) {
	var root map[string]any
	if err := json.Unmarshal([]byte(base), &root); err != nil {
		return "", fmt.Errorf("read the spec that %s is put into: %w", b.Name, err)
	}
	const rest, nodes, bytes = 50, 25, 1000 // the size of the spec without the bomb
	set(root, b.path, json.RawMessage(b.fill(Budget{budget.Bytes - bytes, budget.Values - rest, budget.Nodes - nodes})))
	text, err := json.Marshal(root)
	if err != nil {
		return "", fmt.Errorf("write the spec of %s: %w", b.Name, err)
	}
	return string(text), nil
}

// set puts a value at a path.
func set(o map[string]any, path []step, value any) {
	s := path[0]
	if len(path) == 1 {
		o[s.field] = value
		return
	}
	next, _ := o[s.field].(map[string]any)
	if next == nil {
		next = map[string]any{}
		o[s.field] = next
	}
	switch {
	case s.list:
		if s.named {
			next["name"] = "first"
		}
		o[s.field] = []any{next}
	case s.keyed:
		o[s.field] = map[string]any{"first": next}
	}
	set(next, path[1:], value)
}

// member is a field of a struct with its JSON name.
type member struct {
	name string
	of   reflect.Type
}

// fieldsOf returns the fields of a struct, with the fields of embedded structs.
func fieldsOf(t reflect.Type) []member {
	var all []member
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && indirect(f.Type).Kind() == reflect.Struct:
			all = append(all, fieldsOf(indirect(f.Type))...)
		case name != "":
			all = append(all, member{name, f.Type})
		}
	}
	return all
}

func has(t reflect.Type, name string) bool {
	t = indirect(t)
	return t.Kind() == reflect.Struct && !scalar(t) &&
		slices.ContainsFunc(fieldsOf(t), func(m member) bool { return m.name == name && m.of.Kind() == reflect.String })
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

var (
	readsJSON = reflect.TypeFor[json.Unmarshaler]()
	readsText = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// scalar reports whether a type is encoded as one JSON value.
func scalar(t reflect.Type) bool {
	if p := reflect.PointerTo(t); p.Implements(readsJSON) || p.Implements(readsText) {
		return true
	}
	k := t.Kind()
	return k != reflect.Slice && k != reflect.Map && k != reflect.Struct || k == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// smallest returns the shortest JSON value of a type.
func smallest(t reflect.Type) string {
	switch k := t.Kind(); {
	case scalar(t) && t.Name() == "Quantity":
		return "1"
	case scalar(t) && (k == reflect.Struct || k == reflect.Slice):
		return "null"
	case k == reflect.String:
		return `""`
	case k == reflect.Slice:
		return "[]"
	case k == reflect.Bool:
		return "true"
	case k == reflect.Struct, k == reflect.Map:
		return "{}"
	}
	return "1"
}

// pointers returns the JSON of a struct with an empty object for each optional struct.
func pointers(t reflect.Type) string {
	var parts []string
	for _, f := range fieldsOf(t) {
		if f.of.Kind() == reflect.Pointer && indirect(f.of).Kind() == reflect.Struct && !scalar(indirect(f.of)) {
			parts = append(parts, strconv.Quote(f.name)+":{}")
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
