// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLedgerLine(t *testing.T) {
	l := NewLedger()
	inLine := Admission{Verdict: Wait, Lines: []string{"q"}}
	late, early, other, twin := attemptAt("late", "x", 9), attemptAt("early", "x", 1), attemptAt("other", "y", 0), attemptAt("twin", "x", 9)
	for _, a := range []Attempt{late, early, other, twin} {
		l.Record(a, inLine)
	}
	for id, want := range map[string]int{"early": 0, "late": 1, "twin": 2, "other": 0} {
		a := map[string]Attempt{"late": late, "early": early, "other": other, "twin": twin}[id]
		if got := l.Outstanding(a, nine).Ahead["q"]; got != want {
			t.Errorf("%d are ahead of %s, want %d", got, id, want)
		}
	}
	if diff := cmp.Diff([]string{"early", "late", "twin"}, l.Line("x")); diff != "" {
		t.Errorf("the line (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"other", "early"}, l.Heads()); diff != "" {
		t.Errorf("the heads of all lines (-want +got):\n%s", diff)
	}
	l.Record(early, Admission{Verdict: Admit})
	if got := l.Outstanding(late, nine).Ahead["q"]; got != 0 {
		t.Errorf("who starts is in no one's way: %d", got)
	}
	if diff := cmp.Diff([]string{"late", "twin"}, l.Release("early")); diff != "" {
		t.Errorf("who may try now (-want +got):\n%s", diff)
	}
	l.Record(late, Admission{Verdict: Unavailable})
	if diff := cmp.Diff([]string{"twin"}, l.Line("x")); diff != "" {
		t.Errorf("who waits for something else leaves the line (-want +got):\n%s", diff)
	}
	if got := l.Release("twin"); len(got) != 0 || len(l.Line("y")) != 1 {
		t.Errorf("the last one leaves no one: %v", got)
	}
}

// Each quota has a line of its own, and an attempt waits in those of all quotas that it needs.
func TestLedgerLines(t *testing.T) {
	l := NewLedger()
	first, both, last, elsewhere := attemptAt("first", "x", 1), attemptAt("both", "x", 2), attemptAt("last", "x", 3), attemptAt("elsewhere", "y", 0)
	wait := func(a Attempt, lines ...string) { l.Record(a, Admission{Verdict: Wait, Lines: lines}) }
	ahead := func(step string, a Attempt, want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, l.Outstanding(a, nine).Ahead); diff != "" {
			t.Errorf("%s: ahead of %s (-want +got):\n%s", step, a.ID, diff)
		}
	}
	ahead("no one waits", first, nil)
	wait(first, "low")
	wait(elsewhere, "low")
	ahead("who waits in another namespace waits for another quota", both, map[string]int{"low": 1})
	wait(both, "low", "pods")
	ahead("it stands in two lines", last, map[string]int{"low": 2, "pods": 1})
	wait(last, "pods")
	if diff := cmp.Diff([]string{"elsewhere", "first", "both"}, l.Heads()); diff != "" {
		t.Errorf("the first of each line (-want +got):\n%s", diff)
	}
	wait(both, "pods")
	ahead("it does not wait for the one any more", last, map[string]int{"low": 1, "pods": 1})
	ahead("nor is who came later ahead", both, map[string]int{"low": 1})
	if diff := cmp.Diff([]string{"both", "last"}, l.Release("first")); diff != "" {
		t.Errorf("there may be room for all of the namespace (-want +got):\n%s", diff)
	}
	l.Record(both, Admission{Verdict: Admit})
	ahead("who starts is in no line", last, nil)
}

// BenchmarkLine is what it costs to ask for one of 5,000 that wait in line, and to enter its answer again.
func BenchmarkLine(b *testing.B) {
	l := NewLedger()
	wait := Admission{Verdict: Wait, Lines: []string{"q"}}
	var last Attempt
	for i := range 5000 {
		last = Attempt{App: App{Namespace: "team-a"}, ID: "app-" + strconv.Itoa(i), QueuedAt: nine.Add(time.Duration(i) * time.Second)}
		l.Record(last, wait)
	}
	b.ReportAllocs()
	for b.Loop() {
		if o := l.Outstanding(last, nine); o.Ahead["q"] != 4999 {
			b.Fatalf("%d are ahead of it", o.Ahead["q"])
		}
		l.Record(last, wait)
	}
}
