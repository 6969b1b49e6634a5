// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// same compares records as meaning: the same instant in another zone, and no executors, nil or empty.
var same = cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)}

// observations are all things that a reconcile can see, with the name of the driver pod that belongs to them.
func observations() []lifecycle.Observation {
	var out []lifecycle.Observation
	drivers := []lifecycle.Driver{
		{Presence: lifecycle.Absent, Name: "pi-driver"}, {Presence: lifecycle.Unknown, Name: "pi-driver"},
		{Presence: lifecycle.Present, Ownership: lifecycle.NotOwned, Name: "pi-driver", UID: "x", Phase: lifecycle.DriverRunning},
	}
	for _, o := range []lifecycle.Ownership{lifecycle.Previous, lifecycle.Current} {
		for _, p := range []lifecycle.DriverPhase{lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverFailed} {
			d := lifecycle.Driver{Presence: lifecycle.Present, Ownership: o, Name: "pi-driver", UID: "u", SubmissionID: "s-1", Phase: p, CreatedAt: now}
			if o == lifecycle.Previous {
				d.SubmissionID = "s-0"
			}
			if p != lifecycle.DriverPending {
				d.StartedAt = now.Add(-time.Minute)
			}
			if p == lifecycle.DriverFailed {
				d.Exit, d.LogTail = lifecycle.Exit{Code: 137, Reason: "OOMKilled"}, "last words\n"
			}
			drivers = append(drivers, d)
		}
	}
	for _, d := range drivers {
		for _, e := range [][]lifecycle.Executor{
			nil, {{Name: "e-1", State: lifecycle.ExecutorFailed, ExitCode: new(int32(137)), Reason: "OOMKilled"}, {Name: "e-2", State: lifecycle.ExecutorRunning}},
		} {
			out = append(out, lifecycle.Observation{Driver: d, Executors: e})
		}
	}
	return out
}

var gates = []scheduler.Admission{
	{Verdict: scheduler.Admit, Reason: "Admitted", Message: "nothing holds it back"},
	{Verdict: scheduler.Wait, Reason: "SchedulerUnknown", Message: "no such scheduler"},
	{Verdict: scheduler.Reject, Reason: lifecycle.ReasonInvalidSpec, Message: "spec.driver.memory: no heap size"},
}

var classes = []lifecycle.Class{
	lifecycle.ClassDone, lifecycle.ClassNameTaken, lifecycle.ClassQuota, lifecycle.ClassTerminating,
	lifecycle.ClassOperatorForbidden, lifecycle.ClassPolicy, lifecycle.ClassRefused, lifecycle.ClassTransient,
}

// wishes are what users want: two specs, suspended or not, with and without a retry that waits for nothing.
func desiredSpecs() []lifecycle.Application {
	var all []lifecycle.Application
	for generation, hash := range []string{"a", "b"} {
		for _, suspend := range []bool{false, true} {
			for _, restart := range []lifecycle.Restart{
				{Type: lifecycle.Never}, {Type: lifecycle.OnFailure, Failures: lifecycle.RetryPolicy{Retries: 1}, Submissions: lifecycle.RetryPolicy{Retries: 1}}, {Type: lifecycle.Always},
			} {
				all = append(all, lifecycle.Application{
					Generation: int64(generation + 1), SpecHash: hash, Suspend: suspend, SparkAppID: "spark-1", SubmissionID: "s-1", DriverName: "pi-driver",
					RaisesMemory: true, Policies: lifecycle.Policies{Restart: restart, Retention: lifecycle.Retention{OnFailure: lifecycle.TTLs{DriverPod: new(time.Duration(0)), Resources: new(time.Duration(0))}}},
				})
			}
		}
	}
	return all
}

// step runs one reconcile over values: whatever the cluster shows and the API server answers.
func step(random *rand.Rand, app lifecycle.Application, rec lifecycle.Record) lifecycle.Outcome {
	env, obs, gate := lifecycle.Env{Now: now}, pick(random, observations()), pick(random, gates)
	if !lifecycle.NeedsAdmission(app, rec, obs.Driver, env) {
		gate = scheduler.Admission{}
	}
	p := lifecycle.Decide(app, rec, obs, gate, env)
	var results []lifecycle.Result
	for _, a := range p.Actions {
		class := lifecycle.ClassDone
		if random.IntN(3) == 0 {
			class = pick(random, classes)
		}
		results = append(results, lifecycle.Result{Kind: a.Kind, Class: class, Message: "the API server's words"})
	}
	return lifecycle.Settle(p, results, env)
}

func pick[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

// transition is an outcome and the record that it came from.
type transition struct {
	from lifecycle.Record
	to   lifecycle.Outcome
}

// explored are outcomes of random lifecycles, each different record once.
var explored = sync.OnceValue(func() []transition {
	const lifecycles, length = 200, 60
	var all []transition
	seen := map[string]bool{}
	random := rand.New(rand.NewPCG(2026, 11))
	for range lifecycles {
		rec, app := lifecycle.Record{}, pick(random, desiredSpecs())
		for range length {
			if random.IntN(8) == 0 {
				app = pick(random, desiredSpecs()) // the user edits the spec
			}
			o := step(random, app, rec)
			key, err := json.Marshal(o.Record)
			if err != nil {
				panic(err)
			}
			if !seen[string(key)] {
				seen[string(key)] = true
				all = append(all, transition{from: rec, to: o})
			}
			rec = o.Record
		}
	}
	return all
})

// producedRecords are records that the lifecycle produces.
func producedRecords() []lifecycle.Record {
	var all []lifecycle.Record
	for _, x := range explored() {
		all = append(all, x.to.Record)
	}
	return all
}

// What is written is what is read: otherwise the next reconcile decides on something that never was.
func TestRecordRoundTrip(t *testing.T) {
	states := map[lifecycle.State]int{}
	for _, x := range explored() {
		o := x.to
		states[o.Record.State]++
		before := reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, settled(x.from), now))
		for name, old := range map[string]v1beta2.SparkApplicationStatus{"over nothing": {}, "over the status before": before} {
			status := reread(t, ToStatus(&old, o, now))
			if diff := cmp.Diff(readable(o.Record), FromStatus(&status), same); diff != "" {
				t.Fatalf("%s -> %s, %s: written (-) and read (+) differ:\n%s", x.from.State, o.Record.State, name, diff)
			}
		}
	}
	for _, s := range lifecycle.States() {
		if (states[s] == 0) != (s == lifecycle.New) { // which tools would take for a driver: it is never stored
			t.Errorf("the exploration reached %q %d times", s, states[s])
		}
	}
	t.Logf("%d records by state: %v", len(explored()), states)
}

// readable is the part of a record that a status holds: the mark of the next attempt is computed again.
func readable(r lifecycle.Record) lifecycle.Record {
	r.Attempt = max(1, r.Attempt)
	if r.State.Starting() {
		r.SubmissionID = ""
	}
	return r
}

// Every state for itself, with all that it can carry.
func TestRecordRoundTripByState(t *testing.T) {
	executors := map[string]lifecycle.ExecutorState{
		"e-1": lifecycle.ExecutorPending, "e-2": lifecycle.ExecutorRunning, "e-3": lifecycle.ExecutorSucceeded, "e-4": lifecycle.ExecutorFailed, "e-5": lifecycle.ExecutorLost,
	}
	failed := lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "driver container failed with ExitCode: 1, Reason: Error, Message: failed to submit spark application: x"}
	ran := lifecycle.Record{
		Generation: 7, SpecHash: "a", Attempt: 2, Submissions: 3, Executions: 2, QueuedAt: now, SubmittedAt: now,
		Scheduling: lifecycle.Scheduling{
			Choice:  scheduler.Choice{Scheduler: "volcano", Source: "Namespace", Queue: "a", Group: "PodGroup g", Parameters: `{"a":1}`},
			Warning: "it is tight", AdmittedAt: now, HeldAttempt: 2, HeldBy: "volcano",
		},
		Rerun:      lifecycle.Rerun{At: now, Ignored: "tomorrow"},
		Placement:  lifecycle.Placement{Rest: "b", Made: "c", Outdated: true, Problem: "d"},
		Missing:    lifecycle.Missing{Since: now, AskedAt: now, Refusal: "no"},
		SparkAppID: "spark-1", SubmissionID: "s-2", DriverName: "pi-driver", Executors: executors,
		Counts:   lifecycle.ExecutorCounts{Pending: 1, Running: 1, Succeeded: 3, Failed: 1, Total: 8},
		Failures: []lifecycle.ExecutorFailure{{Name: "e-4", ExitCode: new(int32(137)), Reason: "OOMKilled"}},
		Retries: lifecycle.Retries{MemoryRaises: 2, Used: map[lifecycle.FailureClass]int32{
			lifecycle.Infrastructure: 1, lifecycle.Submission: 2, lifecycle.OutOfMemory: 3, lifecycle.ApplicationExit: 4,
		}},
		Attempts: []lifecycle.Attempt{
			{Number: 1, SubmissionID: "s-1", StartedAt: now, EndedAt: now.Add(time.Minute), ExitCode: new(int32(1)), Class: lifecycle.ApplicationExit, Cause: failed, LogTail: "last\nwords", Withdrawn: true},
			{Number: 2, SubmissionID: "s-2", StartedAt: now},
		},
	}
	next := func(s lifecycle.State) func(*lifecycle.Record) {
		return func(r *lifecycle.Record) {
			*r = lifecycle.Record{
				State: s, Generation: 7, SpecHash: "a", Attempt: 3, Submissions: 3, Executions: 2, SubmittedAt: now, DriverName: "pi-driver",
				Retries: r.Retries, Attempts: r.Attempts, Cause: lifecycle.Cause{Reason: lifecycle.ReasonPreviousDriver, Message: "waiting: for Godot"},
			}
		}
	}
	cases := map[lifecycle.State]func(*lifecycle.Record){
		lifecycle.New: func(r *lifecycle.Record) { *r = lifecycle.Record{Generation: 7, Attempt: 1, DriverName: "pi-driver"} },
		lifecycle.Queued: func(r *lifecycle.Record) {
			*r = lifecycle.Record{State: lifecycle.Queued, Generation: 7, Attempt: 1, QueuedAt: now, DriverName: "pi-driver", Cause: lifecycle.Cause{Reason: "QuotaExceeded", Message: "waiting: for Godot"}}
		},
		lifecycle.Submitted:  func(*lifecycle.Record) {},
		lifecycle.Running:    func(*lifecycle.Record) {},
		lifecycle.Succeeding: func(r *lifecycle.Record) { r.TerminatedAt = now },
		lifecycle.Succeeded: func(r *lifecycle.Record) {
			r.TerminatedAt, r.Released = now, lifecycle.Released{DriverPod: true, Resources: true}
		},
		lifecycle.Failing: func(r *lifecycle.Record) { r.TerminatedAt, r.Cause = now, failed },
		lifecycle.Failed: func(r *lifecycle.Record) {
			r.TerminatedAt, r.Cause, r.Released = now, failed, lifecycle.Released{Resources: true}
		},
		lifecycle.SubmissionFailed: func(r *lifecycle.Record) {
			*r = lifecycle.Record{Generation: 7, Attempt: 1, Submissions: 1, SubmittedAt: now, TerminatedAt: now, DriverName: "pi-driver", Cause: lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: "no"}}
		},
		lifecycle.Rerunning: next(lifecycle.Rerunning),
		lifecycle.Resuming:  next(lifecycle.Resuming),
		lifecycle.Invalidating: func(r *lifecycle.Record) {
			r.TerminatedAt, r.Cause = now, lifecycle.Cause{Reason: lifecycle.ReasonSpecChanged, Message: "the spec has changed"}
		},
		lifecycle.Suspending: func(r *lifecycle.Record) {
			r.Cause = lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "the driver is stopped"}
		},
		lifecycle.Suspended: func(r *lifecycle.Record) {
			r.TerminatedAt, r.Cause = now, lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "spec.suspend is true"}
		},
	}
	for _, state := range lifecycle.States() {
		t.Run(string(state), func(t *testing.T) {
			set, ok := cases[state]
			if !ok {
				t.Fatalf("no case for %q", state)
			}
			r := ran
			set(&r)
			r.State = state
			status := reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, settled(r), now))
			if diff := cmp.Diff(readable(r), FromStatus(&status), same); diff != "" {
				t.Errorf("written (-) and read (+) differ:\n%s", diff)
			}
		})
	}
}
