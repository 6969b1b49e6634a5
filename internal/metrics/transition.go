// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Subject is the application of a metric.
type Subject struct {
	Namespace string
	Labels    map[string]string
	CreatedAt time.Time
	// Server is set if the application's drivers serve clients. Drain is the longest time that an edit waits for open sessions.
	Server bool
	Drain  time.Duration
}

// kubeflow has metrics with the names and types of the Kubeflow Spark operator.
type kubeflow struct {
	seen, submitted, refused, succeeded, failed *prometheus.CounterVec
	successTime, failureTime                    *prometheus.SummaryVec
	submitLatency, startLatency                 *prometheus.SummaryVec
	submitHistogram, startHistogram             *prometheus.HistogramVec
	executorsSucceeded, executorsFailed         *prometheus.CounterVec
}

func (m *Metrics) newKubeflow(c config.Metrics) kubeflow {
	kept := func(name, help, when string) Family {
		return Family{Name: name, Kubeflow: true, Help: help, When: when}
	}
	const (
		first  = "the first attempt gets its driver pod, unless one was refused before"
		runs   = "the container of the first attempt's driver is first seen started"
		submit = "Seconds from the creation of an application to that of its first driver pod."
		start  = "Seconds from the creation of an application until the container of its first driver started."
	)
	return kubeflow{
		seen: m.counter(kept("spark_application_count", "Applications that the operator has started to process.",
			"the first status of an application is stored")),
		submitted: m.counter(kept("spark_application_submit_count", "Driver pods created.", "an attempt gets its driver pod")),
		refused:   m.counter(kept("spark_application_failed_submission_count", "Driver pods that the API server refused permanently.", "each refusal")),
		succeeded: m.counter(kept("spark_application_success_count", "Applications that completed.", "into `COMPLETED`")),
		failed:    m.counter(kept("spark_application_failure_count", "Applications that failed.", "into `FAILED`")),
		successTime: m.summary(kept("spark_application_success_execution_time_seconds",
			"Seconds from the creation of the last driver pod to its end, of applications that completed.", "into `COMPLETED`")),
		failureTime: m.summary(kept("spark_application_failure_execution_time_seconds",
			"Seconds from the creation of the last driver pod to its end, of applications that failed.", "into `FAILED`, if it was submitted")),
		submitLatency:      m.summary(kept("spark_application_submit_latency_seconds", submit, first)),
		submitHistogram:    m.histogram(kept("spark_application_submit_latency_seconds_histogram", submit, first), c.JobSubmitLatencyBuckets),
		startLatency:       m.summary(kept("spark_application_start_latency_seconds", start, runs)),
		startHistogram:     m.histogram(kept("spark_application_start_latency_seconds_histogram", start, runs), c.JobStartLatencyBuckets),
		executorsSucceeded: m.counter(kept("spark_executor_success_count", "Executors that succeeded.", "the count of an application's executors grows")),
		executorsFailed:    m.counter(kept("spark_executor_failure_count", "Executors that failed.", "the count of an application's executors grows")),
	}
}

// ours has the metrics of applications that the Kubeflow operator does not have.
type ours struct {
	attempts, retries, evictions  *prometheus.CounterVec
	queueWait, ready, driverReady *prometheus.HistogramVec
}

// Upper bounds in seconds. Times in a status have no fractions of a second.
var (
	waitBuckets  = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 24 * 3600}
	readyBuckets = []float64{1, 2, 3, 5, 8, 13, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800}
)

func (m *Metrics) newOurs() ours {
	return ours{
		attempts: m.counter(Family{
			Name: "spark_application_attempts_total", Labels: []string{"outcome"},
			Help: "Finished attempts, by outcome: Succeeded, Stopped, or the class of the failure.",
			When: "an attempt is over; `Submission`: the API server refused its driver pod",
		}),
		retries: m.counter(Family{
			Name: "spark_application_retries_total", Labels: []string{"class"},
			Help: "Attempts that follow a failure, by the class of the failure.", When: "a retry is counted",
		}),
		evictions: m.counter(Family{
			Name: "spark_application_driver_evictions_total", Labels: []string{"by"},
			Help: "Drivers that were evicted, by the cluster (eviction, preemption, node shutdown) or by the batch scheduler.",
			When: "the attempt is over",
		}),
		queueWait: m.histogram(Family{
			Name: "spark_application_queue_wait_seconds",
			Help: "Seconds that an attempt waited for its driver pod to be created.", When: "an attempt gets its driver pod",
		}, waitBuckets),
		ready: m.histogram(Family{
			Name: "spark_application_ready_seconds",
			Help: "Seconds from the creation of an application until the container of its first driver started.",
			When: "as `spark_application_start_latency_seconds`, with finer buckets",
		}, readyBuckets),
		driverReady: m.histogram(Family{
			Name: "spark_application_driver_ready_seconds",
			Help: "Seconds from the creation of a driver pod until its container started.", When: "a driver's container is first seen started",
		}, readyBuckets),
	}
}

// Transition records a stored status and its predecessor.
func (m *Metrics) Transition(s Subject, from, to lifecycle.Record, now time.Time) {
	if m == nil {
		return
	}
	labels := m.labels.values(s)
	if s.Server {
		m.servers.transition(s, labels, from, to, now)
	}
	if from.State == lifecycle.New && to.State != lifecycle.New && !s.Server {
		m.kubeflow.seen.WithLabelValues(labels...).Inc()
	}
	if submitted(from, to) {
		m.submission(s, labels, to)
	}
	if at, ok := startedAt(from, to, now); ok {
		m.start(s, labels, to, at)
	}
	m.ends(s, labels, from, to)
	if from.State != to.State && !s.Server {
		m.conclusion(labels, to)
	}
	grown(m.kubeflow.executorsSucceeded, labels, from.Counts.Succeeded, to.Counts.Succeeded)
	grown(m.kubeflow.executorsFailed, labels, from.Counts.Failed, to.Counts.Failed)
	for class, n := range to.Retries.Used {
		grown(m.ours.retries, append(labels, string(class)), from.Retries.Used[class], n)
	}
}

// StateChanges records how long an application was in the states that its kind measures.
func (m *Metrics) StateChanges(changes []lifecycle.StateChange) {
	if m == nil {
		return
	}
	for _, c := range changes {
		m.apache.StateChange(c)
	}
}

// grown adds the increase of a count. It ignores a smaller count, which has started again from 0.
func grown(c *prometheus.CounterVec, labels []string, from, to int32) {
	if to > from {
		c.WithLabelValues(labels...).Add(float64(to - from))
	}
}

// submitted reports whether the attempt got its driver pod.
func submitted(from, to lifecycle.Record) bool {
	was, is := from.Current(), to.Current()
	return is != nil && (was == nil || was.Number != is.Number)
}

// startedAt returns when the driver's container started. ok is false if that is not new.
func startedAt(from, to lifecycle.Record, now time.Time) (time.Time, bool) {
	was, is := from.Current(), to.Current()
	if is == nil || from.State == lifecycle.Running || was != nil && was.Number == is.Number && !was.StartedAt.IsZero() {
		return time.Time{}, false
	}
	if !is.StartedAt.IsZero() {
		return is.StartedAt, true
	}
	return now, to.State == lifecycle.Running
}

// firstTry reports whether this is the first driver of an application.
func firstTry(r lifecycle.Record) bool {
	return r.Attempt == 1 && r.Submissions == 1 && r.Executions == 1
}

func (m *Metrics) submission(s Subject, labels []string, to lifecycle.Record) {
	if !s.Server {
		m.kubeflow.submitted.WithLabelValues(labels...).Inc()
	}
	if !to.QueuedAt.IsZero() {
		m.ours.queueWait.WithLabelValues(labels...).Observe(seconds(to.QueuedAt, to.Scheduling.AdmittedAt))
	}
	if firstTry(to) && !s.Server {
		latency := seconds(s.CreatedAt, to.SubmittedAt)
		m.kubeflow.submitLatency.WithLabelValues(labels...).Observe(latency)
		m.kubeflow.submitHistogram.WithLabelValues(labels...).Observe(latency)
	}
}

func (m *Metrics) start(s Subject, labels []string, to lifecycle.Record, at time.Time) {
	m.ours.driverReady.WithLabelValues(labels...).Observe(seconds(to.SubmittedAt, at))
	if firstTry(to) && !s.Server {
		latency := seconds(s.CreatedAt, at)
		m.ours.ready.WithLabelValues(labels...).Observe(latency)
		m.kubeflow.startLatency.WithLabelValues(labels...).Observe(latency)
		m.kubeflow.startHistogram.WithLabelValues(labels...).Observe(latency)
	}
}

// Outcomes of attempts in addition to the failure classes.
const (
	outcomeSucceeded = "Succeeded"
	outcomeStopped   = "Stopped"
)

// ends counts the attempts that have just ended.
func (m *Metrics) ends(s Subject, labels []string, from, to lifecycle.Record) {
	over := map[int32]bool{}
	for _, a := range from.Attempts {
		over[a.Number] = !a.EndedAt.IsZero()
	}
	for _, a := range to.Attempts {
		if a.EndedAt.IsZero() || over[a.Number] {
			continue
		}
		m.ours.attempts.WithLabelValues(append(labels, outcome(a))...).Inc()
		switch {
		case a.Class == lifecycle.Evicted:
			m.ours.evictions.WithLabelValues(append(labels, "scheduler")...).Inc()
		case a.Cause.Reason == lifecycle.ReasonDriverEvicted:
			m.ours.evictions.WithLabelValues(append(labels, "cluster")...).Inc()
		}
	}
	if to.State == lifecycle.SubmissionFailed && (from.State != lifecycle.SubmissionFailed || !to.TerminatedAt.Equal(from.TerminatedAt)) {
		if !s.Server {
			m.kubeflow.refused.WithLabelValues(labels...).Inc()
		}
		m.ours.attempts.WithLabelValues(append(labels, string(lifecycle.Submission))...).Inc()
	}
}

func outcome(a lifecycle.Attempt) string {
	switch {
	case a.Class != "":
		return string(a.Class)
	case a.Cause.Reason == lifecycle.ReasonDriverSucceeded:
		return outcomeSucceeded
	}
	return outcomeStopped
}

func (m *Metrics) conclusion(labels []string, to lifecycle.Record) {
	count, duration := m.kubeflow.succeeded, m.kubeflow.successTime
	switch to.State {
	case lifecycle.Succeeded:
	case lifecycle.Failed:
		count, duration = m.kubeflow.failed, m.kubeflow.failureTime
	default:
		return
	}
	count.WithLabelValues(labels...).Inc()
	if !to.SubmittedAt.IsZero() && !to.TerminatedAt.IsZero() {
		duration.WithLabelValues(labels...).Observe(seconds(to.SubmittedAt, to.TerminatedAt))
	}
}

// seconds is never negative. The API may have dropped the fraction of one of the two times.
func seconds(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }
