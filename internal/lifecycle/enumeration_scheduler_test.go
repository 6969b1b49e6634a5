// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/domain"
)

// TestEnumerationOfSchedulers checks all rules again where an attempt has objects with its scheduler, and where the
// scheduler has a word about the driver; with the scheduler that has the objects, with another that
// was chosen since, and with one that cannot be asked.
func TestEnumerationOfSchedulers(t *testing.T) {
	enumerate(t, "enumeration-schedulers", "schedulers: ", func(c *checker, state lifecycle.State) {
		answers := [][]scheduler.Admission{domain.GangAdmissions(), domain.PlainAdmissions(), domain.Admissions()}
		if !state.Starting() {
			answers = answers[:1] // nobody is asked
		}
		for _, gates := range answers {
			c.gates, c.kind = gates, ""
			domain.EachScheduled(state, c.some(c.element))
		}
	})
}

// objects checks the rules of the scheduler's objects in a decision.
func (c *checker) objects(p *lifecycle.Plan) {
	e := c.e
	before, after := e.Record.Scheduling.HeldAttempt, p.Record.Scheduling.HeldAttempt
	at := func(kind lifecycle.ActionKind) int {
		return slices.IndexFunc(p.Actions, func(a lifecycle.Action) bool { return a.Kind == kind })
	}
	schedule, release, submit := at(lifecycle.Schedule), at(lifecycle.Release), at(lifecycle.Submit)
	if schedule >= 0 && (before == 0 || before != p.Record.Attempt || after != before) {
		c.broken("objects of attempt %d are made, and stored is %d", p.Record.Attempt, before)
	}
	if schedule >= 0 && (e.App.Suspend || e.App.Deleting || !c.gate.HasObjects() || c.gate.Verdict == scheduler.Reject) {
		c.broken("objects are made for an application that may not start")
	}
	if schedule >= 0 && release >= 0 {
		c.broken("objects are made and deleted in one step")
	}
	if submit >= 0 && after != 0 && !c.gate.HasObjects() && c.gate.Choice.Scheduler != "" {
		c.broken("a driver is made beside the objects of another scheduler")
	}
	if submit >= 0 && c.gate.HasObjects() && (schedule < 0 || schedule > submit) {
		c.broken("a driver is made before its scheduler's objects")
	}
	if before != after && after != 0 && (before != 0 || after != p.Record.Attempt || len(p.Actions) > 0) {
		c.broken("objects of attempt %d are to be made after those of %d: nothing else may be done before that is stored", after, before)
	}
	if (before != 0 && after == 0) != (release >= 0) && !e.App.Deleting {
		c.broken("objects of attempt %d became those of %d, and a deletion is planned: %v", before, after, release >= 0)
	}
	if release >= 0 && p.Actions[release].Attempt != before {
		c.broken("objects of attempt %d are deleted, and there are those of %d", p.Actions[release].Attempt, before)
	}
	d := e.Observation.Driver
	ours := e.Record.State != lifecycle.Succeeding && d.Presence == lifecycle.Present && d.Ownership == lifecycle.Current && d.SubmissionID == e.App.SubmissionID
	if release >= 0 && before == max(1, e.Record.Attempt) && ours && !d.Deleting && (d.Phase == lifecycle.DriverPending || d.Phase == lifecycle.DriverRunning) {
		c.broken("the objects of a live driver are deleted")
	}
	if after != 0 && p.Record.State.Final() {
		c.broken("%s leaves objects of attempt %d behind", p.Record.State, after)
	}
}

// kept checks that nothing is forgotten that could not be deleted.
func (c *checker) kept(o *lifecycle.Outcome, last lifecycle.Result) {
	held := c.e.Record.Scheduling.HeldAttempt
	if last.Kind == lifecycle.Release && last.Class != lifecycle.ClassDone && o.Record.Scheduling.HeldAttempt != held {
		c.broken("objects of attempt %d could not be deleted and are forgotten", held)
	}
	if last.Kind == lifecycle.Schedule && last.Class != lifecycle.ClassDone && (o.Record.Scheduling.HeldAttempt != held) {
		c.broken("objects that could not be made are recorded as %+v", o.Record)
	}
}
