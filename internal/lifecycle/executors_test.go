// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

type executorMap = map[string]ExecutorState

// pods returns executors as they are observed.
func executorPods(all executorMap) []Executor {
	var out []Executor
	for name, state := range all {
		e := Executor{Name: name, State: state}
		if state == ExecutorFailed {
			e.ExitCode, e.Reason = new(int32), "Error"
			*e.ExitCode = 1
		}
		out = append(out, e)
	}
	return out
}

func observed(rec Record, d Driver, executors ...Executor) Record {
	return Decide(testApp(), rec, Observation{Driver: d, Executors: executors}, scheduler.Admission{}, Env{Now: later}).Record
}

func TestExecutorsWhileRunning(t *testing.T) {
	cases := map[string]struct {
		reason   string
		recorded executorMap
		observed executorMap
		want     executorMap
	}{
		"First":       {reason: "what is seen is recorded", observed: executorMap{"e-1": ExecutorPending}, want: executorMap{"e-1": ExecutorPending}},
		"Change":      {reason: "what is seen wins over what was", recorded: executorMap{"e-1": ExecutorPending}, observed: executorMap{"e-1": ExecutorRunning}, want: executorMap{"e-1": ExecutorRunning}},
		"Lost":        {reason: "a running executor that is not seen any more is lost, not failed", recorded: executorMap{"e-1": ExecutorRunning}, want: executorMap{"e-1": ExecutorLost}},
		"NeverRan":    {reason: "Spark replaces an executor that gets no node: it is no loss", recorded: executorMap{"e-1": ExecutorPending}, want: executorMap{}},
		"StaysLost":   {reason: "the application's outcome decides later", recorded: executorMap{"e-1": ExecutorLost}, want: executorMap{"e-1": ExecutorLost}},
		"Found":       {reason: "a stale cache may have missed it", recorded: executorMap{"e-1": ExecutorLost}, observed: executorMap{"e-1": ExecutorRunning}, want: executorMap{"e-1": ExecutorRunning}},
		"StaysEnded":  {reason: "an end that was seen is kept when the pod is deleted", recorded: executorMap{"e-1": ExecutorSucceeded, "e-2": ExecutorFailed}, want: executorMap{"e-1": ExecutorSucceeded, "e-2": ExecutorFailed}},
		"ClearedAway": {reason: "an end that was seen is kept when the pod is being deleted", recorded: executorMap{"e-1": ExecutorFailed, "e-2": ExecutorRunning}, observed: executorMap{"e-1": ExecutorLost, "e-2": ExecutorLost}, want: executorMap{"e-1": ExecutorFailed, "e-2": ExecutorLost}},
		"Mixed":       {reason: "each executor for itself", recorded: executorMap{"e-1": ExecutorRunning, "e-2": ExecutorFailed}, observed: executorMap{"e-3": ExecutorPending}, want: executorMap{"e-1": ExecutorLost, "e-2": ExecutorFailed, "e-3": ExecutorPending}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := ran(Running)
			rec.Executors = tc.recorded
			got := observed(rec, driver(Current, DriverRunning), executorPods(tc.observed)...).Executors
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The one executor of a short job was recorded while it was pending; that it ran was not worth a write before it was deleted.
func TestExecutorOfAShortJobIsKept(t *testing.T) {
	rec := ran(Running)
	rec.Executors, rec.Counts = executorMap{"e-1": ExecutorPending}, ExecutorCounts{Pending: 1, Total: 1}
	rec = observed(rec, driver(Current, DriverSucceeded))
	for range 3 {
		rec = observed(rec, driver(Current, DriverSucceeded))
	}
	if rec.State != Succeeded {
		t.Fatalf("the application is %s", rec.State)
	}
	if diff := cmp.Diff(executorMap{"e-1": ExecutorSucceeded}, rec.Executors); diff != "" {
		t.Errorf("executors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ExecutorCounts{Succeeded: 1, Total: 1}, rec.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A driver deletes its executors when it stops: what is left open is told by the application's outcome.
func TestExecutorsConclude(t *testing.T) {
	recorded := executorMap{"e-1": ExecutorLost, "e-2": ExecutorRunning, "e-3": ExecutorFailed, "e-4": ExecutorSucceeded, "e-5": ExecutorPending}
	seen := executorMap{"e-5": ExecutorRunning, "e-6": ExecutorPending}
	cases := map[string]struct {
		reason string
		state  State
		driver Driver
		want   executorMap
		counts ExecutorCounts
	}{
		"Success": {reason: "executors of a success completed, unless they were seen to fail", state: Succeeding, driver: driver(Current, DriverSucceeded), want: executorMap{
			"e-1": ExecutorSucceeded, "e-2": ExecutorSucceeded, "e-3": ExecutorFailed, "e-4": ExecutorSucceeded, "e-5": ExecutorSucceeded, "e-6": ExecutorSucceeded,
		}, counts: ExecutorCounts{Succeeded: 5, Failed: 1, Total: 6}},
		"Failure": {reason: "executors of a failure failed, unless they were seen to complete", state: Failing, driver: failedDriver(1), want: executorMap{
			"e-1": ExecutorFailed, "e-2": ExecutorFailed, "e-3": ExecutorFailed, "e-4": ExecutorSucceeded, "e-5": ExecutorFailed, "e-6": ExecutorFailed,
		}, counts: ExecutorCounts{Succeeded: 1, Failed: 5, Total: 6}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := ran(tc.state)
			rec.Executors, rec.Counts = recorded, ExecutorCounts{Running: 1, Pending: 1, Succeeded: 1, Failed: 1, Total: 5}
			got := observed(rec, tc.driver, executorPods(seen)...)
			if diff := cmp.Diff(tc.want, got.Executors); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.counts, got.Counts); diff != "" {
				t.Errorf("%s: counts (-want +got):\n%s", tc.reason, diff)
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
	rec := ran(Running)
	rec.Executors = numbered(1, 5000, ExecutorSucceeded)
	running := numbered(3, 12, ExecutorRunning)
	first := observed(rec, driver(Current, DriverRunning), executorPods(running)...)
	got := first.Executors
	if _, bytes := size(got); bytes > maxExecutorBytes || bytes < maxExecutorBytes*9/10 {
		t.Fatalf("%d bytes of ended executors recorded, want nearly the bound %d", bytes, maxExecutorBytes)
	}
	for name := range running {
		if got[name] != ExecutorRunning {
			t.Errorf("executor %s runs, but is recorded as %q: ended ones must not push it out", name, got[name])
		}
	}
	for i := 5000; i > 5000-(len(got)-len(running)); i-- {
		if _, kept := got[fmt.Sprintf("pi-exec-%d", i)]; !kept {
			t.Fatalf("executor %d is among the newest that ended and was dropped: numbers are compared as numbers", i)
		}
	}
	again := observed(first, driver(Current, DriverRunning), executorPods(running)...)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same observation changes the record (-first +second):\n%s", diff)
	}
}

func TestExecutorsBoundedWithoutNumbers(t *testing.T) {
	all := executorMap{}
	for i := range 1000 {
		all[fmt.Sprintf("odd%04d-name", i)] = ExecutorFailed
	}
	first := bounded(all)
	if _, bytes := size(first); bytes > maxExecutorBytes {
		t.Fatalf("%d bytes kept, want at most %d", bytes, maxExecutorBytes)
	}
	if diff := cmp.Diff(first, bounded(all)); diff != "" {
		t.Errorf("names without a number make the choice depend on map order (-first +second):\n%s", diff)
	}
}

// Kueue admits the pods of an application permanently, and Argo CD calls it healthy, when as many executors are
// RUNNING by name as the spec asks for. Their operator tells of a thousand.
func TestEveryLiveExecutorIsTold(t *testing.T) {
	running, pending, gone := numbered(1, 900, ExecutorRunning), numbered(901, 1000, ExecutorPending), numbered(1001, 2000, ExecutorFailed)
	beyond := numbered(1, maxLiveExecutors+100, ExecutorPending)
	for name := range numbered(1, 300, ExecutorPending) {
		beyond[name] = ExecutorRunning
	}
	cases := map[string]struct {
		reason           string
		all              []executorMap
		running, pending int
		ended            bool
	}{
		"Alone":   {reason: "no bound is reached", all: []executorMap{running, pending}, running: 900, pending: 100},
		"Crowded": {reason: "those that ended have a room of their own", all: []executorMap{running, pending, gone}, running: 900, pending: 100, ended: true},
		"Beyond":  {reason: "those that run come first, however old they are", all: []executorMap{beyond}, running: 300, pending: maxLiveExecutors - 300},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := executorMap{}
			for _, part := range tc.all {
				maps.Copy(seen, part)
			}
			first := observed(ran(Running), driver(Current, DriverRunning), executorPods(seen)...)
			is := map[ExecutorState]int{}
			for _, state := range first.Executors {
				is[state]++
			}
			if is[ExecutorRunning] != tc.running || is[ExecutorPending] != tc.pending || (is[ExecutorFailed] > 0) != tc.ended {
				t.Errorf("%s: told are %v, want %d running and %d pending", tc.reason, is, tc.running, tc.pending)
			}
			again := observed(first, driver(Current, DriverRunning), executorPods(seen)...)
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("the same observation changes the record (-first +second):\n%s", diff)
			}
			first.State = Succeeding
			first.Attempts[0].EndedAt = later
			over := observed(first, driver(Current, DriverSucceeded), executorPods(seen)...)
			if live, bytes := size(over.Executors); live > 0 || bytes > maxExecutorBytes || bytes < maxExecutorBytes*9/10 {
				t.Errorf("after the end %d live ones and %d bytes of others are kept, want nearly %d", live, bytes, maxExecutorBytes)
			}
			if c := over.Counts; int(c.Total) != len(seen) || c.Unknown() != 0 {
				t.Errorf("after the end %+v are counted of %d", c, len(seen))
			}
		})
	}
}

func TestExecutorsBelowBoundAreAllKept(t *testing.T) {
	all := numbered(1, 80, ExecutorFailed)
	if diff := cmp.Diff(all, bounded(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// churn is a set of executors: each step some appear, start, end and disappear, as Spark numbers them.
type churn struct {
	next  int
	alive []Executor
	// ended and failed are the truth.
	ended, failed int32
	seed          uint32
}

func (c *churn) random(n int) int {
	c.seed = c.seed*1664525 + 1013904223
	return int(c.seed>>8) % n
}

func (c *churn) step() {
	var alive []Executor
	for _, e := range c.alive {
		switch dice := c.random(10); {
		case e.State.Ended():
			continue // Spark deletes its pod
		case e.State == ExecutorPending && dice < 5:
			e.State = ExecutorRunning
		case e.State == ExecutorRunning && dice == 0:
			e.State, e.ExitCode = ExecutorFailed, new(int32)
			c.failed++
			c.ended++
		case e.State == ExecutorRunning && dice == 1:
			e.State = ExecutorSucceeded
			c.ended++
		}
		alive = append(alive, e)
	}
	for range c.random(60) {
		if len(alive) < 300 {
			c.next++
			alive = append(alive, Executor{Name: fmt.Sprintf("pi-0123456789abcdef-exec-%d", c.next), State: ExecutorPending})
		}
	}
	c.alive = alive
}

// over is how many of those that are seen have ended.
func (c *churn) over() int {
	n := 0
	for _, e := range c.alive {
		if e.State.Ended() {
			n++
		}
	}
	return n
}

// Thousands of executors come and go, hundreds at a time: what runs and what there ever was is counted exactly, what has
// ended never too high and never lower than before, the failures are the last ones, and the sample stays small.
func TestCountsUnderChurn(t *testing.T) {
	cluster, rec := churn{seed: 1}, ran(Running)
	for i := range 300 {
		cluster.step()
		before := rec.Counts
		rec = observed(rec, driver(Current, DriverRunning), cluster.alive...)
		var pending, running int32
		for _, e := range cluster.alive {
			switch e.State {
			case ExecutorPending:
				pending++
			case ExecutorRunning:
				running++
			case ExecutorSucceeded, ExecutorFailed, ExecutorLost:
			}
		}
		c := rec.Counts
		if c.Pending != pending || c.Running != running || int(c.Total) != cluster.next {
			t.Fatalf("step %d: %+v, and there are %d pending, %d running, %d in all", i, c, pending, running, cluster.next)
		}
		if c.Failed > cluster.failed || c.Succeeded+c.Failed > cluster.ended || c.Failed < before.Failed || c.Succeeded < before.Succeeded {
			t.Fatalf("step %d: %+v, and %d have ended, %d of them failed; before it was %+v", i, c, cluster.ended, cluster.failed, before)
		}
		live, bytes := size(rec.Executors)
		if live != len(cluster.alive)-cluster.over() || bytes > maxExecutorBytes || len(rec.Failures) > maxFailures {
			t.Fatalf("step %d: %d live ones, %d bytes of others and %d failures are kept", i, live, bytes, len(rec.Failures))
		}
		if still := observed(rec, driver(Current, DriverRunning), cluster.alive...); !cmp.Equal(still, rec) {
			t.Fatalf("step %d: the same executors change the record: %s", i, cmp.Diff(rec, still))
		}
	}
	if cluster.next < 1000 {
		t.Errorf("only %d executors came and went", cluster.next)
	}
	rec.State = Succeeding
	rec.Attempts[0].EndedAt = later
	if c := observed(rec, driver(Current, DriverSucceeded)).Counts; c.Pending+c.Running != 0 || c.Unknown() != 0 || int(c.Total) != cluster.next {
		t.Errorf("after the end: %+v of %d", c, cluster.next)
	}
}

// What is counted once is not counted again, and what may have been counted before is not.
func TestEndedExecutorsAreCounted(t *testing.T) {
	code := int32(3)
	failed := Executor{Name: "pi-exec-1", State: ExecutorFailed, ExitCode: &code, Reason: "Error"}
	full := numbered(1001, 1000+maxLiveExecutors, ExecutorRunning)
	cases := map[string]struct {
		reason   string
		recorded executorMap
		observed []Executor
		counts   ExecutorCounts
		failures []ExecutorFailure
	}{
		"Succeeded": {reason: "it was not seen before", observed: []Executor{{Name: "pi-exec-1", State: ExecutorSucceeded}}, counts: ExecutorCounts{Succeeded: 1, Total: 1}},
		"Failed":    {reason: "it was not seen before", observed: []Executor{failed}, counts: ExecutorCounts{Failed: 1, Total: 1}, failures: []ExecutorFailure{{Name: "pi-exec-1", ExitCode: &code, Reason: "Error"}}},
		"Known":     {reason: "it is recorded", recorded: executorMap{"pi-exec-1": ExecutorFailed}, observed: []Executor{failed}, counts: ExecutorCounts{Total: 1}},
		"Sampled":   {reason: "its end is new, however many there are", recorded: including(full, "pi-exec-1", ExecutorRunning), observed: append(executorPods(full), failed), counts: ExecutorCounts{Running: maxLiveExecutors, Failed: 1, Total: 1000 + maxLiveExecutors}, failures: []ExecutorFailure{{Name: "pi-exec-1", ExitCode: &code, Reason: "Error"}}},
		"NoRoom":    {reason: "it may have been counted before it was left out", recorded: full, observed: append(executorPods(full), failed), counts: ExecutorCounts{Running: maxLiveExecutors, Total: 1000 + maxLiveExecutors}},
		"Unnumbered": {
			reason: "of names without a number there are as many as are seen", counts: ExecutorCounts{Pending: 1, Running: 2, Succeeded: 1, Failed: 1, Total: 5},
			observed: []Executor{{Name: "a", State: ExecutorPending}, {Name: "b", State: ExecutorRunning}, {Name: "c", State: ExecutorRunning}, {Name: "d", State: ExecutorSucceeded}, {Name: "e", State: ExecutorFailed}},
			failures: []ExecutorFailure{{Name: "e"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := ran(Running)
			rec.Executors = tc.recorded
			got := withExecutors(rec, Observation{Driver: driver(Current, DriverRunning), Executors: tc.observed})
			if diff := cmp.Diff(tc.counts, got.Counts); diff != "" {
				t.Errorf("%s: counts (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.failures, got.Failures); diff != "" {
				t.Errorf("%s: failures (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func including(all executorMap, name string, state ExecutorState) executorMap {
	all = maps.Clone(all)
	all[name] = state
	return all
}

// As many ended executors are kept as there is room for.
func TestRoomOfEndedExecutorsIsUsed(t *testing.T) {
	all := executorMap{}
	for i := range 201 {
		all[fmt.Sprintf("ex-%06d", i)] = ExecutorSucceeded
	}
	if want := maxExecutorBytes / weight("ex-000000"); len(bounded(all)) != want || want*weight("ex-000000") != maxExecutorBytes {
		t.Errorf("%d are kept, want %d", len(bounded(all)), want)
	}
}

// Spark replaces an executor that gets no node: that there was one proves nothing.
func TestExecuted(t *testing.T) {
	for name, tc := range map[string]struct {
		rec  Record
		want bool
	}{
		"none":      {Record{}, false},
		"pending":   {Record{Counts: ExecutorCounts{Pending: 1, Total: 9}, Executors: executorMap{"e-9": ExecutorPending}}, false},
		"running":   {Record{Counts: ExecutorCounts{Running: 1}}, true},
		"succeeded": {Record{Counts: ExecutorCounts{Succeeded: 1}}, true},
		"failed":    {Record{Counts: ExecutorCounts{Failed: 1}}, true},
		"lost":      {Record{Executors: executorMap{"e-1": ExecutorLost}}, true},
	} {
		if got := tc.rec.executed(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Hundreds of lost executors do not push those that run out of the sample.
func TestLostExecutorsDoNotDisplaceRunningOnes(t *testing.T) {
	running := numbered(1, 10, ExecutorRunning)
	rec := ran(Running)
	rec.Executors = numbered(11, 400, ExecutorRunning)
	got := observed(rec, driver(Current, DriverRunning), executorPods(running)...).Executors
	for name := range running {
		if got[name] != ExecutorRunning {
			t.Fatalf("executor %s runs, but the status does not show it: of %d recorded executors all are lost ones", name, len(got))
		}
	}
}
