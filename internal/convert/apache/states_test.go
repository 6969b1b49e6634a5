// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
			if want.differs {
				outcome = golden.Deliberate
			}
		})
	}
	t.Log(tally)
}

// What the API server refuses, and the operator does not find wrong itself, is tried again as the policy says.
func TestGoldenStatesOfRefusals(t *testing.T) {
	for _, r := range recordings(t) {
		if d := differences[r.dir]; d.reason != invalid {
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
			if strings.HasPrefix(r.dir, "delete-") {
				want = want[:len(want)-1] // see gone
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
	for name, d := range differences {
		if !strings.Contains(strings.ToLower(string(text)), strings.ToLower(d.reason)) {
			t.Errorf("docs/migrate-from-apache.md does not say of %s: %s", name, d.reason)
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
	// differs says that it is not what was recorded, on purpose.
	differs bool
}

// differences are the cases that end otherwise than was recorded, on purpose.
var differences = map[string]struct{ sequence, reason string }{
	"app-client-mode-delete": {"Submitted Failed", "it fails once, and not without end"},
	"app-configmap-there":    {"Submitted", "a ConfigMap of somebody else is not taken over: the application waits for its name"},
	"app-quota":              {"Submitted", "a full quota is waited for"},
	"quota-restart":          {"Submitted", "a full quota is waited for"},
	"default-restart": {
		"Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed ScheduledToRestart DriverRequested Succeeded ResourceReleased", once,
	},
	"restart-onfailure-evicted": {
		"Submitted DriverRequested DriverStarted DriverReady RunningHealthy DriverEvicted ScheduledToRestart DriverRequested Succeeded ResourceReleased", once,
	},
	"restart-trim-off": {
		"Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed ScheduledToRestart DriverRequested DriverStarted DriverReady RunningHealthy Failed " +
			"ScheduledToRestart DriverRequested Succeeded ResourceReleased", once,
	},
	"restart-never":             {"Submitted DriverRequested Failed ResourceReleased", once},
	"run-failed-early":          {"Submitted DriverRequested Failed ResourceReleased", once},
	"run-init-failed":           {"Submitted DriverRequested Failed ResourceReleased", once},
	"run-success-no-run":        {"Submitted DriverRequested Succeeded ResourceReleased", once},
	"run-evicted-no-status":     {"Submitted DriverRequested DriverStarted DriverReady RunningHealthy DriverEvicted ResourceReleased", "release 1.1.0 has it so"},
	"delete-backoff":            {"Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed ScheduledToRestart", gone},
	"delete-requested":          {"Submitted DriverRequested", gone},
	"delete-running":            {"Submitted DriverRequested DriverStarted DriverReady RunningHealthy", gone},
	"force-delete":              {"Submitted DriverRequested DriverStarted DriverReady RunningHealthy", gone},
	"ttl-zero":                  {"Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed", gone},
	"restart-scheduling":        {"Submitted SchedulingFailure ResourceReleased", invalid},
	"delete-scheduling-backoff": {"Submitted SchedulingFailure ResourceReleased", invalid},
}

const (
	once    = "an end has one state: the driver was not seen running, and is judged once"
	gone    = "there is no finalizer: what is deleted is gone at once, and the garbage collector takes the driver"
	invalid = "a spec that no API server takes is not tried again"
)

func expectedOf(r *recording, states recordedStates, stored map[string]any) expected {
	e := expected{sequence: slices.Clone(states.Sequence)}
	for _, w := range states.StatusWrites {
		if w.Attempt != nil {
			e.attempt = w.Attempt
		}
		if w.Previous != nil {
			e.previous = w.Previous.AttemptInfo
		}
	}
	r.recordedAttempt = e.attempt
	end, _ := stored["end"].(golden.Object)
	if present, ok := end["present"].([]any); ok {
		e.present = []string{}
		for _, name := range present {
			e.present = append(e.present, name.(string))
		}
		slices.Sort(e.present)
	}
	if d, ok := differences[r.dir]; ok {
		e.differs, e.sequence = true, strings.Fields(d.sequence)
		if d.reason != once {
			e.present = nil
		}
		if !slices.Contains(e.sequence, string(v1.StateScheduledToRestart)) {
			e.attempt, e.previous = &v1.AttemptInfo{}, nil
		}
	}
	return e
}

type recordedStates struct {
	Sequence     []string
	StatusWrites []struct {
		Attempt  *v1.AttemptInfo
		Previous *v1.AttemptSummary
	}
}
