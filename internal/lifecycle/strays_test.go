// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// The driver of another attempt goes in every state, and the next attempt waits until it is gone.
func TestStrays(t *testing.T) {
	stray := driver(Previous, DriverRunning)
	stray.Name, stray.UID = "pi-0-driver", "uid-0"
	swept := Action{Kind: DeleteDriver, Name: "pi-0-driver", UID: "uid-0"}
	cases := map[string]struct {
		reason  string
		state   State
		driver  Driver
		stray   Driver
		app     func(*Application)
		actions []Action
		cause   Reason
	}{
		"Running":   {reason: "the current driver is left alone", state: Running, driver: driver(Current, DriverRunning), stray: stray, actions: []Action{swept}},
		"Over":      {reason: "a kept driver stays, the stray does not", state: Succeeded, driver: driver(Current, DriverSucceeded), stray: stray, actions: []Action{swept}},
		"Rerunning": {reason: "there is one driver at a time", state: Rerunning, driver: Driver{Presence: Absent}, stray: stray, actions: []Action{swept}},
		"Leaving":   {reason: "it is deleted once", state: Running, driver: driver(Current, DriverRunning), stray: deleting(stray)},
		"Waits":     {reason: "it may still run", state: Rerunning, driver: Driver{Presence: Absent}, stray: deleting(stray)},
		"Stuck":     {reason: "people learn what blocks the next attempt", state: Rerunning, driver: Driver{Presence: Absent}, stray: orphaned(stray), cause: ReasonPreviousDriver},
		"Deleted":   {reason: "a finalizer may hold the application", state: Running, driver: driver(Current, DriverRunning), stray: stray, app: func(a *Application) { a.Deleting = true }, actions: []Action{swept, {Kind: DeleteDriver, UID: "uid-1"}}},
		"Foreign":   {reason: "another controller runs the application", state: Running, driver: driver(Current, DriverRunning), stray: stray, app: func(a *Application) { a.ManagedBy = "kueue" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := with(func(a *Application) {
				if tc.app != nil {
					tc.app(a)
				}
			})
			p := Decide(app, ran(tc.state), Observation{Driver: tc.driver, Strays: []Driver{tc.stray}}, scheduler.Admission{Verdict: scheduler.Admit}, Env{Now: later.Add(time.Second)})
			if diff := cmp.Diff(tc.actions, p.Actions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.cause != "" && p.Record.Cause.Reason != tc.cause {
				t.Errorf("%s: cause %+v, want %s", tc.reason, p.Record.Cause, tc.cause)
			}
		})
	}
}
