// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestDeadlines(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	limits := Deadlines{Queued: minutes(1), DriverScheduled: minutes(2), DriverReady: minutes(3), FirstExecutors: minutes(4), Run: minutes(5)}
	ago := func(d time.Duration) time.Time { return later.Add(-d) }
	waits := func(d time.Duration) Record { r := queued(); r.QueuedAt = ago(d); return r }
	placed := func(d time.Duration) Driver { x := driver(Current, DriverPending); x.ScheduledAt = ago(d); return x }
	unplaced := func(d time.Duration) Driver { x := driver(Current, DriverPending); x.CreatedAt = ago(d); return x }
	runs := func(d time.Duration) Driver { x := driver(Current, DriverRunning); x.StartedAt = ago(d); return x }
	counts := func(c ExecutorCounts) Record { r := ran(Running); r.Counts = c; return r }
	one := []Executor{{Name: "e-1", State: ExecutorRunning}}
	cases := map[string]struct {
		reason    string
		rec       Record
		driver    Driver
		gate      scheduler.Admission
		executors []Executor
		unbounded bool
		state     State
		cause     Reason
		class     FailureClass
		requeue   time.Duration
	}{
		"QueuedInTime":      {reason: "it is looked at again when the time is over", rec: waits(minutes(1) - time.Second), driver: absent, gate: hold, state: Queued, cause: "SchedulerUnknown", requeue: time.Second},
		"QueuedTooLong":     {reason: "no driver was ever created: that is the end", rec: waits(minutes(1)), driver: absent, gate: hold, state: Failed, cause: ReasonQueueTimeout, requeue: unknownRetry},
		"AdmittedTooLate":   {reason: "a deadline is a deadline", rec: waits(minutes(2)), driver: absent, gate: admit, state: Failed, cause: ReasonQueueTimeout, requeue: unknownRetry},
		"QueuedForever":     {reason: "0 is no bound", rec: waits(minutes(9999)), driver: absent, gate: hold, unbounded: true, state: Queued, cause: "SchedulerUnknown", requeue: time.Minute},
		"UnplacedInTime":    {reason: "a node may come", rec: ran(Submitted), driver: unplaced(minutes(2) - time.Second), state: Submitted, requeue: time.Second},
		"UnplacedTooLong":   {reason: "the cluster has no room", rec: ran(Submitted), driver: unplaced(minutes(2)), state: Failing, cause: ReasonSchedulingTimeout, class: Infrastructure, requeue: unknownRetry},
		"PlacedLate":        {reason: "the first stage is over when there is a node", rec: ran(Submitted), driver: placed(minutes(1)), state: Submitted, requeue: lookAt(later)},
		"UnreadyTooLong":    {reason: "an image that does not come", rec: ran(Submitted), driver: placed(minutes(3)), state: Failing, cause: ReasonReadyTimeout, class: Infrastructure, requeue: unknownRetry},
		"NoExecutorsInTime": {reason: "they may come", rec: ran(Running), driver: runs(minutes(4) - time.Second), state: Running, requeue: time.Second},
		"NoExecutors":       {reason: "none has run", rec: ran(Running), driver: runs(minutes(4)), state: Failing, cause: ReasonExecutorsTimeout, class: Deadline, requeue: unknownRetry},
		"OnlyReplaced":      {reason: "Spark replaces executors that get no node, and none has run", rec: counts(ExecutorCounts{Total: 6, Pending: 2}), driver: runs(minutes(4)), executors: []Executor{{Name: "e-7", State: ExecutorPending}}, state: Failing, cause: ReasonExecutorsTimeout, class: Deadline, requeue: unknownRetry},
		"ExecutorsRan":      {reason: "they have run, and have ended since", rec: counts(ExecutorCounts{Total: 2, Succeeded: 1}), driver: runs(minutes(4)), state: Running, requeue: time.Minute},
		"ExecutorsRun":      {reason: "one is enough", rec: ran(Running), driver: runs(minutes(4)), executors: one, state: Running, requeue: time.Minute},
		"RunsTooLong":       {reason: "whatever it does", rec: ran(Running), driver: runs(minutes(5)), executors: one, state: Failing, cause: ReasonRunTimeout, class: Deadline, requeue: unknownRetry},
		"RunsForever":       {reason: "0 is no bound", rec: ran(Running), driver: runs(minutes(9999)), unbounded: true, state: Running, requeue: heartbeat},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testApp()
			if app.Policies.Deadlines = limits; tc.unbounded {
				app.Policies.Deadlines = Deadlines{}
			}
			p := Decide(app, tc.rec, Observation{Driver: tc.driver, Executors: tc.executors}, tc.gate, Env{Now: later})
			if p.Record.State != tc.state || p.Record.Cause.Reason != tc.cause || p.Requeue != tc.requeue {
				t.Errorf("%s: %s (%s), next look in %s; want %s (%s), %s", tc.reason, p.Record.State, p.Record.Cause.Reason, p.Requeue, tc.state, tc.cause, tc.requeue)
			}
			if a := p.Record.Current(); tc.class != "" && (a == nil || a.Class != tc.class) {
				t.Errorf("%s: recorded is %+v, want class %s", tc.reason, a, tc.class)
			}
		})
	}
}

// lookAt is when a pod of that age which does not run is looked at again.
func lookAt(at time.Time) time.Duration {
	return min(max(at.Sub(now)/2, firstRecheck), maxRecheck)
}

// A deadline says what it waited for, in words that name the field.
func TestDeadlinesExplain(t *testing.T) {
	app := with(func(a *Application) { a.Policies.Deadlines = Deadlines{Queued: time.Second, DriverReady: time.Second} })
	stuck := driver(Current, DriverPending)
	stuck.ScheduledAt, stuck.Waiting = now, Wait{Cause{ReasonImagePull, "container spark-kubernetes-driver"}, "no such image"}
	for name, p := range map[string]Plan{
		"spec.deadlines.queued": Decide(app, queued(), Observation{Driver: absent}, hold, Env{Now: later}), "no such scheduler": Decide(app, queued(), Observation{Driver: absent}, hold, Env{Now: later}),
		"spec.deadlines.driverReady": Decide(app, ran(Submitted), Observation{Driver: stuck}, scheduler.Admission{}, Env{Now: later}), "no such image": Decide(app, ran(Submitted), Observation{Driver: stuck}, scheduler.Admission{}, Env{Now: later}),
	} {
		if !strings.Contains(p.Record.Cause.Message, name) {
			t.Errorf("%q does not say %q", p.Record.Cause.Message, name)
		}
	}
}

// Suspension is no waiting in a queue.
func TestSuspensionStopsTheQueueClock(t *testing.T) {
	rec := Decide(with(isSuspended), queued(), Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	if !rec.QueuedAt.IsZero() {
		t.Fatalf("the clock goes on: since %s", rec.QueuedAt)
	}
	rec = Decide(testApp(), rec, Observation{Driver: absent}, hold, Env{Now: later.Add(time.Hour)}).Record
	if !rec.QueuedAt.Equal(later.Add(time.Hour)) {
		t.Errorf("it waits since %s, and was resumed at %s", rec.QueuedAt, later.Add(time.Hour))
	}
}
