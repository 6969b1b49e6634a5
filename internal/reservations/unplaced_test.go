// SPDX-License-Identifier: Apache-2.0

package reservations

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// The place of an application among those whose pods wait for the same scheduler.
func TestUnplacedAhead(t *testing.T) {
	m := New(clock.RealClock{}, nil, scheduler.Order{})
	start := time.Unix(1000, 0)
	key := func(name string) scheduler.Key { return scheduler.Key{Namespace: "a", Name: name} }
	set := func(name, plugin string, minute int, stage scheduler.Stage) {
		m.SetUnplaced(key(name), plugin, start.Add(time.Duration(minute)*time.Minute), scheduler.Observation{Stage: stage})
	}
	want := func(reason string, ahead int) {
		t.Helper()
		if got := m.UnplacedAhead(key("me"), "gang", start.Add(5*time.Minute)); got != ahead {
			t.Errorf("%s: %d, want %d", reason, got, ahead)
		}
	}
	want("an empty line", 0)
	set("early", "gang", 1, scheduler.StageQueued)
	set("short", "gang", 2, scheduler.StageShort)
	set("me", "gang", 5, scheduler.StageQueued)
	set("late", "gang", 6, scheduler.StageQueued)
	set("other", "other", 1, scheduler.StageQueued)
	want("two came before it", 2)
	set("early", "gang", 1, scheduler.StageQueued)
	want("each is counted once", 2)
	set("early", "gang", 9, scheduler.StageQueued)
	want("one was submitted anew", 1)
	set("short", "gang", 2, scheduler.StagePlaced)
	want("one has all its nodes", 0)
	set("twin", "gang", 5, scheduler.StageQueued)
	want("of the same second, the name decides", 0)
	for _, name := range []string{"gone", "ended", "evicted"} {
		set(name, "gang", 1, scheduler.StageReserving)
	}
	want("three more", 3)
	for _, name := range []string{"fourth", "fifth"} {
		set(name, "gang", 1, scheduler.StageQueued)
	}
	want("who is behind the front is not told how far", scheduler.Front)
	for _, name := range []string{"fourth", "fifth"} {
		m.Forget(key(name))
	}
	m.Forget(key("gone"))
	m.Reserve(key("ended"), "ended-1", lifecycle.ReservationDropped)
	m.Reserve(key("evicted"), "evicted-1", lifecycle.ReservationReleased)
	want("they are over", 0)
}

// Who comes to the front of a line is enqueued: it waits for no event of its own.
func TestTheNextOfTheFrontIsEnqueued(t *testing.T) {
	var enqueued []string
	line := newUnplaced()
	key := func(i int) scheduler.Key { return scheduler.Key{Namespace: "a", Name: fmt.Sprintf("app-%02d", i)} }
	for i := range scheduler.Front + 3 {
		line.join(key(i), unplacedPlace{"gang", time.Unix(int64(i), 0)})
	}
	for _, i := range []int{scheduler.Front + 1, 0, 1, 1, scheduler.Front, 2} {
		for _, next := range line.leave(key(i)) {
			enqueued = append(enqueued, next.Name)
		}
	}
	if diff := cmp.Diff([]string{"app-03", "app-05"}, enqueued); diff != "" {
		t.Errorf("one behind the front leaves, two of it, one a second time, the last of it, and another with nobody behind (-want +got):\n%s", diff)
	}
}
