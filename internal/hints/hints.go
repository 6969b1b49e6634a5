// SPDX-License-Identifier: Apache-2.0

// Package hints suggests the correct place or name of an unknown field. It is pure and knows no kind: its suggestions follow from the Go type alone.
package hints

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/api/lenient"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Field returns the text that suggests what to write instead of the unknown field at path in type t: the places of fields with that name, or a similar name.
// It is "" if nothing is similar. value is the field's value; nil if unknown.
func Field(t reflect.Type, path string, value any) string {
	parent, name := Parted(path)
	question := text.DidYouMean(path, lenient.NamesAt(t, path))
	if strings.EqualFold(question, text.DidYouMean(path, []string{name})) {
		return question // the letters have the wrong case
	}
	if places := Elsewhere(t, path, value); len(places) > 0 {
		return Write(places)
	}
	if question != "" || len(name) < leastFar {
		return question
	}
	if name = text.Nearest(name, indexOf(t).names); name != "" {
		return Write(Elsewhere(t, parent+name, value))
	}
	return ""
}

// Write returns a suggestion of one or more places.
func Write(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return "write " + strings.Join(places, " or ")
}

const (
	// leastFar is the least length of a misspelled name for a search at other levels.
	leastFar = 6
	// mostPlaces is the maximum of suggested places, and mostSteps their maximum distance from the unknown field.
	mostPlaces, mostSteps = 3, 5
	// mostTypes bounds the types that have a field of the name. A name in more types, such as name or path, says nothing about its place.
	mostTypes = 6
)

// Elsewhere returns the paths of the nearest fields of the type that have the unknown field's name and can hold its value.
func Elsewhere(t reflect.Type, path string, value any) []string {
	parent, name := Parted(path)
	all := indexOf(t)
	if len(all.types[strings.ToLower(name)]) > mostTypes {
		return nil
	}
	var near []string
	least := mostSteps + 1
	for _, p := range all.places[strings.ToLower(name)] {
		steps, shown := distance(parent, p.path)
		switch {
		case steps > mostSteps || !Fits(p.of, value):
		case steps < least:
			near, least = []string{shown}, steps
		case steps == least:
			near = append(near, shown)
		}
	}
	if len(near) > mostPlaces {
		return nil
	}
	return near
}

// Fits reports whether a type can hold a value by its shape: a block, a list or a single value. A type with its own decoder holds any value; nil fits every
// type.
func Fits(t reflect.Type, value any) bool {
	if reflect.PointerTo(t).Implements(decodes) || t.Kind() == reflect.Interface {
		return true
	}
	kind := t.Kind()
	switch value.(type) {
	case nil:
		return true
	case map[string]any:
		return kind == reflect.Struct || kind == reflect.Map
	case []any:
		return kind == reflect.Slice
	}
	return kind != reflect.Struct && kind != reflect.Map && kind != reflect.Slice
}

// Parted splits a path into the parent's path, with its final dot, and the field's name.
func Parted(path string) (parent, name string) {
	i := strings.LastIndex(path, ".")
	return path[:i+1], path[i+1:]
}

// step is a part of a path: a name, an index of a list or a key of a map.
var step = regexp.MustCompile(`[^.\[\]]+|\[(?:"(?:[^"\\]|\\.)*"|[0-9]*)\]`)

// distance returns the number of steps from the parent of an unknown field to a place, and the place with the indexes of the shared part. A place in another
// list is too far, because its elements are different objects.
func distance(parent, place string) (steps int, shown string) {
	from, to := step.FindAllString(parent, -1), step.FindAllString(place, -1)
	same := 0
	for same < len(from) && same < len(to)-1 && (from[same] == to[same] || from[same][0] == '[' && to[same][0] == '[') {
		same++
	}
	for _, s := range from[same:] {
		if s[0] != '[' {
			steps++
		}
	}
	shown = strings.Join(from[:same], ".")
	for i, s := range to[same:] {
		switch {
		case s[0] == '[' && to[same+i-1] != ownContainers:
			return mostSteps + 1, ""
		case same+i < len(to)-1:
			steps++
		}
		shown += "." + s
	}
	return steps, strings.TrimPrefix(strings.ReplaceAll(shown, ".[", "["), ".")
}

// ownContainers is the name of the list that contains Spark's own container.
const ownContainers = "containers"

// sorted sorts the names, and the places of each name.
func (x *index) sorted() *index {
	for _, places := range x.places {
		slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	}
	slices.Sort(x.names)
	return x
}
