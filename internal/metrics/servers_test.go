// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

func TestServerTransitions(t *testing.T) {
	draining := runningRecord(func(r *record) { r.DrainSince = at(20) })
	cause := func(reason lifecycle.Reason, state lifecycle.State) func(*record) {
		return func(r *record) { r.State, r.Cause.Reason, r.DrainSince = state, reason, time.Time{} }
	}
	stopped := runningRecord(func(r *record) {
		r.State, r.Cause.Reason, r.Idle = lifecycle.Suspending, lifecycle.ReasonIdle, lifecycle.Idle{Since: at(10), StoppedAt: at(40)}
	})
	cases := map[string]struct {
		reason   string
		from, to record
		now      time.Time
		want     []string
	}{
		"Ended":     {reason: "the sessions ended in time", from: draining, to: with(draining, cause(lifecycle.ReasonSpecChanged, lifecycle.Invalidating)), now: at(49), want: []string{"spark_connect_drains_total outcome=Ended 1"}},
		"Expired":   {reason: "they did not", from: draining, to: with(draining, cause(lifecycle.ReasonSpecChanged, lifecycle.Invalidating)), now: at(50), want: []string{"spark_connect_drains_total outcome=Expired 1"}},
		"Rerun":     {reason: "a person did not wait", from: draining, to: with(draining, cause(lifecycle.ReasonRerunRequested, lifecycle.Invalidating)), now: at(30), want: []string{"spark_connect_drains_total outcome=Interrupted 1"}},
		"Reverted":  {reason: "the old spec is back", from: draining, to: with(draining, cause("", lifecycle.Running)), now: at(30), want: []string{"spark_connect_drains_total outcome=Interrupted 1"}},
		"Drains":    {reason: "it goes on", from: draining, to: draining, now: at(30)},
		"Idle":      {reason: "stopped for that", from: runningRecord(nil), to: stopped, now: at(40), want: []string{"spark_connect_idle_stops_total 1"}},
		"StillIdle": {reason: "counted before", from: stopped, to: with(stopped, func(r *record) { r.State = lifecycle.Suspended }), now: at(50)},
		"Woken": {reason: "somebody connects", from: stopped, to: with(stopped, func(r *record) {
			r.State, r.Cause.Reason, r.Idle = lifecycle.Resuming, lifecycle.ReasonWoken, lifecycle.Idle{}
		}), now: at(90), want: []string{"spark_connect_wake_ups_total 1"}},
		"Suspended":   {reason: "nobody may connect any more", from: stopped, to: with(stopped, func(r *record) { r.Cause.Reason, r.Idle = lifecycle.ReasonSuspended, lifecycle.Idle{} }), now: at(90)},
		"Application": {reason: "the names of the Kubeflow operator are about SparkApplications", to: record{State: lifecycle.Queued, Attempt: 1, QueuedAt: at(1)}, now: at(1)},
		"Submitted": {reason: "its attempts are like those of others", from: record{State: lifecycle.Queued, Attempt: 1, QueuedAt: at(1)}, to: submittedRecord(nil), now: at(4), want: []string{
			"spark_application_queue_wait_seconds 1: 3",
		}},
		"Executors": {reason: "so are its executors", from: runningRecord(nil), to: runningRecord(func(r *record) { r.Counts.Failed = 2 }), now: at(30), want: []string{"spark_executor_failure_count 2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := New(configured(nil))
			m.Transition(Subject{Namespace: "jobs", CreatedAt: start, Server: true, Drain: 30 * time.Second}, tc.from, tc.to, tc.now)
			if diff := cmp.Diff(tc.want, samples(t, m)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestServerGauges(t *testing.T) {
	m := New(configured(nil))
	views := []View{
		{State: lifecycle.Running, Ready: true, Running: 2}, {State: lifecycle.Running}, {State: lifecycle.Running, Ready: true, Draining: true},
		{State: lifecycle.Suspended, Idle: true}, {State: lifecycle.Suspended}, {State: lifecycle.Queued, Reason: "QuotaExceeded", Scheduler: "kube"}, {},
	}
	m.Observe(func(each func(Subject, View)) bool {
		for _, v := range views {
			each(Subject{Namespace: "jobs", Server: true}, v)
		}
		each(Subject{Namespace: "jobs"}, View{State: lifecycle.Running})
		return true
	})
	want := []string{
		"spark_application_running_count 1", "spark_applications state=Running 1", "spark_applications_longest_wait_seconds reason=QuotaExceeded 0", "spark_applications_waiting queue=,reason=QuotaExceeded,scheduler=kube 1",
		"spark_connect_servers state=Draining 1", "spark_connect_servers state=Idle 1", "spark_connect_servers state=New 1", "spark_connect_servers state=NotReady 1",
		"spark_connect_servers state=Queued 1", "spark_connect_servers state=Ready 1", "spark_connect_servers state=Suspended 1",
		"spark_executor_running_count 2", "spark_executors state=Pending 0", "spark_executors state=Running 2", "spark_operator_leading 1",
	}
	if diff := cmp.Diff(want, samples(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
