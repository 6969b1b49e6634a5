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
	// Infrastructure : the cluster ended the attempt (eviction, preemption, lost node, deleted driver pod).
	Infrastructure FailureClass = "Infrastructure"
	// Submission : the API server refused the driver.
	Submission FailureClass = "Submission"
	// OutOfMemory : the driver's container was killed for its memory use.
	OutOfMemory FailureClass = "OutOfMemory"
	// ApplicationExit : the driver ended with a non-zero exit code.
	ApplicationExit FailureClass = "Application"
	// Evicted : the batch scheduler evicted the driver. It has a budget with every restart type. With Never, only drivers that have not started are retried.
	Evicted FailureClass = "Evicted"
	// Deadline : a stage took too long. It is never retried.
	Deadline FailureClass = "Deadline"
	// StartTimeout : the driver or the initial executors of a tracked run (Tracking) did not start in time. It has no budget.
	StartTimeout FailureClass = "StartTimeout"
)

// FailureClasses lists the classes with a budget.
func FailureClasses() []FailureClass {
	return []FailureClass{Infrastructure, Submission, OutOfMemory, ApplicationExit}
}

// Restart determines when an application runs again.
type Restart struct {
	Type RestartType
	// Failures is the rule and the shared budget of classes without an entry in Classes. Submissions is the rule of refused submissions.
	Failures    RetryPolicy
	Submissions RetryPolicy
	// Evictions is the rule of drivers that the batch scheduler evicted.
	Evictions RetryPolicy
	// RestartsEvicted retries evicted drivers with the restart type Never even after their start, because the user asked for it. Otherwise only drivers that
	// never started are retried.
	RestartsEvicted bool
	Classes         map[FailureClass]RetryPolicy
	// RetryExitCodes, if set, are the only exit codes that are retried. FailExitCodes are never retried.
	RetryExitCodes []int32
	FailExitCodes  []int32
	// ResetAfter is the run time of a driver that refills all budgets; 0 for never.
	ResetAfter time.Duration
	// Counted, if set, replaces all budgets except Evictions.
	Counted *Counted
	// PerHour limits restarts within an hour, for any cause; nil for the maximum, DefaultRetriesPerHour.
	PerHour *int32
}

// RetryPolicy is a budget and the wait before the next attempt.
type RetryPolicy struct {
	Retries int32
	// Initial is the wait after the first failure. The wait doubles with each consecutive failure; if Linear, it grows by Initial.
	Initial time.Duration
	Max     time.Duration
	Linear  bool
}

// Unbounded is a deadline that the user turned off. Policies do not replace it.
const Unbounded time.Duration = -1

// Deadlines bound the stages of an attempt; 0 and Unbounded mean no bound.
type Deadlines struct {
	Queued          time.Duration
	DriverScheduled time.Duration
	DriverReady     time.Duration
	FirstExecutors  time.Duration
	Run             time.Duration
}

// Retention configures how long the parts of a finished application are kept.
type Retention struct {
	OnSuccess TTLs
	OnFailure TTLs
}

// TTLs are durations from the application's end to the deletion of its parts; nil keeps a part as long as the application.
type TTLs struct {
	DriverPod   *time.Duration
	Resources   *time.Duration
	Application *time.Duration
}

// stage is a phase of an attempt, with its start and its limit.
type stage struct {
	since  time.Time
	limit  time.Duration
	reason Reason
	class  FailureClass
	text   string
}

// remaining returns the time left in the stage; ok is false if it has no bound.
func (s stage) remaining(now time.Time) (left time.Duration, ok bool) {
	if s.limit <= 0 || s.since.IsZero() {
		return 0, false
	}
	return s.since.Add(s.limit).Sub(now), true
}

func (s stage) cause(f spark.Fields) Cause {
	return Cause{s.reason, fmt.Sprintf(f.Text(s.text), s.limit)}
}

// stages returns the current stages of a submitted attempt.
func stages(app Application, rec Record, d Driver) []stage {
	var followed []stage
	if t := app.Tracking; t != nil {
		followed = t.stages(rec)
	}
	return append(followed, podStages(app, rec, d)...)
}

// podStages returns the current stages of a driver pod.
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

// overdue returns the first stage past its limit. If there is none, next is the time until the next limit, at most the heartbeat.
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
