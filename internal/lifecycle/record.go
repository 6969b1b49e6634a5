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

// Package lifecycle is the state machine of an application: pure functions from what is recorded and observed to what
// shall be done (Decide), and from what was done to what is true then (Settle).
//
// One reconcile is one Decide, its actions in order, one Settle. Nothing here reads a clock or the cluster: time and
// observations are arguments.
package lifecycle

import "time"

// State is where an application stands, in words of no API family.
type State string

const (
	// New has not been looked at.
	New State = ""
	// Queued waits for something before its driver may be created.
	Queued State = "Queued"
	// Submitted has a driver pod that does not run yet.
	Submitted State = "Submitted"
	// Running has a running driver.
	Running State = "Running"
	// Succeeding has a driver that ended well; nothing is concluded yet.
	Succeeding State = "Succeeding"
	// Failing has a driver that failed or is gone; nothing is concluded yet.
	Failing State = "Failing"
	// Succeeded is final.
	Succeeded State = "Succeeded"
	// Failed is final, but for an application that never ran and whose spec is changed.
	Failed State = "Failed"
	// SubmissionFailed says that the API server refused the driver. It is final, as Failed is.
	SubmissionFailed State = "SubmissionFailed"
)

// States lists all of them.
func States() []State {
	return []State{New, Queued, Submitted, Running, Succeeding, Failing, Succeeded, Failed, SubmissionFailed}
}

// Final reports whether only a change of the spec can lead out of the state.
func (s State) Final() bool {
	return s == Succeeded || s == Failed || s == SubmissionFailed
}

// ExecutorState is the state of one executor pod.
type ExecutorState string

// The states of an executor.
const (
	ExecutorPending   ExecutorState = "Pending"
	ExecutorRunning   ExecutorState = "Running"
	ExecutorSucceeded ExecutorState = "Succeeded"
	ExecutorFailed    ExecutorState = "Failed"
	// ExecutorLost was seen before and is not any more, while its application still runs.
	ExecutorLost ExecutorState = "Lost"
)

// Ended reports whether the executor cannot change any more.
func (s ExecutorState) Ended() bool { return s == ExecutorSucceeded || s == ExecutorFailed }

// Record is what cannot be observed again. It lives in the status of the application.
type Record struct {
	State State
	// Generation of the spec that the state was decided from; 0 before the first decision.
	Generation int64
	// Attempt counts runs from 1. Attempt 1 is implied: it needs no record to act.
	Attempt int32
	// Submissions counts how often a driver was to be created, Executions how often one was.
	Submissions int32
	Executions  int32
	// SubmittedAt is when the current attempt's driver was created or refused.
	SubmittedAt time.Time
	// TerminatedAt is when the driver was found ended.
	TerminatedAt time.Time
	// Cause explains a failure, or what a Queued application waits for.
	Cause Cause
	// SparkAppID is Spark's own id of the current attempt, SubmissionID the mark of its pods. The latter is recorded
	// because an operator before this one may have chosen it.
	SparkAppID   string
	SubmissionID string
	// DriverName is the name of the driver pod.
	DriverName string
	// Executors are the executors seen in this attempt, by pod name.
	Executors map[string]ExecutorState
}

// Started reports whether a driver of the current attempt was created, or the attempt was given up.
func (r Record) Started() bool { return r.State != New && r.State != Queued }

// NeverRan reports whether no driver of the application was ever created.
func (r Record) NeverRan() bool { return r.Executions == 0 }

// Cause is a reason of the closed list and a sentence for people.
type Cause struct {
	Reason  Reason
	Message string
}

// Reason says in one word why an application is where it is. The list is closed and documented; a scheduler's reasons
// (package scheduler) are passed through.
type Reason string

const (
	// ReasonInvalidSpec : the spec cannot be run as it is.
	ReasonInvalidSpec Reason = "InvalidSpec"
	// ReasonSuspended : spec.suspend holds the application back.
	ReasonSuspended Reason = "Suspended"
	// ReasonNameConflict : an object that is not ours has a name that we need.
	ReasonNameConflict Reason = "NameConflict"
	// ReasonFormerDriver : the driver pod of an earlier attempt still has the name.
	ReasonFormerDriver Reason = "FormerDriver"
	// ReasonQuotaExceeded : a ResourceQuota has no room for the driver pod at present.
	ReasonQuotaExceeded Reason = "QuotaExceeded"
	// ReasonNamespaceTerminating : nothing can be created in a namespace that is being deleted.
	ReasonNamespaceTerminating Reason = "NamespaceTerminating"
	// ReasonOperatorForbidden : the operator's own RBAC does not allow the call.
	ReasonOperatorForbidden Reason = "OperatorForbidden"
	// ReasonSubmissionRefused : the API server refused an object for good.
	ReasonSubmissionRefused Reason = "SubmissionRefused"
	// ReasonDriverCreated : the driver pod and what it needs exist.
	ReasonDriverCreated Reason = "DriverCreated"
	// ReasonDriverPending : the driver pod waits for a node, an image or a volume.
	ReasonDriverPending Reason = "DriverPending"
	// ReasonDriverRunning : the driver's container runs.
	ReasonDriverRunning Reason = "DriverRunning"
	// ReasonDriverSucceeded : the driver's container ended with exit code 0.
	ReasonDriverSucceeded Reason = "DriverSucceeded"
	// ReasonDriverFailed : the driver's container ended with another exit code, or its pod failed.
	ReasonDriverFailed Reason = "DriverFailed"
	// ReasonDriverNotFound : the driver pod disappeared before its end was seen.
	ReasonDriverNotFound Reason = "DriverNotFound"
	// ReasonNotSubmitted : there is no driver yet.
	ReasonNotSubmitted Reason = "NotSubmitted"
	// ReasonInProgress : the outcome is not known yet.
	ReasonInProgress Reason = "InProgress"
)
