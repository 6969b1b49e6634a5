// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"
)

// The manifest in the DAG, whose literals are YAML as well, is one that runs.
func TestManifestOfTheDAG(t *testing.T) {
	_, literal, found := strings.Cut(read(t, "docs/airflow.md"), "\nPI = ")
	literal, _, ends := strings.Cut(literal, "\n}\n")
	if !found || !ends {
		t.Fatal("docs/airflow.md has no manifest PI")
	}
	if kind, err := check(t, literal+"\n}\n"); kind != "application" || err != nil {
		t.Errorf("docs/airflow.md: %s: %v", kind, err)
	}
}
