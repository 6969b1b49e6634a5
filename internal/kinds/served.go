// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"reflect"

	"github.com/firesteel-dev/firesteel/internal/definitions"
)

// Lacking returns the fields of the kind that a served definition lacks. The API server drops such fields. The result is nil for a definition of this program's
// version or newer.
func (r *Row) Lacking(served definitions.Schema) []string {
	var all []string
	own := reflect.TypeOf(r.Fields()).Elem()
	for _, part := range []struct{ field, path string }{{"Spec", "spec"}, {"Status", "status"}} {
		if field, found := own.FieldByName(part.field); found {
			all = append(all, definitions.Lacking(field.Type, served.Properties[part.path], part.path)...)
		}
	}
	return all
}
