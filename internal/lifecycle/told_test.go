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

// A driver is adopted that nothing recorded, of an attempt that is to start or was about to, and of the present spec. Without hashes only the
// generation says which spec that is.
func TestAdoptsDriver(t *testing.T) {
	hashes := func(hash string, generation int64) Application {
		return with(func(a *Application) { a.SpecHash, a.Generation = hash, generation })
	}
	record := func(s State, hash string, generation int64) Record {
		return Record{State: s, SpecHash: hash, Generation: generation, Attempt: 1}
	}
	known := ran(Running)
	known.Generation = 1
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		owner  Ownership
		want   bool
	}{
		"Found":         {"the status was not written", hashes("spec-1", 1), record(Queued, "spec-1", 1), Current, true},
		"OfAnother":     {"another has the name", hashes("spec-1", 1), record(Queued, "spec-1", 1), NotOwned, false},
		"EditedBeside":  {"an edit that changes no hash changes no driver", hashes("spec-1", 3), record(Queued, "spec-1", 2), Current, true},
		"Suspending":    {"it was created when its user suspended it", hashes("spec-1", 1), record(Suspending, "spec-1", 1), Current, true},
		"Over":          {"what is over starts nothing", hashes("spec-1", 1), record(Failed, "spec-1", 1), Current, false},
		"Recorded":      {"the status has it", hashes("spec-1", 1), known, Current, false},
		"FirstSpec":     {"there was no other spec", hashes("", 1), record(Queued, "", 0), Current, true},
		"SameSpec":      {"this spec was seen before", hashes("", 2), record(Queued, "", 2), Current, true},
		"PerhapsEdited": {"it may be of the spec before", hashes("", 2), record(Queued, "", 1), Current, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := driver(tc.owner, DriverRunning)
			d.SpecHash = tc.app.SpecHash
			if got := AdoptsDriver(tc.app, tc.rec, d, Env{Now: later}); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
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
