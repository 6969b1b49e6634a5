// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func every(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// started is a harness with a running application.
func started(t *testing.T, change func(*v1beta2.SparkApplicationSpec)) *harness {
	t.Helper()
	o := testutil.Pi()
	change(&o.Spec)
	w := newHarness(t, o)
	w.settle()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	if w.state() != "RUNNING" {
		t.Fatalf("state %q", w.state())
	}
	clear(w.writes)
	w.events()
	return w
}

// counters are submissions, executions, the number of the attempt, and how many are in the history.
func (w *harness) counters() [4]int32 {
	s := w.app().Status
	return [4]int32{s.SubmissionAttempts, s.ExecutionAttempts, s.Attempt, int32(len(s.Attempts))}
}

// A failed run is followed by another: the same name, another pod, nothing left of the first but its history.
func TestRetry(t *testing.T) {
	w := started(t, func(s *v1beta2.SparkApplicationSpec) {
		s.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(60))}
	})
	first, before := w.drivers()[0], w.app().Status
	w.kubelet(corev1.PodFailed, exited(3, "Error"))
	r := w.settle()
	if w.state() != "FAILING" || r.RequeueAfter <= 0 || r.RequeueAfter > time.Minute {
		t.Fatalf("state %q, next after %s: want FAILING for the rest of the minute", w.state(), r.RequeueAfter)
	}
	w.pass(r.RequeueAfter)
	w.settle()
	second := w.drivers()
	if len(second) != 1 || second[0].Name != "pi-driver" || second[0].UID == first.UID || w.state() != "SUBMITTED" {
		t.Fatalf("state %q, drivers %v", w.state(), second)
	}
	if diff := cmp.Diff([4]int32{2, 2, 2, 2}, w.counters()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	s := w.app().Status
	if s.SubmissionID == before.SubmissionID || s.SparkApplicationID == before.SparkApplicationID || second[0].Labels[v1beta2.LabelSubmissionID] != s.SubmissionID {
		t.Errorf("the second attempt has no mark of its own: %q, the first had %q", s.SubmissionID, before.SubmissionID)
	}
	if old, own := w.resources(before.SubmissionID), w.resources(s.SubmissionID); old != 0 || own != 2 {
		t.Errorf("%d objects of the first attempt, %d of the second; want 0 and 2", old, own)
	}
	if a := s.Attempts[0]; a.ExitCode == nil || *a.ExitCode != 3 || a.FailureClass != "Application" || a.SubmissionID != before.SubmissionID || a.EndTime == nil {
		t.Errorf("the first attempt is remembered as %+v", a)
	}
	if !s.TerminationTime.IsZero() || s.AppState.ErrorMessage != "" || len(s.ExecutorState) != 0 {
		t.Errorf("the second attempt shows the end of the first: %+v", s)
	}
	w.kubelet(corev1.PodFailed, exited(4, "Error"))
	w.settle()
	if w.state() != "FAILED" || len(w.drivers()) != 1 || w.counters() != [4]int32{2, 2, 2, 2} {
		t.Errorf("state %q with %d drivers, counters %v: the budget is used up, and the pod is kept for its log", w.state(), len(w.drivers()), w.counters())
	}
}

// A driver that ran out of memory runs again with more.
func TestMoreMemory(t *testing.T) {
	w := started(t, func(s *v1beta2.SparkApplicationSpec) {
		s.Driver.Memory = new("1g")
		s.RestartPolicy.OutOfMemory = &v1beta2.OutOfMemoryRule{RetryRule: v1beta2.RetryRule{Retries: 2, Backoff: &v1beta2.Backoff{Initial: every(time.Second)}}, MemoryFactor: new("2"), MaxMemory: new("3g")}
	})
	for _, want := range []string{"2432Mi", "3456Mi"} {
		w.kubelet(corev1.PodFailed, exited(137, "OOMKilled"))
		w.settle()
		if got := w.drivers()[0].Spec.Containers[0].Resources.Limits.Memory().String(); got != want {
			t.Errorf("the next driver has %s, want %s", got, want)
		}
	}
	if r := w.app().Status.Retries; r == nil || r.OutOfMemory != 2 || r.MemoryRaises != 2 {
		t.Errorf("retries %+v", r)
	}
	w.kubelet(corev1.PodFailed, exited(137, "OOMKilled"))
	w.settle()
	if w.state() != "FAILED" {
		t.Errorf("state %q after the last retry", w.state())
	}
}

func TestSuspendAndResume(t *testing.T) {
	w := started(t, func(*v1beta2.SparkApplicationSpec) {})
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = new(true) })
	w.settle()
	if w.state() != "SUSPENDED" || len(w.drivers()) != 0 || w.writes["delete *v1.Pod"] != 1 {
		t.Fatalf("state %q with %d drivers, writes %v", w.state(), len(w.drivers()), w.writes)
	}
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = new(false) })
	w.settle()
	if w.state() != "SUBMITTED" || len(w.drivers()) != 1 || w.counters() != [4]int32{2, 2, 2, 2} {
		t.Errorf("state %q with %d drivers, counters %v", w.state(), len(w.drivers()), w.counters())
	}
	if r := w.app().Status.Retries; r != nil {
		t.Errorf("the user's will used up a budget: %+v", r)
	}
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.settle()
	if w.state() != "COMPLETED" {
		t.Errorf("state %q", w.state())
	}
}

// An edit of what the pods are made from runs the application again, also after its end; one that means the same does not.
func TestInvalidation(t *testing.T) {
	for _, over := range []bool{false, true} {
		w := started(t, func(*v1beta2.SparkApplicationSpec) {})
		if over {
			w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
			w.settle()
		}
		first := w.drivers()[0].UID
		clear(w.writes)
		w.edit(func(o *v1beta2.SparkApplication) { // as the webhook of the Kubeflow operator completes it
			o.Spec.Mode, o.Spec.Driver.Cores, o.Spec.RestartPolicy.Type = "cluster", new(int32(1)), "Never"
		})
		w.settle()
		if diff := cmp.Diff(map[string]int{"status": 1}, w.writes); diff != "" {
			t.Errorf("over: %t: an edit that means the same (-want +got):\n%s", over, diff)
		}
		w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Image = new("other") })
		w.settle()
		if d := w.drivers(); len(d) != 1 || d[0].UID == first || d[0].Spec.Containers[0].Image != "other" {
			t.Fatalf("over: %t: state %q, drivers %v", over, w.state(), d)
		}
		if diff := cmp.Diff([4]int32{1, 1, 2, 2}, w.counters()); diff != "" {
			t.Errorf("over: %t: counters start over, attempts continue (-want +got):\n%s", over, diff)
		}
	}
}

func TestTimeToLive(t *testing.T) {
	w := started(t, func(s *v1beta2.SparkApplicationSpec) { s.TimeToLiveSeconds = new(int64(3600)) })
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	if r := w.settle(); r.RequeueAfter < 59*time.Minute || r.RequeueAfter > time.Hour {
		t.Fatalf("checked again after %s, want the rest of the hour", r.RequeueAfter)
	}
	w.pass(59 * time.Minute)
	w.settle()
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.TimeToLiveSeconds = new(int64(7200)) })
	w.pass(time.Minute)
	if r := w.settle(); w.gone() || r.RequeueAfter > time.Hour {
		t.Fatalf("gone: %t, checked again after %s; a longer time acts at once", w.gone(), r.RequeueAfter)
	}
	w.pass(time.Hour)
	w.reconcile()
	if !w.gone() {
		t.Error("it outlives its time")
	}
	if r := w.reconcile(); r.RequeueAfter != 0 || w.engine.written.Len() != 0 {
		t.Errorf("after the end: next after %s, %d remembered", r.RequeueAfter, w.engine.written.Len())
	}
}

func TestRetention(t *testing.T) {
	w := started(t, func(s *v1beta2.SparkApplicationSpec) {
		s.Retention = &v1beta2.Retention{
			OnFailure: &v1beta2.RetentionTimes{Resources: every(0), DriverPod: every(time.Hour), Application: every(24 * time.Hour)},
			OnSuccess: &v1beta2.RetentionTimes{DriverPod: every(0)},
		}
	})
	id := w.app().Status.SubmissionID
	w.kubelet(corev1.PodFailed, exited(1, "Error"))
	w.settle()
	if n := w.resources(id); n != 0 || len(w.drivers()) != 1 {
		t.Errorf("%d resources and %d drivers: the log is kept for an hour", n, len(w.drivers()))
	}
	w.pass(time.Hour)
	w.settle()
	if len(w.drivers()) != 0 || w.gone() {
		t.Errorf("%d drivers after an hour, gone: %t", len(w.drivers()), w.gone())
	}
	if diff := cmp.Diff([]string{"driverPod", "resources"}, w.app().Status.Released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	if w.state() != "FAILED" || w.app().Status.AppState.ErrorMessage == "" {
		t.Errorf("the end of the pod is no other end: %+v", w.app().Status.AppState)
	}
	w.pass(24 * time.Hour)
	w.reconcile()
	if !w.gone() {
		t.Error("it outlives its time")
	}
}

// A terminal application costs two reads of the cache, and nothing else; also right after a restart.
func TestFinishedCostsCachedReadsOnly(t *testing.T) {
	for _, end := range []corev1.ContainerState{exited(0, "Completed"), exited(1, "Error")} {
		w := started(t, func(s *v1beta2.SparkApplicationSpec) { s.TimeToLiveSeconds = new(int64(3600)) })
		w.kubelet(corev1.PodSucceeded, end)
		w.settle()
		w.restart()
		w.engine.Reader.Live = nil // anyone who asks the API server panics
		clear(w.writes)
		clear(w.reads)
		const looks = 5
		for range looks {
			w.reconcile()
		}
		if diff := cmp.Diff(map[string]int{"get *v1beta2.SparkApplication": looks, "list *v1.PodList": looks}, w.reads); diff != "" {
			t.Errorf("%s: reads (-want +got):\n%s", w.state(), diff)
		}
		if len(w.writes) != 0 || len(w.events()) > 3 {
			t.Errorf("%s: writes %v", w.state(), w.writes)
		}
	}
}

// manyExecutors is a cache with many executors in memory: a fake API server would take longer for them than the test may.
type manyExecutors struct {
	client.Reader
	driver    *corev1.Pod
	executors []corev1.Pod
}

func (h *manyExecutors) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	pods, ok := list.(*corev1.PodList)
	if !ok {
		return h.Reader.List(ctx, list, opts...)
	}
	pods.Items = append([]corev1.Pod{*h.driver}, h.executors...)
	return nil
}

// A thousand executors that come and go for ten minutes: a write each ten seconds at most.
func TestChurnOfAThousandExecutors(t *testing.T) {
	const executors, seconds = 1000, 600
	w := started(t, func(s *v1beta2.SparkApplicationSpec) { s.Executor.Instances = new(int32(executors)) })
	driver := w.drivers()[0]
	h := &manyExecutors{Reader: w.c, driver: &driver}
	for n := range executors {
		h.executors = append(h.executors, corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "jobs", Name: fmt.Sprintf("pi-0123456789abcdef-exec-%d", n+1),
			Labels: map[string]string{"spark-role": "executor", v1beta2.LabelAppName: "pi", v1beta2.LabelSubmissionID: driver.Labels[v1beta2.LabelSubmissionID]},
		}})
	}
	w.engine.Reader.Cache = h
	phases := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}
	for second := range seconds {
		for n := range 25 {
			e := &h.executors[(second*25+n)%executors]
			e.Status.Phase = phases[(second*25+n)/executors%len(phases)]
			if second%7 == 0 { // it is replaced by one with the next number
				e.Name = fmt.Sprintf("pi-0123456789abcdef-exec-%d", executors+second*25+n)
			}
		}
		w.pass(time.Second)
		if r := w.reconcile(); r.RequeueAfter <= 0 {
			t.Fatal("no timer")
		}
	}
	if n := w.writes["status"]; n < seconds/20 || n > seconds/10+1 {
		t.Errorf("%d status writes in %d seconds of churn, want %d at most", n, seconds, seconds/10+1)
	}
	live := 0
	for _, state := range w.app().Status.ExecutorState {
		if state == v1beta2.ExecutorStateRunning || state == v1beta2.ExecutorStatePending {
			live++
		}
	}
	const perLive = len(`"pi-0123456789abcdef-exec-12345":"RUNNING",`)
	n := len(mustJSON(t, w.app().Status))
	t.Logf("%d status writes in %d seconds; the status has %d bytes with %d live executors", w.writes["status"], seconds, n, live)
	if n-live*perLive > 12<<10 {
		t.Errorf("a status of %d bytes beside its live executors", n-live*perLive)
	}
	h.driver.Status = corev1.PodStatus{Phase: corev1.PodSucceeded}
	w.settle()
	if s := w.app().Status; s.AppState.State != "COMPLETED" || s.Executors.Pending+s.Executors.Running+s.Executors.Unknown != 0 {
		t.Errorf("state %q, executors %+v: at the end nothing is left in between", s.AppState.State, s.Executors)
	}
}
