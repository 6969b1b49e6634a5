/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lifecycle

import (
	"maps"
	"time"
)

// Application is what Decide needs to know of the user's wish.
type Application struct {
	Generation int64
	Suspend    bool
	// SparkAppID is Spark's own id of the current attempt: it is known before there is a driver.
	SparkAppID string
	// SubmissionID marks the pods of the current attempt.
	SubmissionID string
	// Notes are sentences about what is accepted and not heeded, for the condition Admitted.
	Notes string
	// Deleting is set when the application object has a deletion timestamp.
	Deleting bool
}

// Env is the world around the application.
type Env struct {
	Now time.Time
}

// Action is one write. The set is closed: Submit and DeleteDriver.
type Action struct {
	Kind ActionKind
	// UID of the driver pod that DeleteDriver means: another pod of the same name is left alone.
	UID string
}

// ActionKind names an action.
type ActionKind string

const (
	// Submit creates everything that the attempt's driver needs, and then the driver.
	Submit ActionKind = "Submit"
	// DeleteDriver deletes the driver pod of the given UID.
	DeleteDriver ActionKind = "DeleteDriver"
)

// Plan is a decision: what to record, what to do, and when to look again if nothing changes before.
type Plan struct {
	App     Application
	Record  Record
	Driver  Driver
	Gate    Gate
	Actions []Action
	Requeue time.Duration
}

const (
	// conflictRetry is how often a name that is taken is looked at again: foreign pods are not watched.
	conflictRetry = 10 * time.Second
	// doubtRetry follows an observation that could not be completed.
	doubtRetry = 2 * time.Second
	// heartbeat looks again at what a watch should have told; it bounds the harm of a lost event.
	heartbeat = 5 * time.Minute
)

// Decide says what to do about an application. It is total: every record and observation has an answer, and every
// state that is not final has a timer.
func Decide(app Application, rec Record, obs Observation, gate Gate, env Env) Plan {
	p := Plan{App: app, Record: clone(rec), Driver: obs.Driver, Gate: gate, Requeue: heartbeat}
	if p.Record.Attempt == 0 {
		p.Record.Attempt = 1
	}
	if app.Deleting {
		return decideDeletion(p, obs)
	}
	if reopens(app, rec) {
		p.Record = Record{Attempt: 1, DriverName: rec.DriverName}
	}
	p.Record.Generation = app.Generation
	switch p.Record.State {
	case New, Queued:
		return decideStart(p, obs, env)
	case Submitted, Running:
		return decideRun(p, obs, env)
	case Succeeding:
		p.Record.State = Succeeded
		p.Record.Executors = concluded(p.Record.Executors, obs.Executors, ExecutorSucceeded)
		p.Requeue = 0
	case Failing:
		p.Record.State = Failed
		p.Record.Executors = concluded(p.Record.Executors, obs.Executors, ExecutorFailed)
		p.Requeue = 0
	case Succeeded, Failed, SubmissionFailed:
		p.Requeue = 0
	}
	return p
}

// Gated reports whether Decide will look at the gate: only then need it be computed.
func Gated(app Application, rec Record, driver Driver) bool {
	if app.Deleting || app.Suspend {
		return false
	}
	waiting := !rec.Started() || reopens(app, rec)
	return waiting && !driver.Is(Current)
}

// reopens reports whether a changed spec makes a finished application start over. An application that has run keeps
// its outcome, and so does one whose spec was not recorded with it: nothing says that it changed.
func reopens(app Application, rec Record) bool {
	return rec.State.Final() && rec.NeverRan() && rec.Generation != 0 && rec.Generation != app.Generation
}

// decideDeletion stops the driver of an application that is being deleted while somebody's finalizer still holds it.
// Everything else is left to the garbage collector; nothing new is created.
func decideDeletion(p Plan, obs Observation) Plan {
	d := obs.Driver
	switch {
	case d.Presence == Unknown:
		p.Requeue = doubtRetry
	case d.Presence == Absent, d.Ownership == Foreign:
		p.Requeue = 0
	case !d.Deleting:
		p.Actions = []Action{{Kind: DeleteDriver, UID: d.UID}}
	}
	return p
}

// decideStart brings an application without a driver to one.
func decideStart(p Plan, obs Observation, env Env) Plan {
	app, gate := p.App, p.Gate
	switch {
	case obs.Driver.Is(Current):
		// Created by a reconcile that did not live to record it.
		p.Record = submitted(p.Record, app, obs.Driver.CreatedAt)
		return decideRun(p, obs, env)
	case app.Suspend:
		return wait(p, Cause{ReasonSuspended, "spec.suspend is true: the driver is not created until it is false"}, heartbeat)
	case gate.Verdict == Rejected:
		p.Record.State, p.Record.Cause, p.Requeue = Failed, gate.Cause, 0
		return p
	case gate.Verdict != Admitted:
		return wait(p, gate.Cause, max(gate.RetryAfter, time.Second))
	case obs.Driver.Is(Foreign):
		return wait(p, nameConflict(obs.Driver.Name), conflictRetry)
	case obs.Driver.Is(Former):
		return wait(p, Cause{ReasonFormerDriver, "driver pod " + obs.Driver.Name + " of an earlier attempt is not gone yet"}, doubtRetry)
	case obs.Driver.Presence == Unknown:
		p.Requeue = doubtRetry
		return p
	}
	p.Actions = []Action{{Kind: Submit}}
	return p
}

// decideRun follows a driver that was created.
func decideRun(p Plan, obs Observation, env Env) Plan {
	p.Record.Executors = merged(p.Record.Executors, obs.Executors)
	d := obs.Driver
	switch {
	case d.Presence == Unknown:
		p.Requeue = doubtRetry
	case !d.Is(Current):
		p.Record = ended(p.Record, Failing, Cause{ReasonDriverNotFound, "driver pod not found: it was deleted before its end was seen"}, env)
	case d.Phase == DriverSucceeded:
		p.Record = ended(p.Record, Succeeding, Cause{}, env)
	case d.Phase == DriverFailed:
		p.Record = ended(p.Record, Failing, Cause{ReasonDriverFailed, d.Exit.String()}, env)
	case d.Phase == DriverRunning:
		p.Record.State = Running
	default:
		p.Record.State = Submitted
	}
	return p
}

func wait(p Plan, c Cause, requeue time.Duration) Plan {
	p.Record.State, p.Record.Cause, p.Requeue = Queued, c, requeue
	return p
}

func ended(r Record, s State, c Cause, env Env) Record {
	r.State, r.Cause = s, c
	r.TerminatedAt = env.Now
	return r
}

func submitted(r Record, app Application, at time.Time) Record {
	r.State, r.Cause = Submitted, Cause{}
	r.SubmittedAt, r.SparkAppID, r.SubmissionID = at, app.SparkAppID, app.SubmissionID
	// Both counters are the attempt's number: counting from it, not upwards, makes a repeated reconcile harmless.
	r.Submissions, r.Executions = max(r.Submissions, r.Attempt), max(r.Executions, r.Attempt)
	return r
}

func nameConflict(name string) Cause {
	return Cause{ReasonNameConflict, "pod " + name + " exists already and does not belong to this application; " +
		"delete or rename that pod, or set spec.driver.podName"}
}

func clone(r Record) Record {
	r.Executors = maps.Clone(r.Executors)
	return r
}
