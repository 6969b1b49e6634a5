// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// order is the order of states that tools rely on.
var order = []v1.ApplicationStateSummary{
	v1.StateSubmitted, v1.StateScheduledToRestart,
	v1.StateDriverRequested, v1.StateDriverStarted, v1.StateDriverReady, v1.StateInitializedBelowThresholdExecutors,
	v1.StateRunningHealthy, v1.StateRunningWithPartialCapacity, v1.StateRunningWithBelowThresholdExecutors,
	v1.StateDriverStartTimedOut, v1.StateExecutorsStartTimedOut, v1.StateDriverReadyTimedOut, v1.StateSucceeded, v1.StateFailed,
	v1.StateSchedulingFailure, v1.StateDriverEvicted,
	v1.StateResourceReleased, v1.StateTerminatedWithoutReleaseResources,
	v1.StateSuspended,
}

// States returns the names of all states, in order.
func States() []string {
	var names []string
	for _, s := range order {
		names = append(names, string(s))
	}
	return names
}

func before(a, b v1.ApplicationStateSummary) bool {
	return slices.Index(order, a) < slices.Index(order, b)
}

// requested reports whether a driver starts or runs in a state. stopping reports whether an attempt has ended in it. terminated reports whether the
// application has ended.
func requested(s v1.ApplicationStateSummary) bool {
	return !before(s, v1.StateDriverRequested) && before(s, v1.StateDriverStartTimedOut)
}

func stopping(s v1.ApplicationStateSummary) bool {
	return !before(s, v1.StateDriverStartTimedOut) && before(s, v1.StateResourceReleased)
}

func terminated(s v1.ApplicationStateSummary) bool {
	return s == v1.StateResourceReleased || s == v1.StateTerminatedWithoutReleaseResources
}

// step is a new state of an application.
type step struct {
	state     v1.ApplicationStateSummary
	message   string
	driver    *corev1.PodStatus
	suspended v1.SuspendReason
	// begins is the attempt that begins with the state; nil if none does.
	begins *v1.AttemptInfo
}

// Messages of states without a cause.
const (
	saysSubmitted    = "the application is known to the operator"
	saysRestart      = "the application runs again"
	saysRequested    = "the driver pod was created"
	saysStarted      = "the driver's container is ready"
	saysReady        = "the driver pod is ready"
	saysFewAtStart   = "fewer executors are ready than initExecutors"
	saysHealthy      = "the application runs"
	saysPartial      = "fewer executors are ready than maxExecutors"
	saysFew          = "fewer executors are ready than minExecutors"
	saysSucceeded    = "the driver finished with exit code 0"
	saysReleased     = "the driver pod and its objects are deleted"
	saysStopped      = "the driver was stopped: its pod and its objects are deleted"
	saysRetained     = "the driver pod and its objects are kept"
	saysSuspended    = "spec.suspend is true: the driver is stopped"
	saysSubmitResume = "spec.suspend is false again: the application runs again"
)

// walk collects the states that follow a state.
type walk struct {
	at    v1.ApplicationStateSummary
	o     *v1.SparkApplication
	out   lifecycle.Outcome
	steps []step
}

func (w *walk) to(s step) {
	w.at = s.state
	w.steps = append(w.steps, s)
}

// stepsTo returns the states since the last status write. Each is added once, because the stored status has the earlier states.
func stepsTo(o *v1.SparkApplication, out lifecycle.Outcome) []step {
	w := walk{o: o, out: out}
	if o.Status.CurrentState != nil {
		w.at = o.Status.CurrentState.CurrentStateSummary
	}
	r := &out.Record
	if w.at == "" {
		if r.State == lifecycle.New || r.State.Starting() && r.Cause.Reason == lifecycle.ReasonSuspended {
			return nil // an application that is suspended before its start has no state
		}
		w.to(step{state: v1.StateSubmitted, message: saysSubmitted})
	}
	switch r.State {
	case lifecycle.New, lifecycle.Queued:
	case lifecycle.Rerunning:
		if w.at != v1.StateScheduledToRestart {
			w.restart(r.Attempt-1, r.Retries.Counters)
		}
	case lifecycle.Resuming:
		if w.at == v1.StateSuspended {
			counters := r.Retries.Counters
			counters.Submissions = 0
			w.to(step{state: v1.StateSubmitted, message: saysSubmitResume, begins: attemptInfo(r.Attempt-1, counters)})
		}
	case lifecycle.Submitted, lifecycle.Running:
		w.run()
	case lifecycle.Suspending, lifecycle.Suspended, lifecycle.Invalidating:
		w.suspend()
	case lifecycle.Succeeding, lifecycle.Failing, lifecycle.SubmissionFailed, lifecycle.Succeeded, lifecycle.Failed:
		w.end()
	}
	return w.steps
}

// attemptInfo describes an attempt; id counts from 0.
func attemptInfo(id int32, c lifecycle.Counters) *v1.AttemptInfo {
	return &v1.AttemptInfo{
		ID: int64(id), RestartCounter: c.Restarts, FailureRestartCounter: c.Failures, SchedulingFailureRestartCounter: c.Submissions,
	}
}

func (w *walk) restart(id int32, c lifecycle.Counters) {
	w.to(step{state: v1.StateScheduledToRestart, message: cmp.Or(w.out.Record.Cause.Message, saysRestart), begins: attemptInfo(id, c)})
}

// capacities maps the capacity of a run to its state.
var capacities = map[lifecycle.Capacity]step{
	lifecycle.CapacityBelowInitial: {state: v1.StateInitializedBelowThresholdExecutors, message: saysFewAtStart},
	lifecycle.CapacityFull:         {state: v1.StateRunningHealthy, message: saysHealthy},
	lifecycle.CapacityPartial:      {state: v1.StateRunningWithPartialCapacity, message: saysPartial},
	lifecycle.CapacityBelowMin:     {state: v1.StateRunningWithBelowThresholdExecutors, message: saysFew},
}

// run adds the states of a driver up to the current state.
func (w *walk) run() {
	if !requested(w.at) {
		w.to(step{state: v1.StateDriverRequested, message: saysRequested})
	}
	p := w.out.Record.Progress
	if !p.StartedAt.IsZero() && before(w.at, v1.StateDriverStarted) {
		w.to(step{state: v1.StateDriverStarted, message: saysStarted})
	}
	if !p.ReadyAt.IsZero() && before(w.at, v1.StateDriverReady) {
		w.to(step{state: v1.StateDriverReady, message: saysReady})
	}
	if s, known := capacities[p.Capacity]; known && s.state != w.at {
		w.to(s)
	}
}

// suspend adds the states of an application whose driver is stopped. It adds none between two attempts.
func (w *walk) suspend() {
	switch {
	case requested(w.at), w.o.Spec.Suspend && evicted(&w.o.Status):
		w.to(step{state: v1.StateSuspended, message: saysSuspended, suspended: v1.SuspendedBySpec})
	case stopping(w.at):
		w.restart(w.out.Record.Attempt, w.out.Record.Retries.Counters)
	}
}

// evicted reports whether Kueue evicted the application while Apache's operator ran it.
func evicted(s *v1.SparkApplicationStatus) bool {
	return s.CurrentState != nil && s.CurrentState.SuspendReason == v1.SuspendedByKueue
}

// end adds the states of an attempt that ended, up to the next attempt or the end of the application.
func (w *walk) end() {
	r := &w.out.Record
	next := shownNext(&w.o.Status, r)
	if (next || terminated(w.at)) && !r.State.Final() {
		return
	}
	// If an edit ends the application after the next attempt is shown, the end belongs to the previous attempt.
	if !next && (w.at == v1.StateSubmitted || w.at == v1.StateScheduledToRestart) && r.Current() != nil {
		w.to(step{state: v1.StateDriverRequested, message: saysRequested}) // the driver started and ended between two reconciles
	}
	if !stopping(w.at) && !terminated(w.at) {
		w.to(w.ending())
	}
	if next := w.out.Following; next != nil {
		w.restart(r.Attempt, *next)
		return
	}
	switch {
	case !r.State.Final() || w.at == v1.StateResourceReleased:
	case r.Released.DriverPod:
		w.to(step{state: v1.StateResourceReleased, message: saysReleased})
	case w.at == v1.StateTerminatedWithoutReleaseResources || !retains(&w.o.Spec, r.State == lifecycle.Failed):
	case stopped(r, w.out.Driver):
		w.to(step{state: v1.StateResourceReleased, message: saysStopped})
	default:
		w.to(step{state: v1.StateTerminatedWithoutReleaseResources, message: saysRetained})
	}
}

// stopped reports whether the operator stopped the last attempt's driver: its pod is then deleted, so nothing is kept. If a driver ended by itself, its pod
// still exists.
func stopped(r *lifecycle.Record, d lifecycle.Driver) bool {
	a := r.Current()
	return a != nil && (d.Presence != lifecycle.Present || d.Deleting) &&
		(a.Class == lifecycle.StartTimeout || a.Class == lifecycle.Deadline || a.Class == lifecycle.Evicted)
}

// shownNext reports whether the status already shows the waiting attempt that follows the record's attempt.
func shownNext(s *v1.SparkApplicationStatus, r *lifecycle.Record) bool {
	return s.CurrentState != nil && s.CurrentState.CurrentStateSummary == v1.StateScheduledToRestart && currentAttempt(s).ID == int64(r.Attempt)
}

// ends maps a reason to the final state of an attempt with a driver. All other reasons mean failures.
var ends = map[lifecycle.Reason]v1.ApplicationStateSummary{
	lifecycle.ReasonStartTimeout:      v1.StateDriverStartTimedOut,
	lifecycle.ReasonSchedulingTimeout: v1.StateDriverStartTimedOut,
	lifecycle.ReasonReadyTimeout:      v1.StateDriverStartTimedOut,
	lifecycle.ReasonNotReadyTimeout:   v1.StateDriverReadyTimedOut,
	lifecycle.ReasonExecutorsTimeout:  v1.StateExecutorsStartTimedOut,
	lifecycle.ReasonDriverEvicted:     v1.StateDriverEvicted,
}

// ending returns the final state of an attempt.
func (w *walk) ending() step {
	r := &w.out.Record
	if r.State == lifecycle.Succeeding || r.State == lifecycle.Succeeded {
		return step{state: v1.StateSucceeded, message: saysSucceeded}
	}
	s := step{state: v1.StateFailed, message: r.Cause.Message, driver: podStatus(w.out.Driver)}
	a := r.Current()
	switch {
	case a != nil && a.Class == lifecycle.Evicted:
		s.state = v1.StateDriverEvicted
	case a != nil:
		s.state = cmp.Or(ends[r.Cause.Reason], v1.StateFailed)
	case !refusedAtOnce(&w.o.Spec):
		s.state = v1.StateSchedulingFailure
	}
	return s
}

// refusedAtOnce reports whether Apache's operator would fail the application before it builds a driver.
func refusedAtOnce(s *v1.SparkApplicationSpec) bool {
	_, problems := attachedOf(s)
	return len(problems)+len(modeProblems(s)) > 0
}

// podStatus returns the part of an ended driver's pod status that is kept.
func podStatus(d lifecycle.Driver) *corev1.PodStatus {
	if d.Phase != lifecycle.DriverFailed {
		return nil
	}
	s := &corev1.PodStatus{Phase: corev1.PodFailed, Reason: string(d.Disruption.Reason), Message: d.Disruption.Message, PodIP: d.PodIP}
	if d.Exit.Code >= 0 {
		s.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  spark.DriverContainerName,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: d.Exit.Code, Reason: d.Exit.Reason, Message: d.Exit.Message}},
		}}
	}
	return s
}
