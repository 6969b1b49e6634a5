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
		"NotOwned":  {reason: "another controller runs the application", state: Running, driver: driver(Current, DriverRunning), stray: stray, app: func(a *Application) { a.ManagedBy = "kueue" }},
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

// The finalizer of a previous operator is this family's, so that nobody else removes it, and the namespace would be deleted for ever.
func TestLeftAloneIsDeletableWithTheFinalizer(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		finalizer bool
		result    Class
		actions   []Action
		fails     bool
	}{
		"Finalizer": {reason: "fault 5: a sentinel that Apache's operator has seen", finalizer: true, result: ClassDone, actions: []Action{{Kind: RemoveFinalizer}}},
		"Trouble":   {reason: "fault 5: it is tried again", finalizer: true, result: ClassTransient, actions: []Action{{Kind: RemoveFinalizer}}, fails: true},
		"None":      {reason: "the garbage collector takes it"},
	} {
		app := with(func(a *Application) { a.Probe, a.Deleting, a.Finalizer = true, true, tc.finalizer })
		p := Decide(app, Record{}, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later})
		if diff := cmp.Diff(tc.actions, p.Actions); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		var results []Result
		for _, a := range p.Actions {
			results = append(results, Result{Kind: a.Kind, Class: tc.result})
		}
		if out := Settle(p, results, Env{Now: later}); (out.Err != nil) != tc.fails || out.Record.State != New {
			t.Errorf("%s: %s: %v, state %q", name, tc.reason, out.Err, out.Record.State)
		}
	}
}

// A driver whose ConfigMap was refused is deleted with grace. It has no end that counts: the submission is tried again when it is gone.
func TestRefusedDriverIsNotAdopted(t *testing.T) {
	at := func(p DriverPhase, started time.Time) Driver {
		d := deleting(driver(Current, p))
		d.StartedAt = started
		return d
	}
	for name, tc := range map[string]struct {
		reason string
		record Record
		driver Driver
		want   State
	}{
		"First":   {reason: "fault 18: the kubelet is slow", record: queued(), driver: at(DriverPending, time.Time{}), want: Queued},
		"New":     {reason: "fault 18: or nothing was recorded of it", driver: at(DriverPending, time.Time{}), want: Queued},
		"Later":   {reason: "fault 18: so it is of a later attempt", record: again(Rerunning), driver: at(DriverPending, time.Time{}), want: Rerunning},
		"Resumed": {reason: "fault 18: or after a suspension", record: again(Resuming), driver: at(DriverPending, time.Time{}), want: Resuming},
		"Stopped": {reason: "fault 18: kubelets call one failed that they never started", record: queued(), driver: at(DriverFailed, time.Time{}), want: Queued},
		"Ran":     {reason: "a crash left it unrecorded, and its program must not run twice", record: queued(), driver: at(DriverRunning, now), want: Running},
	} {
		p := Decide(testApp(), tc.record, Observation{Driver: tc.driver}, scheduler.Admission{Verdict: scheduler.Admit}, Env{Now: later})
		if p.Record.State != tc.want || len(p.Actions) > 0 {
			t.Errorf("%s: %s: %s, %+v", name, tc.reason, p.Record.State, p.Actions)
		}
	}
}

// A look that asks no scheduler records the edit that it has seen, and with it what was chosen for the spec before, which the next would keep.
func TestChoiceIsOfTheSpecThatWaits(t *testing.T) {
	unknown := Driver{Presence: Unknown}
	for name, tc := range map[string]struct {
		reason, hash string
		generation   int64
		driver       Driver
		want         string
	}{
		"Same":       {reason: "nothing was edited", hash: "spec-1", generation: 1, driver: unknown, want: "volcano"},
		"Edited":     {reason: "fault 4: the hash is another", hash: "spec-2", generation: 2, driver: unknown},
		"Hashless":   {reason: "fault 4: the generation is another", generation: 2, driver: unknown},
		"Harmless":   {reason: "an attempt is made of the same", hash: "spec-1", generation: 2, driver: unknown, want: "volcano"},
		"Unrecorded": {reason: "its pod is that scheduler's", generation: 2, driver: driver(Current, DriverRunning), want: "volcano"},
	} {
		rec := queued()
		rec.Scheduling.Choice = scheduler.Choice{Scheduler: "volcano", Queue: "interactiv"}
		if tc.hash == "" {
			rec.SpecHash = ""
		}
		app := with(func(a *Application) { a.SpecHash, a.Generation = tc.hash, tc.generation })
		p := Decide(app, rec, Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later})
		if got := p.Record.Scheduling.Scheduler; got != tc.want {
			t.Errorf("%s: %s: scheduler %q", name, tc.reason, got)
		}
	}
}

// What Kubeflow's operator created suspended has never run.
func TestTakenOverSuspensionResumesAsTheFirstAttempt(t *testing.T) {
	rec := Record{State: Suspended, Attempt: 1}
	if got := Decide(testApp(), rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record; got.State != Resuming || got.Attempt != 1 {
		t.Errorf("%s attempt %d, want the first", got.State, got.Attempt)
	}
}

// Kubeflow's operator stores the id of a submission after it: a driver that it created just before it was replaced is
// kept, with its id.
func TestDriverOfAnotherOperatorKeepsItsID(t *testing.T) {
	for _, state := range []State{Rerunning, Resuming, SubmissionFailed} {
		rec := again(state)
		got := Decide(testApp(), rec, Observation{Driver: foreignDriver()}, scheduler.Admission{}, Env{Now: later})
		if got.Record.State != Running || got.Record.SubmissionID != "s-of-another-operator" || len(got.Actions) != 0 || got.Record.Attempt != 2 {
			t.Errorf("%s: a healthy driver is not kept: %s, submission %s, %+v", state, got.Record.State, got.Record.SubmissionID, got.Actions)
		}
	}
}

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
