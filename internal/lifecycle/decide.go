// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the state machine of an application: pure functions from what is recorded and observed to the
// actions to take (Decide), and from their results to the new state (Settle).
//
// One step is one Decide, its actions in order, one Settle. Nothing here reads a clock or the cluster: time and
// observations are arguments.
package lifecycle

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Loaded is what an object says.
type Loaded struct {
	// App is the model of an attempt.
	App spark.Application
	// Problems are the fields with an invalid value.
	Problems []*spark.ConfError
	// Desired is what Decide needs to know of the object itself.
	Desired Application
}

// Application is the desired state that Decide needs.
type Application struct {
	// UID seeds the jitter of waits.
	UID        string
	Generation int64
	// SpecHash identifies what of the spec an attempt is made from.
	SpecHash string
	// Placement is where executors may run, as far as an edit of it does not run the application again.
	Placement Placement
	Suspend   bool
	// Adopts is a driver pod that others started and that the application is to follow; "" for none.
	Adopts string
	// ManagedBy is another controller that runs the application; "" if this operator does.
	ManagedBy string
	// SparkAppID is Spark's own id of the current attempt: it is known before there is a driver.
	SparkAppID string
	// SubmissionID marks the pods of the current attempt.
	SubmissionID string
	// DriverName is what the next driver pod is called.
	DriverName string
	// Executors is how many executors the application starts with.
	Executors int32
	Policies  Policies
	// LogTails says what of a driver's output may be stored.
	LogTails LogTails
	// Submitter is who created the application.
	Submitter Submitter
	// Model is the application of the current attempt, which says what the memory of a driver that ran out of it was made up of; nil if that
	// is not to be told. It is only read.
	Model *spark.Application
	// RaisesMemory says that an attempt which ran out of memory is followed by one with more.
	RaisesMemory bool
	// Notes are sentences about what is accepted and ignored, for the condition Admitted.
	Notes string
	// Rerun is what is to be recorded of requests to run again; the latest is a part of SpecHash.
	Rerun Rerun
	// Deleting is set when the application object has a deletion timestamp.
	Deleting bool
	// Finalizer says that the object has the family's finalizer (Family.Finalizer).
	Finalizer bool
	// Fields names the user's fields in messages.
	Fields spark.Fields
	// ForceAfter is how long after its time a driver that must go may still be there, before it is deleted by force; nil for ever.
	ForceAfter *time.Duration
	// Endures says that the driver takes clients: it is ready when its pod is, and its auxiliary objects stay while there is none.
	Endures bool
	// Drain is how long a driver with open sessions is kept after an edit of the spec.
	Drain time.Duration
	// Tracking says how the start of a run and its capacity are followed; nil for families that report neither.
	Tracking *Tracking
	// IdleTimeout is after how long without an execution the driver is stopped; 0 for never.
	IdleTimeout time.Duration
	// WakeAt is when a driver that was stopped because it was idle was asked for; zero if it was not. WakeIgnored is such a
	// request that is not acted on.
	WakeAt      time.Time
	WakeIgnored string
}

// Env holds inputs that belong to no application.
type Env struct {
	Now     time.Time
	Periods Periods
}

// Periods are how long is waited for what nothing reports. One that is 0 is the usual one.
type Periods struct {
	// Conflict is in place of conflictRetry, Drain in place of drainCheck.
	Conflict, Drain time.Duration
}

func (p Periods) conflict() time.Duration { return cmp.Or(p.Conflict, conflictRetry) }

func (p Periods) drain() time.Duration { return cmp.Or(p.Drain, drainCheck) }

// Action is one write. The set is closed.
type Action struct {
	Kind ActionKind
	// Name of the driver pod that DeleteDriver means, if it is not the plan's driver.
	Name string
	// UID of the driver pod that DeleteDriver means: another pod of the same name is left alone.
	UID string
	// Version of the driver pod that DeleteDriver means; "" for any.
	Version string
	// Force has DeleteDriver not wait for the node.
	Force bool
	// Attempt whose objects DeleteResources and Release mean; 0 for those that Release finds although no attempt has any (Observation.Scheduled).
	Attempt int32
}

// ActionKind names an action.
type ActionKind string

const (
	// Submit creates everything that the attempt's driver needs, and then the driver.
	Submit ActionKind = "Submit"
	// DeleteDriver deletes the driver pod of the given UID.
	DeleteDriver ActionKind = "DeleteDriver"
	// DeleteResources deletes what was created for an attempt in addition to its driver pod.
	DeleteResources ActionKind = "DeleteResources"
	// Schedule creates and deletes the objects that the admission's scheduler wants.
	Schedule ActionKind = "Schedule"
	// Release deletes the objects that an attempt's scheduler has.
	Release ActionKind = "Release"
	// UpdateTemplate brings the template that the driver makes its executors from to what the spec says of their placement.
	UpdateTemplate ActionKind = "UpdateTemplate"
	// Restore creates again what a driver was created with and lacks now.
	Restore ActionKind = "Restore"
	// Adjust brings the scheduler's objects of a running attempt to what the scheduler wants now, for example because a user deleted them.
	Adjust ActionKind = "Adjust"
	// DeleteApplication deletes the application itself, if it still is as it was read.
	DeleteApplication ActionKind = "DeleteApplication"
	// RemoveFinalizer lets go of an application that is being deleted, once its driver is gone.
	RemoveFinalizer ActionKind = "RemoveFinalizer"
)

// Optional reports whether nothing waits for the action: what is not done of it is tried again with the next look.
func (k ActionKind) Optional() bool { return k == Restore || k == Adjust }

// GoesOn reports whether the actions after one are tried, too. A policy that keeps objects which are left behind keeps no driver: neither from being
// deleted, nor the next from being created.
func (r Result) GoesOn() bool {
	return r.Class == ClassDone || r.Kind.Optional() || r.kept()
}

// kept reports whether a policy, or a webhook, keeps what was to be deleted besides a driver.
func (r Result) kept() bool {
	return r.Kind == DeleteResources && (r.Class == ClassPolicy || r.Class == ClassRefused)
}

// Plan is a decision: what to record, what to do, and when to reconcile again if nothing changes before.
type Plan struct {
	App Application
	// Before is the record that the decision was made from, which stays true if nothing can be done.
	Before Record
	Record Record
	Driver Driver
	// Scheduler is what the batch scheduler says of the driver.
	Scheduler scheduler.Observation
	// Admission is whether the attempt may start; empty if no scheduler was asked.
	Admission scheduler.Admission
	Actions   []Action
	Requeue   time.Duration
}

// NeedsFresh reports whether an action must not come from a stale cache. It creates or deletes a driver, or what it lives on, changes what it makes its
// executors from, or deletes the scheduler's objects. Those that create them do so only if changes says that they send anything.
func (p Plan) NeedsFresh(changes func(ActionKind) bool) bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool {
		switch a.Kind {
		case Submit, DeleteDriver, UpdateTemplate, Restore, Release:
			return true
		case Schedule, Adjust:
			return changes(a.Kind)
		case DeleteResources, DeleteApplication, RemoveFinalizer:
		}
		return false
	})
}

const (
	// conflictRetry is how often a name that is taken, or a quota that is full, is checked again: pods of others are not
	// watched.
	conflictRetry = 10 * time.Second
	// unknownRetry follows an observation that could not be completed, and a step that is followed by another.
	unknownRetry = 2 * time.Second
	// heartbeat looks again at what a watch should have reported; it bounds the effect of a lost event.
	heartbeat = 5 * time.Minute
)

// Decide says what to do about an application. It is total: every record and observation has an answer, and every
// state that is not final has a timer.
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
		p.Requeue = unknownRetry // stored before anything is done about it
		return p
	}
	return swept(forced(maintained(decideState(p, obs, env)), env.Now), obs.Strays)
}

// decideState decides by the state.
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
		// a previous operator resets its counts only at the next attempt
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

// forced deletes a driver by force that must go and is still there when the user does not wait for it any more. That it must go is stored
// before, or the application itself is being deleted.
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

// swept deletes the drivers of other attempts first, whatever the current attempt does.
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

// LeftAlone reports whether another controller runs the application. Once it is deleted, only this operator removes its family's finalizer.
func (a Application) LeftAlone() bool { return a.ManagedBy != "" && (!a.Deleting || !a.Finalizer) }

// leaveAlone is the plan for an application that another controller runs. What it has written is not touched.
func leaveAlone(app Application, rec Record) Plan {
	p := Plan{App: app, Before: rec, Record: clone(rec)}
	if rec.State == New {
		p.Record.Cause = Cause{ReasonManagedByAnother, app.Fields.Text("{managedBy} is " + strconv.Quote(app.ManagedBy) +
			": that controller runs the application, and this operator leaves it alone")}
	}
	return p
}

// NeedsAdmission reports whether Decide reads the admission: a scheduler is asked only then.
func NeedsAdmission(app Application, rec Record, driver Driver, env Env) bool {
	r := applySpecChanges(app, rec, env)
	if app.ManagedBy != "" || app.Deleting || app.Suspend || !r.Idle.StoppedAt.IsZero() || driver.ours() || driver.Presence == Unknown || awaitsAdoption(app, r) {
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

// applySpecChanges applies the user's changes to the record. A state that it changes is stored before anything is done.
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

// resetForSpec begins again with another spec, or because the user asks for it: the budgets are full, and a driver that was made from the old one has to
// go. An attempt that has none yet is made from the new spec as it is.
func resetForSpec(r Record, changed Cause, env Env) Record {
	if r.NeverRan() && (r.State.Final() || r.State == SubmissionFailed) {
		return Record{Attempt: 1, Scheduling: r.Scheduling.held()}
	}
	r.Submissions, r.Executions, r.Retries = 0, 0, Retries{}
	switch r.State {
	case New, Queued, Rerunning, Resuming, Invalidating, Suspended:
	case SubmissionFailed: // what was refused is not what is submitted now
		r.State, r.Cause, r.TerminatedAt = Rerunning, changed, time.Time{}
		r.Scheduling = r.Scheduling.held()
	case Suspending: // closed, so that a success of the old spec does not count for the new
		r = closed(r, "", changed, env)
	case Submitted, Running, Succeeding, Failing, Succeeded, Failed:
		r = closed(r, "", changed, env)
		r.State, r.Cause, r.Released = Invalidating, changed, Released{}
	}
	return r
}

// decideDeletion stops the driver of an application that is being deleted while a finalizer still blocks it.
// Everything else is left to the garbage collector; nothing new is created.
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

// release deletes the scheduler's objects of an attempt, if there are any.
func release(p Plan) Plan {
	if held := p.Record.Scheduling.HeldAttempt; held != 0 {
		p.Actions = append(p.Actions, Action{Kind: Release, Attempt: held})
		p.Record.Scheduling.HeldAttempt, p.Record.Scheduling.HeldBy = 0, ""
	}
	return p
}

// rerun begins the next attempt. It only records it: attempt N+1 is stored before it acts.
func rerun(p Plan, c Cause) Plan {
	p.Record = nextAttempt(p.Record, Rerunning, c)
	p.Requeue = unknownRetry
	return p
}

// nextAttempt drops what belongs to the current attempt only.
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
