// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "time"

// Policies are the user's wishes about an application's life, with defaults filled in.
type Policies struct {
	Restart   Restart
	Deadlines Deadlines
	Retention Retention
}

// RestartType is the outcome after which an application runs again.
type RestartType string

// The restart types.
const (
	Never     RestartType = "Never"
	OnFailure RestartType = "OnFailure"
	Always    RestartType = "Always"
)

// FailureClass is a kind of failure with a budget of its own.
type FailureClass string

// The failure classes.
const (
	// Infrastructure : the cluster ended the attempt (eviction, preemption, a lost node, a deleted driver pod).
	Infrastructure FailureClass = "Infrastructure"
	// Submission : the API server refused the driver.
	Submission FailureClass = "Submission"
	// OutOfMemory : the driver's container was killed because it used more memory than it may.
	OutOfMemory FailureClass = "OutOfMemory"
	// ApplicationExit : the driver ended with another exit code than 0.
	ApplicationExit FailureClass = "Application"
	// Evicted : the application's batch scheduler took the driver's place away. It has a budget whatever the restart type.
	Evicted FailureClass = "Evicted"
	// Deadline : a stage took longer than it may. It is never retried.
	Deadline FailureClass = "Deadline"
)

// FailureClasses lists those that have a budget.
func FailureClasses() []FailureClass {
	return []FailureClass{Infrastructure, Submission, OutOfMemory, ApplicationExit}
}

// Restart says when an application runs again.
type Restart struct {
	Type RestartType
	// Failures is the rule for the classes of a run without one in Classes, which share its budget; Submissions is that of
	// refused submissions.
	Failures    Rule
	Submissions Rule
	Evictions   Rule
	Classes     map[FailureClass]Rule
	// RetryExitCodes, unless empty, are the only exit codes worth another attempt; FailExitCodes are never.
	RetryExitCodes []int32
	FailExitCodes  []int32
	// ResetAfter gives all budgets back once a driver has run this long; 0 for never.
	ResetAfter time.Duration
}

// Rule is a budget and the wait before the next attempt.
type Rule struct {
	Retries int32
	// Initial is the wait after the first failure. It is doubled with each failure in a row, or, if Linear, grows by
	// itself.
	Initial time.Duration
	Max     time.Duration
	Linear  bool
}

// Deadlines bound the stages of an attempt; 0 is no bound.
type Deadlines struct {
	Queued          time.Duration
	DriverScheduled time.Duration
	DriverReady     time.Duration
	FirstExecutors  time.Duration
	Run             time.Duration
}

// Retention says how long what of a finished application is kept.
type Retention struct {
	OnSuccess Keep
	OnFailure Keep
}

// Keep holds times since the end of the application; nil keeps it with the application.
type Keep struct {
	DriverPod   *time.Duration
	Resources   *time.Duration
	Application *time.Duration
}
