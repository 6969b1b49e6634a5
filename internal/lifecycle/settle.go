// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Result is what became of one action.
type Result struct {
	Kind  ActionKind
	Class Class
	// Message holds the API server's message when the class is not Done.
	Message string
	// BySpec says that the API server refuses the object for what it says: the same object is refused again.
	BySpec bool
	// DriverUID is that of the pod that Submit has created; "" if it has created none.
	DriverUID string
	// TokenSecret names the Secret with the clients' token of the driver that Submit tried to create; "" if it found a driver, or there is none.
	TokenSecret string
}

// Outcome is the result of the actions: what to store and what to show.
type Outcome struct {
	Record     Record
	Conditions []Condition
	// Requeue is when to reconcile again if nothing changes before; 0 for never.
	Requeue time.Duration
	// Again says that another step follows at once, as soon as this one is stored: it waits for nothing.
	Again bool
	// Refused says that the API server has just refused the driver for a reason that may pass: before Requeue is over,
	// only a changed spec makes another try worth its writes.
	Refused bool
	// Reservation is what happens to the schedulers' reservation for the application.
	Reservation Reservation
	// Auxiliary is what happens to the driver's auxiliary objects.
	Auxiliary Auxiliary
	// PodIP is the address of the driver's pod; "" before it has one.
	PodIP string
	// TokenSecret names the Secret with the clients' token: the one that the driver reads, or that was made for it. "" if none is known.
	TokenSecret string
	// Driver is the driver as it was seen.
	Driver Driver
	// Following are the counters of the attempt that follows one that has ended; nil if none does, or before its driver has stopped.
	Following *Counters
	// Gone says that the application itself was deleted.
	Gone bool
	// Err is an error that is not the application's: the reconcile is retried with back-off.
	Err error
}

const (
	// operatorRetry is the retry interval after a 403 for the operator.
	operatorRetry = 30 * time.Second
	// policyRetry is how often a driver is tried again that a policy refuses and that has no retries, and policyGrace for how
	// long: what is applied together, such as a service account, may arrive a little later.
	policyRetry = 5 * time.Second
	policyGrace = 30 * time.Second
)

// Settle says what is true after the actions of a plan, also when one was refused. Results are given in the order of
// the plan's actions; actions after the first that ends it (Result.GoesOn) were not tried and have none.
func Settle(p Plan, results []Result, env Env) Outcome {
	if p.App.LeftAlone() {
		p.Record.DriverName = p.App.DriverName // no status is without one
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
	if o.Record.DriverName == "" || o.Record.NeverRan() { // an edit may give another name to a driver that there never was
		o.Record.DriverName = cmp.Or(p.App.DriverName, o.Record.DriverName)
	}
	o.Record.Cause.Message = Truncate(text.Lines(o.Record.Cause.Message), maxCause) // what is decided on is what is stored
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

// goesOn reports whether another step follows at once.
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

// Reservation says what happens to the schedulers' state of an application: its queue position, and the capacity
// reserved for its attempt.
type Reservation string

const (
	// ReservationKept : as it was.
	ReservationKept Reservation = ""
	// ReservationReleased : the reserved capacity is returned. The application was admitted and does not start: what
	// blocks it may last, and the spec may change before the next admission.
	ReservationReleased Reservation = "Released"
	// ReservationDropped : capacity and queue position are dropped. The application is over, or is not starting.
	ReservationDropped Reservation = "Dropped"
)

func reservation(p Plan, results []Result) Reservation {
	state := p.Record.State
	over := !state.Starting() && !state.HasDriver()
	switch asked := p.Admission.Verdict; {
	case over || state.Starting() && asked == "":
		return ReservationDropped
	case asked == scheduler.Admit && !starts(p, results):
		return ReservationReleased
	}
	return ReservationKept
}

// starts is whether a driver was created, or may have been, or will be in a moment.
func starts(p Plan, results []Result) bool {
	for _, r := range results {
		switch {
		case !r.GoesOn():
			return r.Class == ClassTransient // the API server's answer was lost: the driver may exist
		case r.Kind == Submit:
			return true
		}
	}
	return p.Before.Scheduling.HeldAttempt == 0 && p.Record.Scheduling.HeldAttempt != 0 // stored before it acts
}

// Auxiliary says what happens to the auxiliary objects of a driver: Services, Ingresses, a disruption budget.
type Auxiliary string

const (
	// AuxiliaryKept : whatever is there stays. The garbage collector takes it, a previous operator has left no more than its
	// name with an application that is over, or an edit waits for the driver's sessions.
	AuxiliaryKept Auxiliary = ""
	// AuxiliaryApplied : the driver lives, or takes clients again one day, and what is wanted is made.
	AuxiliaryApplied Auxiliary = "Applied"
	// AuxiliaryDeleted : there is no driver, and what was made goes.
	AuxiliaryDeleted Auxiliary = "Deleted"
)

func auxiliary(p Plan, after Record) Auxiliary {
	before := p.Before.Exposure
	switch {
	case p.App.Deleting, p.Before.State.Final() && len(before.Objects) == 0 && before.Service != "":
		return AuxiliaryKept
	case !after.DrainSince.IsZero():
		return AuxiliaryKept // they lead to the driver as it was made
	case after.State.HasDriver(), p.App.Endures && !after.State.Final():
		return AuxiliaryApplied
	}
	return AuxiliaryDeleted
}

// unchanged is the record before the plan. Only New is not stored: tools read an empty state as an existing driver.
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
	case ClassTransient: // Settle has made it an error: nothing is known to have changed
	}
	return o
}

// delayed waits for a while before the next try, but not beyond what the application may wait in all.
func delayed(o Outcome, p Plan, c Cause, retry time.Duration, env Env) Outcome {
	if _, left := overdue([]stage{queueStage(p.App, o.Record)}, env.Now, retry); left > 0 {
		retry = left
	}
	o.Record, o.Requeue, o.Refused = wait(Plan{Record: o.Record}, c, retry).Record, retry, true
	return o
}

// settleSchedule waits when the scheduler's objects cannot be made. Those that the API server refuses for what they say are refused as a
// driver is.
func settleSchedule(o Outcome, p Plan, r Result, env Env) Outcome {
	if r.BySpec {
		return refused(o, Cause{ReasonSubmissionRefused, r.Message}, p, env)
	}
	return delayed(o, p, Cause{r.Class.Reason(ReasonSchedulerObjects), r.Message}, operatorRetry, env)
}

// denied handles a policy's refusal. With a budget it is a failed submission, on the user's interval; the state between the tries
// is what tools expect. Without a budget the first refusal would be the end, so there is a grace.
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

// ActionError says that an action was not done and is to be repeated.
type ActionError struct {
	Action  ActionKind
	Message string
}

// Error names the action and the API server's message.
func (e *ActionError) Error() string { return string(e.Action) + ": " + e.Message }
