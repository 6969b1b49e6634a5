// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"maps"
	"slices"
	"strconv"
	"time"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// toStatus returns the status for an outcome. It adds the new states to the history, and details as in the other family.
func (k SparkApplications) toStatus(o *v1.SparkApplication, out lifecycle.Outcome, now time.Time) v1.SparkApplicationStatus {
	s := *o.Status.DeepCopy()
	before := details(&o.Status)
	after := kubeflow.ToStatus(&before, out, now)
	s.Conditions, s.ObservedGeneration = after.Conditions, after.ObservedGeneration
	after.Conditions, after.ObservedGeneration = nil, 0
	s.Details = &after
	h := history{status: &s, now: now, keep: k.KeepHistory}
	for _, step := range stepsTo(o, out) {
		h.add(step)
	}
	return s
}

// details returns the details in a status.
func details(s *v1.SparkApplicationStatus) v1.Details {
	var d v1.Details
	if s.Details != nil {
		d = *s.Details.DeepCopy()
	}
	d.Conditions, d.ObservedGeneration = s.Conditions, s.ObservedGeneration
	return d
}

// mostKept bounds the states of earlier attempts in a history. A state may contain a pod's whole status, and the API server refuses objects above 1.5 MB. If
// it refused the status, the application could not run again.
const mostKept = 500

// Bounds of the capacity states of one run in a history. They may change every minute for years, so only the first and the last ones are kept. lastCapacities
// exceeds the number that one step adds.
const (
	firstCapacities = 10
	lastCapacities  = 40
)

// history adds states to a status.
type history struct {
	status *v1.SparkApplicationStatus
	now    time.Time
	keep   bool
}

func (h history) add(s step) {
	state := v1.ApplicationState{
		CurrentStateSummary: s.state, Message: s.message, LastTransitionTime: instant(h.now),
		LastObservedDriverStatus: s.driver, SuspendReason: s.suspended,
	}
	status := h.status
	forgetCapacities(status.StateTransitionHistory)
	last, key := lastOf(status.StateTransitionHistory)
	if last == nil {
		key = -1
	}
	if status.CurrentAttemptSummary == nil {
		status.CurrentAttemptSummary = &v1.AttemptSummary{AttemptInfo: &v1.AttemptInfo{}}
	}
	if s.begins != nil {
		status.PreviousAttemptSummary = &v1.AttemptSummary{AttemptInfo: status.CurrentAttemptSummary.AttemptInfo}
		status.CurrentAttemptSummary = &v1.AttemptSummary{AttemptInfo: s.begins}
		if h.keep {
			forgetUntil(status.StateTransitionHistory, key-mostKept)
		} else {
			status.PreviousAttemptSummary.StateTransitionHistory = status.StateTransitionHistory
			status.StateTransitionHistory = nil
		}
	}
	if status.StateTransitionHistory == nil {
		status.StateTransitionHistory = map[string]v1.ApplicationState{}
	}
	status.StateTransitionHistory[strconv.FormatInt(key+1, 10)] = state
	status.CurrentState = &state
}

// StateChanges returns the states that were added between two statuses, in order. It omits states whose time cannot be read.
func (SparkApplications) StateChanges(before, after *v1.SparkApplication) []lifecycle.StateChange {
	states := map[string]v1.ApplicationState{}
	if p := after.Status.PreviousAttemptSummary; p != nil {
		maps.Copy(states, p.StateTransitionHistory)
	}
	maps.Copy(states, after.Status.StateTransitionHistory)
	last, key := lastOf(before.Status.StateTransitionHistory)
	if last == nil {
		last, key = before.Status.CurrentState, -1
	}
	var changes []lifecycle.StateChange
	from, since := v1.ApplicationStateSummary(""), before.CreationTimestamp.Time
	if last != nil {
		from, since = last.CurrentStateSummary, instantOf(last.LastTransitionTime)
	}
	for {
		key++
		to, ok := states[strconv.FormatInt(key, 10)]
		if !ok {
			return changes
		}
		at := instantOf(to.LastTransitionTime)
		if !since.IsZero() && !at.IsZero() && slices.Contains(order, to.CurrentStateSummary) && (from == "" || slices.Contains(order, from)) {
			changes = append(changes, lifecycle.StateChange{From: string(from), To: string(to.CurrentStateSummary), Took: max(0, at.Sub(since))})
		}
		from, since = to.CurrentStateSummary, at
	}
}

// forgetCapacities makes room for one more state. It considers the capacity states at the end of a history, which belong to one run, and deletes those
// between the first and the last ones. The other keys stay.
func forgetCapacities(states map[string]v1.ApplicationState) {
	var of []int64
	other := int64(-1)
	for text, state := range states {
		switch n, err := strconv.ParseInt(text, 10, 64); {
		case err != nil:
		case isCapacity(state.CurrentStateSummary):
			of = append(of, n)
		default:
			other = max(other, n)
		}
	}
	slices.Sort(of)
	first, _ := slices.BinarySearch(of, other)
	of = of[first:]
	if len(of) < firstCapacities+lastCapacities {
		return
	}
	for _, n := range of[firstCapacities : len(of)-lastCapacities+1] {
		delete(states, strconv.FormatInt(n, 10))
	}
}

// isCapacity reports whether a state describes a run's number of executors.
func isCapacity(s v1.ApplicationStateSummary) bool {
	for _, c := range capacities {
		if c.state == s {
			return true
		}
	}
	return false
}

// forgetUntil deletes the states up to a key.
func forgetUntil[State any](states map[string]State, last int64) {
	for text := range states {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n <= last {
			delete(states, text)
		}
	}
}

// instant formats a time like Java's Instant.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// instantOf parses a time; zero if it is invalid.
func instantOf(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// mostStates exceeds the length of any history. Larger keys are ignored, because incrementing them could overflow.
const mostStates = 1 << 53

// lastOf returns the last state of a history and its key; nil if there is none. Invalid keys are ignored.
func lastOf[S any](states map[string]S) (last *S, key int64) {
	for text, state := range states {
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && n >= 0 && n < mostStates && (last == nil || n > key) {
			last, key = &state, n
		}
	}
	return last, key
}
