// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the state machine of an application. Its pure functions map recorded and observed state to actions (Decide), and the results of actions
// to the new state (Settle).
//
// One step is one Decide, its actions in order, and one Settle. Time and observations are arguments.
package lifecycle

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Loaded is the content of an application object.
type Loaded struct {
	// App is the model of the current attempt.
	App spark.Application
	// Problems are the invalid fields.
	Problems []*spark.ConfError
	// Desired is the object's input for Decide.
	Desired Application
}

// Application is the desired state, an input of Decide.
type Application struct {
	// UID seeds the jitter of waits.
	UID        string
	Generation int64
	// SpecHash identifies the part of the spec that attempts are created from.
	SpecHash string
	// Placement has the fields for the executors' placement, which can be edited without a new run.
	Placement Placement
	Suspend   bool
	// Adopts names a driver pod that another client started and that the application follows; "" for none.
	Adopts string
	// ManagedBy names the other controller that runs the application; "" if this operator does.
	ManagedBy string
	// Probe is set if the object is a sentinel of the operator's health check, not an application.
	Probe bool
	// SparkAppID is the current attempt's Spark application ID, known before its driver exists.
	SparkAppID string
	// SubmissionID marks the pods of the current attempt.
	SubmissionID string
	// DriverName is the name of the next driver pod.
	DriverName string
	// Executors is the initial number of executors.
	Executors int32
	// LeastExecutors is the minimum number of executors. Dynamic allocation makes it smaller than Executors.
	LeastExecutors int32
	Policies       Policies
	// LogTails restricts the stored output of a driver.
	LogTails LogTails
	// Submitter is the user who created the application.
	Submitter Submitter
	// Model is the application of the current attempt, for explaining why a driver ran out of memory; nil for no explanation. It is read-only.
	Model *spark.Application
	// RaisesMemory gives the next attempt more memory after an attempt that ran out of it.
	RaisesMemory bool
	// Notes are sentences about ignored fields, for the condition Admitted.
	Notes string
	// Rerun records the requests to run again; SpecHash includes the latest.
	Rerun Rerun
	// Deleting is set when the application object has a deletion timestamp.
	Deleting bool
	// Finalizer is set when the object has the family's finalizer (Family.Finalizer).
	Finalizer bool
	// Fields names the user's fields in messages.
	Fields spark.Fields
	// ForceAfter is the time after a driver's grace period until the operator deletes it by force; nil for never.
	ForceAfter *time.Duration
	// Endures is set for drivers that serve clients. Their readiness is the pod's, and they keep their auxiliary objects while stopped.
	Endures bool
	// Drain is how long an edit of the spec waits for a driver's open sessions.
	Drain time.Duration
	// Tracking configures the start timeouts and the capacity of a run; nil for families that report neither.
	Tracking *Tracking
	// IdleTimeout is how long a driver may execute nothing before it is stopped; 0 for no limit.
	IdleTimeout time.Duration
	// WakeAt is the time of a request to start a driver that was stopped as idle; zero for none. WakeIgnored is the text of an invalid request.
	WakeAt      time.Time
	WakeIgnored string
}

// Env holds the inputs that are the same for all applications.
type Env struct {
	Now     time.Time
	Periods Periods
}

// Periods are the polling intervals for states without a watch. 0 means the default.
type Periods struct {
	// Conflict replaces conflictRetry; Drain replaces drainCheck.
	Conflict, Drain time.Duration
}

func (p Periods) conflict() time.Duration { return cmp.Or(p.Conflict, conflictRetry) }

func (p Periods) drain() time.Duration { return cmp.Or(p.Drain, drainCheck) }

// Action is one write of a plan.
type Action struct {
	Kind ActionKind
	// Name is the driver pod that DeleteDriver deletes, if it is not the plan's driver.
	Name string
	// UID is that of the driver pod that DeleteDriver deletes. Another pod of the same name is kept.
	UID string
	// Version is the resourceVersion of the driver pod that DeleteDriver deletes; "" for any.
	Version string
	// Force makes DeleteDriver delete the pod without the node's confirmation.
	Force bool
	// Attempt is the attempt whose objects DeleteResources and Release delete; 0 for objects without a recorded attempt (Observation.Scheduled).
	Attempt int32
}

// ActionKind names an action.
type ActionKind string

const (
	// Submit creates the objects of the attempt's driver, and then the driver.
	Submit ActionKind = "Submit"
	// DeleteDriver deletes the driver pod of the given UID.
	DeleteDriver ActionKind = "DeleteDriver"
	// DeleteResources deletes the objects of an attempt except its driver pod.
	DeleteResources ActionKind = "DeleteResources"
	// Schedule creates and deletes scheduler objects, as the admission requires.
	Schedule ActionKind = "Schedule"
	// Release deletes the scheduler objects of an attempt.
	Release ActionKind = "Release"
	// UpdateTemplate updates the driver's executor template to the placement in the spec.
	UpdateTemplate ActionKind = "UpdateTemplate"
	// Restore recreates the driver's missing objects.
	Restore ActionKind = "Restore"
	// Adjust updates the scheduler's objects of a running attempt, e.g. after a user deleted one.
	Adjust ActionKind = "Adjust"
	// TryExecutor asks the API server, in a dry run, to create an executor pod.
	TryExecutor ActionKind = "TryExecutor"
	// DeleteApplication deletes the application, unless it has changed since it was read.
	DeleteApplication ActionKind = "DeleteApplication"
	// RemoveFinalizer removes the finalizer of a deleted application once its driver is gone.
	RemoveFinalizer ActionKind = "RemoveFinalizer"
)

// Optional reports whether the plan continues if the action fails. A failed one is repeated at the next reconcile.
func (k ActionKind) Optional() bool { return k == Restore || k == Adjust || k == TryExecutor }

// GoesOn reports whether the actions after this one are tried. If a policy protects leftover objects, the driver is still deleted and the next one created.
func (r Result) GoesOn() bool {
	return r.Class == ClassDone || r.Kind.Optional() || r.kept()
}

// kept reports whether a policy or a webhook refused the deletion of an attempt's objects.
func (r Result) kept() bool {
	return r.Kind == DeleteResources && (r.Class == ClassPolicy || r.Class == ClassRefused)
}

// Plan is a decision: the record to store, the actions, and the time of the next reconcile.
type Plan struct {
	App Application
	// Before is the record that the decision was based on. It stays valid if no action succeeds.
	Before Record
	Record Record
	Driver Driver
	// Scheduler is the batch scheduler's report about the driver.
	Scheduler scheduler.Observation
	// Admission is the scheduler's answer to the attempt; empty if no scheduler was asked.
	Admission scheduler.Admission
	Actions   []Action
	Requeue   time.Duration
}

// NeedsFresh reports whether the plan has an action that must not be based on a stale cache. Such an action creates or deletes a driver or its objects, changes
// its executor template, or deletes the scheduler's objects. Schedule and Adjust count only if changes reports that they send a request.
func (p Plan) NeedsFresh(changes func(ActionKind) bool) bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool {
		switch a.Kind {
		case Submit, DeleteDriver, UpdateTemplate, Restore, Release:
			return true
		case Schedule, Adjust:
			return changes(a.Kind)
		case DeleteResources, DeleteApplication, RemoveFinalizer, TryExecutor:
		}
		return false
	})
}

const (
	// conflictRetry is the interval for checking a taken name or a full quota again. Pods of other owners have no watch.
	conflictRetry = 10 * time.Second
	// unknownRetry is the delay after an incomplete observation, and before a required next step.
	unknownRetry = 2 * time.Second
	// heartbeat is the longest time between two reconciles; it bounds the effect of a lost watch event.
	heartbeat = 5 * time.Minute
)

// Decide plans the next step of an application. It has an answer for every record and observation, and a timer for every state that is not final.
func Decide(app Application, rec Record, obs Observation, admission scheduler.Admission, env Env) Plan {
	if app.LeftAlone() {
		return leaveAlone(app, rec)
	}
	obs.Driver = obs.Driver.upToDate(rec)
	app, since := drained(app, rec, obs, env)
	p := Plan{
		App: app, Before: rec, Record: applySpecChanges(app, rec, env), Driver: obs.Driver,
		Scheduler: obs.Scheduler, Admission: admission, Requeue: heartbeat,
	}
	p.Record.DrainSince = since
	p.App.Suspend = app.Suspend || !p.Record.Idle.StoppedAt.IsZero()
	if app.Deleting {
		p.Record = clone(rec)
		return swept(forced(decideDeletion(p, obs), env.Now), obs.Strays)
	}
	if p.Record.State != rec.State && p.Record.State != New {
		p.Requeue = unknownRetry // the change is stored before the first action
		return p
	}
	return swept(forced(withMissing(maintained(decideState(p, obs, env)), env), env.Now), obs.Strays)
}

// decideState dispatches on the state.
func decideState(p Plan, obs Observation, env Env) Plan {
	switch s := p.Record.State; s {
	case New, Queued, Rerunning, Resuming, SubmissionFailed:
		return rechosen(decideStart(p, obs, env))
	case Submitted, Running:
		return decideRun(p, obs, env)
	case Succeeding:
		return decideSucceeding(p, obs, env)
	case Failing:
		return decideFailing(p, obs, env)
	case Invalidating:
		// other operators reset their counts only at the next attempt
		p.Record.Submissions, p.Record.Executions, p.Record.Retries = 0, 0, Retries{}
		c := specChanged
		if p.Record.Cause.Reason == ReasonRerunRequested {
			c = p.Record.Cause
		}
		return rerun(p, c)
	case Suspending:
		return decideSuspending(p, obs, env)
	case Suspended:
		return decideSuspended(p, obs)
	case Succeeded, Failed:
		return decideFinal(p, obs, env)
	}
	return p
}

// forced force-deletes a driver that has outlived ForceAfter, if the stored record says that the driver is to stop or if the application is being deleted.
func forced(p Plan, now time.Time) Plan {
	d, state := p.Driver, p.Record.State
	goes := p.App.Deleting || state == p.Before.State && state != Submitted && state != Running
	if !goes || p.App.ForceAfter == nil || !d.ours() || !d.Deleting || d.GoneAt.IsZero() {
		return p
	}
	if left := d.GoneAt.Add(*p.App.ForceAfter).Sub(now); left > 0 {
		p.Requeue = min(cmp.Or(p.Requeue, left), left)
	} else {
		p.Actions = append(p.Actions, Action{Kind: DeleteDriver, UID: d.UID, Force: true})
	}
	return p
}

// swept prepends the deletion of other attempts' drivers to the plan.
func swept(p Plan, strays []Driver) Plan {
	var all []Action
	for _, d := range strays {
		if !d.Deleting {
			all = append(all, Action{Kind: DeleteDriver, Name: d.Name, UID: d.UID})
		}
	}
	p.Actions = append(all, p.Actions...)
	return p
}

// LeftAlone reports whether the operator does nothing for the object. It is false for a deleted object with the family's finalizer, which it removes.
func (a Application) LeftAlone() bool { return a.NotRun() && (!a.Deleting || !a.Finalizer) }

// leaveAlone plans nothing for an application of another controller or for a health probe. Their status stays.
func leaveAlone(app Application, rec Record) Plan {
	p := Plan{App: app, Before: rec, Record: clone(rec)}
	if rec.State == New && !app.Probe {
		why := app.Fields.Path("managedBy") + " is " + strconv.Quote(app.ManagedBy) + ": that controller runs the application, and this operator leaves it alone"
		p.Record.Cause = Cause{ReasonManagedByAnother, why}
	}
	return p
}

// NeedsAdmission reports whether Decide reads the admission. Otherwise the scheduler is not asked.
func NeedsAdmission(app Application, rec Record, driver Driver, env Env) bool {
	r := applySpecChanges(app, rec, env)
	if app.NotRun() || app.Deleting || app.Suspend || !r.Idle.StoppedAt.IsZero() || driver.ours() || driver.Presence == Unknown || awaitsAdoption(app, r) {
		return false
	}
	if r.State != rec.State && r.State != New || !r.State.Starting() {
		return false
	}
	if late, _ := overdue([]stage{queueStage(app, r)}, env.Now, heartbeat); late != nil {
		return false
	}
	if r.State == SubmissionFailed {
		at, ok := RetryAt(app, r)
		return ok && !env.Now.Before(at)
	}
	return true
}

// applySpecChanges applies the user's changes to the record. A changed state is stored before the next action.
func applySpecChanges(app Application, rec Record, env Env) Record {
	r := clone(rec)
	r.Attempt = max(r.Attempt, 1)
	r.Idle.StoppedAt = stoppedAt(app, r)
	if r.SpecHash != "" && r.SpecHash != app.SpecHash {
		r = resetForSpec(r, renewal(app, r), env)
	}
	if (app.Suspend || !r.Idle.StoppedAt.IsZero()) && stoppable(r) && !refusalCounts(app, r) {
		r.State, r.Cause = Suspending, stopping(app.Fields, r)
	}
	r.Placement = placed(app, r)
	r.Generation, r.SpecHash, r.Rerun = app.Generation, app.SpecHash, app.Rerun
	return r
}

// resetForSpec starts over after an edit or at the user's request. It refills all budgets and stops a driver of the old spec. An attempt without a driver
// continues with the new spec.
func resetForSpec(r Record, changed Cause, env Env) Record {
	if r.NeverRan() && (r.State.Final() || r.State == SubmissionFailed) {
		return Record{Attempt: 1, Scheduling: r.Scheduling.held()}
	}
	r.Submissions, r.Executions, r.Retries = 0, 0, Retries{}
	switch r.State {
	case New, Queued, Rerunning, Resuming, Invalidating, Suspended:
	case SubmissionFailed: // the API server refused the old spec
		r.State, r.Cause, r.TerminatedAt = Rerunning, changed, time.Time{}
		r.Scheduling = r.Scheduling.held()
	case Suspending: // after this a success of the old spec does not count for the new one
		r = closed(r, "", changed, env)
	case Submitted, Running, Succeeding, Failing, Succeeded, Failed:
		r = closed(r, "", changed, env)
		r.State, r.Cause, r.Released = Invalidating, changed, Released{}
	}
	return r
}

// decideDeletion stops the driver of a deleted application that a finalizer keeps. The garbage collector deletes the rest.
func decideDeletion(p Plan, obs Observation) Plan {
	d := obs.Driver
	switch {
	case d.Presence == Unknown:
		p.Requeue = unknownRetry
	case !d.ours():
		p.Requeue = 0
		if p.App.Finalizer {
			p.Actions = []Action{{Kind: RemoveFinalizer}}
		}
	case !d.Deleting:
		p.Actions = []Action{{Kind: DeleteDriver, UID: d.UID}}
	}
	return p
}

// rerun begins the next attempt. The new attempt's number is stored before its first action.
func rerun(p Plan, c Cause) Plan {
	p.Record = nextAttempt(p.Record, Rerunning, c)
	p.Requeue = unknownRetry
	return p
}

// nextAttempt clears the fields of the current attempt.
func nextAttempt(r Record, s State, c Cause) Record {
	next := Record{
		State: s, Cause: c, Generation: r.Generation, SpecHash: r.SpecHash, Attempt: r.Attempt + 1,
		Submissions: r.Submissions, Executions: r.Executions, SubmittedAt: r.SubmittedAt,
		DriverName: r.DriverName, Retries: r.Retries, Attempts: r.Attempts, Rerun: r.Rerun,
		Placement:  Placement{Rest: r.Placement.Rest},
		Scheduling: r.Scheduling.held(),
	}
	return next
}
