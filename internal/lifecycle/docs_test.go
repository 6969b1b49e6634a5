// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// documented returns the first cells of the tables below a heading of docs/conditions.md.
func documented(t *testing.T, from, to string) []string {
	t.Helper()
	return cells(t, "conditions.md", from, to)
}

// cells are the first cells of the tables between two headings of a page.
func cells(t *testing.T, page, from, to string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	out, err := markdown.FirstCells(string(text), from, to)
	if err != nil {
		t.Fatalf("docs/%s: %v", page, err)
	}
	return out
}

// Every reason is documented, once, and none is invented.
func TestReasonsAreDocumented(t *testing.T) {
	const schedulers = "### Batch schedulers"
	own, theirs := constants("reasons.go", "Reason"), constants(filepath.Join("..", "scheduler", "admission.go"), "Reason")
	theirs = slices.DeleteFunc(theirs, func(r string) bool { return slices.Contains(own, r) })
	compare(t, "docs/conditions.md, reasons", own, documented(t, "## Reasons", schedulers))
	compare(t, "docs/conditions.md, reasons of schedulers", theirs, documented(t, schedulers, "## Schedules"))
}

func TestConditionsAreDocumented(t *testing.T) {
	var shown []string
	for _, c := range lifecycle.Settle(lifecycle.Plan{}, nil, lifecycle.Env{}).Conditions {
		shown = append(shown, string(c.Type))
	}
	compare(t, "docs/conditions.md, conditions", shown, documented(t, "## Conditions", "## Reasons"))
}

// Users who filter events by their reasons find all of them, and none that is never sent.
func TestEventsAreDocumented(t *testing.T) {
	sent := []string{}
	tell := func(from, to lifecycle.Record) {
		for _, e := range lifecycle.Events("SparkApplication", "pi", from, to) {
			if !slices.Contains(sent, e.Reason) {
				sent = append(sent, e.Reason)
			}
		}
	}
	for _, state := range lifecycle.States() {
		for _, from := range lifecycle.States() {
			tell(lifecycle.Record{State: from}, lifecycle.Record{State: state})
			tell(lifecycle.Record{State: from, Attempt: 1}, lifecycle.Record{State: state, Attempt: 1, Attempts: []lifecycle.Attempt{{Number: 1}}})
		}
	}
	tell(lifecycle.Record{}, lifecycle.Record{Exposure: lifecycle.Exposure{Trouble: lifecycle.Cause{Reason: lifecycle.ReasonExposureForbidden}}})
	tell(lifecycle.Record{}, lifecycle.Record{Rerun: lifecycle.Rerun{Ignored: "tomorrow"}})
	placed := lifecycle.Record{State: lifecycle.Running, Placement: lifecycle.Placement{Problem: "none"}}
	tell(lifecycle.Record{State: lifecycle.Running}, placed)
	compare(t, "docs/lifecycle.md, events", sent, cells(t, "lifecycle.md", "## Events", "## Deletion"))
}

// Every failure class is explained where retries are.
func TestClassesAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "retries.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range append(lifecycle.FailureClasses(), lifecycle.Deadline, lifecycle.Evicted) {
		if !strings.Contains(string(text), "\n| `"+string(class)+"` |") {
			t.Errorf("docs/retries.md does not explain the class %s", class)
		}
	}
}

func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: %s is missing", what, w)
		}
	}
	for i, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: %s is invented", what, g)
		}
		if slices.Contains(got[:i], g) {
			t.Errorf("%s: %s is there twice", what, g)
		}
	}
}
