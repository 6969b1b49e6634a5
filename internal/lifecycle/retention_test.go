// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestRetention(t *testing.T) {
	d := func(n time.Duration) *time.Duration { return &n }
	minute, hour := d(time.Minute), d(time.Hour)
	resources := Action{Kind: DeleteResources, Attempt: 1}
	cases := map[string]struct {
		reason  string
		keep    TTLs
		was     Released
		driver  Driver
		actions []Action
		is      Released
		requeue time.Duration
	}{
		"Everything":    {reason: "what is not named is kept", driver: driver(Current, DriverFailed)},
		"NotYet":        {reason: "it is looked at again at the first time", keep: TTLs{DriverPod: hour, Application: d(2 * time.Hour)}, driver: driver(Current, DriverFailed), requeue: 59 * time.Minute},
		"Resources":     {reason: "they are deleted, and that is appendAttempt", keep: TTLs{Resources: minute}, driver: driver(Current, DriverFailed), actions: []Action{resources}, is: Released{Resources: true}},
		"OneByOne":      {reason: "what goes now does not hide what goes later", keep: TTLs{Resources: minute, Application: hour}, driver: driver(Current, DriverFailed), actions: []Action{resources}, is: Released{Resources: true}, requeue: 59 * time.Minute},
		"Once":          {reason: "what was deleted is not looked for again", keep: TTLs{Resources: minute}, was: Released{Resources: true}, driver: driver(Current, DriverFailed), is: Released{Resources: true}},
		"Driver":        {reason: "by its UID; it is appendAttempt when it has gone", keep: TTLs{DriverPod: minute}, driver: driver(Current, DriverFailed), actions: stop, requeue: unknownRetry},
		"DriverGoing":   {reason: "once", keep: TTLs{DriverPod: minute}, driver: deleting(driver(Current, DriverFailed)), requeue: unknownRetry},
		"DriverGone":    {reason: "it is appendAttempt", keep: TTLs{DriverPod: minute}, driver: absent, is: Released{DriverPod: true}},
		"DriverForeign": {reason: "a pod of another owner is left alone", keep: TTLs{DriverPod: minute}, driver: driver(NotOwned, DriverRunning), is: Released{DriverPod: true}},
		"DriverDoubt":   {reason: "it is looked at again", keep: TTLs{DriverPod: minute}, driver: unknownDriver(), requeue: unknownRetry},
		"Both":          {reason: "at the same time", keep: TTLs{DriverPod: minute, Resources: minute}, driver: driver(Current, DriverFailed), actions: []Action{resources, stop[0]}, is: Released{Resources: true}, requeue: unknownRetry},
		"Application":   {reason: "with all that belongs to it", keep: TTLs{DriverPod: minute, Resources: minute, Application: minute}, driver: driver(Current, DriverFailed), actions: []Action{{Kind: DeleteApplication}}, requeue: unknownRetry},
		"AtOnce":        {reason: "timeToLiveSeconds: 0", keep: TTLs{Application: d(0)}, driver: driver(Current, DriverFailed), actions: []Action{{Kind: DeleteApplication}}, requeue: unknownRetry},
		"AllReleased":   {reason: "nothing but the application is left to wait for", keep: TTLs{DriverPod: minute, Resources: minute, Application: hour}, was: Released{true, true}, driver: absent, is: Released{true, true}, requeue: 59 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, state := range []State{Succeeded, Failed} {
				app, rec := testApp(), ran(state)
				app.Policies.Retention = Retention{OnFailure: tc.keep}
				if state == Succeeded {
					app.Policies.Retention = Retention{OnSuccess: tc.keep}
				}
				rec.Released = tc.was
				p := Decide(app, rec, Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later})
				if diff := cmp.Diff(tc.actions, p.Actions); diff != "" {
					t.Errorf("%s: actions (-want +got):\n%s", tc.reason, diff)
				}
				if p.Record.Released != tc.is || p.Requeue != tc.requeue || p.Record.State != state {
					t.Errorf("%s: %s released %+v, next look in %s; want %+v, %s", tc.reason, p.Record.State, p.Record.Released, p.Requeue, tc.is, tc.requeue)
				}
				after, rests := NothingDue(app, rec, Env{Now: later})
				if quiet := len(tc.actions) == 0 && tc.requeue != unknownRetry && tc.is == tc.was; rests != quiet || rests && after != tc.requeue {
					t.Errorf("%s: rests %v for %s, want %v for %s", tc.reason, rests, after, quiet, tc.requeue)
				}
			}
		})
	}
}

// An attempt that is retried keeps nothing waiting and loses nothing early: retention is for finished applications.
func TestRetentionIsNoMatterOfAttempts(t *testing.T) {
	zero := time.Duration(0)
	keep := TTLs{DriverPod: &zero, Resources: &zero, Application: &zero}
	app := with(restarting(onFailure), func(a *Application) { a.Policies.Retention = Retention{OnSuccess: keep, OnFailure: keep} })
	for _, rec := range []Record{ran(Failing), ran(Succeeding), ran(Suspended), ran(Running)} {
		app.Suspend = rec.State == Suspended
		p := Decide(app, rec, Observation{Driver: failedDriver(1)}, scheduler.Admission{}, Env{Now: now})
		if len(p.Actions) > 0 {
			t.Errorf("%s: %+v", rec.State, p.Actions)
		}
	}
}

// A finished application at rest costs nothing; a change of the object, or a record that is not complete, wakes it.
func TestRests(t *testing.T) {
	incomplete := ran(Failed)
	incomplete.TerminatedAt = time.Time{}
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		rests  bool
	}{
		"Over":       {reason: "nothing is to be done", app: testApp(), rec: ran(Succeeded), rests: true},
		"Suspended":  {reason: "what has ended ignores suspension", app: with(isSuspended), rec: ran(Succeeded), rests: true},
		"Running":    {reason: "it is not over", app: testApp(), rec: ran(Running)},
		"Edited":     {reason: "it runs again", app: with(edited), rec: ran(Failed)},
		"Touched":    {reason: "the generation is to be reported", app: with(func(a *Application) { a.Generation++ }), rec: ran(Failed)},
		"Deleted":    {reason: "its driver may have to be stopped", app: with(isDeleted), rec: ran(Failed)},
		"Incomplete": {reason: "a previous operator did not record its end", app: testApp(), rec: incomplete},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if after, rests := NothingDue(tc.app, tc.rec, Env{Now: later}); rests != tc.rests || after != 0 {
				t.Errorf("%s: rests %v for %s", tc.reason, rests, after)
			}
		})
	}
	if got := Decide(testApp(), incomplete, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record; !got.TerminatedAt.Equal(later) {
		t.Errorf("retention begins when the end was found: %s", got.TerminatedAt)
	}
}

// When the second attempt times out in the queue, what the first has left is still there.
func TestRetentionOfAnAttemptThatNeverRan(t *testing.T) {
	app, zero := testApp(), time.Duration(0)
	app.Policies.Retention.OnFailure.Resources = &zero
	rec := again(Failed)
	rec.TerminatedAt = now
	p := Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later})
	if len(p.Actions) != 1 || p.Actions[0] != (Action{Kind: DeleteResources, Attempt: 1}) {
		t.Errorf("%+v, want the resources of attempt 1 deleted", p.Actions)
	}
}

// What a scheduler has for an application goes when it is over and something came late, also before its other objects are due; the application takes it along.
func TestLateObjectsOfSchedulersGo(t *testing.T) {
	limit := 10 * time.Second
	cases := map[string]struct {
		reason string
		keep   TTLs
		want   []Action
	}{
		"NothingElse": {reason: "nothing else is to go", want: []Action{{Kind: Release}}},
		"Resources":   {reason: "the time of the resources is over, too", keep: TTLs{Resources: &limit}, want: []Action{{Kind: Release}, {Kind: DeleteResources, Attempt: 1}}},
		"Application": {reason: "it goes as a whole", keep: TTLs{Application: &limit}, want: []Action{{Kind: DeleteApplication}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, rec := testApp(), again(Succeeded)
			app.Policies.Retention.OnSuccess, rec.TerminatedAt = tc.keep, later.Add(-limit)
			late := Observation{Driver: absent, Scheduled: []scheduler.Ref{{Namespace: "jobs", Name: "group"}}}
			if diff := cmp.Diff(tc.want, Decide(app, rec, late, scheduler.Admission{}, Env{Now: later}).Actions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What an attempt has left goes when the next one gets its driver, also if one without a driver lies between.
func TestLeftoversOfEarlierAttempts(t *testing.T) {
	between := func(attempts int32) Record {
		rec := again(Rerunning)
		rec.Attempt = attempts
		return rec
	}
	of := func(attempts ...int32) []Action {
		var all []Action
		for _, n := range attempts {
			all = append(all, Action{Kind: DeleteResources, Attempt: n})
		}
		return append(all, Action{Kind: Submit})
	}
	cases := map[string]struct {
		reason string
		rec    Record
		want   []Action
	}{
		"First":      {reason: "there is nothing yet", rec: queued(), want: of()},
		"Next":       {reason: "the one before has had a driver", rec: between(2), want: of(1)},
		"OneBetween": {reason: "the one between may have come to nothing halfway", rec: between(3), want: of(1, 2)},
		"Several":    {reason: "each attempt takes away what the one before has left", rec: between(5), want: of(1, 4)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(testApp(), tc.rec, Observation{Driver: absent}, admit, Env{Now: later})
			if diff := cmp.Diff(tc.want, p.Actions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}

	// The second attempt never gets a driver and fails; the edited spec runs as the third.
	app, rec := testApp(), again(Rerunning)
	rec = Decide(app, rec, Observation{Driver: absent}, reject, Env{Now: later}).Record
	app = with(edited)
	for range 2 {
		rec = Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	}
	p := Decide(app, rec, Observation{Driver: absent}, admit, Env{Now: later})
	if rec.Attempt != 3 || len(p.Actions) == 0 || p.Actions[0] != (Action{Kind: DeleteResources, Attempt: 1}) {
		t.Errorf("attempt %d: %+v, want the objects of attempt 1 deleted", rec.Attempt, p.Actions)
	}
}
