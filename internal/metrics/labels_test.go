// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

func contextOf() context.Context { return context.Background() }

func TestLabels(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    string
		labels map[string]string
		want   string
	}{
		"Exact":     {reason: "the very label", key: "app_type", labels: map[string]string{"app_type": "etl", "app-type": "x"}, want: "etl"},
		"Dash":      {reason: "as the Kubeflow operator matches", key: "app_type", labels: map[string]string{"app-type": "etl"}, want: "etl"},
		"Key":       {reason: "the key may be written as Kubernetes has it", key: "team.example.com/cost", labels: map[string]string{"team.example.com/cost": "42"}, want: "42"},
		"Converted": {reason: "or as Prometheus has it", key: "team_example_com_cost", labels: map[string]string{"team.example.com/cost": "42"}, want: "42"},
		"Several":   {reason: "always the same one of several", key: "app_type", labels: map[string]string{"app.type": "b", "app-type": "a"}, want: "a"},
		"Digit":     {reason: "a key that begins with a digit", key: "_2nd", labels: map[string]string{"2nd": "b"}, want: "b"},
		"NotDigit":  {reason: "another key", key: "xxxx", labels: map[string]string{"2nd": "b"}, want: "Unknown"},
		"Similar":   {reason: "a letter is no sign", key: "app_type", labels: map[string]string{"appxtype": "a"}, want: "Unknown"},
		"None":      {reason: "as the Kubeflow operator calls it", key: "app_type", labels: map[string]string{"app": "a"}, want: "Unknown"},
		"Empty":     {reason: "an empty label is none to Prometheus", key: "app_type", labels: map[string]string{"app_type": ""}, want: "Unknown"},
		"Namespace": {reason: "the application's, whatever its labels", key: "namespace", labels: map[string]string{"namespace": "mine"}, want: "jobs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLimiter([]string{tc.key}, 10)
			if diff := cmp.Diff([]string{tc.want}, l.values(Subject{Namespace: "jobs", Labels: tc.labels})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLabelsAreBounded(t *testing.T) {
	l := newLimiter([]string{"namespace", "app_type"}, 2)
	var got [][]string
	for _, s := range []Subject{
		{Namespace: "a", Labels: map[string]string{"app_type": "x"}}, {Namespace: "b"}, {Namespace: "c", Labels: map[string]string{"app_type": "y"}},
		{Namespace: "a", Labels: map[string]string{"app_type": "z"}}, {Namespace: "d", Labels: map[string]string{"app_type": "x"}},
	} {
		got = append(got, l.values(s))
	}
	want := [][]string{{"a", "x"}, {"b", "Unknown"}, {"Other", "y"}, {"a", "Other"}, {"Other", "x"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each label has two values of its own, and who came first keeps them (-want +got):\n%s", diff)
	}
}

// What one namespace writes does not turn the values of others to Other, and its series do not stay.
func TestLabelsAreShared(t *testing.T) {
	m := New(configured(func(c *config.Metrics) { c.Labels, c.MaxLabelValues = []string{"app_type"}, 10 }))
	begins := func(namespace, appType string) {
		m.Transition(Subject{Namespace: namespace, Labels: map[string]string{"app_type": appType}}, lifecycle.Record{}, lifecycle.Record{State: lifecycle.Queued}, time.Time{})
	}
	begins("a", "etl")
	for i := range 1000 {
		begins("hostile", fmt.Sprintf("junk-%d", i))
	}
	begins("b", "report")
	begins("b", "query")
	for range 10 {
		begins("hostile", "junk-8") // evicted, and has no way back
	}
	want := []string{
		"spark_application_count app_type=Other 1001", "spark_application_count app_type=etl 1", "spark_application_count app_type=query 1", "spark_application_count app_type=report 1",
	}
	for i := range 7 {
		want = append(want, fmt.Sprintf("spark_application_count app_type=junk-%d 1", i))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, samples(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// means must agree with the name that the configuration makes of a key.
func FuzzMeans(f *testing.F) {
	for _, key := range []string{"app_type", "a-b/c.d", "1a", "", "_", "ü", "x1", strings.Repeat("-", 1_000_000)} {
		f.Add(key, "app_type")
	}
	f.Fuzz(func(t *testing.T, key, other string) {
		defer heaptest.Bound(t, len(key)+len(other))()
		name := config.LabelName(key)
		for _, r := range key {
			if r > 127 {
				return // no label of Kubernetes
			}
		}
		if !means(key, name) {
			t.Errorf("%q does not mean its own name %q", key, name)
		}
		if name != other && other == config.LabelName(other) && means(key, other) { // it is asked of names only
			t.Errorf("%q means %q, and its name is %q", key, other, name)
		}
	})
}

func TestGauges(t *testing.T) {
	etl, none := Subject{Namespace: "a", Labels: map[string]string{"app-type": "etl"}}, Subject{Namespace: "a"}
	apps := func(each func(Subject, View)) bool {
		each(etl, View{State: lifecycle.Running, Pending: 1, Running: 3})
		each(etl, View{State: lifecycle.Running, Running: 2})
		each(etl, View{State: lifecycle.Queued, Reason: "QuotaExceeded", Scheduler: "gang", Queue: "a", Waiting: time.Minute})
		each(etl, View{State: lifecycle.Queued, Reason: "QuotaExceeded", Scheduler: "gang", Queue: "b", Waiting: time.Hour})
		each(etl, View{State: lifecycle.Queued, Reason: "QuotaExceeded", Scheduler: "gang", Queue: "b"})
		each(etl, View{State: lifecycle.Submitted, Reason: "Unschedulable", Waiting: time.Second})
		each(none, View{})
		return true
	}
	cases := map[string]struct {
		reason string
		labels []string
		source Source
		want   []string
	}{
		"Labels": {reason: "a row for each value", labels: []string{"app_type"}, source: apps, want: []string{
			"spark_application_running_count app_type=Unknown 0", "spark_application_running_count app_type=etl 2",
			"spark_applications app_type=Unknown,state=New 1", "spark_applications app_type=etl,state=Queued 3",
			"spark_applications app_type=etl,state=Running 2", "spark_applications app_type=etl,state=Submitted 1",
			"spark_applications_longest_wait_seconds app_type=etl,reason=QuotaExceeded 3600", "spark_applications_longest_wait_seconds app_type=etl,reason=Unschedulable 1",
			"spark_applications_waiting app_type=etl,queue=,reason=Unschedulable,scheduler=Unknown 1",
			"spark_applications_waiting app_type=etl,queue=a,reason=QuotaExceeded,scheduler=gang 1", "spark_applications_waiting app_type=etl,queue=b,reason=QuotaExceeded,scheduler=gang 2",
			"spark_executor_running_count app_type=Unknown 0", "spark_executor_running_count app_type=etl 5",
			"spark_executors app_type=Unknown,state=Pending 0", "spark_executors app_type=Unknown,state=Running 0",
			"spark_executors app_type=etl,state=Pending 1", "spark_executors app_type=etl,state=Running 5",
			"spark_operator_leading 1",
		}},
		"Empty": {reason: "without labels an empty cluster has zeros", source: func(func(Subject, View)) bool { return true }, want: []string{
			"spark_application_running_count 0", "spark_executor_running_count 0", "spark_executors state=Pending 0", "spark_executors state=Running 0", "spark_operator_leading 1",
		}},
		"Standby":  {reason: "it says so, and nothing else", source: func(func(Subject, View)) bool { return false }, want: []string{"spark_operator_leading 0"}},
		"NoSource": {reason: "no one to ask"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := New(configured(func(c *config.Metrics) { c.Labels = tc.labels }))
			if tc.source != nil {
				m.Observe(tc.source)
			}
			if diff := cmp.Diff(tc.want, samples(t, m)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, samples(t, m)); diff != "" {
				t.Errorf("%s: the second look is different (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Users write the names of schedulers and queues, and plugins the reasons: however many there are, so many rows.
func TestPlacesOfWaitsAreBounded(t *testing.T) {
	cases := map[string]struct {
		reason string
		view   func(string) View
		bound  int
		other  string
	}{
		"Reasons":    {reason: "plugins may add some", view: func(s string) View { return View{Reason: s} }, bound: maxReasons, other: "queue=,reason=Other,scheduler=Unknown"},
		"Queues":     {reason: "a mistake is a name, too", view: func(s string) View { return View{Reason: "QueueNotFound", Scheduler: "gang", Queue: s} }, bound: maxQueues, other: "queue=Other,reason=QueueNotFound,scheduler=gang"},
		"Schedulers": {reason: "so it is of a scheduler", view: func(s string) View { return View{Reason: "SchedulerUnknown", Scheduler: s} }, bound: maxSchedulers, other: "queue=,reason=SchedulerUnknown,scheduler=Other"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := New(configured(nil))
			m.Observe(func(each func(Subject, View)) bool {
				for i := range 3 * tc.bound {
					v := tc.view(fmt.Sprintf("Name%d", i))
					v.State = lifecycle.Queued
					each(Subject{}, v)
				}
				return true
			})
			rows, others := 0, ""
			for _, s := range samples(t, m) {
				if strings.HasPrefix(s, "spark_applications_waiting ") {
					rows++
				}
				if strings.HasPrefix(s, "spark_applications_waiting "+tc.other) {
					others = s
				}
			}
			if want := fmt.Sprintf("spark_applications_waiting %s %d", tc.other, 2*tc.bound); rows != tc.bound+1 || others != want {
				t.Errorf("%s: %d rows, want %d; %q, want %q", tc.reason, rows, tc.bound+1, others, want)
			}
		})
	}
}

func TestWrites(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"OK":       {reason: "no error", want: "OK"},
		"Conflict": {reason: "the API server's word", err: apierrors.NewConflict(resource, "a", errors.New("x")), want: "Conflict"},
		"Wrapped":  {reason: "an error around it", err: fmt.Errorf("x: %w", apierrors.NewNotFound(resource, "a")), want: "NotFound"},
		"Webhook":  {reason: "a webhook may say anything", err: &apierrors.StatusError{ErrStatus: metav1.Status{Reason: "pod-7 is not welcome"}}, want: "Other"},
		"Network":  {reason: "no answer", err: errors.New("connection refused"), want: "Other"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := New(configured(nil))
			m.Write(contextOf(), "create", "pods", 2*time.Second, tc.err)
			want := []string{"spark_operator_api_write_duration_seconds resource=pods,result=" + tc.want + ",verb=create 1: 2"}
			if diff := cmp.Diff(want, samples(t, m)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReconcile(t *testing.T) {
	m := New(configured(nil))
	ctx, done := m.Reconcile(contextOf())
	m.Write(ctx, "create", "pods", time.Second, nil)
	m.Write(ctx, "patch", "pods", time.Second, nil)
	m.Write(contextOf(), "patch", "pods", time.Second, nil) // another's
	done()
	m.Decided(3 * time.Second)
	want := []string{
		"spark_operator_api_write_duration_seconds resource=pods,result=OK,verb=create 1: 1",
		"spark_operator_api_write_duration_seconds resource=pods,result=OK,verb=patch 2: 2",
		"spark_operator_decide_seconds 1: 3", "spark_operator_reconcile_api_writes 1: 2",
	}
	if diff := cmp.Diff(want, samples(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
