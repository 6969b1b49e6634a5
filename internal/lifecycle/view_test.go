// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What is shown of a policy is what Retry goes by.
func TestBudgets(t *testing.T) {
	own := map[FailureClass]RetryPolicy{OutOfMemory: {Retries: 2, Initial: time.Second}}
	all := []FailureClass{Infrastructure, OutOfMemory, ApplicationExit}
	cases := map[string]struct {
		reason  string
		restart Restart
		used    map[FailureClass]int32
		want    []Budget
	}{
		"never": {"no budget at all", Restart{Type: Never, Failures: RetryPolicy{Retries: 3}}, nil, nil},
		"never but infrastructure": {
			"what the user has asked for", Restart{Type: Never, Classes: map[FailureClass]RetryPolicy{Infrastructure: {Retries: 2}, OutOfMemory: {Retries: 1}}}, nil,
			[]Budget{{Classes: []FailureClass{Infrastructure}, Retries: 2}},
		},
		"shared": {
			"one budget for all failures of a run", Restart{Type: OnFailure, Failures: RetryPolicy{Retries: 3}, Submissions: RetryPolicy{Retries: 1}},
			map[FailureClass]int32{Infrastructure: 1, ApplicationExit: 1},
			[]Budget{{Classes: all, Retries: 3, Used: 2}, {Classes: []FailureClass{Submission}, Retries: 1}},
		},
		"own": {
			"a class with a rule has its own", Restart{Type: OnFailure, Classes: own}, map[FailureClass]int32{OutOfMemory: 1},
			[]Budget{{Classes: []FailureClass{Infrastructure, ApplicationExit}}, {Classes: []FailureClass{Submission}}, {Classes: []FailureClass{OutOfMemory}, Retries: 2, Used: 1}},
		},
		"always": {
			"no end but for a class with a rule", Restart{Type: Always, Classes: own}, nil,
			[]Budget{
				{Classes: []FailureClass{Infrastructure, ApplicationExit}, Unlimited: true}, {Classes: []FailureClass{Submission}, Unlimited: true},
				{Classes: []FailureClass{OutOfMemory}, Retries: 2},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.restart.Budgets(tc.used)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, b := range got {
				for _, class := range b.Classes {
					_, again := tc.restart.Retry(class, nil, tc.used, "seed")
					if shown := b.Unlimited || b.Left() > 0; shown != again {
						t.Errorf("%s: shown %t, retried %t", class, shown, again)
					}
				}
			}
		})
	}
}

// A budget that was made smaller than what is used has nothing left.
func TestBudgetLeft(t *testing.T) {
	for b, want := range map[[2]int32]int32{{3, 0}: 3, {3, 2}: 1, {3, 3}: 0, {1, 3}: 0} {
		if got := (Budget{Retries: b[0], Used: b[1]}).Left(); got != want {
			t.Errorf("%d of %d used: %d are left, want %d", b[1], b[0], got, want)
		}
	}
}

func TestTimers(t *testing.T) {
	began := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	app := Application{Policies: Policies{Deadlines: Deadlines{Queued: time.Hour, DriverScheduled: time.Minute, Run: 2 * time.Hour, FirstExecutors: time.Minute}}}
	d := Driver{Presence: Present, Ownership: Current, CreatedAt: began, StartedAt: began}
	with := func(phase DriverPhase) Driver { d := d; d.Phase = phase; return d }
	cases := map[string]struct {
		reason string
		app    Application
		rec    Record
		driver Driver
		want   []Reason
		// unbounded is the deadline that would end the wait and is not set.
		unbounded Reason
	}{
		"queued":       {"the wait for the driver", app, Record{State: Queued, QueuedAt: began}, Driver{}, []Reason{ReasonQueueTimeout}, ""},
		"suspended":    {"suspension does not count", Application{Suspend: true, Policies: app.Policies}, Record{State: Queued, QueuedAt: began}, Driver{}, nil, ""},
		"pending":      {"the wait for a node", app, Record{State: Submitted}, with(DriverPending), []Reason{ReasonSchedulingTimeout}, ""},
		"running":      {"two at once", app, Record{State: Running}, with(DriverRunning), []Reason{ReasonExecutorsTimeout, ReasonRunTimeout}, ""},
		"foreign":      {"nothing is known of its driver", app, Record{State: Running}, Driver{Presence: Present, Ownership: NotOwned, Phase: DriverRunning, CreatedAt: began, StartedAt: began}, nil, ""},
		"stopping":     {"none while it is stopped", app, Record{State: Suspending}, with(DriverRunning), nil, ""},
		"ended":        {"none after the end", app, Record{State: Running}, with(DriverFailed), nil, ""},
		"deleting":     {"none while it goes", Application{Deleting: true, Policies: app.Policies}, Record{State: Running}, with(DriverRunning), nil, ""},
		"unbounded":    {"none is set, and a run is no wait", Application{}, Record{State: Running}, with(DriverRunning), nil, ""},
		"queuesOn":     {"none is set for the queue", Application{}, Record{State: Queued, QueuedAt: began}, Driver{}, nil, ReasonQueueTimeout},
		"pendsOn":      {"none is set for the node", Application{}, Record{State: Submitted}, with(DriverPending), nil, ReasonSchedulingTimeout},
		"finishedLong": {"what is over does not wait", Application{}, Record{State: Failed}, Driver{}, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []Reason
			for _, timer := range Timers(tc.app, tc.rec, tc.driver) {
				got = append(got, timer.Reason)
				if timer.Since != began || timer.Limit <= 0 {
					t.Errorf("%+v", timer)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
			if got := WaitsUnbounded(tc.app, tc.rec, tc.driver); got != tc.unbounded {
				t.Errorf("%s: waits unbounded for %q, want %q", tc.reason, got, tc.unbounded)
			}
		})
	}
}

// What is shown of retention is what Decide deletes, and when.
func TestExpirations(t *testing.T) {
	ended := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	app := Application{Policies: Policies{Retention: Retention{OnSuccess: TTLs{DriverPod: new(time.Minute), Resources: new(2 * time.Minute), Application: new(time.Hour)}}}}
	rec := Record{State: Succeeded, Attempt: 1, TerminatedAt: ended}
	want := []Expiration{{DeleteDriver, ended.Add(time.Minute)}, {DeleteResources, ended.Add(2 * time.Minute)}, {DeleteApplication, ended.Add(time.Hour)}}
	if diff := cmp.Diff(want, Expirations(app, rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, k := range want {
		rec.Released = Released{DriverPod: i > 0, Resources: i > 1}
		seen := Observation{Driver: Driver{Presence: Present, Ownership: Current, UID: "u"}}
		plan := Decide(app, rec, seen, scheduler.Admission{}, Env{Now: k.Until})
		if len(plan.Actions) == 0 || plan.Actions[0].Kind != k.What {
			t.Errorf("at %s: %+v, want %s", k.Until, plan.Actions, k.What)
		}
	}
	rec.Released = Released{DriverPod: true, Resources: true}
	if got := Expirations(app, rec); len(got) != 1 {
		t.Errorf("what was deleted is not kept: %+v", got)
	}
	if got := Expirations(app, Record{State: Running}); got != nil {
		t.Errorf("an application that is not over keeps everything: %+v", got)
	}
}

func TestConditionTypes(t *testing.T) {
	if all := ConditionTypes(); len(all) != 8 || !slices.Contains(all, ConditionExecutorsReady) {
		t.Errorf("%v", all)
	}
}
