// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the state machine of an application: pure functions from what is recorded and observed to what
// shall be done (Decide), and from what was done to what is true then (Settle).
//
// One reconcile is one Decide, its actions in order, one Settle. Nothing here reads a clock or the cluster: time and
// observations are arguments.
package lifecycle

// State is where an application stands, in words of no API family.
type State string

const (
	// New has not been looked at.
	New State = ""
	// Queued waits for something before its first driver may be created.
	Queued State = "Queued"
	// Submitted has a driver pod that does not run yet.
	Submitted State = "Submitted"
	// Running has a running driver.
	Running State = "Running"
	// Succeeding has a driver that ended well; it is over, or runs again after a wait.
	Succeeding State = "Succeeding"
	// Failing has a driver that failed, is gone or is being given up; it is over, or runs again after a wait.
	Failing State = "Failing"
	// Rerunning waits for its next driver: the former one has to go first.
	Rerunning State = "Rerunning"
	// Invalidating has a driver that was made from a spec which has changed since.
	Invalidating State = "Invalidating"
	// Suspending has a driver that is being stopped because spec.suspend is true.
	Suspending State = "Suspending"
	// Suspended has run before and has no driver as long as spec.suspend is true.
	Suspended State = "Suspended"
	// Resuming waits for its next driver after a suspension.
	Resuming State = "Resuming"
	// SubmissionFailed says that the API server refused the driver; it is over, or submitted again after a wait.
	SubmissionFailed State = "SubmissionFailed"
	// Succeeded is final until the spec changes.
	Succeeded State = "Succeeded"
	// Failed is final until the spec changes.
	Failed State = "Failed"
)

// States lists all of them.
func States() []State {
	return []State{
		New, Queued, Submitted, Running, Succeeding, Failing, Rerunning, Invalidating,
		Suspending, Suspended, Resuming, SubmissionFailed, Succeeded, Failed,
	}
}

// Final reports whether only a change of the spec can lead out of the state.
func (s State) Final() bool { return s == Succeeded || s == Failed }

// HasDriver reports whether the attempt has a driver that runs or is about to.
func (s State) HasDriver() bool { return s == Submitted || s == Running }

// Starting reports whether the next thing to happen in the state is a driver.
func (s State) Starting() bool {
	return s == New || s == Queued || s == Rerunning || s == Resuming || s == SubmissionFailed
}
