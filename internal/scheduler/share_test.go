// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// In a line that namespaces share the order is that of a list sorted by share, then by age beyond the bound, priority and age, whatever the shares were when
// those in it were entered. Whatever room there is, the first for which it suffices is enqueued; in the line of one namespace shares mean nothing.
func TestFairOrder(t *testing.T) {
	shared, own := lineOf("", "cpu"), lineOf("n0", "cpu")
	fair := usual
	fair.Fair = true
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		shares := func() Shares {
			s := map[string]float64{}
			for i := range 3 { // n3 is guaranteed nothing
				s["n"+strconv.Itoa(i)] = float64(random.IntN(3)) / 2
			}
			return Shares{shared: s, own: s}
		}
		l, all := NewLedger(fair), []Attempt{}
		now, limit := nine.Add(25*time.Minute), nine.Add(15*time.Minute)
		asks := map[string]int{}
		for i := range 12 {
			a := attemptAt(strconv.Itoa(i), "n"+strconv.Itoa(random.IntN(4)), random.IntN(25))
			a.Priority = int32(random.IntN(2))
			asks[a.ID] = 1 + random.IntN(9)
			l.OutstandingBy(a, nine, func(Outstanding) Shares { return shares() })
			l.Record(a, Admission{Verdict: Wait, Lines: []Place{{Line: shared, Asked: cores(asks[a.ID])}, {Line: own, Asked: cores(1)}}}, nine)
			all = append(all, a)
		}
		last := shares()
		share := func(a Attempt) float64 {
			if s, known := last[shared][a.App.Namespace]; known {
				return s
			}
			return math.Inf(1)
		}
		old := func(a Attempt) bool { return !a.QueuedAt.After(limit) }
		within := func(x, y Attempt) int {
			byAge := cmp.Or(x.QueuedAt.Compare(y.QueuedAt), cmp.Compare(x.ID, y.ID))
			switch {
			case old(x) && old(y):
				return byAge
			case old(x) != old(y):
				return map[bool]int{true: -1, false: 1}[old(x)]
			}
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), byAge)
		}
		first := func(x, y Attempt) int { return cmp.Or(cmp.Compare(share(x), share(y)), within(x, y)) }
		slices.SortFunc(all, first)
		for i, a := range all {
			want := Ahead{Count: i}
			for _, w := range all[:i] {
				if asked := cores(asks[w.ID]); want.Least.IsZero() || asked.Cmp(want.Least) < 0 {
					want.Least = asked
				}
			}
			got := l.OutstandingBy(a, now, func(Outstanding) Shares { return last }).Ahead[shared]
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: ahead of number %d (-want +got):\n%s", seed, i, diff)
			}
			if p := l.Positions(a.ID, now); p[0].Position != i+1 {
				t.Fatalf("seed %d: number %d stands at %+v", seed, i, p)
			}
		}
		heads := names(l.heads([]Line{shared}, now))
		for room := 1; room < 10 && len(heads) < nextInLine; room++ {
			if i := slices.IndexFunc(all, func(a Attempt) bool { return asks[a.ID] <= room }); i >= 0 && !slices.Contains(heads, all[i].App.Name) {
				t.Fatalf("seed %d: with room for %d %s may start, and %v are enqueued", seed, room, all[i].App.Name, heads)
			}
		}
		byAge := slices.SortedFunc(slices.Values(all), within)
		if got := names(l.heads([]Line{own}, now)); got[0] != byAge[0].App.Name {
			t.Fatalf("seed %d: %v are enqueued for the line of one namespace, want %s", seed, got, byAge[0].App.Name)
		}
	}
}

// What is asked about an attempt that no quota of the line binds does not forget the shares of those that wait in it.
func TestSharesAreKept(t *testing.T) {
	shared := lineOf("", "cpu")
	l := NewLedger(Order{Fair: true, AgingBound: time.Hour})
	for _, a := range []Attempt{attemptAt("old", "x", 1), attemptAt("new", "y", 2)} {
		l.Record(a, Admission{Verdict: Wait, Lines: []Place{{Line: shared, Asked: cores(1)}}}, nine)
	}
	l.OutstandingBy(attemptAt("old", "x", 1), nine, func(Outstanding) Shares { return Shares{shared: {"x": 2, "y": 1}} })
	l.OutstandingBy(attemptAt("plain", "z", 3), nine, func(Outstanding) Shares { return nil })
	for range 50 { // the ledger has the namespaces in no order
		if got := names(l.Heads("z", nine)); !slices.Equal(got, []string{"new"}) {
			t.Fatalf("%v may start next, want that of the namespace which uses less", got)
		}
	}
}

// One that finds others ahead of it lets them be asked: their share may have become less without a start or an end.
func TestFairHeadsAreAsked(t *testing.T) {
	shared := lineOf("", "cpu")
	for _, order := range []Order{{AgingBound: time.Hour}, {Fair: true, AgingBound: time.Hour}} {
		l := NewLedger(order)
		for _, a := range []Attempt{attemptAt("a", "x", 1), attemptAt("b", "y", 2)} {
			answer := Admission{Verdict: Wait, Reason: ReasonWaitingForQuota, Lines: []Place{{Line: shared, Asked: cores(1)}}}
			if next := l.Record(a, answer, nine); len(next) > 0 {
				t.Errorf("%+v: %v are enqueued by one that is short", order, next)
			}
		}
		l.shares = Shares{shared: {"x": 2, "y": 1}}
		next := names(l.Record(attemptAt("a", "x", 1), Admission{Verdict: Wait, Reason: ReasonBehindOthers, Lines: []Place{{Line: shared, Asked: cores(1)}}}, nine))
		if want := map[bool][]string{true: {"b"}}[order.Fair]; !slices.Equal(next, want) {
			t.Errorf("%+v: %v are enqueued, want %v", order, next, want)
		}
	}
}
