// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// An attempt of a previous operator gets its history as soon as its driver is seen.
func TestAttemptWithoutHistoryGetsOne(t *testing.T) {
	rec := ran(Running)
	rec.Attempt, rec.SubmissionID = 3, "s-1"
	got := Decide(testApp(), rec, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later}).Record.Attempts
	if diff := cmp.Diff(append(ran(Running).Attempts, Attempt{Number: 3, SubmissionID: "s-1", StartedAt: now}), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who submitted an application, and what may be stored of its logs, is as the application says now.
func TestSubmitterAndLogsAreRecorded(t *testing.T) {
	alice := Submitter{User: "alice", Groups: []string{"staff"}, Source: SubmitterFromPolicy}
	rec := ran(Failed)
	rec.Attempts[0].LogTail = "abc"
	p := Plan{App: with(func(a *Application) { a.Submitter, a.LogTails.Hidden = alice, true }), Before: rec, Record: rec, Driver: absent}
	got := Settle(p, nil, Env{Now: later}).Record
	if diff := cmp.Diff(alice, got.Submitter); diff != "" || got.Attempts[0].LogTail != "" {
		t.Errorf("log %q, submitter (-want +got):\n%s", got.Attempts[0].LogTail, diff)
	}
}

// The Secret with the token is the one of the last try, and otherwise what our driver reads, whatever became of it.
func TestTokenOfTheDriver(t *testing.T) {
	reads, foreign := readyDriver(), readyDriver()
	reads.TokenSecret, foreign.TokenSecret, foreign.Ownership = "pi-token-1", "pi-token-2", NotOwned
	for name, tc := range map[string]struct {
		driver  Driver
		results []Result
		want    string
	}{
		"Reads":   {driver: reads, want: "pi-token-1"},
		"Foreign": {driver: foreign},
		"Created": {driver: absent, results: []Result{{Kind: Submit, TokenSecret: "pi-token-3"}}, want: "pi-token-3"},
		"Refused": {driver: absent, results: []Result{{Kind: Submit, Class: ClassQuota, TokenSecret: "pi-token-3"}}, want: "pi-token-3"},
		"Lost":    {driver: absent, results: []Result{{Kind: Submit, Class: ClassTransient, TokenSecret: "pi-token-3"}}, want: "pi-token-3"},
	} {
		rec := ran(Failing)
		if got := Settle(Plan{App: testApp(), Before: rec, Record: rec, Driver: tc.driver}, tc.results, Env{Now: later}).TokenSecret; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// The address of the driver is known as long as there is one of ours.
func TestAddressOfTheDriver(t *testing.T) {
	foreign := readyDriver()
	foreign.Ownership = NotOwned
	for name, tc := range map[string]struct {
		state  State
		driver Driver
		want   string
	}{"runs": {Running, readyDriver(), "10.0.0.1"}, "foreign": {Running, foreign, ""}, "ended": {Failing, readyDriver(), ""}} {
		rec := ran(tc.state)
		if got := Settle(Plan{App: testApp(), Before: rec, Record: rec, Driver: tc.driver}, nil, Env{Now: later}).PodIP; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Nothing is kept for a driver that has to go.
func TestDriverThatGoesIsNotMaintained(t *testing.T) {
	obs := Observation{Driver: driver(Current, DriverRunning), Scheduler: scheduler.Observation{Apply: []*unstructured.Unstructured{{}}}}
	if diff := cmp.Diff(stop, Decide(testApp(), ran(Failing), obs, scheduler.Admission{}, Env{Now: later}).Actions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The end of a log is in the history of its attempt, as much of it as there is room for.
func TestLogIsInTheHistory(t *testing.T) {
	for log, want := range map[string]int{"": 0, "abc": 3, strings.Repeat("x", 2*maxLog): maxLog} {
		d := failedDriver(1)
		d.LogTail = log
		if got := Decide(testApp(), ran(Running), Observation{Driver: d}, scheduler.Admission{}, Env{Now: later}).Record.Current().LogTail; len(got) != want || !strings.HasPrefix(log, got) {
			t.Errorf("of %d bytes %d are kept, want %d", len(log), len(got), want)
		}
	}
}

// What the next attempt counts is told when the driver of the last one has stopped, and the driver as it was seen always is.
func TestFollowingIsTold(t *testing.T) {
	foreign := driver(NotOwned, DriverRunning)
	counted := restarting(Restart{Type: Never, Counted: &Counted{After: []FailureClass{ApplicationExit}, Restarts: 1}})
	next := &Counters{Restarts: 1, Failures: 1}
	for name, tc := range map[string]struct {
		app    Application
		state  State
		driver Driver
		want   *Counters
	}{
		"gone":    {with(counted), Failing, absent, next},
		"ended":   {with(counted), Failing, failedDriver(1), next},
		"foreign": {with(counted), Failing, foreign, next},
		"stops":   {with(counted), Failing, driver(Current, DriverRunning), nil},
		"runs":    {with(counted), Running, absent, nil},
		"over":    {testApp(), Failing, absent, nil},
	} {
		rec := ran(tc.state)
		o := Settle(Plan{App: tc.app, Before: rec, Record: rec, Driver: tc.driver}, nil, Env{Now: later})
		if diff := cmp.Diff(tc.want, o.Following); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.driver, o.Driver); diff != "" {
			t.Errorf("%s: driver (-want +got):\n%s", name, diff)
		}
	}
}

// A step that did anything, failed, changed nothing or is of an application that goes is followed by none at once.
func TestGoesOnAtOnce(t *testing.T) {
	cases := map[string]struct {
		reason  string
		from    State
		to      State
		actions []Action
		err     error
		app     Application
		driver  Driver
		want    bool
	}{
		"Fails":     {reason: "it waits for nothing", from: Running, to: Failing, want: true},
		"Acts":      {reason: "what it did has to be seen", from: Running, to: Failing, actions: stop},
		"Error":     {reason: "it is tried again later", from: Running, to: Failing, err: &ActionError{}},
		"Same":      {reason: "nothing was stored", from: Failing, to: Failing},
		"Deleted":   {reason: "it goes", from: Running, to: Failing, app: with(isDeleted)},
		"Suspends":  {reason: "the driver is stopped next", from: Running, to: Suspending, want: true},
		"Resumes":   {reason: "the next attempt starts", from: Suspended, to: Resuming, want: true},
		"Concludes": {reason: "it is over", from: Failing, to: Failed},
		"Runs":      {reason: "its driver has to end", from: Submitted, to: Running, driver: driver(Current, DriverRunning)},
		"RanUnseen": {reason: "its end is shown next", from: Submitted, to: Running, driver: failedDriver(1), want: true},
		"OfAnother": {reason: "another owner's pod is no driver", from: Submitted, to: Running, driver: driver(NotOwned, DriverFailed)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Plan{App: tc.app, Before: ran(tc.from), Actions: tc.actions, Driver: tc.driver}
			if got := goesOn(p, Outcome{Record: ran(tc.to), Err: tc.err}); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

// Of a driver that cannot be seen, a failure is looked at again soon. A repetition begins at its very time.
func TestNextLookAfterAnEnd(t *testing.T) {
	if p := Decide(testApp(), ran(Failing), Observation{Driver: unknownDriver()}, scheduler.Admission{}, Env{Now: later}); p.Record.State != Failing || p.Requeue != unknownRetry {
		t.Errorf("%s, looked at again after %s", p.Record.State, p.Requeue)
	}
	app := with(restarting(always))
	for left, want := range map[time.Duration]State{time.Second: Succeeding, 0: Rerunning} {
		at := now.Add(twice.Initial - left)
		if p := Decide(app, ran(Succeeding), Observation{Driver: absent}, scheduler.Admission{}, Env{Now: at}); p.Record.State != want || want == Succeeding && p.Requeue != left {
			t.Errorf("%s before its time: %s, looked at again after %s", left, p.Record.State, p.Requeue)
		}
	}
}

// What the auxiliary objects are for decides whether they are made, go or stay.
func TestAuxiliaryObjects(t *testing.T) {
	exposed := func(s State, service string, objects ...string) Record {
		r := ran(s)
		r.Exposure.Service, r.Exposure.Objects = service, objects
		return r
	}
	cases := map[string]struct {
		reason        string
		before, after Record
		want          Auxiliary
	}{
		"Runs":    {reason: "the driver lives", before: ran(Submitted), after: ran(Running), want: AuxiliaryApplied},
		"Ends":    {reason: "there is no driver", before: exposed(Running, "ui"), after: ran(Failing), want: AuxiliaryDeleted},
		"Over":    {reason: "what was made goes", before: exposed(Failed, "ui", "Service/ui"), after: ran(Failed), want: AuxiliaryDeleted},
		"Former":  {reason: "a previous operator has left no more than a name", before: exposed(Failed, "ui"), after: ran(Failed), want: AuxiliaryKept},
		"Nothing": {reason: "nothing is known of any", before: ran(Failed), after: ran(Failed), want: AuxiliaryDeleted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Settle(Plan{App: testApp(), Before: tc.before, Record: tc.after, Driver: absent}, nil, Env{Now: later}).Auxiliary; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// A refusal in the very moment in which the deadline is over is followed by another look.
func TestRefusalAtTheDeadline(t *testing.T) {
	rec := queued()
	rec.QueuedAt = later.Add(-testApp().Policies.Deadlines.Queued)
	p := Plan{App: testApp(), Before: rec, Record: rec, Driver: absent, Admission: admit, Actions: submit}
	if o := Settle(p, []Result{{Kind: Submit, Class: ClassQuota, Message: words}}, Env{Now: later}); o.Requeue != conflictRetry {
		t.Errorf("it is looked at again after %s, want %s", o.Requeue, conflictRetry)
	}
}
