// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// shown are the conditions of a plan, those left out that are as in usual.
func shown(t *testing.T, p Plan) map[ConditionType]string {
	t.Helper()
	got := map[ConditionType]string{}
	for _, c := range Settle(p, nil, Env{Now: later}).Conditions {
		got[c.Type] = fmt.Sprintf("%s %s", c.Status, c.Reason)
		if c.Message == "" {
			t.Errorf("%s has no sentence", c.Type)
		}
	}
	return got
}

func TestConditions(t *testing.T) {
	because := func(r Record, c Cause) Record { r.Cause = c; return r }
	unready := driver(Current, DriverPending)
	unready.Waiting = Wait{Cause{ReasonImagePull, "container spark-kubernetes-driver"}, "Back-off pulling image"}
	quota := Cause{ReasonQuotaExceeded, "no room"}
	cases := map[string]struct {
		reason string
		plan   Plan
		// want is Admitted, Submitted, DriverReady, ExecutorsReady, Suspended, Reconciling, Stalled, Succeeded.
		want [8]string
	}{
		"AdmittedNotCreated": {
			reason: "trouble with the API server after the admission", plan: Plan{Driver: absent, Admission: admit, Record: Record{State: Queued}},
			want: [8]string{"True Admitted", "False NotSubmitted", "False NotSubmitted", "False NoExecutors", "False Admitted", "True InProgress", "False InProgress", "Unknown InProgress"},
		},
		"WaitsForScheduler": {
			reason: "the scheduler's reason everywhere it explains something", plan: Plan{Record: queued(), Driver: absent, Admission: hold},
			want: [8]string{"False SchedulerUnknown", "False SchedulerUnknown", "False NotSubmitted", "False NoExecutors", "False Admitted", "True SchedulerUnknown", "False InProgress", "Unknown SchedulerUnknown"},
		},
		"WaitsForQuota": {
			reason: "admitted, but the API server has no room", plan: Plan{Record: because(queued(), quota), Driver: absent, Admission: admit},
			want: [8]string{"True Admitted", "False QuotaExceeded", "False NotSubmitted", "False NoExecutors", "False Admitted", "True QuotaExceeded", "False InProgress", "Unknown QuotaExceeded"},
		},
		"NameTaken": {
			reason: "a user has to act", plan: Plan{Record: because(queued(), nameConflict(family.Fields, "pi-driver")), Driver: driver(NotOwned, DriverRunning), Admission: admit},
			want: [8]string{"True Admitted", "False NameConflict", "False NotSubmitted", "False NoExecutors", "False Admitted", "True NameConflict", "True NameConflict", "Unknown NameConflict"},
		},
		"SuspendedBeforeTheRun": {
			reason: "no gate is asked while suspended", plan: Plan{App: with(isSuspended), Record: because(queued(), Cause{ReasonSuspended, "spec.suspend is true"}), Driver: absent},
			want: [8]string{"False Suspended", "False Suspended", "False NotSubmitted", "False NoExecutors", "True Suspended", "False Suspended", "False InProgress", "Unknown Suspended"},
		},
		"Invalid": {
			reason: "a spec that cannot run", plan: Plan{Record: rejected(), Driver: absent, Admission: reject},
			want: [8]string{"False InvalidSpec", "False InvalidSpec", "False NotSubmitted", "False NoExecutors", "False Finished", "False Finished", "True InvalidSpec", "False InvalidSpec"},
		},
		"Pending": {
			reason: "created, not running", plan: Plan{Record: ran(Submitted), Driver: driver(Current, DriverPending)},
			want: [8]string{"True Admitted", "True DriverCreated", "False DriverPending", "False NoExecutors", "False Admitted", "True InProgress", "False InProgress", "Unknown DriverPending"},
		},
		"PendingForAReason": {
			reason: "the kubelet's message is better than ours, and a user has to act", plan: Plan{Record: ran(Submitted), Driver: unready},
			want: [8]string{"True Admitted", "True DriverCreated", "False ImagePullBackOff", "False NoExecutors", "False Admitted", "True InProgress", "True ImagePullBackOff", "Unknown ImagePullBackOff"},
		},
		"PendingInAGang": {
			reason: "the batch scheduler knows more about an unscheduled pod than the pod itself",
			plan:   Plan{Record: ran(Submitted), Driver: unready, Scheduler: scheduler.Observation{Stage: scheduler.StageQueued, Reason: "WaitingForGang", Message: "1 of 3 pods"}},
			want:   [8]string{"True Admitted", "True DriverCreated", "False WaitingForGang", "False NoExecutors", "False Admitted", "True InProgress", "False InProgress", "Unknown WaitingForGang"},
		},
		"Running": {
			reason: "what is on its way has arrived (kstatus)", plan: Plan{Record: ran(Running), Driver: driver(Current, DriverRunning)},
			want: [8]string{"True Admitted", "True DriverCreated", "True DriverRunning", "True NoExecutors", "False Admitted", "False DriverRunning", "False InProgress", "Unknown InProgress"},
		},
		"BeingDeleted": {
			reason: "a user deletes the driver", plan: Plan{Record: ran(Running), Driver: deleting(driver(Current, DriverRunning))},
			want: [8]string{"True Admitted", "True DriverCreated", "True DriverStopping", "True NoExecutors", "False Admitted", "False DriverRunning", "False InProgress", "Unknown InProgress"},
		},
		"Suspending": {
			reason: "not suspended yet", plan: Plan{App: with(isSuspended), Record: because(ran(Suspending), Cause{ReasonSuspended, "spec.suspend is true"}), Driver: driver(Current, DriverRunning)},
			want: [8]string{"True Admitted", "True DriverCreated", "False Suspended", "False NoExecutors", "False Suspended", "True Suspended", "False InProgress", "Unknown Suspended"},
		},
		"Succeeded": {
			reason: "an ended driver is not ready", plan: Plan{Record: ran(Succeeded), Driver: driver(Current, DriverSucceeded)},
			want: [8]string{"True Admitted", "True DriverCreated", "False DriverSucceeded", "False NoExecutors", "False Finished", "False Finished", "False InProgress", "True DriverSucceeded"},
		},
		"Failed": {
			reason: "the cause of the failure", plan: Plan{Record: ran(Failed), Driver: failedDriver(1)},
			want: [8]string{"True Admitted", "True DriverCreated", "False DriverFailed", "False NoExecutors", "False Finished", "False Finished", "True DriverFailed", "False DriverFailed"},
		},
		"Lost": {
			reason: "a driver that disappeared", plan: Plan{Record: because(ran(Failing), Cause{ReasonDriverNotFound, "driver pod not found"}), Driver: absent},
			want: [8]string{"True Admitted", "True DriverCreated", "False DriverNotFound", "False NoExecutors", "False Admitted", "True DriverNotFound", "False InProgress", "False DriverNotFound"},
		},
		"Rerunning": {
			reason: "the next attempt has no driver", plan: Plan{Record: again(Rerunning), Driver: driver(Previous, DriverFailed)},
			want: [8]string{"False Rerun", "False Rerun", "False NotSubmitted", "False NoExecutors", "False Admitted", "True Rerun", "False InProgress", "Unknown Rerun"},
		},
	}
	types := []ConditionType{
		ConditionAdmitted, ConditionSubmitted, ConditionDriverReady, ConditionExecutorsReady,
		ConditionSuspended, ConditionReconciling, ConditionStalled, ConditionSucceeded,
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := map[ConditionType]string{}
			for i, w := range tc.want {
				want[types[i]] = w
			}
			if diff := cmp.Diff(want, shown(t, tc.plan)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func condition(t *testing.T, p Plan, which ConditionType) Condition {
	t.Helper()
	for _, c := range Settle(p, nil, Env{Now: later}).Conditions {
		if c.Type == which {
			return c
		}
	}
	t.Fatalf("there is no condition %s", which)
	return Condition{}
}

// What an application waits for is read in one place: the sentence of the outcome.
func TestConditionOfAWaitingApplication(t *testing.T) {
	p := Plan{Record: queued(), Driver: absent, Admission: hold}
	if c := condition(t, p, ConditionSucceeded); c.Message != "waiting: no such scheduler" {
		t.Errorf("outcome's sentence %q, want the cause behind the prefix", c.Message)
	}
}

func TestExecutorsReady(t *testing.T) {
	cases := map[string]struct {
		reason string
		wanted int32
		counts ExecutorCounts
		waits  Reason
		want   string
	}{
		"None":       {reason: "none are wanted", want: "True NoExecutors"},
		"NotYet":     {reason: "none are there", wanted: 2, want: "False ExecutorsPending"},
		"Some":       {reason: "one is missing", wanted: 2, counts: ExecutorCounts{Running: 1, Pending: 1, Total: 2}, want: "False ExecutorsPending"},
		"All":        {reason: "as many as it starts with", wanted: 2, counts: ExecutorCounts{Running: 2, Total: 2}, want: "True ExecutorsRunning"},
		"More":       {reason: "dynamic allocation asked for more", wanted: 2, counts: ExecutorCounts{Running: 5, Pending: 3, Total: 8}, want: "True ExecutorsRunning"},
		"Replaced":   {reason: "the failed ones were replaced", wanted: 2, counts: ExecutorCounts{Running: 2, Failed: 3, Total: 5}, want: "True ExecutorsRunning"},
		"ScaledDown": {reason: "dynamic allocation gave some back", wanted: 2, counts: ExecutorCounts{Running: 1, Total: 2}, want: "False ExecutorsPending"},
		"Gang":       {reason: "the batch scheduler knows more", wanted: 2, counts: ExecutorCounts{Pending: 1, Total: 1}, waits: "WaitingForGang", want: "False WaitingForGang"},
		"Unasked":    {reason: "it starts with none and has asked for some since", counts: ExecutorCounts{Running: 1, Total: 1}, want: "True ExecutorsRunning"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := ran(Running)
			rec.Counts = tc.counts
			p := Plan{App: with(func(a *Application) { a.Executors = tc.wanted }), Record: rec, Driver: driver(Current, DriverRunning)}
			if tc.waits != "" {
				p.Scheduler = scheduler.Observation{Stage: scheduler.StageQueued, Reason: tc.waits}
			}
			c := condition(t, p, ConditionExecutorsReady)
			if got := fmt.Sprintf("%s %s", c.Status, c.Reason); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNotesAreShown(t *testing.T) {
	app := with(func(a *Application) { a.Notes = "spec.driver.lifecycle is ignored" })
	c := condition(t, Plan{App: app, Record: ran(Running), Driver: driver(Current, DriverRunning)}, ConditionAdmitted)
	if !strings.HasSuffix(c.Message, "; note: spec.driver.lifecycle is ignored") {
		t.Errorf("what is accepted and ignored is said where people look: %q", c.Message)
	}
}

// An edit that cannot reach the driver is a note as long as there is a driver.
func TestEditThatHoldsLaterIsShown(t *testing.T) {
	const want = "; note: the edited placement of spec.executor takes effect with the next attempt: no right to it"
	for state, shows := range map[State]bool{Submitted: true, Running: true, Suspended: false} {
		rec := ran(state)
		rec.Placement.Problem = "no right to it"
		if c := condition(t, Plan{App: testApp(), Record: rec, Driver: driver(Current, DriverRunning)}, ConditionAdmitted); strings.HasSuffix(c.Message, want) != shows {
			t.Errorf("%s: %q", state, c.Message)
		}
	}
}

// The API takes 32 KiB of a condition's message; the object must stay small.
// A warning of the scheduler's lives as long as the attempt that it let start.
func TestWarningsAreShown(t *testing.T) {
	gate := admit
	gate.Warning = strings.Repeat("too little quota; ", 100)
	p := decideQueue(Plan{Record: queued(), Admission: gate}, absent, Env{Now: now})
	if got := p.Record.Scheduling.Warning; !strings.HasPrefix(got, "too little quota") || len(got) > maxCondition {
		t.Errorf("recorded %d bytes: %q", len(got), got)
	}
	for _, state := range []State{Submitted, Running, Succeeded} {
		r := ran(state)
		r.Scheduling.Warning = "too little quota"
		if got := condition(t, Plan{Record: r, Driver: absent}, ConditionAdmitted).Message; !strings.HasSuffix(got, "; warning: too little quota") {
			t.Errorf("%s: %q", state, got)
		}
	}
	gate.Verdict = scheduler.Wait
	if again := decideQueue(Plan{Record: p.Record, Admission: gate}, absent, Env{Now: now}); again.Record.Scheduling.Warning != "" {
		t.Errorf("%q: it may not start yet", again.Record.Scheduling.Warning)
	}
}

func TestConditionsAreBounded(t *testing.T) {
	rec := ran(Failed)
	rec.Cause.Message = strings.Repeat("é", 4096)
	for _, c := range Settle(Plan{Record: rec, Driver: absent}, nil, Env{Now: later}).Conditions {
		if len(c.Message) > maxCondition || strings.ContainsRune(c.Message, '\uFFFD') {
			t.Errorf("%s has %d bytes", c.Type, len(c.Message))
		}
	}
}

// What comes next is said, and the same before and after the times were stored in whole seconds.
func TestBackoffIsShown(t *testing.T) {
	app := with(restarting(onFailure))
	rec := ran(Failing)
	rec.TerminatedAt = now.Add(987 * time.Millisecond)
	before := condition(t, Plan{App: app, Record: rec, Driver: failedDriver(1)}, ConditionReconciling)
	rec.TerminatedAt = now
	after := condition(t, Plan{App: app, Record: rec, Driver: failedDriver(1)}, ConditionReconciling)
	if before != after || after.Reason != ReasonBackoff || after.Message != "the next attempt starts no earlier than 2026-11-21T09:00:20Z" {
		t.Errorf("%+v, and stored %+v", before, after)
	}
	for name, p := range map[string]Plan{
		"always":  {App: with(restarting(always)), Record: ran(Succeeding)},
		"refused": {App: app, Record: refusedFirst()},
	} {
		if c := condition(t, p, ConditionReconciling); c.Reason != ReasonBackoff {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := condition(t, Plan{App: testApp(), Record: ran(Failing)}, ConditionReconciling); c.Reason == ReasonBackoff {
		t.Errorf("nothing follows, and it says %q", c.Message)
	}
}

func TestSuspendedHasNoDriver(t *testing.T) {
	p := Plan{App: with(isSuspended), Record: ran(Suspended), Driver: absent}
	for _, which := range []ConditionType{ConditionAdmitted, ConditionSubmitted, ConditionDriverReady} {
		if c := condition(t, p, which); c.Status != False {
			t.Errorf("%s is %s while there is no driver", which, c.Status)
		}
	}
}

// A pod that goes its way is no news; one that does not is explained, and looked at less often.
func TestFormerDriverIsExplainedWhenItIsStuck(t *testing.T) {
	rec, app := again(Rerunning), testApp()
	app.SubmissionID = "s-2"
	d := driver(Previous, DriverFailed)
	d.SubmissionID = "s-1"
	for _, normal := range []Driver{d, deleting(d)} {
		if got := Decide(app, rec, Observation{Driver: normal}, scheduler.Admission{}, Env{Now: later}); got.Record.Cause != rec.Cause {
			t.Errorf("a status write without news: %+v", got.Record.Cause)
		}
	}
	got := Decide(app, rec, Observation{Driver: orphaned(d)}, scheduler.Admission{}, Env{Now: later})
	if got.Record.Cause.Reason != ReasonPreviousDriver || got.Requeue != heartbeat || len(got.Actions) != 0 {
		t.Errorf("nobody is told what to do: %+v, next look in %s", got.Record.Cause, got.Requeue)
	}
	if c := condition(t, got, ConditionStalled); c.Status != True {
		t.Errorf("a user has to act, and Stalled is %s", c.Status)
	}
}

// A suspension whose driver cannot be stopped says so.
func TestSuspensionOfALostDriverIsExplained(t *testing.T) {
	got := Decide(with(isSuspended), ran(Suspending), Observation{Driver: orphaned(driver(Current, DriverRunning))}, scheduler.Admission{}, Env{Now: later})
	if got.Record.State != Suspending || got.Record.Cause.Reason != ReasonNodeLost || got.Requeue != heartbeat {
		t.Errorf("%s: %+v, next look in %s", got.Record.State, got.Record.Cause, got.Requeue)
	}
	if c := condition(t, got, ConditionStalled); c.Status != True || c.Reason != ReasonNodeLost {
		t.Errorf("a user has to act, and Stalled is %s (%s)", c.Status, c.Reason)
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
			t.Errorf("a user has to act, and Stalled is %s", c.Status)
		}
	}
}
