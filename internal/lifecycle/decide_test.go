/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	now   = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	later = now.Add(time.Minute)

	admit  = Gate{Verdict: Admitted, Cause: Cause{"Admitted", "nothing holds the application back"}}
	hold   = Gate{Verdict: Waiting, Cause: Cause{"SchedulerUnknown", "no such scheduler"}, RetryAfter: time.Minute}
	reject = Gate{Verdict: Rejected, Cause: Cause{ReasonInvalidSpec, `spec.driver.memory: "2gb": not a heap size`}}
)

func driver(o Ownership, p DriverPhase) Driver {
	return Driver{Presence: Present, Ownership: o, Name: "pi-driver", UID: "uid-1", CreatedAt: now, Phase: p}
}

func failedDriver(code int32) Driver {
	d := driver(Current, DriverFailed)
	d.Exit = Exit{Code: code, Reason: "Error"}
	return d
}

var absent = Driver{Presence: Absent, Name: "pi-driver"}

func TestDecide(t *testing.T) {
	submit := []Action{{Kind: Submit}}
	ran := Record{Attempt: 1, Generation: 1, Submissions: 1, Executions: 1, SubmittedAt: now}
	in := func(s State) Record { r := ran; r.State = s; return r }
	cases := map[string]struct {
		reason  string
		app     Application
		rec     Record
		driver  Driver
		gate    Gate
		state   State
		actions []Action
		cause   Reason
	}{
		"Start":            {reason: "a new application that is admitted is submitted", rec: Record{}, driver: absent, gate: admit, state: New, actions: submit},
		"StartWaits":       {reason: "a scheduler that is not there holds it back", rec: Record{}, driver: absent, gate: hold, state: Queued, cause: "SchedulerUnknown"},
		"StartRejected":    {reason: "a spec that cannot run fails before anything is created", rec: Record{}, driver: absent, gate: reject, state: Failed, cause: ReasonInvalidSpec},
		"StartSuspended":   {reason: "suspend holds a new application back", app: Application{Suspend: true}, rec: Record{}, driver: absent, state: Queued, cause: ReasonSuspended},
		"StartAdopts":      {reason: "a driver created just before a crash is recognised, not doubled", rec: Record{}, driver: driver(Current, DriverRunning), state: Running},
		"StartForeign":     {reason: "a pod of somebody else is never touched", rec: Record{State: Queued}, driver: driver(Foreign, DriverRunning), gate: admit, state: Queued, cause: ReasonNameConflict},
		"StartFormer":      {reason: "the name is free only when the earlier pod is gone", rec: Record{State: Queued}, driver: driver(Former, DriverSucceeded), gate: admit, state: Queued, cause: ReasonFormerDriver},
		"StartDoubt":       {reason: "nothing is created in doubt", rec: Record{State: Queued}, driver: Driver{Presence: Unknown}, gate: admit, state: Queued},
		"QueuedGoes":       {reason: "a queued application goes on when it is admitted", rec: Record{State: Queued}, driver: absent, gate: admit, state: Queued, actions: submit},
		"Pending":          {reason: "a pending driver is no progress", rec: in(Submitted), driver: driver(Current, DriverPending), state: Submitted},
		"Runs":             {reason: "the container runs", rec: in(Submitted), driver: driver(Current, DriverRunning), state: Running},
		"FallsBack":        {reason: "a pod may be pending again", rec: in(Running), driver: driver(Current, DriverPending), state: Submitted},
		"Ends":             {reason: "exit code 0", rec: in(Running), driver: driver(Current, DriverSucceeded), state: Succeeding},
		"EndsFast":         {reason: "a driver may end before it was seen running", rec: in(Submitted), driver: driver(Current, DriverSucceeded), state: Succeeding},
		"Fails":            {reason: "exit code 1", rec: in(Running), driver: failedDriver(1), state: Failing, cause: ReasonDriverFailed},
		"Lost":             {reason: "absence is seen by a live read", rec: in(Running), driver: absent, state: Failing, cause: ReasonDriverNotFound},
		"LostToForeign":    {reason: "somebody else's pod is not our driver", rec: in(Running), driver: driver(Foreign, DriverRunning), state: Failing, cause: ReasonDriverNotFound},
		"Doubt":            {reason: "doubt is no loss", rec: in(Running), driver: Driver{Presence: Unknown}, state: Running},
		"Concludes":        {reason: "nothing runs it again", rec: in(Succeeding), driver: driver(Current, DriverSucceeded), state: Succeeded},
		"ConcludesFailure": {reason: "nothing runs it again", rec: in(Failing), driver: failedDriver(1), state: Failed},
		"SuccessAbsorbs":   {reason: "a lost pod does not undo a success", rec: in(Succeeded), driver: absent, state: Succeeded},
		"EditAfterRun":     {reason: "an application that ran keeps its outcome", app: Application{Generation: 2}, rec: in(Failed), driver: absent, gate: admit, state: Failed},
		"EditBeforeRun":    {reason: "fixing a spec that never ran makes it run", app: Application{Generation: 2}, rec: Record{State: Failed, Generation: 1}, driver: absent, gate: admit, state: New, actions: submit},
		"EditRefused":      {reason: "so does fixing one that the API server refused", app: Application{Generation: 2}, rec: Record{State: SubmissionFailed, Generation: 1, Attempt: 1, Submissions: 1}, driver: absent, gate: admit, state: New, actions: submit},
		"Deletion":         {reason: "a held deletion stops the driver", app: Application{Deleting: true}, rec: in(Running), driver: driver(Current, DriverRunning), state: Running, actions: []Action{{Kind: DeleteDriver, UID: "uid-1"}}},
		"DeletionForeign":  {reason: "a deletion touches nothing foreign", app: Application{Deleting: true}, rec: in(Running), driver: driver(Foreign, DriverRunning), state: Running},
		"DeletionNew":      {reason: "nothing is created for what goes away", app: Application{Deleting: true}, rec: Record{}, driver: absent, gate: admit, state: New},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.app.Generation == 0 {
				tc.app.Generation = 1
			}
			p := Decide(tc.app, tc.rec, Observation{Driver: tc.driver}, tc.gate, Env{Now: later})
			if diff := cmp.Diff(tc.state, p.Record.State); diff != "" {
				t.Errorf("%s: state (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.actions, p.Actions); diff != "" {
				t.Errorf("%s: actions (-want +got):\n%s", tc.reason, diff)
			}
			if tc.cause != "" && p.Record.Cause.Reason != tc.cause {
				t.Errorf("%s: cause %q, want %q", tc.reason, p.Record.Cause.Reason, tc.cause)
			}
		})
	}
}

// domain enumerates the small world that decisions are made in, completely.
func domain(visit func(name string, app Application, rec Record, obs Observation, gate Gate)) {
	drivers := map[string]Driver{"absent": absent, "unknown": {Presence: Unknown, Name: "pi-driver"}}
	for _, o := range []Ownership{Foreign, Current, Former} {
		for _, p := range []DriverPhase{DriverPending, DriverRunning, DriverSucceeded, DriverFailed} {
			d := driver(o, p)
			drivers[fmt.Sprintf("%s/%s", o, p)] = d
			d.Deleting = true
			drivers[fmt.Sprintf("%s/%s/deleting", o, p)] = d
		}
	}
	gates := map[string]Gate{"admit": admit, "hold": hold, "reject": reject, "none": {}}
	executors := map[string]map[string]ExecutorState{
		"none": nil, "running": {"e-1": ExecutorRunning}, "mixed": {"e-1": ExecutorFailed, "e-2": ExecutorPending},
	}
	for _, rec := range records() {
		for _, generation := range []int64{1, 2} {
			for _, suspend := range []bool{false, true} {
				for _, deleting := range []bool{false, true} {
					for dn, d := range drivers {
						for gn, gate := range gates {
							app := Application{Generation: generation, Suspend: suspend, Deleting: deleting}
							if Gated(app, rec, d) != (gn != "none") {
								continue // the engine computes the gate exactly when Gated says so
							}
							for en, ex := range executors {
								name := fmt.Sprintf("%s ran=%v gen=%d suspend=%v deleting=%v driver=%s gate=%s executors=%s",
									rec.State, !rec.NeverRan(), generation, suspend, deleting, dn, gn, en)
								visit(name, app, rec, Observation{Driver: d, Executors: ex}, gate)
							}
						}
					}
				}
			}
		}
	}
}

// records are those that a status can hold.
func records() []Record {
	var all []Record
	for _, state := range States() {
		rec := Record{State: state, Generation: 1, Attempt: 1, DriverName: "pi-driver"}
		switch state {
		case New:
			rec = Record{}
		case Queued:
			rec.Cause = hold.Cause
		case SubmissionFailed:
			rec.Cause, rec.Submissions = Cause{ReasonSubmissionRefused, "service account not found"}, 1
		case Failed:
			rec.Cause = reject.Cause
			all = append(all, rec)
			rec.Cause, rec.Submissions, rec.Executions = Cause{ReasonDriverFailed, "exit code 1"}, 1, 1
		case Failing:
			rec.Cause, rec.Submissions, rec.Executions = Cause{ReasonDriverFailed, "exit code 1"}, 1, 1
		case Submitted, Running, Succeeding, Succeeded:
			rec.Submissions, rec.Executions = 1, 1
			rec.Executors = map[string]ExecutorState{"e-0": ExecutorRunning}
		}
		all = append(all, rec)
	}
	return all
}

func TestInvariants(t *testing.T) {
	elements := 0
	domain(func(name string, app Application, rec Record, obs Observation, gate Gate) {
		elements++
		before := fmt.Sprintf("%+v", rec)
		p := Decide(app, rec, obs, gate, Env{Now: later})
		if after := fmt.Sprintf("%+v", rec); after != before {
			t.Fatalf("%s: the record given was changed", name)
		}
		if again := Decide(app, rec, obs, gate, Env{Now: later}); !cmp.Equal(p, again) {
			t.Fatalf("%s: not deterministic: %s", name, cmp.Diff(p, again))
		}
		checkActions(t, name, app, rec, obs, gate, p)
		for _, class := range []Class{ClassDone, ClassNameTaken, ClassQuota, ClassTerminating, ClassOperatorForbidden, ClassRefused, ClassTransient} {
			checkOutcome(t, name+" "+string(class), app, p, class)
		}
	})
	t.Logf("%d elements checked", elements)
}

func checkActions(t *testing.T, name string, app Application, rec Record, obs Observation, gate Gate, p Plan) {
	t.Helper()
	submits := slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Kind == Submit })
	if submits && obs.Driver.Presence != Absent {
		t.Errorf("%s: never two live drivers: submits beside a driver that is %s", name, obs.Driver.Presence)
	}
	if submits && (app.Deleting || app.Suspend || gate.Verdict != Admitted) {
		t.Errorf("%s: submits without being admitted", name)
	}
	if submits && !rec.NeverRan() && rec.State.Final() {
		t.Errorf("%s: terminal states absorb: submits again", name)
	}
	if submits && !Gated(app, rec, obs.Driver) {
		t.Errorf("%s: submits although the gate need not be computed", name)
	}
	for _, a := range p.Actions {
		if a.Kind == DeleteDriver && (obs.Driver.Ownership == Foreign || a.UID != obs.Driver.UID) {
			t.Errorf("%s: deletes what is not its own", name)
		}
	}
	if rec.State.Final() && !rec.NeverRan() && p.Record.State != rec.State {
		t.Errorf("%s: terminal states absorb: became %s", name, p.Record.State)
	}
}

func checkOutcome(t *testing.T, name string, app Application, p Plan, class Class) {
	t.Helper()
	var results []Result
	if len(p.Actions) > 0 {
		results = []Result{{Kind: p.Actions[0].Kind, Class: class, Message: "the API server's words"}}
	}
	o := Settle(p, results, Env{Now: later})
	gone := p.Driver.Presence == Absent || p.Driver.Is(Foreign)
	if o.Requeue == 0 && o.Err == nil && (app.Deleting && !gone || !app.Deleting && !o.Record.State.Final()) {
		t.Errorf("%s: what is not at its end has a timer: %s has none", name, o.Record.State)
	}
	if len(o.Conditions) != 4 {
		t.Errorf("%s: %d conditions, want 4", name, len(o.Conditions))
	}
	for _, c := range o.Conditions {
		if c.Reason == "" || c.Message == "" || c.Status == "" {
			t.Errorf("%s: every state has a sentence: condition %+v", name, c)
		}
	}
	if submitted := slices.ContainsFunc(results, func(r Result) bool { return r.Kind == Submit }); submitted && class == ClassDone {
		if o.Record.State != Submitted || o.Record.Executions != 1 || o.Record.Submissions != 1 {
			t.Errorf("%s: a created driver is recorded as %+v", name, o.Record)
		}
	}
}
