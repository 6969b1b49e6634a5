// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Record is the stored state of the application, the part that cannot be observed again.
type Record struct {
	State State
	// Generation is the spec's generation at the last decision; 0 before the first one.
	Generation int64
	// SpecHash identifies the spec that the current attempt was created from; "" if unknown.
	SpecHash string
	// Attempt is the number of the current attempt, from 1. A new application has attempt 1 before it has a record.
	Attempt int32
	// Submissions counts tries to create a driver since the spec changed, and Executions the drivers that were created.
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
	// SparkAppID is the current attempt's Spark application ID, and SubmissionID the label of its pods. SubmissionID is recorded because another operator may
	// have chosen it.
	SparkAppID   string
	SubmissionID string
	// DriverName is the name of the driver pod.
	DriverName string
	// Executors are the states of this attempt's executors by pod name. A large attempt stores only some of them.
	Executors map[string]ExecutorState
	// Counts covers all executors of this attempt.
	Counts ExecutorCounts
	// Failures are the latest executor failures.
	Failures []ExecutorFailure
	// Progress is the progress of the current attempt.
	Progress Progress
	// Retries counts the failures since the last refill of the budgets.
	Retries Retries
	// Attempts are the latest attempts. The last one is the current attempt, once it has a driver.
	Attempts []Attempt
	// Released lists the deleted parts of a finished application.
	Released   Released
	Scheduling Scheduling
	Rerun      Rerun
	Placement  Placement
	Missing    Missing
	// Submitter is the user recorded by admission before the first reconcile. The record keeps it, because an annotation can be trusted only while something
	// protects it.
	Submitter Submitter
	// DrainSince is when an edit began to wait for the driver's sessions; zero for none.
	DrainSince time.Time
	Idle       Idle
	// Exposure is the state of the auxiliary objects. No decision depends on it.
	Exposure Exposure
}

// Idle describes how long a driver has executed nothing.
type Idle struct {
	// Since is the time of the last execution, or the time of readiness if that is later.
	Since time.Time
	// Streaming is set if streaming queries ran at the last check. Spark does not report when they end, so Since is then the time of that check.
	Streaming bool
	// StoppedAt is when the driver was stopped as idle; zero for never.
	StoppedAt time.Time
	// Problem explains why the executions are unknown; "" if they are known or irrelevant. It is stored: if two operators both believe to be the leader and
	// only one knows the executions, they would overwrite each other forever.
	Problem string
}

// Placement covers the executors' placement fields, which can be edited without a new run. The driver reads them from a ConfigMap for each new executor, so an
// edit affects only later executors.
type Placement struct {
	// Rest is a hash of the spec without these fields; "" if unknown. An edit that keeps it equal starts no new run.
	Rest string
	// Made is the hash of these fields; in a record, of those in the driver's executor template. If it is "", the hash is unknown and an edit reaches the
	// driver only if Outdated is set.
	Made string
	// Outdated is set while the driver's template may differ from the spec. It is stored before the update, so that an unrecorded update is repeated, even if
	// the user reverts the edit.
	Outdated bool
	// Problem explains why an edit takes effect only with the next attempt; "" if the driver gets it, or before the operator tries.
	Problem string
}

// Exposure is the state of a running driver's auxiliary objects. They expose it to users and protect it from eviction.
type Exposure struct {
	// Objects lists the objects that may exist, as kind/name, until their deletion is confirmed.
	Objects []string
	// Service is the Service of the UI; ServiceAddress is its cluster IP.
	Service        string
	ServiceAddress string
	ServicePort    int32
	// Ingress and Route lead to the UI; the addresses are their URLs.
	Ingress        string
	IngressAddress string
	Route          string
	RouteAddress   string
	// HistoryURL is the current attempt's page on a history server. It stays after the attempt's end.
	HistoryURL string
	// Trouble explains which objects could not be created. Such a problem never stops an application.
	Trouble Cause
}

// JoinCauses joins causes into one, with a message that fits into a condition. The reason is that of the first.
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

// Scheduling is the scheduler and queue of the current attempt, and the state of its scheduler objects.
type Scheduling struct {
	scheduler.Choice
	// Warning is the scheduler's warning at admission; "" for none.
	Warning string
	// AdmittedAt is when the attempt was admitted.
	AdmittedAt time.Time
	// HeldAttempt is the attempt that has scheduler objects; 0 for none. HeldBy is the objects' scheduler, which may differ from the current choice.
	HeldAttempt int32
	HeldBy      string
}

// held returns the fields that survive a new start of the application.
func (s Scheduling) held() Scheduling {
	return Scheduling{HeldAttempt: s.HeldAttempt, HeldBy: s.HeldBy}
}

// Retries counts failures by class since the last refill of the budgets.
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
	// Class is "" after a success, and for an attempt that a user stopped.
	Class FailureClass
	Cause Cause
	// LogTail holds the last lines of a failed driver's log.
	LogTail string
	// Withdrawn is set if the batch scheduler removed the driver before its pod got a node, so it certainly never started. Otherwise, or if that is unknown, it
	// is false.
	Withdrawn bool
}

// withdrawn reports whether the scheduler evicted a driver before any container started, while its pod still exists without a node.
func (a *Attempt) withdrawn(d Driver) bool {
	return a.Class == Evicted && a.StartedAt.IsZero() && d.ours() && d.Unplaced != ""
}

// Released marks the deleted parts of a finished application.
type Released struct {
	DriverPod, Resources bool
}

// NeverRan reports whether no driver of the application was ever created.
func (r Record) NeverRan() bool { return len(r.Attempts) == 0 && r.Executions == 0 }

// SameSpec reports whether attempts of the recorded spec and of the application's spec are equal. Without a recorded hash, an edit counts for waiting attempts
// only, because running ones keep their spec.
func (r Record) SameSpec(app Application) bool {
	return r.SpecHash == app.SpecHash && (app.SpecHash != "" || r.Generation == app.Generation || !r.State.Starting())
}

// unrecorded reports whether no recorded attempt has this driver. Another operator created it and crashed before its status write.
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

// lastDriven returns the number of the last attempt with a driver. Its objects still exist unless the next attempt replaced them.
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
	// Queued waits for permission to create its first driver.
	Queued State = "Queued"
	// Submitted has a driver pod that is not running yet.
	Submitted State = "Submitted"
	// Running has a running driver.
	Running State = "Running"
	// Succeeding has a driver that succeeded; the application ends, or runs again after a wait.
	Succeeding State = "Succeeding"
	// Failing has a driver that failed, was deleted or is being stopped; the application ends, or runs again after a wait.
	Failing State = "Failing"
	// Rerunning waits for its next driver. The previous driver is deleted first.
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

// Final reports whether only a change of the spec can end the state.
func (s State) Final() bool { return s == Succeeded || s == Failed }

// HasDriver reports whether the attempt has a running or starting driver.
func (s State) HasDriver() bool { return s == Submitted || s == Running }

// Starting reports whether the state leads to a driver.
func (s State) Starting() bool {
	return s == New || s == Queued || s == Rerunning || s == Resuming || s == SubmissionFailed
}
