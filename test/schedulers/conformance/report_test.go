// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"
	"testing"
)

// What is left to other runs is not missing; a subject that was to run is, as long as nothing has come of one of its cases.
func TestMissing(t *testing.T) {
	report := &Report{Titles: []string{"here", "elsewhere"}}
	report.LeaveOut("elsewhere", Real)
	all := len(Cases())
	if got := report.Missing(); len(got) != 2*all {
		t.Errorf("before anything has run %d fields are missing, want %d", len(got), 2*all)
	}
	for _, c := range Cases() {
		for _, s := range []Subject{{Title: "here", Tier: StandIn}, {Title: "elsewhere", Tier: StandIn}} {
			report.note(s, c.Number, passed, "")
		}
	}
	if got := report.Missing(); len(got) != all || !strings.HasPrefix(got[0], "here ") {
		t.Errorf("the real scheduler of one subject has not run: %q", got)
	}
	for _, c := range Cases()[1:] {
		report.note(Subject{Title: "here", Tier: Real}, c.Number, passed, "")
	}
	if got := report.Missing(); len(got) != 1 || !strings.Contains(got[0], missing) {
		t.Errorf("one case has not run: %q", got)
	}
	var text strings.Builder
	if err := report.Write(&text); err != nil || !strings.Contains(text.String(), passed+"/"+leftOut) {
		t.Errorf("%v: the table does not say what is left to other runs:\n%s", err, text.String())
	}
}
