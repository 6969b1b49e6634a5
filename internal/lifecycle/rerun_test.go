// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What a request to run again does next to what is recorded of earlier ones.
func TestWithRerun(t *testing.T) {
	at := func(minutes int) string { return later.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	cases := map[string]struct {
		reason  string
		request string
		rec     Rerun
		want    Rerun
		renews  bool
	}{
		"None":       {reason: "nobody asks"},
		"First":      {reason: "a later time than none", request: at(0), want: Rerun{At: later}, renews: true},
		"Again":      {reason: "the same time is the same request", request: at(0), rec: Rerun{At: later}, want: Rerun{At: later}},
		"Later":      {reason: "another run", request: at(0), rec: Rerun{At: later.Add(-time.Second)}, want: Rerun{At: later}, renews: true},
		"Earlier":    {reason: "somebody applies an older manifest", request: at(-1), rec: Rerun{At: later}, want: Rerun{At: later}},
		"Removed":    {reason: "what was done is remembered", rec: Rerun{At: later, Ignored: "soon"}, want: Rerun{At: later}},
		"Zone":       {reason: "the same moment elsewhere", request: later.In(time.FixedZone("", 3600)).Format(time.RFC3339), rec: Rerun{At: later}, want: Rerun{At: later}},
		"Fraction":   {reason: "whole seconds are stored: the same request is no later one", request: later.Add(time.Second / 2).Format(time.RFC3339Nano), rec: Rerun{At: later}, want: Rerun{At: later}},
		"Skew":       {reason: "clocks differ", request: at(5), want: Rerun{At: later.Add(rerunSkew)}, renews: true},
		"Future":     {reason: "it is told, and not acted on", request: at(6), want: Rerun{Ignored: at(6)}},
		"FutureCame": {reason: "what was ignored stays ignored", request: at(-6), rec: Rerun{Ignored: at(-6)}, want: Rerun{Ignored: at(-6)}},
		"Malformed":  {reason: "not a time", request: "now", rec: Rerun{At: later}, want: Rerun{At: later, Ignored: "now"}},
		"Long":       {reason: "a status has a limit", request: strings.Repeat("x", 999), want: Rerun{Ignored: strings.Repeat("x", maxRequest-3) + "..."}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := Record{SpecHash: "spec-1", Rerun: tc.rec}
			if !tc.rec.At.IsZero() {
				rec.SpecHash = Application{SpecHash: "spec-1"}.WithRerun("", rec, later).SpecHash
			}
			for _, hash := range []string{"spec-1", rec.SpecHash} { // read from the spec, and from the record
				app := Application{SpecHash: hash}.WithRerun(tc.request, rec, later)
				if !app.Rerun.same(tc.want) {
					t.Errorf("%s: %+v, want %+v", tc.reason, app.Rerun, tc.want)
				}
				if renews := app.SpecHash != rec.SpecHash; renews != tc.renews {
					t.Errorf("%s: hash %s after %s", tc.reason, app.SpecHash, rec.SpecHash)
				}
			}
		})
	}
}

// A request runs an application again from any state, once, with full budgets.
func TestRerunFromEveryState(t *testing.T) {
	request := later.Format(time.RFC3339)
	for _, rec := range []Record{ran(Submitted), ran(Running), ran(Failing), ran(Succeeding), ran(Succeeded), ran(Failed), again(SubmissionFailed)} {
		rec.Retries = Retries{Used: map[FailureClass]int32{ApplicationExit: 2}, MemoryRaises: 1}
		was := rec.State
		app := testApp().WithRerun(request, rec, later)
		if _, rests := NothingDue(app, rec, Env{Now: later}); rests {
			t.Errorf("%s: the request is not seen", was)
		}
		p := Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later})
		rec = Settle(p, nil, Env{Now: later}).Record
		if rec.State != Invalidating && rec.State != Rerunning || rec.Cause.Reason != ReasonRerunRequested || len(rec.Retries.Used)+int(rec.Retries.MemoryRaises) > 0 {
			t.Errorf("%s became %s (%+v), retries %+v", was, rec.State, rec.Cause, rec.Retries)
		}
		attempt, stopped := rec.Attempt, rec.State == Invalidating
		for range 2 {
			app = testApp().WithRerun(request, rec, later)
			app.SpecHash, app.SubmissionID = rec.SpecHash, "s-next"
			rec = Settle(Decide(app, rec, Observation{Driver: absent}, hold, Env{Now: later}), nil, Env{Now: later}).Record
			if stopped && rec.Cause.Reason != ReasonRerunRequested {
				t.Errorf("%s: once it is stopped, it runs again because of %+v", was, rec.Cause)
			}
			stopped = false
		}
		if rec.Attempt > attempt+1 || !rec.State.Starting() || !rec.Rerun.At.Equal(later) {
			t.Errorf("%s: the same request ran twice, or is forgotten: %s, attempt %d, %+v", was, rec.State, rec.Attempt, rec.Rerun)
		}
	}
}

// An application that is created with a request runs once.
func TestFirstRunFulfilsTheRequest(t *testing.T) {
	app := testApp().WithRerun(later.Format(time.RFC3339), Record{}, later)
	_, rec := decided(app, Record{}, absent)
	if rec.State.Final() || !rec.Rerun.At.Equal(later) || rec.SpecHash != app.SpecHash {
		t.Fatalf("%s, %+v", rec.State, rec.Rerun)
	}
	if next := testApp().WithRerun(later.Format(time.RFC3339), rec, later.Add(time.Hour)); next.SpecHash != rec.SpecHash {
		t.Errorf("it runs again: %s after %s", next.SpecHash, rec.SpecHash)
	}
}

// A request that is ignored is told once, also of an application that is over.
func TestIgnoredRequestIsTold(t *testing.T) {
	rec := ran(Succeeded)
	app := testApp().WithRerun("tomorrow", rec, later)
	if _, rests := NothingDue(app, rec, Env{Now: later}); rests {
		t.Fatal("nobody looks at it")
	}
	o := Settle(Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}), nil, Env{Now: later})
	if o.Record.State != Succeeded || !strings.Contains(o.Conditions[0].Message, `"tomorrow": ignored`) {
		t.Errorf("%s: %s", o.Record.State, o.Conditions[0].Message)
	}
	if events := Events("SparkApplication", "pi", rec, o.Record); len(events) != 1 || events[0].Reason != "SparkApplicationRerunIgnored" {
		t.Errorf("events %+v", events)
	}
	if _, rests := NothingDue(testApp().WithRerun("tomorrow", o.Record, later), o.Record, Env{Now: later}); !rests {
		t.Error("it is told again and again")
	}
}
