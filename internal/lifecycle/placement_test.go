// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An edit of where executors run is done once for each version of the spec, and again if it is not certain that it was not done.
func TestPlaced(t *testing.T) {
	cases := map[string]struct {
		reason string
		state  State
		stored Placement
		app    string
		edited bool
		want   Placement
	}{
		"Same":      {reason: "the driver has it so", state: Running, stored: Placement{Made: "a"}, app: "a", want: Placement{Made: "a"}},
		"Edited":    {reason: "the driver makes others", state: Running, stored: Placement{Made: "a"}, app: "b", edited: true, want: Placement{Made: "a", Outdated: true}},
		"Pending":   {reason: "it makes others when it runs", state: Submitted, stored: Placement{Made: "a"}, app: "b", edited: true, want: Placement{Made: "a", Outdated: true}},
		"NoDriver":  {reason: "the next one has it from its spec", state: Suspended, stored: Placement{Made: "a", Outdated: true, Problem: "no"}, app: "b", want: Placement{Made: "a"}},
		"NotKnown":  {reason: "a previous operator made the driver", state: Running, app: "b", edited: true},
		"TakenBack": {reason: "the edit may have been done and not recorded", state: Running, stored: Placement{Made: "a", Outdated: true}, app: "a", want: Placement{Made: "a", Outdated: true}},
		"Found":     {reason: "it may have been edited since the driver was made", state: Submitted, stored: Placement{Outdated: true}, app: "b", want: Placement{Outdated: true}},
		"Unclear":   {reason: "what was refused is not tried again, and nobody knows whether it matters", state: Running, stored: Placement{Outdated: true, Problem: "no"}, app: "b", want: Placement{Outdated: true, Problem: "no"}},
		"NeverDone": {reason: "the edit was refused, and is taken back", state: Running, stored: Placement{Made: "a", Outdated: true, Problem: "no"}, app: "a", edited: true, want: Placement{Made: "a"}},
		"Refused":   {reason: "what was refused is not tried again", state: Running, stored: Placement{Made: "a", Outdated: true, Problem: "no"}, app: "b", want: Placement{Made: "a", Outdated: true, Problem: "no"}},
		"Retried":   {reason: "another edit is", state: Running, stored: Placement{Made: "a", Outdated: true, Problem: "no"}, app: "c", edited: true, want: Placement{Made: "a", Outdated: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := ran(tc.state)
			rec.Placement = tc.stored
			tc.want.Rest = "rest"
			app := with(func(a *Application) {
				a.Placement = Placement{Rest: "rest", Made: tc.app}
				if tc.edited {
					a.Generation++
				}
			})
			if diff := cmp.Diff(tc.want, applySpecChanges(app, rec, Env{Now: later}).Placement); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// That the template is out of date is stored before it is changed, and only that of a driver which stays is.
func TestTemplateIsUpdated(t *testing.T) {
	outdated, tried := Placement{Made: "a", Outdated: true}, Placement{Made: "a", Outdated: true, Problem: "no"}
	cases := map[string]struct {
		reason      string
		stored, now Placement
		app         func(*Application)
		driver      Driver
		requeue     time.Duration
		want        []Action
		next        time.Duration
	}{
		"Stored":    {reason: "it is known to be out of date", stored: outdated, now: outdated, want: []Action{{Kind: UpdateTemplate}}, next: heartbeat},
		"First":     {reason: "it is stored first", stored: Placement{Made: "a"}, now: outdated, next: unknownRetry},
		"Sooner":    {reason: "a look that comes sooner will do", stored: Placement{Made: "a"}, now: outdated, requeue: time.Second, next: time.Second},
		"Retried":   {reason: "so is that another edit is tried", stored: tried, now: outdated, next: unknownRetry},
		"UpToDate":  {reason: "the driver has it so", stored: outdated, now: Placement{Made: "a"}, next: heartbeat},
		"Refused":   {reason: "it was tried", stored: outdated, now: tried, next: heartbeat},
		"Suspended": {reason: "the driver has to go", stored: outdated, now: outdated, app: isSuspended, next: heartbeat},
		"Deleted":   {reason: "the driver goes", stored: outdated, now: outdated, driver: deleting(driver(Current, DriverRunning)), next: heartbeat},
		"Former":    {reason: "it is another attempt's", stored: outdated, now: outdated, driver: driver(Previous, DriverRunning), next: heartbeat},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Plan{App: testApp(), Before: ran(Running), Record: ran(Running), Requeue: heartbeat}
			p.Before.Placement, p.Record.Placement = tc.stored, tc.now
			if tc.app != nil {
				tc.app(&p.App)
			}
			if tc.requeue != 0 {
				p.Requeue = tc.requeue
			}
			if tc.driver.Presence == "" {
				tc.driver = driver(Current, DriverRunning)
			}
			p = withTemplate(p, tc.driver)
			if diff := cmp.Diff(tc.want, p.Actions); diff != "" || p.Requeue != tc.next {
				t.Errorf("%s: again after %s, want %s (-want +got):\n%s", tc.reason, p.Requeue, tc.next, diff)
			}
		})
	}
}

// What became of an edit is recorded, however much the API server says of it.
func TestTemplateIsSettled(t *testing.T) {
	outdated := Placement{Rest: "rest", Made: "a", Outdated: true}
	for name, tc := range map[string]struct {
		result Result
		want   Placement
	}{
		"done":    {Result{Kind: UpdateTemplate, Class: ClassDone}, Placement{Rest: "rest", Made: "b"}},
		"refused": {Result{Kind: UpdateTemplate, Class: ClassRefused, Message: "no"}, Placement{Rest: "rest", Made: "a", Outdated: true, Problem: "no"}},
		"failed":  {Result{Kind: UpdateTemplate, Class: ClassTransient, Message: "no"}, outdated},
		"wordy":   {Result{Kind: UpdateTemplate, Class: ClassPolicy, Message: strings.Repeat("x", 2*maxCondition)}, Placement{Rest: "rest", Made: "a", Outdated: true, Problem: strings.Repeat("x", maxCondition-3) + "..."}},
	} {
		rec := ran(Running)
		rec.Placement = outdated
		p := Plan{App: with(func(a *Application) { a.Placement.Made = "b" }), Before: rec, Record: rec, Driver: driver(Current, DriverRunning), Actions: []Action{{Kind: UpdateTemplate}}}
		if diff := cmp.Diff(tc.want, Settle(p, []Result{tc.result}, Env{Now: later}).Record.Placement); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
