// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const (
	// firstRecheck is the delay of the first check of a pending driver pod. The kubelet reports some failures only in events. Later checks follow after half
	// the pod's age, at most after maxRecheck.
	firstRecheck = 5 * time.Second
	maxRecheck   = time.Minute
)

// decideRun follows a created driver.
func decideRun(p Plan, obs Observation, env Env) Plan {
	p.Record = withExecutors(p.Record, obs)
	if p.Record.Current() == nil { // another operator recorded no attempt
		p.Record.Attempts = appendAttempt(p.Record.Attempts, Attempt{Number: p.Record.Attempt, SubmissionID: p.Record.SubmissionID})
	}
	d := obs.Driver
	if d.unclaimed(env.Now) {
		d.Waiting.Cause = Cause{ReasonDriverPending, "no scheduler has processed the driver pod; check that the scheduler named in its schedulerName is running"}
		p.Driver = d
	}
	switch {
	case d.Presence == Unknown:
		p.Requeue = unknownRetry
		return p
	case obs.Scheduler.Stage == scheduler.StageRefused:
		return failing(p, "", observedCause(obs.Scheduler), d, env)
	case obs.Scheduler.Ended() && d.Phase != DriverSucceeded:
		return failing(p, Evicted, observedCause(obs.Scheduler), d, env)
	case !d.ours() || d.Is(Previous) && d.SubmissionID != p.Record.SubmissionID:
		// The pod with the driver's name does not belong to this application.
		return failing(p, Infrastructure, Cause{ReasonDriverNotFound, "driver pod not found: it was deleted before its end was observed"}, Driver{}, env)
	case d.over():
		return decideEnd(p, obs, env)
	case d.lost(env.Now):
		return failing(p, Infrastructure, Cause{ReasonNodeLost, "the driver pod is being deleted, and its node does not confirm that it has stopped"}, d, env)
	}
	if t := p.App.Tracking; t != nil {
		p.Record.Progress = t.next(p.Record.Progress, obs, env.Now)
	}
	late, left := overdue(stages(p.App, p.Record, d), env.Now, heartbeat)
	if late != nil {
		return failing(p, late.class, lateCause(p, *late), d, env)
	}
	p.Record, p.Requeue = started(p.Record, d), left
	if again := obs.Scheduler.RetryAfter; again > 0 {
		p.Requeue = min(p.Requeue, again)
	}
	p.Record.State = Running
	if d.Phase == DriverPending {
		p.Record.State = Submitted
		p.Requeue = min(p.Requeue, recheck(d, env.Now))
	}
	if d.Deleting {
		p.Requeue = min(p.Requeue, max(d.GoneAt.Sub(env.Now), unknownRetry))
	}
	if p.App.Endures && d.Phase == DriverRunning {
		return serving(p, obs, env)
	}
	return withTemplate(p, d)
}

// lateCause explains an expired deadline, with the reason why the driver or its executors waited.
func lateCause(p Plan, late stage) Cause {
	c, why := late.cause(p.App.Fields), p.Driver.Waiting.Detailed().Message
	if late.reason == ReasonExecutorsTimeout {
		why = p.Record.Missing.Cause().Message
	}
	if why != "" {
		c.Message += ": " + why
	}
	return c
}

// recheck returns the delay until the next check of a pending driver pod. A pod that has no node and says why has no kubelet to check.
func recheck(d Driver, now time.Time) time.Duration {
	if d.ScheduledAt.IsZero() && d.Waiting.Reason != "" {
		return heartbeat
	}
	return min(max(now.Sub(d.CreatedAt)/2, firstRecheck), maxRecheck)
}

// maintained keeps the objects of a running driver: the scheduler's, and those it was created with. If two operators both believe to be the leader, one may
// delete the ConfigMap of its refused submission while the other creates the driver. Without a deadline, that driver would wait forever.
func maintained(p Plan) Plan {
	d := p.Driver
	if !p.Record.State.HasDriver() {
		p.Record.Placement.Outdated, p.Record.Placement.Problem = false, "" // this driver creates no more executors
	}
	if s := p.Record.State; s != Submitted && s != Running || !d.ours() || !d.live() {
		return p
	}
	if len(p.Scheduler.Apply)+len(p.Scheduler.Delete) > 0 {
		p.Actions = append(p.Actions, Action{Kind: Adjust})
	}
	lacks := p.Before.State == Submitted && p.Record.State == Submitted && d.Waiting.Reason == ReasonVolume
	if lacks && d.Is(Current) && !d.Deleting && d.SpecHash == p.App.SpecHash && !p.App.Suspend && !p.App.FollowsOthers(p.Record) {
		p.Actions = append(p.Actions, Action{Kind: Restore})
	}
	return p
}

// decideEnd follows a driver that has ended. It first records the state Running, which watchers expect, even if the reconcile is late.
func decideEnd(p Plan, obs Observation, env Env) Plan {
	d := obs.Driver
	switch {
	case p.Record.State == Submitted && d.ran():
		p.Record, p.Requeue = started(p.Record, d), unknownRetry
		p.Record.State = Running
		return p
	case d.Phase != DriverSucceeded:
		class, cause := failureOf(p.App, d)
		return failing(p, class, cause, d, env)
	}
	p.Record = closed(started(p.Record, d), "", Cause{ReasonDriverSucceeded, "the driver finished with exit code 0"}, env)
	p.Record.State, p.Record.Cause, p.Requeue = Succeeding, Cause{}, unknownRetry
	p.Record.Retries.Used = nil // this refills the budgets, and keeps the raised memory
	if _, _, again := repeatAt(p.App, p.Record); again || p.Record.SpecHash != p.App.SpecHash {
		return p // the application runs again; a driver found after a crash may have an earlier spec
	}
	return decideSucceeding(p, obs, env)
}

// started records the driver's start time, which is unknown after the pod's deletion.
func started(r Record, d Driver) Record {
	if a := r.Current(); a != nil && a.StartedAt.IsZero() {
		a.StartedAt = d.StartedAt
	}
	return r
}

// failing ends an attempt. Its driver may need to be stopped.
func failing(p Plan, class FailureClass, c Cause, d Driver, env Env) Plan {
	r := started(p.Record, d)
	r.DrainSince = time.Time{}
	healthy := p.App.Policies.Restart.ResetAfter
	if a := r.Current(); healthy > 0 && a != nil && !a.StartedAt.IsZero() && env.Now.Sub(a.StartedAt) >= healthy {
		r.Retries.Used = nil
	}
	r = closed(r, class, c, env)
	if a := r.Current(); a != nil {
		if (d.Phase == DriverFailed || d.Restarted) && d.Exit.Code >= 0 {
			a.ExitCode = &d.Exit.Code
		}
		a.LogTail = d.LogTail
		a.Withdrawn = a.withdrawn(d) && (d.Deleting || !d.live())
	}
	r.Attempts = boundAttempts(r.Attempts)
	r.State, r.Cause = Failing, c
	p.Record, p.Requeue = r, unknownRetry
	return p
}

// decideFailing stops the driver of a failed attempt. Then it ends the application or begins the next attempt.
func decideFailing(p Plan, obs Observation, env Env) Plan {
	d := obs.Driver
	switch {
	case d.Presence == Unknown:
		p.Requeue = unknownRetry
		return p
	case d.ours() && d.live() && !d.lost(env.Now):
		return stopFailed(p, d)
	}
	if a := p.Record.Current(); a != nil && d.ours() && d.Unplaced == "" {
		a.Withdrawn = false // the pod got a node in the meantime
	}
	p = release(p)
	at, again := RetryAt(p.App, p.Record)
	switch {
	case !again:
		p.Record = concluded(p.Record, obs, ExecutorFailed)
		p.Record.State, p.Requeue = Failed, unknownRetry
		return p
	case p.App.Suspend:
		return suspending(p)
	case env.Now.Before(at):
		p.Requeue = at.Sub(env.Now)
		return p
	}
	class := p.Record.Current().Class
	p.Record = used(p.App, p.Record, class)
	if class == OutOfMemory && p.App.RaisesMemory {
		p.Record.Retries.MemoryRaises++
	}
	return rerun(p, Cause{ReasonRerun, "the application runs again after: " + p.Record.Cause.Message})
}

// stopFailed deletes the driver of a failed attempt. If the scheduler withdrew a driver without a node, the delete requires the observed version, which proves
// that the driver never started.
func stopFailed(p Plan, d Driver) Plan {
	action := Action{Kind: DeleteDriver, UID: d.UID}
	if a := p.Record.Current(); a != nil {
		if a.Withdrawn = a.withdrawn(d); a.Withdrawn {
			action.Version = d.Unplaced
		}
	}
	if !d.Deleting {
		p.Actions = []Action{action}
	}
	p.Requeue = unknownRetry
	return p
}

// decideSucceeding ends the application, or begins the next attempt if the policy repeats successes.
func decideSucceeding(p Plan, obs Observation, env Env) Plan {
	p = release(p)
	at, _, again := repeatAt(p.App, p.Record)
	if !again {
		p.Record = concluded(p.Record, obs, ExecutorSucceeded)
		p.Record.State, p.Requeue = Succeeded, unknownRetry
		return p
	}
	if p.App.Suspend {
		return suspending(p)
	}
	if left := at.Sub(env.Now); left > 0 {
		p.Requeue = left
		return p
	}
	if next, ok := following(p.App, p.Record); ok {
		p.Record.Retries.Counters = next
	}
	return rerun(p, Cause{ReasonRerun, "the application completed and runs again (restart policy Always)"})
}
