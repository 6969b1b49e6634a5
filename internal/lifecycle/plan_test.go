// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What creates or deletes anything must not come from a stale cache. What only brings objects to what is wanted does so if it sends anything.
func TestNeedsFresh(t *testing.T) {
	cases := map[ActionKind]struct{ idle, changing bool }{
		Submit: {true, true}, DeleteDriver: {true, true}, UpdateTemplate: {true, true}, Restore: {true, true}, Release: {true, true},
		Schedule: {false, true}, Adjust: {false, true}, DeleteResources: {}, DeleteApplication: {}, RemoveFinalizer: {},
	}
	for kind, want := range cases {
		p := Plan{Actions: []Action{{Kind: DeleteResources}, {Kind: kind}}}
		for changes, want := range map[bool]bool{false: want.idle, true: want.changing} {
			if got := p.NeedsFresh(func(ActionKind) bool { return changes }); got != want {
				t.Errorf("%s, which changes something: %t: %t", kind, changes, got)
			}
		}
	}
	if (Plan{}).NeedsFresh(func(ActionKind) bool { return true }) {
		t.Error("nothing is done")
	}
}

// A policy that keeps what is left of an attempt keeps no driver: the actions after it are tried.
func TestGoesOn(t *testing.T) {
	for result, want := range map[Result]bool{
		{Kind: DeleteResources, Class: ClassDone}: true, {Kind: DeleteResources, Class: ClassPolicy}: true, {Kind: DeleteResources, Class: ClassRefused}: true,
		{Kind: DeleteResources, Class: ClassTransient}: false, {Kind: DeleteDriver, Class: ClassPolicy}: false, {Kind: Submit, Class: ClassRefused}: false,
		{Kind: Restore, Class: ClassTransient}: true, {Kind: Adjust, Class: ClassPolicy}: true,
	} {
		if got := result.GoesOn(); got != want {
			t.Errorf("%s %s: %t", result.Kind, result.Class, got)
		}
	}
}

// What another controller runs is left alone, but for the finalizer of this operator's predecessor.
func TestManagedByAnother(t *testing.T) {
	managed := func(changes ...func(*Application)) Application {
		return with(append(changes, func(a *Application) { a.ManagedBy = "kueue.x-k8s.io/multikueue" })...)
	}
	told := Record{Cause: Cause{ReasonManagedByAnother, `spec.managedBy is "kueue.x-k8s.io/multikueue": that controller runs the application, and this operator leaves it alone`}}
	finalized := func(a *Application) { a.Finalizer = true }
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		want   Record
		does   []Action
	}{
		"New":       {reason: "whoever looks learns why nothing happens", app: managed(), want: told},
		"Braces":    {reason: "the value is shown as it is", app: with(func(a *Application) { a.ManagedBy = "{driver}" }), want: Record{Cause: Cause{ReasonManagedByAnother, `spec.managedBy is "{driver}": that controller runs the application, and this operator leaves it alone`}}},
		"Running":   {reason: "what the other one has written stays", app: managed(edited), rec: ran(Running), want: ran(Running)},
		"Suspended": {reason: "suspension is the other one's, too", app: managed(isSuspended), rec: ran(Running), want: ran(Running)},
		"Finalizer": {reason: "the other one removes no finalizer while it runs", app: managed(finalized), rec: ran(Running), want: ran(Running)},
		"Deleted":   {reason: "there is nothing to let go of", app: managed(isDeleted), rec: ran(Running), want: ran(Running)},
		"LetGo":     {reason: "nobody else removes it", app: managed(isDeleted, finalized), rec: ran(Running), want: ran(Running), does: []Action{{Kind: RemoveFinalizer}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(tc.app, tc.rec, Observation{Driver: absent}, admit, Env{Now: later})
			if diff := cmp.Diff(tc.want, p.Record); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.does, p.Actions); diff != "" || p.Requeue != 0 {
				t.Errorf("%s: again after %s, actions (-want +got):\n%s", tc.reason, p.Requeue, diff)
			}
			if diff := cmp.Diff(tc.rec, p.Before); diff != "" || p.App.ManagedBy != tc.app.ManagedBy {
				t.Errorf("%s: it was decided for %q from (-want +got):\n%s", tc.reason, p.App.ManagedBy, diff)
			}
			if o := Settle(p, nil, Env{Now: later}); tc.does == nil && (o.Record.DriverName != "pi-driver" || o.Record.State != tc.want.State || o.Reservation != ReservationDropped || len(o.Conditions) != 1 || o.Conditions[0].Type != ConditionAdmitted) {
				t.Errorf("%s: settled as %+v", tc.reason, o)
			}
			if NeedsAdmission(tc.app, tc.rec, absent, Env{Now: later}) {
				t.Errorf("%s: a scheduler is asked", tc.reason)
			}
		})
	}
}

// An application that is deleted is told as it was: an edit that comes with the deletion means nothing any more.
func TestDeletionKeepsTheRecord(t *testing.T) {
	p := Decide(with(isDeleted, edited), ran(Running), Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later})
	if diff := cmp.Diff(ran(Running), p.Record); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	doubt := Decide(with(isDeleted), ran(Running), Observation{Driver: unknownDriver()}, scheduler.Admission{}, Env{Now: later})
	if doubt.Requeue != unknownRetry {
		t.Errorf("a driver that was not seen is looked at again after %s", doubt.Requeue)
	}
}

// A driver that is to be deleted by force is looked at when its time is over.
func TestForcedDeletionHasItsTime(t *testing.T) {
	app := with(isDeleted, func(a *Application) { a.ForceAfter = new(10 * time.Second) })
	for left, want := range map[time.Duration]time.Duration{7 * time.Second: 7 * time.Second, time.Hour: heartbeat, 0: heartbeat} {
		d := deleting(driver(Current, DriverRunning))
		d.GoneAt = later.Add(left - 10*time.Second)
		p := Decide(app, ran(Running), Observation{Driver: d}, scheduler.Admission{}, Env{Now: later})
		if forced := len(p.Actions) > 0 && p.Actions[0].Force; p.Requeue != want || forced != (left == 0) {
			t.Errorf("%s left: again after %s, want %s; by force: %t", left, p.Requeue, want, forced)
		}
	}
}

// What belongs to an attempt ends with it; what counts attempts, and what is shown until the next has a driver, stays.
func TestNextAttempt(t *testing.T) {
	rec := ran(Failing)
	rec.Placement, rec.Rerun = Placement{Rest: "rest", Made: "made", Outdated: true, Problem: "no"}, Rerun{Ignored: "soon"}
	rec.Retries = Retries{MemoryRaises: 1}
	rec.Scheduling = Scheduling{Warning: "tight", AdmittedAt: now, HeldAttempt: 1, HeldBy: "volcano"}
	rec.Executors, rec.Counts = map[string]ExecutorState{"e-1": ExecutorFailed}, ExecutorCounts{Failed: 1, Total: 1}
	cause := Cause{ReasonRerun, "again"}
	want := Record{
		State: Rerunning, Cause: cause, Generation: 1, SpecHash: "spec-1", Attempt: 2, Submissions: 1, Executions: 1, SubmittedAt: now, DriverName: "pi-driver",
		Retries: rec.Retries, Attempts: rec.Attempts, Rerun: rec.Rerun, Placement: Placement{Rest: "rest"}, Scheduling: Scheduling{HeldAttempt: 1, HeldBy: "volcano"},
	}
	if diff := cmp.Diff(want, nextAttempt(rec, Rerunning, cause)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
