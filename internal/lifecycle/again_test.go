// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// A step that waits for nothing is followed by another at once; one that has acted, or waits, is not.
func TestAgain(t *testing.T) {
	edited := testApp()
	edited.SpecHash = "spec-2"
	suspended := testApp()
	suspended.Suspend = true
	always := testApp()
	always.Policies.Restart.Type = Always
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		driver Driver
		class  Class
		want   bool
	}{
		"RanUnseen":     {reason: "RUNNING is shown, and then the end", app: testApp(), rec: ran(Submitted), driver: driver(Current, DriverSucceeded), want: true},
		"Succeeds":      {reason: "it is over", app: testApp(), rec: ran(Running), driver: driver(Current, DriverSucceeded)},
		"SucceedsAgain": {reason: "another attempt follows", app: always, rec: ran(Running), driver: driver(Current, DriverSucceeded), want: true},
		"Fails":         {reason: "FAILED or another attempt follows", app: testApp(), rec: ran(Running), driver: failedDriver(1), want: true},
		"Edited":        {reason: "another attempt follows", app: edited, rec: ran(Running), driver: driver(Current, DriverRunning), want: true},
		"Suspended":     {reason: "the driver is stopped next", app: suspended, rec: ran(Running), driver: driver(Current, DriverRunning), want: true},
		"Submitted":     {reason: "the driver has to start", app: testApp(), driver: absent, class: ClassDone},
		"Runs":          {reason: "the driver has to end", app: testApp(), rec: ran(Submitted), driver: driver(Current, DriverRunning)},
		"NothingNew":    {reason: "nothing was stored", app: testApp(), rec: ran(Running), driver: driver(Current, DriverRunning)},
		"Concludes":     {reason: "it is over", app: testApp(), rec: ran(Succeeding), driver: driver(Current, DriverSucceeded)},
		"StopsItsFirst": {reason: "the old driver has to go first", app: testApp(), rec: again(Rerunning), driver: driver(Previous, DriverRunning), class: ClassDone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := Env{Now: now.Add(time.Minute)}
			p := Decide(tc.app, tc.rec, Observation{Driver: tc.driver}, scheduler.Admission{Verdict: scheduler.Admit}, env)
			var results []Result
			for _, a := range p.Actions {
				results = append(results, Result{Kind: a.Kind, Class: tc.class})
			}
			if got := Settle(p, results, env).Again; got != tc.want {
				t.Errorf("%s: %t, want %t (state %q)", tc.reason, got, tc.want, p.Record.State)
			}
		})
	}
}
