// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// TestStoriesLeadBack stops the operator after each step of each story, and asks what Kubeflow's and Apache's operators need of the status that
// is stored then. What they read is in their specifications; what they do with it is in docs/migrate-from-*.md, "The way back".
func TestStoriesLeadBack(t *testing.T) {
	told := stories()
	for name := range servers() {
		delete(told, name) // the other operators have no such applications
	}
	words := map[string]bool{}
	for name, s := range told {
		left := leftBehind{}
		run := storyRun{}
		taken := s.status.SubmissionID != "" // from Kubeflow's operator
		run.leaves = func(step step, seen lifecycle.Driver, o lifecycle.Outcome, next v1beta2.SparkApplicationStatus) {
			words[string(next.AppState.State)] = true
			problems := left.forKubeflow(&next, seen)
			if !taken {
				problems = append(problems, left.forApache(o, run.now)...)
			}
			for _, problem := range problems {
				t.Errorf("%s, %q: %s", name, step.says, problem)
			}
		}
		run.play(s)
	}
	if len(words) < 12 {
		t.Errorf("the stories come to few states: %v", slices.Sorted(maps.Keys(words)))
	}
}

// leftBehind is what one of the others finds.
type leftBehind struct{ trimmed, kept sparkv1.SparkApplication }

// Kubeflow's operator finds a driver by the name in the status, drops events of pods with another submission id, counts its waits from the last
// submission, and the time to live from the end: a zero time there deletes the application at once.
func (leftBehind) forKubeflow(s *v1beta2.SparkApplicationStatus, seen lifecycle.Driver) (problems []string) {
	state := s.AppState.State
	needs := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, string(state)+": "+fmt.Sprintf(format, args...))
		}
	}
	ours := seen.Presence == lifecycle.Present && seen.Ownership == lifecycle.Current
	if state == v1beta2.ApplicationStateSubmitted {
		needs(!ours || s.ExecutionAttempts > 0, "the command of the page would take a driver that runs for one that waits")
		needs(s.ExecutionAttempts == 0 || !s.LastSubmissionAttemptTime.IsZero(), "no time of submission: its grace period for the driver is over")
	}
	if slices.Contains(retrying, state) {
		needs(!s.LastSubmissionAttemptTime.IsZero(), "no time to wait from")
		needs(s.SubmissionAttempts > 0, "no submission to count")
	}
	if slices.Contains(ended, state) {
		needs(!s.TerminationTime.IsZero(), "no time of the end: its time to live is over")
	}
	if s.ExecutionAttempts > 0 && slices.Contains(following, state) {
		needs(s.DriverInfo.PodName != "", "no name of the driver")
		needs(!ours || s.SubmissionID == seen.SubmissionID, "submission %s, and the driver has %s", s.SubmissionID, seen.SubmissionID)
	}
	return problems
}

// retrying are the states in which it may wait for the next attempt, and ended those in which one has ended.
var (
	retrying = []v1beta2.ApplicationStateType{v1beta2.ApplicationStateFailing, v1beta2.ApplicationStateSubmissionFailed}
	ended    = []v1beta2.ApplicationStateType{
		v1beta2.ApplicationStateFailing, v1beta2.ApplicationStateSucceeding, v1beta2.ApplicationStateCompleted, v1beta2.ApplicationStateFailed,
	}
)

// following are the states in which it follows, or deletes, the driver.
var following = []v1beta2.ApplicationStateType{
	v1beta2.ApplicationStateSubmitted, v1beta2.ApplicationStateRunning, v1beta2.ApplicationStateSucceeding, v1beta2.ApplicationStateFailing,
	v1beta2.ApplicationStateInvalidating, v1beta2.ApplicationStateSuspending, v1beta2.ApplicationStateCompleted, v1beta2.ApplicationStateFailed,
}

// javaInstant is what java.time.Instant reads.
var javaInstant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)

// Apache's operator takes the state from currentState, appends to the largest key of the history, and reads the back-off of a restart from the
// last state of the attempt before. That is in previousAttemptSummary, or, if histories are kept, before the restart.
func (l *leftBehind) forApache(o lifecycle.Outcome, now time.Time) (problems []string) {
	for _, family := range []apache.SparkApplications{{}, {KeepHistory: true}} {
		app := &l.trimmed
		if family.KeepHistory {
			app = &l.kept
		}
		next, _ := family.ToStatus(app, o, now)
		*app = *next
		problems = append(problems, readsApache(&app.Status)...)
	}
	return problems
}

func readsApache(s *sparkv1.SparkApplicationStatus) (problems []string) {
	if s.CurrentState == nil {
		if s.StateTransitionHistory != nil || s.CurrentAttemptSummary != nil || s.PreviousAttemptSummary != nil {
			problems = append(problems, "a part of a status: without a state it has to have none")
		}
		return problems
	}
	history := s.StateTransitionHistory
	problems = append(problems, chain(history)...)
	keys := keysOf(history)
	if len(keys) == 0 {
		return problems
	}
	last := history[strconv.Itoa(keys[len(keys)-1])]
	if last.CurrentStateSummary != s.CurrentState.CurrentStateSummary || last.LastTransitionTime != s.CurrentState.LastTransitionTime {
		problems = append(problems, "the current state is not the last of the history")
	}
	if s.CurrentAttemptSummary == nil || s.CurrentAttemptSummary.AttemptInfo == nil {
		problems = append(problems, "no number of the attempt")
	}
	if s.CurrentState.CurrentStateSummary != sparkv1.StateScheduledToRestart {
		return problems
	}
	if s.PreviousAttemptSummary == nil || s.PreviousAttemptSummary.AttemptInfo == nil {
		return append(problems, "no attempt before")
	}
	if len(keys) == 1 {
		history = s.PreviousAttemptSummary.StateTransitionHistory
		problems, keys = append(problems, chain(history)...), append(keysOf(history), keys...)
	}
	if end := history[strconv.Itoa(keys[max(0, len(keys)-2)])]; !ends(end.CurrentStateSummary) {
		problems = append(problems, "the attempt before ended with "+string(end.CurrentStateSummary)+", which has no back-off")
	}
	return problems
}

// ends reports whether an attempt ends with a state: with Suspended it does here if it is to run again at once, which has their default back-off.
func ends(s sparkv1.ApplicationStateSummary) bool {
	all := apache.States()
	at := slices.Index(all, string(s))
	return s == sparkv1.StateSuspended || at >= slices.Index(all, string(sparkv1.StateDriverStartTimedOut)) && at < slices.Index(all, string(sparkv1.StateResourceReleased))
}

func keysOf(history map[string]sparkv1.ApplicationState) (keys []int) {
	for key := range history {
		n, err := strconv.Atoi(key)
		if err != nil {
			return nil
		}
		keys = append(keys, n)
	}
	slices.Sort(keys)
	return keys
}

// chain checks that a history can be read: keys without a gap, words that they know, times that Java reads.
func chain(history map[string]sparkv1.ApplicationState) (problems []string) {
	keys := keysOf(history)
	if len(keys) == 0 {
		return []string{"no history, or a key that is no number"}
	}
	for i, key := range keys {
		state := history[strconv.Itoa(key)]
		if key != keys[0]+i {
			problems = append(problems, fmt.Sprintf("a gap before key %d", key))
		}
		if !slices.Contains(apache.States(), string(state.CurrentStateSummary)) {
			problems = append(problems, "no state of theirs: "+string(state.CurrentStateSummary))
		}
		if !javaInstant.MatchString(state.LastTransitionTime) {
			problems = append(problems, "no time for Java: "+state.LastTransitionTime)
		}
	}
	return problems
}
