// SPDX-License-Identifier: Apache-2.0

// Package explain reports the state of an application, the operator's next step with its reason, and the user's possible actions. The next step is the
// operator's own decision: it comes from lifecycle.Decide over the observed state, and is not carried out. The package is pure.
package explain

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Input is the observed state of one application.
type Input struct {
	Object metav1.Object
	// Typed is the object's TYPE/NAME, in the form for kubectl spark.
	Typed      string
	Conditions []metav1.Condition
	Scope      resolve.Application
	Observed   lifecycle.Observation
	Admission  scheduler.Admission
	// Reserved is the state of the attempt in the batch scheduler.
	Reserved Reserved
	Quotas   []Quota
	// Lines are the lines of quotas in which the application waits.
	Lines []Line
	// Unreadable lists the objects that could not be read.
	Unreadable []string
	// State is the stored state, if the family's states differ from those of the record.
	State string
	Now   time.Time
}

// Report is the explanation of an application. Programs read its JSON form, and users its Text.
type Report struct {
	Kind               string `json:"kind"`
	Namespace          string `json:"namespace"`
	Name               string `json:"name"`
	State              string `json:"state"`
	Generation         int64  `json:"generation"`
	ObservedGeneration int64  `json:"observedGeneration"`
	// Behind explains why the status is older than the spec; "" if it is current.
	Behind  string      `json:"behind,omitempty"`
	Attempt int32       `json:"attempt"`
	Created metav1.Time `json:"created"`
	// Submitter is the user who created the application; nil if that is not known for certain.
	Submitter *Submitter `json:"submitter,omitempty"`
	// Summary describes the application in one sentence.
	Summary string `json:"summary"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Decision is the operator's next step.
	Decision Decision `json:"decision"`
	// Next lists the later events, the earliest first.
	Next       []Event    `json:"next,omitempty"`
	Scheduling Scheduling `json:"scheduling"`
	Driver     Driver     `json:"driver"`
	Executors  Executors  `json:"executors"`
	// Server is set if the driver serves clients.
	Server *Server `json:"server,omitempty"`
	Quotas []Quota `json:"quotas,omitempty"`
	// Lines are the lines of quotas in which the application waits, if the operator enforces quotas.
	Lines []Line `json:"lines,omitempty"`
	// RestartPolicy is Never, OnFailure or Always. Retries are the policy's budgets.
	RestartPolicy string     `json:"restartPolicy"`
	Retries       []Budget   `json:"retries,omitempty"`
	Deadlines     []Deadline `json:"deadlines,omitempty"`
	// Unbounded is the unset deadline that could bound the present wait; "" if there is no such wait.
	Unbounded  string             `json:"unbounded,omitempty"`
	Attempts   []Attempt          `json:"attempts,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Advice lists the user's possible actions.
	Advice []string `json:"advice,omitempty"`
	// Unreadable lists the objects that could not be read.
	Unreadable []string `json:"doubts,omitempty"`

	now time.Time
}

// Submitter is the user who created an object, and the source that recorded the user: AdmissionPolicy or Webhook.
type Submitter struct {
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
	Source string   `json:"source"`
}

func submitterOf(s lifecycle.Submitter) *Submitter {
	if s.User == "" {
		return nil
	}
	return &Submitter{User: s.User, Groups: s.Groups, Source: string(s.Source)}
}

// Decision is the operator's next step.
type Decision struct {
	Sentence string `json:"sentence"`
	// Actions are the writes, in order.
	Actions []string `json:"actions,omitempty"`
	// State is the state after the step.
	State string `json:"state"`
}

// Event is an expected event. A change in the cluster may cause it earlier.
type Event struct {
	At   metav1.Time `json:"at"`
	What string      `json:"what"`
}

// Driver is the pod with the driver's name.
type Driver struct {
	Name string `json:"name"`
	// Presence is Present, Absent or Unknown. Ownership is Current, Previous or NotOwned.
	Presence  string       `json:"presence"`
	Ownership string       `json:"ownership,omitempty"`
	Phase     string       `json:"phase,omitempty"`
	Created   *metav1.Time `json:"created,omitempty"`
	Scheduled *metav1.Time `json:"scheduled,omitempty"`
	Started   *metav1.Time `json:"started,omitempty"`
	// DeletionDue is the time by which a deleted pod must be gone.
	DeletionDue *metav1.Time `json:"goneBy,omitempty"`
	Waiting     string       `json:"waiting,omitempty"`
	Exit        string       `json:"exit,omitempty"`
	Disruption  string       `json:"disruption,omitempty"`
}

// Executors counts the executors of the current attempt.
type Executors struct {
	// Wanted is the initial number of executors.
	Wanted    int32    `json:"wanted"`
	Pending   int32    `json:"pending"`
	Running   int32    `json:"running"`
	Completed int32    `json:"completed"`
	Failed    int32    `json:"failed"`
	Unknown   int32    `json:"unknown"`
	Failures  []string `json:"failures,omitempty"`
}

// Quota is one limit of a ResourceQuota in the namespace.
type Quota struct {
	Name     string `json:"name"`
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Hard     string `json:"hard"`
	// Exhausted is set if nothing is left.
	Exhausted bool `json:"exhausted,omitempty"`
}

// Budget is the retry budget of some classes of failures.
type Budget struct {
	Classes   []string `json:"classes"`
	Retries   int32    `json:"retries"`
	Used      int32    `json:"used"`
	Left      int32    `json:"left"`
	Unlimited bool     `json:"unlimited,omitempty"`
}

// Deadline is a running deadline.
type Deadline struct {
	Field string      `json:"field"`
	Limit string      `json:"limit"`
	At    metav1.Time `json:"at"`
}

// Attempt is one attempt's history.
type Attempt struct {
	Number   int32        `json:"number"`
	Started  *metav1.Time `json:"started,omitempty"`
	Ended    *metav1.Time `json:"ended,omitempty"`
	ExitCode *int32       `json:"exitCode,omitempty"`
	Class    string       `json:"failureClass,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Message  string       `json:"message,omitempty"`
	LogTail  string       `json:"logTail,omitempty"`
}

// Explain decides as the operator would, and reports the decision.
func Explain(in Input) Report {
	s, env := in.Scope, lifecycle.Env{Now: in.Now}
	v := view{Input: in, before: s.Record, plan: lifecycle.Decide(s.Desired, s.Record, in.Observed, in.Admission, env)}
	v.at, v.again = lifecycle.RetryAt(s.Desired, s.Record)
	cause := v.cause()
	r := Report{
		Kind: in.Scope.Family.Kind, Namespace: in.Object.GetNamespace(), Name: in.Object.GetName(), State: cmp.Or(in.State, v.name(v.before.State)),
		Generation: in.Object.GetGeneration(), ObservedGeneration: v.before.Generation, Behind: v.behind(),
		Attempt: max(1, v.before.Attempt), Created: in.Object.GetCreationTimestamp(), Submitter: submitterOf(s.Desired.Submitter),
		Summary: v.summary(), Reason: string(cause.Reason), Message: cause.Message,
		Decision: v.decision(), Next: v.next(), Scheduling: v.scheduling(), Driver: v.driver(), Executors: v.executors(), Server: v.server(),
		RestartPolicy: string(s.Desired.Policies.Restart.Type), Retries: v.budgets(), Deadlines: v.deadlines(), Unbounded: v.unbounded(), Attempts: v.attempts(),
		Conditions: in.Conditions, Advice: v.advice(), Lines: in.Lines, Unreadable: in.Unreadable, now: in.Now,
	}
	if v.before.State.Starting() {
		r.Quotas = in.Quotas
	}
	return r
}

// view is the input for the parts of a report.
type view struct {
	Input
	before lifecycle.Record
	plan   lifecycle.Plan
	// at is the start of the next attempt, if again is set.
	at    time.Time
	again bool
}

func (v view) name(s lifecycle.State) string {
	if name := v.Scope.Family.States[s]; name != "" {
		return name
	}
	return "NEW"
}

// field returns the user's path of a field.
func (v view) field(name string) string { return v.Scope.Family.Field(name) }

// cause explains the application's state: why its driver is not running, or the decision's cause.
func (v view) cause() lifecycle.Cause {
	switch v.plan.Record.State {
	case lifecycle.Submitted:
	case lifecycle.Running:
		return cmp.Or(v.serving(), v.plan.Record.Cause, v.plan.Record.Missing.Cause())
	default:
		return cmp.Or(v.serving(), v.plan.Record.Cause)
	}
	if w := v.plan.Scheduler; w.Waits() && v.plan.Driver.ScheduledAt.IsZero() {
		return lifecycle.Cause{Reason: w.Reason, Message: w.Message} // for an unscheduled pod, the batch scheduler's report has more detail than the pod
	}
	if w := v.plan.Driver.Waiting; w.Reason != "" {
		return w.Detailed()
	}
	return v.plan.Record.Cause
}

func (v view) behind() string {
	switch g := v.Object.GetGeneration(); {
	case v.Scope.Desired.NotRun():
		return ""
	case v.before.State == lifecycle.New:
		return "the operator has not reconciled the application yet"
	case v.before.Generation == 0:
		return "the status was written by another operator; this one takes over the application unchanged"
	case !v.before.DrainSince.IsZero():
		return "the new spec waits for the sessions of the server"
	case v.before.Generation != g:
		return "the spec was changed after the last reconcile"
	}
	return ""
}

// Cause explains an application's wait or failure, by its status alone; empty if there is neither.
func Cause(rec lifecycle.Record, conditions []metav1.Condition) lifecycle.Cause {
	var aspects []lifecycle.ConditionType
	switch rec.State {
	case lifecycle.Submitted:
		aspects = []lifecycle.ConditionType{lifecycle.ConditionDriverReady}
	case lifecycle.Running:
		aspects = []lifecycle.ConditionType{lifecycle.ConditionDriverReady, lifecycle.ConditionExecutorsReady}
	default:
		return rec.Cause
	}
	if c := meta.FindStatusCondition(conditions, string(lifecycle.ConditionReconciling)); c != nil && !rec.DrainSince.IsZero() {
		return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
	}
	for _, aspect := range aspects {
		if c := meta.FindStatusCondition(conditions, string(aspect)); c != nil && c.Status != metav1.ConditionTrue {
			return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
		}
	}
	return lifecycle.Cause{}
}
