// SPDX-License-Identifier: Apache-2.0

// Package domain enumerates the domain that decisions are made over, completely: every kind of record, driver, desired
// state and time that Decide can distinguish. Tests check invariants over it, and the diagram in docs/ is drawn from
// it.
package domain

import (
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Now is when all decisions of the domain are made.
var Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	// long is before every limit and every wait of the domain, short is after all of them.
	long  = 48 * time.Hour
	short = time.Second

	hashOfSpec = "spec-1"
	driverName = "pi-driver"
)

// Element is one point of the domain. Its admission is a separate dimension (Admissions), which matters only if
// lifecycle.NeedsAdmission says so.
type Element struct {
	App         lifecycle.Application
	Record      lifecycle.Record
	Observation lifecycle.Observation
	Env         lifecycle.Env

	where [4]string
}

// String names the element.
func (e *Element) String() string { return strings.Join(e.where[:], ", ") }

// Kind names the element's record.
func (e *Element) Kind() string { return e.where[0] }

// Admissions are the answers of a scheduler. The first is that of an engine that has not asked.
func Admissions() []scheduler.Admission {
	return []scheduler.Admission{
		{},
		{Verdict: scheduler.Admit, Reason: lifecycle.ReasonAdmitted, Message: "nothing holds the application back"},
		{Verdict: scheduler.Wait, Reason: "QueueFull", Message: "the queue is full", RetryAfter: time.Minute},
		{Verdict: scheduler.Reject, Reason: lifecycle.ReasonInvalidSpec, Message: "spec.driver.memory: not a size"},
	}
}

// Each visits all elements whose record is in the given state. An element is valid only during the call. The visitor must not
// change the objects to which it refers.
func Each(state lifecycle.State, visit func(*Element)) {
	wishes, drivers, executors := desiredStates(), drivers(), executors()
	for _, rec := range records(state) {
		e := Element{Record: rec.value, Env: lifecycle.Env{Now: Now}, where: [4]string{strings.TrimSpace(string(state) + " " + rec.name)}}
		for _, w := range wishes {
			e.App, e.where[1] = w.value, w.name
			e.App.SubmissionID, e.App.SparkAppID = submissionOf(rec.value), "spark"
			for _, d := range drivers {
				e.Observation.Driver, e.where[2] = d.value, "driver "+d.name
				for _, x := range executors {
					e.Observation.Executors, e.where[3] = x.value, "executors "+x.name
					visit(&e)
				}
			}
		}
	}
}

// named is a value of one dimension.
type named[T any] struct {
	name  string
	value T
}

// submissionOf is the mark of the record's attempt; "s-1" is that of the attempt before.
func submissionOf(r lifecycle.Record) string {
	if r.SubmissionID != "" {
		return r.SubmissionID
	}
	return "s-2"
}

func executors() []named[[]lifecycle.Executor] {
	return []named[[]lifecycle.Executor]{
		{"none", nil},
		{"mixed", []lifecycle.Executor{
			{Name: "e-2", State: lifecycle.ExecutorRunning}, {Name: "e-3", State: lifecycle.ExecutorPending},
			{Name: "e-4", State: lifecycle.ExecutorFailed, Reason: "OOMKilled"},
		}},
	}
}

// drivers are all pods that can have the driver's name. A stranger belongs to this application by its owner, but an operator
// created it whose record is missing.
func drivers() []named[lifecycle.Driver] {
	out := []named[lifecycle.Driver]{
		{"absent", lifecycle.Driver{Presence: lifecycle.Absent, Name: driverName}},
		{"unknown", lifecycle.Driver{Presence: lifecycle.Unknown, Name: driverName}},
	}
	owners := []named[lifecycle.Driver]{
		{"foreign", lifecycle.Driver{Ownership: lifecycle.NotOwned}},
		{"current", lifecycle.Driver{Ownership: lifecycle.Current, SubmissionID: "s-2", SpecHash: hashOfSpec}},
		{"former", lifecycle.Driver{Ownership: lifecycle.Previous, SubmissionID: "s-1", SpecHash: hashOfSpec}},
		{"stranger", lifecycle.Driver{Ownership: lifecycle.Previous, SubmissionID: "s-stranger"}},
	}
	for _, owner := range owners {
		for _, phase := range []lifecycle.DriverPhase{lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverFailed} {
			for _, leaving := range []string{"", " leaving", " lost"} {
				d := owner.value
				d.Presence, d.Name, d.UID, d.Phase, d.CreatedAt = lifecycle.Present, driverName, "uid-"+owner.name, phase, Now.Add(-time.Hour)
				if phase == lifecycle.DriverPending {
					d.Unplaced = "7"
				} else {
					d.ScheduledAt, d.StartedAt = d.CreatedAt, d.CreatedAt
				}
				if phase == lifecycle.DriverFailed {
					d.Exit = lifecycle.Exit{Code: 1, Reason: "Error"}
				}
				d.Deleting = leaving != ""
				switch leaving {
				case " leaving":
					d.GoneAt = Now.Add(30 * time.Second)
				case " lost":
					d.GoneAt = Now.Add(-time.Hour)
				}
				out = append(out, named[lifecycle.Driver]{owner.name + " " + string(phase) + leaving, d})
			}
		}
	}
	return append(out, ends()...)
}

// ends are the other results that a driver of the current attempt can report.
func ends() []named[lifecycle.Driver] {
	current := lifecycle.Driver{
		Presence: lifecycle.Present, Ownership: lifecycle.Current, Name: driverName, UID: "uid-current", SubmissionID: "s-2", SpecHash: hashOfSpec,
		CreatedAt: Now.Add(-time.Hour), ScheduledAt: Now.Add(-time.Hour), Phase: lifecycle.DriverFailed,
	}
	placed, unstarted, oom, evicted, restarted, backsOff := current, current, current, current, current, current
	placed.Phase, placed.Waiting.Cause = lifecycle.DriverPending, lifecycle.Cause{Reason: lifecycle.ReasonImagePull, Message: "no such image"}
	unstarted.Exit, unstarted.StartedAt = lifecycle.Exit{Code: 128, Reason: "StartError", Message: "exec: no such file"}, time.Unix(0, 0)
	oom.StartedAt, oom.Exit = current.CreatedAt, lifecycle.Exit{Code: 137, Reason: "OOMKilled"}
	evicted.Exit, evicted.Disruption = lifecycle.Exit{Code: 143, Reason: "Error"}, lifecycle.Cause{Reason: "TerminationByKubelet", Message: "low on memory"}
	restarted.Phase, restarted.Restarted, restarted.StartedAt = lifecycle.DriverRunning, true, current.CreatedAt
	restarted.Exit = lifecycle.Exit{Code: 1, Reason: "Error"}
	backsOff.Phase, backsOff.Restarted, backsOff.Exit = lifecycle.DriverPending, true, lifecycle.Exit{Code: -1}
	return []named[lifecycle.Driver]{
		{"current Pending with a node", placed}, {"current Failed to start", unstarted}, {"current Failed out of memory", oom}, {"current Failed evicted", evicted},
		{"current Running again", restarted}, {"current Pending again", backsOff},
	}
}
