// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// usual is the order by default.
var usual = Order{AgingBound: 10 * time.Minute}

// lineOf is the line for a resource of the quota of a namespace.
func lineOf(namespace string, name corev1.ResourceName) Line {
	return Line{Namespace: namespace, Quota: "quota", Resource: name}
}

// in are places in the lines for some resources of a namespace's quota, in which as many cores are asked for as minutes have passed.
func in(namespace string, names ...corev1.ResourceName) []Place {
	var places []Place
	for _, name := range names {
		places = append(places, Place{Line: lineOf(namespace, name), Asked: cores(1)})
	}
	return places
}

func cores(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

func names(apps []Key) []string {
	var out []string
	for _, app := range apps {
		out = append(out, app.Name)
	}
	return out
}

// applicant is an attempt that asks for cores.
type applicant struct {
	id       string
	minute   int
	priority int32
	asks     int
}

func (p applicant) attempt() Attempt {
	a := attemptAt(p.id, "x", p.minute)
	a.Priority = p.priority
	return a
}

// Who is ahead of whom, who may be passed, and who may start next.
func TestLineOrder(t *testing.T) {
	strict := usual
	strict.Strict = true
	cases := map[string]struct {
		reason string
		order  Order
		line   []applicant
		asks   applicant
		minute int
		want   Ahead
		next   []string
	}{
		"Empty":     {reason: "none waits", order: usual, asks: applicant{id: "a"}},
		"Age":       {reason: "who came first is ahead", order: usual, line: []applicant{{id: "a", minute: 1, asks: 50}, {id: "c", minute: 3, asks: 1}}, asks: applicant{id: "b", minute: 2}, minute: 3, want: Ahead{Count: 1, Least: cores(50)}, next: []string{"a", "c"}},
		"ID":        {reason: "of two at the same time the name decides", order: usual, line: []applicant{{id: "a", minute: 1, asks: 5}, {id: "c", minute: 1, asks: 5}}, asks: applicant{id: "b", minute: 1}, minute: 1, want: Ahead{Count: 1, Least: cores(5)}, next: []string{"a"}},
		"Priority":  {reason: "priority comes before age", order: usual, line: []applicant{{id: "old", minute: 0, asks: 2}, {id: "high", minute: 2, priority: 9, asks: 8}}, asks: applicant{id: "b", minute: 3, priority: 5}, minute: 3, want: Ahead{Count: 1, Least: cores(8)}, next: []string{"high", "old"}},
		"Least":     {reason: "there may be room for any of those ahead", order: usual, line: []applicant{{id: "a", minute: 0, asks: 9}, {id: "b", minute: 1, asks: 3}, {id: "c", minute: 2, asks: 7}}, asks: applicant{id: "d", minute: 3}, minute: 3, want: Ahead{Count: 3, Least: cores(3)}, next: []string{"a", "b"}},
		"Aging":     {reason: "after the bound it comes first, whatever the priority of others", order: usual, line: []applicant{{id: "a", minute: 0, asks: 50}, {id: "b", minute: 1, asks: 2}}, asks: applicant{id: "c", minute: 5, priority: 100}, minute: 10, want: Ahead{Count: 1, Least: cores(50)}, next: []string{"a", "b"}},
		"NotYet":    {reason: "until the bound priority comes first", order: usual, line: []applicant{{id: "a", minute: 0, asks: 50}}, asks: applicant{id: "c", minute: 5, priority: 100}, minute: 9, next: []string{"a"}},
		"BothOld":   {reason: "after the bound age counts, and not priority", order: usual, line: []applicant{{id: "a", minute: 0, asks: 50}, {id: "b", minute: 2, priority: 9, asks: 1}}, asks: applicant{id: "c", minute: 1, priority: 5}, minute: 20, want: Ahead{Count: 1, Least: cores(50)}, next: []string{"a", "b"}},
		"Mixed":     {reason: "those who are old are ahead of those with priority", order: usual, line: []applicant{{id: "a", minute: 0, asks: 50}, {id: "b", minute: 12, priority: 9, asks: 1}}, asks: applicant{id: "c", minute: 13, priority: 5}, minute: 13, want: Ahead{Count: 2, Least: cores(1)}, next: []string{"a", "b"}},
		"Strict":    {reason: "none is passed", order: strict, line: []applicant{{id: "a", minute: 0, asks: 50}, {id: "b", minute: 1, asks: 1}}, asks: applicant{id: "c", minute: 2}, minute: 2, want: Ahead{Count: 2, Least: cores(1), Fixed: 2}, next: []string{"a"}},
		"StrictToo": {reason: "priority comes before age there, too", order: strict, line: []applicant{{id: "a", minute: 0, asks: 50}, {id: "b", minute: 1, priority: 3, asks: 1}}, asks: applicant{id: "c", minute: 2, priority: 1}, minute: 2, want: Ahead{Count: 1, Least: cores(1), Fixed: 1}, next: []string{"b"}},
		"Itself":    {reason: "it is not ahead of itself, at the priority that it had either", order: usual, line: []applicant{{id: "a", minute: 0, priority: 9, asks: 5}}, asks: applicant{id: "a", minute: 0}, minute: 1, next: []string{"a"}},
		"Many":      {reason: "few are enqueued, of which the last asks for the least of all", order: usual, line: many(20), asks: applicant{id: "z", minute: 9}, minute: 9, want: Ahead{Count: 20, Least: cores(1)}, next: []string{"00", "01", "02", "03", "04", "05", "06", "19"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, now := NewLedger(tc.order), nine.Add(time.Duration(tc.minute)*time.Minute)
			for _, w := range tc.line {
				l.Record(w.attempt(), Admission{Verdict: Wait, Lines: []Place{{Line: lineOf("x", "cpu"), Asked: cores(w.asks)}}}, nine)
			}
			if diff := cmp.Diff(tc.want, l.Outstanding(tc.asks.attempt(), now).Ahead[lineOf("x", "cpu")]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.next, names(l.Heads("x", now))); diff != "" {
				t.Errorf("%s: who may start next (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// many ask for less and less.
func many(n int) []applicant {
	var out []applicant
	for i := range n {
		out = append(out, applicant{id: fmt.Sprintf("%02d", i), minute: 0, asks: n - i})
	}
	return out
}

// Attempts are compared as a line has them.
func TestOrderCompares(t *testing.T) {
	all := []applicant{
		{id: "new", minute: 19}, {id: "old", minute: 11}, {id: "b-twin", minute: 19}, {id: "high", minute: 19, priority: 9}, {id: "aged-high", minute: 10, priority: 9}, {id: "aged", minute: 0},
	}
	slices.SortFunc(all, func(x, y applicant) int { return usual.Compare(x.attempt(), y.attempt(), nine.Add(20*time.Minute)) })
	var got []string
	for _, w := range all {
		got = append(got, w.id)
	}
	if diff := cmp.Diff([]string{"aged", "aged-high", "high", "old", "b-twin", "new"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAheadBlocks(t *testing.T) {
	cases := map[string]struct {
		reason        string
		ahead         Ahead
		blocks, leads bool
	}{
		"None":    {reason: "none is ahead", leads: true},
		"Large":   {reason: "there is no room for those ahead", ahead: Ahead{Count: 2, Least: cores(6)}, leads: true},
		"Exact":   {reason: "there is just room for one of those ahead", ahead: Ahead{Count: 2, Least: cores(5)}, blocks: true, leads: true},
		"Fits":    {reason: "there is room for one of those ahead", ahead: Ahead{Count: 2, Least: cores(4)}, blocks: true, leads: true},
		"Same":    {reason: "where there is room for it, there is for one of those ahead", ahead: Ahead{Count: 2, Least: cores(3)}, blocks: true},
		"Fixed":   {reason: "it may not pass", ahead: Ahead{Count: 2, Fixed: 1, Least: cores(6)}, blocks: true},
		"Held":    {reason: "2 are spare, the rest is kept", ahead: Ahead{Hold: &Hold{Asked: cores(9), Spare: cores(2)}}, blocks: true},
		"Fits it": {reason: "5 suffice for the one that holds it", ahead: Ahead{Hold: &Hold{Asked: cores(5), Spare: cores(3)}}, blocks: true},
		"Spare":   {reason: "3 are spare", ahead: Ahead{Hold: &Hold{Asked: cores(9), Spare: cores(3)}}, leads: true},
		"Rest":    {reason: "more is left than is kept for", ahead: Ahead{Hold: &Hold{Asked: cores(2)}}, leads: true},
		"First":   {reason: "one ahead fits into what is spare", ahead: Ahead{Count: 1, Least: cores(3), Hold: &Hold{Asked: cores(9), Spare: cores(3)}}, blocks: true},
		"Small":   {reason: "none ahead fits into what is spare", ahead: Ahead{Count: 1, Least: cores(4), Hold: &Hold{Asked: cores(9), Spare: cores(3)}}, leads: true},
		"Front":   {reason: "one is ahead of the one that holds it", ahead: Ahead{Count: 1, Least: cores(4), Front: ptr.To(cores(4)), Hold: &Hold{Asked: cores(9), Spare: cores(3)}}, blocks: true, leads: true},
		"Own":     {reason: "all is kept for itself", ahead: Ahead{Own: true, Hold: &Hold{Asked: cores(9)}}, leads: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.ahead.Blocks(cores(3), cores(5)); got != tc.blocks {
				t.Errorf("%s: with 5 left it blocks: %t", tc.reason, got)
			}
			if got := tc.ahead.Leads(cores(3), cores(5)); got != tc.leads {
				t.Errorf("%s: who asks for 3 leads: %t", tc.reason, got)
			}
		})
	}
}

// Each resource has a line, those of a namespace concern no other, and what all namespaces share has one line.
func TestLines(t *testing.T) {
	l := NewLedger(usual)
	shared := Place{Line: Line{Quota: "sum", Resource: "cpu"}, Asked: cores(4)}
	first, second, elsewhere := attemptAt("first", "x", 0), attemptAt("second", "x", 1), attemptAt("elsewhere", "y", 2)
	wait := func(a Attempt, places ...Place) []string {
		return names(l.Record(a, Admission{Verdict: Wait, Lines: places}, nine))
	}
	ahead := func(step string, a Attempt, want map[Line]int) {
		t.Helper()
		got := map[Line]int{}
		for name, h := range l.Outstanding(a, nine).Ahead {
			got[name] = h.Count
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: ahead of %s (-want +got):\n%s", step, a.ID, diff)
		}
	}
	cpu, gpu := lineOf("x", "cpu"), lineOf("x", "gpu")
	wait(first, append(in("x", "cpu", "gpu"), shared)...)
	ahead("it stands in three lines", second, map[Line]int{cpu: 1, gpu: 1, shared.Line: 1})
	ahead("one of them is for all namespaces", elsewhere, map[Line]int{shared.Line: 1})
	wait(elsewhere, shared)
	wait(second, in("x", "cpu")...)
	if diff := cmp.Diff([]string{"first"}, names(l.Heads("x", nine))); diff != "" {
		t.Errorf("who asks for no less than the first cannot start before it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"second"}, wait(first, shared)); diff != "" {
		t.Errorf("the lines that it left move (-want +got):\n%s", diff)
	}
	ahead("it waits in one line now", second, map[Line]int{shared.Line: 1})
	if diff := cmp.Diff([]string{"elsewhere"}, names(l.Record(first, Admission{Verdict: Admit}, nine))); diff != "" {
		t.Errorf("it starts: others in its line may, too (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"second", "elsewhere"}, names(l.Release("first", nine))); diff != "" {
		t.Errorf("it ends: there may be room in its namespace, and in what all share (-want +got):\n%s", diff)
	}
	if got := l.Release("first", nine); got != nil {
		t.Errorf("it was forgotten already: %v", got)
	}
	l.Record(second, Admission{Verdict: Unavailable}, nine)
	l.Release("elsewhere", nine)
	if len(l.lines) != 0 || len(l.waiting) != 0 {
		t.Errorf("lines without anyone are left: %v", l.lines)
	}
}

// Those who waited before the ledger was lost are asked before any starts, but not waited for without an end.
func TestExpected(t *testing.T) {
	a, b, c := attemptAt("a", "x", 0), attemptAt("b", "x", 0), attemptAt("c", "x", 0)
	cases := map[string]struct {
		reason string
		then   func(*Ledger)
		after  time.Duration
		asks   Attempt
		want   bool
	}{
		"Others": {reason: "two are expected", asks: c, want: true},
		"Itself": {reason: "it is asked, and another one is expected", asks: a, want: true},
		"Waits":  {reason: "one was asked and waits, one is asked now", then: func(l *Ledger) { l.Record(a, Admission{Verdict: Wait, Lines: in("x", "cpu")}, nine) }, asks: b},
		"Rejected": {reason: "whatever the answer was", then: func(l *Ledger) {
			l.Record(a, Admission{Verdict: Reject}, nine)
			l.Record(b, Admission{Verdict: Unavailable}, nine)
		}, asks: c},
		"Runs":    {reason: "a previous operator had started it", then: func(l *Ledger) { l.Reserve(a) }, asks: b},
		"Gone":    {reason: "it was deleted", then: func(l *Ledger) { l.Release("a", nine) }, asks: b},
		"Long":    {reason: "it was not asked for long", after: patienceAfterStart, asks: c},
		"NotLong": {reason: "there is still time to ask it", after: patienceAfterStart - 1, asks: c, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(usual)
			l.Expect("a", nine)
			l.Expect("b", nine)
			if tc.then != nil {
				tc.then(l)
			}
			if got := l.Outstanding(tc.asks, nine.Add(tc.after)).Expected; got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

// After a clock that was wrong for a while, who has not waited for long comes by priority again. A correction changes nothing.
func TestClockGoesBack(t *testing.T) {
	l := NewLedger(usual)
	low, high := applicant{id: "low", minute: 0}.attempt(), applicant{id: "high", minute: 1, priority: 9}.attempt()
	for _, a := range []Attempt{low, high} {
		l.Record(a, Admission{Verdict: Wait, Lines: []Place{{Line: lineOf("x", "cpu"), Asked: cores(1)}}}, nine)
	}
	for _, step := range []struct {
		reason string
		at     time.Duration
		want   []string
	}{
		{reason: "priority comes first", at: 2 * time.Minute, want: []string{"high"}},
		{reason: "the clock is a day ahead, and both are old", at: 24 * time.Hour, want: []string{"low"}},
		{reason: "it is corrected by less than a minute", at: 24*time.Hour - time.Second, want: []string{"low"}},
		{reason: "it is right again", at: 3 * time.Minute, want: []string{"high"}},
		{reason: "time passes as usual", at: 10 * time.Minute, want: []string{"low"}},
	} {
		if diff := cmp.Diff(step.want, names(l.Heads("x", nine.Add(step.at)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}

// The tree answers as a list would that is searched from its beginning, and a ledger that was lost and filled again in another order
// answers the same.
func TestLineIsAList(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		l, all := NewLedger(usual), map[string]applicant{}
		for range 60 {
			w := applicant{id: strconv.Itoa(random.IntN(30)), minute: random.IntN(30), priority: int32(random.IntN(3)), asks: 1 + random.IntN(9)}
			if random.IntN(4) == 0 {
				l.Release(w.id, nine)
				delete(all, w.id)
				continue
			}
			l.Record(w.attempt(), Admission{Verdict: Wait, Lines: []Place{{Line: lineOf("x", "cpu"), Asked: cores(w.asks)}}}, nine.Add(time.Duration(random.IntN(10))*time.Minute))
			all[w.id] = w
		}
		again, minute := NewLedger(usual), 20+random.IntN(20)
		now := nine.Add(time.Duration(minute) * time.Minute)
		for _, w := range all {
			again.Record(w.attempt(), Admission{Verdict: Wait, Lines: []Place{{Line: lineOf("x", "cpu"), Asked: cores(w.asks)}}}, nine)
		}
		for _, w := range all {
			want := aheadInList(all, w, minute)
			for i, ledger := range []*Ledger{l, again} {
				if diff := cmp.Diff(want, ledger.Outstanding(w.attempt(), now).Ahead[lineOf("x", "cpu")]); diff != "" {
					t.Fatalf("seed %d, ledger %d: ahead of %+v (-want +got):\n%s", seed, i, w, diff)
				}
			}
		}
		if diff := cmp.Diff(l.Heads("x", now), again.Heads("x", now)); diff != "" {
			t.Fatalf("seed %d: who may start next, before and after (-before +after):\n%s", seed, diff)
		}
	}
}

func aheadInList(all map[string]applicant, of applicant, minute int) Ahead {
	old := func(w applicant) bool { return w.minute <= minute-10 }
	goesFirst := func(x, y applicant) bool {
		switch {
		case old(x) != old(y):
			return old(x)
		case !old(x) && x.priority != y.priority:
			return x.priority > y.priority
		case x.minute != y.minute:
			return x.minute < y.minute
		default:
			return x.id < y.id
		}
	}
	var h Ahead
	var asked []int
	for _, w := range all {
		if w.id == of.id || !goesFirst(w, of) {
			continue
		}
		h.Count++
		asked = append(asked, w.asks)
	}
	if len(asked) > 0 {
		h.Least = cores(slices.Min(asked))
	}
	return h
}

// waitersIn is a ledger with so many who wait, spread over namespaces.
func waitersIn(count, namespaces int) (*Ledger, []Attempt) {
	l, all := NewLedger(usual), make([]Attempt, 0, count)
	for i := range count {
		a := Attempt{ID: "spark-" + strconv.Itoa(i) + "-1", App: App{Namespace: "team-" + strconv.Itoa(i%namespaces), Name: strconv.Itoa(i)}, QueuedAt: nine.Add(time.Duration(i) * time.Second), Priority: int32(i % 3)}
		places := append(in(a.App.Namespace, "cpu", "memory"), Place{Line: Line{Quota: "sum", Resource: "cpu"}, Asked: cores(1 + i%50)})
		l.Record(a, Admission{Verdict: Wait, Lines: places}, nine)
		all = append(all, a)
	}
	return l, all
}

// BenchmarkLine is what it costs with 10,000 waiters in 100 namespaces that also wait in one line together, half of them longer than the
// bound, and with 10,000 in one namespace; beside 100 who start.
func BenchmarkLine(b *testing.B) {
	for _, namespaces := range []int{100, 1} {
		l, all := waitersIn(10000, namespaces)
		now := nine.Add(usual.AgingBound + 5000*time.Second)
		for i := range 100 {
			l.Reserve(Attempt{ID: "starts-" + strconv.Itoa(i), App: App{Namespace: "team-" + strconv.Itoa(i%namespaces)}})
		}
		run := func(name string, f func(i int)) {
			b.Run(fmt.Sprintf("%s/namespaces=%d", name, namespaces), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					f(i)
				}
			})
		}
		run("Outstanding", func(i int) { l.Outstanding(all[i%len(all)], now) })
		run("Record", func(i int) {
			a := all[i%len(all)]
			l.Record(a, Admission{Verdict: Wait, Lines: l.waiting[a.ID].places}, now)
		})
		run("Heads", func(i int) { l.Heads("team-"+strconv.Itoa(i%namespaces), now) })
		run("Settle", func(i int) {
			a := Attempt{ID: "settles", App: App{Namespace: "team-0"}}
			l.Reserve(a)
			l.Settle(a.ID, Progress{DriverCreated: true}, now)
			l.drop(a.ID)
		})
	}
}
