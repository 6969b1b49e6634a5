// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "time"

// Result is what became of one action.
type Result struct {
	Kind  ActionKind
	Class Class
	// Message holds the API server's words when the class is not Done.
	Message string
}

// Outcome is the truth after acting: what to store and what to show.
type Outcome struct {
	Record     Record
	Conditions []Condition
	// Requeue is when to look again if nothing changes before; 0 for never.
	Requeue time.Duration
	// Refused says that the API server has just refused the driver for a reason that may pass: before Requeue is over,
	// only a changed spec makes another try worth its writes.
	Refused bool
	// Err is trouble that is not the application's: the reconcile is to be repeated with back-off.
	Err error
}

const (
	// quotaRetry is how often a refused driver is tried again: quota is freed by pods that are not ours to watch.
	quotaRetry = 10 * time.Second
	// operatorRetry is how often a call is repeated that the operator's own rights do not allow.
	operatorRetry = 30 * time.Second
	// policyRetry is how often a driver is tried again that a policy refuses, and policyGrace for how long: what is
	// applied together, such as a service account, may arrive a little later.
	policyRetry = 5 * time.Second
	policyGrace = 30 * time.Second
)

// Settle says what is true after the actions of a plan, also when one was refused. Results are given in the order of
// the plan's actions; actions after the first refusal were not tried and have none.
func Settle(p Plan, results []Result, env Env) Outcome {
	o := Outcome{Record: p.Record, Requeue: p.Requeue}
	for _, r := range results {
		switch {
		case r.Kind == Schedule && r.Class != ClassDone && r.Class != ClassTransient:
			o = settleSchedule(o, p, r, env)
		case r.Class == ClassTransient, r.Kind != Submit && r.Class != ClassDone:
			o.Err = &ActionError{Action: r.Kind, Message: r.Message}
			o.Record = undone(p, r)
		case r.Kind == Submit:
			o = settleSubmit(o, p, r, env)
		}
	}
	if o.Record.DriverName == "" {
		o.Record.DriverName = p.App.DriverName
	}
	o.Record.Cause.Message = head(o.Record.Cause.Message, o.Record.State.maxCause())
	o.Conditions = conditions(o.Record, p)
	return o
}

// undone is the record as it was. Only New is not stored: tools take a state without a word for a driver that exists.
func undone(p Plan, r Result) Record {
	was := p.Before
	if was.State == New && !p.App.Deleting {
		was.State, was.Cause = Queued, Cause{ReasonNotSubmitted, "the API server is in trouble: " + r.Message}
	}
	return was
}

func settleSubmit(o Outcome, p Plan, r Result, env Env) Outcome {
	queue := func(reason Reason, retry time.Duration) {
		o = delayed(o, p, Cause{reason, r.Message}, retry, env)
	}
	switch r.Class {
	case ClassDone:
		o.Record = submitted(o.Record, p.App, env.Now)
	case ClassNameTaken:
		queue(ReasonNameConflict, conflictRetry)
	case ClassQuota:
		queue(ReasonQuotaExceeded, quotaRetry)
	case ClassTerminating:
		queue(ReasonNamespaceTerminating, operatorRetry)
	case ClassOperatorForbidden:
		queue(ReasonOperatorForbidden, operatorRetry)
	case ClassPolicy:
		if o.Record.Cause.Reason != ReasonAdmissionRefused {
			o.Record.SubmittedAt = env.Now
		}
		if env.Now.Sub(o.Record.SubmittedAt) < policyGrace {
			queue(ReasonAdmissionRefused, policyRetry)
		} else {
			o = refused(o, Cause{ReasonAdmissionRefused, r.Message}, p, env)
		}
	case ClassRefused:
		o = refused(o, Cause{ReasonSubmissionRefused, r.Message}, p, env)
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

// settleSchedule waits when the scheduler's objects cannot be made.
func settleSchedule(o Outcome, p Plan, r Result, env Env) Outcome {
	reason := ReasonSchedulerObjects
	switch r.Class {
	case ClassNameTaken:
		reason = ReasonNameConflict
	case ClassQuota:
		reason = ReasonQuotaExceeded
	case ClassOperatorForbidden:
		reason = ReasonOperatorForbidden
	case ClassTerminating:
		reason = ReasonNamespaceTerminating
	case ClassDone, ClassPolicy, ClassRefused, ClassTransient:
	}
	return delayed(o, p, Cause{reason, r.Message}, operatorRetry, env)
}

func refused(o Outcome, c Cause, p Plan, env Env) Outcome {
	o.Record.State, o.Record.Cause = SubmissionFailed, c
	o.Record.Submissions++
	o.Record.SubmittedAt, o.Record.TerminatedAt = env.Now, env.Now
	o.Record.SubmissionID = p.App.SubmissionID
	o.Requeue = doubtRetry
	return o
}

// ActionError says that an action was not done and is to be repeated.
type ActionError struct {
	Action  ActionKind
	Message string
}

// Error names the action and the API server's words.
func (e *ActionError) Error() string { return string(e.Action) + ": " + e.Message }
