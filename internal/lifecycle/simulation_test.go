// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
)

// What test/simulation has found.

// decided is one reconcile whose actions all succeed.
func decided(app Application, rec Record, d Driver) (Plan, Record) {
	env := Env{Now: later}
	p := Decide(app, rec, Observation{Driver: d}, admit, env)
	results := make([]Result, 0, len(p.Actions))
	for _, a := range p.Actions {
		results = append(results, Result{Kind: a.Kind, Class: ClassDone})
	}
	return p, Settle(p, results, env).Record
}

// The driver was created, and the spec edited before that was recorded.
func TestAdoptedDriverOfAnEarlierSpecIsReplaced(t *testing.T) {
	app := with(edited)
	_, rec := decided(app, Record{}, driver(Current, DriverRunning))
	if rec.SpecHash != "spec-1" || rec.Generation == app.Generation {
		t.Fatalf("spec %s, generation %d: nobody will see that the driver is from an earlier spec", rec.SpecHash, rec.Generation)
	}
	if _, rec = decided(app, rec, driver(Current, DriverRunning)); rec.State != Invalidating {
		t.Errorf("state %s, want Invalidating", rec.State)
	}
}

// The driver ends well while it is being suspended, and the spec has changed meanwhile: its success is none of the new
// spec, which runs after the suspension.
func TestSpecChangedWhileSuspending(t *testing.T) {
	app := with(isSuspended, edited)
	p, rec := decided(app, ran(Suspending), driver(Current, DriverSucceeded))
	if rec.State != Suspending || len(p.Actions) != 1 || p.Actions[0].Kind != DeleteDriver {
		t.Fatalf("state %s, actions %v: want the driver deleted", rec.State, p.Actions)
	}
	if _, rec = decided(app, rec, absent); rec.State != Suspended || rec.SpecHash != app.SpecHash {
		t.Fatalf("state %s of spec %s, want Suspended of the new one", rec.State, rec.SpecHash)
	}
	if _, rec = decided(with(edited, resumed), rec, absent); rec.State != Resuming || rec.Attempt != 2 {
		t.Errorf("state %s, attempt %d, want Resuming the next", rec.State, rec.Attempt)
	}
}

// A new spec has all its budgets, also if it came during a suspension.
func TestSpecChangedWhileSuspended(t *testing.T) {
	rec := ran(Suspended)
	rec.Retries.Used = map[FailureClass]int32{ApplicationExit: 2}
	_, rec = decided(with(isSuspended, edited), rec, absent)
	if rec.State != Suspended || rec.Executions != 0 || len(rec.Retries.Used) > 0 {
		t.Errorf("state %s, executions %d, retries used %v", rec.State, rec.Executions, rec.Retries.Used)
	}
}

// A second operator that believed to lead was slow to create a driver: nobody else would stop it.
func TestStrayDriverIsStopped(t *testing.T) {
	for _, s := range []State{Suspended, Succeeded, Failed} {
		app := theApp()
		app.Suspend = s == Suspended
		for _, o := range []Ownership{Current, Previous} {
			p, _ := decided(app, ran(s), driver(o, DriverRunning))
			if len(p.Actions) != 1 || p.Actions[0].Kind != DeleteDriver || p.Requeue == 0 {
				t.Errorf("%s, %s driver: actions %v, requeue %s", s, o, p.Actions, p.Requeue)
			}
		}
		p, _ := decided(app, ran(s), driver(NotOwned, DriverRunning))
		if len(p.Actions) > 0 {
			t.Errorf("%s: a foreign pod: actions %v", s, p.Actions)
		}
	}
}

// The attempt's driver was created by a reconcile that crashed before it wrote the status, and then came the suspension.
func TestSuspendingRecordsTheDriverThatItFinds(t *testing.T) {
	rec := nextAttempt(ran(Failing), Suspending, Cause{ReasonSuspended, "spec.suspend is true"})
	d := driver(Current, DriverRunning)
	d.SubmissionID = "s-2"
	p, rec := decided(with(isSuspended), rec, d)
	if rec.State != Suspending || rec.SubmissionID != "s-2" || rec.Executions != 2 || rec.Current() == nil {
		t.Errorf("state %s, submission %s, executions %d", rec.State, rec.SubmissionID, rec.Executions)
	}
	if len(p.Actions) != 1 || p.Actions[0].Kind != DeleteDriver {
		t.Errorf("actions %v, want the driver to be stopped", p.Actions)
	}
}

// The kubelet says the same in the pod's status and as the reason of its end: people read it once.
func TestEvictionIsToldOnce(t *testing.T) {
	d := driver(Current, DriverFailed)
	d.Exit = Exit{Code: -1, Reason: "Evicted", Message: "low on memory"}
	d.Disruption = Cause{"Evicted", "low on memory"}
	if _, c := failureOf(d); strings.Count(c.Message, "low on memory") != 1 {
		t.Errorf("message %q", c.Message)
	}
}
