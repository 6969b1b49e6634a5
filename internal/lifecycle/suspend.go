// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// stoppable reports whether a suspension changes the record's state. An ended application keeps its outcome.
func stoppable(r Record) bool {
	switch r.State {
	case Submitted, Running, Rerunning, Resuming, Invalidating:
		return true
	case SubmissionFailed:
		return !r.NeverRan()
	case New, Queued, Succeeding, Failing, Suspending, Suspended, Succeeded, Failed:
	}
	return false
}

// stopping returns the cause while a driver is being deleted.
func stopping(f spark.Fields, r Record) Cause {
	if !r.Idle.StoppedAt.IsZero() {
		return idleCause(f, idleStopping)
	}
	return Cause{ReasonSuspended, f.Text("{suspend} is true: the driver is being stopped")}
}

// suspending delays the next attempt. The history keeps the end of the last one.
func suspending(p Plan) Plan {
	p.Record.State, p.Record.Cause, p.Requeue = Suspending, stopping(p.App.Fields, p.Record), unknownRetry
	return p
}

// decideSuspending stops the driver.
func decideSuspending(p Plan, obs Observation, env Env) Plan {
	d := obs.Driver
	p.Requeue = unknownRetry
	if d.Is(Current) && p.Record.Current() == nil { // a reconcile that crashed before its status write created the driver
		c := p.Record.Cause
		p.Record = adopted(p.Record, p.App, d, obs.Chosen)
		p.Record.State, p.Record.Cause = Suspending, c
	}
	switch {
	case d.Presence == Unknown:
	case d.Is(Current) && d.Phase == DriverSucceeded && p.Record.Current() != nil && p.Record.TerminatedAt.IsZero():
		return decideRun(p, obs, env) // the driver ended before its deletion
	case d.ours() && d.overdue(env.Now):
		p.Requeue = heartbeat
		why := p.App.Fields.Text("{suspend} is true")
		if p.Record.idle() {
			why = "it is idle"
		}
		p.Record.Cause = Cause{ReasonNodeLost, "driver pod " + d.Name + " must stop because " + why + "; it " + stuckAdvice}
	case d.ours():
		if !d.Deleting {
			p.Actions = []Action{{Kind: DeleteDriver, UID: d.UID}}
		}
	default:
		end := Cause{ReasonSuspended, p.App.Fields.Text("the driver was stopped because {suspend} was true")}
		if p.Record.idle() {
			end = idleCause(p.App.Fields, idleEnded)
		}
		p.Record = concluded(closed(p.Record, "", end, env), obs, ExecutorFailed)
		p.Record.State, p.Record.Cause = Suspended, noDriver(p.App.Fields, p.Record.idle())
		p = release(p)
	}
	return p
}

// noDriver returns the cause while an application is suspended and has no driver.
func noDriver(f spark.Fields, idle bool) Cause {
	if idle {
		return idleCause(f, idleStopped)
	}
	return Cause{ReasonSuspended, f.Text("{suspend} is true: there is no driver until it is false")}
}

// decideSuspended waits for the end of the suspension. Then it begins the next attempt, or continues a current attempt that has had no driver.
func decideSuspended(p Plan, obs Observation) Plan {
	if d := obs.Driver; d.orphan() {
		p.Actions, p.Requeue = []Action{{Kind: DeleteDriver, UID: d.UID}}, unknownRetry
		return p
	}
	if p.App.Suspend {
		p.Record.Cause = noDriver(p.App.Fields, !p.Record.Idle.StoppedAt.IsZero())
		return p
	}
	c := Cause{ReasonResumed, p.App.Fields.Text("{suspend} is false again: the application runs again")}
	if p.Record.idle() {
		c = Cause{ReasonWoken, p.App.Fields.Text("a client needs the driver that was stopped as idle: the application runs again")}
	}
	if p.Record.Current() == nil && (len(p.Record.Attempts) > 0 || p.Record.NeverRan()) {
		p.Record.State, p.Record.Cause = Resuming, c
		p.Record.Scheduling = p.Record.Scheduling.held()                    // the spec may name another scheduler or queue now
		p.Record.QueuedAt, p.Record.TerminatedAt = time.Time{}, time.Time{} // the attempt has not started, so its wait begins now
	} else {
		p.Record = nextAttempt(p.Record, Resuming, c)
	}
	p.Requeue = unknownRetry
	return p
}
