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

import "fmt"

// ConditionType names one aspect of an application.
type ConditionType string

// The conditions that every application shows, in the order in which they come true.
const (
	// ConditionAdmitted : validation and the batch scheduler let the driver be created.
	ConditionAdmitted ConditionType = "Admitted"
	// ConditionSubmitted : the driver pod and all that it needs were created.
	ConditionSubmitted ConditionType = "Submitted"
	// ConditionDriverReady : the driver's container runs.
	ConditionDriverReady ConditionType = "DriverReady"
	// ConditionSucceeded : the outcome.
	ConditionSucceeded ConditionType = "Succeeded"
)

// Status is the status of a condition.
type Status string

// The three statuses, spelled as Kubernetes spells them.
const (
	True         Status = "True"
	False        Status = "False"
	Undetermined Status = "Unknown"
)

// Condition is one aspect with a reason of the closed list and a sentence.
type Condition struct {
	Type    ConditionType
	Status  Status
	Reason  Reason
	Message string
}

// WaitingPrefix begins the outcome's sentence of an application that is queued.
const WaitingPrefix = "waiting: "

func conditions(r Record, p Plan) []Condition {
	return []Condition{admitted(r, p), submission(r), driverReady(r, p), succeeded(r)}
}

func admitted(r Record, p Plan) Condition {
	c := Condition{Type: ConditionAdmitted}
	switch {
	case r.Started() && !r.NeverRan():
		c.Status, c.Reason, c.Message = True, "Admitted", "the application was let start"
	case p.Gate.Verdict == Admitted:
		c.Status, c.Reason, c.Message = True, p.Gate.Cause.Reason, p.Gate.Cause.Message
	case p.Gate.Verdict != "":
		c.Status, c.Reason, c.Message = False, p.Gate.Cause.Reason, p.Gate.Cause.Message
	case r.Cause.Reason != "":
		c.Status, c.Reason, c.Message = False, r.Cause.Reason, r.Cause.Message
	default:
		c.Status, c.Reason, c.Message = Undetermined, ReasonInProgress, "not checked yet"
	}
	if c.Status == True && p.App.Notes != "" {
		c.Message += "; note: " + p.App.Notes
	}
	return c
}

func submission(r Record) Condition {
	c := Condition{Type: ConditionSubmitted, Status: False, Reason: ReasonNotSubmitted, Message: "the driver pod is not created yet"}
	switch {
	case r.Started() && !r.NeverRan():
		c.Status, c.Reason, c.Message = True, ReasonDriverCreated, fmt.Sprintf("driver pod %s was created", r.DriverName)
	case r.Cause.Reason != "":
		c.Reason, c.Message = r.Cause.Reason, r.Cause.Message
	}
	return c
}

func driverReady(r Record, p Plan) Condition {
	c := Condition{Type: ConditionDriverReady, Status: False}
	switch r.State {
	case Submitted:
		c.Reason, c.Message = ReasonDriverPending, "the driver pod does not run yet"
		if w := p.Driver.Waiting; w.Reason != "" {
			c.Reason, c.Message = w.Reason, w.Message
		}
	case Running:
		c.Status, c.Reason, c.Message = True, ReasonDriverRunning, "the driver's container runs"
	case Succeeding, Succeeded:
		c.Reason, c.Message = ReasonDriverSucceeded, "the driver ended with exit code 0"
	case Failing, Failed, SubmissionFailed, New, Queued:
		c.Reason, c.Message = ReasonNotSubmitted, "there is no driver pod"
		if r.Started() && !r.NeverRan() {
			c.Reason, c.Message = r.Cause.Reason, r.Cause.Message
		}
	}
	return c
}

func succeeded(r Record) Condition {
	c := Condition{Type: ConditionSucceeded, Status: Undetermined, Reason: ReasonInProgress, Message: "the application has not ended"}
	switch r.State {
	case Succeeding, Succeeded:
		c.Status, c.Reason, c.Message = True, ReasonDriverSucceeded, "the driver ended with exit code 0"
	case Failing, Failed, SubmissionFailed:
		c.Status, c.Reason, c.Message = False, r.Cause.Reason, r.Cause.Message
	case Queued:
		c.Reason, c.Message = r.Cause.Reason, WaitingPrefix+r.Cause.Message
	case New, Submitted, Running:
	}
	return c
}
