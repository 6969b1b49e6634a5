// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ExecutorState is the state of one executor pod.
type ExecutorState string

// The states of an executor.
const (
	ExecutorPending   ExecutorState = "Pending"
	ExecutorRunning   ExecutorState = "Running"
	ExecutorSucceeded ExecutorState = "Succeeded"
	ExecutorFailed    ExecutorState = "Failed"
	// ExecutorLost : the executor disappeared while its application was running.
	ExecutorLost ExecutorState = "Lost"
)

// Ended reports whether the executor's state is final.
func (s ExecutorState) Ended() bool { return s == ExecutorSucceeded || s == ExecutorFailed }

func (s ExecutorState) live() bool { return s == ExecutorPending || s == ExecutorRunning }

// ExecutorCounts counts all executors of an attempt. Pending and Running are exact. Succeeded and Failed are exact while all executors fit into the record;
// after that they are lower bounds.
type ExecutorCounts struct {
	Pending, Running, Succeeded, Failed int32
	// Total is the number of executors ever created, the highest number that Spark gave one.
	Total int32
}

// Unknown returns the number of executors that disappeared before their end was observed.
func (c ExecutorCounts) Unknown() int32 {
	return max(0, c.Total-c.Pending-c.Running-c.Succeeded-c.Failed)
}

// executed reports whether any executor has run. The total proves nothing, because Spark replaces executors that get no node.
func (r Record) executed() bool {
	if r.Counts.Running+r.Counts.Succeeded+r.Counts.Failed > 0 {
		return true
	}
	for _, state := range r.Executors {
		if state != ExecutorPending {
			return true
		}
	}
	return false
}

// ExecutorFailure is an executor that failed.
type ExecutorFailure struct {
	Name     string
	ExitCode *int32
	Reason   string
}

const (
	// maxLiveExecutors bounds the recorded live executors. Queues and delivery tools compare their number with the spec, and expect at most this many.
	maxLiveExecutors = 1000
	// maxExecutorBytes bounds the stored names of ended executors, in bytes. The map is atomic, so managedFields does not repeat the names.
	maxExecutorBytes = 4800
	// maxFailures bounds the reported failures.
	maxFailures = 5
)

// withExecutors merges observed executors into the record. A missing executor is Lost until the application's outcome determines its state. After the driver's
// end, executors recorded as pending also count: those of a short job run and are deleted between two status writes.
func withExecutors(r Record, obs Observation) Record {
	before, all := r.Executors, make(map[string]ExecutorState, len(obs.Executors))
	alive, bytes := size(before)
	full := alive >= maxLiveExecutors || bytes > maxExecutorBytes*9/10
	counts := ExecutorCounts{Succeeded: r.Counts.Succeeded, Failed: r.Counts.Failed, Total: r.Counts.Total}
	for _, e := range obs.Executors {
		known, sampled := before[e.Name]
		if e.State == ExecutorLost && known.Ended() {
			e.State = known // it ended before its pod was deleted
		}
		all[e.Name] = e.State
		counts.Total = max(counts.Total, int32(executorNumber(e.Name)))
		fresh := known != e.State && (sampled || !full)
		switch e.State {
		case ExecutorPending:
			counts.Pending++
		case ExecutorRunning:
			counts.Running++
		case ExecutorSucceeded:
			if fresh {
				counts.Succeeded++
			}
		case ExecutorFailed:
			if fresh {
				counts.Failed++
				r.Failures = append(r.Failures, ExecutorFailure{Name: e.Name, ExitCode: e.ExitCode, Reason: e.Reason})
			}
		case ExecutorLost:
		}
	}
	for name, state := range before {
		if _, seen := all[name]; seen || state == ExecutorPending && obs.Driver.live() {
			continue // Spark replaced an executor that got no node; only Total counts it
		}
		if !state.Ended() {
			state = ExecutorLost
		}
		all[name] = state
	}
	counts.Total = max(counts.Total, counts.Pending+counts.Running+counts.Succeeded+counts.Failed)
	if n := len(r.Failures); n > maxFailures {
		r.Failures = r.Failures[n-maxFailures:]
	}
	r.Executors, r.Counts = bounded(all), counts
	return r
}

// concluded gives executors without an observed end the state that the application's outcome implies. A driver that stops deletes its executors, so they have
// not failed.
func concluded(r Record, obs Observation, implied ExecutorState) Record {
	r = withExecutors(r, obs)
	for name, state := range r.Executors {
		if !state.Ended() {
			r.Executors[name] = implied
		}
	}
	c := r.Counts
	r.Executors = bounded(r.Executors)
	c.Pending, c.Running = 0, 0
	if rest := c.Unknown(); implied == ExecutorSucceeded {
		c.Succeeded += rest
	} else {
		c.Failed += rest
	}
	r.Counts = c
	return r
}

// rank orders executors by their importance to users.
func rank(s ExecutorState) int {
	switch s {
	case ExecutorRunning:
		return 0
	case ExecutorPending:
		return 1
	case ExecutorFailed:
		return 2
	case ExecutorLost:
		return 3
	case ExecutorSucceeded:
	}
	return 4
}

// bounded keeps the live executors and as many ended ones as fit: failed ones first, then the newest.
func bounded(all map[string]ExecutorState) map[string]ExecutorState {
	if live, bytes := size(all); live <= maxLiveExecutors && bytes <= maxExecutorBytes {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(all[a]), rank(all[b])), cmp.Compare(executorNumber(b), executorNumber(a)), strings.Compare(a, b))
	})
	kept, places, room := map[string]ExecutorState{}, maxLiveExecutors, maxExecutorBytes
	for _, name := range names {
		if all[name].live() {
			if places--; places < 0 {
				continue
			}
		} else if room -= weight(name); room < 0 {
			break
		}
		kept[name] = all[name]
	}
	return kept
}

// weight returns the maximum size of an executor in the stored object, in bytes.
func weight(name string) int { return len(name) + len(`"":"COMPLETED",`) }

// size returns the number of live executors, and the stored bytes of the ended ones.
func size(all map[string]ExecutorState) (live, bytes int) {
	for name, state := range all {
		if state.live() {
			live++
		} else {
			bytes += weight(name)
		}
	}
	return live, bytes
}

// executorNumber returns the number at the end of an executor pod's name; Spark counts from 1.
func executorNumber(pod string) int {
	n, err := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	if err != nil {
		return 0
	}
	return n
}
