// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"testing"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// What test/simulation has found: an application that is suspended before its second attempt has a driver shows the mark
// of the first, which must not be taken for that of the second.
func TestMarkOfTheFormerAttemptIsNotTheNextOnes(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{
		AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSuspending}, SubmissionID: "s-1", Attempt: 2,
		SubmissionAttempts: 1, ExecutionAttempts: 1, Attempts: []v1beta2.AttemptStatus{{Attempt: 1, SubmissionID: "s-1"}},
	}
	if got := FromStatus(&s).SubmissionID; got != "" {
		t.Errorf("submission %q: the second attempt's driver would not be found", got)
	}
	s.Attempts = append(s.Attempts, v1beta2.AttemptStatus{Attempt: 2, SubmissionID: "s-2"})
	if got := FromStatus(&s).SubmissionID; got != "s-2" {
		t.Errorf("submission %q, want the attempt's own", got)
	}
	s.Attempt, s.Attempts = 0, nil
	if got := FromStatus(&s).SubmissionID; got != "s-1" {
		t.Errorf("submission %q of an operator before us, want s-1", got)
	}
}
