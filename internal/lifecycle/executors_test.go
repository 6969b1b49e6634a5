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
	"testing"

	"github.com/google/go-cmp/cmp"
)

type executorMap = map[string]ExecutorState

func TestExecutorsWhileRunning(t *testing.T) {
	cases := map[string]struct {
		reason   string
		recorded executorMap
		observed executorMap
		want     executorMap
	}{
		"First":      {reason: "what is seen is recorded", observed: executorMap{"e-1": ExecutorPending}, want: executorMap{"e-1": ExecutorPending}},
		"Change":     {reason: "what is seen wins over what was", recorded: executorMap{"e-1": ExecutorPending}, observed: executorMap{"e-1": ExecutorRunning}, want: executorMap{"e-1": ExecutorRunning}},
		"Lost":       {reason: "a running executor that is not seen any more is lost, not failed", recorded: executorMap{"e-1": ExecutorRunning, "e-2": ExecutorPending}, want: executorMap{"e-1": ExecutorLost, "e-2": ExecutorLost}},
		"StaysLost":  {reason: "the application's outcome decides later", recorded: executorMap{"e-1": ExecutorLost}, want: executorMap{"e-1": ExecutorLost}},
		"Found":      {reason: "a stale cache may have missed it", recorded: executorMap{"e-1": ExecutorLost}, observed: executorMap{"e-1": ExecutorRunning}, want: executorMap{"e-1": ExecutorRunning}},
		"StaysEnded": {reason: "an end that was seen is kept when the pod is deleted", recorded: executorMap{"e-1": ExecutorSucceeded, "e-2": ExecutorFailed}, want: executorMap{"e-1": ExecutorSucceeded, "e-2": ExecutorFailed}},
		"Mixed":      {reason: "each executor for itself", recorded: executorMap{"e-1": ExecutorRunning, "e-2": ExecutorFailed}, observed: executorMap{"e-3": ExecutorPending}, want: executorMap{"e-1": ExecutorLost, "e-2": ExecutorFailed, "e-3": ExecutorPending}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := Record{State: Running, Generation: 1, Attempt: 1, Submissions: 1, Executions: 1, Executors: tc.recorded}
			p := Decide(Application{Generation: 1}, rec, Observation{Driver: driver(Current, DriverRunning), Executors: tc.observed}, Gate{}, Env{Now: later})
			if diff := cmp.Diff(tc.want, p.Record.Executors); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A driver deletes its executors when it stops: what is left open is told by the application's outcome.
func TestExecutorsConclude(t *testing.T) {
	recorded := executorMap{"e-1": ExecutorLost, "e-2": ExecutorRunning, "e-3": ExecutorFailed, "e-4": ExecutorSucceeded, "e-5": ExecutorPending}
	observed := executorMap{"e-5": ExecutorRunning, "e-6": ExecutorPending}
	cases := map[string]struct {
		reason string
		state  State
		want   executorMap
	}{
		"Success": {reason: "executors of a success completed, unless they were seen to fail", state: Succeeding, want: executorMap{
			"e-1": ExecutorSucceeded, "e-2": ExecutorSucceeded, "e-3": ExecutorFailed, "e-4": ExecutorSucceeded, "e-5": ExecutorSucceeded, "e-6": ExecutorSucceeded,
		}},
		"Failure": {reason: "executors of a failure failed, unless they were seen to complete", state: Failing, want: executorMap{
			"e-1": ExecutorFailed, "e-2": ExecutorFailed, "e-3": ExecutorFailed, "e-4": ExecutorSucceeded, "e-5": ExecutorFailed, "e-6": ExecutorFailed,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := Record{State: tc.state, Generation: 1, Attempt: 1, Submissions: 1, Executions: 1, Executors: recorded}
			p := Decide(Application{Generation: 1}, rec, Observation{Driver: driver(Current, DriverSucceeded), Executors: observed}, Gate{}, Env{Now: later})
			if diff := cmp.Diff(tc.want, p.Record.Executors); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for name, state := range p.Record.Executors {
				if !state.Ended() {
					t.Errorf("executor %s of a finished application is still %s", name, state)
				}
			}
		})
	}
}

func numbered(from, to int, state ExecutorState) executorMap {
	all := executorMap{}
	for i := from; i <= to; i++ {
		all[fmt.Sprintf("pi-exec-%d", i)] = state
	}
	return all
}

func TestExecutorsAreBounded(t *testing.T) {
	rec := Record{State: Running, Generation: 1, Attempt: 1, Submissions: 1, Executions: 1, Executors: numbered(1, 5000, ExecutorSucceeded)}
	running := numbered(3, 12, ExecutorRunning)
	p := Decide(Application{Generation: 1}, rec, Observation{Driver: driver(Current, DriverRunning), Executors: running}, Gate{}, Env{Now: later})
	got := p.Record.Executors
	if len(got) != maxExecutors {
		t.Fatalf("%d executors recorded, want the bound %d", len(got), maxExecutors)
	}
	for name := range running {
		if got[name] != ExecutorRunning {
			t.Errorf("executor %s runs, but is recorded as %q: ended ones must not push it out", name, got[name])
		}
	}
	for i := 5000; i > 5000-(maxExecutors-len(running)); i-- {
		if _, kept := got[fmt.Sprintf("pi-exec-%d", i)]; !kept {
			t.Fatalf("executor %d is among the newest that ended and was dropped: numbers are compared as numbers", i)
		}
	}
	again := Decide(Application{Generation: 1}, p.Record, Observation{Driver: driver(Current, DriverRunning), Executors: running}, Gate{}, Env{Now: later})
	if diff := cmp.Diff(got, again.Record.Executors); diff != "" {
		t.Errorf("the same observation changes the sample (-first +second):\n%s", diff)
	}
}

func TestExecutorsBoundedWithoutNumbers(t *testing.T) {
	observed := executorMap{}
	for i := range 2 * maxExecutors {
		observed[fmt.Sprintf("odd%04d-name", i)] = ExecutorRunning
	}
	first := bounded(observed)
	if len(first) != maxExecutors {
		t.Fatalf("%d executors kept, want %d", len(first), maxExecutors)
	}
	if diff := cmp.Diff(first, bounded(observed)); diff != "" {
		t.Errorf("names without a number make the choice depend on map order (-first +second):\n%s", diff)
	}
}

func TestExecutorsBelowBoundAreAllKept(t *testing.T) {
	all := numbered(1, maxExecutors, ExecutorFailed)
	if diff := cmp.Diff(all, bounded(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
