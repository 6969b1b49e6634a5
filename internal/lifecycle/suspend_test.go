// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What suspension leads out of, and with which state it ends when it comes true.
func TestSuspensionByState(t *testing.T) {
	cases := map[State]struct {
		reason string
		rec    Record
		driver Driver
		next   State
		end    State
	}{
		New:              {reason: "tools read SUBMITTED before the first driver", driver: absent, next: Queued, end: Queued},
		Queued:           {reason: "tools read SUBMITTED before the first driver", rec: queued(), driver: absent, next: Queued, end: Queued},
		Submitted:        {reason: "the driver is stopped", rec: ran(Submitted), driver: driver(Current, DriverPending), next: Suspending, end: Suspended},
		Running:          {reason: "the driver is stopped", rec: ran(Running), driver: driver(Current, DriverRunning), next: Suspending, end: Suspended},
		Succeeding:       {reason: "a finished run is kept", rec: ran(Succeeding), driver: driver(Current, DriverSucceeded), next: Succeeded, end: Succeeded},
		Failing:          {reason: "what nothing repeats has failed", rec: ran(Failing), driver: failedDriver(1), next: Failed, end: Failed},
		Rerunning:        {reason: "there is no driver to come", rec: again(Rerunning), driver: absent, next: Suspending, end: Suspended},
		Resuming:         {reason: "suspended again", rec: again(Resuming), driver: absent, next: Suspending, end: Suspended},
		Invalidating:     {reason: "the driver goes in any case", rec: ran(Invalidating), driver: driver(Current, DriverRunning), next: Suspending, end: Suspended},
		Suspending:       {reason: "it is on its way", rec: ran(Suspending), driver: absent, next: Suspended, end: Suspended},
		Suspended:        {reason: "it stays", rec: ran(Suspended), driver: absent, next: Suspended, end: Suspended},
		SubmissionFailed: {reason: "before the first driver it waits", rec: refusedFirst(), driver: absent, next: Queued, end: Queued},
		Succeeded:        {reason: "it is over", rec: ran(Succeeded), driver: absent, next: Succeeded, end: Succeeded},
		Failed:           {reason: "it is over", rec: ran(Failed), driver: absent, next: Failed, end: Failed},
	}
	for _, state := range States() {
		tc, told := cases[state]
		if !told {
			t.Errorf("nothing is said about %q", state)
			continue
		}
		rec := Decide(with(isSuspended), tc.rec, Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later}).Record
		if rec.State != tc.next {
			t.Errorf("%q: %s: became %s, want %s", state, tc.reason, rec.State, tc.next)
		}
		for range 3 {
			rec = Decide(with(isSuspended), rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
		}
		if rec.State != tc.end {
			t.Errorf("%q: %s: ends as %s, want %s", state, tc.reason, rec.State, tc.end)
		}
	}
}

// A retry that waits is suspended, too, and its budget stays as it was.
func TestSuspensionOfAWaitingRetry(t *testing.T) {
	app := with(restarting(onFailure), isSuspended)
	rec := Decide(app, ran(Failing), Observation{Driver: failedDriver(1)}, scheduler.Admission{}, Env{Now: now}).Record
	if rec.State != Suspending {
		t.Fatalf("a retry that waits became %s", rec.State)
	}
	rec = Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	if a := rec.Attempts[0]; rec.State != Suspended || a.Class != ApplicationExit || !a.EndedAt.Equal(now) {
		t.Errorf("%s: the attempt had failed before, and history says %+v", rec.State, a)
	}
	if rec = Decide(with(restarting(onFailure)), rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record; rec.Attempt != 2 || len(rec.Retries.Used) != 0 {
		t.Errorf("resumed as attempt %d with %+v", rec.Attempt, rec.Retries)
	}
}

// Suspending and resuming faster than the driver stops runs the next attempt when it has gone, and not before.
func TestSuspendAndResumeQuickly(t *testing.T) {
	rec := Decide(with(isSuspended), ran(Running), Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: now}).Record
	p := Decide(with(resumed), rec, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later})
	if p.Record.State != Suspending || len(p.Actions) != 1 {
		t.Fatalf("%s, %+v", p.Record.State, p.Actions)
	}
	p = Decide(with(resumed), p.Record, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later})
	p = Decide(with(resumed), p.Record, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later})
	if p.Record.State != Resuming || p.Record.Attempt != 2 {
		t.Errorf("%s, attempt %d", p.Record.State, p.Record.Attempt)
	}
}

// An attempt that waits in a queue is suspended for longer than it may wait, and resumed: its wait begins again, and
// what it ends with is no older than that.
func TestSuspensionIsNoWaiting(t *testing.T) {
	ttl := time.Hour
	app := with(func(a *Application) { a.Policies.Retention.OnFailure.Application = &ttl })
	rec := again(Rerunning)
	at := now
	decide := func(app Application, gate scheduler.Admission) Plan {
		t.Helper()
		p := Decide(app, rec, Observation{Driver: absent}, gate, Env{Now: at})
		rec = p.Record
		return p
	}
	decide(app, hold)
	if rec.State != Rerunning || !rec.QueuedAt.Equal(now) {
		t.Fatalf("%s since %s, want it to wait since %s", rec.State, rec.QueuedAt, now)
	}
	app.Suspend = true
	for range 3 {
		decide(app, scheduler.Admission{})
	}
	if rec.State != Suspended {
		t.Fatalf("suspended, it is %s", rec.State)
	}
	at, app.Suspend = now.Add(25*time.Hour), false
	decide(app, scheduler.Admission{})
	if rec.State != Resuming || rec.Attempt != 2 || !rec.TerminatedAt.IsZero() {
		t.Fatalf("resumed as %s, attempt %d, which ended at %s", rec.State, rec.Attempt, rec.TerminatedAt)
	}
	decide(app, hold)
	if rec.State != Resuming || !rec.QueuedAt.Equal(at) || !rec.TerminatedAt.IsZero() {
		t.Fatalf("after the suspension: %s since %s (%s), want it to wait since %s", rec.State, rec.QueuedAt, rec.Cause.Message, at)
	}
	at = at.Add(app.Policies.Deadlines.Queued)
	decide(app, hold)
	if rec.State != Failed || rec.Cause.Reason != ReasonQueueTimeout || !rec.TerminatedAt.Equal(at) {
		t.Fatalf("after its deadline: %s (%s), ended at %s, want %s", rec.State, rec.Cause.Reason, rec.TerminatedAt, at)
	}
	if p := decide(app, scheduler.Admission{}); len(p.Actions) > 0 || p.Requeue != ttl {
		t.Errorf("as soon as it has failed: %+v, next look in %s", p.Actions, p.Requeue)
	}
}

// An attempt that has had no driver is the one that is resumed. A previous operator counts drivers without a history of them: another one follows.
func TestAttemptThatIsResumed(t *testing.T) {
	for name, tc := range map[string]struct {
		rec  Record
		want int32
	}{
		"had its driver": {Record{State: Suspended, Attempt: 2, Executions: 2, Attempts: []Attempt{{Number: 2}}}, 3},
		"had none yet":   {Record{State: Suspended, Attempt: 2, Executions: 1, Attempts: []Attempt{{Number: 1}}}, 2},
		"never ran":      {Record{State: Suspended, Attempt: 1}, 1},
		"no history":     {Record{State: Suspended, Attempt: 2, Executions: 2}, 3},
	} {
		tc.rec.SpecHash = testApp().SpecHash
		if got := Decide(testApp(), tc.rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record; got.State != Resuming || got.Attempt != tc.want {
			t.Errorf("%s: %s, attempt %d, want %d", name, got.State, got.Attempt, tc.want)
		}
	}
}

// The attempt's driver was created by a reconcile that crashed before it wrote the status, and then came the suspension.
func TestSuspendingRecordsTheDriverThatItFinds(t *testing.T) {
	rec := nextAttempt(ran(Failing), Suspending, Cause{ReasonSuspended, "spec.suspend is true"})
	d := driver(Current, DriverRunning)
	d.SubmissionID = "s-2"
	p, rec := decided(with(isSuspended), rec, d)
	if rec.State != Suspending || rec.SubmissionID != "s-2" || rec.Executions != 2 || rec.Current() == nil {
		t.Errorf("state %s, submission %s, executions %d", rec.State, rec.SubmissionID, rec.Executions)
	}
	if len(p.Actions) != 1 || p.Actions[0].Kind != DeleteDriver {
		t.Errorf("actions %v, want the driver to be stopped", p.Actions)
	}
}

// An attempt that is yet to come is for the scheduler and the queue of the spec that it starts from.
func TestChoiceOfAnEarlierSpecIsDropped(t *testing.T) {
	old := Scheduling{Choice: scheduler.Choice{Scheduler: "line", Queue: "misspelled"}, HeldAttempt: 2, HeldBy: "line"}
	before := []Attempt{{Number: 1}}
	tests := map[string]struct {
		reason string
		record Record
		spec   string
	}{
		"Resumed":          {"it was suspended while it waited, and edited before it was resumed", Record{State: Suspended, Attempt: 2, Attempts: before, SpecHash: "new"}, "new"},
		"ResumedEdited":    {"one edit resumes it, too", Record{State: Suspended, Attempt: 2, Attempts: before, SpecHash: "old"}, "new"},
		"ResumedNoHash":    {"the family has no hash of the spec", Record{State: Suspended, Attempt: 2, Attempts: before, Generation: 1}, ""},
		"SubmissionFailed": {"what was refused is edited", Record{State: SubmissionFailed, Attempt: 2, Attempts: before, SpecHash: "old"}, "new"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.record.Scheduling = old
			p := Decide(Application{Generation: 2, SpecHash: tc.spec}, tc.record, Observation{Driver: Driver{Presence: Absent}}, scheduler.Admission{}, Env{Now: time.Unix(1, 0)})
			if got := p.Record.Scheduling; got.Choice != (scheduler.Choice{}) || got.HeldAttempt != 2 || got.HeldBy != "line" {
				t.Errorf("%s: %s keeps %+v", tc.reason, p.Record.State, got)
			}
		})
	}
}
