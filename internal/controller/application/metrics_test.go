// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// measured gives the harness's operator metrics of its own, as a process that leads has.
func (w *harness) measured() *metrics.Metrics { return w.measuredWhile(always) }

// measuredWhile has gauges while it leads.
func (w *harness) measuredWhile(leads func() bool) *metrics.Metrics {
	m := metrics.New(config.Metrics{MaxLabelValues: 10, JobSubmitLatencyBuckets: []float64{1}, JobStartLatencyBuckets: []float64{1}})
	w.engine.Metrics = m
	m.Observe(w.engine.applications(leads))
	w.engine.Writer.Client = operator.CountWrites(w.engine.Writer.Client, m, w.clock, w.c.Scheme())
	return m
}

func always() bool { return true }

func TestMetricsOfALifecycle(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	m := w.measured()
	w.reconcile()
	w.pass(time.Minute)
	waiting := testutil.Scrape(t, m)
	for name, want := range map[string]float64{
		"spark_applications Submitted": 1, "spark_applications_waiting  DriverPending plain": 1, "spark_applications_longest_wait_seconds DriverPending": 60,
		"spark_application_count": 1, "spark_application_submit_count": 1,
	} {
		if waiting[name] != want {
			t.Errorf("while the driver waits: %s is %v, want %v", name, waiting[name], want)
		}
	}
	w.kubelet(corev1.PodRunning, running())
	w.executor("pi-exec-1", corev1.PodRunning)
	w.reconcile()
	if got := testutil.Scrape(t, m); got["spark_executor_running_count"] != 1 || got["spark_executors Running"] != 1 || got["spark_application_running_count"] != 1 || got["spark_applications_waiting  DriverPending plain"] != 0 {
		t.Errorf("while it runs: %v", got)
	}
	w.executor("pi-exec-1", corev1.PodSucceeded)
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.settle()
	want := map[string]float64{
		"spark_application_count": 1, "spark_application_submit_count": 1, "spark_application_success_count": 1,
		"spark_application_success_execution_time_seconds": 1, "spark_application_submit_latency_seconds": 1, "spark_application_submit_latency_seconds_histogram": 1,
		"spark_application_start_latency_seconds": 1, "spark_application_start_latency_seconds_histogram": 1,
		"spark_application_queue_wait_seconds": 1, "spark_application_ready_seconds": 1, "spark_application_driver_ready_seconds": 1,
		"spark_application_attempts_total Succeeded": 1, "spark_executor_success_count": 1, "spark_applications Succeeded": 1, "spark_operator_leading": 1,
		"spark_operator_api_write_duration_seconds pods OK create": 1, "spark_operator_api_write_duration_seconds configmaps OK create": 1,
		"spark_operator_api_write_duration_seconds services OK create": 1, "spark_operator_api_write_duration_seconds sparkapplications/status OK patch": 3,
	}
	got := testutil.Scrape(t, m)
	if got["spark_operator_decide_seconds"] < got["spark_operator_reconcile_api_writes"] || got["spark_operator_decide_seconds"] < 3 {
		t.Errorf("each of the reconciles decides: %v and %v", got["spark_operator_decide_seconds"], got["spark_operator_reconcile_api_writes"])
	}
	delete(got, "spark_operator_decide_seconds")
	delete(got, "spark_operator_reconcile_api_writes")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
}

// The Kubeflow operator counts again what it finds when it starts.
func TestMetricsAfterARestart(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.measured()
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.executor("pi-exec-1", corev1.PodRunning)
	w.executor("pi-exec-2", corev1.PodSucceeded)
	w.pass(time.Minute)
	w.reconcile()
	w.restart()
	m := w.measured()
	w.settle()
	want := map[string]float64{"spark_application_running_count": 1, "spark_applications Running": 1, "spark_executor_running_count": 1, "spark_executors Running": 1, "spark_operator_leading": 1}
	got := testutil.Scrape(t, m)
	delete(got, "spark_operator_decide_seconds")
	delete(got, "spark_operator_reconcile_api_writes")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gauges are right at once, and nothing is counted twice (-want +got):\n%s", diff)
	}
}

// What was not stored did not happen: the transition comes again, and is counted then.
func TestMetricsOfARefusedWrite(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	m := w.measured()
	w.patchFails = apierrors.NewConflict(schema.GroupResource{Resource: "sparkapplications"}, "pi", errors.New("changed"))
	w.reconcile()
	if got := testutil.Scrape(t, m); got["spark_application_count"] != 0 || got["spark_application_submit_count"] != 0 || got["spark_operator_api_write_duration_seconds sparkapplications/status Conflict patch"] != 1 {
		t.Errorf("without the status: %v", got)
	}
	w.patchFails = nil
	w.pass(time.Second)
	w.settle()
	if got := testutil.Scrape(t, m); got["spark_application_count"] != 1 || got["spark_application_submit_count"] != 1 {
		t.Errorf("with the status: %v", got)
	}
}

func TestStandbyHasNoGauges(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	leads := false
	m := w.measuredWhile(func() bool { return leads })
	if got := testutil.Scrape(t, m); len(got) != 0 {
		t.Errorf("a standby reports %v", got)
	}
	leads = true
	if got := testutil.Scrape(t, m); got["spark_applications New"] != 1 {
		t.Errorf("a leader reports %v", got)
	}
}

// With a selector of namespaces the cache holds all applications of the cluster. Those elsewhere are counted by anyone who runs
// them, and those of a namespace that was taken away by no one: an alert about them would never end.
func TestGaugesAreOfTheOperatorsNamespaces(t *testing.T) {
	theirs, running := testutil.Pi(), testutil.Pi()
	theirs.Namespace, running.Namespace, running.Name = "theirs", "theirs", "running"
	running.Status = v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "RUNNING"}, ExecutionAttempts: 1, Executors: &v1beta2.ExecutorSummary{Running: 2}}
	all := map[string]float64{
		"spark_applications New": 2, "spark_applications_waiting  NotSubmitted Unknown": 2, "spark_applications Running": 1, "spark_application_running_count": 1,
		"spark_executors Running": 2, "spark_executor_running_count": 2, "spark_operator_leading": 1,
	}
	mine := map[string]float64{"spark_applications New": 1, "spark_applications_waiting  NotSubmitted Unknown": 1, "spark_operator_leading": 1}
	cases := map[string]struct {
		reason  string
		watches func(string) bool
		want    map[string]float64
	}{
		"All":      {"an operator for the whole cluster", nil, all},
		"Matching": {"of the namespaces that match", func(namespace string) bool { return namespace == "jobs" }, mine},
		"None":     {"the last namespace was taken out", func(string) bool { return false }, map[string]float64{"spark_operator_leading": 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, testutil.Pi(), theirs, running)
			m := w.measured()
			w.engine.Watches = tc.watches
			if diff := cmp.Diff(tc.want, testutil.Scrape(t, m)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWaitingFor(t *testing.T) {
	ready := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: "DriverReady", Status: metav1.ConditionFalse, Reason: reason}}
	}
	since := &metav1.Time{Time: start.Add(-time.Hour)}
	cases := map[string]struct {
		reason string
		status v1beta2.SparkApplicationStatus
		want   metrics.View
	}{
		"New":     {reason: "no one has looked yet", want: metrics.View{Reason: "NotSubmitted"}},
		"Queued":  {reason: "for what it waits and since when", status: v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "SUBMITTED"}, Attempt: 1, Cause: &v1beta2.CauseStatus{Reason: "QuotaExceeded"}, Conditions: ready("NotSubmitted"), Scheduling: &v1beta2.SchedulingStatus{QueuedAt: since}}, want: metrics.View{State: "Queued", Reason: "QuotaExceeded", Waiting: time.Hour}},
		"Pending": {reason: "what the pod waits for", status: v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "SUBMITTED"}, ExecutionAttempts: 1, Attempt: 1, LastSubmissionAttemptTime: *since, Conditions: ready("Unschedulable")}, want: metrics.View{State: "Submitted", Reason: "Unschedulable", Waiting: time.Hour}},
		"Foreign": {reason: "a previous operator has no conditions", status: v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "SUBMITTED"}, ExecutionAttempts: 1}, want: metrics.View{State: "Submitted", Reason: "DriverPending"}},
		"Running": {reason: "it does not wait", status: v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "RUNNING"}, Executors: &v1beta2.ExecutorSummary{Running: 2, Pending: 1}, Scheduling: &v1beta2.SchedulingStatus{QueuedAt: since}}, want: metrics.View{State: "Running", Pending: 1, Running: 2}},
		"Over":    {reason: "what is over has no executors", status: v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "FAILED"}, Executors: &v1beta2.ExecutorSummary{Running: 2}}, want: metrics.View{State: "Failed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := Engine[*v1beta2.SparkApplication]{Kind: kubeflow.SparkApplications{}}
			if diff := cmp.Diff(tc.want, e.view(&v1beta2.SparkApplication{Status: tc.status}, start)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestViewOfServers(t *testing.T) {
	run := func(state, reason string) *v1beta2.SparkApplicationStatus {
		return &v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateType(state)}, ExecutionAttempts: 1, Attempt: 1, Cause: &v1beta2.CauseStatus{Reason: reason}}
	}
	condition := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: "DriverReady", Reason: reason}}
	}
	at := &metav1.Time{Time: start}
	cases := map[string]struct {
		reason string
		status v1alpha1.SparkConnectStatus
		want   metrics.View
	}{
		"Ready":    {"it accepts clients", v1alpha1.SparkConnectStatus{Run: run("RUNNING", ""), Conditions: condition("DriverRunning")}, metrics.View{State: "Running", Ready: true}},
		"NotReady": {"it does not, and waits for nothing else", v1alpha1.SparkConnectStatus{Run: run("RUNNING", ""), Conditions: condition("DriverNotReady")}, metrics.View{State: "Running"}},
		"Draining": {"not for long", v1alpha1.SparkConnectStatus{Run: run("RUNNING", ""), Conditions: condition("DriverRunning"), DrainSince: at}, metrics.View{State: "Running", Ready: true, Draining: true}},
		"Idle":     {"stopped", v1alpha1.SparkConnectStatus{Run: run("SUSPENDED", "Idle"), Idle: &v1alpha1.IdleStatus{StoppedAt: at}}, metrics.View{State: "Suspended", Idle: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := Engine[*v1alpha1.SparkConnect]{Kind: kubeflow.SparkConnects{}}
			if diff := cmp.Diff(tc.want, e.view(&v1alpha1.SparkConnect{Status: tc.status}, start)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	e := Engine[*v1alpha1.SparkConnect]{Kind: kubeflow.SparkConnects{}}
	if s := e.subject(&v1alpha1.SparkConnect{}); !s.Server {
		t.Errorf("%+v", s)
	}
}

// many returns running applications as a status has them.
func many(n int) []runtime.Object {
	all := make([]runtime.Object, n)
	for i := range all {
		o := testutil.Pi()
		o.Name, o.Labels = "pi-"+strconv.Itoa(i), map[string]string{"app-type": fmt.Sprintf("type%d", i%5), "app": "pi"}
		o.Status = v1beta2.SparkApplicationStatus{
			AppState: v1beta2.ApplicationState{State: "RUNNING"}, ExecutionAttempts: 1, SubmissionAttempts: 1, Attempt: 1, SubmissionID: "s",
			Attempts:  []v1beta2.AttemptStatus{{Attempt: 1, SubmissionID: "s"}},
			Executors: &v1beta2.ExecutorSummary{Running: 3}, ExecutorState: map[string]v1beta2.ExecutorState{"a-exec-1": "RUNNING", "a-exec-2": "RUNNING", "a-exec-3": "RUNNING"},
			Conditions: []metav1.Condition{{Type: "Admitted"}, {Type: "Submitted"}, {Type: "DriverReady"}, {Type: "ExecutorsReady"}, {Type: "Suspended"}, {Type: "Reconciling"}, {Type: "Stalled"}, {Type: "Succeeded", Status: "Unknown", Reason: "InProgress"}},
			Scheduling: &v1beta2.SchedulingStatus{Scheduler: "kube", QueuedAt: &metav1.Time{Time: start}},
		}
		all[i] = o
	}
	return all
}

// cached is a reader that lists as the cache does without copying.
type cached struct {
	client.Reader
	objects []runtime.Object
}

func (c cached) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if o := (&client.ListOptions{}).ApplyOptions(opts); o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		return errors.New("this copies 10,000 objects")
	}
	return meta.SetList(list, c.objects)
}

// A scrape of a large cluster.
func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			e := Engine[*v1beta2.SparkApplication]{Kind: kubeflow.SparkApplications{}, Cache: cached{objects: many(n)}, List: &v1beta2.SparkApplicationList{}, Clock: clock.RealClock{}}
			m := metrics.New(config.Metrics{Labels: []string{"app_type", "namespace"}, MaxLabelValues: 10, JobSubmitLatencyBuckets: []float64{1}, JobStartLatencyBuckets: []float64{1}})
			m.Observe(e.applications(always))
			registry := prometheus.NewRegistry()
			registry.MustRegister(m)
			b.ReportAllocs()
			for b.Loop() {
				all, err := registry.Gather()
				if err != nil || len(all) < 4 {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}
