// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// gang is the gate of a scheduler that has objects of its own.
func gang(v scheduler.Verdict) scheduler.Admission {
	return scheduler.Admission{
		Verdict: v, Reason: "WaitingForQuota", Message: "waiting for quota in queue team-a", RetryAfter: time.Minute, Apply: []*unstructured.Unstructured{{}},
		Choice: scheduler.Choice{Scheduler: "batch", Source: "Application", Queue: "team-a", Group: "PodGroup g-1"},
	}
}

// plain is the gate of another scheduler, which has none.
func plain(v scheduler.Verdict) scheduler.Admission {
	return scheduler.Admission{Verdict: v, Choice: scheduler.Choice{Scheduler: "plain", Source: "Application"}}
}

func isEdited(a *Application) { a.Generation, a.SpecHash = 2, "another" }

func holding(s State) Record {
	r := ran(s)
	r.Scheduling = Scheduling{Choice: gang(scheduler.Admit).Choice, HeldAttempt: 1, HeldBy: "batch"}
	return r
}

func kinds(actions []Action) []ActionKind {
	var all []ActionKind
	for _, a := range actions {
		all = append(all, a.Kind)
	}
	return all
}

// A scheduler's objects are made after it was stored that there will be some, and go before anything that follows.
func TestSchedulersObjects(t *testing.T) {
	queued := Record{State: Queued, Attempt: 1, Generation: 1, SpecHash: testApp().SpecHash, QueuedAt: later, Scheduling: Scheduling{HeldAttempt: 1, HeldBy: "batch"}}
	next := holding(Rerunning)
	next.Attempt = 2
	refused := queued
	refused.State, refused.Submissions, refused.TerminatedAt = SubmissionFailed, 1, later
	failed := holding(Failing)
	failed.Attempts[0].Class, failed.Attempts[0].EndedAt, failed.TerminatedAt = ApplicationExit, later, later
	cases := map[string]struct {
		reason  string
		app     Application
		rec     Record
		driver  Driver
		gate    scheduler.Admission
		actions []ActionKind
		state   State
		held    int32
	}{
		"First":     {reason: "attempt 1 has none until that is stored", app: testApp(), driver: absent, gate: gang(scheduler.Wait), state: Queued, held: 1},
		"FirstGo":   {reason: "not even if it may start at once", app: testApp(), driver: absent, gate: gang(scheduler.Admit), state: Queued, held: 1},
		"Waits":     {reason: "they are made while it waits", app: testApp(), rec: queued, driver: absent, gate: gang(scheduler.Wait), actions: []ActionKind{Schedule}, state: Queued, held: 1},
		"Goes":      {reason: "and before the driver", app: testApp(), rec: queued, driver: absent, gate: gang(scheduler.Admit), actions: []ActionKind{Schedule, Submit}, state: Queued, held: 1},
		"Never":     {reason: "a refused attempt holds nothing", app: testApp(), rec: queued, driver: absent, gate: gang(scheduler.Reject), actions: []ActionKind{Release}, state: Failed},
		"Switched":  {reason: "another scheduler was chosen: the first one's go before anything else", app: testApp(), rec: queued, driver: absent, gate: plain(scheduler.Admit), actions: []ActionKind{Release}, state: Queued},
		"Disabled":  {reason: "one that cannot be asked keeps them", app: testApp(), rec: queued, driver: absent, gate: scheduler.Admission{Verdict: scheduler.Wait}, state: Queued, held: 1},
		"Corrected": {reason: "a refused spec that was edited has them still", app: with(isEdited), rec: refused, driver: absent, gate: gang(scheduler.Admit), actions: []ActionKind{Schedule, Submit}, state: New, held: 1},
		"Edited":    {reason: "an edited one, too, until its next attempt", app: with(isEdited), rec: holding(Running), driver: driver(Current, DriverRunning), state: Invalidating, held: 1},
		"Again":     {reason: "which records their owner", app: testApp(), rec: holding(Invalidating), driver: absent, state: Rerunning, held: 1},
		"Suspended": {reason: "nor does a suspended one", app: with(isSuspended), rec: queued, driver: absent, actions: []ActionKind{Release}, state: Queued},
		"Fails":     {reason: "they go before the back-off", app: testApp(), rec: failed, driver: failedDriver(1), actions: []ActionKind{Release}, state: Failed},
		"Succeeds":  {reason: "and at the end", app: testApp(), rec: holding(Succeeding), driver: driver(Current, DriverSucceeded), actions: []ActionKind{Release}, state: Succeeded},
		"Stopping":  {reason: "but not while the driver is there", app: with(isSuspended), rec: holding(Suspending), driver: driver(Current, DriverRunning), actions: []ActionKind{DeleteDriver}, state: Suspending, held: 1},
		"Stopped":   {reason: "they go with it", app: with(isSuspended), rec: holding(Suspending), driver: absent, actions: []ActionKind{Release}, state: Suspended},
		"Next":      {reason: "those of the attempt before go when its driver has", app: testApp(), rec: next, driver: absent, gate: gang(scheduler.Admit), actions: []ActionKind{Release}, state: Rerunning},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(tc.app, tc.rec, Observation{Driver: tc.driver}, tc.gate, Env{Now: later})
			if diff := cmp.Diff(tc.actions, kinds(p.Actions)); diff != "" {
				t.Errorf("%s: actions (-want +got):\n%s", tc.reason, diff)
			}
			if p.Record.State != tc.state || p.Record.Scheduling.HeldAttempt != tc.held {
				t.Errorf("%s: state %s, objects of attempt %d; want %s, %d", tc.reason, p.Record.State, p.Record.Scheduling.HeldAttempt, tc.state, tc.held)
			}
			if by := p.Record.Scheduling.HeldBy; (by == "batch") != (tc.held != 0) {
				t.Errorf("%s: objects of attempt %d are those of %q", tc.reason, tc.held, by)
			}
		})
	}
}

// Whose objects they are is known until they are gone: an attempt that follows at once, because the spec was changed, may
// be another scheduler's.
func TestSchedulerOfTheAttemptBefore(t *testing.T) {
	changed := with(func(a *Application) { a.SpecHash = "spec-2" })
	rec := holding(Submitted)
	var released []Action
	var by string
	for range 6 {
		p := Decide(changed, rec, Observation{Driver: absent}, gang(scheduler.Wait), Env{Now: later})
		for _, a := range p.Actions {
			if a.Kind == Release {
				released, by = append(released, a), rec.Scheduling.HeldBy
			}
		}
		if len(released) > 0 && p.Record.Scheduling.HeldAttempt == 0 && p.Record.Scheduling.Scheduler != "" {
			t.Errorf("the next attempt has its scheduler before it was asked: %+v", p.Record.Scheduling)
		}
		if rec = p.Record; rec.State == Queued {
			break
		}
	}
	if len(released) != 1 || released[0].Attempt != 1 || by != "batch" {
		t.Errorf("released %+v of scheduler %q", released, by)
	}
}

// What cannot be made is a wait with the API server's words; what cannot be deleted is tried again.
func TestSettleSchedulersObjects(t *testing.T) {
	queued := Record{State: Queued, Attempt: 1, Generation: 1, SpecHash: testApp().SpecHash, QueuedAt: later, Scheduling: Scheduling{HeldAttempt: 1, HeldBy: "batch"}}
	p := Decide(testApp(), queued, Observation{Driver: absent}, gang(scheduler.Admit), Env{Now: later})
	for class, want := range map[Class]Reason{
		ClassNameTaken: ReasonNameConflict, ClassQuota: ReasonQuotaExceeded, ClassOperatorForbidden: ReasonOperatorForbidden,
		ClassTerminating: ReasonNamespaceTerminating, ClassRefused: ReasonSchedulerObjects, ClassPolicy: ReasonSchedulerObjects,
	} {
		o := Settle(p, []Result{{Kind: Schedule, Class: class, Message: words}}, Env{Now: later})
		if o.Record.State != Queued || o.Record.Cause != (Cause{want, words}) || o.Requeue == 0 || o.Record.Executions != 0 {
			t.Errorf("%s: state %s, cause %+v, requeue %s", class, o.Record.State, o.Record.Cause, o.Requeue)
		}
	}
	p = Decide(testApp(), holding(Succeeding), Observation{Driver: driver(Current, DriverSucceeded)}, scheduler.Admission{}, Env{Now: later})
	o := Settle(p, []Result{{Kind: Release, Class: ClassTransient, Message: "etcd leader changed"}}, Env{Now: later})
	if o.Err == nil || o.Record.State != Succeeding || o.Record.Scheduling.HeldAttempt != 1 {
		t.Errorf("error %v, state %s, objects of attempt %d: nothing may be forgotten", o.Err, o.Record.State, o.Record.Scheduling.HeldAttempt)
	}
}

// What the scheduler is waited for with could not be made: that is what keeps the application.
func TestAdmittedSaysWhatCouldNotBeMade(t *testing.T) {
	queued := Record{State: Queued, Attempt: 1, Generation: 1, SpecHash: testApp().SpecHash, QueuedAt: later, Scheduling: Scheduling{HeldAttempt: 1}}
	p := Decide(testApp(), queued, Observation{Driver: absent}, gang(scheduler.Wait), Env{Now: later})
	for _, tc := range []struct {
		reason string
		result Result
		want   Cause
	}{
		{"the name of its group is taken", Result{Kind: Schedule, Class: ClassNameTaken, Message: words}, Cause{ReasonNameConflict, words}},
		{"all is made, and the scheduler has its say", Result{Kind: Schedule, Class: ClassDone}, causeOf(gang(scheduler.Wait))},
	} {
		for _, c := range Settle(p, []Result{tc.result}, Env{Now: later}).Conditions {
			if c.Type == ConditionAdmitted && (c.Status != False || Cause{c.Reason, c.Message} != tc.want) {
				t.Errorf("%s: %s %s %q, want %+v", tc.reason, c.Status, c.Reason, c.Message, tc.want)
			}
		}
	}
}

// A pod that no scheduler looks at says nothing about itself.
func TestUnclaimedDriver(t *testing.T) {
	pending := func(change func(*Driver)) Driver {
		d := driver(Current, DriverPending)
		d.CreatedAt = later.Add(-time.Minute)
		change(&d)
		return d
	}
	cases := map[string]struct {
		reason string
		driver Driver
		want   string
	}{
		"Unseen": {"its scheduler does not run", pending(func(*Driver) {}), "no scheduler has processed the driver pod"},
		"Young":  {"the scheduler may be about to", pending(func(d *Driver) { d.CreatedAt = later.Add(-time.Second) }), "the driver pod is not running yet"},
		"Placed": {"a scheduler has placed it", pending(func(d *Driver) { d.ScheduledAt = later }), "the driver pod is not running yet"},
		"Judged": {"the scheduler has words of its own", pending(func(d *Driver) { d.Waiting = Wait{Cause{Reason: ReasonUnschedulable}, "no room"} }), "no room"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(testApp(), ran(Submitted), Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later})
			if c := condition(t, p, ConditionDriverReady); !strings.HasPrefix(c.Message, tc.want) {
				t.Errorf("%s: %q, want %q", tc.reason, c.Message, tc.want)
			}
		})
	}
}

// What a scheduler does to a driver is no failure of the application.
func TestSchedulersVerdicts(t *testing.T) {
	why := Cause{"Preempted", "taken down for a pod of higher priority (batch)"}
	evicted := scheduler.Observation{Stage: scheduler.StageEvicted, Eviction: &scheduler.Eviction{}, Reason: why.Reason, Message: why.Message}
	app := testApp()
	app.Policies.Restart.Evictions = RetryPolicy{Retries: 1, Initial: time.Second, Max: time.Second}
	app.Policies.Restart.RestartsEvicted = true
	cases := map[string]struct {
		reason string
		said   scheduler.Observation
		driver Driver
		class  FailureClass
		again  bool
	}{
		"Evicted":  {reason: "it is requeued on a budget of its own", said: evicted, driver: failedDriver(143), class: Evicted, again: true},
		"Gone":     {reason: "also if the pod is gone already", said: evicted, driver: absent, class: Evicted, again: true},
		"Withdrew": {reason: "a driver that may not run any more is stopped", said: scheduler.Observation{StopApp: true, Reason: why.Reason, Message: why.Message}, driver: driver(Current, DriverRunning), class: Evicted, again: true},
		"Refused":  {reason: "what is refused permanently is not tried again", said: scheduler.Observation{Stage: scheduler.StageRefused, Reason: why.Reason, Message: why.Message}, driver: driver(Current, DriverPending)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obs := Observation{Driver: tc.driver, Scheduler: tc.said}
			rec := Settle(Decide(app, ran(Running), obs, scheduler.Admission{}, Env{Now: later}), nil, Env{Now: later}).Record
			if rec.State != Failing || rec.Current().Class != tc.class || rec.Current().Cause != why {
				t.Fatalf("%s: state %s, attempt %+v", tc.reason, rec.State, rec.Current())
			}
			if _, again := RetryAt(app, rec); again != tc.again {
				t.Errorf("%s: again %v", tc.reason, again)
			}
			rec.Retries.Used = map[FailureClass]int32{Evicted: 1}
			if _, again := RetryAt(app, rec); again {
				t.Errorf("%s: the budget is used up", tc.reason)
			}
		})
	}
}

// Never is at most one run. A driver that its scheduler takes down is followed by another only if its pod is known to have had no
// node until it was gone, or if the user has asked for it.
func TestNeverRunsOnce(t *testing.T) {
	said := scheduler.Observation{StopApp: true, Reason: "Preempted", Message: "taken down (batch)"}
	unplaced := func(change func(*Driver)) Driver {
		d := driver(Current, DriverPending)
		d.Unplaced = "7"
		change(&d)
		return d
	}
	leaving := func(d *Driver) { d.Deleting, d.GoneAt = true, later.Add(time.Minute) }
	placed := driver(Current, DriverPending)
	placed.ScheduledAt = later
	cases := map[string]struct {
		reason string
		// then are what is seen of the driver while the attempt is being ended, after the first look.
		first   Driver
		then    []Driver
		asked   bool
		version string
		again   bool
	}{
		"Running":     {reason: "it has started", first: driver(Current, DriverRunning), then: []Driver{driver(Current, DriverRunning), absent}},
		"Gone":        {reason: "in doubt it has started", first: absent, then: []Driver{absent}},
		"Placed":      {reason: "it has a node, and may start before it is deleted", first: placed, then: []Driver{placed, absent}},
		"Unplaced":    {reason: "it was deleted at the version that has no node", first: unplaced(func(*Driver) {}), then: []Driver{unplaced(func(*Driver) {}), absent}, version: "7", again: true},
		"Vanished":    {reason: "somebody else deleted it, perhaps after its start", first: unplaced(func(*Driver) {}), then: []Driver{absent}},
		"PlacedSince": {reason: "it got a node meanwhile", first: unplaced(func(*Driver) {}), then: []Driver{placed, absent}},
		"Leaving":     {reason: "a pod that is being deleted gets no node any more", first: unplaced(leaving), then: []Driver{absent}, again: true},
		"GivenUp":     {reason: "a pod that has failed without a node never starts", first: unplaced(func(d *Driver) { d.Phase = DriverFailed }), then: []Driver{unplaced(func(d *Driver) { d.Phase = DriverFailed })}, again: true},
		"Asked":       {reason: "the user's word wins", first: driver(Current, DriverRunning), then: []Driver{absent}, asked: true, again: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testApp()
			app.Policies.Restart.Evictions, app.Policies.Restart.RestartsEvicted = RetryPolicy{Retries: 1}, tc.asked
			rec, version := ran(Submitted), ""
			rec.Current().StartedAt = time.Time{}
			for i, d := range append([]Driver{tc.first}, tc.then...) {
				obs := Observation{Driver: d}
				if i == 0 {
					obs.Scheduler = said
				}
				env := Env{Now: later.Add(time.Duration(i) * time.Second)}
				p := Decide(app, rec, obs, scheduler.Admission{}, env)
				var done []Result
				for _, a := range p.Actions {
					done, version = append(done, Result{Kind: a.Kind, Class: ClassDone}), version+a.Version
				}
				rec = Settle(p, done, env).Record
			}
			if want := map[bool]State{true: Rerunning, false: Failed}[tc.again]; rec.State != want || version != tc.version {
				t.Errorf("%s: %s after a deletion of version %q, want %s and %q", tc.reason, rec.State, version, want, tc.version)
			}
		})
	}
}

// A success that the scheduler has a word about stays a success.
func TestSuccessGoesBeforeEviction(t *testing.T) {
	obs := Observation{Driver: driver(Current, DriverSucceeded), Scheduler: scheduler.Observation{Stage: scheduler.StageEvicted, Eviction: &scheduler.Eviction{}, Reason: "Preempted", Message: "too late"}}
	if p := Decide(testApp(), ran(Running), obs, scheduler.Admission{}, Env{Now: later}); p.Record.State != Succeeded {
		t.Errorf("state %s", p.Record.State)
	}
}

// The scheduler reports why a pod is not scheduled.
func TestSchedulersWords(t *testing.T) {
	d := driver(Current, DriverPending)
	d.Waiting = Wait{Cause{Reason: ReasonUnschedulable}, "0/3 nodes are available"}
	view := scheduler.Observation{Stage: scheduler.StageQueued, Reason: "WaitingForQuota", Message: "waiting for quota in queue root.team-a (batch)", RetryAfter: 3 * time.Second}
	p := Decide(testApp(), ran(Submitted), Observation{Driver: d, Scheduler: view}, scheduler.Admission{}, Env{Now: later})
	for _, c := range Settle(p, nil, Env{Now: later}).Conditions {
		if c.Type == ConditionDriverReady && (c.Reason != "WaitingForQuota" || c.Message != view.Message) {
			t.Errorf("the condition says %+v", c)
		}
	}
	if p.Requeue != 3*time.Second {
		t.Errorf("looks again after %s, the scheduler wants 3s", p.Requeue)
	}
}

// What a driver lives on is kept while the driver goes on, and nothing waits for it.
func TestMaintained(t *testing.T) {
	wants := scheduler.Observation{Apply: []*unstructured.Unstructured{{}}}
	lacking := driver(Current, DriverPending)
	lacking.SpecHash, lacking.Waiting.Reason = testApp().SpecHash, ReasonVolume
	as := func(change func(*Driver)) Driver {
		d := lacking
		change(&d)
		return d
	}
	cases := map[string]struct {
		reason  string
		app     Application
		rec     Record
		driver  Driver
		says    scheduler.Observation
		actions []ActionKind
	}{
		"Lacking":   {"it waits for a ConfigMap that may be gone", testApp(), ran(Submitted), lacking, scheduler.Observation{}, []ActionKind{Restore}},
		"Both":      {"", testApp(), ran(Submitted), lacking, wants, []ActionKind{Adjust, Restore}},
		"Pulling":   {"what it waits for is not of its submission", testApp(), ran(Submitted), as(func(d *Driver) { d.Waiting.Reason = ReasonUnschedulable }), scheduler.Observation{}, nil},
		"Outdated":  {"it is of another spec", testApp(), ran(Submitted), as(func(d *Driver) { d.SpecHash = "another" }), scheduler.Observation{}, nil},
		"Going":     {"it is being deleted", testApp(), ran(Submitted), as(func(d *Driver) { d.Deleting = true }), scheduler.Observation{}, nil},
		"Adopted":   {"it lives on what others have made", with(func(a *Application) { a.Adopts = "pi" }), ran(Submitted), lacking, scheduler.Observation{}, nil},
		"Suspended": {"it is on its way out", with(isSuspended), ran(Submitted), lacking, wants, nil},
		"Runs":      {"a user has deleted the group", testApp(), holding(Running), driver(Current, DriverRunning), wants, []ActionKind{Adjust}},
		"FellBack":  {"it has run, so that all was there", testApp(), ran(Running), lacking, scheduler.Observation{}, nil},
		"Swaps":     {"the group has another name now", testApp(), holding(Running), driver(Current, DriverRunning), scheduler.Observation{Apply: wants.Apply, Delete: []scheduler.Ref{{}}}, []ActionKind{Adjust}},
		"RanUnseen": {"its end is shown next", testApp(), ran(Submitted), driver(Current, DriverSucceeded), wants, nil},
		"Ended":     {"nothing is left to be scheduled", testApp(), holding(Running), driver(Current, DriverSucceeded), wants, []ActionKind{Release}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := Env{Now: later}
			p := Decide(tc.app, tc.rec, Observation{Driver: tc.driver, Scheduler: tc.says}, scheduler.Admission{}, env)
			if diff := cmp.Diff(tc.actions, kinds(p.Actions)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(p.Actions) == 0 || p.Record.State.Final() {
				return
			}
			failed := []Result{{Kind: p.Actions[0].Kind, Class: ClassTransient, Message: "busy"}}
			if o := Settle(p, failed, env); o.Err != nil || o.Record.State != p.Record.State || o.Requeue != p.Requeue {
				t.Errorf("%s: when it fails, the application is %s, again in %s: %v", tc.reason, o.Record.State, o.Requeue, o.Err)
			}
		})
	}
}
