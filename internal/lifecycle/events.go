// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"time"
)

// Event describes a stored change of an application. It is reported once.
type Event struct {
	Warning bool
	// Reason is one of the reasons that event watchers filter by.
	Reason string
	// Action is what the operator did, a required field of events.k8s.io.
	Action  string
	Message string
}

// maxNote is the limit of events.k8s.io for the text of an event, in bytes. The API server refuses a longer text.
const maxNote = 1024

// Events returns the events for the change between two stored records of an application. Their reasons begin with the kind, as in "SparkApplicationCompleted",
// because watchers filter by them.
func Events(kind, name string, from, to Record) []Event {
	var all []Event
	app := kind + " " + name
	if to.Current() != nil && from.Current() == nil {
		e := Event{Reason: kind + "Submitted", Action: "Submit", Message: fmt.Sprintf("%s was submitted: driver pod %s was created", app, to.DriverName)}
		if warning := to.Scheduling.Warning; warning != "" {
			e.Warning, e.Message = true, e.Message+"; warning: "+warning
		}
		all = append(all, e)
	}
	if from.State != to.State || (to.State.Starting() && from.Cause.Reason != to.Cause.Reason) {
		if e, ok := entered(kind, app, to); ok {
			all = append(all, e)
		}
	}
	if !to.DrainSince.IsZero() && from.DrainSince.IsZero() {
		all = append(all, Event{
			Reason: kind + "Draining", Action: "Rerun",
			Message: fmt.Sprintf("%s restarts with the new spec after the sessions of driver %s have ended", app, to.DriverName),
		})
	}
	if why := to.Missing.Cause().Message; why != "" && from.Missing.Refusal == "" {
		all = append(all, Event{
			Warning: true, Reason: "SparkExecutorsRefused", Action: "Observe",
			Message: fmt.Sprintf("Driver %s of %s runs without executors: %s", to.DriverName, app, why),
		})
	}
	if holds := from.Placement.until(to.Placement); holds != "" && to.State.HasDriver() && from.Attempt == to.Attempt {
		all = append(all, Event{
			Reason: kind + "WebhookFieldsUpdated", Action: "Observe", // the Kubeflow operator's reason
			Message: fmt.Sprintf("%s does not run again: the edited placement of executors takes effect %s", app, holds),
		})
	}
	if request := to.Rerun.Ignored; request != "" && request != from.Rerun.Ignored {
		all = append(all, Event{
			Warning: true, Reason: kind + "RerunIgnored", Action: "Rerun",
			Message: fmt.Sprintf("%s ignores the rerun request %q: it is not a present time in RFC 3339", app, request),
		})
	}
	if trouble := to.Exposure.Trouble; trouble.Reason == ReasonExposureForbidden && trouble != from.Exposure.Trouble {
		all = append(all, Event{
			Warning: true, Reason: kind + "ExposureForbidden", Action: "Expose",
			Message: fmt.Sprintf("%s%s violates a policy: %s", app, by(to), trouble.Message),
		})
	}
	for i := range all {
		all[i].Message = head(all[i].Message, maxNote)
	}
	return all
}

// entered returns the event of a state, if the state has one.
func entered(kind, app string, to Record) (Event, bool) {
	if to.State.Starting() && to.Cause.Reason == ReasonAdmitted {
		return Event{}, false // users do not wait for this intermediate step
	}
	switch to.State {
	case Queued:
		return Event{Warning: to.Cause.Reason != ReasonSuspended && to.Cause.Reason != ReasonPreviousApplication, Reason: kind + "Waiting",
			Action: "Submit", Message: to.Cause.Message}, true
	case Running:
		return Event{Reason: "SparkDriverRunning", Action: "Observe", Message: fmt.Sprintf("Driver %s is running", to.DriverName)}, true
	case Failing:
		return Event{Warning: true, Reason: "SparkDriverFailed", Action: "Observe",
			Message: fmt.Sprintf("Driver %s failed: %s", to.DriverName, to.Cause.Message)}, true
	case Rerunning:
		return Event{Warning: to.Cause.Reason != ReasonSpecChanged && to.Cause.Reason != ReasonRerunRequested, Reason: kind + "PendingRerun",
			Action: "Rerun", Message: app + " is pending rerun: " + to.Cause.Message}, true
	case Invalidating:
		return Event{Reason: kind + "Invalidating", Action: "Rerun", Message: app + " is stopped: " + to.Cause.Message}, true
	case Suspending:
		return Event{Reason: kind + "Suspending", Action: "Suspend", Message: app + " is suspending" + whyIdle(to)}, true
	case Suspended:
		return Event{Reason: kind + "Suspended", Action: "Suspend", Message: app + " is suspended" + whyIdle(to)}, true
	case Resuming:
		return Event{Reason: kind + "Resuming", Action: "Resume", Message: app + " is resuming"}, true
	case Succeeded:
		return Event{Reason: kind + "Completed", Action: "Complete", Message: app + " completed"}, true
	case Failed:
		return Event{Warning: true, Reason: kind + "Failed", Action: "Complete", Message: app + by(to) + " failed: " + to.Cause.Message}, true
	case SubmissionFailed:
		return Event{Warning: true, Reason: kind + "SubmissionFailed", Action: "Submit", Message: "failed to submit " + app + ": " + to.Cause.Message}, true
	case New, Submitted, Succeeding:
	}
	return Event{}, false
}

// by names the submitter if a trusted source recorded it, so that administrators can attribute refusals.
func by(r Record) string {
	if r.Submitter.User == "" {
		return ""
	}
	return " of user " + r.Submitter.User
}

// whyIdle is the end of the sentence about a stopped idle driver; "" for a driver that a user suspended.
func whyIdle(r Record) string {
	if !r.idle() {
		return ""
	}
	return ": " + r.Cause.Message
}

// StateChange is a change between two states, in the names of one kind.
type StateChange struct {
	// From is empty for the first state of an application.
	From, To string
	// Took is the time since the previous change, or since the application was created.
	Took time.Duration
}
