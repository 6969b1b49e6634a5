// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Record is the state that cannot be observed again. It is stored in the status of the application.
type Record struct {
	State State
	// Generation of the spec that the state was decided from; 0 before the first decision.
	Generation int64
	// SpecHash identifies the part of the spec that the current attempt was created from; "" if unknown.
	SpecHash string
	// Attempt counts drivers from 1. Attempt 1 is implied and acts without a record.
	Attempt int32
	// Submissions counts tries to create a driver, Executions created drivers, since the spec changed.
	Submissions int32
	Executions  int32
	// QueuedAt is when the current attempt began to wait for its driver.
	QueuedAt time.Time
	// SubmittedAt is when the current attempt's driver was created or refused.
	SubmittedAt time.Time
	// TerminatedAt is when the driver's end was observed.
	TerminatedAt time.Time
	// Cause explains a failure or a wait.
	Cause Cause
	// SparkAppID is Spark's id of the current attempt, SubmissionID the label of its pods. SubmissionID is recorded because
	// another operator may have chosen it.
	SparkAppID   string
	SubmissionID string
	// DriverName is the name of the driver pod.
	DriverName string
	// Executors are the states of executors of this attempt by pod name. A large attempt has only some of them.
	Executors map[string]ExecutorState
	// Counts covers all executors of this attempt.
	Counts ExecutorCounts
	// Failures are the last executors that failed.
	Failures []ExecutorFailure
	// Progress is the progress of the current attempt.
	Progress Progress
	// Retries are the failures since the budgets were last full.
	Retries Retries
	// Attempts are the last attempts. The current attempt is the last of them once it has a driver.
	Attempts []Attempt
	// Released lists the deleted parts of a finished application.
	Released   Released
	Scheduling Scheduling
	Rerun      Rerun
	Placement  Placement
	Missing    Missing
	// Submitter is the user that admission recorded before the first reconcile. The record keeps it, because an annotation can
	// be trusted only while something protects it.
	Submitter Submitter
	// DrainSince is when an edit began to wait for the driver's sessions to end; zero for none.
	DrainSince time.Time
	Idle       Idle
	// Exposure is the state of the auxiliary objects. No decision depends on it.
	Exposure Exposure
}

// Idle describes a driver that executes nothing.
type Idle struct {
	// Since is the time of the last execution, or of readiness if it is later.
	Since time.Time
	// Streaming is set if streaming queries ran at the last check. Spark does not report their end: Since is then the time of
	// that check.
	Streaming bool
	// StoppedAt is when the driver was stopped as idle; zero for never.
	StoppedAt time.Time
	// Problem explains why the executions are unknown; "" if they are known or irrelevant. It is stored: if two operators
	// believe to lead and only one knows them, they would overwrite each other forever.
	Problem string
}

// Placement covers the executor fields that can be edited without a new run: those for the placement. The driver reads them
// from a ConfigMap for each executor that it creates, so an edit reaches the next executors.
type Placement struct {
	// Rest is a hash of the spec without these fields; as long as it stays equal, an edit starts no new run. "" if unknown.
	Rest string
	// Made is the hash of these fields; in a record, of those in the driver's executor template. "" if unknown: an edit then
	// reaches the driver only if Outdated is set.
	Made string
	// Outdated is set while the driver's template may differ from the spec. It is stored before the update, so that an
	// unrecorded update is repeated, also after the edit was reverted.
	Outdated bool
	// Problem explains why an edit cannot reach the driver and takes effect with the next attempt; "" if it can, or was not
	// tried.
	Problem string
}

// Exposure is the state of a running driver's auxiliary objects, which expose it to users and protect it from eviction.
type Exposure struct {
	// Objects that exist or may exist, as kind/name, until their deletion is confirmed.
	Objects []string
	// Service of the UI, with its cluster IP and port.
	Service        string
	ServiceAddress string
	ServicePort    int32
	// Ingress and Route of the UI, with their URLs.
	Ingress        string
	IngressAddress string
	Route          string
	RouteAddress   string
	// HistoryURL is the page of the current attempt on a history server, also after its end.
	HistoryURL string
	// Trouble explains which objects could not be created. It never stops an application.
	Trouble Cause
}

// JoinCauses joins several causes into one that fits into a condition.
func JoinCauses(all []Cause) Cause {
	if len(all) == 0 {
		return Cause{}
	}
	sentences := make([]string, 0, len(all))
	for _, c := range all {
		sentences = append(sentences, c.Message)
	}
	return Cause{Reason: all[0].Reason, Message: head(strings.Join(sentences, "; "), maxCondition)}
}

// Scheduling is the choice for the current attempt, and the state of its scheduler objects.
type Scheduling struct {
	scheduler.Choice
	// Warning is the scheduler's warning at admission; "" for none.
	Warning string
	// AdmittedAt is when the attempt was admitted.
	AdmittedAt time.Time
	// HeldAttempt is the attempt with scheduler objects, 0 for none. HeldBy is their scheduler, which may differ from the
	// current choice.
	HeldAttempt int32
	HeldBy      string
}

// held returns the scheduling fields that survive a new start of the application.
func (s Scheduling) held() Scheduling {
	return Scheduling{HeldAttempt: s.HeldAttempt, HeldBy: s.HeldBy}
}

// Retries counts failures by class since the budgets were last full.
type Retries struct {
	Used map[FailureClass]int32
	// MemoryRaises counts increases of the driver's memory.
	MemoryRaises int32
	// Counters are those of Restart.Counted.
	Counters Counters
}

// Attempt is one attempt's history.
type Attempt struct {
	Number       int32
	SubmissionID string
	// StartedAt is when the driver's container started, EndedAt when the attempt's end was observed.
	StartedAt time.Time
	EndedAt   time.Time
	// ExitCode is nil if the driver's container reported none.
	ExitCode *int32
	// Class is "" for a success and for an attempt that a user stopped.
	Class FailureClass
	Cause Cause
	// LogTail holds the last lines of a failed driver's log.
	LogTail string
	// Withdrawn is set if the batch scheduler removed the driver before its pod got a node: it certainly never started. False if
	// unknown.
	Withdrawn bool
}

// withdrawn reports whether the scheduler ended an attempt, its pod exists, and no container has started.
func (a *Attempt) withdrawn(d Driver) bool {
	return a.Class == Evicted && a.StartedAt.IsZero() && d.ours() && d.Unplaced != ""
}

// Released lists the deleted parts of a finished application.
type Released struct {
	DriverPod, Resources bool
}

// NeverRan reports whether no driver of the application was ever created.
func (r Record) NeverRan() bool { return len(r.Attempts) == 0 && r.Executions == 0 }

// SameSpec reports whether the recorded spec equals the application's, as far as attempts depend on it. Without a recorded
// hash, an edit applies to waiting attempts only: running ones keep their spec.
func (r Record) SameSpec(app Application) bool {
	return r.SpecHash == app.SpecHash && (app.SpecHash != "" || r.Generation == app.Generation || !r.State.Starting())
}

// unrecorded reports whether a driver belongs to no recorded attempt: another operator created it and crashed before its status
// write.
func (r Record) unrecorded(d Driver) bool {
	known := func(a Attempt) bool { return a.SubmissionID == d.SubmissionID }
	return r.NeverRan() || d.SubmissionID != "" && !slices.ContainsFunc(r.Attempts, known)
}

// Current returns the history of the current attempt, or nil if it has none yet.
func (r Record) Current() *Attempt {
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].Number == r.Attempt {
		return &r.Attempts[n-1]
	}
	return nil
}

// lastDriven returns the number of the last attempt with a driver. Its objects still exist if the next attempt did not replace
// them.
func (r Record) lastDriven() int32 {
	if n := len(r.Attempts); n > 0 {
		return r.Attempts[n-1].Number
	}
	return r.Attempt
}

func clone(r Record) Record {
	r.Executors = maps.Clone(r.Executors)
	r.Failures = slices.Clone(r.Failures)
	r.Attempts = slices.Clone(r.Attempts)
	r.Retries.Used = maps.Clone(r.Retries.Used)
	r.Exposure.Objects = slices.Clone(r.Exposure.Objects)
	r.Submitter.Groups = slices.Clone(r.Submitter.Groups)
	return r
}

// Cause is a reason of the closed list and a sentence for users.
type Cause struct {
	Reason  Reason
	Message string
}

// causeOf returns the cause of an admission.
func causeOf(a scheduler.Admission) Cause { return Cause{a.Reason, a.Message} }

// observedCause returns the cause of an observation.
func observedCause(o scheduler.Observation) Cause { return Cause{o.Reason, o.Message} }

// State is the state of an application, independent of any API family.
type State string

const (
	// New has not been reconciled.
	New State = ""
	// Queued waits before its first driver may be created.
	Queued State = "Queued"
	// Submitted has a driver pod that is not running yet.
	Submitted State = "Submitted"
	// Running has a running driver.
	Running State = "Running"
	// Succeeding has a driver that succeeded; the application ends, or runs again after a wait.
	Succeeding State = "Succeeding"
	// Failing has a driver that failed, was deleted or is being stopped; the application ends, or runs again after a wait.
	Failing State = "Failing"
	// Rerunning waits for its next driver; the previous one has to be deleted first.
	Rerunning State = "Rerunning"
	// Invalidating has a driver of an outdated spec.
	Invalidating State = "Invalidating"
	// Suspending has a driver that is being stopped because spec.suspend is true.
	Suspending State = "Suspending"
	// Suspended has run before and has no driver while spec.suspend is true.
	Suspended State = "Suspended"
	// Resuming waits for its next driver after a suspension.
	Resuming State = "Resuming"
	// SubmissionFailed has a driver that the API server refused; the application ends, or is submitted again after a wait.
	SubmissionFailed State = "SubmissionFailed"
	// Succeeded is final until the spec changes.
	Succeeded State = "Succeeded"
	// Failed is final until the spec changes.
	Failed State = "Failed"
)

// States lists all of them.
func States() []State {
	return []State{
		New, Queued, Submitted, Running, Succeeding, Failing, Rerunning, Invalidating,
		Suspending, Suspended, Resuming, SubmissionFailed, Succeeded, Failed,
	}
}

// Final reports whether only a change of the spec can lead out of the state.
func (s State) Final() bool { return s == Succeeded || s == Failed }

// HasDriver reports whether the attempt has a driver that runs or starts.
func (s State) HasDriver() bool { return s == Submitted || s == Running }

// Starting reports whether the state leads to a driver.
func (s State) Starting() bool {
	return s == New || s == Queued || s == Rerunning || s == Resuming || s == SubmissionFailed
}
