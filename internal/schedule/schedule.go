// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when a schedule starts a run. It is pure and knows no API family (convert: kubeflow.Schedules).
//
// Its interface: Parse and Timetable (the times of a schedule, including clock changes), Name and Start.Expand (names of runs and variables, functions of the
// object and the time), Desired.Validate (errors by field), Decide and Settle (one reconcile: from Desired, Record and Observation to a Plan, and from its
// result to an Outcome), Events.
//
// The times of a schedule are handled in order: each run is started, or skipped and counted. Record.LastTick is the last handled time. If a crash prevented
// storing the start of a run, the run is found by its name, a function of the time.
package schedule

import (
	"hash/fnv"
	"slices"
	"time"
)

// Concurrency policies. The empty string means Allow.
const (
	Allow   = "Allow"
	Forbid  = "Forbid"
	Replace = "Replace"
)

// Policies for missed runs. The empty string means RunLatest.
const (
	RunLatest = "RunLatest"
	RunAll    = "RunAll"
	Skip      = "Skip"
)

const (
	// MaxOutstanding bounds the missed runs that RunAll catches up on.
	MaxOutstanding = 100
	// MaxBackfill bounds the runs of a backfill.
	MaxBackfill = 1000
	// defaultMaxActive is the default limit for concurrent runs of a backfill.
	defaultMaxActive = 1
	// maxCounted bounds the work of counting missed runs.
	maxCounted = 100_000
	// skipWindow is the longest delay of a run with the policy Skip and without a starting deadline.
	skipWindow = 10 * time.Second
	// retryPeriod is the delay before the next try of a refused run.
	retryPeriod = 30 * time.Second
	// gonePeriod is the interval for checking whether a replaced run is gone. No event reports the end of its driver pod.
	gonePeriod = time.Second
	// maxWait bounds the wait for the next time, because the clock may be set forward.
	maxWait = time.Hour
)

// Desired is the desired state.
type Desired struct {
	Name, UID  string
	Generation int64
	Created    time.Time
	// Malformed explains why the spec could not be decoded. The fields below are then empty.
	Malformed string

	Schedule, TimeZone string
	Suspend            bool
	Concurrency        string
	Missed             string
	// KeepSucceeded and KeepFailed limit the number of finished runs that are kept.
	KeepSucceeded, KeepFailed int32
	// Deadline is the longest delay of a run's start; nil for no limit.
	Deadline *time.Duration
	// Jitter is the largest random delay of a run.
	Jitter   time.Duration
	Backfill *Backfill
	// Trigger is the requested time of a run outside the schedule, as in the annotation; "" for none.
	Trigger string
	// Texts are the template's strings with variables.
	Texts []Text
	// Unknown are the paths of unknown fields in the stored object.
	Unknown []string
}

// Text is a string in the template, with its path.
type Text struct{ Path, Value string }

// Backfill is a range of past times for which runs are started.
type Backfill struct {
	From, To time.Time
	// MaxActive bounds the backfill's concurrent runs; 0 for the default.
	MaxActive int32
}

// Delay returns the delay of the schedule's runs, which is the same for all of them.
func (d Desired) Delay() time.Duration {
	if d.Jitter < time.Second {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.UID)) // a hash never fails
	return time.Duration(h.Sum64()%uint64(d.Jitter/time.Second+1)) * time.Second
}

// Env holds the inputs of a decision that do not come from the object.
type Env struct {
	Now time.Time
	// Local is the time zone of schedules without one.
	Local *time.Location
	// Precision is the unit in the names of runs.
	Precision Precision
	// Hold is the earliest time of the next start, because the last run was refused.
	Hold time.Time
	// Retry replaces retryPeriod, unless 0.
	Retry time.Duration
}

// State is the state of a schedule.
type State string

// States of a schedule.
const (
	New              State = ""
	Scheduled        State = "Scheduled"
	FailedValidation State = "FailedValidation"
)

// Record is the stored state of a schedule. The observable part is stored only for users.
type Record struct {
	State State
	// Error describes the error in the state FailedValidation.
	Error      string
	Generation int64

	// Key is the schedule with its time zone (see the function Key). Since is the start of the schedule.
	Key   string
	Since time.Time
	// LastTick is the last handled time of the schedule.
	LastTick time.Time
	// Replacing is the scheduled time of the run for which Replace stops others; zero for none. That run is never too late.
	Replacing time.Time
	// LastRun is the creation time of the last run. NextRun is the time of the next run; zero while the schedule is suspended.
	LastRun, NextRun time.Time
	LastRunName      string
	// Active are the unfinished runs. Succeeded and Failed are the kept finished runs, the newest first.
	Active, Succeeded, Failed []string

	// Skips counts runs that were due and not started. LastSkipped and LastSkipReason describe the last one.
	Skips          int64
	LastSkipped    time.Time
	LastSkipReason SkipReason

	// LastTrigger is the last handled trigger.
	LastTrigger time.Time
	Backfill    *Progress
	// Trouble is the obstacle that prevents a run.
	Trouble Trouble
	// StalledBy is the stored reason of the condition Stalled. It is read-only.
	StalledBy Reason
}

// Progress is the progress of a backfill.
type Progress struct {
	From, To time.Time
	// Next is the next time to handle; zero if none is left.
	Next    time.Time
	Started int32
	// Failed are the failed runs, including deleted ones, at most maxFailed.
	Failed []string
}

// Trouble is an obstacle that prevents the start of a run.
type Trouble struct {
	Reason  Reason
	Message string
	Since   time.Time
}

// SkipReason is the reason why a run was skipped.
type SkipReason string

// Reasons of skipped runs.
const (
	// SkipMissed : a later run was due when a run could start.
	SkipMissed SkipReason = "Missed"
	// SkipActive : the previous run was still active when this one was due.
	SkipActive SkipReason = "RunStillActive"
	// SkipDeadline : the starting deadline had passed.
	SkipDeadline SkipReason = "DeadlineExceeded"
	// SkipTooMany : more runs were missed than RunAll catches up on.
	SkipTooMany SkipReason = "TooManyMissed"
	// SkipChanged : the schedule was changed before the run was started.
	SkipChanged SkipReason = "ScheduleChanged"
	// SkipConflict : another object had the name of the run.
	SkipConflict SkipReason = SkipReason(ReasonNameConflict)
	// SkipRefused : the API server refused the run.
	SkipRefused SkipReason = SkipReason(ReasonRunRefused)
)

// SkipReasons lists them.
func SkipReasons() []SkipReason {
	return []SkipReason{SkipMissed, SkipActive, SkipDeadline, SkipTooMany, SkipChanged, SkipConflict, SkipRefused}
}

// RunReason is the cause of a run.
type RunReason string

// Causes of runs. A run that the Kubeflow operator created has none.
const (
	ReasonSchedule RunReason = "Schedule"
	ReasonTrigger  RunReason = "Trigger"
	ReasonBackfill RunReason = "Backfill"
)

// Phase is the phase of a run.
type Phase int

// Phases of a run. A queued, suspended or retried run is active.
const (
	Active Phase = iota
	Succeeded
	Failed
)

// Run is an existing run.
type Run struct {
	Name, UID, Version string
	Reason             RunReason
	// Tick is the scheduled time of the run; zero for a run that the Kubeflow operator created.
	Tick     time.Time
	Created  time.Time
	Phase    Phase
	Deleting bool
}

// Observation is the observed state of a schedule.
type Observation struct {
	Runs []Run
	// Stopping are deleted active runs whose driver pods still exist.
	Stopping []string
	// Live is set if the runs come from the API server, not from a cache.
	Live bool
}

// Start is a run to create.
type Start struct {
	Name   string
	Reason RunReason
	Tick   time.Time
	// From and To are the data interval; zero if the schedule has none.
	From, To time.Time
}

// Is reports whether an existing run is the run to create. A time has only one run, whatever its cause.
func (s Start) Is(r Run) bool { return r.Reason != "" && r.Tick.Equal(s.Tick) }

// find returns the existing run for the start; nil for none.
func (s Start) find(runs []Run) *Run {
	if i := slices.IndexFunc(runs, s.Is); i >= 0 {
		return &runs[i]
	}
	return nil
}
