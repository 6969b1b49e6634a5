/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
