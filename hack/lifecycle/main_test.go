// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// The page in docs/ is what the state machine does.
func TestPageIsUpToDate(t *testing.T) {
	got, err := page(transitions())
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "lifecycle-transitions.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("docs/lifecycle-transitions.md is out of date; run make generate (-want +got):\n%s", diff)
	}
}

func TestPageWantsWordsForEachTransition(t *testing.T) {
	unknown := edge{lifecycle.Succeeded, lifecycle.Running}
	if _, err := page(map[edge]map[lifecycle.Reason]bool{unknown: {}}); err == nil {
		t.Error("a transition that nothing explains is drawn")
	}
	if _, err := page(nil); err == nil {
		t.Error("transitions are explained that never occur")
	}
}
