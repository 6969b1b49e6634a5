// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What Kubeflow's operator created suspended has never run.
func TestTakenOverSuspensionResumesAsTheFirstAttempt(t *testing.T) {
	rec := Record{State: Suspended, Attempt: 1}
	if got := Decide(testApp(), rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record; got.State != Resuming || got.Attempt != 1 {
		t.Errorf("%s attempt %d, want the first", got.State, got.Attempt)
	}
}

// Kubeflow's operator stores the id of a submission after it: a driver that it created just before it was replaced is
// kept, with its id.
func TestDriverOfAnotherOperatorKeepsItsID(t *testing.T) {
	for _, state := range []State{Rerunning, Resuming, SubmissionFailed} {
		rec := again(state)
		got := Decide(testApp(), rec, Observation{Driver: foreignDriver()}, scheduler.Admission{}, Env{Now: later})
		if got.Record.State != Running || got.Record.SubmissionID != "s-of-another-operator" || len(got.Actions) != 0 || got.Record.Attempt != 2 {
			t.Errorf("%s: a healthy driver is not kept: %s, submission %s, %+v", state, got.Record.State, got.Record.SubmissionID, got.Actions)
		}
	}
}
