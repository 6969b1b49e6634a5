// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// decision describes the plan by its writes. Without writes it describes the changes of the record, and without these the wait.
func (v view) decision() Decision {
	d := Decision{State: v.name(v.plan.Record.State)}
	for _, a := range v.plan.Actions {
		if a.Kind == lifecycle.Schedule && v.Reserved.Made {
			continue // its objects already exist
		}
		d.Actions = append(d.Actions, v.action(a))
	}
	switch {
	case len(d.Actions) > 0 && v.Admission.Waits():
		d.Sentence = strings.Join(append(d.Actions, v.waiting()), ", then ")
	case len(d.Actions) > 0:
		d.Sentence = strings.Join(d.Actions, ", then ")
		if reason := v.why(); reason != "" {
			d.Sentence += " (" + reason + ")"
		}
	case v.plan.Record.Attempt > max(1, v.before.Attempt):
		d.Sentence = fmt.Sprintf("begin attempt %d", v.plan.Record.Attempt)
	case v.plan.Record.State != v.before.State && v.plan.Record.State != lifecycle.Queued:
		d.Sentence = "record that the application is " + v.name(v.plan.Record.State)
		if c := v.plan.Record.Cause; c.Message != "" {
			d.Sentence += ": " + c.Message
		}
	default:
		d.Sentence = v.waiting()
	}
	return d
}

func (v view) action(a lifecycle.Action) string {
	switch a.Kind {
	case lifecycle.Submit:
		text := fmt.Sprintf("create driver pod %s for attempt %d", v.Scope.Desired.DriverName, v.plan.Record.Attempt)
		if refusals[v.before.Cause.Reason] && v.before.State.Starting() {
			return "try again to " + text + ", after the last refusal"
		}
		return text
	case lifecycle.DeleteDriver:
		return "delete driver pod " + v.plan.Driver.Name
	case lifecycle.DeleteResources:
		return fmt.Sprintf("delete the objects created with the driver of attempt %d", a.Attempt)
	case lifecycle.Schedule:
		return "create the objects that the batch scheduler needs"
	case lifecycle.Release:
		return fmt.Sprintf("delete the batch scheduler's objects for attempt %d", a.Attempt)
	case lifecycle.UpdateTemplate:
		return "update the placement in the executor template of driver " + v.plan.Driver.Name
	case lifecycle.Restore:
		return "recreate objects that driver " + v.plan.Driver.Name + " has lost"
	case lifecycle.Adjust:
		return "update the batch scheduler's objects of the attempt"
	case lifecycle.TryExecutor:
		return "ask the API server in a dry run for an executor pod, because there is none"
	case lifecycle.DeleteApplication:
		return "delete the application"
	case lifecycle.RemoveFinalizer:
		return "remove the finalizer of another operator"
	}
	return string(a.Kind)
}

// why returns the reason of a plan's writes, unless the writes make it obvious.
func (v view) why() string {
	switch kind := v.plan.Actions[0].Kind; {
	case v.Scope.Desired.Deleting:
		return "the application is being deleted"
	case v.before.State.Final() && v.plan.Record.State == v.before.State:
		return v.Scope.Family.Fields.Text("its retention has expired, see {retention} and {timeToLiveSeconds}")
	case v.plan.Record.Cause.Reason == lifecycle.ReasonPreviousDriver:
		return fmt.Sprintf("attempt %d needs its name", v.plan.Record.Attempt)
	case kind == lifecycle.Submit || v.before.State.Starting():
		return ""
	}
	return v.plan.Record.Cause.Message
}

// refusals are the reasons why a driver pod could not be created and the creation is retried.
var refusals = map[lifecycle.Reason]bool{
	lifecycle.ReasonQuotaExceeded: true, lifecycle.ReasonAdmissionRefused: true, lifecycle.ReasonNamespaceTerminating: true,
	lifecycle.ReasonOperatorForbidden: true, lifecycle.ReasonNameConflict: true, lifecycle.ReasonSubmissionRefused: true,
}

// waiting describes why the plan has no action.
func (v view) waiting() string {
	r, d := v.plan.Record, v.plan.Driver
	switch {
	case v.Scope.Desired.Probe:
		return "nothing: the operator's health check edits the object, and sees that its edits arrive"
	case v.Scope.Desired.ManagedBy != "":
		return "nothing: " + v.field("managedBy") + " names another controller, " + v.Scope.Desired.ManagedBy + ", and the status is that controller's"
	case v.Scope.Desired.Deleting:
		return "nothing: the application's objects are deleted with it"
	case d.Presence == lifecycle.Unknown && !r.State.Final():
		return "reconcile again: the existence of the driver pod is unknown"
	}
	switch r.State {
	case lifecycle.New, lifecycle.Queued, lifecycle.Rerunning, lifecycle.Resuming, lifecycle.SubmissionFailed:
		return v.waitingToStart()
	case lifecycle.Submitted:
		return "wait until the driver's container is running"
	case lifecycle.Running:
		if v.Scope.Desired.Endures {
			return v.keeping()
		}
		return "wait for the driver's end"
	case lifecycle.Failing:
		if v.stopping() {
			return "wait until driver pod " + d.Name + " has stopped"
		}
		return fmt.Sprintf("wait for the back-off, then begin attempt %d", r.Attempt+1)
	case lifecycle.Succeeding:
		return "wait for the interval, then run again (restart policy Always)"
	case lifecycle.Invalidating, lifecycle.Suspending:
		return "wait until driver pod " + d.Name + " is gone"
	case lifecycle.Suspended:
		if idle(r) {
			return "nothing until a client connects"
		}
		return "nothing until " + v.field("suspend") + " is false"
	case lifecycle.Succeeded, lifecycle.Failed:
	}
	if len(lifecycle.Expirations(v.Scope.Desired, r)) > 0 {
		return "nothing until a retention time expires"
	}
	return "nothing: the application has finished"
}

func (v view) waitingToStart() string {
	c := v.plan.Record.Cause
	switch {
	case c.Reason == lifecycle.ReasonSuspended:
		return "nothing until " + v.field("suspend") + " is false"
	case v.plan.Record.State == lifecycle.SubmissionFailed && v.again:
		return "wait for the back-off, then submit again"
	case c.Message != "":
		return "wait: " + c.Message
	}
	return "wait"
}

// stopping reports whether a driver still runs although it has to stop.
func (v view) stopping() bool {
	d := v.plan.Driver
	return d.Presence == lifecycle.Present && d.Ownership != lifecycle.NotOwned && (d.Phase == lifecycle.DriverPending || d.Phase == lifecycle.DriverRunning)
}

// next lists the expected events, the earliest first.
func (v view) next() []Event {
	var all []Event
	add := func(at time.Time, what string) { all = append(all, Event{At: metav1.Time{Time: at}, What: what}) }
	idle := len(v.decision().Actions) == 0 && v.plan.Record.State == v.before.State
	r := v.before
	switch {
	case !idle:
	case r.State == lifecycle.Failing && v.again && !v.stopping():
		add(v.at, fmt.Sprintf("attempt %d begins", r.Attempt+1)+v.retry(r.Current().Class)+v.raise())
	case r.State == lifecycle.SubmissionFailed && v.again:
		add(v.at, "the driver is submitted again"+v.retry(lifecycle.Submission))
	case r.State == lifecycle.Succeeding:
		add(v.Now.Add(v.plan.Requeue), fmt.Sprintf("attempt %d begins (restart policy Always)", r.Attempt+1))
	case v.plan.Requeue > 0 && !r.State.Final():
		add(v.Now.Add(v.plan.Requeue), "the next reconcile, at the latest")
	}
	if at := v.drainUntil(); !at.IsZero() {
		add(at, "the server is replaced, if sessions are still open ("+v.field("drainTimeout")+")")
	}
	if at := v.idleStop(); !at.IsZero() {
		add(at, "the server is stopped, if nothing is executed until then ("+v.field("idleTimeout")+")")
	}
	for _, d := range v.deadlines() {
		add(d.At.Time, d.Field+" ("+d.Limit+") ends the attempt")
	}
	for _, k := range lifecycle.Expirations(v.Scope.Desired, v.plan.Record) {
		add(k.Until, kept[k.What])
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At.Time) })
	return all
}

// retry describes how many of a class's retries are used.
func (v view) retry(class lifecycle.FailureClass) string {
	for _, b := range v.Scope.Desired.Policies.Restart.Budgets(v.before.Retries.Used) {
		if slices.Contains(b.Classes, class) && !b.Unlimited {
			return fmt.Sprintf(" (retry %d of %d in class %s)", b.Used+1, b.Retries, class)
		}
	}
	return ""
}

// raise says that the next attempt gets more memory, if it does.
func (v view) raise() string {
	if a := v.before.Current(); a != nil && a.Class == lifecycle.OutOfMemory && v.Scope.Desired.RaisesMemory {
		return ", with more memory for the driver"
	}
	return ""
}

// kept describes the deletions of a finished application's objects.
var kept = map[lifecycle.ActionKind]string{
	lifecycle.DeleteDriver:      "the driver pod is deleted, and its log with it",
	lifecycle.DeleteResources:   "the ConfigMaps, Services and other objects of the last attempt are deleted",
	lifecycle.DeleteApplication: "the application is deleted",
}

// summary describes the application in words that follow its name.
func (v view) summary() string {
	r, c := v.before, v.cause()
	switch d := v.Scope.Desired; {
	case d.Deleting:
		return "is being deleted"
	case d.Probe:
		return "is a health probe, and no application"
	}
	switch r.State {
	case lifecycle.New:
		return withCause("is new", v.firstWait())
	case lifecycle.Queued, lifecycle.Rerunning, lifecycle.Resuming:
		return withCause("waits for its driver", c.Message)
	case lifecycle.SubmissionFailed:
		return withCause("could not be submitted", r.Cause.Message)
	case lifecycle.Submitted:
		return withCause("has a driver pod that is not running yet", c.Message)
	case lifecycle.Running:
		return v.progress()
	case lifecycle.Succeeding:
		return "has succeeded"
	case lifecycle.Failing:
		if v.again {
			return withCause("has failed and will run again", r.Cause.Message)
		}
		return withCause("has failed", r.Cause.Message)
	case lifecycle.Invalidating:
		return "is being stopped to run again from a new spec"
	case lifecycle.Suspending:
		if idle(r) {
			return "is being stopped because it was idle"
		}
		return "is being stopped because " + v.field("suspend") + " is true"
	case lifecycle.Suspended:
		if idle(r) {
			return "was stopped " + duration.HumanDuration(max(0, v.Now.Sub(r.Idle.StoppedAt))) + " ago because it was idle"
		}
		return "is suspended"
	case lifecycle.Succeeded:
		return "has completed" + v.ago()
	case lifecycle.Failed:
		return withCause("has failed permanently"+v.ago(), r.Cause.Message)
	}
	return ""
}

// firstWait explains why a new application is not reconciled yet.
func (v view) firstWait() string {
	if v.plan.Record.State == lifecycle.New {
		return ""
	}
	return v.plan.Record.Cause.Message
}

func (v view) ago() string {
	if v.before.TerminatedAt.IsZero() {
		return ""
	}
	return " " + duration.HumanDuration(v.Now.Sub(v.before.TerminatedAt)) + " ago"
}

func withCause(text, cause string) string {
	if cause == "" {
		return text
	}
	return text + ": " + cause
}

// progress describes a running driver.
func (v view) progress() string {
	if v.plan.Record.State != lifecycle.Running {
		return "was running at the last reconcile"
	}
	text := "runs"
	if a := v.plan.Record.Current(); a != nil && !a.StartedAt.IsZero() {
		text += " for " + duration.HumanDuration(v.Now.Sub(a.StartedAt))
	}
	e := v.executors()
	return withCause(fmt.Sprintf("%s with %d of %d executors", text, e.Running, e.Wanted), v.serving().Message)
}
