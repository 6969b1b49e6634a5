// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Result is the result of one action.
type Result struct {
	Kind  ActionKind
	Class Class
	// Message holds the API server's message when the class is not Done.
	Message string
	// BySpec is set if the API server refuses the object for its content. The same object would be refused again.
	BySpec bool
	// DriverUID identifies the pod that Submit created; "" for none.
	DriverUID string
	// TokenSecret names the token Secret of the driver that Submit tried to create; "" if a driver existed or needs none.
	TokenSecret string
}

// Outcome is the result of a step: the record to store, and the conditions to show.
type Outcome struct {
	Record     Record
	Conditions []Condition
	// Requeue is the time until the next reconcile if nothing changes; 0 for never.
	Requeue time.Duration
	// Again is set if another step follows as soon as this step is stored.
	Again bool
	// Refused is set if the API server just refused the driver for a temporary reason. Until Requeue, only an edit of the spec causes another try.
	Refused bool
	// Reservation is the change of the application's reservation in the scheduler ledger.
	Reservation Reservation
	// Auxiliary is the change of the driver's auxiliary objects.
	Auxiliary Auxiliary
	// PodIP is the address of the driver's pod; "" before it has one.
	PodIP string
	// TokenSecret names the Secret with the clients' token; "" if unknown. The driver reads the Secret, or it was created for the driver.
	TokenSecret string
	// Driver is the observed driver.
	Driver Driver
	// Following are the counters of the next attempt; nil if no attempt follows or if the driver has not stopped.
	Following *Counters
	// Gone is set if the application itself was deleted.
	Gone bool
	// Err is an error of the step, not of the application. The reconcile is retried with back-off.
	Err error
}

const (
	// operatorRetry is the retry interval after a 403 for the operator.
	operatorRetry = 30 * time.Second
	// policyRetry is the interval between tries to create a driver that a policy refuses, if there is no retry budget. policyGrace bounds these tries. Objects
	// applied together, such as a service account, may arrive a little later.
	policyRetry = 5 * time.Second
	policyGrace = 30 * time.Second
)

// Settle computes the state after a plan's actions, even if one was refused. Results are in the order of the actions. Actions that were not tried
// (Result.GoesOn) have none.
func Settle(p Plan, results []Result, env Env) Outcome {
	if p.App.LeftAlone() {
		p.Record.DriverName = p.App.DriverName // every status has one
		return Outcome{Record: p.Record, Conditions: []Condition{admitted(p.Record, p)}, Reservation: ReservationDropped}
	}
	o := Outcome{Record: p.Record, Requeue: p.Requeue, Reservation: reservation(p, results), Gone: gone(results)}
	for _, r := range results {
		o.TokenSecret = cmp.Or(r.TokenSecret, o.TokenSecret)
		switch {
		case r.Kind == Schedule && r.Class != ClassDone && r.Class != ClassTransient:
			o = settleSchedule(o, p, r, env)
		case r.Kind == UpdateTemplate && r.Class != ClassTransient:
			o.Record = settleTemplate(o.Record, p, r)
		case r.Kind.Optional():
			o = settleMissing(o, r, env)
		case r.kept():
			o.Err = &ActionError{Action: r.Kind, Message: r.Message}
			o.Record.Released.Resources = false
		case r.Class == ClassTransient, r.Kind != Submit && r.Class != ClassDone:
			o.Err = &ActionError{Action: r.Kind, Message: r.Message}
			o.Record = unchanged(p, r)
		case r.Kind == Submit:
			o = settleSubmit(o, p, r, env)
		}
	}
	o.Record.Submitter, o.Record.Attempts = p.App.Submitter, p.App.LogTails.of(o.Record.Attempts)
	if o.Record.DriverName == "" || o.Record.NeverRan() { // an edit can rename a driver that never existed
		o.Record.DriverName = cmp.Or(p.App.DriverName, o.Record.DriverName)
	}
	o.Record.Cause.Message = Truncate(text.Lines(o.Record.Cause.Message), maxCause) // decisions must be based on the stored message
	o.Conditions = conditions(o.Record, p)
	o.Auxiliary = auxiliary(p, o.Record)
	o.Again = goesOn(p, o)
	if p.Driver.ours() {
		o.TokenSecret = cmp.Or(o.TokenSecret, p.Driver.TokenSecret)
		if o.Record.State.HasDriver() {
			o.PodIP = p.Driver.PodIP
		}
	}
	o.Driver = p.Driver
	if next, ok := following(p.App, o.Record); ok && (!p.Driver.ours() || !p.Driver.live()) {
		o.Following = &next
	}
	return o
}

// goesOn reports whether another step follows immediately.
func goesOn(p Plan, o Outcome) bool {
	if len(p.Actions) > 0 || o.Err != nil || o.Record.State == p.Before.State || p.App.Deleting {
		return false
	}
	switch o.Record.State {
	case Running:
		return p.Driver.ours() && p.Driver.over()
	case Succeeding, Failing, Invalidating, Suspending, Rerunning, Resuming:
		return true
	case New, Queued, Submitted, SubmissionFailed, Suspended, Succeeded, Failed:
	}
	return false
}

// gone reports whether the application itself was deleted.
func gone(results []Result) bool {
	n := len(results)
	return n > 0 && results[n-1].Kind == DeleteApplication && results[n-1].Class == ClassDone
}

// Reservation is the change of an application's entry in the schedulers' ledger: its queue position and its reserved capacity.
type Reservation string

const (
	// ReservationKept : no change.
	ReservationKept Reservation = ""
	// ReservationReleased : the reserved capacity is returned. The application was admitted and does not start. The obstacle may last,
	// and the spec may change before the next admission.
	ReservationReleased Reservation = "Released"
	// ReservationDropped : the capacity and the queue position are dropped. The application has ended or does not start.
	ReservationDropped Reservation = "Dropped"
)

func reservation(p Plan, results []Result) Reservation {
	state := p.Record.State
	over := !state.Starting() && !state.HasDriver()
	switch asked := p.Admission.Verdict; {
	case over || state.Starting() && asked == "":
		return ReservationDropped
	case asked == scheduler.Admit && !starts(p, results), asked == scheduler.Reject && state.Starting():
		return ReservationReleased
	}
	return ReservationKept
}

// starts reports whether a driver was created, may have been created, or is about to be.
func starts(p Plan, results []Result) bool {
	for _, r := range results {
		switch {
		case !r.GoesOn():
			return r.Class == ClassTransient // the response was lost: the driver may exist
		case r.Kind == Submit:
			return true
		}
	}
	return p.Before.Scheduling.HeldAttempt == 0 && p.Record.Scheduling.HeldAttempt != 0 // the attempt is stored before its first action
}

// Auxiliary is what happens to the auxiliary objects of a driver: Services, Ingresses, a disruption budget.
type Auxiliary string

const (
	// AuxiliaryKept : existing objects stay, because the garbage collector deletes them, because another operator created them for an ended application, or
	// because an edit waits for the driver's sessions.
	AuxiliaryKept Auxiliary = ""
	// AuxiliaryApplied : the objects are applied, because the driver lives or will serve clients again.
	AuxiliaryApplied Auxiliary = "Applied"
	// AuxiliaryDeleted : the objects are deleted, because the driver is gone.
	AuxiliaryDeleted Auxiliary = "Deleted"
)

func auxiliary(p Plan, after Record) Auxiliary {
	before := p.Before.Exposure
	switch {
	case p.App.Deleting, p.Before.State.Final() && len(before.Objects) == 0 && before.Service != "":
		return AuxiliaryKept
	case !after.DrainSince.IsZero():
		return AuxiliaryKept // the objects lead to the driver of the old spec
	case after.State.HasDriver(), p.App.Endures && !after.State.Final():
		return AuxiliaryApplied
	}
	return AuxiliaryDeleted
}

// unchanged returns the record before the plan. It replaces New by Queued, because tools read an empty state as an existing
// driver.
func unchanged(p Plan, r Result) Record {
	was := p.Before
	if was.State == New && !p.App.Deleting {
		was.State, was.Cause = Queued, Cause{ReasonNotSubmitted, "the API server failed: " + r.Message}
	}
	return was
}

func settleSubmit(o Outcome, p Plan, r Result, env Env) Outcome {
	c := Cause{r.Class.Reason(ReasonSubmissionRefused), r.Message}
	switch r.Class {
	case ClassDone:
		o.Record = submitted(o.Record, p.App, r.DriverUID == "", env.Now)
	case ClassNameTaken, ClassLeaving, ClassQuota:
		o = delayed(o, p, c, env.Periods.conflict(), env)
	case ClassTerminating, ClassOperatorForbidden:
		o = delayed(o, p, c, operatorRetry, env)
	case ClassPolicy:
		c.Reason = ReasonAdmissionRefused
		o = denied(o, c, p, env)
	case ClassRefused:
		o = refused(o, c, p, env)
	case ClassTransient: // Settle returns an error, because the result is unknown
	}
	return o
}

// delayed waits for the next try, at most until the application's deadline.
func delayed(o Outcome, p Plan, c Cause, retry time.Duration, env Env) Outcome {
	if _, left := overdue([]stage{queueStage(p.App, o.Record)}, env.Now, retry); left > 0 {
		retry = left
	}
	o.Record, o.Requeue, o.Refused = wait(Plan{Record: o.Record}, c, retry).Record, retry, true
	return o
}

// settleSchedule waits if the scheduler's objects cannot be created. An object with refused content counts as a refused driver.
func settleSchedule(o Outcome, p Plan, r Result, env Env) Outcome {
	if r.BySpec {
		return refused(o, Cause{ReasonSubmissionRefused, r.Message}, p, env)
	}
	return delayed(o, p, Cause{r.Class.Reason(ReasonSchedulerObjects), r.Message}, operatorRetry, env)
}

// denied handles the refusal by a policy. With a retry budget it is a failed submission: the next try follows at the user's interval, in the state that tools
// expect. Without a budget, the refusal ends the application only after a grace period.
func denied(o Outcome, c Cause, p Plan, env Env) Outcome {
	final := refused(o, c, p, env)
	if _, again := RetryAt(p.App, final.Record); again || final.Record.Retries.Used[Submission] > 0 {
		return final
	}
	if o.Record.Cause.Reason != ReasonAdmissionRefused {
		o.Record.SubmittedAt = env.Now
	}
	if env.Now.Sub(o.Record.SubmittedAt) < policyGrace {
		return delayed(o, p, c, policyRetry, env)
	}
	return final
}

func refused(o Outcome, c Cause, p Plan, env Env) Outcome {
	o.Record.State, o.Record.Cause = SubmissionFailed, c
	o.Record.Submissions++
	o.Record.SubmittedAt, o.Record.TerminatedAt = env.Now, env.Now
	o.Record.SubmissionID = p.App.SubmissionID
	o.Requeue = unknownRetry
	return o
}

// ActionError reports an action that failed and is repeated.
type ActionError struct {
	Action  ActionKind
	Message string
}

// Error names the action and the API server's message.
func (e *ActionError) Error() string { return string(e.Action) + ": " + e.Message }
