// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

func TestPageWantsWordsForEachTransition(t *testing.T) {
	unknown := edge{lifecycle.Succeeded, lifecycle.Running}
	if _, err := page(map[edge]map[lifecycle.Reason]bool{unknown: {}}); err == nil {
		t.Error("a transition that nothing explains is drawn")
	}
	if _, err := page(nil); err == nil {
		t.Error("transitions are explained that never occur")
	}
}
