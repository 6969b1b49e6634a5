// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An attempt's position in each line is one more than how many are ahead of it there.
func TestPositions(t *testing.T) {
	strict := usual
	strict.Strict = true
	three := []applicant{{id: "old", minute: 1, asks: 5}, {id: "high", minute: 3, priority: 9, asks: 2}, {id: "new", minute: 4, asks: 1}}
	cases := map[string]struct {
		reason string
		order  Order
		line   []applicant
		minute int
		want   map[string]int
	}{
		"Priority": {reason: "priority comes before age", order: usual, line: three, minute: 5, want: map[string]int{"high": 1, "old": 2, "new": 3}},
		"Strict":   {reason: "the order itself is the same", order: strict, line: three, minute: 5, want: map[string]int{"high": 1, "old": 2, "new": 3}},
		"Aged":     {reason: "who has waited too long comes before all", order: usual, line: three, minute: 12, want: map[string]int{"old": 1, "high": 2, "new": 3}},
		"Alone":    {reason: "the first is 1", order: usual, line: three[:1], minute: 2, want: map[string]int{"old": 1}},
		"None":     {reason: "who waits in no line has no position", order: usual, minute: 2, want: map[string]int{"old": 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, now := NewLedger(tc.order), nine.Add(time.Duration(tc.minute)*time.Minute)
			for _, w := range tc.line {
				l.Record(w.attempt(), Admission{Verdict: Wait, Lines: []Place{{Line: lineOf("x", "cpu"), Asked: cores(w.asks)}}}, nine)
			}
			got := map[string]int{}
			for id := range tc.want {
				got[id] = 0
				for _, p := range l.Positions(id, now) {
					got[id] += p.Position
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What is said of lines is what their attempts add up to, whoever has come and gone, and what their quotas have last reported.
func TestLineStates(t *testing.T) {
	l, usage := NewLedger(usual), Usage{Line: lineOf("x", "cpu"), Used: cores(7), Limit: cores(9), Guaranteed: cores(4), Borrowed: cores(3)}
	wait := func(w applicant, used ...Usage) {
		a := w.attempt()
		l.Record(a, Admission{Verdict: Wait, Lines: append(in("x", "memory"), Place{Line: lineOf("x", "cpu"), Asked: cores(w.asks)}), Usage: used}, nine)
	}
	wait(applicant{id: "a", minute: 1, asks: 5})
	wait(applicant{id: "b", minute: 2, asks: 3})
	wait(applicant{id: "b", minute: 2, asks: 4}, usage) // it was edited
	wait(applicant{id: "gone", minute: 0, asks: 50})
	l.Release("gone", nine)
	want := []LineState{
		{Usage: usage, Waiting: 2, Asked: cores(9), Longest: 19 * time.Minute},
		{Usage: Usage{Line: lineOf("x", "memory")}, Waiting: 2, Asked: cores(2), Longest: 19 * time.Minute},
	}
	if diff := cmp.Diff(want, l.Lines(nine.Add(20*time.Minute))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.Release("a", nine)
	l.Release("b", nine)
	if left := l.Lines(nine); left != nil {
		t.Errorf("there is no line without anyone: %+v", left)
	}
}

// After any history each position occurs once, and they agree with how many wait.
func TestPositionsAreAnOrder(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	l, waiting, asked := NewLedger(usual), map[string]int{}, 0
	for n := range 500 {
		id, now := fmt.Sprint("a", random.IntN(40)), nine.Add(time.Duration(n)*time.Second)
		asked -= waiting[id]
		delete(waiting, id)
		l.Release(id, now)
		if random.IntN(3) > 0 {
			w := applicant{id: id, minute: random.IntN(8), priority: random.Int32N(3), asks: 1 + random.IntN(9)}
			l.Record(w.attempt(), Admission{Verdict: Wait, Lines: []Place{{Line: lineOf("x", "cpu"), Asked: cores(w.asks)}}}, now)
			waiting[id], asked = w.asks, asked+w.asks
		}
		seen := map[int]bool{}
		for id := range waiting {
			seen[l.Positions(id, now)[0].Position] = true
		}
		for position := 1; position <= len(waiting); position++ {
			if !seen[position] {
				t.Fatalf("step %d: of %d that wait none has the position %d", n, len(waiting), position)
			}
		}
		if all := l.Lines(now); len(waiting) > 0 && (all[0].Waiting != len(waiting) || all[0].Asked.Value() != int64(asked)) {
			t.Fatalf("step %d: %+v, want %d that ask for %d", n, all, len(waiting), asked)
		}
	}
}
