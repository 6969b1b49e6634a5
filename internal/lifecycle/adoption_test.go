// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func adopting(a *Application) { a.Adopts = "started-by-hand" }

// What an application that is to adopt a driver does in each situation before it has one, and after.
func TestAdoption(t *testing.T) {
	refused := refusedFirst()
	held := queued()
	held.Scheduling = Scheduling{HeldAttempt: 1, HeldBy: "batch"}
	taken := driver(Current, DriverRunning)
	taken.Name, taken.CreatedAt = "started-by-hand", now.AddDate(-1, 0, 0)
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		driver Driver
		gate   scheduler.Admission
		state  State
		cause  Reason
		acts   []ActionKind
	}{
		"new":         {reason: "it waits", app: with(adopting), driver: absent, gate: admit, state: Queued, cause: ReasonAwaitingAdoption},
		"unknown":     {reason: "a cache that is behind changes nothing", app: with(adopting), driver: unknownDriver(), gate: admit, state: Queued, cause: ReasonAwaitingAdoption},
		"not marked":  {reason: "the pod is there, and somebody else's", app: with(adopting), rec: queued(), driver: driver(NotOwned, DriverRunning), gate: admit, state: Queued, cause: ReasonAwaitingAdoption},
		"rejected":    {reason: "an invalid spec does not end what waits for a driver that runs", app: with(adopting), rec: queued(), driver: absent, gate: reject, state: Queued, cause: ReasonAwaitingAdoption},
		"suspended":   {reason: "the driver runs all the same", app: with(adopting, isSuspended), driver: absent, gate: admit, state: Queued, cause: ReasonAwaitingAdoption},
		"refused":     {reason: "the annotation came after a refusal", app: with(adopting), rec: refused, driver: absent, gate: admit, state: Queued, cause: ReasonAwaitingAdoption},
		"objects":     {reason: "a scheduler's objects hold room for a driver that does not come", app: with(adopting), rec: held, driver: absent, gate: admit, state: Queued, cause: ReasonAwaitingAdoption, acts: []ActionKind{Release}},
		"deleted":     {reason: "the pod is not ours", app: with(adopting, isDeleted), driver: driver(NotOwned, DriverRunning), gate: admit, state: New},
		"marked":      {reason: "it is followed, however old it is", app: with(adopting), driver: taken, gate: reject, state: Running},
		"was invalid": {reason: "the spec is about the next driver", app: with(adopting), rec: queued(), driver: taken, gate: reject, state: Running},
		"ended":       {reason: "its end is the application's", app: with(adopting), rec: queued(), driver: driver(Current, DriverSucceeded), state: Running},
		"runs again":  {reason: "the next driver is the operator's own", app: with(adopting), rec: again(Rerunning), driver: absent, gate: admit, state: Rerunning, acts: []ActionKind{DeleteResources, Submit}},
		"stops":       {reason: "as any other that is suspended", app: with(adopting, isSuspended), rec: ran(Running), driver: driver(Current, DriverRunning), state: Suspending, cause: ReasonSuspended},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(tc.app, tc.rec, Observation{Driver: tc.driver}, tc.gate, Env{Now: later.AddDate(0, 0, 7)})
			if got := kinds(p.Actions); p.Record.State != tc.state || strings.Join(names(got), " ") != strings.Join(names(tc.acts), " ") {
				t.Errorf("%s: %s with %v, want %s with %v", tc.reason, p.Record.State, got, tc.state, tc.acts)
			}
			if tc.cause != "" && p.Record.Cause.Reason != tc.cause {
				t.Errorf("%s: %+v, want %s", tc.reason, p.Record.Cause, tc.cause)
			}
			if wait := p.Record.Cause; tc.cause == ReasonAwaitingAdoption && !strings.Contains(wait.Message, "kubectl spark adopt started-by-hand") {
				t.Errorf("%s: nobody is told what to do: %s", tc.reason, wait.Message)
			}
			if tc.cause == ReasonAwaitingAdoption && NeedsAdmission(tc.app, tc.rec, tc.driver, Env{Now: later}) {
				t.Errorf("%s: a scheduler is asked", tc.reason)
			}
		})
	}
}

func names(kinds []ActionKind) []string {
	var all []string
	for _, k := range kinds {
		all = append(all, string(k))
	}
	return all
}
