// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// configured are the defaults without labels, changed.
func configured(change func(*config.Metrics)) config.Metrics {
	c := config.Metrics{MaxLabelValues: 100, JobSubmitLatencyBuckets: []float64{1, 2}, JobStartLatencyBuckets: []float64{30, 60}}
	if change != nil {
		change(&c)
	}
	return c
}

// samples are what a scrape shows about applications and the operator's work, without buckets and zeros.
func samples(t *testing.T, m *Metrics) []string {
	t.Helper()
	var out []string
	for _, s := range everySample(t, m) {
		if !strings.Contains(s, "spark_operator_configuration_") && !strings.Contains(s, "spark_operator_events_") && !strings.Contains(s, "spark_operator_large_specs_") {
			out = append(out, s)
		}
	}
	return out
}

// everySample also has those of the configuration, of events and of large specs, which are there from the beginning.
func everySample(t *testing.T, m prometheus.Collector) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, family := range all {
		for _, s := range family.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := strings.TrimSpace(family.GetName() + " " + strings.Join(labels, ","))
			add := func(value string) { out = append(out, name+" "+value) }
			switch {
			case s.GetCounter() != nil:
				add(number(s.GetCounter().GetValue()))
			case s.GetGauge() != nil:
				add(number(s.GetGauge().GetValue()))
			case s.GetHistogram().GetSampleCount() > 0:
				add(fmt.Sprintf("%d: %s", s.GetHistogram().GetSampleCount(), number(s.GetHistogram().GetSampleSum())))
			case s.GetSummary().GetSampleCount() > 0:
				add(fmt.Sprintf("%d: %s", s.GetSummary().GetSampleCount(), number(s.GetSummary().GetSampleSum())))
			}
		}
	}
	return out
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// busy has recorded something in every family.
func busy(c config.Metrics) *Metrics {
	m := New(c)
	s := Subject{Namespace: "jobs", CreatedAt: start}
	ended := func(class lifecycle.FailureClass, reason lifecycle.Reason) lifecycle.Record {
		return lifecycle.Record{
			State: lifecycle.Failed, Attempt: 1, Submissions: 1, Executions: 1, QueuedAt: at(1), SubmittedAt: at(2), TerminatedAt: at(9),
			Scheduling: lifecycle.Scheduling{AdmittedAt: at(2)},
			Attempts:   []lifecycle.Attempt{{Number: 1, StartedAt: at(4), EndedAt: at(9), Class: class, Cause: lifecycle.Cause{Reason: reason}}},
			Counts:     lifecycle.ExecutorCounts{Succeeded: 2, Failed: 1, Total: 3},
			Retries:    lifecycle.Retries{Used: map[lifecycle.FailureClass]int32{class: 1}},
		}
	}
	m.Transition(s, lifecycle.Record{}, ended(lifecycle.Evicted, lifecycle.ReasonDriverEvicted), at(9))
	good := ended("", lifecycle.ReasonDriverSucceeded)
	good.State, good.Retries = lifecycle.Succeeded, lifecycle.Retries{}
	m.Transition(s, lifecycle.Record{}, good, at(9))
	m.Transition(s, lifecycle.Record{}, lifecycle.Record{State: lifecycle.SubmissionFailed, Attempt: 1, Submissions: 1}, at(9))
	m.Observe(func(each func(Subject, View)) bool {
		each(s, View{State: lifecycle.Queued, Reason: "QuotaExceeded", Waiting: time.Minute, Pending: 1, Running: 2})
		return true
	})
	m.Decided(time.Millisecond)
	ctx, done := m.Reconcile(contextOf())
	m.Write(ctx, "create", "pods", time.Millisecond, nil)
	done()
	m.NamespaceWatched("jobs", true)
	m.NamespaceTrouble("jobs")
	m.RunStarted(s, "Schedule")
	m.RunsSkipped(s, "Missed", 3)
	m.RunDelayed(s, time.Second)
	m.ObserveSchedules(func(each func(Subject, string)) { each(s, "Scheduled") })
	m.ObserveLines(func() []scheduler.LineState {
		return []scheduler.LineState{lineState("jobs", "ResourceQuota q", "cpu", 1)}
	})
	server := s
	server.Server = true
	m.Transition(server, runningRecord(func(r *record) { r.DrainSince = at(20) }), runningRecord(func(r *record) {
		r.Cause.Reason, r.Idle.StoppedAt = lifecycle.ReasonWoken, at(30)
	}), at(30))
	m.Observe(func(each func(Subject, View)) bool {
		each(server, View{State: lifecycle.Running, Ready: true})
		return true
	})
	return m
}

// Every family of the list is exposed when something happens, and nothing else is: dashboards, alerts and the documentation
// are compared with the list.
func TestFamiliesAreTold(t *testing.T) {
	m := busy(configured(func(c *config.Metrics) { c.Labels = []string{"namespace"} }))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	gathered, listed := map[string]string{}, map[string]string{}
	for _, f := range all {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		gathered[f.GetName()] = strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, ",") + " " + f.GetHelp()
	}
	for _, f := range m.Families() {
		labels := slices.Clone(f.Labels)
		if !f.Operator {
			labels = append(labels, "namespace")
		}
		slices.Sort(labels)
		listed[f.Name] = f.Type + " " + strings.Join(labels, ",") + " " + f.Help
	}
	if diff := cmp.Diff(listed, gathered); diff != "" {
		t.Errorf("(-listed +gathered):\n%s", diff)
	}
}

// The contract: specification of the Kubeflow operator, section 9.5.
func TestIncumbent(t *testing.T) {
	want := map[string]string{
		"spark_application_count": "counter", "spark_application_submit_count": "counter", "spark_application_failed_submission_count": "counter",
		"spark_application_running_count": "gauge", "spark_application_success_count": "counter", "spark_application_failure_count": "counter",
		"spark_application_success_execution_time_seconds": "summary", "spark_application_failure_execution_time_seconds": "summary",
		"spark_application_submit_latency_seconds": "summary", "spark_application_submit_latency_seconds_histogram": "histogram",
		"spark_application_start_latency_seconds": "summary", "spark_application_start_latency_seconds_histogram": "histogram",
		"spark_executor_running_count": "gauge", "spark_executor_success_count": "counter", "spark_executor_failure_count": "counter",
	}
	got := map[string]string{}
	for _, f := range New(configured(nil)).Families() {
		if f.Kubeflow {
			got[f.Name] = f.Type
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What Prometheus' own linter says of our metrics; the Kubeflow operator's have the names that they have.
func TestLint(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := busy(configured(nil))
	registry.MustRegister(m)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	fromKubeflow := map[string]bool{}
	for _, f := range m.Families() {
		fromKubeflow[f.Name] = f.Kubeflow
	}
	found := 0
	for _, p := range problems {
		if fromKubeflow[p.Metric] {
			found++
			continue
		}
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if found == 0 {
		t.Error("the linter does not even mind the Kubeflow operator's counters without _total: it was not run")
	}
}

// A name says its unit, a text says what it is.
func TestNames(t *testing.T) {
	durations := regexp.MustCompile(`^Seconds `)
	for _, f := range New(configured(nil)).Families() {
		if f.Help == "" || !strings.HasSuffix(f.Help, ".") || f.When == "" {
			t.Errorf("%s is not described: %q, %q", f.Name, f.Help, f.When)
		}
		if !f.Kubeflow && durations.MatchString(f.Help) != strings.HasSuffix(f.Name, "_seconds") {
			t.Errorf("%s: the name or the text has the wrong unit: %q", f.Name, f.Help)
		}
	}
}

func TestPrefix(t *testing.T) {
	m := busy(configured(func(c *config.Metrics) { c.Prefix = "my-team-" }))
	for _, s := range samples(t, m) {
		if !strings.HasPrefix(s, "my_team_spark_") {
			t.Errorf("without the prefix: %s", s)
		}
	}
}

func TestBuckets(t *testing.T) {
	m := New(configured(func(c *config.Metrics) {
		c.JobSubmitLatencyBuckets, c.JobStartLatencyBuckets = []float64{2}, []float64{30}
	}))
	to := lifecycle.Record{
		State: lifecycle.Running, Attempt: 1, Submissions: 1, Executions: 1, SubmittedAt: at(1),
		Attempts: []lifecycle.Attempt{{Number: 1, StartedAt: at(31)}},
	}
	m.Transition(Subject{CreatedAt: start}, lifecycle.Record{}, to, at(40))
	want := `
# HELP spark_application_start_latency_seconds_histogram Seconds from the creation of an application until the container of its first driver started.
# TYPE spark_application_start_latency_seconds_histogram histogram
spark_application_start_latency_seconds_histogram_bucket{le="30"} 0
spark_application_start_latency_seconds_histogram_bucket{le="+Inf"} 1
spark_application_start_latency_seconds_histogram_sum 31
spark_application_start_latency_seconds_histogram_count 1
# HELP spark_application_submit_latency_seconds_histogram Seconds from the creation of an application to that of its first driver pod.
# TYPE spark_application_submit_latency_seconds_histogram histogram
spark_application_submit_latency_seconds_histogram_bucket{le="2"} 1
spark_application_submit_latency_seconds_histogram_bucket{le="+Inf"} 1
spark_application_submit_latency_seconds_histogram_sum 1
spark_application_submit_latency_seconds_histogram_count 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "spark_application_start_latency_seconds_histogram", "spark_application_submit_latency_seconds_histogram"); err != nil {
		t.Error(err)
	}
}

func TestNothingIsRecordedByNil(t *testing.T) {
	var m *Metrics
	m.Transition(Subject{}, lifecycle.Record{}, lifecycle.Record{State: lifecycle.Queued}, start)
	m.Decided(time.Second)
	ctx, done := m.Reconcile(contextOf())
	done()
	if ctx != contextOf() {
		t.Error("there is nothing to count")
	}
}
