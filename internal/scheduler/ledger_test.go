// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

var nine = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func attemptAt(id, namespace string, minute int) Attempt {
	return Attempt{ID: id, App: App{Namespace: namespace, Name: id}, QueuedAt: nine.Add(time.Duration(minute) * time.Minute), PodSets: spark.PodSets{Initial: 2}}
}

func ids(o Outstanding) []string {
	var out []string
	for _, r := range o.Others {
		out = append(out, r.ID)
	}
	return out
}

func TestLedgerReserves(t *testing.T) {
	l := NewLedger(Order{})
	a, b, c := attemptAt("a", "x", 1), attemptAt("b", "x", 2), attemptAt("c", "y", 3)
	l.Record(b, Admission{Verdict: Admit}, nine)
	l.Record(c, Admission{Verdict: Admit}, nine)
	got := l.Outstanding(a, nine)
	if diff := cmp.Diff([]string{"b", "c"}, ids(got)); diff != "" || got.Held {
		t.Errorf("what is reserved for others, in all namespaces; held %t (-want +got):\n%s", got.Held, diff)
	}
	if got := l.Outstanding(b, nine); !got.Held || len(got.Others) != 1 {
		t.Errorf("its own reservation is not in its way: %+v", got)
	}
	l.Record(b, Admission{Verdict: Wait}, nine)
	if diff := cmp.Diff([]string{"c"}, ids(l.Outstanding(a, nine))); diff != "" {
		t.Errorf("a reservation that was dropped (-want +got):\n%s", diff)
	}
	l.Release("c", nine)
	if got := l.Outstanding(a, nine); len(got.Others) != 0 {
		t.Errorf("an attempt that is over holds nothing: %+v", got)
	}
}

// A reservation is for the attempt as it was: one that was edited before it had a driver is asked about again.
func TestLedgerPromisesWhatWasAsked(t *testing.T) {
	was, other := attemptAt("a", "x", 0), attemptAt("b", "x", 0)
	bigger, classed, again, held := was, was, was, was
	held.Placeholders = []Placeholder{{Role: spark.RoleDriver, Count: 1}}
	bigger.PodSets.Initial = 200
	classed.PriorityClass = "high"
	again.PodSets.Driver.Requests = corev1.ResourceList{} // the same, written otherwise
	for name, tc := range map[string]struct {
		a    Attempt
		held bool
	}{"same": {was, true}, "again": {again, true}, "bigger": {bigger, false}, "classed": {classed, false}, "placeholders": {held, false}} {
		l := NewLedger(Order{})
		l.Record(was, Admission{Verdict: Admit}, nine)
		l.Settle(was.ID, Progress{DriverCreated: true}, nine)
		o := l.Outstanding(tc.a, nine)
		if o.Held != tc.held || len(o.Others) != 0 {
			t.Errorf("%s: %+v", name, o)
		}
		l.Record(tc.a, Admission{Verdict: Admit}, nine)
		got := l.Outstanding(other, nine.Add(time.Minute)).Others
		if len(got) != 1 || got[0].PodSets.Initial != tc.a.PodSets.Initial || got[0].PriorityClass != tc.a.PriorityClass || len(got[0].Placeholders) != len(tc.a.Placeholders) || got[0].Progress.DriverCreated != tc.held {
			t.Errorf("%s: others see %+v", name, got)
		}
		l.Record(tc.a, Admission{Verdict: Wait, Lines: in("x", "q")}, nine)
		if o := l.Outstanding(other, nine); len(o.Others) != 0 {
			t.Errorf("%s: it waits and holds %+v", name, o.Others)
		}
	}
}

func TestLedgerSettles(t *testing.T) {
	cases := map[string]struct {
		reason string
		seen   []Progress
		want   *Progress
	}{
		"Nothing":    {reason: "no pod is counted", want: &Progress{}},
		"Driver":     {reason: "part of it is", seen: []Progress{{DriverCreated: true}}, want: &Progress{DriverCreated: true}},
		"Monotonic":  {reason: "an executor that ended was there", seen: []Progress{{DriverCreated: true, ExecutorsCreated: 2, ExecutorsRunning: 1, ExecutorsPending: 1}, {ExecutorsCreated: 1, ExecutorsPending: 1}}, want: &Progress{DriverCreated: true, ExecutorsCreated: 2, ExecutorsRunning: 1}},
		"Complete":   {reason: "all of it is", seen: []Progress{{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 2}}},
		"Piecemeal":  {reason: "one after the other", seen: []Progress{{DriverRunning: true}, {ExecutorsRunning: 1}, {ExecutorsRunning: 2}}},
		"InTurn":     {reason: "they need not run at one moment", seen: []Progress{{DriverRunning: true, ExecutorsCreated: 1, ExecutorsPending: 1}, {ExecutorsCreated: 1, ExecutorsRunning: 1}, {ExecutorsCreated: 2, ExecutorsPending: 1}, {ExecutorsCreated: 2, ExecutorsRunning: 1}}},
		"Remembered": {reason: "both are gone, whenever that was", seen: []Progress{{DriverRunning: true, ExecutorsCreated: 2}}},
		"Replaced":   {reason: "those that take the places of others want their room", seen: []Progress{{DriverRunning: true, ExecutorsCreated: 6, ExecutorsPending: 2}}, want: &Progress{DriverRunning: true, ExecutorsCreated: 6}},
		"Grown":      {reason: "more than the initial ones were not reserved", seen: []Progress{{DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 2}, {ExecutorsCreated: 9, ExecutorsPending: 7}}},
		"NoDriver":   {reason: "executors cannot stand in for the driver", seen: []Progress{{ExecutorsRunning: 5}}, want: &Progress{ExecutorsRunning: 5}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(Order{})
			l.Reserve(attemptAt("a", "x", 0))
			for _, p := range tc.seen {
				if tc.want != nil {
					l.Reserve(attemptAt("a", "x", 0)) // what is asked again keeps its progress
				}
				l.Settle("a", p, nine)
			}
			var got *Progress
			for _, r := range l.Outstanding(attemptAt("b", "x", 0), nine.Add(runningLag)).Others {
				got = &r.Progress
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The quotas' reports come later than the pods: a reservation counts until they must have come.
func TestLedgerWaitsForReports(t *testing.T) {
	const ms = time.Millisecond
	all := Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 2}
	driver := Progress{DriverCreated: true, DriverRunning: true}
	created := Progress{DriverCreated: true, ExecutorsCreated: 2}
	cases := map[string]struct {
		reason  string
		seen    map[time.Duration]Progress
		at      time.Duration
		want    *Progress
		recheck time.Duration
	}{
		"Unseen":    {reason: "nothing will change automatically", want: &Progress{}},
		"AtOnce":    {reason: "no report can have come", seen: map[time.Duration]Progress{0: all}, want: &Progress{}, recheck: 1000 * ms},
		"Created":   {reason: "the API server's report has come", seen: map[time.Duration]Progress{0: all}, at: 1000 * ms, want: &created, recheck: 2000 * ms},
		"Almost":    {reason: "the controller's report has not", seen: map[time.Duration]Progress{0: all}, at: 2999 * ms, want: &created, recheck: ms},
		"Reported":  {reason: "both have come", seen: map[time.Duration]Progress{0: all}, at: 3000 * ms},
		"Parts":     {reason: "each part counts from when it was seen", seen: map[time.Duration]Progress{0: driver, 2000 * ms: all}, at: 3000 * ms, want: &Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2}, recheck: 2000 * ms},
		"Oldest":    {reason: "what was seen first is reported first", seen: map[time.Duration]Progress{0: driver, 1000 * ms: all}, at: 2000 * ms, want: &Progress{DriverCreated: true, ExecutorsCreated: 2}, recheck: 1000 * ms},
		"Same":      {reason: "the same again is no progress", seen: map[time.Duration]Progress{0: all, 2500 * ms: all}, at: 3000 * ms},
		"Shrunk":    {reason: "nor is less", seen: map[time.Duration]Progress{0: all, 2500 * ms: driver}, at: 3000 * ms},
		"Forgotten": {reason: "long after", seen: map[time.Duration]Progress{0: driver, 1000 * ms: all}, at: time.Hour},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(Order{})
			l.Reserve(attemptAt("a", "x", 0))
			l.Record(attemptAt("c", "x", 0), Admission{Verdict: Wait, Lines: in("x", "q")}, nine)
			var last Progress
			for _, after := range slices.Sorted(maps.Keys(tc.seen)) {
				p := tc.seen[after]
				news := p == all && last != all || last == (Progress{})
				if got := l.Settle("a", p, nine.Add(after)); (len(got) > 0) != news {
					t.Errorf("after %s: who waits hears of it: %t", after, !news)
				}
				if last != all {
					last = p
				}
			}
			o := l.Outstanding(attemptAt("b", "y", 0), nine.Add(tc.at))
			var got *Progress
			for _, r := range o.Others {
				got = &r.Progress
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || o.Recheck != tc.recheck {
				t.Errorf("%s; again in %s, want %s (-want +got):\n%s", tc.reason, o.Recheck, tc.recheck, diff)
			}
			if own := l.Outstanding(attemptAt("a", "x", 0), nine.Add(tc.at)); own.Held != (tc.want != nil) || own.Recheck != 0 {
				t.Errorf("its own reservation: %+v", own)
			}
		})
	}
}

// What does not come is not waited for. The attempt has two executors.
func TestLedgerLosesPatience(t *testing.T) {
	const short = Patience - time.Second
	running, one := Progress{DriverCreated: true, DriverRunning: true}, Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 1, ExecutorsRunning: 1}
	pending := Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 1, ExecutorsPending: 1}
	cases := map[string]struct {
		reason string
		seen   map[time.Duration]Progress
		at     time.Duration
		want   *Progress
	}{
		"Early":     {reason: "its driver may still come", at: short, want: &Progress{}},
		"NoDriver":  {reason: "no one creates it", at: Patience},
		"Queued":    {reason: "executors come after the driver, and that has no node", seen: map[time.Duration]Progress{0: {DriverCreated: true}}, at: 24 * time.Hour, want: &Progress{DriverCreated: true}},
		"Running":   {reason: "Spark may still ask for them", seen: map[time.Duration]Progress{0: running}, at: short, want: &running},
		"NoneCame":  {reason: "Spark asks for none", seen: map[time.Duration]Progress{0: running}, at: Patience},
		"OneCame":   {reason: "and each that comes gives the next one time", seen: map[time.Duration]Progress{0: running, time.Minute: one}, at: Patience, want: &one},
		"NoMore":    {reason: "dynamic allocation wants no more", seen: map[time.Duration]Progress{0: running, time.Minute: one, Patience: one}, at: Patience + time.Minute},
		"Waiting":   {reason: "what waits for a node still wants its room", seen: map[time.Duration]Progress{0: pending}, at: time.Hour, want: &Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 1}},
		"GotANode":  {reason: "until it has one", seen: map[time.Duration]Progress{0: pending, time.Hour: one}, at: time.Hour + runningLag},
		"BothQueue": {reason: "as long as it takes", seen: map[time.Duration]Progress{0: {DriverRunning: true, ExecutorsCreated: 2, ExecutorsPending: 2}}, at: time.Hour, want: &Progress{DriverRunning: true, ExecutorsCreated: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, other := NewLedger(Order{}), attemptAt("b", "y", 0)
			l.Reserve(attemptAt("a", "x", 0))
			l.Outstanding(other, nine) // someone asks
			for _, after := range slices.Sorted(maps.Keys(tc.seen)) {
				l.Outstanding(other, nine.Add(after))
				l.Settle("a", tc.seen[after], nine.Add(after))
			}
			var got *Progress
			for _, r := range l.Outstanding(other, nine.Add(tc.at)).Others {
				got = &r.Progress
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// An attempt that no one asks about is forgotten, too.
func TestLedgerForgetsWithoutBeingAsked(t *testing.T) {
	l := NewLedger(Order{})
	a := attemptAt("a", "x", 0)
	l.Reserve(a)
	for i := range 4 {
		l.Settle(a.ID, Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 2}, nine.Add(time.Duration(i)*time.Second))
	}
	if len(l.reserved) != 0 {
		t.Errorf("it keeps %+v", l.reserved)
	}
	l.Record(attemptAt("b", "x", 0), Admission{Verdict: Wait, Lines: in("x", "q")}, nine)
	if got := l.Settle(a.ID, Progress{DriverCreated: true}, nine.Add(time.Hour)); len(got) > 0 {
		t.Error("what was forgotten is no news")
	}
}

func TestProgressOf(t *testing.T) {
	const pending, running, done = corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded
	cases := map[string]struct {
		reason string
		facts  PodStatuses
		want   Progress
	}{
		"Nothing": {reason: "no pods"},
		"Pending": {reason: "the API server counts it, the scheduler does not", facts: PodStatuses{Driver: &PodStatus{Phase: pending}}, want: Progress{DriverCreated: true}},
		"Running": {reason: "both count it", facts: PodStatuses{Driver: &PodStatus{Phase: running}, Executors: []PodStatus{{Phase: pending}, {Phase: done}}}, want: Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 1, ExecutorsPending: 1}},
		"Numbers": {reason: "those that are gone were there", facts: PodStatuses{Driver: &PodStatus{Phase: running}, Executors: []PodStatus{{ExecutorID: 9, Phase: running}}}, want: Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 9, ExecutorsRunning: 1}},
		"Ever":    {reason: "nor is it forgotten of those that no one sees", facts: PodStatuses{ExecutorsEver: 9, Executors: []PodStatus{{ExecutorID: 4, Phase: running}}}, want: Progress{ExecutorsCreated: 9, ExecutorsRunning: 1}},
		"Record":  {reason: "nor is a record more than a number", facts: PodStatuses{ExecutorsEver: 1 << 30}, want: Progress{ExecutorsCreated: 1 << 20}},
		"Absurd":  {reason: "anyone can write a label", facts: PodStatuses{Executors: []PodStatus{{ExecutorID: 1 << 60}}}, want: Progress{ExecutorsCreated: 1 << 20, ExecutorsRunning: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ProgressOf(tc.facts)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Whatever happens in whatever order, and whatever is forgotten: no attempt is both in line and reserved, and what is released is
// gone.
func TestLedgerKeepsItsBooks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := NewLedger(Order{})
	for step := range 20000 {
		now := nine.Add(time.Duration(step) * 100 * time.Millisecond)
		a := attemptAt(strconv.Itoa(random.IntN(20)), "ns"+strconv.Itoa(random.IntN(3)), random.IntN(5))
		switch random.IntN(5) {
		case 0:
			l.Record(a, Admission{Verdict: Admit}, now)
		case 1:
			l.Record(a, Admission{Verdict: Wait, Lines: in(a.App.Namespace, "q", "r")[:1+random.IntN(2)]}, now)
		case 2:
			l.Record(a, Admission{Verdict: Unavailable}, now)
		case 3:
			l.Settle(a.ID, Progress{DriverCreated: true, ExecutorsRunning: int32(random.IntN(3))}, now)
		case 4:
			l.Release(a.ID, now)
			if o := l.Outstanding(a, nine); o.Held {
				t.Fatal("released and held")
			}
		}
		inLine := map[string]int{}
		for _, lines := range l.lines {
			for name, line := range lines {
				for _, id := range idsOf(line) {
					inLine[id]++
					if !slices.ContainsFunc(l.waiting[id].places, func(p Place) bool { return p.Line == name }) {
						t.Fatalf("%s stands in %v, and waits in %v", id, name, l.waiting[id].places)
					}
				}
			}
		}
		for id, q := range l.waiting {
			if _, reserved := l.reserved[id]; reserved || inLine[id] != len(q.places) {
				t.Fatalf("%s is in line %d times; reserved: %t", id, inLine[id], reserved)
			}
			delete(inLine, id)
		}
		if len(inLine) > 0 {
			t.Fatalf("in line without waiting: %v", inLine)
		}
	}
}

// idsOf are the attempts of a line.
func idsOf(l *line) (ids []string) {
	var below func(*node)
	below = func(n *node) {
		if n != nil {
			ids = append(ids, n.id)
			below(n.left)
			below(n.right)
		}
	}
	for _, t := range l.trees() {
		below(t.root)
	}
	return ids
}

// Two applications race for one slot, each as the engine does it: exactly one enters.
func TestLedgerRace(t *testing.T) {
	for range 200 {
		l := NewLedger(Order{})
		var lock sync.Mutex
		var group sync.WaitGroup
		entered := make(chan string, 2)
		for _, id := range []string{"a", "b"} {
			group.Go(func() {
				lock.Lock()
				defer lock.Unlock()
				attempt := attemptAt(id, "x", 0)
				answer := Admission{Verdict: Admit}
				if len(l.Outstanding(attempt, nine).Others) > 0 { // there is one slot
					answer = Admission{Verdict: Wait, Lines: in("x", "q")}
				}
				if l.Record(attempt, answer, nine); answer.Verdict == Admit {
					entered <- id
				}
			})
		}
		group.Wait()
		if len(entered) != 1 || len(l.waiting) != 1 {
			t.Fatalf("%d entered, %d wait", len(entered), len(l.waiting))
		}
	}
}
