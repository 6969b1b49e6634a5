// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

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
	limits := app.Policies.Deadlines
	if d.Phase == DriverPending {
		if d.ScheduledAt.IsZero() {
			return []stage{{d.CreatedAt, limits.DriverScheduled, ReasonSchedulingTimeout, Infrastructure, "the driver pod got no node within %s ({deadlines.driverScheduled})"}}
		}
		return []stage{{d.ScheduledAt, limits.DriverReady, ReasonReadyTimeout, Infrastructure, "the driver's container did not run within %s after its pod got a node ({deadlines.driverReady})"}}
	}
	running := stage{d.StartedAt, limits.Run, ReasonRunTimeout, Deadline, "the driver ran longer than %s ({deadlines.run})"}
	if rec.executed() {
		return []stage{running}
	}
	return []stage{
		{d.StartedAt, limits.FirstExecutors, ReasonExecutorsTimeout, Deadline, "no executor ran within %s after the driver ({deadlines.firstExecutors})"},
		running,
	}
}

func queueStage(app Application, rec Record) stage {
	return stage{rec.QueuedAt, app.Policies.Deadlines.Queued, ReasonQueueTimeout, Deadline, "the application waited longer than %s for its driver ({deadlines.queued})"}
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
