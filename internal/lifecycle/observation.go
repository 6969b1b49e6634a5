/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lifecycle

import (
	"fmt"
	"time"
)

// Presence is tri-state: a cache that has not caught up yields Unknown, never Absent.
type Presence string

// The three presences.
const (
	Unknown Presence = "Unknown"
	Absent  Presence = "Absent"
	Present Presence = "Present"
)

// Ownership says whose object it is. Identity is never the name alone.
type Ownership string

const (
	// Foreign objects belong to somebody else: never adopted, changed or deleted.
	Foreign Ownership = "Foreign"
	// Current objects belong to this application's current attempt.
	Current Ownership = "Current"
	// Former objects belong to this application, but to another attempt.
	Former Ownership = "Former"
)

// DriverPhase is the driver's progress, judged by its Spark container: a sidecar neither hides its end nor ends it.
type DriverPhase string

// The phases of a driver.
const (
	DriverPending   DriverPhase = "Pending"
	DriverRunning   DriverPhase = "Running"
	DriverSucceeded DriverPhase = "Succeeded"
	DriverFailed    DriverPhase = "Failed"
)

// Exit is how the driver's Spark container ended.
type Exit struct {
	// Code is the exit code; -1 when the pod failed without the container telling one.
	Code int32
	// Reason and Message are the kubelet's words, e.g. "OOMKilled".
	Reason  string
	Message string
}

// String is the sentence that users read as the application's error.
func (e Exit) String() string {
	if e.Code < 0 {
		return withDetail("driver container status missing", e.Reason, e.Message)
	}
	text := fmt.Sprintf("driver container failed with ExitCode: %d, Reason: %s", e.Code, e.Reason)
	if e.Message != "" {
		text += ", Message: " + e.Message
	}
	return text
}

func withDetail(text, reason, message string) string {
	for _, part := range []string{reason, message} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// Driver is the pod that has the driver's name.
type Driver struct {
	Presence  Presence
	Ownership Ownership
	Name      string
	UID       string
	CreatedAt time.Time
	Phase     DriverPhase
	// Waiting says in the kubelet's or scheduler's words why a pending driver does not run; empty when all is normal.
	Waiting Cause
	// Exit is set when the phase is DriverFailed.
	Exit Exit
	// Deleting is set when the pod is on its way out.
	Deleting bool
}

// Is reports whether the pod is there and has the given owner.
func (d Driver) Is(o Ownership) bool { return d.Presence == Present && d.Ownership == o }

// Observation is what the reader saw of an application's pods.
type Observation struct {
	Driver    Driver
	Executors map[string]ExecutorState
}

// Verdict is the answer to "may the driver be created?".
type Verdict string

const (
	// Admitted : yes.
	Admitted Verdict = "Admitted"
	// Waiting : not now.
	Waiting Verdict = "Waiting"
	// Rejected : not with this spec.
	Rejected Verdict = "Rejected"
)

// Gate is the verdict of validation and scheduler over a driver that does not exist yet.
type Gate struct {
	Verdict    Verdict
	Cause      Cause
	RetryAfter time.Duration
}
