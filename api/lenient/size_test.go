// SPDX-License-Identifier: Apache-2.0

package lenient

import (
	"fmt"
	"strings"
	"testing"
)

func TestSizeOfSpec(t *testing.T) {
	const metadata = `"metadata": {"name": "a", "annotations": {"b": "{[,", "c": "d"}}, `
	cases := map[string]struct {
		reason, text  string
		values, nodes int
	}{
		"Nothing":    {reason: "no spec", text: `{` + metadata + `"status": {"a": [1, 2, 3]}, "kind": "K", "apiVersion": "v"}`},
		"Empty":      {reason: "a spec is a value", text: `{` + metadata + `"spec": { }}`, values: 1, nodes: 1},
		"Scalars":    {reason: "numbers and texts alike", text: `{"spec": {"a": 1, "b": "x", "c": null}, ` + metadata + `"status": {}}`, values: 4, nodes: 1},
		"Lists":      {reason: "with what they have", text: `{"spec": {"a": [ ], "b": [1, [2], {}]}}`, values: 7, nodes: 5},
		"Texts":      {reason: "signs within texts are none", text: `{"spec": {"a,{[": ",{[\\\",]"}}`, values: 2, nodes: 1},
		"Escaped":    {reason: "however its name is spelled", text: `{"sp\u0065c": {"a": 1}}`, values: 2, nodes: 1},
		"Twice":      {reason: "each that is there", text: `{"spec": {"a": 1}, "spec": {"a": 1, "b": 2}}`, values: 5, nodes: 2},
		"Text":       {reason: "a spec that is none", text: `{"spec": "text"}`, values: 1},
		"NotClosed":  {reason: "a text that ends early", text: `{"spec": {"a": [1, "b`, values: 4, nodes: 2},
		"NotOpened":  {reason: "or begins late", text: `}}]], "a"`},
		"JustQuotes": {reason: "or is nothing much", text: `{"`, values: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s sizer
			s.read([]byte(tc.text))
			if s.values != tc.values || s.nodes != tc.nodes {
				t.Errorf("%s: %d values with %d nodes, want %d with %d", tc.reason, s.values, s.nodes, tc.values, tc.nodes)
			}
			if s.bytes > len(tc.text) {
				t.Errorf("%s: %d bytes of %d", tc.reason, s.bytes, len(tc.text))
			}
		})
	}
}

func TestLargeSpecsAreRefused(t *testing.T) {
	list := func(n int, element string) string {
		return `{"a":[` + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + `]}` // an object, a list and so many more
	}
	text := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`:{"a":""}`)) + `"}` }
	cases := map[string]struct{ reason, spec, want string }{
		"Values": {reason: "as many values as there may be", spec: list(MaxValues-2, "1")},
		"Nodes":  {reason: "as many objects", spec: list(MaxNodes-2, "{}")},
		"Bytes":  {reason: "as many bytes", spec: text(MaxSpec - 1)},
		"MoreValues": {
			reason: "one more", spec: list(MaxValues-1, "1"),
			want: "it has 14 KiB with 7001 values, of which 2 are objects and lists; the operator reads at most 512 KiB with 7000 values and 1500 objects and lists; " +
				"put data into a ConfigMap of your own and mount it",
		},
		"MoreNodes": {reason: "one more of two bytes", spec: list(MaxNodes-1, "{}"), want: "1501 values, of which 1501 are objects and lists"},
		"MoreBytes": {reason: "a long text", spec: text(MaxSpec + 1), want: "it has 513 KiB with 2 values"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := checkSize([]byte(`{"metadata":{"labels":` + list(2*MaxValues, "{}") + `},"spec":` + tc.spec + `}`))
			if got := fmt.Sprint(err); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(got, tc.want) {
				t.Errorf("%s: %s, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
