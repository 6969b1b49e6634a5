// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Outcome is the result of one recorded run.
type Outcome string

// Outcomes. A run with listed deliberate differences matches except for them.
const (
	Matched       Outcome = "matched"
	Deliberate    Outcome = "deliberate differences"
	Failed        Outcome = "failed"
	NotApplicable Outcome = "not applicable"
)

var outcomes = []Outcome{Matched, Deliberate, Failed, NotApplicable}

// Tally counts outcomes for the report at the end.
type Tally struct {
	counts map[string]map[Outcome]int
	// remarks are reasons with the releases that they hold for.
	remarks map[string][]string
}

// NewTally returns an empty one.
func NewTally() *Tally {
	return &Tally{map[string]map[Outcome]int{}, map[string][]string{}}
}

// Add counts a run of a Spark release.
func (t *Tally) Add(version string, outcome Outcome) {
	if t.counts[version] == nil {
		t.counts[version] = map[Outcome]int{}
	}
	t.counts[version][outcome]++
}

// Remark notes the first line of a text about a case.
func (t *Tally) Remark(dir, version, text string) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	key := fmt.Sprintf("%-24s %s", dir, first)
	t.remarks[key] = append(t.remarks[key], version)
}

// String is a line for each Spark release, and the remarks.
func (t *Tally) String() string {
	var b strings.Builder
	b.WriteString("\n")
	for _, version := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "%-10s", version)
		for _, outcome := range outcomes {
			fmt.Fprintf(&b, "  %s %d", outcome, t.counts[version][outcome])
		}
		b.WriteString("\n")
	}
	for _, remark := range slices.Sorted(maps.Keys(t.remarks)) {
		fmt.Fprintf(&b, "%s (%s)\n", remark, strings.Join(t.remarks[remark], " "))
	}
	return b.String()
}
