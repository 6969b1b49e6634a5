// SPDX-License-Identifier: Apache-2.0

package hints

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/firesteel-dev/firesteel/api/lenient"
)

// index has the places of all fields of a type by their names in lower case, and the types that have a field of the name.
type index struct {
	places map[string][]place
	types  map[string]map[reflect.Type]bool
	names  []string
}

// place is where a field stands, and its type.
type place struct {
	path string
	of   reflect.Type
}

var decodes = reflect.TypeFor[json.Unmarshaler]()

// indexes are those that were asked for: a type has thousands of places, which are the same each time.
var indexes sync.Map

func indexOf(t reflect.Type) *index {
	t = pointed(t)
	if known, is := indexes.Load(t); is {
		return known.(*index)
	}
	all := &index{places: map[string][]place{}, types: map[string]map[reflect.Type]bool{}}
	all.add(t, "", 0)
	indexes.Store(t, all.sorted())
	return all
}

// deepest ends the walk through a type: types of Kubernetes that contain themselves are no part of a spec.
const deepest = 16

func (x *index) add(t reflect.Type, path string, depth int) {
	switch {
	case depth == deepest || path == "status" || reflect.PointerTo(t).Implements(decodes) && path != "":
	case t.Kind() == reflect.Slice:
		x.add(pointed(t.Elem()), path+"[]", depth+1)
	case t.Kind() == reflect.Struct:
		for name, field := range lenient.FieldsOf(t) {
			if _, old := t.FieldByName("Deprecated" + strings.ToUpper(name[:1]) + name[1:]); old {
				continue
			}
			key, of := strings.ToLower(name), place{strings.TrimPrefix(path+"."+name, "."), pointed(field)}
			x.places[key] = append(x.places[key], of)
			if x.types[key] == nil {
				x.types[key] = map[reflect.Type]bool{}
				x.names = append(x.names, name)
			}
			x.types[key][t] = true
			x.add(of.of, of.path, depth+1)
		}
	}
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
