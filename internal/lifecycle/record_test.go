// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A decision changes nothing of what it was made from: the record that is read may be a cache's.
func TestCloneSharesNothing(t *testing.T) {
	full := func() Record {
		r := ran(Failing)
		r.Executors, r.Failures = map[string]ExecutorState{"e-1": ExecutorRunning}, []ExecutorFailure{{Name: "e-1"}}
		r.Retries.Used = map[FailureClass]int32{Submission: 1}
		r.Exposure.Objects, r.Submitter.Groups = []string{"Service/ui"}, []string{"staff"}
		return r
	}
	was := full()
	copied := clone(was)
	if diff := cmp.Diff(full(), copied); diff != "" {
		t.Errorf("the copy differs (-want +got):\n%s", diff)
	}
	copied.Executors["e-1"], copied.Failures[0].Name = ExecutorLost, "e-2"
	copied.Attempts[0].Number, copied.Retries.Used[Submission] = 9, 9
	copied.Exposure.Objects[0], copied.Submitter.Groups[0] = "", ""
	if diff := cmp.Diff(full(), was); diff != "" {
		t.Errorf("what is written into the copy is in the original (-want +got):\n%s", diff)
	}
}

// Only a driver that its scheduler took away, that has not started and has no node has certainly never run.
func TestWithdrawn(t *testing.T) {
	withdrawn := driver(Current, DriverPending)
	withdrawn.Unplaced = "7"
	placed, foreign := withdrawn, withdrawn
	placed.Unplaced, foreign.Ownership = "", NotOwned
	for name, tc := range map[string]struct {
		attempt Attempt
		driver  Driver
		want    bool
	}{
		"withdrawn": {Attempt{Class: Evicted}, withdrawn, true},
		"placed":    {Attempt{Class: Evicted}, placed, false},
		"foreign":   {Attempt{Class: Evicted}, foreign, false},
		"started":   {Attempt{Class: Evicted, StartedAt: now}, withdrawn, false},
		"failed":    {Attempt{Class: Infrastructure}, withdrawn, false},
	} {
		if got := tc.attempt.withdrawn(tc.driver); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What the next driver replaces is that of the last attempt that had one; of an application that never had one, of the attempt that would have.
func TestLastDriven(t *testing.T) {
	for name, tc := range map[string]struct {
		rec  Record
		want int32
	}{"never": {Record{Attempt: 3}, 3}, "before": {Record{Attempt: 3, Attempts: []Attempt{{Number: 1}, {Number: 2}}}, 2}} {
		if got := tc.rec.lastDriven(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
