// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Policies are the user's restart, deadline and retention settings of an application, with defaults filled in.
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
	// Evicted : the application's batch scheduler took the driver's place away. It has a budget whatever the restart type; with
	// Never that is for drivers that have not started.
	Evicted FailureClass = "Evicted"
	// Deadline : a stage took longer than it may. It is never retried by a budget.
	Deadline FailureClass = "Deadline"
	// StartTimeout : a run that is followed (Tracking) did not start, or not with its executors, in the time that it has. No budget knows it.
	StartTimeout FailureClass = "StartTimeout"
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
	Failures    RetryPolicy
	Submissions RetryPolicy
	// Evictions is the rule for drivers that the batch scheduler took down.
	Evictions RetryPolicy
	// RestartsEvicted says that with Never a driver that was evicted after it had started runs again, too: the user has asked for
	// it. Without, only a driver that never started is submitted again.
	RestartsEvicted bool
	Classes         map[FailureClass]RetryPolicy
	// RetryExitCodes, unless empty, are the only exit codes worth another attempt; FailExitCodes are never.
	RetryExitCodes []int32
	FailExitCodes  []int32
	// ResetAfter gives all budgets back once a driver has run this long; 0 for never.
	ResetAfter time.Duration
	// Counted, if set, is in place of all budgets but Evictions.
	Counted *Counted
	// PerHour is how often the application may run again within an hour, after whatever; nil for DefaultRetriesPerHour, which is also
	// the most that there is.
	PerHour *int32
}

// RetryPolicy is a budget and the wait before the next attempt.
type RetryPolicy struct {
	Retries int32
	// Initial is the wait after the first failure. It is doubled with each failure in a row, or, if Linear, grows by
	// itself.
	Initial time.Duration
	Max     time.Duration
	Linear  bool
}

// Unbounded is a deadline that the user has turned off: a policy does not set it.
const Unbounded time.Duration = -1

// Deadlines bound the stages of an attempt; 0 and Unbounded are no bound.
type Deadlines struct {
	Queued          time.Duration
	DriverScheduled time.Duration
	DriverReady     time.Duration
	FirstExecutors  time.Duration
	Run             time.Duration
}

// Retention says how long what of a finished application is kept.
type Retention struct {
	OnSuccess TTLs
	OnFailure TTLs
}

// TTLs holds times since the end of the application; nil keeps it with the application.
type TTLs struct {
	DriverPod   *time.Duration
	Resources   *time.Duration
	Application *time.Duration
}

// stage is what an attempt is in the middle of, since when, and how long it may take.
type stage struct {
	since  time.Time
	limit  time.Duration
	reason Reason
	class  FailureClass
	text   string
}

// remaining is how long the stage may still take; ok is false if it has no bound.
func (s stage) remaining(now time.Time) (left time.Duration, ok bool) {
	if s.limit <= 0 || s.since.IsZero() {
		return 0, false
	}
	return s.since.Add(s.limit).Sub(now), true
}

func (s stage) cause(f spark.Fields) Cause {
	return Cause{s.reason, fmt.Sprintf(f.Text(s.text), s.limit)}
}

// stages are those that a submitted attempt is in.
func stages(app Application, rec Record, d Driver) []stage {
	var followed []stage
	if t := app.Tracking; t != nil {
		followed = t.stages(rec)
	}
	return append(followed, podStages(app, rec, d)...)
}

// podStages are those that the pod of a driver is in.
func podStages(app Application, rec Record, d Driver) []stage {
	limits := app.Policies.Deadlines
	if d.Phase == DriverPending {
		if d.ScheduledAt.IsZero() {
			return []stage{{d.CreatedAt, limits.DriverScheduled, ReasonSchedulingTimeout, Infrastructure,
				"the driver pod was not scheduled within %s ({deadlines.driverScheduled})"}}
		}
		return []stage{{d.ScheduledAt, limits.DriverReady, ReasonReadyTimeout, Infrastructure,
			"the driver's container did not start within %s after its pod was scheduled ({deadlines.driverReady})"}}
	}
	running := stage{d.StartedAt, limits.Run, ReasonRunTimeout, Deadline, "the driver ran longer than %s ({deadlines.run})"}
	if rec.executed() {
		return []stage{running}
	}
	return []stage{
		{d.StartedAt, limits.FirstExecutors, ReasonExecutorsTimeout, Deadline, "no executor started within %s after the driver ({deadlines.firstExecutors})"},
		running,
	}
}

func queueStage(app Application, rec Record) stage {
	return stage{rec.QueuedAt, app.Policies.Deadlines.Queued, ReasonQueueTimeout, Deadline,
		"the application waited longer than %s for its driver ({deadlines.queued})"}
}

// overdue returns the first stage that took too long, or else when the next one will have.
func overdue(all []stage, now time.Time, heartbeat time.Duration) (late *stage, next time.Duration) {
	next = heartbeat
	for i := range all {
		left, bounded := all[i].remaining(now)
		switch {
		case !bounded:
		case left <= 0:
			return &all[i], 0
		default:
			next = min(next, left)
		}
	}
	return nil, next
}
