// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// A driver that must go and stays is deleted by force when its user says after how long, and never while its attempt runs.
func TestForcedDeletion(t *testing.T) {
	after := func(d time.Duration) *time.Duration { return &d }
	force := []Action{{Kind: DeleteDriver, UID: "uid-1", Force: true}}
	cases := map[string]struct {
		reason  string
		app     func(*Application)
		after   *time.Duration
		state   State
		driver  Driver
		actions []Action
	}{
		"Suspending": {reason: "its node does not answer", app: isSuspended, after: after(time.Minute), state: Suspending, driver: orphaned(driver(Current, DriverRunning)), actions: force},
		"Over":       {reason: "what is left of an end", after: after(time.Minute), state: Failed, driver: orphaned(driver(Current, DriverRunning)), actions: force},
		"Early":      {reason: "its time is not over", app: isSuspended, after: after(10 * time.Second), state: Suspending, driver: deleting(driver(Current, DriverRunning))},
		"Never":      {reason: "it may still run where nothing is heard of it: that is for people to decide", app: isSuspended, state: Suspending, driver: orphaned(driver(Current, DriverRunning))},
		"AtOnce":     {reason: "no time at all is a wish, too", app: isSuspended, after: after(0), state: Suspending, driver: orphaned(driver(Current, DriverRunning)), actions: force},
		"Deleted":    {reason: "the finalizer of a previous operator waits for it", app: func(a *Application) { a.Deleting = true }, after: after(time.Minute), state: Running, driver: orphaned(driver(Current, DriverRunning)), actions: force},
		"Lost":       {reason: "that it has failed is stored first", after: after(time.Minute), state: Running, driver: orphaned(driver(Current, DriverRunning))},
		"Adopted":    {reason: "a crash hid it, and others have deleted it: nothing says that it must go", after: after(time.Minute), state: Resuming, driver: orphaned(driver(Current, DriverRunning))},
		"Running":    {reason: "others have deleted it: it may end by itself", after: after(time.Minute), state: Running, driver: deleting(driver(Current, DriverRunning))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := with(func(a *Application) {
				if tc.app != nil {
					tc.app(a)
				}
				a.ForceAfter = tc.after
			})
			p := Decide(app, ran(tc.state), Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later})
			var got []Action
			for _, a := range p.Actions {
				if a.Kind == DeleteDriver {
					got = append(got, a)
				}
			}
			if diff := cmp.Diff(tc.actions, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
