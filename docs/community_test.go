// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The form for issues is one that GitHub shows: each field has an id of its own and a label. It asks for what the programs say.
func TestIssueForm(t *testing.T) {
	var form struct {
		Name, Description string
		Labels            []string
		Body              []struct {
			Type, ID    string
			Attributes  struct{ Label, Description, Value, Render, Placeholder string }
			Validations struct{ Required bool }
		}
	}
	const file = ".github/ISSUE_TEMPLATE/bug.yml"
	if err := yaml.UnmarshalStrict([]byte(read(t, file)), &form); err != nil {
		t.Fatal(err)
	}
	seen, required := map[string]bool{}, ""
	for _, field := range form.Body {
		if field.Type == "markdown" {
			continue
		}
		if field.ID == "" || seen[field.ID] || field.Attributes.Label == "" {
			t.Errorf("%s: field %q: an id of its own and a label are needed", file, field.ID)
		}
		seen[field.ID] = true
		if field.Validations.Required {
			required += field.Attributes.Label + "\n"
		}
	}
	for _, want := range []string{"kubectl spark explain NAME -o yaml", "kubectl spark check", "Versions"} {
		if !strings.Contains(required, want) {
			t.Errorf("%s does not ask for %s", file, want)
		}
	}
}
