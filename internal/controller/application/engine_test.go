// SPDX-License-Identifier: Apache-2.0

package application

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/statuscache"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func TestHappyPath(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	steps := []struct {
		says   string
		do     func()
		state  string
		events []string
	}{
		{says: "created", do: func() {}, state: "SUBMITTED", events: []string{"Normal SparkApplicationSubmitted SparkApplication pi was submitted: driver pod pi-driver was created"}},
		{says: "nothing new", do: func() {}, state: "SUBMITTED"},
		{says: "container runs", do: func() { w.kubelet(corev1.PodRunning, running()) }, state: "RUNNING", events: []string{"Normal SparkDriverRunning Driver pi-driver is running"}},
		{says: "nothing new", do: func() {}, state: "RUNNING"},
		{says: "exit code 0", do: func() { w.kubelet(corev1.PodSucceeded, exited(0, "Completed")) }, state: "COMPLETED", events: []string{"Normal SparkApplicationCompleted SparkApplication pi completed"}},
		{says: "nothing new", do: func() {}, state: "COMPLETED"},
	}
	for _, s := range steps {
		w.pass(10 * time.Second) // a pod that no scheduler looks at for longer is news
		s.do()
		w.reconcile()
		if got := w.state(); got != s.state {
			t.Fatalf("%s: state %q, want %q", s.says, got, s.state)
		}
		if diff := cmp.Diff(s.events, w.events()); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", s.says, diff)
		}
	}
	want := map[string]int{"create *v1.Service": 1, "create *v1.ConfigMap": 1, "create *v1.Pod": 1, "status": 3}
	if diff := cmp.Diff(want, w.writes); diff != "" {
		t.Errorf("the budget is 3 creates and 3 status patches (-want +got):\n%s", diff)
	}
}

func TestStatusOfARunningApplication(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.pass(time.Minute)
	w.kubelet(corev1.PodRunning, running())
	w.executor("pi-exec-1", corev1.PodRunning)
	w.reconcile()
	got, driver := w.app().Status, w.drivers()[0]
	if got.DriverInfo.PodName != "pi-driver" || got.ExecutionAttempts != 1 || got.SubmissionAttempts != 1 || got.ObservedGeneration != 1 {
		t.Errorf("status %+v", got)
	}
	if got.SubmissionID == "" || driver.Labels[v1beta2.LabelSubmissionID] != got.SubmissionID {
		t.Errorf("submission id %q, the driver carries %q", got.SubmissionID, driver.Labels[v1beta2.LabelSubmissionID])
	}
	if got.SparkApplicationID == "" || driver.Labels["spark-app-selector"] != got.SparkApplicationID {
		t.Errorf("Spark's id %q, the driver carries %q", got.SparkApplicationID, driver.Labels["spark-app-selector"])
	}
	if !got.LastSubmissionAttemptTime.Time.Equal(start) {
		t.Errorf("submitted at %s, want %s", got.LastSubmissionAttemptTime, start)
	}
	if diff := cmp.Diff(map[string]v1beta2.ExecutorState{"pi-exec-1": "RUNNING"}, got.ExecutorState); diff != "" {
		t.Errorf("executors (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(&driver); owner == nil || owner.UID != testutil.Pi().UID || owner.Kind != "SparkApplication" || owner.APIVersion != "sparkoperator.k8s.io/v1beta2" {
		t.Errorf("the driver belongs to %+v", owner)
	}
	if driver.Labels[v1beta2.LabelLaunchedBy] != "true" || driver.Labels[v1beta2.LabelAppName] != "pi" {
		t.Errorf("the cache and the watch would miss a driver with the labels %v", driver.Labels)
	}
}

func TestDriverFails(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodFailed, exited(137, "OOMKilled"))
	w.pass(time.Minute)
	w.reconcile()
	w.reconcile()
	const message = "driver container failed with ExitCode: 137, Reason: OOMKilled, Cause: it used more memory than its limit of 1408Mi (heap 1Gi, overhead 384Mi)"
	if got := w.app().Status.AppState; got != (v1beta2.ApplicationState{State: "FAILED", ErrorMessage: message}) {
		t.Errorf("state %+v", got)
	}
	events := w.events()
	if len(events) != 3 || events[1] != "Warning SparkDriverFailed Driver pi-driver failed: "+message || events[2] != "Warning SparkApplicationFailed SparkApplication pi failed: "+message {
		t.Errorf("events %q", events)
	}
	if at := w.app().Status.TerminationTime; !at.Time.Equal(start.Add(time.Minute)) {
		t.Errorf("ended at %s", at)
	}
	if len(w.drivers()) != 1 {
		t.Error("the driver pod of a failure is kept for its log")
	}
}

// The status write is lost and the operator restarts: it recognizes its driver.
func TestRestartAfterLostStatusWrite(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.patchFails = errors.New("connection refused")
	if _, err := w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err == nil {
		t.Fatal("a status that could not be written is to be written again: want an error")
	}
	before := w.drivers()
	if len(before) != 1 || w.state() != "" {
		t.Fatalf("%d drivers, state %q; want one that no one knows of", len(before), w.state())
	}
	w.patchFails = nil
	w.restart()
	w.pass(time.Minute)
	w.reconcile()
	after := w.drivers()
	if len(after) != 1 || after[0].UID != before[0].UID {
		t.Fatalf("%d drivers after the restart, want the one from before", len(after))
	}
	if w.state() != "SUBMITTED" || w.writes["create *v1.Pod"] != 1 {
		t.Errorf("state %q after %d pod creates", w.state(), w.writes["create *v1.Pod"])
	}
	if at := w.app().Status.LastSubmissionAttemptTime; !at.Time.Equal(start) {
		t.Errorf("submitted at %s, want when the driver was created", at)
	}
}

// Events are recorded after the write that they are about.
func TestNoEventWithoutItsWrite(t *testing.T) {
	failures := map[string]struct {
		reason string
		err    error
		silent bool
	}{
		"Conflict": {reason: "someone was faster; the object's own event brings it back", err: apierrors.NewConflict(schema.GroupResource{Resource: "sparkapplications"}, "pi", errors.New("changed")), silent: true},
		"Gone":     {reason: "the object was deleted meanwhile", err: apierrors.NewNotFound(schema.GroupResource{Resource: "sparkapplications"}, "pi"), silent: true},
		"Trouble":  {reason: "it is repeated with back-off", err: apierrors.NewServiceUnavailable("etcd leader changed")},
	}
	for name, tc := range failures {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, testutil.Pi())
			w.patchFails = tc.err
			result, err := w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			if (err == nil) != tc.silent {
				t.Errorf("%s: error %v", tc.reason, err)
			}
			if tc.silent && result.RequeueAfter <= 0 {
				t.Errorf("%s: a lost event would leave it lying", tc.reason)
			}
			if events := w.events(); len(events) != 0 {
				t.Errorf("%s: recorded without having been stored: %q", tc.reason, events)
			}
			w.patchFails = nil
			w.reconcile()
			if events := w.events(); len(events) != 1 || !strings.Contains(events[0], "SparkApplicationSubmitted") {
				t.Errorf("%s: after the write: %q", tc.reason, events)
			}
		})
	}
}

// A real conflict, made by someone who edits the object between our read and our write.
func TestConflictIsSilent(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	edited := false
	w.beforePatch = func() {
		if !edited {
			edited = true
			w.edit(func(o *v1beta2.SparkApplication) { o.Labels = map[string]string{"team": "a"} })
		}
	}
	w.reconcile()
	if w.state() != "" {
		t.Fatalf("state %q was written over a version that no one had seen", w.state())
	}
	w.reconcile()
	if w.state() != "SUBMITTED" || len(w.drivers()) != 1 {
		t.Errorf("state %q with %d drivers", w.state(), len(w.drivers()))
	}
}

func TestNoChangeNoWrite(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.executor("pi-exec-1", corev1.PodRunning)
	w.reconcile()
	before := w.writes["status"]
	for range 5 {
		w.pass(time.Hour)
		if r := w.reconcile(); r.RequeueAfter <= 0 {
			t.Error("a running application has no timer")
		}
	}
	if got := w.writes["status"] - before; got != 0 {
		t.Errorf("%d status writes although nothing changed", got)
	}
}

// Executors that come and go are one write in each window; the driver's changes never wait.
func TestExecutorChurnIsCoalesced(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.pass(time.Minute)
	w.reconcile()
	before := w.writes["status"]
	for i := range 9 {
		w.pass(time.Second)
		w.executor([]string{"e-1", "e-2", "e-3"}[i%3], []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}[i/3])
		if r := w.reconcile(); r.RequeueAfter <= 0 || r.RequeueAfter > statuscache.ChurnWindow {
			t.Fatalf("change %d is to be checked again after %s, want within the window", i, r.RequeueAfter)
		}
	}
	if got := w.writes["status"] - before; got != 0 {
		t.Fatalf("%d status writes inside of the window, want none", got)
	}
	w.pass(time.Second)
	w.reconcile()
	if got := w.writes["status"] - before; got != 1 {
		t.Fatalf("%d status writes at the end of the window, want one", got)
	}
	want := map[string]v1beta2.ExecutorState{"e-1": "FAILED", "e-2": "FAILED", "e-3": "FAILED"}
	if diff := cmp.Diff(want, w.app().Status.ExecutorState); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.executor("e-4", corev1.PodRunning)
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.reconcile()
	if w.state() != "COMPLETED" || w.app().Status.ExecutorState["e-4"] != "COMPLETED" {
		t.Errorf("state %q, executors %v: the driver's end waits for nothing", w.state(), w.app().Status.ExecutorState)
	}
}

func TestGoneApplication(t *testing.T) {
	w := newHarness(t)
	if r := w.reconcile(); r != (reconcile.Result{}) {
		t.Errorf("result %+v for an application that does not exist", r)
	}
}

// A finished application costs nothing, and its pods may be deleted.
func TestFinishedApplicationIsLeftAlone(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.reconcile()
	w.reconcile()
	if err := w.c.Delete(t.Context(), &w.drivers()[0]); err != nil {
		t.Fatal(err)
	}
	clear(w.writes)
	if r := w.reconcile(); r.RequeueAfter != 0 {
		t.Errorf("checked again after %s", r.RequeueAfter)
	}
	w.edit(func(o *v1beta2.SparkApplication) {
		o.Spec.Suspend, o.Spec.RestartPolicy.OnFailureRetries = new(true), new(int32(3))
	})
	for range 3 {
		w.reconcile()
	}
	if diff := cmp.Diff(map[string]int{"status": 1}, w.writes); diff != "" {
		t.Errorf("the edit of what acts on what is over is noted and no more (-want +got):\n%s", diff)
	}
	if w.state() != "COMPLETED" || len(w.drivers()) != 0 {
		t.Errorf("state %q with %d drivers", w.state(), len(w.drivers()))
	}
}

func TestWaits(t *testing.T) {
	full := scheduler.Admission{Verdict: scheduler.Wait, Reason: "QueueFull", Message: "3 applications ahead", RetryAfter: 7 * time.Second}
	cases := map[string]struct {
		reason string
		change func(*v1beta2.SparkApplication)
		plugin scheduler.Admission
		state  string
		code   string
		says   string
		// fix makes it go.
		fix func(*v1beta2.SparkApplication)
	}{
		"Suspended":  {reason: "the user holds it back", change: func(o *v1beta2.SparkApplication) { o.Spec.Suspend = new(true) }, plugin: goAhead, state: "SUBMITTED", code: "Suspended", says: "spec.suspend is true", fix: func(o *v1beta2.SparkApplication) { o.Spec.Suspend = nil }},
		"Unknown":    {reason: "no such scheduler", change: func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("vulcano") }, plugin: goAhead, state: "SUBMITTED", code: "SchedulerUnknown", says: `"vulcano" is not known to this operator; known: plain`, fix: func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = nil }},
		"Full":       {reason: "the scheduler says later", change: func(*v1beta2.SparkApplication) {}, plugin: full, state: "SUBMITTED", code: "QueueFull", says: "3 applications ahead"},
		"Invalid":    {reason: "a spec that cannot run", change: func(o *v1beta2.SparkApplication) { o.Spec.Driver.Memory = new("2gb") }, plugin: goAhead, state: "FAILED", code: "InvalidSpec", says: `spec.driver.memory: "2gb"`, fix: func(o *v1beta2.SparkApplication) { o.Spec.Driver.Memory = nil }},
		"Never":      {reason: "the scheduler says never", change: func(*v1beta2.SparkApplication) {}, plugin: scheduler.Admission{Verdict: scheduler.Reject, Reason: "TooLarge", Message: "larger than the cluster"}, state: "FAILED", code: "TooLarge", says: "larger than the cluster"},
		"ClientMode": {reason: "a problem of the conversion", change: func(o *v1beta2.SparkApplication) { o.Spec.Mode = "client" }, plugin: goAhead, state: "FAILED", code: "InvalidSpec", says: `spec.mode: "client"`, fix: func(o *v1beta2.SparkApplication) { o.Spec.Mode = "cluster" }},
		"NoMainFile": {reason: "what only the submission finds", change: func(o *v1beta2.SparkApplication) { o.Spec.MainApplicationFile = nil; o.Spec.MainClass = nil }, plugin: goAhead, state: "FAILED", code: "InvalidSpec", says: "spec.main", fix: func(o *v1beta2.SparkApplication) { o.Spec = testutil.Pi().Spec }},
		"Malformed":  {reason: "a shape that cannot be computed", change: func(o *v1beta2.SparkApplication) { o.Spec.Executor.Memory = new("lots") }, plugin: goAhead, state: "FAILED", code: "InvalidSpec", says: `spec.executor.memory: "lots"`, fix: func(o *v1beta2.SparkApplication) { o.Spec.Executor.Memory = nil }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.change(o)
			w := newHarness(t, o)
			w.plugin = plain{tc.plugin}
			w.restart()
			r := w.reconcile()
			if w.state() != tc.state || r.RequeueAfter <= 0 || len(w.drivers()) != 0 {
				t.Errorf("%s: state %q, next after %s, %d drivers", tc.reason, w.state(), r.RequeueAfter, len(w.drivers()))
			}
			if r = w.reconcile(); (r.RequeueAfter > 0) != (tc.state != "FAILED") {
				t.Errorf("%s: state %q, and a second look is followed by another after %s", tc.reason, w.state(), r.RequeueAfter)
			}
			for _, c := range w.app().Status.Conditions {
				if c.Type == "Succeeded" && (c.Reason != tc.code || !strings.Contains(c.Message, tc.says)) {
					t.Errorf("%s: reason %q, sentence %q; want %q and %q", tc.reason, c.Reason, c.Message, tc.code, tc.says)
				}
			}
			if s := w.app().Status.Scheduling; tc.code == "SchedulerUnknown" && (s.Scheduler != "vulcano" || s.Source != "Application" || s.Reason != tc.code || !strings.Contains(s.Message, tc.says)) {
				t.Errorf("%s: the status does not say what was asked for: %+v", tc.reason, s)
			}
			if events := w.events(); len(events) != 1 {
				t.Errorf("%s: events %q, want one event", tc.reason, events)
			}
			if tc.fix == nil {
				return
			}
			w.edit(tc.fix)
			w.reconcile()
			if w.state() != "SUBMITTED" || len(w.drivers()) != 1 {
				t.Errorf("%s: fixed, yet state %q with %d drivers", tc.reason, w.state(), len(w.drivers()))
			}
		})
	}
}

func TestNotOwnedPodIsReportedAndKept(t *testing.T) {
	notOwned := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-driver", UID: "theirs"}}
	w := newHarness(t, testutil.Pi(), notOwned)
	for range 3 {
		if r := w.reconcile(); r.RequeueAfter <= 0 {
			t.Error("pods of other owners are not watched: a timer is needed")
		}
	}
	var got corev1.Pod
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(notOwned), &got); err != nil || got.UID != "theirs" {
		t.Fatalf("the other owner's pod is %+v, %v", got.ObjectMeta, err)
	}
	if w.app().Status.ExecutionAttempts != 0 || !strings.Contains(conditionOf(w, "Succeeded").Message, "pod pi-driver already exists") {
		t.Errorf("status %+v", w.app().Status)
	}
	if err := w.c.Delete(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if len(w.drivers()) != 1 {
		t.Errorf("%d drivers when the name is free", len(w.drivers()))
	}
}

func conditionOf(w *harness, kind string) metav1.Condition {
	for _, c := range w.app().Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}
