// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// documented are the first cells of a table of a page, below a heading.
func documented(t *testing.T, page, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	all, err := markdown.FirstCells(string(text), heading, "## ")
	if err != nil {
		t.Fatalf("docs/%s: %v", page, err)
	}
	slices.Sort(all)
	return all
}

func TestReasonsAreDocumented(t *testing.T) {
	want := []string{ConditionScheduled, ConditionRunActive, ConditionStalled}
	for _, r := range Reasons() {
		want = append(want, string(r))
	}
	for _, r := range SkipReasons() {
		if !slices.Contains(want, string(r)) {
			want = append(want, string(r))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, documented(t, "conditions.md", "## Schedules")); diff != "" {
		t.Errorf("docs/conditions.md (-want +got):\n%s", diff)
	}
}

// Who filters events by their reasons finds all of them in the page, and none that is never sent.
func TestEventsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("events.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	sent := []string{string(ReasonNameConflict), string(ReasonRunRefused), string(ReasonInvalidTrigger)}
	for _, match := range regexp.MustCompile(`add\((?:true|false), "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		sent = append(sent, match[1])
	}
	_, section, _ := strings.Cut(string(page), "\n## Events\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for line := range strings.Lines(section) {
		for _, match := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(strings.SplitN(line+"||", "|", 3)[1], -1) {
			documented = append(documented, match[1])
		}
	}
	slices.Sort(sent)
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Compact(sent), documented); diff != "" {
		t.Errorf("events that are sent (-) and that docs/schedules.md has (+):\n%s", diff)
	}
}
