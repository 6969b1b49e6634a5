// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// engine is what the engine makes of the user's object: what the spec means is only read again when its generation is
// not the one that was observed.
func engine(app Application, rec Record) Application {
	if rec.SpecHash != "" && rec.Generation == app.Generation {
		app.SpecHash = rec.SpecHash
	}
	return app
}

// A driver that was created before a crash, and whose spec was changed before the restart, is replaced.
func TestAdoptedDriverOfAnOldSpecIsReplaced(t *testing.T) {
	app := with(edited)
	adopted := Decide(engine(app, Record{}), Record{}, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later}).Record
	if adopted.SpecHash != "spec-1" {
		t.Fatalf("the driver was made from spec-1, recorded is %q", adopted.SpecHash)
	}
	next := Decide(engine(app, adopted), adopted, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later}).Record
	if next.State != Invalidating {
		t.Errorf("the new spec is never run: the application stays %s", next.State)
	}
}

// A change of the spec that comes together with suspension, or while the driver is stopped, is not lost when the old
// driver succeeds before it is stopped.
func TestSuspensionDoesNotHideAChangeOfTheSpec(t *testing.T) {
	for name, rec := range map[string]Record{"running": ran(Running), "stopping": ran(Suspending)} {
		app := with(edited, isSuspended)
		stopping := Decide(app, rec, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later}).Record
		if stopping.State != Suspending {
			t.Fatalf("%s: became %s", name, stopping.State)
		}
		next := Decide(app, stopping, Observation{Driver: driver(Current, DriverSucceeded)}, scheduler.Admission{}, Env{Now: later})
		if next.Record.State != Suspending || len(next.Actions) != 1 {
			t.Errorf("%s: a success of the old spec is treated as one of the new: %s", name, next.Record.State)
		}
	}
}

// Budgets and memory begin again with another spec, also while suspended or before the first driver.
func TestAnotherSpecHasFullBudgets(t *testing.T) {
	for _, rec := range []Record{ran(Suspended), ran(Suspending), again(Rerunning), again(Resuming), queued(), ran(Running), ran(Failed), again(SubmissionFailed)} {
		rec.Retries = Retries{Used: map[FailureClass]int32{OutOfMemory: 2}, MemoryRaises: 2}
		rec.Submissions = max(rec.Submissions, 1)
		got := applySpecChanges(with(edited, isSuspended), rec, Env{Now: later})
		if len(got.Retries.Used) > 0 || got.Retries.MemoryRaises > 0 || got.Submissions > 0 || got.Executions > 0 {
			t.Errorf("%s: the new spec pays for the old one: %+v, %d/%d", rec.State, got.Retries, got.Submissions, got.Executions)
		}
	}
}

// A user who fixes a spec that the API server refused on a later attempt gets another try, at once and with any policy.
func TestFixOfARefusedRetryIsTried(t *testing.T) {
	app := with(edited)
	app.SubmissionID = "s-2"
	rec := Decide(app, again(SubmissionFailed), Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	if rec.State != Rerunning || rec.Attempt != 2 {
		t.Fatalf("the fixed spec is never submitted: %s, attempt %d", rec.State, rec.Attempt)
	}
	p := Decide(app, rec, Observation{Driver: absent}, admit, Env{Now: later})
	if len(p.Actions) == 0 || p.Actions[len(p.Actions)-1].Kind != Submit {
		t.Errorf("the fixed spec is not submitted: %+v", p.Actions)
	}
}

// Only a finished application has released anything.
func TestInvalidatedApplicationHasReleasedNothing(t *testing.T) {
	rec := ran(Failed)
	rec.Released = Released{DriverPod: true, Resources: true}
	if got := applySpecChanges(with(edited), rec, Env{Now: later}); got.State != Invalidating || got.Released != (Released{}) {
		t.Errorf("%s has released %+v", got.State, got.Released)
	}
}

// Kubeflow's operator resets its counters only when it leaves INVALIDATING.
func TestTakenOverInvalidationBeginsAnew(t *testing.T) {
	rec := ran(Invalidating)
	rec.SpecHash, rec.Retries.Used = "", map[FailureClass]int32{ApplicationExit: 2}
	got := Decide(testApp(), rec, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later}).Record
	if got.State != Rerunning || got.Executions != 0 || len(got.Retries.Used) != 0 {
		t.Errorf("the new spec pays for the old one: %+v", got)
	}
}

// Airflow takes every state but an absent one and SUBMITTED for a driver that exists: the first thing that is stored is
// that it waits.
func TestNothingIsStoredWithoutAState(t *testing.T) {
	doubt := Settle(Decide(testApp(), Record{}, Observation{Driver: unknownDriver()}, scheduler.Admission{}, Env{Now: later}), nil, Env{Now: later})
	p := Decide(testApp(), Record{}, Observation{Driver: absent}, admit, Env{Now: later})
	trouble := Settle(p, []Result{{Kind: Submit, Class: ClassTransient, Message: "etcd leader changed"}}, Env{Now: later})
	for name, o := range map[string]Outcome{"doubt": doubt, "trouble": trouble} {
		if o.Record.State != Queued || o.Record.Cause.Reason != ReasonNotSubmitted {
			t.Errorf("%s: %q is stored, with %+v", name, o.Record.State, o.Record.Cause)
		}
	}
	if trouble.Err == nil || !doubt.Record.QueuedAt.Equal(time.Time{}) {
		t.Errorf("trouble is repeated (%v), and nothing was asked yet (%s)", trouble.Err, doubt.Record.QueuedAt)
	}
}

// The driver was created, and the spec edited before that was recorded.
func TestAdoptedDriverOfAnEarlierSpecKeepsItsGeneration(t *testing.T) {
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
