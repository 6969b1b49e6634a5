// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"slices"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var (
	submitClasses = []lifecycle.Class{
		lifecycle.ClassDone, lifecycle.ClassNameTaken, lifecycle.ClassQuota, lifecycle.ClassTerminating,
		lifecycle.ClassOperatorForbidden, lifecycle.ClassPolicy, lifecycle.ClassRefused, lifecycle.ClassTransient,
	}
	scheduleClasses = []lifecycle.Class{
		lifecycle.ClassDone, lifecycle.ClassNameTaken, lifecycle.ClassQuota, lifecycle.ClassTerminating,
		lifecycle.ClassOperatorForbidden, lifecycle.ClassPolicy, lifecycle.ClassRefused, lifecycle.ClassTransient,
	}
	deleteClasses = []lifecycle.Class{lifecycle.ClassDone, lifecycle.ClassOperatorForbidden, lifecycle.ClassRefused, lifecycle.ClassTransient}
)

func result(a lifecycle.Action, class lifecycle.Class) lifecycle.Result {
	r := lifecycle.Result{Kind: a.Kind, Class: class}
	if class != lifecycle.ClassDone {
		r.Message = "the API server's words"
	}
	return r
}

// results settles a plan with every result that its actions can have: the first that is not done ends it, or those that are tried after it are done.
func (c *checker) results(p *lifecycle.Plan) {
	var done []lifecycle.Result
	for i, a := range p.Actions {
		classes := deleteClasses
		switch a.Kind {
		case lifecycle.Submit:
			classes = submitClasses
		case lifecycle.Schedule, lifecycle.UpdateTemplate, lifecycle.Restore, lifecycle.Adjust, lifecycle.TryExecutor:
			classes = scheduleClasses
		case lifecycle.DeleteDriver, lifecycle.DeleteResources, lifecycle.Release, lifecycle.DeleteApplication, lifecycle.RemoveFinalizer:
		}
		for _, class := range classes[1:] {
			tried := append(slices.Clone(done), result(a, class))
			if a.Kind == lifecycle.DeleteResources && tried[i].GoesOn() {
				for _, next := range p.Actions[i+1:] {
					tried = append(tried, result(next, lifecycle.ClassDone))
				}
			}
			c.outcome(p, tried)
		}
		if a.Kind == lifecycle.Schedule {
			invalid := result(a, lifecycle.ClassRefused)
			invalid.BySpec = true
			c.outcome(p, append(slices.Clone(done), invalid))
		}
		done = append(done, result(a, lifecycle.ClassDone))
	}
	c.outcome(p, done)
}

// outcome checks the rules of what is stored.
func (c *checker) outcome(p *lifecycle.Plan, results []lifecycle.Result) {
	c.outcomes++
	e, o := c.e, lifecycle.Settle(*p, results, c.e.Env)
	last := lifecycle.Result{}
	if len(results) > 0 {
		last = results[len(results)-1]
	}
	there := e.Observation.Driver.Presence != lifecycle.Absent && e.Observation.Driver.Ownership != lifecycle.NotOwned
	switch {
	case o.Err != nil:
		if !e.App.Deleting && !last.GoesOn() && !sameState(o.Record, e.Record) {
			c.broken("trouble is recorded as %s", o.Record.State)
		}
	case o.Requeue < 0:
		c.broken("a timer of %s", o.Requeue)
	case o.Requeue == 0 && (e.App.Deleting && there || !e.App.Deleting && !o.Record.State.Final()):
		c.broken("%s has neither a timer nor an error", o.Record.State)
	}
	if o.Record.State == lifecycle.New && !e.App.Deleting {
		c.broken("a state without a word is stored, which tools take for a driver that exists")
	}
	submitted := last.Kind == lifecycle.Submit && last.Class == lifecycle.ClassDone
	if submitted && (o.Record.State != lifecycle.Submitted || o.Record.Executions != p.Record.Executions+1 || o.Record.Submissions != p.Record.Submissions+1 ||
		o.Record.SubmissionID != e.App.SubmissionID || o.Record.Current() == nil) {
		c.broken("a created driver is recorded as %+v", o.Record)
	}
	if a := o.Record.Current(); a != nil && a.EndedAt.IsZero() && o.Record.State.Final() {
		c.broken("an attempt of a finished application goes on")
	}
	if len(o.Record.Attempts) > 10 || len(o.Record.Failures) > 5 {
		c.broken("%d attempts and %d failures are kept", len(o.Record.Attempts), len(o.Record.Failures))
	}
	if e.App.Deleting {
		return // nothing is stored any more
	}
	c.counters(&e.Record, &o.Record)
	c.kept(&o, last)
	c.times(&e.Record, &o.Record)
	c.conditions(&o)
	c.events(e.Record, o.Record)
}

// sameState compares what decisions are made from.
func sameState(a, b lifecycle.Record) bool {
	if b.State == lifecycle.New {
		return a.State == lifecycle.Queued && a.NeverRan()
	}
	return a.State == b.State && a.Attempt == b.Attempt && a.SpecHash == b.SpecHash
}

// times checks what deadlines and retention are counted from.
func (c *checker) times(from, to *lifecycle.Record) {
	switch to.State {
	case lifecycle.Queued, lifecycle.Submitted, lifecycle.Running, lifecycle.Rerunning, lifecycle.Resuming:
		if !to.TerminatedAt.IsZero() {
			c.broken("%s has ended at %s", to.State, to.TerminatedAt)
		}
	case lifecycle.Succeeded, lifecycle.Failed:
		if to.TerminatedAt.IsZero() {
			c.broken("%s has no end", to.State)
		}
	default: // what has ended, or is being ended
	}
	if from.State == lifecycle.Suspended && to.State == lifecycle.Resuming && !to.QueuedAt.IsZero() {
		c.broken("it waits since %s, which was before its suspension", to.QueuedAt)
	}
}

func (c *checker) conditions(o *lifecycle.Outcome) {
	if len(o.Conditions) != 8 {
		c.broken("%d conditions", len(o.Conditions))
		return
	}
	for i := range o.Conditions {
		condition := &o.Conditions[i]
		if !knownReasons[condition.Reason] {
			c.broken("%s has the reason %q, which is not of the closed list", condition.Type, condition.Reason)
		}
		if condition.Status == "" || condition.Message == "" || len(condition.Message) > 512 {
			c.broken("every state has a sentence: %+v", *condition)
		}
	}
	status := func(t lifecycle.ConditionType) lifecycle.Status {
		for i := range o.Conditions {
			if o.Conditions[i].Type == t {
				return o.Conditions[i].Status
			}
		}
		return ""
	}
	is := func(t lifecycle.ConditionType) bool { return status(t) == lifecycle.True }
	if is(lifecycle.ConditionDriverReady) && !is(lifecycle.ConditionSubmitted) || is(lifecycle.ConditionSubmitted) && !is(lifecycle.ConditionAdmitted) ||
		is(lifecycle.ConditionSucceeded) && !is(lifecycle.ConditionSubmitted) || is(lifecycle.ConditionExecutorsReady) && !is(lifecycle.ConditionDriverReady) && !c.e.App.Endures || // executors come before clients do
		is(lifecycle.ConditionSuspended) && is(lifecycle.ConditionDriverReady) || is(lifecycle.ConditionSucceeded) && is(lifecycle.ConditionStalled) {
		c.broken("conditions contradict each other: %+v", o.Conditions)
	}
	if o.Record.State.Final() && (is(lifecycle.ConditionReconciling) || status(lifecycle.ConditionSucceeded) == lifecycle.Undetermined) {
		c.broken("what is over is over: %+v", o.Conditions)
	}
}

// events tells at most one thing for a reconcile (a driver that is recognized late was submitted and does something
// already), and nothing if nothing happened.
func (c *checker) events(from, to lifecycle.Record) {
	all := lifecycle.Events("SparkApplication", "pi", from, to)
	if len(all) > 2 || len(all) == 2 && all[0].Reason != "SparkApplicationSubmitted" && all[1].Reason != "SparkApplicationDraining" {
		c.broken("%d events for one reconcile: %+v", len(all), all)
	}
	for _, e := range all {
		if e.Reason == "" || e.Action == "" || e.Message == "" {
			c.broken("an event needs a reason, an action and a sentence: %+v", e)
		}
	}
	if again := lifecycle.Events("SparkApplication", "pi", to, to); len(again) != 0 {
		c.broken("told again without a transition: %+v", again)
	}
}

// steps is how many decisions a cluster that stands still may take to come to rest.
const steps = 8

// converges repeats the decision in a cluster that stands still: after a few steps the record does not change any more,
// and what is shown only changes with it, so that there is no status write without news. Submissions meet the given
// answer; a created driver is another cluster.
func (c *checker) converges(p lifecycle.Plan, submission lifecycle.Class) {
	if c.e.App.Deleting {
		return // nothing is stored
	}
	rec, e := c.e.Record, c.e
	var shown []lifecycle.Condition
	for range steps {
		var done []lifecycle.Result
		for _, a := range p.Actions {
			class := lifecycle.ClassDone
			if a.Kind == lifecycle.Submit {
				class = submission
			}
			if a.Kind == lifecycle.DeleteApplication {
				return
			}
			done = append(done, result(a, class))
		}
		o := lifecycle.Settle(p, done, e.Env)
		if sameRecord(&o.Record, &rec) && shown != nil {
			if !slices.Equal(o.Conditions, shown) {
				c.broken("a status write without news: %+v became %+v", shown, o.Conditions)
			}
			c.rests(rec)
			return
		}
		rec, shown = o.Record, o.Conditions
		app, obs := c.next(rec)
		gate := scheduler.Admission{}
		if lifecycle.NeedsAdmission(app, rec, obs.Driver, e.Env) {
			if gate = c.gate; gate.Verdict == "" {
				gate = c.gates[2]
			}
		}
		p = lifecycle.Decide(app, rec, obs, gate, e.Env)
	}
	c.broken("it does not come to rest: after %d steps in a cluster that stands still it is %s, attempt %d", steps, rec.State, rec.Attempt)
}

// next is what the engine makes of the same cluster for another record: the attempt's mark decides whose driver it is,
// and what the spec is made into is only read again when its generation has changed.
func (c *checker) next(rec lifecycle.Record) (lifecycle.Application, lifecycle.Observation) {
	app, obs := c.e.App, c.e.Observation
	switch {
	case rec.SubmissionID != "":
		app.SubmissionID = rec.SubmissionID
	case rec.Attempt != max(1, c.e.Record.Attempt):
		app.SubmissionID = "s-next"
	}
	if rec.SpecHash != "" && rec.Generation == app.Generation {
		app.SpecHash = rec.SpecHash
	}
	if d := &obs.Driver; d.Presence == lifecycle.Present && d.Ownership != lifecycle.NotOwned {
		if d.Ownership = lifecycle.Previous; d.SubmissionID == app.SubmissionID {
			d.Ownership = lifecycle.Current
		}
	}
	return app, obs
}

// seenBefore reports whether a driver is seen as it was before it was ready: by a cache that is late, and does not stay so.
func seenBefore(rec lifecycle.Record, d lifecycle.Driver) bool {
	return d.Presence == lifecycle.Present && d.Phase == lifecycle.DriverPending && !rec.Idle.Since.IsZero()
}

// rests checks what a cluster that stands still has come to.
func (c *checker) rests(rec lifecycle.Record) {
	d := c.e.Observation.Driver
	if !rec.DrainSince.IsZero() && c.e.Env.Now.Before(rec.DrainSince.Add(c.e.App.Drain)) {
		return // the change waits
	}
	if c.e.App.Endures && (d.Presence == lifecycle.Unknown || seenBefore(rec, d)) && rec.State.HasDriver() {
		return // it may have sessions
	}
	live := d.Presence == lifecycle.Present && d.Ownership != lifecycle.NotOwned && !d.Deleting && (d.Phase == lifecycle.DriverPending || d.Phase == lifecycle.DriverRunning)
	if (rec.State == lifecycle.Submitted || rec.State == lifecycle.Running) && live && d.SpecHash != "" && d.SpecHash != c.e.App.SpecHash && !c.e.App.Suspend {
		c.broken("a change of the spec is lost: at rest it is %s with a driver that was made from another spec", rec.State)
	}
	if rec.SpecHash != c.e.App.SpecHash && !c.e.App.Suspend {
		c.broken("a change of the spec is lost: at rest it is %s with the hash %s", rec.State, rec.SpecHash)
	}
}
