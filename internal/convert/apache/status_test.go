// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// A history of all attempts is bounded when one begins: an application that fails for years would have a status that is not stored.
func TestKeptHistoryIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		states        int
		first, length int
	}{
		"Short": {reason: "there is room for all", states: mostKept, first: 0, length: mostKept + 1},
		"Long":  {reason: "the oldest go", states: mostKept + 3, first: 3, length: mostKept + 1},
	} {
		o := &v1.SparkApplication{Status: v1.SparkApplicationStatus{StateTransitionHistory: map[string]v1.ApplicationState{}}}
		failed := v1.ApplicationState{CurrentStateSummary: v1.StateFailed}
		for i := range tc.states {
			o.Status.StateTransitionHistory[strconv.Itoa(i)] = failed
		}
		o.Status.CurrentState = &failed
		again := lifecycle.Outcome{Record: lifecycle.Record{State: lifecycle.Rerunning, Attempt: 1, Executions: 1}}
		next, _ := SparkApplications{KeepHistory: true}.ToStatus(o, again, time.Unix(0, 0))
		h := next.Status.StateTransitionHistory
		_, first := h[strconv.Itoa(tc.first)]
		_, last := h[strconv.Itoa(tc.states)]
		if len(h) != tc.length || !first || !last {
			t.Errorf("%s: %s: %d states, first %v, last %v", name, tc.reason, len(h), first, last)
		}
	}
}

// Fault 7: a run whose capacity goes up and down for weeks keeps the first and the last of these states, so that its end can be stored.
func TestCapacityOfARunIsBounded(t *testing.T) {
	const changes = 2000
	for _, keep := range []bool{false, true} {
		o := &v1.SparkApplication{}
		o.Status.CurrentState = &v1.ApplicationState{CurrentStateSummary: v1.StateDriverReady, LastTransitionTime: instant(time.Unix(0, 0))}
		o.Status.StateTransitionHistory = map[string]v1.ApplicationState{"7": *o.Status.CurrentState}
		kind, at := SparkApplications{KeepHistory: keep}, time.Unix(0, 0)
		look := func(r lifecycle.Record) {
			next, _ := kind.ToStatus(o, lifecycle.Outcome{Record: r}, at)
			if got := len(kind.StateChanges(o, next)); r.State == lifecycle.Running && got != 1 {
				t.Fatalf("%d changes are measured", got)
			}
			o, at = next, at.Add(time.Minute)
		}
		for i := range changes {
			capacity := []lifecycle.Capacity{lifecycle.CapacityFull, lifecycle.CapacityPartial, lifecycle.CapacityBelowMin}[i%3]
			look(lifecycle.Record{State: lifecycle.Running, Attempt: 1, Executions: 1, Progress: lifecycle.Progress{StartedAt: at, ReadyAt: at, Capacity: capacity}})
		}
		look(lifecycle.Record{State: lifecycle.Succeeding, Attempt: 1, Executions: 1, Attempts: []lifecycle.Attempt{{Number: 1}}})
		h := o.Status.StateTransitionHistory
		last, key := lastOf(h)
		if len(h) > 100 || key != 7+changes+1 || last.CurrentStateSummary != v1.StateSucceeded || o.Status.CurrentState.CurrentStateSummary != v1.StateSucceeded {
			t.Errorf("%d states, the last is %s with the key %d", len(h), last.CurrentStateSummary, key)
		}
		for _, number := range []int64{7, 8, 9, key - 10, key - 1} {
			if _, there := h[strconv.FormatInt(number, 10)]; !there {
				t.Errorf("state %d is not kept", number)
			}
		}
	}
}

// Only the run that goes on gives up states for the next one: those of a run before it are told as they were.
func TestOnlyTheLastRunGivesUpCapacities(t *testing.T) {
	states, want := map[string]v1.ApplicationState{}, map[string]v1.ApplicationState{}
	for i := range 61 { // ten of a run before, its end, and fifty of this run
		states[strconv.Itoa(i)] = v1.ApplicationState{CurrentStateSummary: v1.StateRunningHealthy}
	}
	states["10"] = v1.ApplicationState{CurrentStateSummary: v1.StateFailed}
	for key, state := range states {
		if key != "21" { // behind the first ten of this run
			want[key] = state
		}
	}
	forgetCapacities(states)
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A sentinel is no application, so that it has no status: not even the reason why it does not run.
func TestSentinelHasNoStatus(t *testing.T) {
	left := lifecycle.Outcome{Conditions: []lifecycle.Condition{{Type: lifecycle.ConditionAdmitted, Reason: lifecycle.ReasonManagedByAnother}}}
	for name, tc := range map[string]struct {
		reason, label string
		want          bool
	}{
		"Sentinel": {reason: "the probe edits it", label: "true"},
		"Other":    {reason: "an application", label: "false", want: true},
	} {
		o := &v1.SparkApplication{}
		o.Labels = map[string]string{v1.LabelSentinel: tc.label}
		next, changed := SparkApplications{}.ToStatus(o, left, time.Unix(0, 0))
		if changed != tc.want || (next == o) == tc.want {
			t.Errorf("%s: %s: changed: %v", name, tc.reason, changed)
		}
		if again, changed := (SparkApplications{}).ToStatus(next, left, time.Unix(0, 0)); changed || again != next {
			t.Errorf("%s: the same again is written again", name)
		}
	}
}

// Conditions and the generation that they are about are where the other kinds have them, and not a second time in the details.
func TestConditionsOfApplications(t *testing.T) {
	out := lifecycle.Outcome{
		Record: lifecycle.Record{State: lifecycle.Queued, Generation: 4, Attempt: 1}, Conditions: []lifecycle.Condition{{Type: lifecycle.ConditionAdmitted, Status: "False", Reason: lifecycle.ReasonManagedByAnother, Message: "why"}},
	}
	next, _ := SparkApplications{}.ToStatus(own(nil).app, out, noon)
	want := []metav1.Condition{{Type: "Admitted", Status: "False", Reason: string(lifecycle.ReasonManagedByAnother), Message: "why", ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(noon.Truncate(time.Second))}}
	s := next.Status
	if diff := cmp.Diff(want, s.Conditions); diff != "" || s.ObservedGeneration != 4 || len(s.Details.Conditions) > 0 || s.Details.ObservedGeneration != 0 {
		t.Errorf("generation %d, details %+v (-want +got):\n%s", s.ObservedGeneration, s.Details, diff)
	}
	if again, changed := (SparkApplications{}).ToStatus(next, out, noon.Add(time.Hour)); changed {
		t.Errorf("the same again is written again: %s", cmp.Diff(next, again))
	}
	if got := FromStatus(next).Generation; got != 4 {
		t.Errorf("generation %d is read back", got)
	}
}

// What has a status is run, or was: its end has to be seen.
func TestSentinelIsWhatHasNoStatus(t *testing.T) {
	labels := map[string]string{v1.LabelSentinel: "true"}
	app := func(s v1.SparkApplicationStatus) *v1.SparkApplication {
		return &v1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: s}
	}
	for name, tc := range map[string]struct {
		reason string
		object metav1.Object
		want   bool
	}{
		"New":            {reason: "nothing runs of it", object: app(v1.SparkApplicationStatus{}), want: true},
		"Conditions":     {reason: "what others say of it is no run", object: app(v1.SparkApplicationStatus{Conditions: []metav1.Condition{{Type: "Seen"}}}), want: true},
		"Held":           {reason: "fault 5: it is known, though suspended", object: app(v1.SparkApplicationStatus{Details: &v1.Details{}})},
		"TakenOver":      {reason: "fault 5: Apache's operator has started it", object: app(v1.SparkApplicationStatus{CurrentState: &v1.ApplicationState{}})},
		"Cluster":        {reason: "nothing runs of it", object: &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, want: true},
		"RunningCluster": {reason: "fault 5: its parts are kept up", object: &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: v1.SparkClusterStatus{CurrentState: &v1.ClusterState{}}}},
		"Unlabeled":      {reason: "an application", object: &v1.SparkApplication{}},
	} {
		if got := Sentinel(tc.object); got != tc.want {
			t.Errorf("%s: %s: %v", name, tc.reason, got)
		}
	}
}

// What follows a state has the next number, whatever other keys there are.
func TestLastOfLeavesOutWhatIsNoNumberOfAState(t *testing.T) {
	for _, tc := range []struct {
		reason string
		keys   []string
		key    int64
		found  bool
	}{
		{"the largest counts, and not the last in the alphabet", []string{"9", "10"}, 10, true},
		{"no state comes before the first", []string{"-1", "3"}, 3, true},
		{"one more than the largest whole number is negative", []string{"7", "9223372036854775807"}, 7, true},
		{"a browser reads no larger number", []string{"7", "9007199254740991"}, 9007199254740991, true},
		{"one more than that is none", []string{"7", "9007199254740992"}, 7, true},
		{"a number that is too large is none", []string{"7", "99999999999999999999"}, 7, true},
		{"texts are no numbers", []string{"", "1e3", "four"}, 0, false},
	} {
		states := map[string]v1.ApplicationState{}
		for _, key := range tc.keys {
			states[key] = v1.ApplicationState{CurrentStateSummary: v1.StateFailed}
		}
		if last, key := lastOf(states); key != tc.key || (last != nil) != tc.found {
			t.Errorf("%s: %v, key %d, want %d", tc.reason, last, key, tc.key)
		}
	}
}

// A counter at its end is at its limit after one more, too.
func TestCountersDoNotOverflow(t *testing.T) {
	for _, details := range []*v1.Details{nil, {}} {
		o := own(nil).app
		o.Status = v1.SparkApplicationStatus{Details: details, CurrentAttemptSummary: &v1.AttemptSummary{AttemptInfo: &v1.AttemptInfo{
			ID: math.MaxInt64, RestartCounter: math.MaxInt64, FailureRestartCounter: math.MinInt64, SchedulingFailureRestartCounter: 3,
		}}}
		if diff := cmp.Diff(lifecycle.Counters{Restarts: 1 << 30, Submissions: 3}, FromStatus(o).Retries.Counters); diff != "" {
			t.Errorf("details %v (-want +got):\n%s", details, diff)
		}
	}
}

// Names that users choose do nothing to what shows them, and are short, in the status of a cluster, too.
func TestNamesOfClustersAreBoundedAndPrintable(t *testing.T) {
	evil := strings.Repeat("\x1b]0;owned\a\u202e\r\n", 10_000)
	s := clusterScheduling(standalone.Scheduling{Choice: scheduler.Choice{Scheduler: evil, Queue: evil}})
	for _, text := range []string{s.Scheduler, s.Queue} {
		if len(text) > 1<<10 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("the status has %d bytes: %.100q", len(text), text)
		}
	}
}
