// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Record is what cannot be observed again. It lives in the status of the application.
type Record struct {
	State State
	// Generation of the spec that the state was decided from; 0 before the first decision.
	Generation int64
	// SpecHash identifies what of the spec the current attempt was made from; "" if that is not known.
	SpecHash string
	// Attempt counts drivers from 1. Attempt 1 is implied: it needs no record to act.
	Attempt int32
	// Submissions counts how often a driver was to be created, Executions how often one was, since the spec changed.
	Submissions int32
	Executions  int32
	// QueuedAt is since when the current attempt waits for its driver.
	QueuedAt time.Time
	// SubmittedAt is when the current attempt's driver was created or refused.
	SubmittedAt time.Time
	// TerminatedAt is when the driver was found ended.
	TerminatedAt time.Time
	// Cause explains a failure, or what an application waits for.
	Cause Cause
	// SparkAppID is Spark's own id of the current attempt, SubmissionID the mark of its pods. The latter is recorded
	// because a previous operator may have chosen it.
	SparkAppID   string
	SubmissionID string
	// DriverName is the name of the driver pod.
	DriverName string
	// Executors are executors seen in this attempt, by pod name: not all of them if there are many.
	Executors map[string]ExecutorState
	// Counts are of all executors of this attempt.
	Counts ExecutorCounts
	// Failures are the last executors that failed.
	Failures []ExecutorFailure
	// Progress is how far the run of the current attempt has come.
	Progress Progress
	// Retries are the failures since the budgets were last full.
	Retries Retries
	// Attempts are the last attempts, the current one last once it has a driver.
	Attempts []Attempt
	// Released says what of a finished application was deleted already.
	Released   Released
	Scheduling Scheduling
	Rerun      Rerun
	Placement  Placement
	// Submitter is the user that admission named when the application was first reconciled. It is recorded, because an annotation can be
	// trusted only as long as something protects it.
	Submitter Submitter
	// DrainSince is since when an edit waits for the sessions of the driver to end; zero if none does.
	DrainSince time.Time
	Idle       Idle
	// Exposure is the state of the auxiliary objects. No decision depends on it.
	Exposure Exposure
}

// Idle is about a driver that executes nothing.
type Idle struct {
	// Since is when it last executed something, or became ready.
	Since time.Time
	// Streaming says that streaming queries ran when it was last asked. Their end is not reported: Since is when that was seen.
	Streaming bool
	// StoppedAt is when it was stopped for that; zero if it was not.
	StoppedAt time.Time
	// Problem is why it is unknown what the driver executes; "" if it is known, or does not matter. It is stored: of two operators that
	// both believe to lead one may know and the other not, and each would correct the other for ever.
	Problem string
}

// Placement is about the fields of executors that may be edited without another run: those that say where they run. The driver reads them for
// each executor that it makes, from a ConfigMap, so an edit of them reaches the next ones.
type Placement struct {
	// Rest is a hash of the spec without these fields: as long as it stays, an edit runs nothing again. "" if it is not known.
	Rest string
	// Made is the hash of these fields; in a record, of those in the driver's executor template. "" if they are not known: then an edit does not
	// reach the driver, unless it is outdated.
	Made string
	// Outdated says that the driver may make executors otherwise than the spec has it now. It is stored before anything is done about it: what
	// was done and not recorded is then done again, also if the edit was taken back meanwhile.
	Outdated bool
	// Problem is why an edit cannot reach the driver, and holds from the next attempt on; "" if it can, or was not tried.
	Problem string
}

// Exposure is the state of a running driver's auxiliary objects, which expose it to users and protect it from eviction.
type Exposure struct {
	// Objects that exist or may exist, as kind/name. They are recorded until they are known to be deleted.
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
	// HistoryURL is where a history server shows the current attempt, also when it is over.
	HistoryURL string
	// Trouble says what could not be created, and why. It never stops an application.
	Trouble Cause
}

// JoinCauses joins several causes into one, short enough to be stored whole in a condition.
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

// Scheduling is what was chosen for the current attempt, and the state of its scheduler objects.
type Scheduling struct {
	scheduler.Choice
	// Warning is what the scheduler reported when it admitted the attempt; "" for nothing.
	Warning string
	// AdmittedAt is when the attempt's driver could be created.
	AdmittedAt time.Time
	// HeldAttempt is the attempt for which a scheduler has objects, 0 for none, and HeldBy is that scheduler: it need not
	// be the one that is chosen now.
	HeldAttempt int32
	HeldBy      string
}

// held is what the scheduling keeps when the application starts again.
func (s Scheduling) held() Scheduling {
	return Scheduling{HeldAttempt: s.HeldAttempt, HeldBy: s.HeldBy}
}

// Retries counts failures by class since the budgets were last full.
type Retries struct {
	Used map[FailureClass]int32
	// MemoryRaises is how often the driver's memory was raised.
	MemoryRaises int32
	// Counters are those of Restart.Counted.
	Counters Counters
}

// Attempt is one attempt's history.
type Attempt struct {
	Number       int32
	SubmissionID string
	// StartedAt is when the driver's container started, EndedAt when the attempt was found ended.
	StartedAt time.Time
	EndedAt   time.Time
	// ExitCode is nil if the driver's container reported none.
	ExitCode *int32
	// Class is "" for a success and for an attempt that a user ended.
	Class FailureClass
	Cause Cause
	// LogTail holds the last lines of a failed driver's log.
	LogTail string
	// Withdrawn says that the batch scheduler took the driver away and that its pod never got a node, so that it certainly never
	// started. False if unknown.
	Withdrawn bool
}

// withdrawn reports whether the scheduler ended an attempt, its pod exists, and no container has started.
func (a *Attempt) withdrawn(d Driver) bool {
	return a.Class == Evicted && a.StartedAt.IsZero() && d.ours() && d.Unplaced != ""
}

// Released says what was deleted of a finished application.
type Released struct {
	DriverPod, Resources bool
}

// NeverRan reports whether no driver of the application was ever created.
func (r Record) NeverRan() bool { return len(r.Attempts) == 0 && r.Executions == 0 }

// SameSpec reports whether an application's spec is, as far as an attempt is made from it, what was recorded. Without a hash an edit is for what waits: what
// has started is as it was made.
func (r Record) SameSpec(app Application) bool {
	return r.SpecHash == app.SpecHash && (app.SpecHash != "" || r.Generation == app.Generation || !r.State.Starting())
}

// unrecorded reports whether a driver of this application belongs to no recorded attempt: a previous operator created
// it and crashed before it wrote the status.
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

// lastDriven is the number of the last attempt that got a driver. What its successor would have replaced is still there.
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

// causeOf is the cause that an admission gives.
func causeOf(a scheduler.Admission) Cause { return Cause{a.Reason, a.Message} }

// observedCause is the cause that an observation gives.
func observedCause(o scheduler.Observation) Cause { return Cause{o.Reason, o.Message} }

// State is the state of an application, independent of any API family.
type State string

const (
	// New has not been reconciled.
	New State = ""
	// Queued waits for something before its first driver may be created.
	Queued State = "Queued"
	// Submitted has a driver pod that is not running yet.
	Submitted State = "Submitted"
	// Running has a running driver.
	Running State = "Running"
	// Succeeding has a driver that ended well; it is over, or runs again after a wait.
	Succeeding State = "Succeeding"
	// Failing has a driver that failed, was deleted or is being stopped; it is over, or runs again after a wait.
	Failing State = "Failing"
	// Rerunning waits for its next driver: the previous one has to be deleted first.
	Rerunning State = "Rerunning"
	// Invalidating has a driver that was made from a spec which has changed since.
	Invalidating State = "Invalidating"
	// Suspending has a driver that is being stopped because spec.suspend is true.
	Suspending State = "Suspending"
	// Suspended has run before and has no driver as long as spec.suspend is true.
	Suspended State = "Suspended"
	// Resuming waits for its next driver after a suspension.
	Resuming State = "Resuming"
	// SubmissionFailed says that the API server refused the driver; it is over, or submitted again after a wait.
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

// HasDriver reports whether the attempt has a driver that runs or is about to.
func (s State) HasDriver() bool { return s == Submitted || s == Running }

// Starting reports whether the next thing to happen in the state is a driver.
func (s State) Starting() bool {
	return s == New || s == Queued || s == Rerunning || s == Resuming || s == SubmissionFailed
}
