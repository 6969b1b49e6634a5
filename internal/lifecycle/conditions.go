// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// ConditionType names one aspect of an application.
type ConditionType string

// The conditions that every application shows.
const (
	// ConditionAdmitted : validation and the batch scheduler allow the driver.
	ConditionAdmitted ConditionType = "Admitted"
	// ConditionSubmitted : the current attempt's driver pod and the objects that it needs were created.
	ConditionSubmitted ConditionType = "Submitted"
	// ConditionDriverReady : the driver's container is running.
	ConditionDriverReady ConditionType = "DriverReady"
	// ConditionExecutorsReady : all initial executors are running.
	ConditionExecutorsReady ConditionType = "ExecutorsReady"
	// ConditionSuspended : spec.suspend delays the application or has stopped it.
	ConditionSuspended ConditionType = "Suspended"
	// ConditionReconciling : the application progresses to a running driver or to its end (kstatus).
	ConditionReconciling ConditionType = "Reconciling"
	// ConditionStalled : the application has failed, or waits for a change that a user must make (kstatus).
	ConditionStalled ConditionType = "Stalled"
	// ConditionSucceeded : the outcome.
	ConditionSucceeded ConditionType = "Succeeded"
)

// ConditionExposed is False while an auxiliary object of the driver cannot be created, and absent otherwise.
const ConditionExposed ConditionType = "Exposed"

// Status is the status of a condition.
type Status string

// The three statuses, spelled as Kubernetes spells them.
const (
	True         Status = "True"
	False        Status = "False"
	Undetermined Status = "Unknown"
)

// Condition is one aspect of an application. Its reason comes from the closed list.
type Condition struct {
	Type    ConditionType
	Status  Status
	Reason  Reason
	Message string
	// Wait is the wait in the message, if pods are not scheduled or do not start.
	Wait Wait
}

// waiting begins the Succeeded message of an application that waits.
const waiting = "waiting: "

// maxCondition bounds a condition's message, in bytes.
const maxCondition = 512

func conditions(r Record, p Plan) []Condition {
	all := []Condition{
		admitted(r, p), submission(r), driverReady(r, p), executorsReady(r, p),
		suspended(r, p), reconciling(r, p), stalled(r, p), succeeded(r, p),
	}
	for i := range all {
		all[i].Message = head(all[i].Message, maxCondition)
	}
	return all
}

// hasDriver reports whether the current attempt has had a driver, running or ended. After a suspension it is false.
func hasDriver(r Record) bool {
	return r.Current() != nil && !r.State.Starting() && r.State != Suspended
}

// refusedByServer reports whether the API server has refused the driver permanently. The driver was admitted before.
func refusedByServer(r Record) bool {
	return r.State == SubmissionFailed ||
		r.State == Failed && (r.Cause.Reason == ReasonSubmissionRefused || r.Cause.Reason == ReasonAdmissionRefused)
}

func admitted(r Record, p Plan) Condition {
	c := Condition{Type: ConditionAdmitted}
	switch {
	case hasDriver(r), refusedByServer(r):
		c.Status, c.Reason, c.Message = True, ReasonAdmitted, "the application was admitted"
	case p.Admission.Waits() && r.State.Starting() && r.Cause.Reason != "":
		// This is the admission's own cause, unless the API server refused the scheduler's objects.
		c.Status, c.Reason, c.Message = False, r.Cause.Reason, r.Cause.Message
	case p.Admission.Verdict == scheduler.Admit:
		c.Status, c.Reason, c.Message = True, p.Admission.Reason, p.Admission.Message
	case p.Admission.Verdict != "":
		c.Status, c.Reason, c.Message = False, p.Admission.Reason, p.Admission.Message
	case r.Cause.Reason != "":
		c.Status, c.Reason, c.Message = False, r.Cause.Reason, r.Cause.Message
	default:
		c.Status, c.Reason, c.Message = Undetermined, ReasonInProgress, "not checked yet"
	}
	if c.Status == True && r.Scheduling.Warning != "" {
		c.Message += "; warning: " + r.Scheduling.Warning
	}
	if c.Status == True && p.App.Notes != "" {
		c.Message += "; note: " + p.App.Notes
	}
	if problem := r.Placement.Problem; problem != "" && r.State.HasDriver() {
		c.Message += "; note: " + p.App.Fields.Text(placementEdited) + problem
	}
	for _, problem := range []string{r.Rerun.problem(p.App.Fields), p.App.wakeProblem()} {
		if problem != "" {
			c.Message += "; note: " + problem
		}
	}
	return c
}

// placementEdited introduces the reason why an edit waits for the next attempt.
const placementEdited = "the edited placement of {executor} takes effect with the next attempt: "

func submission(r Record) Condition {
	c := Condition{Type: ConditionSubmitted, Status: False, Reason: ReasonNotSubmitted, Message: "the driver pod is not created yet"}
	switch {
	case hasDriver(r):
		c.Status, c.Reason, c.Message = True, ReasonDriverCreated, fmt.Sprintf("driver pod %s was created", r.DriverName)
	case r.Cause.Reason != "":
		c.Reason, c.Message = r.Cause.Reason, r.Cause.Message
	}
	return c
}

// waiting returns the wait of a driver that is not running. An unscheduled pod has the batch scheduler's report, which has more detail than the pod.
func (p Plan) waiting() Wait {
	if p.Scheduler.Waits() && p.Driver.ScheduledAt.IsZero() {
		return WaitOf(p.Scheduler)
	}
	return p.Driver.Waiting
}

// withWait makes a condition report a wait.
func (c Condition) withWait(w Wait) Condition {
	detailed := w.Detailed()
	c.Reason, c.Message, c.Wait = detailed.Reason, detailed.Message, w
	return c
}

func driverReady(r Record, p Plan) Condition {
	c := Condition{Type: ConditionDriverReady, Status: False, Reason: ReasonNotSubmitted, Message: "there is no driver pod"}
	switch {
	case !hasDriver(r):
	case r.State == Submitted:
		c.Reason, c.Message = ReasonDriverPending, "the driver pod is not running yet"
		if w := p.waiting(); w.Reason != "" {
			c = c.withWait(w)
		}
	case r.State == Running && p.App.Endures:
		c = clientsReady(c, r, p)
	case r.State == Running && p.Driver.Deleting:
		c.Status, c.Reason, c.Message = True, ReasonDriverStopping, "the driver pod is being deleted"
	case r.State == Running:
		c.Status, c.Reason, c.Message = True, ReasonDriverRunning, "the driver's container is running"
	case r.State == Succeeding || r.State == Succeeded:
		c.Reason, c.Message = ReasonDriverSucceeded, "the driver finished with exit code 0"
	case r.Cause.Reason != "":
		c.Reason, c.Message = r.Cause.Reason, r.Cause.Message
	}
	return c
}

func executorsReady(r Record, p Plan) Condition {
	c := Condition{Type: ConditionExecutorsReady, Status: False, Reason: ReasonNoExecutors, Message: "there are no executors"}
	switch wanted, running := p.App.Executors, r.Counts.Running; {
	case r.State != Running:
	case wanted == 0 && running == 0:
		c.Status, c.Message = True, "the application starts without executors"
	case running >= wanted:
		c.Status, c.Reason, c.Message = True, ReasonExecutorsRunning, "all initial executors are running"
	case r.Missing.Refusal != "":
		refused := r.Missing.Cause()
		c.Reason, c.Message = refused.Reason, refused.Message
	case r.Counts.Total >= wanted && r.Counts.Pending == 0:
		// Dynamic allocation or failures removed executors. The driver requests new ones when it needs them.
		c.Reason, c.Message = ReasonExecutorsPending, "fewer executors are running than the application started with"
	case p.Scheduler.Waits():
		c = c.withWait(WaitOf(p.Scheduler))
	default:
		c.Reason, c.Message = ReasonExecutorsPending, fmt.Sprintf("fewer than the %d initial executors are running", wanted)
	}
	return c
}

func suspended(r Record, p Plan) Condition {
	c := Condition{Type: ConditionSuspended, Status: False, Reason: ReasonAdmitted, Message: p.App.Fields.Text("{suspend} is not true")}
	switch {
	case r.State == Suspended && r.idle():
		c.Status, c.Reason, c.Message = True, ReasonIdle, p.App.Fields.Text(idleStopped)
	case r.State == Suspending && r.idle():
		c.Reason, c.Message = ReasonIdle, p.App.Fields.Text(idleStopping)
	case r.State == Suspended || p.App.Suspend && r.State == Queued:
		c.Status, c.Reason, c.Message = True, ReasonSuspended, p.App.Fields.Text("{suspend} is true")
	case r.State == Suspending:
		c.Reason, c.Message = ReasonSuspended, "the driver is being stopped"
	case r.State.Final():
		c.Reason, c.Message = ReasonFinished, "the application has finished"
	}
	return c
}

func reconciling(r Record, p Plan) Condition {
	c := Condition{Type: ConditionReconciling, Status: True, Reason: ReasonInProgress, Message: "in progress"}
	switch {
	case r.State.Final():
		c.Status, c.Reason, c.Message = False, ReasonFinished, "the application has finished"
	case r.State == Running && !r.DrainSince.IsZero():
		c.Reason, c.Message = ReasonDraining, rollingOut(r, p)
	case r.State == Running && p.App.Endures && !p.Driver.Ready:
		ready := driverReady(r, p)
		c.Reason, c.Message = ready.Reason, ready.Message
	case r.State == Running:
		c.Status, c.Reason, c.Message = False, ReasonDriverRunning, "the driver's container is running"
	case r.State == Suspended && r.idle():
		c.Status, c.Reason, c.Message = False, ReasonIdle, p.App.Fields.Text(idleStopped)
	case r.State == Suspended || r.Cause.Reason == ReasonSuspended && r.State == Queued:
		c.Status, c.Reason, c.Message = False, ReasonSuspended, p.App.Fields.Text("{suspend} is true")
	case r.Cause.Reason != "":
		c.Reason, c.Message = r.Cause.Reason, r.Cause.Message
	}
	switch at, limited, ok := nextAt(p.App, r); {
	case limited:
		c.Reason, c.Message = ReasonRetryRate, fmt.Sprintf("the next attempt starts no earlier than %s: an application runs again at most %d times an hour",
			at.UTC().Format(time.RFC3339), p.App.Policies.Restart.perHour())
	case ok:
		c.Reason, c.Message = ReasonBackoff, "the next attempt starts no earlier than "+at.UTC().Format(time.RFC3339)
	}
	return c
}

// nextAt returns the start of the next attempt after an ended one, in whole seconds as in the status. If limited, the hourly limit sets the time, otherwise the
// back-off does.
func nextAt(app Application, r Record) (at time.Time, limited, ok bool) {
	r.TerminatedAt = r.TerminatedAt.Truncate(time.Second)
	if r.State == Failing || r.State == SubmissionFailed {
		return retryAt(app, r)
	}
	if r.State == Succeeding {
		return repeatAt(app, r)
	}
	return time.Time{}, false, false
}

var userActionReasons = map[Reason]bool{
	ReasonNameConflict: true, ReasonOperatorForbidden: true, ReasonAdmissionRefused: true, ReasonNamespaceTerminating: true,
	ReasonImagePull: true, ReasonConfigMissing: true, ReasonVolume: true, ReasonContainerStart: true,
	ReasonPreviousDriver: true, ReasonNodeLost: true,
}

// NeedsUserAction reports whether a wait for the reason usually ends only after a user acts.
func NeedsUserAction(r Reason) bool { return userActionReasons[r] }

func stalled(r Record, p Plan) Condition {
	c := Condition{Type: ConditionStalled, Status: False, Reason: ReasonInProgress, Message: "no action required"}
	w := p.waiting()
	switch {
	case r.State == Failed || r.State == SubmissionFailed:
		c.Status, c.Reason, c.Message = True, r.Cause.Reason, r.Cause.Message
	case r.State == Submitted && NeedsUserAction(w.Reason):
		c.Status = True
		c = c.withWait(w)
	case (r.State.Starting() || r.State == Suspending) && NeedsUserAction(r.Cause.Reason):
		c.Status, c.Reason, c.Message = True, r.Cause.Reason, r.Cause.Message
	}
	return c
}

func succeeded(r Record, p Plan) Condition {
	c := Condition{Type: ConditionSucceeded, Status: Undetermined, Reason: ReasonInProgress, Message: "the application has not finished"}
	switch {
	case r.State == Succeeding || r.State == Succeeded:
		c.Status, c.Reason, c.Message = True, ReasonDriverSucceeded, "the driver finished with exit code 0"
	case r.State == Failing || r.State == Failed || r.State == SubmissionFailed:
		c.Status, c.Reason, c.Message = False, r.Cause.Reason, r.Cause.Message
	case r.State.Starting() && r.Cause.Reason != "":
		c.Reason, c.Message = r.Cause.Reason, waiting+r.Cause.Message
	case r.State == Submitted:
		// kubectl shows this reason. Messages of schedulers and kubelets change often, so only the condition DriverReady has them.
		ready := driverReady(r, p)
		c.Reason, c.Message = ready.Reason, waiting+"the driver pod is not running yet; see the condition "+string(ConditionDriverReady)
	case r.Cause.Reason != "":
		c.Reason, c.Message = r.Cause.Reason, r.Cause.Message
	}
	return c
}
