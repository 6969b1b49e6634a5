// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const waiters = 5000

var queues = schema.GroupVersionKind{Group: "batch.example.org", Version: "v1", Kind: "Queue"}

// crowd is the watch over a kind that 5,000 applications wait for, at a time that stands still.
func crowd() *kinds {
	m := NewSchedulers(clock.RealClock{}, nil)
	for i := range waiters {
		app := types.NamespacedName{Namespace: "jobs", Name: fmt.Sprintf("app-%04d", i)}
		m.waiting[app] = waiter{since: start.Add(time.Duration(i) * time.Millisecond), kinds: []schema.GroupVersionKind{queues}}
	}
	return &kinds{
		events: make(chan event.GenericEvent, maxWakes), waiters: m.waitersFor, now: func() time.Time { return start },
		object: func(name types.NamespacedName) client.Object {
			o := testutil.Pi()
			o.Namespace, o.Name = name.Namespace, name.Name
			return o
		},
		known: map[schema.GroupVersionKind]*kindState{queues: {served: true}},
	}
}

// One change of a queue wakes those who are first in line; the others follow one by one.
func TestAChangeDoesNotWakeAllAtOnce(t *testing.T) {
	k := crowd()
	k.wakeWaiters(queues, "")
	woken := len(k.events)
	if woken < firstInLine || woken > waiters/10 { // a busy machine may see some of the others already
		t.Errorf("%d of %d are awake at once, want the first %d", woken, waiters, firstInLine)
	}
	for i := range firstInLine {
		if got, want := (<-k.events).Object.GetName(), fmt.Sprintf("app-%04d", i); got != want {
			t.Errorf("number %d is %s, want %s", i, got, want)
		}
	}
	before := len(k.events)
	k.wakeWaiters(queues, "")
	if again := len(k.events) - before; again < firstInLine || again > waiters/10 {
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
		for len(k.events) > 0 {
			<-k.events
			woken++
		}
	}
	b.ReportMetric(float64(woken)/float64(b.N), "woken/op")
}
