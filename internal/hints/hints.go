// SPDX-License-Identifier: Apache-2.0

// Package hints says of a field that a type does not have where the field that was meant stands. It is pure, and knows no kind: all that it
// says follows from the type.
package hints

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/api/lenient"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Field says what to write instead of an unknown field at a path of a type: the places of the fields of its name, or the name that was meant.
// It is "" if nothing is near. value is what was written; nil if that is unknown.
func Field(t reflect.Type, path string, value any) string {
	parent, name := Parted(path)
	question := text.DidYouMean(path, lenient.NamesAt(t, path))
	if strings.EqualFold(question, text.DidYouMean(path, []string{name})) {
		return question // the letters' case
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

// Write proposes places, one of which is meant.
func Write(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return "write " + strings.Join(places, " or ")
}

const (
	// leastFar is how long a misspelled name must be that is looked for at other levels.
	leastFar = 6
	// mostPlaces are proposed at most, and mostSteps is how far away they may be.
	mostPlaces, mostSteps = 3, 5
	// mostTypes is how many types may have a field of a name that says where it belongs: all kinds of things have a name or a path.
	mostTypes = 6
)

// Elsewhere are the paths of the fields that have the name of an unknown one, and can hold what was written: the nearest ones of the type.
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

// Fits reports whether a type can hold a value: a block, a list or a single value. What decodes itself takes any, and nil stands for any value.
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

// Parted are the path of what a field stands in, with its dot, and the field's name.
func Parted(path string) (parent, name string) {
	i := strings.LastIndex(path, ".")
	return path[:i+1], path[i+1:]
}

// step is a part of a path: a name, an index of a list or a key of a map.
var step = regexp.MustCompile(`[^.\[\]]+|\[(?:"(?:[^"\\]|\\.)*"|[0-9]*)\]`)

// distance is how many steps lead from where an unknown field stands to a place, and that place with the indexes that both share. Another list
// is out of reach, since its elements are other things.
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

// ownContainers is the list that has Spark's own container.
const ownContainers = "containers"

// sorted orders the places of each name.
func (x *index) sorted() *index {
	for _, places := range x.places {
		slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	}
	slices.Sort(x.names)
	return x
}
