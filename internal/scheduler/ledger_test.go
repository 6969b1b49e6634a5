/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package scheduler

import (
	"math/rand/v2"
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
	return Attempt{ID: id, App: App{Namespace: namespace}, QueuedAt: nine.Add(time.Duration(minute) * time.Minute), Shapes: spark.Shapes{Initial: 2}}
}

func ids(o Outstanding) []string {
	var out []string
	for _, r := range o.Others {
		out = append(out, r.ID)
	}
	return out
}

func TestLedgerReserves(t *testing.T) {
	l := NewLedger()
	a, b, c := attemptAt("a", "x", 1), attemptAt("b", "x", 2), attemptAt("c", "y", 3)
	l.Record(b, Admission{Verdict: Go})
	l.Record(c, Admission{Verdict: Go})
	got := l.Outstanding(a)
	if diff := cmp.Diff([]string{"b", "c"}, ids(got)); diff != "" || got.Held {
		t.Errorf("what others were promised, in all namespaces; held %t (-want +got):\n%s", got.Held, diff)
	}
	if got := l.Outstanding(b); !got.Held || len(got.Others) != 1 {
		t.Errorf("its own promise is not in its way: %+v", got)
	}
	l.Record(b, Admission{Verdict: Wait})
	if diff := cmp.Diff([]string{"c"}, ids(l.Outstanding(a))); diff != "" {
		t.Errorf("a promise that was taken back (-want +got):\n%s", diff)
	}
	l.Release("c")
	if got := l.Outstanding(a); len(got.Others) != 0 {
		t.Errorf("an attempt that is over holds nothing: %+v", got)
	}
}

func TestLedgerSettles(t *testing.T) {
	cases := map[string]struct {
		reason string
		seen   []Progress
		want   *Progress
	}{
		"Nothing":   {reason: "no pod is counted", want: &Progress{}},
		"Driver":    {reason: "part of it is", seen: []Progress{{DriverCreated: true}}, want: &Progress{DriverCreated: true}},
		"Monotonic": {reason: "an executor that ended was there", seen: []Progress{{DriverCreated: true, ExecutorsCreated: 2, ExecutorsRunning: 1}, {ExecutorsCreated: 1}}, want: &Progress{DriverCreated: true, ExecutorsCreated: 2, ExecutorsRunning: 1}},
		"Complete":  {reason: "all of it is", seen: []Progress{{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 2}}},
		"Piecemeal": {reason: "one after the other", seen: []Progress{{DriverRunning: true}, {ExecutorsRunning: 1}, {ExecutorsRunning: 2}}},
		"NoDriver":  {reason: "executors cannot stand in for the driver", seen: []Progress{{ExecutorsRunning: 5}}, want: &Progress{ExecutorsRunning: 5}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewLedger()
			l.Reserve(attemptAt("a", "x", 0))
			for _, p := range tc.seen {
				if tc.want != nil {
					l.Reserve(attemptAt("a", "x", 0)) // what is asked again keeps its progress
				}
				l.Settle("a", p)
			}
			var got *Progress
			for _, r := range l.Outstanding(attemptAt("b", "x", 0)).Others {
				got = &r.Progress
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLedgerLine(t *testing.T) {
	l := NewLedger()
	inLine := Admission{Verdict: Wait, InLine: true}
	late, early, other, twin := attemptAt("late", "x", 9), attemptAt("early", "x", 1), attemptAt("other", "y", 0), attemptAt("twin", "x", 9)
	for _, a := range []Attempt{late, early, other, twin} {
		l.Record(a, inLine)
	}
	for id, want := range map[string]int{"early": 0, "late": 1, "twin": 2, "other": 0} {
		a := map[string]Attempt{"late": late, "early": early, "other": other, "twin": twin}[id]
		if got := l.Outstanding(a).Ahead; got != want {
			t.Errorf("%d are ahead of %s, want %d", got, id, want)
		}
	}
	if diff := cmp.Diff([]string{"early", "late", "twin"}, l.Line("x")); diff != "" {
		t.Errorf("the line (-want +got):\n%s", diff)
	}
	l.Record(early, Admission{Verdict: Go})
	if got := l.Outstanding(late).Ahead; got != 0 {
		t.Errorf("who starts is in nobody's way: %d", got)
	}
	if diff := cmp.Diff([]string{"late", "twin"}, l.Release("early")); diff != "" {
		t.Errorf("who may try now (-want +got):\n%s", diff)
	}
	l.Record(late, Admission{Verdict: NotReady})
	if diff := cmp.Diff([]string{"twin"}, l.Line("x")); diff != "" {
		t.Errorf("who waits for something else leaves the line (-want +got):\n%s", diff)
	}
	if got := l.Release("twin"); len(got) != 0 || len(l.Line("y")) != 1 {
		t.Errorf("the last one leaves nobody: %v", got)
	}
}

func TestProgressOf(t *testing.T) {
	const pending, running, done = corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded
	cases := map[string]struct {
		reason string
		facts  Facts
		want   Progress
	}{
		"Nothing": {reason: "no pods"},
		"Pending": {reason: "the API server counts it, the scheduler does not", facts: Facts{Driver: &PodFact{Phase: pending}}, want: Progress{DriverCreated: true}},
		"Running": {reason: "both count it", facts: Facts{Driver: &PodFact{Phase: running}, Executors: []PodFact{{Phase: pending}, {Phase: done}}}, want: Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 1}},
		"Numbers": {reason: "those that are gone were there", facts: Facts{Driver: &PodFact{Phase: running}, Executors: []PodFact{{ExecutorID: 9, Phase: running}}}, want: Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 9, ExecutorsRunning: 1}},
		"Absurd":  {reason: "anybody can write a label", facts: Facts{Executors: []PodFact{{ExecutorID: 1 << 60}}}, want: Progress{ExecutorsCreated: 1 << 20, ExecutorsRunning: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ProgressOf(tc.facts)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Whatever happens in whatever order, and whoever forgets: nobody is both in line and promised, and what is released is
// gone.
func TestLedgerKeepsItsBooks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := NewLedger()
	for range 20000 {
		a := attemptAt(strconv.Itoa(random.IntN(20)), "ns"+strconv.Itoa(random.IntN(3)), random.IntN(5))
		switch random.IntN(5) {
		case 0:
			l.Record(a, Admission{Verdict: Go})
		case 1:
			l.Record(a, Admission{Verdict: Wait, InLine: true})
		case 2:
			l.Record(a, Admission{Verdict: NotReady})
		case 3:
			l.Settle(a.ID, Progress{DriverCreated: true, ExecutorsRunning: int32(random.IntN(3))})
		case 4:
			l.Release(a.ID)
			if o := l.Outstanding(a); o.Held {
				t.Fatal("released and held")
			}
		}
		inLine := map[string]int{}
		for _, namespace := range []string{"ns0", "ns1", "ns2"} {
			for _, id := range l.Line(namespace) {
				inLine[id]++
				if _, promised := l.reserved[id]; promised || inLine[id] > 1 {
					t.Fatalf("%s is in line %d times; promised: %t", id, inLine[id], promised)
				}
			}
		}
	}
}

// Two applications race for one slot, each as the engine does it: exactly one enters.
func TestLedgerRace(t *testing.T) {
	for range 200 {
		l := NewLedger()
		var lock sync.Mutex
		var group sync.WaitGroup
		entered := make(chan string, 2)
		for _, id := range []string{"a", "b"} {
			group.Go(func() {
				lock.Lock()
				defer lock.Unlock()
				attempt := attemptAt(id, "x", 0)
				answer := Admission{Verdict: Go}
				if len(l.Outstanding(attempt).Others) > 0 { // there is one slot
					answer = Admission{Verdict: Wait, InLine: true}
				}
				if l.Record(attempt, answer); answer.Verdict == Go {
					entered <- id
				}
			})
		}
		group.Wait()
		if len(entered) != 1 || len(l.Line("x")) != 1 {
			t.Fatalf("%d entered, %d wait", len(entered), len(l.Line("x")))
		}
	}
}
