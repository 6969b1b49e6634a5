// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/domain"
)

// A million small records: collecting them takes longer than making them.
func init() { debug.SetGCPercent(800) }

// TestEnumeration checks the rules of docs/architecture.md for every element of the domain: every decision
// that can be made, under every answer of the scheduler, and every result that its actions can have.
func TestEnumeration(t *testing.T) {
	enumerate(t, "enumeration", "", func(c *checker, state lifecycle.State) {
		c.gates = domain.Admissions()
		domain.Each(state, c.some(c.element))
	})
}

// enumerate checks every state's elements and tells how many there were.
func enumerate(t *testing.T, name, what string, each func(*checker, lifecycle.State)) {
	t.Helper()
	t.Parallel() // the state with the most elements is no core's last work
	var elements, outcomes atomic.Int64
	t.Run("states", func(t *testing.T) {
		for _, state := range lifecycle.States() {
			t.Run(orNew(state), func(t *testing.T) {
				t.Parallel()
				c := checker{t: t}
				each(&c, state)
				c.unchanged()
				if c.elements == 0 {
					t.Errorf("the domain has no record in state %q", state)
				}
				for rule, n := range c.failures {
					t.Errorf("%d times: %s", n, rule)
				}
				elements.Add(c.elements)
				outcomes.Add(c.outcomes)
			})
		}
	})
	text := fmt.Sprintf("lifecycle: %s%d elements of the domain enumerated, %d outcomes checked", what, elements.Load(), outcomes.Load())
	t.Log(text)
	testrun.Publish(t, name, text)
}

func orNew(s lifecycle.State) string {
	if s == lifecycle.New {
		return "New"
	}
	return string(s)
}

// checker checks one state's elements.
type checker struct {
	t     *testing.T
	gates []scheduler.Admission
	plans [4]lifecycle.Plan
	e     *domain.Element
	// kind names record, and before is what it was.
	kind           string
	record, before lifecycle.Record

	gate               scheduler.Admission
	elements, outcomes int64
	failures           map[string]int
}

// some are all elements of the domain; in the inner loop one of 23, a number that divides no dimension of the domain, so that each value is among them.
func (c *checker) some(check func(*domain.Element)) func(*domain.Element) {
	step, n := testrun.Pick(23, 1, 1), 0
	return func(e *domain.Element) {
		if n++; n%step == 0 {
			check(e)
		}
	}
}

// broken reports a broken rule. The first few elements that break it say enough.
func (c *checker) broken(rule string, args ...any) {
	c.t.Helper()
	if c.failures == nil {
		c.failures = map[string]int{}
	}
	if c.failures[rule]++; c.failures[rule] <= 3 {
		c.t.Errorf("%s, gate %q: %s", c.e, c.gate.Verdict, fmt.Sprintf(rule, args...))
	}
}

func (c *checker) decide(gate scheduler.Admission) lifecycle.Plan {
	return lifecycle.Decide(c.e.App, c.e.Record, c.e.Observation, gate, c.e.Env)
}

func (c *checker) element(e *domain.Element) {
	if e.Kind() != c.kind {
		c.unchanged()
		c.kind, c.record, c.before = e.Kind(), e.Record, snapshot(e.Record)
	}
	c.e = e
	gated := lifecycle.NeedsAdmission(e.App, e.Record, e.Observation.Driver, e.Env)
	depends := false
	for i, gate := range c.gates {
		c.plans[i] = c.decide(gate)
		depends = depends || !sameDecision(&c.plans[i], &c.plans[0])
	}
	c.gate = scheduler.Admission{}
	clearing := e.Record.Scheduling.HeldAttempt != 0 && e.Record.Scheduling.HeldAttempt < max(1, e.Record.Attempt)
	if depends != gated && (depends || !clearing) {
		c.broken("Gated says %v, but the decision depends on the gate: %v", gated, depends)
	}
	if again := c.decide(c.gates[1]); !sameDecision(&again, &c.plans[1]) {
		c.broken("Decide is not deterministic")
	}
	for i := range c.plans {
		if gated == (i == 0) {
			continue // an engine asks exactly if Gated says so
		}
		c.elements++
		c.gate = c.gates[i]
		c.plan(&c.plans[i])
		c.results(&c.plans[i])
		c.converges(c.plans[i], lifecycle.ClassRefused)
		if submits(&c.plans[i]) {
			c.converges(c.plans[i], lifecycle.ClassQuota)
		}
	}
}

// unchanged checks that no decision about the record has changed it.
func (c *checker) unchanged() {
	if !sameRecord(&c.before, &c.record) {
		c.broken("Decide or Settle changed the record that it was given")
	}
}

func snapshot(r lifecycle.Record) lifecycle.Record {
	r.Executors, r.Retries.Used = maps.Clone(r.Executors), maps.Clone(r.Retries.Used)
	r.Attempts, r.Failures = slices.Clone(r.Attempts), slices.Clone(r.Failures)
	return r
}

func sameDecision(a, b *lifecycle.Plan) bool {
	return a.Requeue == b.Requeue && slices.Equal(a.Actions, b.Actions) && sameRecord(&a.Record, &b.Record)
}

// sameRecord compares by hand: reflection would take most of the time of the enumeration.
func sameRecord(a, b *lifecycle.Record) bool {
	return a.State == b.State && a.Generation == b.Generation && a.SpecHash == b.SpecHash && a.Attempt == b.Attempt &&
		a.Submissions == b.Submissions && a.Executions == b.Executions && a.QueuedAt.Equal(b.QueuedAt) &&
		a.SubmittedAt.Equal(b.SubmittedAt) && a.TerminatedAt.Equal(b.TerminatedAt) && a.Cause == b.Cause &&
		a.SparkAppID == b.SparkAppID && a.SubmissionID == b.SubmissionID && a.DriverName == b.DriverName &&
		maps.Equal(a.Executors, b.Executors) && a.Counts == b.Counts && slices.Equal(a.Failures, b.Failures) &&
		maps.Equal(a.Retries.Used, b.Retries.Used) && a.Retries.MemoryRaises == b.Retries.MemoryRaises && a.Retries.Counters == b.Retries.Counters && a.Progress == b.Progress &&
		slices.EqualFunc(a.Attempts, b.Attempts, sameAttempt) && a.Released == b.Released && sameScheduling(a.Scheduling, b.Scheduling) &&
		sameExposure(&a.Exposure, &b.Exposure) && a.Rerun.At.Equal(b.Rerun.At) && a.Rerun.Ignored == b.Rerun.Ignored && a.Placement == b.Placement && a.Missing == b.Missing && sameSubmitter(a.Submitter, b.Submitter) &&
		a.DrainSince.Equal(b.DrainSince) && a.Idle.Since.Equal(b.Idle.Since) && a.Idle.StoppedAt.Equal(b.Idle.StoppedAt) && a.Idle.Problem == b.Idle.Problem
}

func sameSubmitter(a, b lifecycle.Submitter) bool {
	return a.User == b.User && a.Source == b.Source && slices.Equal(a.Groups, b.Groups)
}

func sameExposure(a, b *lifecycle.Exposure) bool {
	return slices.Equal(a.Objects, b.Objects) && a.Service == b.Service && a.ServiceAddress == b.ServiceAddress && a.ServicePort == b.ServicePort &&
		a.Ingress == b.Ingress && a.IngressAddress == b.IngressAddress && a.Route == b.Route && a.RouteAddress == b.RouteAddress &&
		a.HistoryURL == b.HistoryURL && a.Trouble == b.Trouble
}

func sameScheduling(a, b lifecycle.Scheduling) bool {
	return a.Choice == b.Choice && a.AdmittedAt.Equal(b.AdmittedAt) && a.HeldAttempt == b.HeldAttempt && a.HeldBy == b.HeldBy
}

func sameAttempt(a, b lifecycle.Attempt) bool {
	return a.Number == b.Number && a.SubmissionID == b.SubmissionID && a.StartedAt.Equal(b.StartedAt) && a.EndedAt.Equal(b.EndedAt) &&
		(a.ExitCode == b.ExitCode || a.ExitCode != nil && b.ExitCode != nil && *a.ExitCode == *b.ExitCode) &&
		a.Class == b.Class && a.Cause == b.Cause && a.LogTail == b.LogTail && a.Withdrawn == b.Withdrawn
}

// TestSameRecordSeesEveryField keeps sameRecord complete when records grow.
func TestSameRecordSeesEveryField(t *testing.T) {
	if got, want := reflect.TypeFor[lifecycle.Record]().NumField(), 28; got != want {
		t.Errorf("Record has %d fields and sameRecord compares %d", got, want)
	}
	if got, want := reflect.TypeFor[lifecycle.Attempt]().NumField(), 9; got != want {
		t.Errorf("Attempt has %d fields and sameAttempt compares %d", got, want)
	}
}

func submits(p *lifecycle.Plan) bool {
	return slices.ContainsFunc(p.Actions, func(a lifecycle.Action) bool { return a.Kind == lifecycle.Submit })
}

// plan checks the rules of a decision.
func (c *checker) plan(p *lifecycle.Plan) {
	e, d := c.e, c.e.Observation.Driver
	switch {
	case !submits(p):
	case d.Presence != lifecycle.Absent:
		c.broken("never two drivers: it submits beside a driver that is %s %s", d.Presence, d.Ownership)
	case e.App.Suspend, e.App.Deleting, c.gate.Verdict != scheduler.Admit:
		c.broken("it submits although suspended, deleted or not admitted")
	case e.App.Adopts != "" && e.Record.NeverRan():
		c.broken("never two drivers: it submits beside the one that the application is to adopt")
	case p.Record.Attempt != max(1, e.Record.Attempt):
		c.broken("a retry is stored before it acts: it submits attempt %d, and stored is %d", p.Record.Attempt, e.Record.Attempt)
	case e.Record.State.Final() && (!e.Record.NeverRan() || e.App.SpecHash == e.Record.SpecHash):
		c.broken("a final state submits")
	case len(e.Record.Attempts) > 0 && !slices.Contains(p.Actions, lifecycle.Action{
		Kind: lifecycle.DeleteResources, Attempt: e.Record.Attempts[len(e.Record.Attempts)-1].Number,
	}):
		c.broken("it leaves behind what the last driver lived on")
	case p.Actions[len(p.Actions)-1].Kind != lifecycle.Submit:
		c.broken("the driver is created after everything else")
	}
	for _, a := range p.Actions {
		switch {
		case a.Kind == lifecycle.DeleteDriver && (d.Presence != lifecycle.Present || d.Ownership == lifecycle.NotOwned || a.UID != d.UID || a.UID == ""):
			c.broken("it deletes a driver that is not ours, or not by its UID")
		case a.Kind == lifecycle.DeleteDriver && d.Deleting && !a.Force:
			c.broken("it deletes a driver twice")
		case a.Kind == lifecycle.DeleteApplication && (len(p.Actions) != 1 || !e.Record.State.Final()):
			c.broken("it deletes an application that is not over, or does something beside")
		}
	}
	if d.Ownership == lifecycle.NotOwned && slices.ContainsFunc(p.Actions, func(a lifecycle.Action) bool { return a.Kind == lifecycle.DeleteDriver }) {
		c.broken("another owner's pod leads to a deletion")
	}
	c.counters(&e.Record, &p.Record)
	c.once(&e.Record, &p.Record)
	c.objects(p)
}

// once checks that Never is at most one run: only an attempt whose driver certainly never started is followed by another, unless
// the user asked for it by an edit, a resumption or a rule.
func (c *checker) once(from, to *lifecycle.Record) {
	restart := c.e.App.Policies.Restart
	if restart.Type != lifecycle.Never || restart.RestartsEvicted || len(restart.Classes) > 0 || from.State != lifecycle.Failing || to.State != lifecycle.Rerunning {
		return
	}
	if a := from.Current(); a == nil || !a.Withdrawn {
		c.broken("a second driver after one that may have started: %+v", a)
	}
	if d := c.e.Observation.Driver; d.Presence == lifecycle.Present && d.Ownership != lifecycle.NotOwned && d.Unplaced == "" {
		c.broken("a second driver after one that had a node")
	}
}

// counters checks what only grows.
func (c *checker) counters(from, to *lifecycle.Record) {
	edited := from.SpecHash != "" && from.SpecHash != c.e.App.SpecHash
	if grown := max(1, to.Attempt) - max(1, from.Attempt); grown < 0 || grown > 1 {
		c.broken("the attempt went from %d to %d", from.Attempt, to.Attempt)
	}
	if !edited && from.State != lifecycle.Invalidating && (to.Submissions < from.Submissions || to.Executions < from.Executions) {
		c.broken("counters fell from %d/%d to %d/%d", from.Submissions, from.Executions, to.Submissions, to.Executions)
	}
	if to.Submissions < to.Executions {
		c.broken("%d executions of %d submissions", to.Executions, to.Submissions)
	}
	if to.Released != (lifecycle.Released{}) && !to.State.Final() {
		c.broken("%s has released %+v", to.State, to.Released)
	}
	if from.State.Final() && to.State != from.State && !edited {
		c.broken("a final state was left for %s without a change of the spec", to.State)
	}
	if from.State == to.State && to.Attempt == from.Attempt && !edited && (to.Counts.Total < from.Counts.Total || to.Counts.Failed < from.Counts.Failed) {
		c.broken("executors were forgotten: %+v became %+v", from.Counts, to.Counts)
	}
}
