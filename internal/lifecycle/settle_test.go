// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const words = `pods "pi-driver" is forbidden: the API server's words`

func TestSettleSubmit(t *testing.T) {
	fresh := Record{Attempt: 1, Generation: 3}
	waits := Record{Attempt: 1, Generation: 3, State: Queued, Cause: causeOf(hold), DriverName: "pi-driver"}
	refusedBefore := waits
	refusedBefore.Cause, refusedBefore.SubmittedAt = Cause{ReasonAdmissionRefused, "no"}, later.Add(-policyGrace)
	because := func(r Reason) Record { w := waits; w.Cause = Cause{r, words}; return w }
	first := []Attempt{{Number: 1, SubmissionID: "s-1"}}
	done := Record{
		State: Submitted, Attempt: 1, Generation: 3, Submissions: 1, Executions: 1, SubmittedAt: later,
		SparkAppID: "spark-1", SubmissionID: "s-1", DriverName: "pi-driver", Attempts: first,
		Scheduling: Scheduling{AdmittedAt: later},
	}
	refused := func(r Reason) Record {
		return Record{
			State: SubmissionFailed, Attempt: 1, Generation: 3, Submissions: 1, Cause: Cause{r, words}, SubmittedAt: later, TerminatedAt: later,
			SubmissionID: "s-1", DriverName: "pi-driver",
		}
	}
	graceful := because(ReasonAdmissionRefused)
	graceful.SubmittedAt = later
	cases := map[string]struct {
		reason  string
		record  Record
		class   Class
		want    Record
		requeue time.Duration
		refused bool
		err     bool
	}{
		"Done":              {reason: "a created driver is counted once and has its time", record: fresh, class: ClassDone, requeue: heartbeat, want: done},
		"DoneAfterWaiting":  {reason: "what it waited for is no cause any more", record: waits, class: ClassDone, requeue: heartbeat, want: done},
		"Quota":             {reason: "no room is a wait with the API server's words", record: fresh, class: ClassQuota, requeue: conflictRetry, refused: true, want: because(ReasonQuotaExceeded)},
		"QuotaAgain":        {reason: "the latest cause is the one shown", record: waits, class: ClassQuota, requeue: conflictRetry, refused: true, want: because(ReasonQuotaExceeded)},
		"NameTaken":         {reason: "pods of other owners are not watched: a timer", record: fresh, class: ClassNameTaken, requeue: conflictRetry, refused: true, want: because(ReasonNameConflict)},
		"Leaving":           {reason: "case 018: it is gone soon", record: fresh, class: ClassLeaving, requeue: conflictRetry, refused: true, want: because(ReasonPreviousApplication)},
		"Terminating":       {reason: "the namespace's end comes for the application too", record: fresh, class: ClassTerminating, requeue: operatorRetry, refused: true, want: because(ReasonNamespaceTerminating)},
		"OperatorForbidden": {reason: "an admin can change the operator's rights", record: fresh, class: ClassOperatorForbidden, requeue: operatorRetry, refused: true, want: because(ReasonOperatorForbidden)},
		"Policy":            {reason: "what the policy misses may come: it waits from now on", record: fresh, class: ClassPolicy, requeue: policyRetry, refused: true, want: graceful},
		"PolicyForGood":     {reason: "it did not come", record: refusedBefore, class: ClassPolicy, requeue: unknownRetry, want: refused(ReasonAdmissionRefused)},
		"Refused":           {reason: "a refusal counts as a submission, not as an execution", record: fresh, class: ClassRefused, requeue: unknownRetry, want: refused(ReasonSubmissionRefused)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testApp()
			app.Generation = 3
			p := Plan{App: app, Before: tc.record, Record: tc.record, Driver: absent, Admission: admit, Actions: []Action{{Kind: Submit}}, Requeue: heartbeat}
			o := Settle(p, []Result{{Kind: Submit, Class: tc.class, Message: words}}, Env{Now: later})
			if diff := cmp.Diff(tc.want, o.Record); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", tc.reason, diff)
			}
			if o.Requeue != tc.requeue || o.Refused != tc.refused {
				t.Errorf("%s: requeue after %s, want %s; refused %v, want %v", tc.reason, o.Requeue, tc.requeue, o.Refused, tc.refused)
			}
			if (o.Err != nil) != tc.err {
				t.Errorf("%s: error %v, want one: %v", tc.reason, o.Err, tc.err)
			}
		})
	}
}

// A policy's refusal is a failed submission, on the user's interval. Only if nothing would be tried again is there a short grace
// for what is applied together.
func TestRefusalByPolicy(t *testing.T) {
	since := func(ago time.Duration) Record {
		r := queued()
		r.Cause, r.SubmittedAt = Cause{ReasonAdmissionRefused, "no"}, later.Add(-ago)
		return r
	}
	spent := since(time.Second)
	spent.Submissions, spent.Retries.Used = 2, map[FailureClass]int32{Submission: 2}
	cases := map[string]struct {
		reason  string
		restart Restart
		record  Record
		want    State
		next    time.Duration
	}{
		"Budget":     {reason: "the user's own interval decides", restart: onFailure, record: queued(), want: SubmissionFailed, next: 20 * time.Second},
		"Always":     {reason: "there is always another try", restart: always, record: queued(), want: SubmissionFailed, next: 20 * time.Second},
		"UsedUp":     {reason: "the last try of a budget has no grace", restart: onFailure, record: spent, want: SubmissionFailed},
		"Never":      {reason: "what was applied together may arrive a little later", restart: never, record: queued(), want: Queued, next: policyRetry},
		"NeverAgain": {reason: "within the grace", restart: never, record: since(policyGrace - time.Second), want: Queued, next: policyRetry},
		"NeverLate":  {reason: "after the grace it has failed", restart: never, record: since(policyGrace), want: SubmissionFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, env := with(restarting(tc.restart)), Env{Now: later}
			p := Plan{App: app, Before: tc.record, Record: tc.record, Driver: absent, Admission: admit, Actions: submit}
			o := Settle(p, []Result{{Kind: Submit, Class: ClassPolicy, Message: words}}, env)
			if o.Record.State != tc.want || o.Record.Cause.Reason != ReasonAdmissionRefused {
				t.Fatalf("%s: %s (%s), want %s", tc.reason, o.Record.State, o.Record.Cause.Reason, tc.want)
			}
			next := o.Requeue
			if tc.want == SubmissionFailed {
				if next = 0; tc.next > 0 {
					next = Decide(app, o.Record, Observation{Driver: absent}, admit, env).Requeue
				}
			}
			if next != tc.next {
				t.Errorf("%s: the next try is after %s, want %s", tc.reason, next, tc.next)
			}
		})
	}
}

// Passing trouble undoes the plan: whatever it wanted to record did not happen.
func TestSettleTransient(t *testing.T) {
	waits := queued()
	p := Decide(testApp(), waits, Observation{Driver: absent}, admit, Env{Now: later})
	o := Settle(p, []Result{{Kind: Submit, Class: ClassTransient, Message: words}}, Env{Now: later})
	if diff := cmp.Diff(waits, o.Record); diff != "" || o.Err == nil {
		t.Errorf("what it waited for stays, and the reconcile is repeated: error %v (-want +got):\n%s", o.Err, diff)
	}
}

// A refused driver is tried again after a while, and its deadline is not slept through meanwhile.
func TestRefusalDoesNotOutlastTheDeadline(t *testing.T) {
	rec := queued()
	rec.QueuedAt = later.Add(-testApp().Policies.Deadlines.Queued + 3*time.Second)
	rec.Scheduling.HeldAttempt, rec.Scheduling.HeldBy = 1, "s"
	for _, kind := range []ActionKind{Submit, Schedule} {
		for _, class := range []Class{ClassQuota, ClassOperatorForbidden, ClassNameTaken, ClassTerminating} {
			p := Plan{App: testApp(), Before: rec, Record: rec, Driver: absent, Admission: admit, Actions: []Action{{Kind: kind}}}
			o := Settle(p, []Result{{Kind: kind, Class: class, Message: words}}, Env{Now: later})
			if o.Requeue != 3*time.Second || !o.Refused || o.Record.State != Queued {
				t.Errorf("%s, %s: %s, looked at again after %s, want 3s", kind, class, o.Record.State, o.Requeue)
			}
		}
	}
}

func TestSettleNameTakenByPod(t *testing.T) {
	p := Plan{Record: Record{Attempt: 1}, Driver: absent, Admission: admit, Actions: []Action{{Kind: Submit}}}
	o := Settle(p, []Result{{Kind: Submit, Class: ClassNameTaken, Message: words}}, Env{Now: later})
	if o.Record.State != Queued || o.Record.Cause.Reason != ReasonNameConflict || o.Requeue != conflictRetry {
		t.Errorf("a name that is taken is a wait with a timer: pods of other owners are not watched: %+v, requeue %s", o.Record, o.Requeue)
	}
	if !strings.Contains(o.Record.Cause.Message, "pi-driver") {
		t.Errorf("the sentence names the pod: %q", o.Record.Cause.Message)
	}
}

// Settling is a function of the plan: the same creation settled again, after a status write that was lost, counts
// nothing twice.
func TestSettleRepeatedCountsOnce(t *testing.T) {
	p := Decide(testApp(), again(Rerunning), Observation{Driver: absent}, admit, Env{Now: later})
	results := []Result{{Kind: DeleteResources, Class: ClassDone}, {Kind: Submit, Class: ClassDone}}
	once := Settle(p, results, Env{Now: now})
	twice := Settle(p, results, Env{Now: now})
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("a repeated settlement changed the record (-once +twice):\n%s", diff)
	}
}

func TestSettleWithoutActions(t *testing.T) {
	rec := ran(Running)
	rec.Executors = map[string]ExecutorState{"e-1": ExecutorRunning}
	o := Settle(Plan{Record: rec, Driver: driver(Current, DriverRunning), Requeue: heartbeat}, nil, Env{Now: later})
	if diff := cmp.Diff(rec, o.Record); diff != "" {
		t.Errorf("nothing done, yet the record changed (-want +got):\n%s", diff)
	}
	if o.Requeue != heartbeat || o.Err != nil {
		t.Errorf("requeue %s, error %v; want the plan's timer and no error", o.Requeue, o.Err)
	}
}

func TestSettleDeletion(t *testing.T) {
	p := Decide(with(isDeleted), ran(Running), Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later})
	done := Settle(p, []Result{{Kind: DeleteDriver, Class: ClassDone}}, Env{Now: later})
	if done.Record.State != Running || done.Err != nil {
		t.Errorf("a deletion is no outcome: state %s, error %v", done.Record.State, done.Err)
	}
	trouble := Settle(p, []Result{{Kind: DeleteDriver, Class: ClassTransient, Message: "etcd leader changed"}}, Env{Now: later})
	var transient *ActionError
	if !errors.As(trouble.Err, &transient) || transient.Action != DeleteDriver {
		t.Fatalf("a deletion that met trouble is repeated: error %v", trouble.Err)
	}
	if got := trouble.Err.Error(); got != "DeleteDriver: etcd leader changed" {
		t.Errorf("the error names the action and the API server's words: %q", got)
	}
}

// The name is that of the driver there is, and before there is one, of that which will be: the spec may say another one
// by now.
func TestSettleDriverName(t *testing.T) {
	renamed := with(func(a *Application) { a.DriverName = "new-driver" })
	cases := map[string]struct {
		reason  string
		plan    Plan
		results []Result
		want    string
	}{
		"BeforeTheFirst": {reason: "what it will be", plan: Plan{App: renamed, Record: Record{State: Queued, Attempt: 1}, Driver: absent}, want: "new-driver"},
		"Kept":           {reason: "what it is", plan: Plan{App: renamed, Record: ran(Running), Driver: driver(Current, DriverRunning)}, want: "pi-driver"},
		"Created":        {reason: "what it is now", plan: Plan{App: renamed, Record: again(Rerunning), Driver: absent, Admission: admit, Actions: submit}, results: []Result{{Kind: Submit, Class: ClassDone}}, want: "new-driver"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Settle(tc.plan, tc.results, Env{Now: later}).Record.DriverName; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// The end is when it was seen, once: concluding later does not move it. A driver that was recognized after a crash was
// submitted when it was created.
func TestTimesOfARun(t *testing.T) {
	at := func(minutes int) Env { return Env{Now: now.Add(time.Duration(minutes) * time.Minute)} }
	rec := Settle(Decide(testApp(), Record{}, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, at(1)), nil, at(1)).Record
	if !rec.SubmittedAt.Equal(now) || !rec.TerminatedAt.IsZero() || rec.SparkAppID != "spark-1" {
		t.Errorf("recognized: %+v, want it submitted when the pod was created", rec)
	}
	for name, d := range map[string]Driver{"success": driver(Current, DriverSucceeded), "failure": failedDriver(1), "loss": absent} {
		ending := Decide(testApp(), rec, Observation{Driver: d}, scheduler.Admission{}, at(2)).Record
		concluded := Decide(testApp(), ending, Observation{Driver: d}, scheduler.Admission{}, at(3)).Record
		if !ending.TerminatedAt.Equal(at(2).Now) || !concluded.TerminatedAt.Equal(at(2).Now) || !concluded.State.Final() {
			t.Errorf("%s: ended at %s, concluded as %s with %s", name, ending.TerminatedAt, concluded.State, concluded.TerminatedAt)
		}
	}
}

// An attempt's reservation is released if it was admitted and does not start.
func TestReservationOfAnAdmission(t *testing.T) {
	result := func(kind ActionKind, class Class) Result {
		return Result{Kind: kind, Class: class}
	}
	cases := map[string]struct {
		reason       string
		held, stored int32
		results      []Result
		want         bool
	}{
		"Created":  {reason: "the driver is there", results: []Result{result(Schedule, ClassDone), result(Submit, ClassDone)}, want: true},
		"Unknown":  {reason: "nobody knows", results: []Result{result(Submit, ClassTransient)}, want: true},
		"Refused":  {reason: "it is not", results: []Result{result(Schedule, ClassDone), result(Submit, ClassQuota)}},
		"NoGroup":  {reason: "without its scheduler's objects it does not start", results: []Result{result(Schedule, ClassOperatorForbidden)}},
		"Waits":    {reason: "a plan without a driver waits", held: 1, stored: 1, results: []Result{result(Schedule, ClassDone)}},
		"Nothing":  {reason: "so does one without actions"},
		"Storing":  {reason: "it is stored that there will be objects, and the next step makes them", stored: 1, want: true},
		"Released": {reason: "what an earlier attempt had goes first", held: 1, results: []Result{result(Release, ClassDone)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan := Plan{Record: Record{State: Queued}, Admission: admit}
			plan.Before.Scheduling.HeldAttempt, plan.Record.Scheduling.HeldAttempt = tc.held, tc.stored
			want := ReservationReleased
			if tc.want {
				want = ReservationKept
			}
			if got := Settle(plan, tc.results, Env{Now: later}).Reservation; got != want {
				t.Errorf("%s: %q, want %q", tc.reason, got, want)
			}
		})
	}
}

func TestReservation(t *testing.T) {
	cases := map[string]struct {
		reason string
		plan   Plan
		want   Reservation
	}{
		"Waits":     {"it keeps its place in the line", Plan{Record: Record{State: Queued}, Admission: hold}, ReservationKept},
		"Suspended": {"it does not want to start at present", Plan{Record: Record{State: Queued}}, ReservationDropped},
		"Submitted": {"its pods are still to come", Plan{Record: Record{State: Submitted}}, ReservationKept},
		"Running":   {"executors are still to come", Plan{Record: Record{State: Running}}, ReservationKept},
		"Failing":   {"its pods are gone or go", Plan{Record: Record{State: Failing}}, ReservationDropped},
		"Over":      {"nothing is to come", Plan{Record: Record{State: Succeeded}}, ReservationDropped},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Settle(tc.plan, nil, Env{Now: later}).Reservation; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// When another owner's ConfigMap or Service has the name, the sentence names that, not a pod.
func TestSettleNameTakenByAnObject(t *testing.T) {
	p := Plan{Record: Record{Attempt: 1}, Driver: absent, Admission: admit, Actions: []Action{{Kind: Submit}}}
	said := "ConfigMap spark-drv-1-conf-map already exists and does not belong to this application; delete or rename it"
	o := Settle(p, []Result{{Kind: Submit, Class: ClassNameTaken, Message: said}}, Env{Now: later})
	if got := o.Record.Cause.Message; !strings.Contains(got, "ConfigMap spark-drv-1-conf-map") {
		t.Errorf("the sentence tells people to delete what does not exist: %q", got)
	}
}

// A driver deletion that is refused is reported and repeated.
func TestSettleRefusedDeletionIsRepeated(t *testing.T) {
	p := Decide(with(isDeleted), ran(Running), Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later})
	for _, class := range []Class{ClassOperatorForbidden, ClassRefused, ClassTerminating} {
		o := Settle(p, []Result{{Kind: DeleteDriver, Class: class, Message: "no"}}, Env{Now: later})
		if o.Err == nil && o.Requeue == 0 {
			t.Errorf("%s: the driver lives on, and nothing will try again or say so", class)
		}
	}
}

// What a policy keeps of an attempt is told and deleted later; the driver that follows is not held up.
func TestSettleKeptResources(t *testing.T) {
	p := Plan{App: testApp(), Before: ran(Failed), Record: ran(Failed), Driver: absent, Actions: []Action{{Kind: DeleteResources, Attempt: 1}}}
	p.Record.Released.Resources = true
	for _, class := range []Class{ClassPolicy, ClassRefused} {
		o := Settle(p, []Result{{Kind: DeleteResources, Class: class, Message: "no"}}, Env{Now: later})
		var kept *ActionError
		if !errors.As(o.Err, &kept) || *kept != (ActionError{Action: DeleteResources, Message: "no"}) || o.Record.Released.Resources {
			t.Errorf("%s: error %v, released %t", class, o.Err, o.Record.Released.Resources)
		}
	}
}

// An application that was deleted is gone; one whose deletion failed, or that did anything else, is not.
func TestSettleGone(t *testing.T) {
	p := Plan{App: testApp(), Before: ran(Failed), Record: ran(Failed), Driver: absent}
	for result, want := range map[Result]bool{
		{Kind: DeleteApplication, Class: ClassDone}: true, {Kind: DeleteApplication, Class: ClassTransient}: false, {Kind: DeleteDriver, Class: ClassDone}: false,
	} {
		if got := Settle(p, []Result{result}, Env{Now: later}).Gone; got != want {
			t.Errorf("%s %s: %t", result.Kind, result.Class, got)
		}
	}
	if Settle(p, nil, Env{Now: later}).Gone {
		t.Error("nothing was done, and it is gone")
	}
}

// A step that waits for nothing is followed by another at once; one that has acted, or waits, is not.
func TestAgain(t *testing.T) {
	edited := testApp()
	edited.SpecHash = "spec-2"
	suspended := testApp()
	suspended.Suspend = true
	always := testApp()
	always.Policies.Restart.Type = Always
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		driver Driver
		class  Class
		want   bool
	}{
		"RanUnseen":     {reason: "RUNNING is shown, and then the end", app: testApp(), rec: ran(Submitted), driver: driver(Current, DriverSucceeded), want: true},
		"Succeeds":      {reason: "it is over", app: testApp(), rec: ran(Running), driver: driver(Current, DriverSucceeded)},
		"SucceedsAgain": {reason: "another attempt follows", app: always, rec: ran(Running), driver: driver(Current, DriverSucceeded), want: true},
		"Fails":         {reason: "FAILED or another attempt follows", app: testApp(), rec: ran(Running), driver: failedDriver(1), want: true},
		"Edited":        {reason: "another attempt follows", app: edited, rec: ran(Running), driver: driver(Current, DriverRunning), want: true},
		"Suspended":     {reason: "the driver is stopped next", app: suspended, rec: ran(Running), driver: driver(Current, DriverRunning), want: true},
		"Submitted":     {reason: "the driver has to start", app: testApp(), driver: absent, class: ClassDone},
		"Runs":          {reason: "the driver has to end", app: testApp(), rec: ran(Submitted), driver: driver(Current, DriverRunning)},
		"NothingNew":    {reason: "nothing was stored", app: testApp(), rec: ran(Running), driver: driver(Current, DriverRunning)},
		"Concludes":     {reason: "it is over", app: testApp(), rec: ran(Succeeding), driver: driver(Current, DriverSucceeded)},
		"StopsItsFirst": {reason: "the old driver has to go first", app: testApp(), rec: again(Rerunning), driver: driver(Previous, DriverRunning), class: ClassDone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := Env{Now: now.Add(time.Minute)}
			p := Decide(tc.app, tc.rec, Observation{Driver: tc.driver}, scheduler.Admission{Verdict: scheduler.Admit}, env)
			var results []Result
			for _, a := range p.Actions {
				results = append(results, Result{Kind: a.Kind, Class: tc.class})
			}
			if got := Settle(p, results, env).Again; got != tc.want {
				t.Errorf("%s: %t, want %t (state %q)", tc.reason, got, tc.want, p.Record.State)
			}
		})
	}
}
