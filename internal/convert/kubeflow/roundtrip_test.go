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

package kubeflow

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// same compares records as meaning: the same instant in another zone, and no executors, nil or empty.
var same = cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)}

// sights are all things that a reconcile can see, with the name of the driver pod that belongs to them.
func sights() []lifecycle.Observation {
	var out []lifecycle.Observation
	drivers := []lifecycle.Driver{{Presence: lifecycle.Absent, Name: "pi-driver"}, {Presence: lifecycle.Unknown, Name: "pi-driver"}}
	for _, o := range []lifecycle.Ownership{lifecycle.Foreign, lifecycle.Former, lifecycle.Current} {
		for _, p := range []lifecycle.DriverPhase{lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverFailed} {
			d := lifecycle.Driver{Presence: lifecycle.Present, Ownership: o, Name: "pi-driver", UID: "u", Phase: p, CreatedAt: now}
			if p == lifecycle.DriverFailed {
				d.Exit = lifecycle.Exit{Code: 137, Reason: "OOMKilled"}
			}
			drivers = append(drivers, d)
		}
	}
	for _, d := range drivers {
		for _, e := range []map[string]lifecycle.ExecutorState{nil, {"e-1": lifecycle.ExecutorRunning}, {"e-1": lifecycle.ExecutorFailed, "e-2": lifecycle.ExecutorPending}} {
			out = append(out, lifecycle.Observation{Driver: d, Executors: e})
		}
	}
	return out
}

var gates = []lifecycle.Gate{
	{Verdict: lifecycle.Admitted, Cause: lifecycle.Cause{Reason: "Admitted", Message: "nothing holds it back"}},
	{Verdict: lifecycle.Waiting, Cause: lifecycle.Cause{Reason: "SchedulerUnknown", Message: "no such scheduler"}},
	{Verdict: lifecycle.Rejected, Cause: lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "spec.driver.memory: no heap size"}},
}

var classes = []lifecycle.Class{
	lifecycle.ClassDone, lifecycle.ClassNameTaken, lifecycle.ClassQuota, lifecycle.ClassTerminating,
	lifecycle.ClassOperatorForbidden, lifecycle.ClassRefused, lifecycle.ClassTransient,
}

// step runs one reconcile over values.
func step(app lifecycle.Application, rec lifecycle.Record, obs lifecycle.Observation, gate lifecycle.Gate, class lifecycle.Class) lifecycle.Outcome {
	if !lifecycle.Gated(app, rec, obs.Driver) {
		gate = lifecycle.Gate{}
	}
	p := lifecycle.Decide(app, rec, obs, gate, lifecycle.Env{Now: now})
	var results []lifecycle.Result
	for _, a := range p.Actions {
		results = append(results, lifecycle.Result{Kind: a.Kind, Class: class, Message: "the API server's words"})
	}
	return lifecycle.Settle(p, results, lifecycle.Env{Now: now})
}

// explore visits every outcome that can be reached from a new application, with the record that it came from.
func explore(visit func(from lifecycle.Record, o lifecycle.Outcome)) {
	seen := map[string]bool{}
	queue := []lifecycle.Record{{}}
	for len(queue) > 0 {
		rec := queue[0]
		queue = queue[1:]
		for _, generation := range []int64{1, 2} {
			for _, suspend := range []bool{false, true} {
				app := lifecycle.Application{Generation: generation, Suspend: suspend, SparkAppID: "spark-1"}
				for _, obs := range sights() {
					for _, gate := range gates {
						for _, class := range classes {
							o := step(app, rec, obs, gate, class)
							key := fmt.Sprintf("%+v", o.Record)
							if seen[key] {
								continue
							}
							seen[key] = true
							visit(rec, o)
							queue = append(queue, o.Record)
						}
						if !lifecycle.Gated(app, rec, obs.Driver) {
							break // neither gate nor answer play a part
						}
					}
				}
			}
		}
	}
}

// producedRecords are all records that the lifecycle can produce in the small world.
func producedRecords() []lifecycle.Record {
	var all []lifecycle.Record
	explore(func(_ lifecycle.Record, o lifecycle.Outcome) { all = append(all, o.Record) })
	return all
}

// What is written is what is read: otherwise the next reconcile decides on something that never was.
func TestRecordRoundTrip(t *testing.T) {
	states := map[lifecycle.State]int{}
	explore(func(from lifecycle.Record, o lifecycle.Outcome) {
		states[o.Record.State]++
		before := stored(t, Project(&v1beta2.SparkApplicationStatus{}, settled(from), now))
		for name, old := range map[string]v1beta2.SparkApplicationStatus{"over nothing": {}, "over the status before": before} {
			status := stored(t, Project(&old, o, now))
			if diff := cmp.Diff(o.Record, RecordOf(&status), same); diff != "" {
				t.Fatalf("%s -> %s, %s: written (-) and read (+) differ:\n%s", from.State, o.Record.State, name, diff)
			}
		}
	})
	for _, s := range lifecycle.States() {
		if states[s] == 0 {
			t.Errorf("the exploration never reached %q", s)
		}
	}
	t.Logf("records by state: %v", states)
}

// Every state for itself, with all that it can carry.
func TestRecordRoundTripByState(t *testing.T) {
	executors := map[string]lifecycle.ExecutorState{
		"e-1": lifecycle.ExecutorPending, "e-2": lifecycle.ExecutorRunning, "e-3": lifecycle.ExecutorSucceeded, "e-4": lifecycle.ExecutorFailed, "e-5": lifecycle.ExecutorLost,
	}
	failed := lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "driver container failed with ExitCode: 1, Reason: Error, Message: failed to submit spark application: x"}
	ran := lifecycle.Record{Generation: 7, Attempt: 1, Submissions: 1, Executions: 1, SubmittedAt: now, SparkAppID: "spark-1", DriverName: "pi-driver", Executors: executors}
	cases := map[lifecycle.State]func(*lifecycle.Record){
		lifecycle.New: func(r *lifecycle.Record) { *r = lifecycle.Record{Generation: 7, Attempt: 1, DriverName: "pi-driver"} },
		lifecycle.Queued: func(r *lifecycle.Record) {
			*r = lifecycle.Record{State: lifecycle.Queued, Generation: 7, Attempt: 1, DriverName: "pi-driver", Cause: lifecycle.Cause{Reason: "QuotaExceeded", Message: "waiting: for Godot"}}
		},
		lifecycle.Submitted:  func(*lifecycle.Record) {},
		lifecycle.Running:    func(*lifecycle.Record) {},
		lifecycle.Succeeding: func(r *lifecycle.Record) { r.TerminatedAt = now },
		lifecycle.Succeeded:  func(r *lifecycle.Record) { r.TerminatedAt = now },
		lifecycle.Failing:    func(r *lifecycle.Record) { r.TerminatedAt, r.Cause = now, failed },
		lifecycle.Failed:     func(r *lifecycle.Record) { r.TerminatedAt, r.Cause = now, failed },
		lifecycle.SubmissionFailed: func(r *lifecycle.Record) {
			*r = lifecycle.Record{Generation: 7, Attempt: 1, Submissions: 1, SubmittedAt: now, TerminatedAt: now, DriverName: "pi-driver", Cause: lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: "no"}}
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
			status := stored(t, Project(&v1beta2.SparkApplicationStatus{}, settled(r), now))
			if diff := cmp.Diff(r, RecordOf(&status), same); diff != "" {
				t.Errorf("written (-) and read (+) differ:\n%s", diff)
			}
		})
	}
}
