// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Where each try is an attempt, a refused submission is followed by the next one, which says why.
func TestRefusalIsFollowedByAnAttempt(t *testing.T) {
	app := with(restarting(Restart{Type: Never, Counted: &Counted{After: []FailureClass{Submission}, Restarts: 1}}))
	got := Decide(app, refusedFirst(), Observation{Driver: absent}, admit, Env{Now: later})
	want := Cause{ReasonRerun, "the application is submitted again after: service account not found"}
	if got.Record.State != Rerunning || got.Record.Attempt != 2 || got.Record.Cause != want || got.Record.Retries.Counters != (Counters{1, 1, 1}) || len(got.Actions) > 0 || got.Requeue != unknownRetry {
		t.Errorf("%s, attempt %d, %+v, counted %+v, %v, again after %s", got.Record.State, got.Record.Attempt, got.Record.Cause, got.Record.Retries.Counters, got.Actions, got.Requeue)
	}
}

// What an earlier attempt has at its scheduler goes first, and the next step follows soon.
func TestObjectsOfAnEarlierAttemptGoFirst(t *testing.T) {
	rec := again(Rerunning)
	rec.Scheduling.HeldAttempt, rec.Scheduling.HeldBy = 1, "volcano"
	p := Decide(testApp(), rec, Observation{Driver: absent}, admit, Env{Now: later})
	if diff := cmp.Diff([]Action{{Kind: Release, Attempt: 1}}, p.Actions); diff != "" || p.Requeue != unknownRetry || p.Record.Scheduling.HeldAttempt != 0 {
		t.Errorf("again after %s, %+v (-want +got):\n%s", p.Requeue, p.Record.Scheduling, diff)
	}
}

// Which scheduler rejected an application is recorded, if one was asked.
func TestRejectionNamesItsScheduler(t *testing.T) {
	before := scheduler.Choice{Scheduler: "kube", Queue: "a"}
	for name, tc := range map[string]struct{ said, want scheduler.Choice }{
		"asked":     {scheduler.Choice{Scheduler: "volcano", Queue: "b"}, scheduler.Choice{Scheduler: "volcano", Queue: "b"}},
		"not asked": {scheduler.Choice{}, before},
	} {
		rec, gate := queued(), reject
		rec.Scheduling.Choice, gate.Choice = before, tc.said
		got := Decide(testApp(), rec, Observation{Driver: absent}, gate, Env{Now: later}).Record
		if diff := cmp.Diff(tc.want, got.Scheduling.Choice); diff != "" || got.State != Failed {
			t.Errorf("%s: %s (-want +got):\n%s", name, got.State, diff)
		}
	}
}

// The time of the next look is what waits for it: the scheduler's, but not beyond the deadline, and never at once.
func TestNextLookOfAWait(t *testing.T) {
	deadline := testApp().Policies.Deadlines.Queued
	for name, tc := range map[string]struct{ waited, retry, want time.Duration }{
		"scheduler": {time.Minute, 7 * time.Second, 7 * time.Second}, "deadline": {deadline - 3*time.Second, time.Minute, 3 * time.Second},
		"at once": {time.Minute, 0, time.Second}, "seldom": {time.Minute, time.Hour, heartbeat},
	} {
		rec, gate := queued(), hold
		rec.QueuedAt, gate.RetryAfter = later.Add(-tc.waited), tc.retry
		if got := Decide(testApp(), rec, Observation{Driver: absent}, gate, Env{Now: later}).Requeue; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// A driver of a refused submission is followed, unless each try is an attempt.
func TestDriverOfARefusedSubmissionIsFollowed(t *testing.T) {
	counted := restarting(Restart{Type: Never, Counted: &Counted{}})
	for name, tc := range map[string]struct {
		app  Application
		rec  Record
		want State
	}{
		"budgets": {with(restarting(onFailure)), refusedFirst(), Running}, "not refused": {with(counted), queued(), Running}, "refused attempt": {with(counted), refusedFirst(), SubmissionFailed},
	} {
		if got := Decide(tc.app, tc.rec, Observation{Driver: driver(Current, DriverRunning)}, admit, Env{Now: later}).Record.State; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// A driver that was created has its executors where the spec has them now, and a run that begins anew.
func TestCreatedDriverIsRecorded(t *testing.T) {
	rec := queued()
	rec.Placement, rec.Progress = Placement{Rest: "rest", Made: "a", Outdated: true}, Progress{StartedAt: now}
	got := settleSubmit(Outcome{Record: rec}, Plan{App: placedIn("b", 4)}, Result{Kind: Submit, Class: ClassDone, DriverUID: "uid-1"}, Env{Now: later}).Record
	if want := (Placement{Rest: "rest", Made: "b"}); got.Placement != want || got.Progress != (Progress{}) || got.State != Submitted {
		t.Errorf("%s, %+v, %+v", got.State, got.Placement, got.Progress)
	}
}

// placedIn is an application of a generation.
func placedIn(placement string, generation int64) Application {
	return with(func(a *Application) { a.Placement, a.Generation = Placement{Rest: "rest", Made: placement}, generation })
}

// Of a driver that is found, its mark says which spec it was made from. Another one than the present one is to be read again. The mark does not say where
// its executors run: only a spec that was never edited does.
func TestFoundDriverIsRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		generation, want   int64
		hash, spec, placed string
		placement          Placement
	}{
		"same":   {4, 4, "spec-1", "spec-1", "b", Placement{Rest: "rest", Outdated: true}},
		"first":  {1, 1, "spec-1", "spec-1", "b", Placement{Rest: "rest", Made: "b"}},
		"server": {4, 4, "spec-1", "spec-1", "", Placement{Rest: "rest"}},
		"no":     {4, 4, "", "spec-1", "b", Placement{Rest: "rest"}},
		"other":  {4, 3, "spec-0", "spec-0", "b", Placement{}},
		"oldest": {0, 0, "spec-0", "spec-0", "b", Placement{}},
	} {
		rec, d := queued(), driver(Current, DriverRunning)
		rec.Generation, rec.Placement, d.SpecHash = tc.generation, Placement{Rest: "rest", Made: "a", Outdated: true}, tc.hash
		got := adopted(rec, placedIn(tc.placed, tc.generation), d, scheduler.Choice{})
		if got.Placement != tc.placement || got.Generation != tc.want || got.SpecHash != tc.spec {
			t.Errorf("%s mark: generation %d, spec %s, %+v", name, got.Generation, got.SpecHash, got.Placement)
		}
	}
}

// A refusal that an administrator can take back fails new applications only. Others go on waiting, with its reason.
func TestReversedRefusalIsAWait(t *testing.T) {
	no := scheduler.Admission{Verdict: scheduler.Reject, Reversible: true, Reason: scheduler.ReasonExceedsQuota, Message: "cpu asked 7, limit 0"}
	waited := func(change func(*Record)) Record {
		r := queued()
		r.Scheduling.Scheduler, r.Scheduling.HeldAttempt, r.Scheduling.HeldBy = "batch", 1, "batch"
		if change != nil {
			change(&r)
		}
		return r
	}
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		gate   scheduler.Admission
		state  State
	}{
		"Waited":    {reason: "it has waited for room", app: testApp(), rec: waited(nil), gate: no, state: Queued},
		"First":     {reason: "it asks for too much from the beginning", app: testApp(), gate: no, state: Failed},
		"Suspended": {reason: "nobody was asked before it was resumed", app: testApp(), rec: waited(func(r *Record) { r.Scheduling = Scheduling{} }), gate: no, state: Failed},
		"Edited":    {reason: "it asks for too much since the edit", app: with(edited), rec: waited(nil), gate: no, state: Failed},
		"Own":       {reason: "the application is wrong", app: testApp(), rec: waited(nil), gate: reject, state: Failed},
		"Again":     {reason: "the attempt before had room", app: testApp(), rec: again(Rerunning), gate: no, state: Rerunning},
		"Late":      {reason: "the user's deadline holds", app: testApp(), rec: waited(func(r *Record) { r.QueuedAt = later.Add(-24 * time.Hour) }), gate: no, state: Failed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(tc.app, tc.rec, Observation{Driver: absent}, tc.gate, Env{Now: later})
			if p.Record.State != tc.state {
				t.Fatalf("%s: %s, want %s", tc.reason, p.Record.State, tc.state)
			}
			if tc.state == Failed {
				return
			}
			o := Settle(p, nil, Env{Now: later})
			if c := o.Record.Cause; c.Reason != no.Reason || c.Message != no.Message || o.Reservation != ReservationReleased || o.Record.Scheduling.HeldAttempt != 0 {
				t.Errorf("%s: %+v, reservation %q, objects of attempt %d", tc.reason, c, o.Reservation, o.Record.Scheduling.HeldAttempt)
			}
			if p.Requeue > reversedRetry {
				t.Errorf("%s: again after %s", tc.reason, p.Requeue)
			}
		})
	}
}
