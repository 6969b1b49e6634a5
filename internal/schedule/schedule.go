// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when a schedule starts a run: values in, values out. It knows no API family; the translation is
// convert's (kubeflow.Schedules).
//
// What others use: Parse and Timetable (the times of a schedule, days on which the clock changes included), Name and Start.Expand
// (names of runs and variables, functions of the object and the time), Desired.Validate (what is wrong, by field), Decide and
// Settle (one reconcile: Desired, Record and Observation to a Plan, and with the result of its action to an Outcome), Events.
//
// A time of the schedule is dealt with in order: its run is started, or skipped and counted. Record.LastTick is how far that
// is. What was started and not stored, because the operator crashed, is found by its name: a function of the time.
package schedule

import (
	"hash/fnv"
	"slices"
	"time"
)

// Concurrency policies. An empty one is Allow.
const (
	Allow   = "Allow"
	Forbid  = "Forbid"
	Replace = "Replace"
)

// Policies for missed runs. An empty one is RunLatest.
const (
	RunLatest = "RunLatest"
	RunAll    = "RunAll"
	Skip      = "Skip"
)

const (
	// MaxOutstanding is how many missed runs RunAll makes up for.
	MaxOutstanding = 100
	// MaxBackfill is how many runs a backfill may have.
	MaxBackfill = 1000
	// defaultMaxActive is how many runs of a backfill there are at the same time.
	defaultMaxActive = 1
	// maxCounted bounds the work of counting what was missed.
	maxCounted = 100_000
	// skipWindow is how late Skip still starts a run for which there is no starting deadline.
	skipWindow = 10 * time.Second
	// retryPeriod is when something that was refused is tried again.
	retryPeriod = 30 * time.Second
	// gonePeriod is when it is checked again whether a replaced run is gone: nothing reports the end of its driver pod.
	gonePeriod = time.Second
	// maxWait bounds the wait for the next time: the clock may be put forward.
	maxWait = time.Hour
)

// Desired is what the user wants.
type Desired struct {
	Name, UID  string
	Generation int64
	Created    time.Time
	// Malformed says why the spec could not be read; the fields below are empty then.
	Malformed string

	Schedule, TimeZone string
	Suspend            bool
	Concurrency        string
	Missed             string
	// KeepSucceeded and KeepFailed are how many finished runs are kept.
	KeepSucceeded, KeepFailed int32
	// Deadline is how late a run may start; nil for no limit.
	Deadline *time.Duration
	// Jitter is the longest delay of a run.
	Jitter   time.Duration
	Backfill *Backfill
	// Trigger is the time for which a run is wanted beside the schedule, as it was written; empty for none.
	Trigger string
	// Texts are those of the template in which variables are replaced.
	Texts []Text
	// Unknown are the paths of fields that do not exist and that the API server has stored.
	Unknown []string
}

// Text is a text of the template and where it stands.
type Text struct{ Path, Value string }

// Backfill is a range of times whose runs are made up for.
type Backfill struct {
	From, To time.Time
	// MaxActive is how many of its runs there are at the same time; 0 for the default.
	MaxActive int32
}

// Delay is by how much each run of the schedule starts later than its time.
func (d Desired) Delay() time.Duration {
	if d.Jitter < time.Second {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.UID)) // a hash never fails
	return time.Duration(h.Sum64()%uint64(d.Jitter/time.Second+1)) * time.Second
}

// Env is what a decision depends on beside the object.
type Env struct {
	Now time.Time
	// Local is the time zone of schedules that name none.
	Local *time.Location
	// Precision is the unit in the names of runs.
	Precision Precision
	// Hold is the time before which no run is started, because the last was refused.
	Hold time.Time
	// Retry is in place of retryPeriod; 0 is not.
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

// Record is what is stored of a schedule. What can be observed again is not, except for users.
type Record struct {
	State State
	// Error says what is wrong in the state FailedValidation.
	Error      string
	Generation int64

	// Key is the schedule with its time zone (Key), and Since the time from which it counts.
	Key   string
	Since time.Time
	// LastTick is the last time of the schedule that was dealt with.
	LastTick time.Time
	// Replacing is the time of the schedule for which runs are being stopped, as Replace says; zero for none. Its run is never too late.
	Replacing time.Time
	// LastRun is when the last run was created, NextRun when the next will be; zero while the schedule is suspended.
	LastRun, NextRun time.Time
	LastRunName      string
	// Active are the runs that have not finished, Succeeded and Failed those that are kept, the newest first.
	Active, Succeeded, Failed []string

	// Skips counts the runs that were due and not started. The last one was due at LastSkipped, and not started for LastSkipReason.
	Skips          int64
	LastSkipped    time.Time
	LastSkipReason SkipReason

	// LastTrigger is the last trigger that was dealt with.
	LastTrigger time.Time
	Backfill    *Progress
	// Trouble is what prevents a run, since when.
	Trouble Trouble
	// StalledBy is the reason of the condition Stalled, as it is stored. It is not written.
	StalledBy Reason
}

// Progress is where a backfill stands.
type Progress struct {
	From, To time.Time
	// Next is the next time to be dealt with; zero when there is none left.
	Next    time.Time
	Started int32
	// Failed are the names of its runs that have failed, also of those that are not kept; at most maxFailed.
	Failed []string
}

// Trouble is what prevents a run from being started.
type Trouble struct {
	Reason  Reason
	Message string
	Since   time.Time
}

// SkipReason says why a run was not started.
type SkipReason string

// Why runs are skipped.
const (
	// SkipMissed : a later run was due when one could be started.
	SkipMissed SkipReason = "Missed"
	// SkipActive : the previous run was still active when this one was due.
	SkipActive SkipReason = "RunStillActive"
	// SkipDeadline : the starting deadline had passed.
	SkipDeadline SkipReason = "DeadlineExceeded"
	// SkipTooMany : more runs were missed than are made up for.
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

// RunReason says why a run was started.
type RunReason string

// Why runs are started. A run of the Kubeflow operator has none.
const (
	ReasonSchedule RunReason = "Schedule"
	ReasonTrigger  RunReason = "Trigger"
	ReasonBackfill RunReason = "Backfill"
)

// Phase is how far a run is.
type Phase int

// Phases of a run. One that is queued, suspended or waits for its next attempt is active.
const (
	Active Phase = iota
	Succeeded
	Failed
)

// Run is a run that exists.
type Run struct {
	Name, UID, Version string
	Reason             RunReason
	// Tick is the time that it is for; zero for a run of the Kubeflow operator.
	Tick     time.Time
	Created  time.Time
	Phase    Phase
	Deleting bool
}

// Observation is what exists of a schedule.
type Observation struct {
	Runs []Run
	// Stopping are runs that were active and are deleted, but whose driver pods are not gone yet.
	Stopping []string
	// Live says that the runs come from the API server and not from a cache.
	Live bool
}

// Start is a run to be created.
type Start struct {
	Name   string
	Reason RunReason
	Tick   time.Time
	// From and To are the data interval; zero if the schedule has none.
	From, To time.Time
}

// Is reports whether a run is the one to be started: a time has one run, whatever it was started for.
func (s Start) Is(r Run) bool { return r.Reason != "" && r.Tick.Equal(s.Tick) }

// find returns the run that is the one to be started, if it exists.
func (s Start) find(runs []Run) *Run {
	if i := slices.IndexFunc(runs, s.Is); i >= 0 {
		return &runs[i]
	}
	return nil
}
