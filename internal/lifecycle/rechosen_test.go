// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// An attempt that is yet to come is for the scheduler and the queue of the spec that it starts from.
func TestChoiceOfAnEarlierSpecIsDropped(t *testing.T) {
	old := Scheduling{Choice: scheduler.Choice{Scheduler: "line", Queue: "misspelled"}, HeldAttempt: 2, HeldBy: "line"}
	before := []Attempt{{Number: 1}}
	tests := map[string]struct {
		reason string
		record Record
		spec   string
	}{
		"Resumed":          {"it was suspended while it waited, and edited before it was resumed", Record{State: Suspended, Attempt: 2, Attempts: before, SpecHash: "new"}, "new"},
		"ResumedEdited":    {"one edit resumes it, too", Record{State: Suspended, Attempt: 2, Attempts: before, SpecHash: "old"}, "new"},
		"ResumedNoHash":    {"the family has no hash of the spec", Record{State: Suspended, Attempt: 2, Attempts: before, Generation: 1}, ""},
		"SubmissionFailed": {"what was refused is edited", Record{State: SubmissionFailed, Attempt: 2, Attempts: before, SpecHash: "old"}, "new"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.record.Scheduling = old
			p := Decide(Application{Generation: 2, SpecHash: tc.spec}, tc.record, Observation{Driver: Driver{Presence: Absent}}, scheduler.Admission{}, Env{Now: time.Unix(1, 0)})
			if got := p.Record.Scheduling; got.Choice != (scheduler.Choice{}) || got.HeldAttempt != 2 || got.HeldBy != "line" {
				t.Errorf("%s: %s keeps %+v", tc.reason, p.Record.State, got)
			}
		})
	}
}
