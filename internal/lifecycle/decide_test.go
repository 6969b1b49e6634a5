// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var (
	now   = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	later = now.Add(time.Minute)

	admit  = scheduler.Admission{Verdict: scheduler.Admit, Reason: ReasonAdmitted, Message: "nothing holds the application back"}
	hold   = scheduler.Admission{Verdict: scheduler.Wait, Reason: "SchedulerUnknown", Message: "no such scheduler", RetryAfter: time.Minute}
	reject = scheduler.Admission{Verdict: scheduler.Reject, Reason: ReasonInvalidSpec, Message: `spec.driver.memory: "2gb": not a heap size`}

	never     = Restart{Type: Never}
	twice     = RetryPolicy{Retries: 2, Initial: 20 * time.Second, Max: time.Hour, Linear: true}
	onFailure = Restart{Type: OnFailure, Failures: twice, Submissions: twice}
	always    = Restart{Type: Always, Failures: twice, Submissions: twice}
)

// testApp is an application that nothing is special about.
func testApp() Application {
	return Application{
		Fields: family.Fields,
		UID:    "app", Generation: 1, SpecHash: "spec-1", SubmissionID: "s-1", SparkAppID: "spark-1", DriverName: "pi-driver",
		Policies: Policies{Restart: never, Deadlines: Deadlines{Queued: 24 * time.Hour, DriverScheduled: 24 * time.Hour, DriverReady: 30 * time.Minute}},
	}
}

// with returns testApp, changed.
func with(changes ...func(*Application)) Application {
	app := testApp()
	for _, change := range changes {
		change(&app)
	}
	return app
}

func restarting(r Restart) func(*Application) {
	return func(a *Application) { a.Policies.Restart = r }
}
func isSuspended(a *Application) { a.Suspend = true }
func resumed(a *Application)     { a.Suspend = false; a.Generation++ }
func isDeleted(a *Application)   { a.Deleting = true }
func edited(a *Application)      { a.Generation++; a.SpecHash += "'" }

// predecessor is the driver of the application that had the name before.
func predecessor(change func(*Driver)) Driver {
	d := driver(NotOwned, DriverRunning)
	d.Predecessor = true
	change(&d)
	return d
}

func queuedSince(ago time.Duration) Record {
	r := queued()
	r.QueuedAt = later.Add(ago)
	return r
}

func driver(o Ownership, p DriverPhase) Driver {
	d := Driver{Presence: Present, Ownership: o, Name: "pi-driver", UID: "uid-1", SubmissionID: "s-1", SparkAppID: "spark-1", SpecHash: "spec-1", CreatedAt: now, Phase: p}
	switch o {
	case Previous:
		d.SubmissionID, d.UID = "s-0", "uid-0"
	case NotOwned:
		d.SubmissionID, d.SparkAppID, d.SpecHash, d.UID = "", "", "", "uid-foreign"
	case Current:
	}
	if p != DriverPending {
		d.ScheduledAt, d.StartedAt = now, now
	}
	return d
}

func failedDriver(code int32) Driver {
	d := driver(Current, DriverFailed)
	d.Exit = Exit{Code: code, Reason: "Error"}
	return d
}

// restarted is a driver whose container the kubelet started again.
func restarted(d Driver, e Exit) Driver {
	d.Restarted, d.Exit = true, e
	return d
}

func startedAt(d Driver, at time.Time) Driver {
	d.StartedAt = at
	return d
}

// foreignDriver is a driver of ours that no attempt records.
func foreignDriver() Driver {
	d := driver(Previous, DriverRunning)
	d.SubmissionID = "s-of-another-operator"
	return d
}

func deleting(d Driver) Driver {
	d.Deleting, d.GoneAt = true, later.Add(30*time.Second)
	return d
}

// orphaned is deleting, and should have gone long ago.
func orphaned(d Driver) Driver {
	d.Deleting, d.GoneAt = true, later.Add(-time.Hour)
	return d
}

var absent = Driver{Presence: Absent, Name: "pi-driver"}

func unknownDriver() Driver { return Driver{Presence: Unknown, Name: "pi-driver"} }

// ran is the record of a first attempt that has got its driver.
func ran(s State) Record {
	r := Record{
		State: s, Generation: 1, SpecHash: "spec-1", Attempt: 1, Submissions: 1, Executions: 1, SubmittedAt: now,
		SparkAppID: "spark-1", SubmissionID: "s-1", DriverName: "pi-driver",
		Attempts: []Attempt{{Number: 1, SubmissionID: "s-1", StartedAt: now}},
	}
	switch s {
	case Succeeding, Succeeded:
		r.end("", Cause{ReasonDriverSucceeded, "the driver finished with exit code 0"})
	case Failing, Failed:
		r.Cause = Cause{ReasonDriverFailed, "driver container failed with ExitCode: 1, Reason: Error"}
		r.end(ApplicationExit, r.Cause)
	case Suspended:
		r.Cause = Cause{ReasonSuspended, "spec.suspend is true: there is no driver until it is false"}
		r.end("", r.Cause)
	case New, Queued, Submitted, Running, Rerunning, Invalidating, Suspending, Resuming, SubmissionFailed:
	}
	return r
}

func (r *Record) end(class FailureClass, c Cause) {
	a := r.Current()
	a.EndedAt, a.Class, a.Cause, r.TerminatedAt = now, class, c, now
}

// again is the record of a second attempt that has no driver yet.
func again(s State) Record {
	r := nextAttempt(ran(Failing), s, Cause{ReasonRerun, "the application runs again"})
	if s == SubmissionFailed {
		r.Cause, r.TerminatedAt, r.SubmittedAt = Cause{ReasonSubmissionRefused, "no"}, now, now
		r.Submissions++
	}
	return r
}

// refusedFirst is the record of an application whose first driver was refused.
func refusedFirst() Record {
	return Record{
		State: SubmissionFailed, Generation: 1, SpecHash: "spec-1", Attempt: 1, Submissions: 1, SubmittedAt: now, TerminatedAt: now,
		DriverName: "pi-driver", Cause: Cause{ReasonSubmissionRefused, "service account not found"},
	}
}

func queued() Record {
	return Record{State: Queued, Generation: 1, SpecHash: "spec-1", Attempt: 1, QueuedAt: now, DriverName: "pi-driver", Cause: causeOf(hold)}
}

func rejected() Record {
	return Record{State: Failed, Generation: 1, SpecHash: "spec-1", Attempt: 1, TerminatedAt: now, DriverName: "pi-driver", Cause: causeOf(reject)}
}

var (
	submit = []Action{{Kind: Submit}}
	// resubmit first takes away what the attempt before has left.
	resubmit = []Action{{Kind: DeleteResources, Attempt: 1}, {Kind: Submit}}
	stop     = []Action{{Kind: DeleteDriver, UID: "uid-1"}}
	stopOld  = []Action{{Kind: DeleteDriver, UID: "uid-0"}}
)

func TestDecide(t *testing.T) {
	cases := map[string]struct {
		reason  string
		app     Application
		rec     Record
		driver  Driver
		gate    scheduler.Admission
		state   State
		actions []Action
		cause   Reason
	}{
		"Start":             {reason: "a new application that is admitted is submitted", driver: absent, gate: admit, state: New, actions: submit},
		"StartWaits":        {reason: "a scheduler that is not there holds it back", driver: absent, gate: hold, state: Queued, cause: "SchedulerUnknown"},
		"StartRejected":     {reason: "a spec that cannot run fails before anything is created", driver: absent, gate: reject, state: Failed, cause: ReasonInvalidSpec},
		"StartSuspended":    {reason: "suspend holds a new application back, and tools still read SUBMITTED", app: with(isSuspended), driver: absent, state: Queued, cause: ReasonSuspended},
		"StartAdopts":       {reason: "a driver created just before a crash is recognized, not doubled", driver: driver(Current, DriverRunning), state: Running},
		"StartAdoptsOther":  {reason: "so is the driver of a previous operator", driver: driver(Previous, DriverRunning), state: Running},
		"StartForeign":      {reason: "a pod of another owner is never changed", rec: queued(), driver: driver(NotOwned, DriverRunning), gate: admit, state: Queued, cause: ReasonNameConflict},
		"StartSoon":         {reason: "case 018: it goes with the application that had the name", rec: queuedSince(0), driver: predecessor(func(*Driver) {}), gate: admit, state: Queued, cause: ReasonPreviousApplication},
		"StartSooner":       {reason: "case 018: the collector has begun", rec: queuedSince(-time.Hour), driver: predecessor(func(d *Driver) { d.Deleting, d.GoneAt = true, later.Add(time.Minute) }), gate: admit, state: Queued, cause: ReasonPreviousApplication},
		"StartOrphaned":     {reason: "case 018: the collector has left it behind", rec: queuedSince(-orphanTime), driver: predecessor(func(*Driver) {}), gate: admit, state: Queued, actions: []Action{{Kind: DeleteDriver, UID: "uid-foreign"}}, cause: ReasonPreviousApplication},
		"StartStuck":        {reason: "case 018: its node is gone", rec: queued(), driver: predecessor(func(d *Driver) { d.Deleting, d.GoneAt = true, now.Add(-time.Hour) }), gate: admit, state: Queued, cause: ReasonPreviousDriver},
		"StartLeaving":      {reason: "whoever deletes it", rec: queued(), driver: predecessor(func(d *Driver) { d.Predecessor, d.Deleting, d.GoneAt = false, true, later.Add(time.Minute) }), gate: admit, state: Queued, cause: ReasonPreviousApplication},
		"StartDoubt":        {reason: "nothing is created while the driver is unknown", rec: queued(), driver: unknownDriver(), gate: admit, state: Queued},
		"QueuedGoes":        {reason: "a queued application goes on when it is admitted", rec: queued(), driver: absent, gate: admit, state: Queued, actions: submit},
		"QueuedSuspended":   {reason: "suspension before the first run is no state of its own", app: with(isSuspended), rec: queued(), driver: absent, state: Queued, cause: ReasonSuspended},
		"Pending":           {reason: "a pending driver is no progress", rec: ran(Submitted), driver: driver(Current, DriverPending), state: Submitted},
		"Runs":              {reason: "the container runs", rec: ran(Submitted), driver: driver(Current, DriverRunning), state: Running},
		"FallsBack":         {reason: "a pod may be pending again", rec: ran(Running), driver: driver(Current, DriverPending), state: Submitted},
		"Ends":              {reason: "exit code 0", rec: ran(Running), driver: driver(Current, DriverSucceeded), state: Succeeded},
		"EndsFast":          {reason: "a driver that ended before it was seen running is shown to have run first", rec: ran(Submitted), driver: driver(Current, DriverSucceeded), state: Running},
		"FailsFast":         {reason: "so is one that failed", rec: ran(Submitted), driver: failedDriver(1), state: Running},
		"FailsToStart":      {reason: "a driver that never ran is not", rec: ran(Submitted), driver: startedAt(failedDriver(1), time.Time{}), state: Failing, cause: ReasonDriverFailed},
		"StartError":        {reason: "a container that could not be started has the first time of all", rec: ran(Submitted), driver: startedAt(failedDriver(128), time.Unix(0, 0)), state: Failing, cause: ReasonDriverFailed},
		"Fails":             {reason: "exit code 1", rec: ran(Running), driver: failedDriver(1), state: Failing, cause: ReasonDriverFailed},
		"Restarted":         {reason: "a program runs once in an attempt", rec: ran(Running), driver: restarted(driver(Current, DriverRunning), Exit{Code: 1, Reason: "Error"}), state: Failing, cause: ReasonDriverRestarted},
		"RestartedWell":     {reason: "whatever its first end was", rec: ran(Running), driver: restarted(driver(Current, DriverRunning), Exit{Reason: "Completed"}), state: Failing, cause: ReasonDriverRestarted},
		"RestartWaits":      {reason: "in its back-off it would stay for ever", rec: ran(Running), driver: restarted(driver(Current, DriverPending), Exit{Code: 1}), state: Failing, cause: ReasonDriverRestarted},
		"RestartedFast":     {reason: "before it was seen running: it is shown to have run", rec: ran(Submitted), driver: restarted(driver(Current, DriverPending), Exit{Code: 1}), state: Running},
		"RestartedUnseen":   {reason: "so is one that was created just before a crash", driver: restarted(driver(Current, DriverRunning), Exit{Code: 1}), state: Running},
		"RestartedStops":    {reason: "and is stopped before anything else", rec: ran(Failing), driver: restarted(driver(Current, DriverRunning), Exit{Code: 1}), state: Failing, actions: stop},
		"RestartedAtEnd":    {reason: "its end was recorded before the kubelet started it again", rec: ran(Succeeded), driver: restarted(driver(Current, DriverRunning), Exit{}), state: Succeeded, actions: stop},
		"Lost":              {reason: "absence is seen by a live read", rec: ran(Running), driver: absent, state: Failing, cause: ReasonDriverNotFound},
		"LostToForeign":     {reason: "a pod of another owner is not our driver", rec: ran(Running), driver: driver(NotOwned, DriverRunning), state: Failing, cause: ReasonDriverNotFound},
		"LostToFormer":      {reason: "nor is that of another attempt", rec: ran(Running), driver: driver(Previous, DriverRunning), state: Failing, cause: ReasonDriverNotFound},
		"NodeLost":          {reason: "a node that does not answer is a failure of the cluster", rec: ran(Running), driver: orphaned(driver(Current, DriverRunning)), state: Failing, cause: ReasonNodeLost},
		"Doubt":             {reason: "unknown is not lost", rec: ran(Running), driver: unknownDriver(), state: Running},
		"Concludes":         {reason: "nothing runs it again", rec: ran(Succeeding), driver: driver(Current, DriverSucceeded), state: Succeeded},
		"ConcludesFailure":  {reason: "nothing runs it again", rec: ran(Failing), driver: failedDriver(1), state: Failed},
		"GivenUp":           {reason: "a driver that is given up is stopped before anything else", rec: ran(Failing), driver: driver(Current, DriverRunning), state: Failing, actions: stop},
		"GivenUpStops":      {reason: "once", rec: ran(Failing), driver: deleting(driver(Current, DriverRunning)), state: Failing},
		"RetryWaits":        {reason: "the next attempt has its time", app: with(restarting(Restart{Type: OnFailure, Failures: RetryPolicy{Retries: 1, Initial: time.Hour, Max: time.Hour}})), rec: ran(Failing), driver: failedDriver(1), state: Failing},
		"Retry":             {reason: "the next attempt is stored before it acts", app: with(restarting(onFailure)), rec: ran(Failing), driver: failedDriver(1), state: Rerunning, cause: ReasonRerun},
		"RerunClears":       {reason: "the name has to be free, and only a UID says which pod is meant", rec: again(Rerunning), driver: driver(Previous, DriverFailed), state: Rerunning, actions: stopOld},
		"RerunWaits":        {reason: "a pod is deleted once", rec: again(Rerunning), driver: deleting(driver(Previous, DriverFailed)), state: Rerunning},
		"RerunStuck":        {reason: "a pod that may still run is never doubled", rec: again(Rerunning), driver: orphaned(driver(Previous, DriverRunning)), gate: admit, state: Rerunning, cause: ReasonPreviousDriver},
		"RerunGoes":         {reason: "what the attempt before has left goes first", rec: again(Rerunning), driver: absent, gate: admit, state: Rerunning, actions: resubmit},
		"RerunAdopts":       {reason: "a driver created just before a crash is recognized on every attempt", rec: again(Rerunning), driver: driver(Current, DriverRunning), state: Running},
		"RerunAdoptsOther":  {reason: "so is that of a previous operator, which is not recorded", rec: again(Rerunning), driver: foreignDriver(), state: Running},
		"AlwaysRunsAgain":   {reason: "after its interval, also after a success", app: with(restarting(always)), rec: ran(Succeeding), driver: driver(Current, DriverSucceeded), state: Rerunning, cause: ReasonRerun},
		"RefusedOnce":       {reason: "nothing runs it again", rec: refusedFirst(), driver: absent, gate: admit, state: Failed, cause: ReasonSubmissionRefused},
		"RefusedRetried":    {reason: "it is submitted again, as the same attempt", app: with(restarting(onFailure)), rec: refusedFirst(), driver: absent, gate: admit, state: SubmissionFailed, actions: submit},
		"SuccessAbsorbs":    {reason: "a lost pod does not undo a success", rec: ran(Succeeded), driver: absent, state: Succeeded},
		"SuccessSuspended":  {reason: "what has ended ignores suspension", app: with(isSuspended), rec: ran(Succeeded), driver: absent, state: Succeeded},
		"SucceedingKept":    {reason: "a finished run is not discarded by suspension", app: with(isSuspended), rec: ran(Succeeding), driver: driver(Current, DriverSucceeded), state: Succeeded},
		"EditWhileRunning":  {reason: "the change is stored before anything is done about it", app: with(edited), rec: ran(Running), driver: driver(Current, DriverRunning), state: Invalidating, cause: ReasonSpecChanged},
		"EditAfterRun":      {reason: "an application that ran runs again from its new spec", app: with(edited), rec: ran(Failed), driver: absent, state: Invalidating},
		"EditOfNothing":     {reason: "what is no part of an attempt restarts nothing", app: with(func(a *Application) { a.Generation++ }), rec: ran(Running), driver: driver(Current, DriverRunning), state: Running},
		"Invalidated":       {reason: "the next attempt is stored before it acts", app: with(), rec: ran(Invalidating), driver: driver(Current, DriverRunning), state: Rerunning, cause: ReasonSpecChanged},
		"EditBeforeRun":     {reason: "fixing a spec that never ran makes it run", app: with(edited), rec: rejected(), driver: absent, gate: admit, state: New, actions: submit},
		"EditRefused":       {reason: "so does fixing one that the API server refused", app: with(edited), rec: refusedFirst(), driver: absent, gate: admit, state: New, actions: submit},
		"SuspendRunning":    {reason: "suspension is stored before it acts", app: with(isSuspended), rec: ran(Running), driver: driver(Current, DriverRunning), state: Suspending, cause: ReasonSuspended},
		"SuspendingStops":   {reason: "the driver is stopped", app: with(isSuspended), rec: ran(Suspending), driver: driver(Current, DriverRunning), state: Suspending, actions: stop},
		"SuspendingWaits":   {reason: "once", app: with(isSuspended), rec: ran(Suspending), driver: deleting(driver(Current, DriverRunning)), state: Suspending},
		"SuspendedAtLast":   {reason: "when it is gone", app: with(isSuspended), rec: ran(Suspending), driver: absent, state: Suspended},
		"SuspendedTooLate":  {reason: "the driver was faster", app: with(isSuspended), rec: ran(Suspending), driver: driver(Current, DriverSucceeded), state: Succeeded},
		"StaysSuspended":    {reason: "as long as the user wants", app: with(isSuspended), rec: ran(Suspended), driver: absent, state: Suspended},
		"Resumes":           {reason: "the next attempt is stored before it acts", rec: ran(Suspended), driver: absent, state: Resuming, cause: ReasonResumed},
		"ResumesThenStarts": {reason: "and then acts", rec: again(Resuming), driver: absent, gate: admit, state: Resuming, actions: resubmit},
		"Deletion":          {reason: "a held deletion stops the driver", app: with(isDeleted), rec: ran(Running), driver: driver(Current, DriverRunning), state: Running, actions: stop},
		"DeletionNotOwned":  {reason: "a deletion touches nothing of another owner", app: with(isDeleted), rec: ran(Running), driver: driver(NotOwned, DriverRunning), state: Running},
		"DeletionNew":       {reason: "nothing is created for what goes away", app: with(isDeleted), driver: absent, gate: admit, state: New},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.app.UID == "" {
				tc.app = testApp()
			}
			if tc.rec.Attempt == 2 {
				tc.app.SubmissionID = "s-2"
				if tc.driver.SubmissionID == "s-0" {
					tc.driver.SubmissionID = "s-1"
				}
			}
			p := Decide(tc.app, tc.rec, Observation{Driver: tc.driver}, tc.gate, Env{Now: later})
			if diff := cmp.Diff(tc.state, p.Record.State); diff != "" {
				t.Errorf("%s: state (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.actions, p.Actions); diff != "" {
				t.Errorf("%s: actions (-want +got):\n%s", tc.reason, diff)
			}
			if tc.cause != "" && p.Record.Cause.Reason != tc.cause {
				t.Errorf("%s: cause %q, want %q", tc.reason, p.Record.Cause.Reason, tc.cause)
			}
		})
	}
}

func TestDeletionInDoubtIsLookedAtAgain(t *testing.T) {
	p := Decide(with(isDeleted), ran(Running), Observation{Driver: unknownDriver()}, scheduler.Admission{}, Env{Now: later})
	if p.Requeue == 0 {
		t.Error("the driver was not seen because the API server is in trouble, and nobody will look again")
	}
}

// decided is one reconcile whose actions all succeed.
func decided(app Application, rec Record, d Driver) (Plan, Record) {
	env := Env{Now: later}
	p := Decide(app, rec, Observation{Driver: d}, admit, env)
	results := make([]Result, 0, len(p.Actions))
	for _, a := range p.Actions {
		results = append(results, Result{Kind: a.Kind, Class: ClassDone})
	}
	return p, Settle(p, results, env).Record
}

// A second operator that believed to lead was slow to create a driver: nobody else would stop it.
func TestStrayDriverIsStopped(t *testing.T) {
	for _, s := range []State{Suspended, Succeeded, Failed} {
		app := testApp()
		app.Suspend = s == Suspended
		for _, o := range []Ownership{Current, Previous} {
			p, _ := decided(app, ran(s), driver(o, DriverRunning))
			if len(p.Actions) != 1 || p.Actions[0].Kind != DeleteDriver || p.Requeue == 0 {
				t.Errorf("%s, %s driver: actions %v, requeue %s", s, o, p.Actions, p.Requeue)
			}
		}
		p, _ := decided(app, ran(s), driver(NotOwned, DriverRunning))
		if len(p.Actions) > 0 {
			t.Errorf("%s: another owner's pod: actions %v", s, p.Actions)
		}
	}
}
