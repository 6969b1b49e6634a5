// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// When a foreign ConfigMap or Service has the name, the sentence names that, not a pod.
func TestNameTakenSentenceNamesTheObject(t *testing.T) {
	p := Plan{Record: Record{Attempt: 1}, Driver: absent, Admission: admit, Actions: []Action{{Kind: Submit}}}
	said := "ConfigMap spark-drv-1-conf-map exists already and does not belong to this application; delete or rename it"
	o := Settle(p, []Result{{Kind: Submit, Class: ClassNameTaken, Message: said}}, Env{Now: later})
	if got := o.Record.Cause.Message; !strings.Contains(got, "ConfigMap spark-drv-1-conf-map") {
		t.Errorf("the sentence tells people to delete what does not exist: %q", got)
	}
}

// A driver deletion that is refused is reported and repeated.
func TestRefusedDeletionIsRepeated(t *testing.T) {
	p := Decide(with(isDeleted), ran(Running), Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later})
	for _, class := range []Class{ClassOperatorForbidden, ClassRefused, ClassTerminating} {
		o := Settle(p, []Result{{Kind: DeleteDriver, Class: class, Message: "no"}}, Env{Now: later})
		if o.Err == nil && o.Requeue == 0 {
			t.Errorf("%s: the driver lives on, and nothing will try again or say so", class)
		}
	}
}

func TestDeletionInDoubtHasATimer(t *testing.T) {
	p := Decide(with(isDeleted), ran(Running), Observation{Driver: unsure()}, scheduler.Admission{}, Env{Now: later})
	if p.Requeue == 0 {
		t.Error("the driver was not seen because the API server is in trouble, and nobody will look again")
	}
}

// Hundreds of lost executors do not push those that run out of the sample.
func TestLostExecutorsPushOutRunningOnes(t *testing.T) {
	running := numbered(1, 10, ExecutorRunning)
	rec := ran(Running)
	rec.Executors = numbered(11, 400, ExecutorRunning)
	got := observed(rec, driver(Current, DriverRunning), executorPods(running)...).Executors
	for name := range running {
		if got[name] != ExecutorRunning {
			t.Fatalf("executor %s runs, but the status does not show it: of %d recorded executors all are lost ones", name, len(got))
		}
	}
}

// events.k8s.io allows 1024 bytes of note; client-go does not cut, the API server refuses the event.
func TestEventsFitTheAPI(t *testing.T) {
	long := strings.Repeat("x", 4096) // a termination message may be that long
	from, to := ran(Failing), ran(Failed)
	to.Cause.Message = long
	for _, e := range Events("pi", from, to) {
		if len(e.Message) > 1024 {
			t.Errorf("%s has a message of %d bytes: the API server takes 1024", e.Reason, len(e.Message))
		}
	}
}

// A driver that is recognized after a crash while it already runs was submitted, too.
func TestRecognisedDriverTellsItsSubmission(t *testing.T) {
	p := Decide(theApp(), Record{}, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later})
	to := Settle(p, nil, Env{Now: later}).Record
	var told []string
	for _, e := range Events("pi", Record{}, to) {
		told = append(told, e.Reason)
	}
	if !strings.Contains(strings.Join(told, " "), "SparkApplicationSubmitted") {
		t.Errorf("told %v: whoever waits for SparkApplicationSubmitted waits for ever", told)
	}
}

// A policy's refusal that happens to use two words of RBAC's sentence is not taken for missing rights of the operator.
func TestWebhookRefusalIsNotRBAC(t *testing.T) {
	err := forbidden(`admission webhook "policy.example" denied the request: containers cannot use the resource nvidia.com/gpu here`)
	err2 := forbidden(`admission webhook "policy.example" denied the request: pods cannot ask for the resource type gpu`)
	for _, e := range []error{err, err2} {
		if got := Classify(Submit, e); got != ClassPolicy {
			t.Errorf("%v: %s, want Policy", e, got)
		}
	}
}

// An attempt that was suspended, or timed out, before it got a driver never was: the next has its number.
func TestAttemptWithoutADriverIsNoHistory(t *testing.T) {
	stopped := Decide(with(isSuspended), again(Suspending), Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	if stopped.State != Suspended || len(stopped.Attempts) != 1 {
		t.Fatalf("%s: history tells of %d attempts, and there was one: %+v", stopped.State, len(stopped.Attempts), stopped.Attempts)
	}
	resumed := Decide(theApp(), stopped, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	if resumed.State != Resuming || resumed.Attempt != 2 {
		t.Errorf("%s attempt %d, want attempt 2, which never had a driver", resumed.State, resumed.Attempt)
	}
	timedOut := again(Failed)
	timedOut.Cause = Cause{ReasonQueueTimeout, "waited too long"}
	if got := applySpecChanges(with(edited), timedOut, Env{Now: later}); len(got.Attempts) != 1 {
		t.Errorf("an attempt that timed out in the queue became history: %+v", got.Attempts)
	}
}

// What Kubeflow's operator created suspended has never run.
func TestTakenOverSuspensionResumesAsTheFirstAttempt(t *testing.T) {
	rec := Record{State: Suspended, Attempt: 1}
	if got := Decide(theApp(), rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record; got.State != Resuming || got.Attempt != 1 {
		t.Errorf("%s attempt %d, want the first", got.State, got.Attempt)
	}
}

// The exit code and the log of somebody else's pod are not our driver's.
func TestForeignPodTellsNothingAboutOurDriver(t *testing.T) {
	for _, o := range []Ownership{NotOwned, Previous} {
		d := driver(o, DriverFailed)
		d.Exit, d.LogTail, d.StartedAt = Exit{Code: 3, Reason: "Error"}, "secret", later
		rec := ran(Running)
		rec.Attempts[0].StartedAt = time.Time{}
		a := Decide(theApp(), rec, Observation{Driver: d}, scheduler.Admission{}, Env{Now: later}).Record.Current()
		if a.ExitCode != nil || a.LogTail != "" || !a.StartedAt.IsZero() {
			t.Errorf("%s: the attempt's history is that of another pod: %+v", o, a)
		}
	}
}

// A driver that is recognized after its end was submitted, too.
func TestEndedDriverTellsItsSubmission(t *testing.T) {
	to := Settle(Decide(theApp(), Record{}, Observation{Driver: driver(Current, DriverSucceeded)}, scheduler.Admission{}, Env{Now: later}), nil, Env{Now: later}).Record
	if all := Events("pi", Record{}, to); len(all) != 1 || all[0].Reason != "SparkApplicationSubmitted" {
		t.Errorf("told %+v: whoever waits for SparkApplicationSubmitted waits for ever", all)
	}
}

// With restart policy Always the next attempt needs as much memory as the one that succeeded.
func TestSuccessKeepsRaisedMemory(t *testing.T) {
	rec := ran(Running)
	rec.Retries = Retries{Used: map[FailureClass]int32{OutOfMemory: 2}, MemoryRaises: 2}
	got := Decide(theApp(), rec, Observation{Driver: driver(Current, DriverSucceeded)}, scheduler.Admission{}, Env{Now: later}).Record
	if got.Retries.MemoryRaises != 2 || len(got.Retries.Used) != 0 {
		t.Errorf("after a success: %+v", got.Retries)
	}
}

// When the second attempt times out in the queue, what the first has left is still there.
func TestRetentionOfAnAttemptThatNeverRan(t *testing.T) {
	app, zero := theApp(), time.Duration(0)
	app.Policies.Retention.OnFailure.Resources = &zero
	rec := again(Failed)
	rec.TerminatedAt = now
	p := Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later})
	if len(p.Actions) != 1 || p.Actions[0] != (Action{Kind: DeleteResources, Attempt: 1}) {
		t.Errorf("%+v, want the resources of attempt 1 deleted", p.Actions)
	}
}

// What an attempt has left goes when the next one gets its driver, also if one without a driver lies between.
func TestLeftoversOfEarlierAttempts(t *testing.T) {
	between := func(attempts int32) Record {
		rec := again(Rerunning)
		rec.Attempt = attempts
		return rec
	}
	of := func(attempts ...int32) []Action {
		var all []Action
		for _, n := range attempts {
			all = append(all, Action{Kind: DeleteResources, Attempt: n})
		}
		return append(all, Action{Kind: Submit})
	}
	cases := map[string]struct {
		reason string
		rec    Record
		want   []Action
	}{
		"First":      {reason: "there is nothing yet", rec: queued(), want: of()},
		"Next":       {reason: "the one before has had a driver", rec: between(2), want: of(1)},
		"OneBetween": {reason: "the one between may have come to nothing halfway", rec: between(3), want: of(1, 2)},
		"Several":    {reason: "each attempt takes away what the one before has left", rec: between(5), want: of(1, 4)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(theApp(), tc.rec, Observation{Driver: absent}, admit, Env{Now: later})
			if diff := cmp.Diff(tc.want, p.Actions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}

	// The second attempt never gets a driver and fails; the edited spec runs as the third.
	app, rec := theApp(), again(Rerunning)
	rec = Decide(app, rec, Observation{Driver: absent}, reject, Env{Now: later}).Record
	app = with(edited)
	for range 2 {
		rec = Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	}
	p := Decide(app, rec, Observation{Driver: absent}, admit, Env{Now: later})
	if rec.Attempt != 3 || len(p.Actions) == 0 || p.Actions[0] != (Action{Kind: DeleteResources, Attempt: 1}) {
		t.Errorf("attempt %d: %+v, want the objects of attempt 1 deleted", rec.Attempt, p.Actions)
	}
}

// Kubeflow's operator stores the id of a submission after it: a driver that it created just before it was replaced is
// kept, with its id.
func TestDriverOfAnotherOperatorKeepsItsID(t *testing.T) {
	for _, state := range []State{Rerunning, Resuming, SubmissionFailed} {
		rec := again(state)
		got := Decide(theApp(), rec, Observation{Driver: stranger()}, scheduler.Admission{}, Env{Now: later})
		if got.Record.State != Running || got.Record.SubmissionID != "s-of-another-operator" || len(got.Actions) != 0 || got.Record.Attempt != 2 {
			t.Errorf("%s: a healthy driver is not kept: %s, submission %s, %+v", state, got.Record.State, got.Record.SubmissionID, got.Actions)
		}
	}
}

// A pod that goes its way is no news; one that does not is explained, and looked at less often.
func TestFormerDriverIsExplainedWhenItIsStuck(t *testing.T) {
	rec, app := again(Rerunning), theApp()
	app.SubmissionID = "s-2"
	d := driver(Previous, DriverFailed)
	d.SubmissionID = "s-1"
	for _, normal := range []Driver{d, deleting(d)} {
		if got := Decide(app, rec, Observation{Driver: normal}, scheduler.Admission{}, Env{Now: later}); got.Record.Cause != rec.Cause {
			t.Errorf("a status write without news: %+v", got.Record.Cause)
		}
	}
	got := Decide(app, rec, Observation{Driver: strayed(d)}, scheduler.Admission{}, Env{Now: later})
	if got.Record.Cause.Reason != ReasonFormerDriver || got.Requeue != heartbeat || len(got.Actions) != 0 {
		t.Errorf("nobody is told what to do: %+v, next look in %s", got.Record.Cause, got.Requeue)
	}
	if c := condition(t, got, ConditionStalled); c.Status != True {
		t.Errorf("a person has to do something, and Stalled is %s", c.Status)
	}
}

// A suspension whose driver cannot be stopped says so.
func TestSuspensionOfALostDriverIsExplained(t *testing.T) {
	got := Decide(with(isSuspended), ran(Suspending), Observation{Driver: strayed(driver(Current, DriverRunning))}, scheduler.Admission{}, Env{Now: later})
	if got.Record.State != Suspending || got.Record.Cause.Reason != ReasonNodeLost || got.Requeue != heartbeat {
		t.Errorf("%s: %+v, next look in %s", got.Record.State, got.Record.Cause, got.Requeue)
	}
	if c := condition(t, got, ConditionStalled); c.Status != True || c.Reason != ReasonNodeLost {
		t.Errorf("a person has to do something, and Stalled is %s (%s)", c.Status, c.Reason)
	}
}

// A refusal comes after the gate: Admitted stays as it was when the gate is not asked any more, and a person is asked.
func TestRefusalDoesNotUndoTheAdmission(t *testing.T) {
	app := with(restarting(onFailure))
	asked := condition(t, Plan{App: app, Record: refusedFirst(), Driver: absent, Admission: admit}, ConditionAdmitted)
	for _, rec := range []Record{refusedFirst(), again(SubmissionFailed)} {
		p := Plan{App: app, Record: rec, Driver: absent}
		if c := condition(t, p, ConditionAdmitted); c != asked || c.Status != True {
			t.Errorf("%+v, and while the gate was asked %+v", c, asked)
		}
		if c := condition(t, p, ConditionStalled); c.Status != True {
			t.Errorf("a person has to do something, and Stalled is %s", c.Status)
		}
	}
}

// A refused driver is tried again. While it waits nothing has ended, and when it fails then, that is its end: from a time
// to live that began with the refusal nobody would see the failure.
func TestRefusalIsNoEndOnceItIsTriedAgain(t *testing.T) {
	ttl := time.Minute
	app := with(restarting(onFailure), func(a *Application) { a.Policies.Retention.OnFailure.Application = &ttl })
	retried := later.Add(time.Hour)
	cases := map[string]struct {
		reason  string
		record  Record
		suspend bool
		gate    scheduler.Admission
		at      time.Time
		state   State
		ended   time.Time
	}{
		"Waits":          {reason: "it is let wait", record: refusedFirst(), gate: hold, at: retried, state: Queued},
		"WaitsAgain":     {reason: "it is let wait", record: again(SubmissionFailed), gate: hold, at: retried, state: Rerunning},
		"Suspended":      {reason: "it is to be tried later", record: refusedFirst(), suspend: true, at: retried, state: Queued},
		"Rejected":       {reason: "it ends now", record: refusedFirst(), gate: reject, at: retried, state: Failed, ended: retried},
		"Late":           {reason: "it ends now", record: refusedFirst(), at: retried.Add(48 * time.Hour), state: Failed, ended: retried.Add(48 * time.Hour)},
		"BackOff":        {reason: "it is not tried again yet", record: refusedFirst(), at: now.Add(time.Second), state: SubmissionFailed, ended: now},
		"FormerOperator": {reason: "an operator before us keeps the end of the attempt before", record: endedAt(again(Rerunning), now), gate: reject, at: retried, state: Failed, ended: retried},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wish := app
			wish.Suspend = tc.suspend
			if tc.record.QueuedAt.IsZero() {
				tc.record.QueuedAt = now
			}
			rec := Decide(wish, tc.record, Observation{Driver: absent}, tc.gate, Env{Now: tc.at}).Record
			if rec.State != tc.state || !rec.TerminatedAt.Equal(tc.ended) {
				t.Fatalf("%s: %s, ended %s; want %s, %s", tc.reason, rec.State, rec.TerminatedAt, tc.state, tc.ended)
			}
			if rec.State == Failed {
				if p := Decide(wish, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: tc.at}); len(p.Actions) > 0 {
					t.Errorf("%s: it is deleted at once: %+v", tc.reason, p.Actions)
				}
			}
		})
	}
}

func endedAt(r Record, at time.Time) Record {
	r.TerminatedAt = at
	return r
}
