// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestCounted(t *testing.T) {
	always := Counted{
		Success: true, After: []FailureClass{Infrastructure, OutOfMemory, ApplicationExit, Deadline, StartTimeout, Submission},
		Restarts: 3, Wait: time.Minute,
	}
	with := func(c Counted, change func(*Counted)) Counted { change(&c); return c }
	cases := map[string]struct {
		reason  string
		rule    Counted
		before  Counters
		class   FailureClass
		lasted  time.Duration
		want    Counters
		wait    time.Duration
		nothing bool
	}{
		"Success":     {reason: "after a success the failures in a row are over", rule: always, before: Counters{1, 1, 1}, want: Counters{2, 0, 0}, wait: time.Minute},
		"Failure":     {reason: "a failure of a run ends the refused submissions in a row", rule: always, before: Counters{1, 1, 1}, class: ApplicationExit, want: Counters{2, 2, 0}, wait: time.Minute},
		"Refusal":     {reason: "a refused submission is a failure, too", rule: always, before: Counters{1, 1, 0}, class: Submission, want: Counters{2, 2, 1}, wait: time.Minute},
		"Last":        {reason: "as often as is said", rule: always, before: Counters{2, 0, 0}, class: Deadline, want: Counters{3, 1, 0}, wait: time.Minute},
		"UsedUp":      {reason: "and not more often", rule: always, before: Counters{3, 0, 0}, class: Deadline, nothing: true},
		"NotThat":     {reason: "other failures end the application", rule: with(always, func(c *Counted) { c.After = []FailureClass{Submission, StartTimeout} }), class: Infrastructure, nothing: true},
		"NotSuccess":  {reason: "a success ends it", rule: with(always, func(c *Counted) { c.Success = false }), nothing: true},
		"OwnWait":     {reason: "failures have a wait of their own", rule: with(always, func(c *Counted) { c.FailureWait = new(time.Second) }), class: StartTimeout, want: Counters{1, 1, 0}, wait: time.Second},
		"RefusalWait": {reason: "refused submissions, too", rule: with(always, func(c *Counted) { c.FailureWait, c.SubmissionWait = new(time.Second), new(time.Hour) }), class: Submission, want: Counters{1, 1, 1}, wait: time.Hour},
		"OwnLimit":    {reason: "failures have a limit of their own", rule: with(always, func(c *Counted) { c.Failures = new(int64(1)) }), before: Counters{1, 1, 0}, class: Infrastructure, nothing: true},
		"LimitOfRuns": {reason: "the limit of refused submissions is none of runs", rule: with(always, func(c *Counted) { c.Failures, c.Submissions = new(int64(1)), new(int64(5)) }), before: Counters{1, 1, 0}, class: Infrastructure, nothing: true},
		"SharedLimit": {reason: "refused submissions without a limit have that of all failures", rule: with(always, func(c *Counted) { c.Failures = new(int64(1)) }), before: Counters{1, 1, 0}, class: Submission, nothing: true},
		"WaitOfRuns":  {reason: "the wait of refused submissions is none of runs", rule: with(always, func(c *Counted) { c.FailureWait, c.SubmissionWait = new(time.Second), new(time.Hour) }), class: Infrastructure, want: Counters{1, 1, 0}, wait: time.Second},
		"SharedWait":  {reason: "refused submissions without a wait have that of all failures", rule: with(always, func(c *Counted) { c.FailureWait = new(time.Second) }), class: Submission, want: Counters{1, 1, 1}, wait: time.Second},
		"RefusalLimit": {reason: "that of refused submissions is the only one that is checked for them",
			rule: with(always, func(c *Counted) { c.Failures, c.Submissions = new(int64(0)), new(int64(2)) }), before: Counters{1, 1, 1}, class: Submission, want: Counters{2, 2, 2}, wait: time.Minute},
		"Reset":   {reason: "a long attempt gives everything back", rule: with(always, func(c *Counted) { c.ResetAfter = new(time.Hour) }), before: Counters{3, 3, 0}, class: ApplicationExit, lasted: time.Hour, want: Counters{1, 0, 0}, wait: time.Minute},
		"NoReset": {reason: "a short one does not", rule: with(always, func(c *Counted) { c.ResetAfter = new(time.Hour) }), before: Counters{3, 3, 0}, class: ApplicationExit, lasted: time.Minute, nothing: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			next, wait, ok := tc.rule.next(tc.before, tc.class, tc.lasted)
			if ok == tc.nothing || ok && (next != tc.want || wait != tc.wait) {
				t.Errorf("%s: %+v after %s, %t", tc.reason, next, wait, ok)
			}
		})
	}
}

// What the next attempt counts depends on how the last one ended, and on how long it was at work.
func TestFollowing(t *testing.T) {
	rule := &Counted{Success: true, After: []FailureClass{Submission, ApplicationExit}, Restarts: 5, ResetAfter: new(time.Hour)}
	ended := func(s State, after time.Duration, change ...func(*Record)) Record {
		r := ran(s)
		r.Retries.Counters = Counters{2, 1, 1}
		r.Current().EndedAt = now.Add(after)
		for _, c := range change {
			c(&r)
		}
		return r
	}
	refused := refusedFirst()
	refused.Retries.Counters = Counters{2, 1, 1}
	cases := map[string]struct {
		reason  string
		rule    *Counted
		rec     Record
		want    Counters
		nothing bool
	}{
		"Failure":  {reason: "the class is that of the attempt", rule: rule, rec: ended(Failing, time.Minute), want: Counters{3, 2, 0}},
		"Success":  {reason: "a success has no class", rule: rule, rec: ended(Succeeding, time.Minute), want: Counters{3, 0, 0}},
		"Refusal":  {reason: "a refused submission may have no attempt", rule: rule, rec: refused, want: Counters{3, 2, 2}},
		"Long":     {reason: "it was at work for long", rule: rule, rec: ended(Failing, time.Hour), want: Counters{1, 0, 0}},
		"NotKnown": {reason: "it is not known since when", rule: rule, rec: ended(Failing, time.Hour, func(r *Record) { r.SubmittedAt = time.Time{} }), want: Counters{3, 2, 0}},
		"NoEnd":    {reason: "it has no end", rule: rule, rec: ended(Failing, 0, func(r *Record) { r.Current().EndedAt = time.Time{} }), want: Counters{3, 2, 0}},
		"Running":  {reason: "it has not ended", rule: rule, rec: ran(Running), nothing: true},
		"Over":     {reason: "none follows the last one", rule: rule, rec: ended(Failed, time.Minute), nothing: true},
		"NoMore":   {reason: "it has run as often as it may", rule: &Counted{}, rec: ended(Failing, time.Minute), nothing: true},
		"Budgets":  {reason: "other families have budgets", rec: ended(Failing, time.Minute), nothing: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := following(with(func(a *Application) { a.Policies.Restart.Counted = tc.rule }), tc.rec)
			if ok == tc.nothing || got != tc.want {
				t.Errorf("%s: %+v, %t", tc.reason, got, ok)
			}
		})
	}
}

// Where refused submissions are counted, a suspension does not end one: it is over, or followed. A run is stopped as everywhere.
func TestSuspendedWhereRefusalsCount(t *testing.T) {
	app := with(isSuspended, func(a *Application) { a.Policies.Restart = Restart{Type: Never, Counted: &Counted{}} })
	for name, tc := range map[string]struct {
		rec    Record
		driver Driver
		want   State
	}{
		"runs":    {ran(Running), driver(Current, DriverRunning), Suspending},
		"refused": {again(SubmissionFailed), absent, Failed},
	} {
		if got := Decide(app, tc.rec, Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later}).Record.State; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// The table of how many executors make which capacity.
func TestCapacity(t *testing.T) {
	cases := map[string]struct {
		reason string
		rule   Tracking
		before Capacity
		ready  int32
		want   Capacity
	}{
		"Nothing":        {reason: "nothing is asked for", want: CapacityFull},
		"NoInitial":      {reason: "without an initial number the others do not count", rule: Tracking{Min: 2, Max: 4}, before: CapacityFull, want: CapacityFull},
		"NoneYet":        {reason: "no executor is no step", rule: Tracking{Initial: 2}, want: CapacityUnknown},
		"Some":           {reason: "some are", rule: Tracking{Initial: 2, Max: 2}, ready: 1, want: CapacityBelowInitial},
		"Enough":         {reason: "enough", rule: Tracking{Initial: 2, Max: 2}, ready: 2, want: CapacityFull},
		"Partial":        {reason: "enough, but not all", rule: Tracking{Initial: 1, Max: 3}, ready: 1, want: CapacityPartial},
		"PartialElastic": {reason: "how many there are follows the load", rule: Tracking{Initial: 1, Max: 3, Elastic: true}, ready: 1, want: CapacityFull},
		"Lost":           {reason: "too few of a run that has started", rule: Tracking{Initial: 2, Min: 2, Max: 2}, before: CapacityFull, ready: 1, want: CapacityBelowMin},
		"AllLost":        {reason: "none of a run that has started", rule: Tracking{Initial: 2, Min: 1, Max: 2}, before: CapacityPartial, want: CapacityBelowMin},
		"Back":           {reason: "back again", rule: Tracking{Initial: 2, Min: 2, Max: 2}, before: CapacityBelowMin, ready: 2, want: CapacityFull},
		"NoneAgain":      {reason: "what is lost before the start is no step back", rule: Tracking{Initial: 2, Max: 2}, before: CapacityBelowInitial, want: CapacityBelowInitial},
		"NoMin":          {reason: "a run that has started needs none", rule: Tracking{Initial: 2, Max: 2}, before: CapacityPartial, want: CapacityFull},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.rule.capacity(tc.before, tc.ready); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// A run goes through the stages in their order, and each has its own time.
func TestFollowedStages(t *testing.T) {
	rule := Tracking{Initial: 2, Max: 2, Start: time.Minute, Ready: 2 * time.Minute, Executors: 3 * time.Minute}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rec := Record{SubmittedAt: now}
	see := func(after time.Duration, d Driver, ready int) {
		obs := Observation{Driver: d}
		for range ready {
			obs.Executors = append(obs.Executors, Executor{State: ExecutorRunning, Ready: true})
		}
		rec.Progress = rule.next(rec.Progress, obs, now.Add(after))
	}
	check := func(reason Reason, since time.Duration) {
		t.Helper()
		all := rule.stages(rec)
		if reason == "" && len(all) == 0 {
			return
		}
		if len(all) != 1 || all[0].reason != reason || !all[0].since.Equal(now.Add(since)) {
			t.Errorf("the stages are %+v, want %s since %s", all, reason, since)
		}
	}
	check(ReasonStartTimeout, 0)
	see(time.Second, Driver{Phase: DriverRunning}, 0)
	check(ReasonStartTimeout, 0)
	see(2*time.Second, Driver{Phase: DriverRunning, SparkReady: true}, 0)
	check(ReasonNotReadyTimeout, 2*time.Second)
	see(3*time.Second, Driver{Phase: DriverRunning, SparkReady: true, Ready: true}, 0)
	check(ReasonExecutorsTimeout, 3*time.Second)
	see(3500*time.Millisecond, Driver{Phase: DriverRunning, SparkReady: true, Ready: true}, 0)
	check(ReasonExecutorsTimeout, 3*time.Second) // it was ready before
	see(4*time.Second, Driver{Phase: DriverRunning, SparkReady: true, Ready: true}, 1)
	check(ReasonExecutorsTimeout, 4*time.Second) // a step forward
	see(5*time.Second, Driver{Phase: DriverRunning, SparkReady: true, Ready: true}, 2)
	check("", 0)
	see(6*time.Second, Driver{Phase: DriverRunning, SparkReady: true, Ready: true}, 0)
	check("", 0) // what is lost later times out nothing
}

// Executors that are ready and run make the capacity.
func TestReadyExecutors(t *testing.T) {
	obs := Observation{Executors: []Executor{{State: ExecutorRunning, Ready: true}, {State: ExecutorRunning}, {State: ExecutorLost, Ready: true}, {State: ExecutorPending}}}
	if got := readyExecutors(obs); got != 1 {
		t.Errorf("%d are ready, want the one that runs", got)
	}
}

// A run that is followed and does not start in its time has failed, in other words than a pod that does not run.
func TestFollowedRunTimesOut(t *testing.T) {
	app := with(func(a *Application) { a.Tracking = &Tracking{Start: time.Minute} })
	for after, want := range map[time.Duration]State{59 * time.Second: Running, time.Minute: Failing} {
		p := Decide(app, ran(Running), Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: now.Add(after)})
		if p.Record.State != want || want == Failing && (p.Record.Cause.Reason != ReasonStartTimeout || p.Record.Current().Class != StartTimeout) {
			t.Errorf("after %s: %s, %+v", after, p.Record.State, p.Record.Cause)
		}
	}
}

// How far a followed run has come is recorded, and nothing of others.
func TestProgressIsRecorded(t *testing.T) {
	d := driver(Current, DriverRunning)
	d.SparkReady = true
	for _, rule := range []*Tracking{nil, {}} {
		want := Progress{}
		if rule != nil {
			want.StartedAt = later
		}
		if got := Decide(with(func(a *Application) { a.Tracking = rule }), ran(Running), Observation{Driver: d}, scheduler.Admission{}, Env{Now: later}).Record.Progress; got != want {
			t.Errorf("followed %t: %+v, want %+v", rule != nil, got, want)
		}
	}
}

// Where each try is an attempt, the driver of a refused one is not to run: it was created before the rest was refused, and is deleted. A cache
// that is behind may still have it.
func TestDriverOfARefusedAttempt(t *testing.T) {
	app := with(func(a *Application) { a.Policies.Restart = Restart{Type: Never, Counted: &Counted{}} })
	for name, tc := range map[string]struct {
		driver  Driver
		state   State
		actions []Action
	}{
		"there": {driver(Current, DriverPending), SubmissionFailed, stop},
		"going": {deleting(driver(Current, DriverPending)), SubmissionFailed, nil},
		"gone":  {absent, Failed, nil},
	} {
		p := Decide(app, refusedFirst(), Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later})
		if diff := cmp.Diff(tc.actions, p.Actions); diff != "" || p.Record.State != tc.state || p.Requeue == 0 {
			t.Errorf("%s: %s, again after %s, actions (-want +got):\n%s", name, p.Record.State, p.Requeue, diff)
		}
	}
}
