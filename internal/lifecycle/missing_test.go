// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// missingRun is an application of two executors whose driver has run for long without any.
func missingRun(at time.Time) (Application, Record, Observation) {
	app := with(func(a *Application) { a.Executors, a.LeastExecutors = 2, 2 })
	rec := ran(Running)
	rec.Executors, rec.Counts, rec.Failures = nil, ExecutorCounts{}, nil
	return app, rec, Observation{Driver: startedAt(driver(Current, DriverRunning), at.Add(-time.Hour))}
}

// The API server is asked once for an executor pod, when a driver has run for a while without the ones that it certainly wants.
func TestMissingExecutorsAreAskedFor(t *testing.T) {
	asked := Missing{AskedAt: later.Add(-time.Minute), Refusal: "no"}
	gone := Missing{Since: later.Add(-time.Hour)}
	cases := map[string]struct {
		reason string
		change func(*Application, *Record, *Observation)
		asks   bool
		want   Missing
		next   time.Duration
	}{
		"Asks":  {reason: "it runs for long", asks: true, next: heartbeat},
		"Early": {reason: "Spark starts executors within seconds", change: func(_ *Application, _ *Record, o *Observation) { o.Driver.StartedAt = later.Add(-50 * time.Second) }, next: 10 * time.Second},
		"Asked": {reason: "the answer is known", change: func(_ *Application, r *Record, _ *Observation) { r.Missing = asked }, want: asked, next: heartbeat},
		"None":  {reason: "it wants none", change: func(a *Application, _ *Record, _ *Observation) { a.Executors, a.LeastExecutors = 0, 0 }, next: heartbeat},
		"Pending": {reason: "there is a pod", change: func(_ *Application, r *Record, o *Observation) {
			o.Executors, r.Missing = []Executor{{Name: "e-1", State: ExecutorPending}}, asked
		}, next: heartbeat},
		"Gone": {reason: "it is known since now that they are gone", change: func(_ *Application, r *Record, _ *Observation) { r.Counts = ExecutorCounts{Total: 2, Failed: 2} },
			want: Missing{Since: later}, next: time.Minute},
		"GoneForLong": {reason: "Spark does not replace them", change: func(_ *Application, r *Record, _ *Observation) {
			r.Counts, r.Missing = ExecutorCounts{Total: 2, Failed: 2}, gone
		}, asks: true, want: gone, next: heartbeat},
		"GivenBack": {reason: "dynamic allocation needs none now", change: func(a *Application, r *Record, _ *Observation) {
			a.LeastExecutors, r.Counts, r.Missing = 0, ExecutorCounts{Total: 2, Succeeded: 2}, gone
		}, next: heartbeat},
		"OtherSpec": {reason: "its executors are of another spec", change: func(_ *Application, _ *Record, o *Observation) { o.Driver.SpecHash = "other" }, next: heartbeat},
		"Outdated": {reason: "its template is another one", change: func(_ *Application, r *Record, _ *Observation) {
			r.Placement = Placement{Outdated: true, Problem: "no"}
		}, next: heartbeat},
		"Adopted":  {reason: "another client started it", change: func(a *Application, _ *Record, _ *Observation) { a.Adopts = "pi-driver" }, next: heartbeat},
		"NoHash":   {reason: "some families have none", change: func(a *Application, _ *Record, o *Observation) { a.SpecHash, o.Driver.SpecHash = "", "" }, asks: true, next: heartbeat},
		"Draining": {reason: "the driver is replaced", change: func(_ *Application, r *Record, _ *Observation) { r.DrainSince = later }, next: heartbeat},
		"Deleting": {reason: "the driver ends", change: func(_ *Application, _ *Record, o *Observation) { o.Driver = deleting(o.Driver) }},
		"JustRuns": {reason: "that it runs is stored first", change: func(_ *Application, r *Record, _ *Observation) { r.State = Submitted }, next: heartbeat},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, rec, obs := missingRun(later)
			if tc.change != nil {
				tc.change(&app, &rec, &obs)
			}
			p := Plan{App: app, Before: rec, Record: withExecutors(rec, obs), Driver: obs.Driver, Requeue: heartbeat}
			p.Record.State = Running
			p = withMissing(p, Env{Now: later})
			want := []Action{{Kind: TryExecutor}}[:1]
			if !tc.asks {
				want = nil
			}
			if diff := cmp.Diff(want, p.Actions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, p.Record.Missing); diff != "" || tc.next != 0 && p.Requeue != tc.next {
				t.Errorf("%s: again after %s, want %s (-want +got):\n%s", tc.reason, p.Requeue, tc.next, diff)
			}
		})
	}
}

// The API server's words are in the status and in one event. What says nothing about executors is no refusal.
func TestExecutorRefusal(t *testing.T) {
	const words = `pods "pi-exec-1" is forbidden: no toleration`
	cases := map[string]struct {
		reason string
		class  Class
		want   string
		again  time.Duration
	}{
		"Taken":      {reason: "the driver may not have asked yet", class: ClassDone, again: heartbeat},
		"Policy":     {reason: "a policy", class: ClassPolicy, want: words, again: heartbeat},
		"Quota":      {reason: "a full quota", class: ClassQuota, want: words, again: heartbeat},
		"Invalid":    {reason: "an invalid pod", class: ClassRefused, want: words, again: heartbeat},
		"NameTaken":  {reason: "all admission plugins have passed it", class: ClassNameTaken, again: heartbeat},
		"NotAllowed": {reason: "the driver may, perhaps", class: ClassOperatorForbidden, again: heartbeat},
		"Leaving":    {reason: "the namespace goes", class: ClassTerminating, again: heartbeat},
		"Fails":      {reason: "it is asked again", class: ClassTransient, again: operatorRetry},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, rec, obs := missingRun(later)
			p := withMissing(Plan{App: app, Before: rec, Record: rec, Driver: obs.Driver, Requeue: heartbeat}, Env{Now: later})
			o := Settle(p, []Result{{Kind: TryExecutor, Class: tc.class, Message: words}}, Env{Now: later})
			if m := o.Record.Missing; m.Refusal != tc.want || m.AskedAt.IsZero() != (tc.class == ClassTransient) || o.Requeue != tc.again || o.Err != nil {
				t.Errorf("%s: %+v, again after %s, error %v", tc.reason, m, o.Requeue, o.Err)
			}
			events := Events("SparkApplication", "pi", rec, o.Record)
			c := o.Conditions[3]
			if c.Type != ConditionExecutorsReady || (c.Reason == ReasonExecutorsRefused) != (tc.want != "") || len(events) != min(1, len(tc.want)) {
				t.Errorf("%s: condition %+v, events %+v", tc.reason, c, events)
			}
			if again := Events("SparkApplication", "pi", o.Record, o.Record); len(again) > 0 {
				t.Errorf("%s: a second event: %+v", tc.reason, again)
			}
		})
	}
}

// A new placement makes other executors, so the old answer is dropped.
func TestNewTemplateIsAskedAbout(t *testing.T) {
	app, rec, _ := missingRun(later)
	rec.Missing = Missing{Since: later, AskedAt: later, Refusal: "no"}
	got := settleTemplate(rec, Plan{App: app}, Result{Kind: UpdateTemplate, Class: ClassDone}).Missing
	if diff := cmp.Diff(Missing{Since: later}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A driver that ends for want of executors has the API server's words in its cause.
func TestTimeoutNamesTheRefusal(t *testing.T) {
	app, rec, obs := missingRun(later)
	app.Policies.Deadlines.FirstExecutors, rec.Missing.Refusal = time.Minute, "no toleration"
	_, got := decided(app, rec, obs.Driver)
	if got.Cause.Reason != ReasonExecutorsTimeout || !strings.HasSuffix(got.Cause.Message, "refuses the executor pods: no toleration") {
		t.Errorf("cause: %+v", got.Cause)
	}
}
