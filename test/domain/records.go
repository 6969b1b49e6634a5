// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

var (
	tooEarly = Now.Add(-wait / 2)
	overdue  = Now.Add(-time.Hour)
)

// records returns the records that a status can hold in a state.
func records(state lifecycle.State) []named[lifecycle.Record] {
	switch state {
	case lifecycle.New:
		return []named[lifecycle.Record]{{"", lifecycle.Record{}}}
	case lifecycle.Queued:
		return queued()
	case lifecycle.SubmissionFailed:
		return refused()
	case lifecycle.Rerunning, lifecycle.Resuming:
		return waiting(state)
	case lifecycle.Submitted, lifecycle.Running:
		return live(state)
	case lifecycle.Succeeding, lifecycle.Failing:
		return ended(state, endings(state))
	case lifecycle.Succeeded:
		return released(ended(state, endings(state)))
	case lifecycle.Failed:
		never := base(state, lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "not a size"})
		never.TerminatedAt = overdue
		late := second(base(state, lifecycle.Cause{Reason: lifecycle.ReasonQueueTimeout, Message: "waited too long"}))
		late.TerminatedAt = overdue
		return append(released(ended(state, endings(state)[:1])), named[lifecycle.Record]{"never ran", never},
			named[lifecycle.Record]{"second attempt never ran", late})
	case lifecycle.Invalidating:
		return interrupted(state, lifecycle.Cause{Reason: lifecycle.ReasonSpecChanged, Message: "the spec has changed"})
	case lifecycle.Suspending, lifecycle.Suspended:
		return append(interrupted(state, suspension), undriven(state)...)
	}
	return nil
}

var suspension = lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "spec.suspend is true"}

func base(state lifecycle.State, c lifecycle.Cause) lifecycle.Record {
	return lifecycle.Record{State: state, Generation: 1, SpecHash: hashOfSpec, Attempt: 1, DriverName: driverName, Cause: c}
}

// driven gives the record's attempt its driver.
func driven(r lifecycle.Record) lifecycle.Record {
	r.SubmissionID, r.SparkAppID, r.SubmittedAt = "s-2", "spark", overdue // "s-1" is the driver's of another attempt
	r.Submissions++
	r.Executions++
	r.Attempts = append(r.Attempts, lifecycle.Attempt{Number: r.Attempt, SubmissionID: r.SubmissionID, StartedAt: overdue})
	return r
}

// second adds a first attempt before the record's.
func second(r lifecycle.Record) lifecycle.Record {
	r.Attempt, r.Submissions, r.Executions = 2, 1, 1
	r.Attempts = []lifecycle.Attempt{{Number: 1, SubmissionID: "s-1", StartedAt: overdue, EndedAt: overdue, Class: lifecycle.ApplicationExit, Cause: failure}}
	return r
}

var failure = lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "driver container failed with ExitCode: 1, Reason: Error"}

func queued() []named[lifecycle.Record] {
	waits := base(lifecycle.Queued, lifecycle.Cause{Reason: "QueueFull", Message: "the queue is full"})
	waits.QueuedAt = overdue
	hopes, despairs := waits, waits
	hopes.Cause = lifecycle.Cause{Reason: lifecycle.ReasonAdmissionRefused, Message: "no such service account"}
	despairs.Cause = hopes.Cause
	hopes.SubmittedAt, despairs.SubmittedAt = Now.Add(-time.Second), overdue
	retried := waits
	retried.Submissions, retried.Retries.Used = 1, map[lifecycle.FailureClass]int32{lifecycle.Submission: 1}
	return []named[lifecycle.Record]{{"", waits}, {"refused just now", hopes}, {"refused for long", despairs}, {"after a refusal", retried}}
}

// used are budgets that are untouched, and used up.
func used() []named[map[lifecycle.FailureClass]int32] {
	all := map[lifecycle.FailureClass]int32{}
	for _, c := range lifecycle.FailureClasses() {
		all[c] = Retries
	}
	return []named[map[lifecycle.FailureClass]int32]{{"budget full", nil}, {"budget used up", all}}
}

func refused() []named[lifecycle.Record] {
	var out []named[lifecycle.Record]
	for _, ran := range []string{"first", "second"} {
		for _, budget := range used() {
			for _, at := range []named[time.Time]{{"waits", tooEarly}, {"waited", overdue}} {
				r := base(lifecycle.SubmissionFailed, lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: "not acceptable"})
				if ran == "second" {
					r = second(r)
				}
				r.Submissions++
				r.QueuedAt, r.SubmittedAt, r.TerminatedAt, r.Retries.Used = overdue, at.value, at.value, budget.value
				out = append(out, named[lifecycle.Record]{ran + " " + budget.name + " " + at.name, r})
			}
		}
	}
	return out
}

func waiting(state lifecycle.State) []named[lifecycle.Record] {
	var out []named[lifecycle.Record]
	for _, budget := range used() {
		r := second(base(state, lifecycle.Cause{Reason: lifecycle.ReasonRerun, Message: "the application runs again"}))
		r.Retries.Used = budget.value
		out = append(out, named[lifecycle.Record]{budget.name, r})
		r.QueuedAt = overdue
		r.Cause = lifecycle.Cause{Reason: "QueueFull", Message: "the queue is full"}
		out = append(out, named[lifecycle.Record]{"queued " + budget.name, r})
		r.SubmittedAt = overdue
		r.Cause = lifecycle.Cause{Reason: lifecycle.ReasonAdmissionRefused, Message: "no such service account"}
		out = append(out, named[lifecycle.Record]{"refused for long " + budget.name, r})
	}
	third := out[0].value
	third.Attempt = 3
	out = append(out, named[lifecycle.Record]{"third, the second never ran", third})
	return out
}

func live(state lifecycle.State) []named[lifecycle.Record] {
	var out []named[lifecycle.Record]
	for _, budget := range used() {
		first := driven(base(state, lifecycle.Cause{}))
		first.Retries.Used = budget.value
		if state == lifecycle.Submitted {
			first.Attempts[0].StartedAt = time.Time{}
		}
		next := driven(second(base(state, lifecycle.Cause{})))
		next.Retries.Used = budget.value
		next.Executors = map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorRunning, "e-2": lifecycle.ExecutorPending}
		next.Counts = lifecycle.ExecutorCounts{Running: 1, Pending: 1, Total: 2}
		out = append(out, named[lifecycle.Record]{"first " + budget.name, first}, named[lifecycle.Record]{"second " + budget.name, next})
	}
	return out
}

// endings are all ways for an attempt to end.
func endings(state lifecycle.State) []named[lifecycle.Attempt] {
	if state == lifecycle.Succeeding || state == lifecycle.Succeeded {
		finished := lifecycle.Cause{Reason: lifecycle.ReasonDriverSucceeded, Message: "the driver finished with exit code 0"}
		return []named[lifecycle.Attempt]{{"", lifecycle.Attempt{Cause: finished}}}
	}
	exit := func(code int32) *int32 { return &code }
	because := func(class lifecycle.FailureClass, reason lifecycle.Reason) named[lifecycle.Attempt] {
		return named[lifecycle.Attempt]{string(class), lifecycle.Attempt{Class: class, Cause: lifecycle.Cause{Reason: reason, Message: "it ended"}}}
	}
	withdrawn := because(lifecycle.Evicted, "QueueFull")
	withdrawn.name, withdrawn.value.Withdrawn = "withdrawn", true
	return []named[lifecycle.Attempt]{
		{"exit code", lifecycle.Attempt{Class: lifecycle.ApplicationExit, ExitCode: exit(1), Cause: failure}},
		{"exit code that fails at once", lifecycle.Attempt{Class: lifecycle.ApplicationExit, ExitCode: exit(42), Cause: failure}},
		because(lifecycle.Infrastructure, lifecycle.ReasonDriverEvicted),
		because(lifecycle.OutOfMemory, lifecycle.ReasonDriverOutOfMemory),
		because(lifecycle.Deadline, lifecycle.ReasonRunTimeout),
		because(lifecycle.Evicted, "QueueFull"),
		withdrawn,
	}
}

func ended(state lifecycle.State, how []named[lifecycle.Attempt]) []named[lifecycle.Record] {
	var out []named[lifecycle.Record]
	for _, l := range live(state) {
		for _, end := range how {
			for _, at := range []named[time.Time]{{"waits", tooEarly}, {"waited", overdue}} {
				r := l.value
				r.Attempts = append([]lifecycle.Attempt(nil), r.Attempts...)
				last := &r.Attempts[len(r.Attempts)-1]
				last.EndedAt, last.Class, last.ExitCode, last.Cause = at.value, end.value.Class, end.value.ExitCode, end.value.Cause
				if last.Withdrawn = end.value.Withdrawn; last.Withdrawn {
					last.StartedAt = time.Time{}
				}
				r.TerminatedAt = at.value
				if end.value.Class != "" {
					r.Cause = end.value.Cause
				}
				out = append(out, named[lifecycle.Record]{l.name + " " + end.name + " " + at.name, r})
			}
		}
	}
	return out
}

// released adds, to finished records, some of which parts were deleted already.
func released(all []named[lifecycle.Record]) []named[lifecycle.Record] {
	r := all[0].value
	r.Released.Resources = true
	both := r
	both.Released.DriverPod = true
	return append(all, named[lifecycle.Record]{"resources released", r}, named[lifecycle.Record]{"all released", both})
}

// interrupted are attempts that a user stopped after they had ended.
func interrupted(state lifecycle.State, c lifecycle.Cause) []named[lifecycle.Record] {
	var out []named[lifecycle.Record]
	had := ended(lifecycle.Failing, endings(lifecycle.Failing)[:1])[:1]
	had = append(had, ended(lifecycle.Succeeding, endings(lifecycle.Succeeding))[:1]...)
	for _, r := range append(live(lifecycle.Running), had...) {
		r.value.State, r.value.Cause = state, c
		out = append(out, r)
	}
	return out
}

// undriven are attempts that never got a driver.
func undriven(state lifecycle.State) []named[lifecycle.Record] {
	waited := second(base(state, suspension))
	waited.QueuedAt = overdue
	if state == lifecycle.Suspended {
		waited.TerminatedAt = tooEarly
	}
	return []named[lifecycle.Record]{
		{"never ran", base(state, suspension)},
		{"second attempt never ran", second(base(state, suspension))},
		{"second attempt waited and never ran", waited},
	}
}
