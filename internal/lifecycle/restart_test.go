// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestRetry(t *testing.T) {
	one, three := RetryPolicy{Retries: 1, Initial: 5 * time.Second, Max: time.Hour, Linear: true}, RetryPolicy{Retries: 3, Initial: time.Second, Max: time.Minute, Linear: true}
	plain := Restart{Type: OnFailure, Failures: three, Submissions: one}
	own := plain
	own.Classes = map[FailureClass]RetryPolicy{OutOfMemory: one}
	type used = map[FailureClass]int32
	with := func(change func(*Restart)) Restart { r := plain; change(&r); return r }
	code := func(n int32) *int32 { return &n }
	cases := map[string]struct {
		reason  string
		restart Restart
		class   FailureClass
		exit    *int32
		used    used
		again   bool
		wait    time.Duration
	}{
		"Never":             {reason: "is never", restart: with(func(r *Restart) { r.Type = Never }), class: ApplicationExit},
		"NeverInfra":        {reason: "is never, whoever is to blame", restart: with(func(r *Restart) { r.Type = Never }), class: Infrastructure},
		"NeverOwnInfra":     {reason: "but for what the user has set a number of retries", restart: Restart{Type: Never, Classes: map[FailureClass]RetryPolicy{Infrastructure: one}}, class: Infrastructure, again: true, wait: 5 * time.Second},
		"NeverOwnUsedUp":    {reason: "which bounds it", restart: Restart{Type: Never, Classes: map[FailureClass]RetryPolicy{Infrastructure: one}}, class: Infrastructure, used: used{Infrastructure: 1}},
		"First":             {reason: "the first failure waits the interval", restart: plain, class: ApplicationExit, again: true, wait: time.Second},
		"Linear":            {reason: "the third in a row three times as long", restart: plain, class: ApplicationExit, used: used{ApplicationExit: 2}, again: true, wait: 3 * time.Second},
		"UsedUp":            {reason: "retries + 1 attempts, and no more", restart: plain, class: ApplicationExit, used: used{ApplicationExit: 3}},
		"Shared":            {reason: "classes without a rule of their own share a budget", restart: plain, class: OutOfMemory, used: used{ApplicationExit: 2, Infrastructure: 1}},
		"SharedWait":        {reason: "and a row of failures", restart: plain, class: OutOfMemory, used: used{ApplicationExit: 1, Infrastructure: 1}, again: true, wait: 3 * time.Second},
		"SubmissionApart":   {reason: "submissions do not pay for runs", restart: plain, class: Submission, used: used{ApplicationExit: 3}, again: true, wait: 5 * time.Second},
		"RunsApart":         {reason: "nor runs for submissions", restart: plain, class: ApplicationExit, used: used{Submission: 1}, again: true, wait: time.Second},
		"SubmissionUsedUp":  {reason: "their own budget bounds them", restart: plain, class: Submission, used: used{Submission: 1}},
		"OwnBudget":         {reason: "a class with a rule has a budget of its own", restart: own, class: OutOfMemory, used: used{ApplicationExit: 3}, again: true, wait: 5 * time.Second},
		"OwnUsedUp":         {reason: "which bounds it", restart: own, class: OutOfMemory, used: used{OutOfMemory: 1}},
		"OthersShareStill":  {reason: "and the others do not pay for it", restart: own, class: ApplicationExit, used: used{OutOfMemory: 1, Infrastructure: 2}, again: true, wait: 3 * time.Second},
		"Always":            {reason: "has no end", restart: with(func(r *Restart) { r.Type = Always }), class: ApplicationExit, used: used{ApplicationExit: 99}, again: true, wait: time.Minute},
		"AlwaysOwnBudget":   {reason: "except for a class that the user has bounded", restart: Restart{Type: Always, Failures: three, Classes: own.Classes}, class: OutOfMemory, used: used{OutOfMemory: 1}},
		"EvictedUsedUp":     {reason: "nor is an eviction without end", restart: Restart{Type: Always, Failures: three, Evictions: one}, class: Evicted, used: used{Evicted: 1}},
		"Evicted":           {reason: "which has a budget with any policy", restart: Restart{Type: Never, Evictions: one}, class: Evicted, again: true, wait: 5 * time.Second},
		"Deadline":          {reason: "what took too long would again", restart: with(func(r *Restart) { r.Type = Always }), class: Deadline},
		"Nothing":           {reason: "what a user ended is not a failure", restart: plain, class: ""},
		"FailsAtOnce":       {reason: "an exit code that is never worth it", restart: with(func(r *Restart) { r.FailExitCodes = []int32{2} }), class: ApplicationExit, exit: code(2)},
		"FailsAtOnceAlways": {reason: "with any policy", restart: with(func(r *Restart) { r.Type, r.FailExitCodes = Always, []int32{2} }), class: ApplicationExit, exit: code(2)},
		"OtherCode":         {reason: "another one is", restart: with(func(r *Restart) { r.FailExitCodes = []int32{2} }), class: ApplicationExit, exit: code(1), again: true, wait: time.Second},
		"OnlyThese":         {reason: "only the listed codes are worth it", restart: with(func(r *Restart) { r.RetryExitCodes = []int32{75} }), class: ApplicationExit, exit: code(1)},
		"OneOfThese":        {reason: "and this is one", restart: with(func(r *Restart) { r.RetryExitCodes = []int32{75} }), class: ApplicationExit, exit: code(75), again: true, wait: time.Second},
		"BothLists":         {reason: "never goes before only", restart: with(func(r *Restart) { r.RetryExitCodes, r.FailExitCodes = []int32{75}, []int32{75} }), class: ApplicationExit, exit: code(75)},
		"NoCode":            {reason: "without an exit code the lists say nothing", restart: with(func(r *Restart) { r.RetryExitCodes = []int32{75} }), class: ApplicationExit, again: true, wait: time.Second},
		"CodeOfAnEviction":  {reason: "an evicted driver's exit code is not its own", restart: with(func(r *Restart) { r.FailExitCodes = []int32{143} }), class: Infrastructure, exit: code(143), again: true, wait: time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wait, again := tc.restart.Retry(tc.class, tc.exit, tc.used, "app")
			if again != tc.again || again && wait != tc.wait {
				t.Errorf("%s: again %v after %s, want %v after %s", tc.reason, again, wait, tc.again, tc.wait)
			}
		})
	}
}

func TestExponentialBackoff(t *testing.T) {
	rule := RetryPolicy{Initial: 10 * time.Second, Max: 10 * time.Minute}
	nominal := []time.Duration{10, 20, 40, 80, 160, 320, 600, 600, 600}
	spread := map[time.Duration]bool{}
	for i, want := range nominal {
		n := int32(i + 1)
		want *= time.Second
		for _, seed := range []string{"a", "b", "c", "d", "e"} {
			got := rule.wait(n, seed)
			if got > want || got < want-want/5 {
				t.Errorf("wait %d of %s is %s, want %s less up to a fifth", n, seed, got, want)
			}
			if again := rule.wait(n, seed); again != got {
				t.Errorf("wait %d of %s is %s and then %s", n, seed, got, again)
			}
			spread[got] = true
		}
	}
	if len(spread) < 30 {
		t.Errorf("45 waits have only %d values: applications that failed together come back together", len(spread))
	}
}

// A linear wait grows by itself up to its bound, and is never shorter than the user says. An exponential one keeps to its bound.
func TestBoundsOfWaits(t *testing.T) {
	cases := map[string]struct {
		reason string
		rule   RetryPolicy
		n      int32
		want   time.Duration
	}{
		"Grows":       {reason: "below its bound", rule: RetryPolicy{Initial: 7 * time.Second, Max: time.Minute, Linear: true}, n: 8, want: 56 * time.Second},
		"Bound":       {reason: "no longer than that", rule: RetryPolicy{Initial: 7 * time.Second, Max: time.Minute, Linear: true}, n: 9, want: time.Minute},
		"Longer":      {reason: "the user's own interval goes before the bound", rule: RetryPolicy{Initial: 2 * time.Hour, Max: time.Hour, Linear: true}, n: 1, want: 2 * time.Hour},
		"LongerAgain": {reason: "and does not grow", rule: RetryPolicy{Initial: 2 * time.Hour, Max: time.Hour, Linear: true}, n: 2, want: 2 * time.Hour},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.rule.wait(tc.n, "app"); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
	if got := (RetryPolicy{Initial: 2 * time.Hour, Max: time.Hour}).wait(1, "app"); got > time.Hour {
		t.Errorf("an exponential wait of %s is longer than its bound", got)
	}
}

// Where nothing follows, no number of retries within an hour is what is waited for.
func TestNothingFollows(t *testing.T) {
	unknown, evicted := ran(Failing), ran(Failing)
	unknown.Attempts, evicted.Attempts[0].Class = nil, Evicted
	counted := restarting(Restart{Type: Never, Counted: &Counted{}})
	for name, tc := range map[string]struct {
		app Application
		rec Record
	}{
		"unknown": {with(restarting(onFailure)), unknown}, "evicted": {testApp(), evicted}, "failed": {testApp(), ran(Failing)}, "succeeded": {testApp(), ran(Succeeding)},
		"counted": {with(counted), ran(Failing)}, "counted success": {with(counted), ran(Succeeding)}, "runs": {with(restarting(always)), ran(Running)},
	} {
		if at, limited, ok := nextAt(tc.app, tc.rec); ok || limited || !at.IsZero() {
			t.Errorf("%s: at %s, limited %t, again %t", name, at, limited, ok)
		}
	}
}

// Counters are in place of all budgets but that of evictions, whose retries they do not count.
func TestCountersAndEvictions(t *testing.T) {
	rule := &Counted{Success: true, After: []FailureClass{ApplicationExit, Evicted}, Restarts: 3, Wait: 30 * time.Second}
	app := with(restarting(Restart{Type: Never, RestartsEvicted: true, Counted: rule, Evictions: RetryPolicy{Retries: 1, Initial: 5 * time.Second, Max: time.Hour, Linear: true}}))
	evicted := ran(Failing)
	evicted.Attempts[0].Class = Evicted
	for name, tc := range map[string]struct {
		rec      Record
		at       time.Time
		counters Counters
	}{
		"failure": {ran(Failing), now.Add(30 * time.Second), Counters{Restarts: 1, Failures: 1}}, "success": {ran(Succeeding), now.Add(30 * time.Second), Counters{Restarts: 1}},
		"eviction": {evicted, now.Add(5 * time.Second), Counters{}},
	} {
		if at, limited, ok := nextAt(app, tc.rec); !ok || limited || !at.Equal(tc.at) {
			t.Errorf("%s: at %s, limited %t, again %t; want %s", name, at, limited, ok, tc.at)
		}
		got := Decide(app, tc.rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
		if got.State != Rerunning || got.Retries.Counters != tc.counters {
			t.Errorf("%s: %s, counted %+v, want %+v", name, got.State, got.Retries.Counters, tc.counters)
		}
	}
}

// Waits that nobody lives to see are still waits.
func TestWaitsDoNotOverflow(t *testing.T) {
	long := 200 * 365 * 24 * time.Hour
	for name, rule := range map[string]RetryPolicy{
		"linear":      {Initial: 5 * time.Second, Max: time.Hour, Linear: true},
		"long linear": {Initial: long, Max: time.Hour, Linear: true},
		"exponential": {Initial: time.Second, Max: long},
		"long":        {Initial: long, Max: long},
		"none":        {},
		"none linear": {Linear: true},
	} {
		for _, n := range []int32{1, 2, 60, 100, 1 << 30, 1<<31 - 1} {
			if got := rule.wait(n, "app"); got < 0 || got > max(rule.Initial, rule.Max) {
				t.Errorf("%s: wait %d is %s", name, n, got)
			}
		}
	}
}

func TestRetryAt(t *testing.T) {
	app := with(restarting(onFailure))
	if at, ok := RetryAt(app, ran(Failing)); !ok || !at.Equal(now.Add(20*time.Second)) {
		t.Errorf("%s %v: the wait begins with the end of the attempt, not with its submission", at, ok)
	}
	if at, ok := RetryAt(app, refusedFirst()); !ok || !at.Equal(now.Add(20*time.Second)) {
		t.Errorf("%s %v: or with the refusal", at, ok)
	}
	unknown := ran(Failing)
	unknown.Attempts = nil
	if _, ok := RetryAt(app, unknown); ok {
		t.Error("an attempt that nothing is known of is not repeated")
	}
}

// One retry is taken from the budget for each attempt, and raised memory is a matter of its class and of the user's wish.
func TestRetryTakesFromItsBudget(t *testing.T) {
	for _, class := range []FailureClass{Infrastructure, OutOfMemory, ApplicationExit} {
		for _, raises := range []bool{false, true} {
			app := with(restarting(onFailure), func(a *Application) { a.RaisesMemory = raises })
			rec := ran(Failing)
			rec.Attempts[0].Class = class
			got := Decide(app, rec, Observation{Driver: failedDriver(1)}, scheduler.Admission{}, Env{Now: later}).Record.Retries
			if len(got.Used) != 1 || got.Used[class] != 1 || (got.MemoryRaises == 1) != (raises && class == OutOfMemory) {
				t.Errorf("%s, memory may be raised %v: %+v", class, raises, got)
			}
		}
	}
}

// A driver that has run long enough gives the budgets back: a streaming application does not fail permanently because
// of three failures in three months.
func TestHealthyPeriodResetsBudgets(t *testing.T) {
	r := onFailure
	r.ResetAfter = 30 * time.Second
	for ran4, want := range map[time.Duration]int{29 * time.Second: 1, 30 * time.Second: 0} {
		rec := ran(Running)
		rec.Attempts[0].StartedAt, rec.Retries = later.Add(-ran4), Retries{Used: map[FailureClass]int32{ApplicationExit: 2}, MemoryRaises: 1}
		got := Decide(with(restarting(r)), rec, Observation{Driver: failedDriver(1)}, scheduler.Admission{}, Env{Now: later}).Record.Retries
		if len(got.Used) != want || got.MemoryRaises != 1 {
			t.Errorf("after %s: %+v", ran4, got)
		}
	}
}

// With restart policy Always the next attempt needs as much memory as the one that succeeded.
func TestSuccessKeepsRaisedMemory(t *testing.T) {
	rec := ran(Running)
	rec.Retries = Retries{Used: map[FailureClass]int32{OutOfMemory: 2}, MemoryRaises: 2}
	got := Decide(testApp(), rec, Observation{Driver: driver(Current, DriverSucceeded)}, scheduler.Admission{}, Env{Now: later}).Record
	if got.Retries.MemoryRaises != 2 || len(got.Retries.Used) != 0 {
		t.Errorf("after a success: %+v", got.Retries)
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
		"FormerOperator": {reason: "a previous operator keeps the end of the attempt before", record: endedAt(again(Rerunning), now), gate: reject, at: retried, state: Failed, ended: retried},
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
