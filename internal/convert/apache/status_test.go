// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strconv"
	"testing"
	"time"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
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
		if _, changed := (SparkApplications{}).ToStatus(o, left, time.Unix(0, 0)); changed != tc.want {
			t.Errorf("%s: %s: changed: %v", name, tc.reason, changed)
		}
	}
}
