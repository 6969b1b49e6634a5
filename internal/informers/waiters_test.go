// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const waiters = 5000

var queues = schema.GroupVersionKind{Group: "batch.example.org", Version: "v1", Kind: "Queue"}

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// crowd are the applications that wait for a kind, and the controllers that they are enqueued with.
type crowd struct {
	*enqueuer
	*triggers
	now *clocktesting.FakePassiveClock
}

// crowdOf lets applications wait for the kind, in this order, at a time that stands still.
func crowdOf(plugins []scheduler.Plugin, apps ...scheduler.Key) crowd {
	t, now := newTriggers(), clocktesting.NewFakePassiveClock(start)
	waitersFor := func(kind schema.GroupVersionKind, namespace string, everywhere bool, most int) (waiting []scheduler.Key) {
		for _, app := range apps {
			if len(waiting) < most && kind == queues && (everywhere || namespace == "" || namespace == app.Namespace) {
				waiting = append(waiting, app)
			}
		}
		return waiting
	}
	return crowd{newEnqueuer(enqueuerOptions{
		Plugins: plugins, Families: []lifecycle.Family{{Labels: lifecycle.Labels{App: v1beta2.LabelAppName}}},
		Waiters: waitersFor, Enqueue: t.Enqueue, Clock: now,
	}), t, now}
}

// manyWait is a kind that 5,000 applications wait for.
func manyWait() crowd {
	var apps []scheduler.Key
	for i := range waiters {
		apps = append(apps, scheduler.Key{Namespace: "jobs", Name: fmt.Sprintf("app-%04d", i)})
	}
	return crowdOf(nil, apps...)
}

// One change of a queue enqueues those who are first in line; the others follow one by one.
func TestAChangeDoesNotWakeAllAtOnce(t *testing.T) {
	k := manyWait()
	k.enqueueWaiters(queues, "")
	enqueued := len(k.pending())
	if enqueued < FirstInLine || enqueued > waiters/10 { // a busy machine may see some of the others already
		t.Errorf("%d of %d are awake at once, want the first %d", enqueued, waiters, FirstInLine)
	}
	for i := range FirstInLine {
		if got, want := (<-k.pending()).Object.GetName(), fmt.Sprintf("app-%04d", i); got != want {
			t.Errorf("number %d is %s, want %s", i, got, want)
		}
	}
	before := len(k.pending())
	k.enqueueWaiters(queues, "")
	if again := len(k.pending()) - before; again < FirstInLine || again > waiters/10 {
		t.Errorf("another change enqueues %d, want the first %d again: the others are on their way", again, FirstInLine)
	}
}

// BenchmarkQueueUpdate is what one change of a queue costs with 5,000 applications in line, and how many of them it enqueues
// at once.
func BenchmarkQueueUpdate(b *testing.B) {
	k := manyWait()
	k.enqueuedAt[kindIn{kind: queues}] = start // the others are on their way
	enqueued := 0
	b.ReportAllocs()
	for b.Loop() {
		k.enqueueWaiters(queues, "")
		for len(k.pending()) > 0 {
			<-k.pending()
			enqueued++
		}
	}
	b.ReportMetric(float64(enqueued)/float64(b.N), "enqueued/op")
}

// Whoever waits is enqueued with the controller of its own kind, and namesakes are not one.
func TestEachKindHasItsController(t *testing.T) {
	app := func(kind, name string) scheduler.Key {
		return scheduler.Key{Kind: schema.GroupKind{Group: "example.org", Kind: kind}, Namespace: "jobs", Name: name}
	}
	k := crowdOf(nil, app("Job", "pi"), app("App", "pi"), app("Job", "last"))
	k.enqueueWaiters(queues, "jobs")
	var enqueued []scheduler.Key
	for _, kind := range []string{"App", "Job"} {
		for events := k.Events(app(kind, "").Kind); len(events) > 0; {
			enqueued = append(enqueued, app(kind, (<-events).Object.GetName()))
		}
	}
	if diff := cmp.Diff([]scheduler.Key{app("App", "pi"), app("Job", "pi"), app("Job", "last")}, enqueued); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
