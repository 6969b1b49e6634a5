// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// The causes that docs/troubleshooting.md has are those that get advice of their own.
func TestCausesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| `Cause:` | What to do |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := regexp.MustCompile(`(?m)^\| .*? \| `).FindAllString(table, -1)
	for _, cell := range documented {
		for _, cause := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			if remedyFor(lifecycle.ReasonDriverFailed, "ExitCode: 1, Reason: Error, Cause: "+cause[1]) == "" {
				t.Errorf("docs/troubleshooting.md has the cause %q, for which there is no advice", cause[1])
			}
		}
	}
	for _, r := range remedies {
		if !slices.ContainsFunc(documented, r.cause.MatchString) {
			t.Errorf("docs/troubleshooting.md has no cause like %s", r.cause)
		}
	}
}
