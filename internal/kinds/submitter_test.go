// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"os"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// The operator believes what names the submitter of an object: of a kind that the policy leaves out, the user could write it.
func TestPolicyRecordsTheSubmittersOfAllKinds(t *testing.T) {
	type patch struct {
		Target struct{ Kind string }
		Patch  string
	}
	var apache struct{ Patches []patch }
	read(t, "../../config/apache/kustomization.yaml", &apache)
	for _, file := range []string{"../../config/submitter/policy.yaml", "../../charts/spark-operator/files/submitter_policy.yaml"} {
		var policy admissionv1.MutatingAdmissionPolicy
		read(t, file, &policy)
		rules := policy.Spec.MatchConstraints.ResourceRules
		if len(rules) != 1 { // config/apache and the chart add the group of Apache to the first
			t.Fatalf("%s has %d rules", file, len(rules))
		}
		groups := rules[0].APIGroups
		for _, p := range apache.Patches {
			var added []struct{ Path, Value string }
			if p.Target.Kind != "MutatingAdmissionPolicy" {
				continue
			}
			if err := yaml.Unmarshal([]byte(p.Patch), &added); err != nil {
				t.Fatal(err)
			}
			groups = append(groups, added[0].Value)
		}
		for _, row := range All() {
			if !slices.Contains(groups, row.Group) || !slices.Contains(rules[0].Resources, row.Plural) {
				t.Errorf("%s does not record who creates %s.%s", file, row.Plural, row.Group)
			}
		}
	}
}

// read decodes the first document of a file.
func read(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(content, []byte("\n---\n"))
	if err := yaml.Unmarshal(first, into); err != nil {
		t.Fatal(err)
	}
}
