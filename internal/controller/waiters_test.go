// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const waiters = 5000

var queues = schema.GroupVersionKind{Group: "batch.example.org", Version: "v1", Kind: "Queue"}

// crowd is the watch over a kind that 5,000 applications wait for, at a time that stands still.
func crowd() *schedulerKinds {
	m := NewSchedulers(clock.RealClock{}, nil)
	for i := range waiters {
		app := scheduler.Key{Namespace: "jobs", Name: fmt.Sprintf("app-%04d", i)}
		m.waiting[app] = waiter{since: start.Add(time.Duration(i) * time.Millisecond), kinds: []schema.GroupVersionKind{queues}}
	}
	return &schedulerKinds{
		waiters: m.waitersFor, now: func() time.Time { return start },
		wakers: &wakers{}, families: []lifecycle.Family{{Labels: lifecycle.Labels{App: v1beta2.LabelAppName}}},
		known: map[schema.GroupVersionKind]*kindState{queues: {served: true}},
	}
}

// One change of a queue wakes those who are first in line; the others follow one by one.
func TestAChangeDoesNotWakeAllAtOnce(t *testing.T) {
	k := crowd()
	k.wakeWaiters(queues, "")
	woken := len(k.woken())
	if woken < firstInLine || woken > waiters/10 { // a busy machine may see some of the others already
		t.Errorf("%d of %d are awake at once, want the first %d", woken, waiters, firstInLine)
	}
	for i := range firstInLine {
		if got, want := (<-k.woken()).Object.GetName(), fmt.Sprintf("app-%04d", i); got != want {
			t.Errorf("number %d is %s, want %s", i, got, want)
		}
	}
	before := len(k.woken())
	k.wakeWaiters(queues, "")
	if again := len(k.woken()) - before; again < firstInLine || again > waiters/10 {
		t.Errorf("another change wakes %d, want the first %d again: the others are on their way", again, firstInLine)
	}
}

// BenchmarkQueueUpdate is what one change of a queue costs with 5,000 applications in line, and how many of them it wakes
// at once.
func BenchmarkQueueUpdate(b *testing.B) {
	k := crowd()
	k.known[queues].wokenAt = map[string]time.Time{"": start} // the others are on their way
	woken := 0
	b.ReportAllocs()
	for b.Loop() {
		k.wakeWaiters(queues, "")
		for len(k.woken()) > 0 {
			<-k.woken()
			woken++
		}
	}
	b.ReportMetric(float64(woken)/float64(b.N), "woken/op")
}

// Two kinds stand in one line by the time since when they wait, and namesakes have a place each. Who is woken is told to
// the controller of its own kind.
func TestTwoKindsStandInOneLine(t *testing.T) {
	app := func(kind, name string) scheduler.Key {
		return scheduler.Key{Kind: schema.GroupKind{Group: "example.org", Kind: kind}, Namespace: "jobs", Name: name}
	}
	line := []scheduler.Key{app("Job", "pi"), app("App", "pi"), app("Job", "last")}
	m := NewSchedulers(clock.RealClock{}, nil)
	for i, a := range line {
		m.waiting[a] = waiter{since: start.Add(time.Duration(i) * time.Second), kinds: []schema.GroupVersionKind{queues}}
	}
	if diff := cmp.Diff(line, m.waitersFor(queues, "jobs")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	k := &schedulerKinds{waiters: m.waitersFor, now: func() time.Time { return start }, wakers: &wakers{}}
	k.wakeWaiters(queues, "jobs")
	var woken []scheduler.Key
	for _, kind := range []string{"App", "Job"} {
		for events := k.wakers.of(app(kind, "").Kind); len(events) > 0; {
			woken = append(woken, app(kind, (<-events).Object.GetName()))
		}
	}
	if diff := cmp.Diff([]scheduler.Key{app("App", "pi"), app("Job", "pi"), app("Job", "last")}, woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	m.forget(line[0])
	if diff := cmp.Diff(line[1:], m.waitersFor(queues, "jobs")); diff != "" {
		t.Errorf("its namesake is forgotten (-want +got):\n%s", diff)
	}
}
