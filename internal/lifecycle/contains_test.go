// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An object that was edited lacks something that was applied. What others add is no edit, and neither is another spelling.
func TestContains(t *testing.T) {
	type object = map[string]any
	spec := func(s any) object { return object{"spec": s} }
	cases := map[string]struct {
		reason       string
		have, wanted object
		want         bool
	}{
		"Same":          {reason: "nothing was changed", have: spec(object{"a": "x"}), wanted: spec(object{"a": "x"}), want: true},
		"Changed":       {reason: "a value was changed", have: spec(object{"a": "y"}), wanted: spec(object{"a": "x"})},
		"Removed":       {reason: "a value was removed", have: spec(object{}), wanted: spec(object{"a": "x"})},
		"FieldRemoved":  {reason: "all of it was removed", have: object{}, wanted: spec("x")},
		"NoObject":      {reason: "it has become another kind of value", have: spec("x"), wanted: spec(object{"a": "x"})},
		"Default":       {reason: "the API server adds defaults", have: object{"spec": object{"a": "x", "b": "y"}, "status": "z"}, wanted: spec(object{"a": "x"}), want: true},
		"Unset":         {reason: "nothing is wanted of it", have: object{}, wanted: spec(nil), want: true},
		"List":          {reason: "a list with defaults in its entries", have: spec([]any{object{"a": "x", "b": "y"}}), wanted: spec([]any{object{"a": "x"}}), want: true},
		"Longer":        {reason: "what is in a list is all of it", have: spec([]any{"x", "y"}), wanted: spec([]any{"x"})},
		"NoList":        {reason: "the list was removed", have: spec(nil), wanted: spec([]any{"x"})},
		"Quantity":      {reason: "the same amount, written otherwise", have: spec("1000m"), wanted: spec("1"), want: true},
		"Number":        {reason: "an amount may be a number", have: spec("1"), wanted: spec(int64(1)), want: true},
		"OtherQuantity": {reason: "another amount", have: spec("2"), wanted: spec("1")},
		"NoQuantity":    {reason: "what was an amount is none", have: spec("x"), wanted: spec("1")},
		"OfNoQuantity":  {reason: "what was no amount is one", have: spec("0"), wanted: spec("x")},
		"Neither":       {reason: "neither is an amount", have: spec("y"), wanted: spec("x")},
		"APIVersion":    {reason: "objects are read in the version that is asked for", have: object{"apiVersion": "a/v1"}, wanted: object{"apiVersion": "a/v2"}, want: true},
		"Kind":          {reason: "the kind is that which was read", have: object{}, wanted: object{"kind": "Pod"}, want: true},
		"Metadata":      {reason: "it is compared by others", have: object{"metadata": object{}}, wanted: object{"metadata": object{"labels": object{"a": "x"}}}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Contains(&unstructured.Unstructured{Object: tc.have}, &unstructured.Unstructured{Object: tc.wanted}); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}
