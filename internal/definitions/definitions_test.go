// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type embedded struct {
	Inner string `json:"inner"`
}

type spec struct {
	embedded `json:",inline"`
	Plain    string              `json:"plain,omitempty"`
	Hidden   string              `json:"-"`
	At       time.Time           `json:"at"`
	List     []embedded          `json:"list"`
	Values   map[string]embedded `json:"values"`
	Pointer  *embedded           `json:"pointer"`
}

func TestLacking(t *testing.T) {
	const whole = `"inner": {}, "plain": {}, "at": {}, "list": {"items": {"properties": {"inner": {}}}}, "values": {"additionalProperties": {"properties": {"inner": {}}}}, "pointer": {"properties": {"inner": {}}}`
	for name, tc := range map[string]struct {
		reason, schema string
		want           []string
	}{
		"Whole":    {"all is there", `{"properties": {` + whole + `}}`, nil},
		"Open":     {"an open schema keeps all", `{"x-kubernetes-preserve-unknown-fields": true}`, nil},
		"Missing":  {"each once, with what is embedded", `{"properties": {}}`, []string{"spec.inner", "spec.plain", "spec.at", "spec.list", "spec.values", "spec.pointer"}},
		"Inside":   {"in lists, maps and pointers", `{"properties": {"inner": {}, "plain": {}, "at": {}, "list": {"items": {}}, "values": {"additionalProperties": {}}, "pointer": {}}}`, []string{"spec.list[].inner", "spec.values.*.inner", "spec.pointer.inner"}},
		"Anything": {"a map of anything", `{"properties": {"inner": {}, "plain": {}, "at": {}, "list": {}, "values": {"additionalProperties": true}, "pointer": {"x-kubernetes-preserve-unknown-fields": true}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s Schema
			if err := json.Unmarshal([]byte(tc.schema), &s); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Lacking(reflect.TypeFor[spec](), s, "spec")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}
	document := `{"components": {"schemas": {"k": {"properties": {"spec": {}}, "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "K"}]}, "other": {}}}}`
	all, err := Decode([]byte(document))
	if _, has := all[kind].Properties["spec"]; err != nil || len(all) != 1 || !has {
		t.Errorf("%v, %v", err, all)
	}
	if _, err := Decode([]byte("no JSON")); err == nil {
		t.Error("what is no JSON is decoded")
	}
}

func TestSome(t *testing.T) {
	for want, fields := range map[string][]string{
		"": nil, "a, b, c, d, e": {"a", "b", "c", "d", "e"}, "a, b, c, d, e and 2 more fields": {"a", "b", "c", "d", "e", "f", "g"},
	} {
		if got := Some(fields); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
