// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// TestGoldenStates plays the steps of every recorded application, and compares the states, their keys, the counters and what there is at the
// end with what Apache's operator left.
func TestGoldenStates(t *testing.T) {
	tally := golden.NewTally()
	for _, r := range recordings(t) {
		t.Run(r.dir, func(t *testing.T) {
			outcome := golden.Matched
			defer func() {
				if t.Failed() {
					outcome = golden.Failed
				}
				tally.Add("states", outcome)
			}()
			w := newWorld(t, r)
			for _, s := range r.steps {
				w.play(s)
			}
			w.pass(time.Second)
			want := r.expected
			if diff := cmp.Diff(want.sequence, w.sequence()); diff != "" {
				t.Errorf("states (-recorded +ours):\n%s\nours: %s", diff, strings.Join(w.sequence(), " "))
				for key, state := range w.last.StateTransitionHistory {
					t.Logf("%s %s: %s", key, state.CurrentStateSummary, state.Message)
				}
			}
			latencies, before := map[string]float64{}, ""
			for _, state := range w.sequence() {
				timer := "discover"
				if before != "" {
					timer = "from_" + before + "_to_" + strings.ToLower(state)
				}
				latencies[timer]++
				before = strings.ToLower(state)
			}
			if diff := cmp.Diff(latencies, w.latencies()); diff != "" {
				t.Errorf("latencies (-of the states +ours):\n%s", diff)
			}
			if diff := cmp.Diff(want.attempt, attemptOf(w.last.CurrentAttemptSummary)); diff != "" {
				t.Errorf("current attempt (-recorded +ours):\n%s", diff)
			}
			if diff := cmp.Diff(want.previous, attemptOf(w.last.PreviousAttemptSummary)); diff != "" {
				t.Errorf("previous attempt (-recorded +ours):\n%s", diff)
			}
			if want.present != nil {
				if diff := cmp.Diff(want.present, w.names()); diff != "" {
					t.Errorf("objects at the end (-recorded +ours):\n%s", diff)
				}
			}
			if want.history != nil {
				if diff := cmp.Diff(want.history, keysOf(w.last.StateTransitionHistory)); diff != "" {
					t.Errorf("keys of the history (-recorded +ours):\n%s", diff)
				}
				if previous := w.last.PreviousAttemptSummary; previous != nil {
					if diff := cmp.Diff(want.previousHistory, keysOf(previous.StateTransitionHistory)); diff != "" {
						t.Errorf("keys of the history of the previous attempt (-recorded +ours):\n%s", diff)
					}
				}
			}
			var left v1.SparkApplication
			switch err := w.client.Get(t.Context(), w.key(), &left); {
			case apierrors.IsNotFound(err) != want.gone:
				t.Errorf("the application is gone: %t, recorded: %t (%v)", !want.gone, want.gone, err)
			case len(left.Finalizers) > 0:
				t.Errorf("finalizers are left: %q", left.Finalizers)
			}
			if len(want.differs) > 0 {
				outcome = golden.Deliberate
			}
		})
	}
	t.Log(tally)
}

// What the API server refuses, and the operator does not find wrong itself, is tried again as the policy says.
func TestGoldenStatesOfRefusals(t *testing.T) {
	for _, r := range recordings(t) {
		if !slices.Contains(r.expected.differs, invalid) {
			continue
		}
		t.Run(r.dir, func(t *testing.T) {
			toleration := &r.app.Spec.DriverSpec.PodTemplateSpec.Spec.Tolerations[0]
			toleration.Operator = "Exists" // the recorded answer to the pod stays
			w := newWorld(t, r)
			for _, s := range r.steps {
				w.play(s)
			}
			w.pass(time.Second)
			want := r.sequence
			if slices.Contains(r.expected.differs, gone) {
				want = want[:len(want)-1]
			}
			if diff := cmp.Diff(want, w.sequence()); diff != "" {
				t.Errorf("states (-recorded +ours):\n%s\nthere are %v", diff, w.names())
			}
			if diff := cmp.Diff(r.recordedAttempt, attemptOf(w.last.CurrentAttemptSummary)); diff != "" {
				t.Errorf("current attempt (-recorded +ours):\n%s", diff)
			}
		})
	}
}

// What is done otherwise on purpose is told to those who come from Apache's operator.
func TestDifferencesAreTold(t *testing.T) {
	text, err := os.ReadFile("../../../docs/migrate-from-apache.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if !strings.Contains(strings.ToLower(string(text)), strings.ToLower(d.reason)) {
			t.Errorf("docs/migrate-from-apache.md does not say: %s", d.reason)
		}
	}
}

func attemptOf(s *v1.AttemptSummary) *v1.AttemptInfo {
	if s == nil {
		return nil
	}
	return s.AttemptInfo
}

// expected is how a case ends.
type expected struct {
	sequence          []string
	attempt, previous *v1.AttemptInfo
	// present are the objects; nil if they were not recorded.
	present []string
	// history and previousHistory are the keys of the states; nil if they are others than was recorded.
	history, previousHistory []string
	// gone says that the application is there no more.
	gone bool
	// differs are the reasons why it is not what was recorded.
	differs []string
}

// keysOf are the keys of a history in their order as numbers.
func keysOf[S any](history map[string]S) []string {
	keys := slices.AppendSeq([]string{}, maps.Keys(history))
	slices.SortFunc(keys, func(a, b string) int {
		if n := len(a) - len(b); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return keys
}
