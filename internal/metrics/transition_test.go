// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

type record = lifecycle.Record

// submittedRecord has a driver pod that does not run yet.
func submittedRecord(change func(*record)) record {
	r := record{
		State: lifecycle.Submitted, Attempt: 1, Submissions: 1, Executions: 1, QueuedAt: at(1), SubmittedAt: at(4),
		Scheduling: lifecycle.Scheduling{AdmittedAt: at(4)}, Attempts: []lifecycle.Attempt{{Number: 1}},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func runningRecord(change func(*record)) record {
	return submittedRecord(func(r *record) {
		r.State, r.Attempts = lifecycle.Running, []lifecycle.Attempt{{Number: 1, StartedAt: at(10)}}
		if change != nil {
			change(r)
		}
	})
}

// overRecord is a run that has ended.
func overRecord(state lifecycle.State, class lifecycle.FailureClass, reason lifecycle.Reason) record {
	return runningRecord(func(r *record) {
		r.State, r.TerminatedAt = state, at(34)
		r.Attempts = []lifecycle.Attempt{{Number: 1, StartedAt: at(10), EndedAt: at(34), Class: class, Cause: lifecycle.Cause{Reason: reason}}}
	})
}

func with(r record, change func(*record)) record {
	change(&r)
	return r
}

func used(class lifecycle.FailureClass, n int32) lifecycle.Retries {
	return lifecycle.Retries{Used: map[lifecycle.FailureClass]int32{class: n}}
}

func TestTransition(t *testing.T) {
	queued := record{State: lifecycle.Queued, Attempt: 1, QueuedAt: at(1)}
	rerunning := record{State: lifecycle.Rerunning, Attempt: 2, QueuedAt: at(60), Submissions: 1, Executions: 1, Attempts: []lifecycle.Attempt{{Number: 1, StartedAt: at(10), EndedAt: at(34)}}}
	second := with(rerunning, func(r *record) {
		r.State, r.Submissions, r.Executions, r.SubmittedAt, r.Scheduling.AdmittedAt = lifecycle.Submitted, 2, 2, at(62), at(62)
		r.Attempts = append(r.Attempts[:1:1], lifecycle.Attempt{Number: 2})
	})
	refused := record{State: lifecycle.SubmissionFailed, Attempt: 1, Submissions: 1, SubmittedAt: at(3), TerminatedAt: at(3)}
	cases := map[string]struct {
		reason   string
		from, to record
		want     []string
	}{
		"Seen":    {reason: "an application is counted when its first status is stored", to: queued, want: []string{"spark_application_count 1"}},
		"Waits":   {reason: "it was counted before", from: queued, to: with(queued, func(r *record) { r.Cause.Reason = "QuotaExceeded" })},
		"Nothing": {reason: "a status that was no news", from: runningRecord(nil), to: runningRecord(nil)},
		"Submitted": {reason: "a first driver pod", from: queued, to: submittedRecord(nil), want: []string{
			"spark_application_queue_wait_seconds 1: 3", "spark_application_submit_count 1", "spark_application_submit_latency_seconds 1: 4", "spark_application_submit_latency_seconds_histogram 1: 4",
		}},
		"AtOnce": {reason: "seen and submitted by one reconcile", to: submittedRecord(nil), want: []string{
			"spark_application_count 1", "spark_application_queue_wait_seconds 1: 3", "spark_application_submit_count 1", "spark_application_submit_latency_seconds 1: 4", "spark_application_submit_latency_seconds_histogram 1: 4",
		}},
		"Again": {reason: "latencies are those of first drivers", from: rerunning, to: second, want: []string{
			"spark_application_queue_wait_seconds 1: 2", "spark_application_submit_count 1",
		}},
		"Adopted": {reason: "no one knows since when it waited", to: submittedRecord(func(r *record) { r.QueuedAt = time.Time{} }), want: []string{
			"spark_application_count 1", "spark_application_submit_count 1", "spark_application_submit_latency_seconds 1: 4", "spark_application_submit_latency_seconds_histogram 1: 4",
		}},
		"Changed": {reason: "the budgets are full again, and it is not the first driver", from: with(rerunning, func(r *record) { r.Submissions, r.Executions = 0, 0 }), to: with(second, func(r *record) { r.Submissions, r.Executions = 1, 1 }), want: []string{
			"spark_application_queue_wait_seconds 1: 2", "spark_application_submit_count 1",
		}},
		"Runs": {reason: "the container's own start counts, and not when it was seen", from: submittedRecord(nil), to: runningRecord(nil), want: []string{
			"spark_application_driver_ready_seconds 1: 6", "spark_application_ready_seconds 1: 10",
			"spark_application_start_latency_seconds 1: 10", "spark_application_start_latency_seconds_histogram 1: 10",
		}},
		"RunsSince": {reason: "a kubelet that does not say when", from: submittedRecord(nil), to: runningRecord(func(r *record) { r.Attempts = []lifecycle.Attempt{{Number: 1}} }), want: []string{
			"spark_application_driver_ready_seconds 1: 46", "spark_application_ready_seconds 1: 50",
			"spark_application_start_latency_seconds 1: 50", "spark_application_start_latency_seconds_histogram 1: 50",
		}},
		"SaysLater": {reason: "it has been counted", from: runningRecord(func(r *record) { r.Attempts = []lifecycle.Attempt{{Number: 1}} }), to: runningRecord(nil)},
		"RunsAgain": {reason: "of a later driver only its own time is told", from: second, to: with(second, func(r *record) {
			r.State, r.Attempts = lifecycle.Running, append(r.Attempts[:1:1], lifecycle.Attempt{Number: 2, StartedAt: at(70)})
		}), want: []string{"spark_application_driver_ready_seconds 1: 8"}},
		"Short": {reason: "a run so short that no one saw it running", from: submittedRecord(nil), to: overRecord(lifecycle.Succeeding, "", lifecycle.ReasonDriverSucceeded), want: []string{
			"spark_application_attempts_total outcome=Succeeded 1", "spark_application_driver_ready_seconds 1: 6", "spark_application_ready_seconds 1: 10",
			"spark_application_start_latency_seconds 1: 10", "spark_application_start_latency_seconds_histogram 1: 10",
		}},
		"Succeeding": {reason: "the attempt is over, the application is not", from: runningRecord(nil), to: overRecord(lifecycle.Succeeding, "", lifecycle.ReasonDriverSucceeded), want: []string{"spark_application_attempts_total outcome=Succeeded 1"}},
		"Succeeded": {reason: "the attempt was counted", from: overRecord(lifecycle.Succeeding, "", lifecycle.ReasonDriverSucceeded), to: overRecord(lifecycle.Succeeded, "", lifecycle.ReasonDriverSucceeded), want: []string{
			"spark_application_success_count 1", "spark_application_success_execution_time_seconds 1: 30",
		}},
		"Failing": {reason: "a class", from: runningRecord(nil), to: overRecord(lifecycle.Failing, lifecycle.OutOfMemory, lifecycle.ReasonDriverOutOfMemory), want: []string{"spark_application_attempts_total outcome=OutOfMemory 1"}},
		"Failed": {reason: "the attempt was counted", from: overRecord(lifecycle.Failing, lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed), to: overRecord(lifecycle.Failed, lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed), want: []string{
			"spark_application_failure_count 1", "spark_application_failure_execution_time_seconds 1: 30",
		}},
		"Rejected":  {reason: "it never had a driver, so it has no time", from: queued, to: record{State: lifecycle.Failed, Attempt: 1, TerminatedAt: at(5)}, want: []string{"spark_application_failure_count 1"}},
		"Evicted":   {reason: "the cluster", from: runningRecord(nil), to: overRecord(lifecycle.Failing, lifecycle.Infrastructure, lifecycle.ReasonDriverEvicted), want: []string{"spark_application_attempts_total outcome=Infrastructure 1", "spark_application_driver_evictions_total by=cluster 1"}},
		"Lost":      {reason: "no eviction", from: runningRecord(nil), to: overRecord(lifecycle.Failing, lifecycle.Infrastructure, lifecycle.ReasonNodeLost), want: []string{"spark_application_attempts_total outcome=Infrastructure 1"}},
		"Preempted": {reason: "the scheduler", from: runningRecord(nil), to: overRecord(lifecycle.Failing, lifecycle.Evicted, "Preempted"), want: []string{"spark_application_attempts_total outcome=Evicted 1", "spark_application_driver_evictions_total by=scheduler 1"}},
		"Suspended": {reason: "a person", from: runningRecord(nil), to: overRecord(lifecycle.Suspending, "", lifecycle.ReasonSuspended), want: []string{"spark_application_attempts_total outcome=Stopped 1"}},
		"Refused":   {reason: "a submission", from: queued, to: refused, want: []string{"spark_application_attempts_total outcome=Submission 1", "spark_application_failed_submission_count 1"}},
		"RefusedAgain": {reason: "the retry and its end are stored at once", from: refused, to: with(refused, func(r *record) { r.Submissions, r.TerminatedAt, r.Retries = 2, at(20), used(lifecycle.Submission, 1) }), want: []string{
			"spark_application_attempts_total outcome=Submission 1", "spark_application_failed_submission_count 1", "spark_application_retries_total class=Submission 1",
		}},
		"RefusedOther": {reason: "with another spec the counts start over", from: refused, to: with(refused, func(r *record) { r.TerminatedAt = at(20) }), want: []string{
			"spark_application_attempts_total outcome=Submission 1", "spark_application_failed_submission_count 1",
		}},
		"GivesUp": {reason: "no new refusal", from: refused, to: with(refused, func(r *record) { r.State = lifecycle.Failed }), want: []string{
			"spark_application_failure_count 1", "spark_application_failure_execution_time_seconds 1: 0",
		}},
		"Retry":     {reason: "a budget", from: overRecord(lifecycle.Failing, lifecycle.ApplicationExit, lifecycle.ReasonDriverFailed), to: with(rerunning, func(r *record) { r.Retries = used(lifecycle.ApplicationExit, 1) }), want: []string{"spark_application_retries_total class=Application 1"}},
		"Refilled":  {reason: "a budget that is full again is no retry", from: with(rerunning, func(r *record) { r.Retries = used(lifecycle.ApplicationExit, 2) }), to: rerunning},
		"Executors": {reason: "what was not counted before", from: runningRecord(func(r *record) { r.Counts.Succeeded, r.Counts.Failed = 2, 1 }), to: runningRecord(func(r *record) { r.Counts.Succeeded, r.Counts.Failed = 5, 2 }), want: []string{"spark_executor_failure_count 1", "spark_executor_success_count 3"}},
		"NoMore":    {reason: "the next attempt counts from 0", from: with(rerunning, func(r *record) { r.Counts.Succeeded = 2 }), to: rerunning},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := New(configured(nil))
			m.Transition(Subject{CreatedAt: start}, tc.from, tc.to, at(50))
			if diff := cmp.Diff(tc.want, samples(t, m)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Labels of one application must not write over those of another: the library keeps what it is given.
func TestLabelsAreNotShared(t *testing.T) {
	m := New(configured(func(c *config.Metrics) { c.Labels = []string{"namespace"} }))
	for _, ns := range []string{"a", "b"} {
		m.Transition(Subject{Namespace: ns, CreatedAt: start}, runningRecord(nil), overRecord(lifecycle.Failing, lifecycle.Infrastructure, lifecycle.ReasonDriverEvicted), at(50))
		m.Transition(Subject{Namespace: ns, CreatedAt: start}, runningRecord(nil), overRecord(lifecycle.Failing, lifecycle.Evicted, "Preempted"), at(50))
	}
	want := []string{
		"spark_application_attempts_total namespace=a,outcome=Evicted 1", "spark_application_attempts_total namespace=a,outcome=Infrastructure 1",
		"spark_application_attempts_total namespace=b,outcome=Evicted 1", "spark_application_attempts_total namespace=b,outcome=Infrastructure 1",
		"spark_application_driver_evictions_total by=cluster,namespace=a 1", "spark_application_driver_evictions_total by=cluster,namespace=b 1",
		"spark_application_driver_evictions_total by=scheduler,namespace=a 1", "spark_application_driver_evictions_total by=scheduler,namespace=b 1",
	}
	if diff := cmp.Diff(want, samples(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What one stored transition costs, here the busiest: a first driver starts.
func BenchmarkTransition(b *testing.B) {
	m := New(configured(func(c *config.Metrics) { c.Labels = []string{"app_type", "namespace"} }))
	s := Subject{Namespace: "jobs", CreatedAt: start, Labels: map[string]string{"app-type": "etl", "app": "pi", "version": "1", "team": "a"}}
	queued := record{State: lifecycle.Queued, Attempt: 1, QueuedAt: at(1)}
	to := runningRecord(nil)
	b.ReportAllocs()
	for b.Loop() {
		m.Transition(s, queued, to, at(50))
	}
}
