// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// recordedStates is states.json.
type recordedStates struct {
	Sequence     []string
	StatusWrites []struct {
		Adds []struct {
			Key   int
			State v1.ApplicationStateSummary
		}
		Attempt  *v1.AttemptInfo
		Previous *v1.AttemptSummary
		After    float64 `json:"after_s"`
	}
	Steps []struct {
		After float64 `json:"after_s"`
		What  any
	}
	// Final is the object at the end, or that it is gone.
	Final any
}

const (
	once    = "an end has one state: the driver was not seen running, and is judged once"
	gone    = "there is no finalizer: what is deleted is gone at once, and the garbage collector takes the driver"
	invalid = "a spec that no API server takes is not tried again"
)

// difference is where we do otherwise than was recorded, on purpose. It is found in the case itself, so that other recordings differ for the same
// reasons.
type difference struct {
	reason string
	// apply returns the states that ours comes to for those that were recorded.
	apply func(r *recording, states recordedStates, sequence []string) []string
}

var differences = []difference{
	{gone, func(r *recording, states recordedStates, sequence []string) []string {
		last := len(sequence) - 1
		if states.Final != any("resource gone") || last < 0 || sequence[last] != string(v1.StateResourceReleased) || !states.deletedBeforeItsEnd(r) {
			return sequence
		}
		return sequence[:last]
	}},
	{"it fails once, and not without end", func(r *recording, _ recordedStates, sequence []string) []string {
		if r.app.Spec.DeploymentMode != v1.ClientMode {
			return sequence
		}
		return until(sequence, v1.StateFailed, 1)
	}},
	{"a ConfigMap of another owner is not taken over: the application waits for its name", func(r *recording, _ recordedStates, sequence []string) []string {
		for _, there := range r.before {
			for _, w := range r.writes {
				if made, ok := w.object(); ok && golden.NameOf(made) == golden.NameOf(there) {
					return until(sequence, v1.StateSubmitted, 1)
				}
			}
		}
		return sequence
	}},
	{"a full quota is waited for", func(r *recording, _ recordedStates, sequence []string) []string {
		if !r.refusedWith(http.StatusForbidden, "exceeded quota") {
			return sequence
		}
		return until(sequence, v1.StateSchedulingFailure, 0)
	}},
	{invalid, func(r *recording, _ recordedStates, sequence []string) []string {
		again := slices.Contains(sequence, string(v1.StateScheduledToRestart))
		if !again || !r.refusedWith(http.StatusUnprocessableEntity, "") || !r.objectionable() {
			return sequence
		}
		return append(until(sequence, v1.StateSchedulingFailure, 1), string(v1.StateResourceReleased))
	}},
	{once, func(_ *recording, _ recordedStates, sequence []string) []string {
		ends := []string{string(v1.StateFailed), string(v1.StateSucceeded), string(v1.StateDriverEvicted)}
		var kept []string
		for i, state := range sequence {
			if slices.Contains(ends, state) && i+1 < len(sequence) && slices.Contains(ends, sequence[i+1]) {
				continue
			}
			kept = append(kept, state)
		}
		return kept
	}},
	{"release 1.1.0 has it so", func(r *recording, _ recordedStates, sequence []string) []string {
		without := func(s recordedStep) bool { return s.Do == "driver" && s.Statuses != nil && !*s.Statuses }
		if !slices.ContainsFunc(r.steps, without) || sequence[len(sequence)-1] != string(v1.StateRunningHealthy) {
			return sequence
		}
		return append(sequence, string(v1.StateDriverEvicted), string(v1.StateResourceReleased))
	}},
}

// until returns the states to the first of a name, with or without it.
func until(sequence []string, state v1.ApplicationStateSummary, with int) []string {
	if i := slices.Index(sequence, string(state)); i >= 0 {
		return slices.Clone(sequence[:i+with])
	}
	return sequence
}

// refusedWith reports whether the API server refused an object with a code and a text.
func (r *recording) refusedWith(code int, text string) bool {
	return slices.ContainsFunc(r.writes, func(w write) bool {
		_, object := w.object()
		return object && w.Code == code && strings.Contains(w.Refused.Message, text)
	})
}

// objectionable reports whether the operator itself finds the application wrong.
func (r *recording) objectionable() bool {
	app := r.app.DeepCopy()
	app.Namespace, app.UID = r.namespace, "app"
	return len(admission.Validate(resolve.Load(SparkApplications{}, app, lifecycle.Record{}, resolve.Operator{}, time.Unix(0, 0))).Objections) > 0
}

// deletedBeforeItsEnd reports whether the application was deleted before its last state: by a user, or since it is not kept at all.
func (s recordedStates) deletedBeforeItsEnd(r *recording) bool {
	for _, step := range s.Steps {
		if what, ok := step.What.(map[string]any); ok && what["do"] == "delete" {
			return step.After <= s.writtenAt(len(s.Sequence)-1)
		}
	}
	t := r.app.Spec.ApplicationTolerations
	return t.TTLAfterStopMillis != nil && *t.TTLAfterStopMillis == 0
}

// writtenAt is when the state of a key was written.
func (s recordedStates) writtenAt(key int) float64 {
	for _, w := range s.StatusWrites {
		for _, added := range w.Adds {
			if added.Key == key {
				return w.After
			}
		}
	}
	return 0
}

func expectedOf(r *recording, states recordedStates, stored map[string]any) expected {
	e := expected{sequence: slices.Clone(states.Sequence), gone: states.Final == any("resource gone")}
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
	if final, ok := states.Final.(golden.Object); ok {
		status := golden.Child(final, "status")
		e.history = keysOf(golden.Child(status, "stateTransitionHistory"))
		e.previousHistory = keysOf(golden.Child(status, "previousAttemptSummary", "stateTransitionHistory"))
	}
	for _, d := range differences {
		ours := d.apply(r, states, e.sequence)
		if slices.Equal(ours, e.sequence) {
			continue
		}
		e.differs, e.sequence, e.history = append(e.differs, d.reason), ours, nil
		e.gone = e.gone || slices.ContainsFunc(r.steps, func(s recordedStep) bool { return s.Do == "delete" }) // no finalizer holds it
		if d.reason != once {
			e.present = nil
		}
		if !slices.Contains(ours, string(v1.StateScheduledToRestart)) {
			e.attempt, e.previous = &v1.AttemptInfo{}, nil
		}
	}
	return e
}
