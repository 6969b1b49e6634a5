// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// decideStart plans the start of an application without a driver.
func decideStart(p Plan, obs Observation, env Env) Plan {
	d := obs.Driver
	switch {
	case d.Is(Current) && refusedBefore(p, d):
		return clearRefused(p, d, env)
	case d.Is(Current), d.Is(Previous) && p.Record.unrecorded(d):
		// A reconcile that crashed before its status write created the driver, or another operator did.
		p.Record = adopted(p.Record, p.App, d, obs.Chosen)
		return decideRun(p, obs, env)
	case d.Is(Previous):
		return clearPrevious(p, d, env)
	case len(obs.Strays) > 0:
		return awaitPrevious(p, obs.Strays[0], env)
	case awaitsAdoption(p.App, p.Record):
		return awaitAdoption(p)
	case p.App.Suspend && !refusalCounts(p.App, p.Record):
		p.Record.QueuedAt, p.Record.TerminatedAt = time.Time{}, time.Time{} // a suspended application is not queued, and a refusal is not its end
		return wait(release(p), Cause{ReasonSuspended, p.App.Fields.Text("{suspend} is true: the driver is not created until it is false")}, heartbeat)
	case d.Presence == Unknown && p.Record.State == New:
		return wait(p, Cause{ReasonNotSubmitted, "the API server did not report whether there is a driver pod"}, unknownRetry)
	case d.Presence == Unknown:
		p.Requeue = unknownRetry
		return p
	}
	if held := p.Record.Scheduling.HeldAttempt; held != 0 && held != p.Record.Attempt {
		p.Requeue = unknownRetry
		return release(p) // the earlier attempt's pods are being deleted
	}
	if p.Record.State == SubmissionFailed {
		at, ok := RetryAt(p.App, p.Record)
		if !ok {
			p.Record.State, p.Requeue = Failed, unknownRetry
			return release(p)
		}
		if left := at.Sub(env.Now); left > 0 {
			p.Requeue = left
			return p
		}
		p.Record = used(p.App, p.Record, Submission)
		if p.App.Policies.Restart.Counted != nil { // each try is a new attempt
			return rerun(p, Cause{ReasonRerun, "the application is submitted again after: " + p.Record.Cause.Message})
		}
	}
	return decideQueue(p, d, env)
}

// rechosen drops the choice of an older spec if no scheduler was asked. Afterwards the record has the edit's generation, and the choice would look current.
func rechosen(p Plan) Plan {
	if p.Record.State.Starting() && p.Admission.Verdict == "" && !p.Before.SameSpec(p.App) {
		p.Record.Scheduling.Choice = scheduler.Choice{}
	}
	return p
}

// awaitsAdoption reports whether the application waits for a driver that another client started. Such an application creates no driver, because the other one
// already runs. An adopted driver and its successors are treated like any other.
func awaitsAdoption(app Application, r Record) bool { return app.Adopts != "" && r.NeverRan() }

// FollowsOthers reports whether the driver of the current attempt was, or will be, adopted from another client. Start deadlines do not apply to it, because it
// started long ago and some of its executors may be unknown.
func (a Application) FollowsOthers(r Record) bool { return a.Adopts != "" && r.Attempt <= 1 }

// awaitAdoption waits until the driver has the application's labels. Suspension, an invalid spec and policies do not end this wait, because they concern new
// drivers. No deadline applies, because the application is not queued.
func awaitAdoption(p Plan) Plan {
	p.Record.QueuedAt, p.Record.TerminatedAt = time.Time{}, time.Time{}
	pod := p.App.Adopts
	return wait(release(p), Cause{ReasonAwaitingAdoption, head(p.App.Fields.Text("{adopts} is ")+strconv.Quote(pod)+
		": the application waits until that driver pod has its labels; run kubectl spark adopt "+pod+
		" again, or remove the annotation to start a new driver", maxCondition)}, heartbeat)
}

// reversedRetry is the interval between checks of a refusal that an administrator can reverse. The operator also watches for most of these changes.
const reversedRetry = time.Minute

// GoesOnWaiting reports whether an attempt waits in spite of a refusal. It does if an administrator can reverse the refusal, and if the present spec has waited
// or run before.
func GoesOnWaiting(app Application, rec Record, a scheduler.Admission) bool {
	known := rec.State.Starting() && rec.State != New && rec.SameSpec(app) && (rec.Executions > 0 || rec.Scheduling.Scheduler != "")
	return a.Verdict == scheduler.Reject && a.Reversible && known
}

// decideQueue applies the admission. It clears the termination time of a refusal or of another operator, because the attempt has not started.
func decideQueue(p Plan, d Driver, env Env) Plan {
	p.Record.TerminatedAt = time.Time{}
	if p.Record.QueuedAt.IsZero() {
		p.Record.QueuedAt = env.Now
	}
	late, left := overdue([]stage{queueStage(p.App, p.Record)}, env.Now, heartbeat)
	switch {
	case late != nil:
		c := late.cause(p.App.Fields)
		if was := p.Record.Cause; was.Message != "" {
			c.Message += ": " + was.Message
		}
		p.Record = closed(p.Record, late.class, c, env)
		p.Record.State, p.Record.Cause, p.Requeue = Failed, c, unknownRetry
		return release(p)
	case GoesOnWaiting(p.App, p.Before, p.Admission):
		return wait(release(p), causeOf(p.Admission), min(left, max(p.Admission.RetryAfter, reversedRetry)))
	case p.Admission.Verdict == scheduler.Reject:
		if c := p.Admission.Choice; c.Scheduler != "" || !p.Before.SameSpec(p.App) {
			p.Record.Scheduling.Choice = c // this scheduler rejected the attempt; a choice for another spec did not
		}
		p.Record = closed(p.Record, "", causeOf(p.Admission), env)
		p.Record.State, p.Record.Cause, p.Requeue = Failed, causeOf(p.Admission), unknownRetry
		return release(p)
	}
	p.Record.Scheduling.Choice, p.Record.Scheduling.Warning = p.Admission.Choice, ""
	if s := p.Record.Scheduling; s.HeldAttempt != 0 && s.Scheduler != "" && s.Scheduler != s.HeldBy {
		return wait(release(p), causeOf(p.Admission), unknownRetry) // the scheduler has changed
	}
	if p.Admission.HasObjects() {
		if p.Record.Scheduling.HeldAttempt == 0 {
			// stored before the first action
			p.Record.Scheduling.HeldAttempt, p.Record.Scheduling.HeldBy = p.Record.Attempt, p.Admission.Choice.Scheduler
			return wait(p, causeOf(p.Admission), unknownRetry)
		}
		p.Actions = append(p.Actions, Action{Kind: Schedule})
	}
	switch {
	case p.Admission.Verdict != scheduler.Admit:
		return wait(p, causeOf(p.Admission), min(left, max(p.Admission.RetryAfter, time.Second)))
	case d.Is(NotOwned) && (d.Deleting || d.Predecessor):
		return awaitPredecessor(p, d, left, env)
	case d.Is(NotOwned):
		return wait(p, nameConflict(p.App.Fields, d.Name), min(left, env.Periods.conflict()))
	}
	p.Record.Scheduling.Warning = head(p.Admission.Warning, maxCondition)
	p.Actions = append(append(p.Actions, deletePrevious(p.Record)...), Action{Kind: Submit})
	return p
}

// deletePrevious deletes the objects of two earlier attempts: of the last one with a driver, and of the latest one, which may be incomplete.
func deletePrevious(r Record) []Action {
	if len(r.Attempts) == 0 {
		return nil
	}
	last := r.lastDriven()
	all := []Action{{Kind: DeleteResources, Attempt: last}}
	if last < r.Attempt-1 {
		all = append(all, Action{Kind: DeleteResources, Attempt: r.Attempt - 1})
	}
	return all
}

// clearPrevious deletes an earlier attempt's driver and waits until its name is free.
func clearPrevious(p Plan, d Driver, env Env) Plan {
	if !d.Deleting {
		p.Actions = []Action{{Kind: DeleteDriver, UID: d.UID}}
	}
	return awaitPrevious(p, d, env)
}

// refusedBefore reports whether the driver comes from a refused submission of the current attempt. With counted restarts each try is an attempt, so its driver
// is deleted. Otherwise this is a driver that is being deleted and never ran. It was created before the refusal.
func refusedBefore(p Plan, d Driver) bool {
	return p.Record.State == SubmissionFailed && p.App.Policies.Restart.Counted != nil || d.Deleting && !d.ran()
}

// clearRefused is clearPrevious for a refused submission. It does not store the state New.
func clearRefused(p Plan, d Driver, env Env) Plan {
	if p.Record.State == New {
		return wait(p, Cause{ReasonNotSubmitted, "driver pod " + d.Name + " is being deleted and has not run"}, unknownRetry)
	}
	return clearPrevious(p, d, env)
}

// awaitPrevious waits for the deletion of a driver. It records a cause only if the deletion is overdue.
func awaitPrevious(p Plan, d Driver, env Env) Plan {
	p.Requeue = unknownRetry
	if d.overdue(env.Now) {
		p.Requeue = heartbeat
		if p.Record.State != SubmissionFailed { // the status still shows the refusal
			p.Record.Cause = Cause{ReasonPreviousDriver, "driver pod " + d.Name + " of the previous attempt " + stuckAdvice}
		}
	}
	return p
}

// orphanTime is how long the garbage collector may take to delete the driver of a deleted application.
const orphanTime = 30 * time.Second

// awaitPredecessor waits for the deletion of another pod with the driver's name. It deletes the pod if the garbage collector has not done so within orphanTime.
func awaitPredecessor(p Plan, d Driver, left time.Duration, env Env) Plan {
	whose, cause := "pod "+d.Name, Cause{Reason: ReasonPreviousApplication}
	if d.Predecessor {
		whose += " of a deleted application of this name"
	}
	cause.Message = whose + " is ending; the driver starts when it is gone"
	switch {
	case d.overdue(env.Now):
		cause = Cause{ReasonPreviousDriver, whose + " " + stuckAdvice}
	case !d.Deleting && env.Now.Sub(p.Record.QueuedAt) >= orphanTime:
		p.Actions = append(p.Actions, Action{Kind: DeleteDriver, UID: d.UID})
	}
	return wait(p, cause, min(left, env.Periods.conflict()))
}

// stuckAdvice is the advice about a pod whose deletion is overdue.
const stuckAdvice = "is not deleted in time, because its node does not respond or a finalizer blocks it; recover the node, " +
	"delete the node, or, if the pod is certainly not running, delete it with --force"

func wait(p Plan, c Cause, requeue time.Duration) Plan {
	switch {
	case p.Record.NeverRan():
		p.Record.State = Queued
	case p.Record.State != Resuming:
		p.Record.State = Rerunning
	}
	p.Record.Cause, p.Requeue = c, requeue
	return p
}

// submitted records the driver that Submit created or found.
func submitted(r Record, app Application, found bool, now time.Time) Record {
	r.Submissions++
	r.SubmissionID, r.SparkAppID, r.DriverName = app.SubmissionID, app.SparkAppID, app.DriverName
	r.Placement, r.Progress = Placement{Rest: r.Placement.Rest, Made: app.Placement.Made}, Progress{}
	if found {
		r.Placement = foundPlacement(app, r.Placement.Rest)
	}
	return created(r, now)
}

// AdoptsDriver reports whether Decide records a driver of the present spec that no status has. Its scheduler was not stored either, so it is chosen again
// (Observation.Chosen), unless the attempt has scheduler objects.
func AdoptsDriver(app Application, rec Record, d Driver, env Env) bool {
	r := applySpecChanges(app, rec, env)
	present := d.SpecHash == r.SpecHash && (d.SpecHash != "" || rec.Generation == app.Generation || app.Generation == 1)
	return d.Is(Current) && r.Current() == nil && (r.State.Starting() || r.State == Suspending) && present && r.Scheduling.HeldAttempt != r.Attempt
}

// adopted records an existing driver, and its scheduler if known.
func adopted(r Record, app Application, d Driver, chosen scheduler.Choice) Record {
	r.Submissions++
	r.SubmissionID, r.SparkAppID, r.DriverName = d.SubmissionID, d.SparkAppID, d.Name
	r.Placement = Placement{Rest: r.Placement.Rest}
	switch d.SpecHash {
	case r.SpecHash:
		r.Placement = foundPlacement(app, r.Placement.Rest)
	case "":
	default:
		// The spec has changed since the driver was created. The record has an older generation, so that the next step reads the spec again.
		r.SpecHash, r.Generation, r.Placement = d.SpecHash, max(0, r.Generation-1), Placement{}
	}
	if chosen.Scheduler != "" {
		r.Scheduling.Choice = chosen
	}
	return created(r, d.CreatedAt)
}

func created(r Record, at time.Time) Record {
	r.Scheduling.AdmittedAt = at
	r.State, r.Cause, r.Missing = Submitted, Cause{}, Missing{}
	r.SubmittedAt, r.TerminatedAt = at, time.Time{}
	r.Executions++
	r.Attempts = appendAttempt(r.Attempts, Attempt{Number: r.Attempt, SubmissionID: r.SubmissionID})
	return r
}

func nameConflict(f spark.Fields, name string) Cause {
	return Cause{ReasonNameConflict, "pod " + name + " already exists and does not belong to this application; " +
		"delete or rename that pod, or set " + f.Path(spark.FieldDriverName)}
}
