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
	// Err is trouble that is not the application's: the reconcile is to be repeated with back-off.
	Err error
}

const (
	// quotaRetry is how often a refused driver is tried again: quota is freed by pods that are not ours to watch.
	quotaRetry = 10 * time.Second
	// operatorRetry is how often a call is repeated that the operator's own rights do not allow.
	operatorRetry = 30 * time.Second
)

// Settle says what is true after the actions of a plan, also when one was refused. Results are given in the order of
// the plan's actions; actions after the first refusal were not tried and have none.
func Settle(p Plan, results []Result, env Env) Outcome {
	o := Outcome{Record: p.Record, Requeue: p.Requeue}
	for _, r := range results {
		if r.Class == ClassTransient {
			o.Err = &TransientError{Action: r.Kind, Message: r.Message}
			continue
		}
		if r.Kind == Submit {
			o = settleSubmit(o, p, r, env)
		}
	}
	if p.Driver.Name != "" {
		o.Record.DriverName = p.Driver.Name
	}
	o.Conditions = conditions(o.Record, p)
	return o
}

func settleSubmit(o Outcome, p Plan, r Result, env Env) Outcome {
	queue := func(reason Reason, message string, retry time.Duration) {
		o.Record.State, o.Record.Cause, o.Requeue = Queued, Cause{reason, message}, retry
	}
	switch r.Class {
	case ClassDone:
		o.Record = submitted(o.Record, p.App, env.Now)
	case ClassNameTaken:
		c := nameConflict(p.Driver.Name)
		queue(c.Reason, c.Message, conflictRetry)
	case ClassQuota:
		queue(ReasonQuotaExceeded, r.Message, quotaRetry)
	case ClassTerminating:
		queue(ReasonNamespaceTerminating, r.Message, operatorRetry)
	case ClassOperatorForbidden:
		queue(ReasonOperatorForbidden, r.Message, operatorRetry)
	case ClassRefused:
		o.Record.State, o.Record.Cause = SubmissionFailed, Cause{ReasonSubmissionRefused, r.Message}
		o.Record.Submissions = max(o.Record.Submissions, o.Record.Attempt)
		o.Record.SubmittedAt, o.Record.TerminatedAt = env.Now, env.Now
		o.Requeue = 0
	case ClassTransient: // Settle has made it an error: nothing is known to have changed
	}
	return o
}

// TransientError says that the API server could not do an action at present.
type TransientError struct {
	Action  ActionKind
	Message string
}

// Error names the action and the API server's words.
func (e *TransientError) Error() string { return string(e.Action) + ": " + e.Message }
