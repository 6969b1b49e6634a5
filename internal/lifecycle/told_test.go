// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// A driver that is found after a crash has the scheduler that was chosen for it, as if the status had been written.
func TestAdoptedDriverKeepsItsScheduler(t *testing.T) {
	found := driver(Current, DriverRunning)
	found.SpecHash = "spec-1"
	chosen := scheduler.Choice{Scheduler: "yunikorn", Source: scheduler.SourceApplication, Queue: "root.a"}
	if !AdoptsDriver(testApp(), queued(), found, Env{Now: later}) {
		t.Error("nobody asks who schedules a driver that is found")
	}
	p := Decide(testApp(), queued(), Observation{Driver: found, Chosen: chosen}, scheduler.Admission{}, Env{Now: later})
	if p.Record.State != Running || p.Record.Scheduling.Choice != chosen {
		t.Errorf("%s, and the scheduler is %+v", p.Record.State, p.Record.Scheduling.Choice)
	}
	edited := with(func(a *Application) { a.SpecHash, a.Generation = "spec-2", 2 })
	if AdoptsDriver(edited, queued(), found, Env{Now: later}) {
		t.Error("the choice for another spec would be told")
	}
}

// Who rejects an edited spec before a scheduler is chosen has not chosen the one of the spec before.
func TestRejectedEditForgetsTheScheduler(t *testing.T) {
	rec := queued()
	rec.Scheduling.Choice = scheduler.Choice{Scheduler: "lime", Source: scheduler.SourceApplication}
	for hash, want := range map[string]string{"spec-1": "lime", "spec-2": ""} {
		app := with(func(a *Application) { a.SpecHash = hash })
		p := Decide(app, rec, Observation{Driver: absent}, reject, Env{Now: later})
		if got := p.Record.Scheduling.Scheduler; p.Record.State != Failed || got != want {
			t.Errorf("%s: %s, and the scheduler is %q", hash, p.Record.State, got)
		}
	}
}

// The name of a driver that there never was follows the spec.
func TestNameOfTheDriverFollowsTheSpec(t *testing.T) {
	app := with(func(a *Application) { a.DriverName, a.SpecHash = "another-driver", "spec-2" })
	for name, tc := range map[string]struct {
		rec  Record
		want string
	}{
		"never ran": {queued(), "another-driver"},
		"ran":       {ran(Running), "pi-driver"},
	} {
		p := Decide(app, tc.rec, Observation{Driver: Driver{Presence: Unknown}}, scheduler.Admission{}, Env{Now: later})
		if o := Settle(p, nil, Env{Now: later}); o.Record.DriverName != tc.want {
			t.Errorf("%s: the driver is %s", name, o.Record.DriverName)
		}
	}
}

// An edit of the placement that meets the end of the driver is not told as something that the driver lacks.
func TestPlacementIsNotOutdatedAtTheEnd(t *testing.T) {
	rec := ran(Running)
	rec.Placement = Placement{Rest: "rest", Made: "made"}
	app := with(func(a *Application) { a.Generation, a.Placement = 2, Placement{Rest: "rest", Made: "another"} })
	p := Decide(app, rec, Observation{Driver: driver(Current, DriverSucceeded)}, scheduler.Admission{}, Env{Now: later})
	if p.Record.State.HasDriver() || p.Record.Placement.Outdated || p.Record.Placement.Made != "made" {
		t.Errorf("%s, and the placement is %+v", p.Record.State, p.Record.Placement)
	}
}

// The placement that executors get may be edited between the creation of the driver and the moment at which it is found after a crash. Its template is
// then brought to the spec, once, whether the next operator sees the driver or creates it again.
func TestFoundDriverGetsTheEditedPlacement(t *testing.T) {
	env, d := Env{Now: later}, driver(Current, DriverRunning)
	app := placedIn("new", 2)
	rec := queued()
	rec.Placement = Placement{Rest: "rest"}
	seen := Decide(app, rec, Observation{Driver: d}, scheduler.Admission{}, env).Record
	again := Settle(Decide(app, rec, Observation{Driver: absent}, admit, env), []Result{{Kind: Submit, Class: ClassDone}}, env).Record
	for name, rec := range map[string]Record{"seen": seen, "created again": again} {
		p := Decide(app, rec, Observation{Driver: d}, scheduler.Admission{}, env)
		if got := kinds(p.Actions); len(got) != 1 || got[0] != UpdateTemplate {
			t.Fatalf("%s: %v", name, got)
		}
		done := Settle(p, []Result{{Kind: UpdateTemplate, Class: ClassDone}}, env)
		if want := (Placement{Rest: "rest", Made: "new"}); done.Record.Placement != want {
			t.Errorf("%s: %+v", name, done.Record.Placement)
		}
		if holds := rec.Placement.until(done.Record.Placement); holds != "" {
			t.Errorf("%s: there may have been no edit, and its user is told that it holds %s", name, holds)
		}
		if p = Decide(app, done.Record, Observation{Driver: d}, scheduler.Admission{}, env); len(p.Actions) > 0 {
			t.Errorf("%s: it is done again: %v", name, kinds(p.Actions))
		}
	}
}
