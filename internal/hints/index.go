// SPDX-License-Identifier: Apache-2.0

package hints

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/firesteel-dev/firesteel/api/lenient"
)

// index maps a field name in lower case to the places of such fields in a type, and to the types that have such a field.
type index struct {
	places map[string][]place
	types  map[string]map[reflect.Type]bool
	names  []string
}

// place is the path of a field, and its type.
type place struct {
	path string
	of   reflect.Type
}

var decodes = reflect.TypeFor[json.Unmarshaler]()

// indexes caches the index of each requested type: a type has thousands of places, and they never change.
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

// deepest bounds the depth of the walk through a type, because some types of Kubernetes contain themselves. No spec is deeper.
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
