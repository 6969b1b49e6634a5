// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

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
