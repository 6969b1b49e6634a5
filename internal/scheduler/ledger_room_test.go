// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// The ledger has no order of its own: what it says of several reservations is the same each time.
func TestOutstandingIsTheSameEachTime(t *testing.T) {
	l := NewLedger(usual)
	var want []string
	for i := range 5 {
		a := attemptAt(strconv.Itoa(i), "x", 0)
		l.Reserve(a)
		want = append(want, a.ID)
		if i > 0 { // of the first no pod is seen
			l.Settle(a.ID, Progress{DriverCreated: true}, nine.Add(time.Duration(i)*100*time.Millisecond))
		}
	}
	for range 50 {
		o := l.Outstanding(attemptAt("other", "x", 0), nine.Add(500*time.Millisecond))
		if diff := cmp.Diff(want, ids(o)); diff != "" {
			t.Fatalf("they are in the order of their IDs (-want +got):\n%s", diff)
		}
		if want := 600 * time.Millisecond; o.Recheck != want {
			t.Fatalf("again in %s, want %s: when the first report must have come", o.Recheck, want)
		}
	}
}

// What the quotas report in full is forgotten when anybody asks.
func TestLedgerForgetsWhenAsked(t *testing.T) {
	l := NewLedger(usual)
	l.Reserve(attemptAt("a", "x", 0))
	l.Settle("a", Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 2, ExecutorsRunning: 2}, nine)
	l.Outstanding(attemptAt("b", "x", 0), nine.Add(runningLag))
	if len(l.reserved) > 0 {
		t.Errorf("it keeps %+v", l.reserved)
	}
}

// An attempt learns when it may not be passed any more.
func TestAgesIn(t *testing.T) {
	for minute, want := range map[int]time.Duration{0: 10 * time.Minute, 4: 6 * time.Minute, 10: 0, 12: 0} {
		if got := NewLedger(usual).Outstanding(attemptAt("a", "x", 0), nine.Add(time.Duration(minute)*time.Minute)).AgesIn; got != want {
			t.Errorf("after %d minutes: %s, want %s", minute, got, want)
		}
	}
}

// The names in the operator's configuration are those of orders.
func TestOrderNamed(t *testing.T) {
	for name, want := range map[string]Order{
		"StrictFIFO": {Strict: true, AgingBound: time.Minute}, "FairShare": {Fair: true, AgingBound: time.Minute},
		"BestEffortFIFO": {AgingBound: time.Minute}, "": {AgingBound: time.Minute},
	} {
		if got := OrderNamed(name, time.Minute); got != want {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
}

// Who waits is known until it is released, and its end moves the lines that it stood in.
func TestWaiterIsReleased(t *testing.T) {
	l, first, second := NewLedger(usual), attemptAt("first", "x", 0), attemptAt("second", "x", 1)
	for _, a := range []Attempt{first, second} {
		l.Record(a, Admission{Verdict: Wait, Lines: in("x", "cpu", "cpu")}, nine) // a plugin may name a line twice
	}
	if !l.InLine("first") || l.InLine("third") {
		t.Error("the first waits, the third does not")
	}
	if diff := cmp.Diff([]string{"second"}, names(l.Release("first", nine))); diff != "" {
		t.Errorf("it ends: who may start next (-want +got):\n%s", diff)
	}
	if got := l.Release("second", nine); len(got) > 0 || len(l.lines) > 0 || l.InLine("second") {
		t.Errorf("none waits: %v may start next, and lines are %v", got, l.lines)
	}
}

// Heads are the first of each line before the second of another, the older first.
func TestHeadsOfLines(t *testing.T) {
	l := NewLedger(usual)
	enter := func(id string, minute, asks int, resource string) {
		place := in("x", "cpu")[0]
		place.Resource, place.Asked = corev1.ResourceName(resource), cores(asks)
		l.Record(attemptAt(id, "x", minute), Admission{Verdict: Wait, Lines: []Place{place}}, nine)
	}
	enter("cpu-first", 2, 5, "cpu")
	enter("cpu-second", 4, 1, "cpu")
	enter("memory-first", 3, 5, "memory")
	enter("gpu-first", 1, 5, "gpu")
	enter("gpu-second", 5, 1, "gpu")
	for range 50 {
		if diff := cmp.Diff([]string{"gpu-first", "cpu-first", "memory-first", "cpu-second", "gpu-second"}, names(l.Heads("x", nine))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}
