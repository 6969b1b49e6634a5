// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"unicode/utf8"

	"github.com/firesteel-dev/firesteel/internal/text"
)

// Reason explains a condition in one word. The list is closed and documented.
type Reason string

// Reasons of a schedule's conditions.
const (
	// ReasonOnSchedule : runs are started at the times of the schedule.
	ReasonOnSchedule Reason = "OnSchedule"
	// ReasonSuspended : spec.suspend is true.
	ReasonSuspended Reason = "Suspended"
	// ReasonInvalidSchedule : the spec is invalid.
	ReasonInvalidSchedule Reason = "InvalidSchedule"
	// ReasonRunsActive : some runs are unfinished.
	ReasonRunsActive Reason = "RunsActive"
	// ReasonNoActiveRuns : all runs have finished.
	ReasonNoActiveRuns Reason = "NoActiveRuns"
	// ReasonWaitingForActive : a due run waits for an unfinished one.
	ReasonWaitingForActive Reason = "WaitingForActiveRun"
	// ReasonReplacing : a due run waits for the deletion of earlier runs.
	ReasonReplacing Reason = "ReplacingRun"
	// ReasonNameConflict : another object has the name of a run.
	ReasonNameConflict Reason = "NameConflict"
	// ReasonRunRefused : the API server refuses a run.
	ReasonRunRefused Reason = "RunRefused"
	// ReasonInvalidTrigger : the trigger annotation is not a time.
	ReasonInvalidTrigger Reason = "InvalidTrigger"
	// ReasonNoTrouble : no action required.
	ReasonNoTrouble Reason = "NoTrouble"
)

// Reasons lists them.
func Reasons() []Reason {
	return []Reason{
		ReasonOnSchedule, ReasonSuspended, ReasonInvalidSchedule, ReasonRunsActive, ReasonNoActiveRuns, ReasonWaitingForActive,
		ReasonReplacing, ReasonNameConflict, ReasonRunRefused, ReasonInvalidTrigger, ReasonNoTrouble,
	}
}

// The conditions that every schedule shows.
const (
	// ConditionScheduled : runs are started at the times of the schedule.
	ConditionScheduled = "Scheduled"
	// ConditionRunActive : a run is unfinished.
	ConditionRunActive = "RunActive"
	// ConditionStalled : a run cannot start before a user removes an obstacle (kstatus).
	ConditionStalled = "Stalled"
)

// Condition is one aspect of a schedule.
type Condition struct {
	Type    string
	True    bool
	Reason  Reason
	Message string
}

// maxMessage bounds a message, in bytes.
const maxMessage = 512

func conditions(p Plan, r Record) []Condition {
	all := []Condition{scheduled(p, r), runActive(p, r), stalled(p, r)}
	for i := range all {
		all[i].Message = head(all[i].Message, maxMessage)
	}
	return all
}

func scheduled(p Plan, r Record) Condition {
	c := Condition{Type: ConditionScheduled, True: true, Reason: ReasonOnSchedule,
		Message: "runs are started at the times of the schedule; status.nextRun is the next"}
	switch {
	case r.State == FailedValidation:
		c.True, c.Reason, c.Message = false, ReasonInvalidSchedule, r.Error
	case p.desired.Suspend:
		c.True, c.Reason, c.Message = false, ReasonSuspended, "spec.suspend is true"
	}
	if p.requested != "" && r.State != FailedValidation {
		c.Message += "; " + pathTrigger.String() + ": " + p.requested
	}
	if fields := p.desired.Unknown; len(fields) > 0 && r.State != FailedValidation {
		c.Message += "; unknown fields, which have no effect: " + text.Some(fields)
	}
	return c
}

func runActive(p Plan, r Record) Condition {
	c := Condition{Type: ConditionRunActive, True: true, Reason: ReasonRunsActive}
	if len(r.Active) == 0 {
		return Condition{Type: ConditionRunActive, Reason: ReasonNoActiveRuns, Message: "all runs have finished"}
	}
	c.Message = "not finished: " + text.Some(r.Active)
	switch p.waits {
	case ReasonWaitingForActive:
		c.Reason, c.Message = p.waits, "a due run waits, because spec.concurrencyPolicy is Forbid; "+c.Message
	case ReasonReplacing:
		c.Reason, c.Message = p.waits, "a due run waits until earlier ones are deleted, because spec.concurrencyPolicy is Replace; "+c.Message
	default:
	}
	return c
}

func stalled(p Plan, r Record) Condition {
	c := Condition{Type: ConditionStalled, Reason: ReasonNoTrouble, Message: "no action required"}
	wrong := p.desired.ValidateTrigger()
	switch {
	case r.State == FailedValidation:
		c.True, c.Reason, c.Message = true, ReasonInvalidSchedule, r.Error
	case r.Trouble.Reason != "":
		c.True, c.Reason, c.Message = true, r.Trouble.Reason, r.Trouble.Message
	case wrong != nil:
		c.True, c.Reason, c.Message = true, ReasonInvalidTrigger, wrong.Error()
	}
	return c
}

// head returns the beginning of a message, on one line and without control characters. limit is in bytes.
func head(sentence string, limit int) string {
	message := text.Line(sentence)
	if len(message) <= limit {
		return message
	}
	const ellipsis = "..."
	end := limit - len(ellipsis)
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + ellipsis
}
