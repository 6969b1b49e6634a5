// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What was promised to an application that is deleted, or suspended, is free for others.
func TestForgottenApplicationsHoldNothing(t *testing.T) {
	m := NewSchedulers(clock.RealClock{}, nil)
	gone := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "gone"}, ID: "gone-1"}
	next := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "next"}, ID: "next-1", QueuedAt: clock.RealClock{}.Now()}
	m.enter(gone, scheduler.Progress{})
	if others := m.ledger.Outstanding(next, time.Now()).Others; len(others) != 1 {
		t.Fatalf("it holds nothing from the start: %+v", others)
	}
	m.forget(scheduler.Key{Namespace: "a", Name: "gone"})
	if others := m.ledger.Outstanding(next, time.Now()).Others; len(others) != 0 {
		t.Errorf("it still holds %+v", others)
	}
	m.ledger.Record(gone, scheduler.Admission{Verdict: scheduler.Wait, Lines: []string{"q"}})
	m.entered[gone.App.Key()] = gone.ID
	m.forget(gone.App.Key())
	if ahead := m.ledger.Outstanding(next, time.Now()).Ahead["q"]; ahead != 0 {
		t.Errorf("%d are ahead of it", ahead)
	}
}

// What comes while the ledger is rebuilt, or after, is entered with the next rebuild, and there is none without need.
func TestRebuild(t *testing.T) {
	m := NewSchedulers(clock.RealClock{}, nil)
	arrives, fails, count := false, error(nil), 0
	m.Rebuild(func(context.Context) error {
		count++
		if arrives {
			m.rebuildAgain() // after the list
		}
		return fails
	})
	ask := func() (int, error) {
		count = 0
		err := m.rebuildOnce(t.Context())
		return count, err
	}
	for _, step := range []struct {
		reason  string
		before  bool
		arrives bool
		fails   error
		want    int
	}{
		{reason: "trouble with the list", fails: errors.New("boom"), want: 1},
		{reason: "nothing is entered yet, and a namespace comes meanwhile", arrives: true, want: 1},
		{reason: "that one is not entered yet", want: 1},
		{reason: "all are"},
		{reason: "another one comes", before: true, want: 1},
		{reason: "all are again"},
	} {
		if arrives, fails = step.arrives, step.fails; step.before {
			m.rebuildAgain()
		}
		if got, err := ask(); got != step.want || !errors.Is(err, step.fails) {
			t.Errorf("%s: rebuilt %d times, %v; want %d", step.reason, got, err, step.want)
		}
	}
}

// Pods that are seen change what is promised to whom, and what a quota reports of them comes later: the first of each
// line hears of both, in time.
func TestSettlingWakesTheFirstInLine(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	k := &schedulerKinds{wakers: &wakers{}}
	m := NewSchedulers(now, k)
	attempt := func(name string, minute int) scheduler.Attempt {
		return scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: name}, ID: name + "-1", QueuedAt: now.Now().Add(time.Duration(minute) * time.Minute)}
	}
	running, first, second := attempt("running", 0), attempt("first", 1), attempt("second", 2)
	m.enter(running, scheduler.Progress{})
	for _, a := range []scheduler.Attempt{second, first} {
		m.ledger.Record(a, scheduler.Admission{Verdict: scheduler.Wait, Lines: []string{"q"}})
		m.waiting[a.App.Key()] = waiter{attempt: a.ID, since: a.QueuedAt}
	}
	woken := func() (names []string) {
		for len(k.woken()) > 0 {
			names = append(names, (<-k.woken()).Object.GetName())
		}
		return names
	}
	m.settle(running.ID, scheduler.Progress{DriverCreated: true, DriverRunning: true})
	if diff := cmp.Diff([]string{"first"}, woken()); diff != "" {
		t.Errorf("the driver runs (-want +got):\n%s", diff)
	}
	m.settle(running.ID, scheduler.Progress{DriverCreated: true, DriverRunning: true})
	if names := woken(); len(names) != 0 {
		t.Errorf("what is known already wakes %v", names)
	}
	o := m.ledger.Outstanding(first, now.Now())
	if len(o.Others) != 1 || o.Recheck <= 0 {
		t.Errorf("no quota reports it yet: %+v", o)
	}
	for range 5 {
		now.SetTime(now.Now().Add(m.ledger.Outstanding(first, now.Now()).Recheck))
	}
	if o := m.ledger.Outstanding(first, now.Now()); len(o.Others) != 0 || o.Recheck != 0 {
		t.Errorf("who asks again as it is told comes to an end: %+v", o)
	}
}
