// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestShrink(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{
			name: "our own schema keeps its rules",
			in:   `{required: [a], properties: {a: {description: ours, type: string, enum: [x], default: x}}}`,
			want: `{required: [a], properties: {a: {description: ours, type: string, enum: [x], default: x}}}`,
		},
		{
			name: "a marked object keeps our description and the types of its first level",
			in: `{description: ours, type: object, x-kubernetes-preserve-unknown-fields: true, required: [n], properties: {
				n: {description: theirs, type: integer, format: int64, minimum: 1, default: 2},
				list: {type: array, items: {type: string, maxLength: 3}, x-kubernetes-list-type: atomic},
				deep: {type: object, properties: {x: {type: string}}},
				deeper: {type: array, items: {type: object, properties: {x: {type: string}}}},
				map: {type: object, additionalProperties: {type: object, properties: {x: {type: string}}}}}}`,
			want: `{description: ours, type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
				n: {type: integer, format: int64},
				list: {type: array, items: {type: string}}}}`,
		},
		{
			name: "a quantity keeps what it may look like",
			in: `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
				q: {anyOf: [{type: integer}, {type: string}], pattern: "^1$", x-kubernetes-int-or-string: true,
					description: theirs}}}`,
			want: `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
				q: {anyOf: [{type: integer}, {type: string}], pattern: "^1$", x-kubernetes-int-or-string: true}}}`,
		},
		{
			name: "marked items lose the core type's description",
			in: `{description: ours, type: array, items: {
				description: theirs, type: object, x-kubernetes-preserve-unknown-fields: true,
				properties: {deep: {properties: {}}}}}`,
			want: `{description: ours, type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}`,
		},
		{
			name: "a template without properties stays",
			in:   `{type: object, x-kubernetes-preserve-unknown-fields: true}`,
			want: `{type: object, x-kubernetes-preserve-unknown-fields: true}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			once, err := shrink([]byte("schema: " + test.in))
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := yaml.Unmarshal(once, &got); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte("schema: "+test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			twice, err := shrink(once)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(once), string(twice)); diff != "" {
				t.Errorf("a second run changed the result:\n%s", diff)
			}
		})
	}
}

func TestShrinkRefusesWhatIsNoYAML(t *testing.T) {
	if _, err := shrink([]byte("a: [")); err == nil {
		t.Error("no error")
	}
}

// Client-side apply stores the manifest in an annotation, and API servers read every CRD at start.
func TestCommittedCRDsAreSmall(t *testing.T) {
	const limit = 100 << 10 // bytes
	paths, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no CRDs found: %v", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > limit {
			t.Errorf("%s has %d bytes, want at most %d", path, len(content), limit)
		}
		shrunk, err := shrink(content)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(content), string(shrunk)); diff != "" {
			t.Errorf("%s was not shrunk after it was generated:\n%s", path, diff)
		}
	}
}

// What a client writes through an older version keeps what the stored one has: the spec by name, so that a misspelled field is refused, and of the
// status everything (core review, 1).
func TestOlderVersionsKeepWhatIsStored(t *testing.T) {
	const crd = `{kind: CustomResourceDefinition, spec: {versions: [
		{name: v2, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
			spec: {type: object, properties: {a: {type: string, enum: [x, y]}, b: {type: object, description: new, default: {}, properties: {c: {type: integer, default: 3}}}}},
			status: {type: object, properties: {record: {type: object, properties: {n: {type: integer}}}, list: {type: array, items: {type: object, properties: {m: {type: string}}}}}}}}}},
		{name: v1, schema: {openAPIV3Schema: {type: object, properties: {
			spec: {type: object, properties: {a: {type: string, enum: [x]}}}, status: {type: object, properties: {old: {type: object, properties: {o: {type: string}}}}}}}}}]}}`
	const want = `{
		spec: {type: object, properties: {a: {type: string, enum: [x, y]}, b: {type: object, properties: {c: {type: integer}}}}},
		status: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
			old: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {o: {type: string}}},
			record: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {n: {type: integer}}},
			list: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {m: {type: string}}}}}}}`
	var doc, older map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(crd), &doc), yaml.Unmarshal([]byte(want), &older)); err != nil {
		t.Fatal(err)
	}
	keep(doc)
	if diff := cmp.Diff(older, schemaOf(versionsOf(doc)[1])["properties"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
