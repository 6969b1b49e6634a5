// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page that is committed is what the types say.
func TestPageIsUpToDate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fields.md")
	if err := run("../../api", file); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/fields.md")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("docs/fields.md is not what the types say (%v): run make generate", err)
	}
}

func TestPageNamesAFieldWithoutComment(t *testing.T) {
	if _, err := page([]apiField{{Owner: "A", Name: "B"}}, nil); err == nil || !strings.Contains(err.Error(), "A.B") {
		t.Errorf("%v: want the field that has no comment", err)
	}
}

// The site's search, explain and people link to a field: its id is its own, and does not change with the fields around it.
func TestFieldsHaveIDs(t *testing.T) {
	page, err := os.ReadFile("../../docs/fields.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Field of ") {
			continue
		}
		_, id, _ := strings.Cut(line, ` id="`)
		if id, _, _ = strings.Cut(id, `"`); id == "" || seen[id] {
			t.Errorf("the id %q is empty or stands twice: %s", id, line)
		}
		seen[id] = true
	}
	for _, id := range []string{"driver.memory", "executor.envSecretKeyRefs.name.key", "scheduled.schedule", "connect.idleTimeout", "apache.mainClass", "cluster.workerSpec.statefulSetSpec"} {
		if !seen[id] {
			t.Errorf("there is no field with the id %s", id)
		}
	}
}

// The search finds headings: a field stands below that of its part of the spec, and those of the spec itself come first.
func TestPartsOfTheSpecHaveTables(t *testing.T) {
	var all []apiField
	comments := map[string]string{}
	for _, path := range []string{"driver.cores", "image", "ports[].name", "driver.memory", "type"} {
		all = append(all, apiField{Path: path, Owner: "Spec", Name: path})
		comments["Spec."+path] = "Said."
	}
	text, err := page(all, comments)
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^## .*$|id="[^"]*"`).FindAllString(text, -1)
	want := []string{`id="image"`, `id="type"`, "## Fields of driver", `id="driver.cores"`, `id="driver.memory"`, "## Fields of ports", `id="ports.name"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSentence(t *testing.T) {
	cases := map[string]struct{ reason, comment, want string }{
		"Markers":    {reason: "they are for generators", comment: "Of the pod.\n+optional\n", want: "Of the pod."},
		"Lines":      {reason: "a cell is one line", comment: "One\ntwo.\n", want: "One two."},
		"Paragraphs": {reason: "the rest is for developers", comment: "First.\n\nSecond.\n", want: "First."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sentence(tc.comment); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// Finding 16: who switches learns which lists are refused that Kubeflow's definition takes. The numbers are those of the definition.
func TestBoundsOfListsAreSaid(t *testing.T) {
	said, err := boundsIn("../../api/sparkoperator/v1beta2")
	if err != nil {
		t.Fatal(err)
	}
	definition, err := os.ReadFile("../../config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for bound, field := range map[string]string{"16": "driverIngressOptions", "32": "sidecars", "100": "tolerations", "256": "volumes", "1000": "env"} {
		if !strings.Contains(said, field+"`") || !strings.Contains(said, bound+" of ") || !strings.Contains(string(definition), "maxItems: "+bound+"\n") {
			t.Errorf("at most %s of %s: %s", bound, field, said)
		}
	}
}
