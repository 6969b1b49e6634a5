// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func version(v string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", ResourceVersion: v}}
}

func TestNewer(t *testing.T) {
	cases := map[string]struct {
		reason string
		wrote  string
		cached string
		want   bool
	}{
		"Nothing":  {reason: "nothing was written", cached: "5"},
		"Behind":   {reason: "the cache has not seen our write", wrote: "7", cached: "5", want: true},
		"Caught":   {reason: "the cache has seen it", wrote: "7", cached: "7"},
		"Ahead":    {reason: "somebody wrote after us", wrote: "7", cached: "9"},
		"Numbers":  {reason: "versions are compared as numbers", wrote: "10", cached: "9", want: true},
		"Numbers2": {reason: "versions are compared as numbers", wrote: "9", cached: "10"},
		"Opaque":   {reason: "a version that cannot be compared holds nothing up", wrote: "abc", cached: "5"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w written
			if tc.wrote != "" {
				w.add(version(tc.wrote), start)
			}
			if got := w.newer(version(tc.cached)); got != tc.want {
				t.Errorf("%s: newer = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestForget(t *testing.T) {
	var w written
	w.forget(key) // nothing is there
	w.add(version("7"), start)
	w.forget(types.NamespacedName{Namespace: "jobs", Name: "other"})
	if !w.newer(version("5")) {
		t.Error("another application's memory was dropped")
	}
	w.forget(key)
	if w.newer(version("5")) {
		t.Error("an object made anew under the name would be held up")
	}
	if len(w.last) != 0 {
		t.Errorf("%d applications remembered for ever", len(w.last))
	}
}

// Another application may get the name before anybody has seen the first one go: it knows nothing of that.
func TestNothingIsRememberedOfAFormerObject(t *testing.T) {
	record := lifecycle.Record{State: lifecycle.Running, SubmissionID: "s-1"}
	more := record
	more.Counts.Running = 1
	type told struct {
		Newer        bool
		Hold, Paused time.Duration
		Recall       lifecycle.Record
	}
	ask := func(uid types.UID) told {
		var w written
		w.add(version("7"), start)
		w.keep(version("7"), more)
		w.pause(version("7"), start.Add(time.Minute))
		o := version("7")
		o.UID = uid
		now := start.Add(time.Second)
		got := told{Hold: max(0, w.hold(o, record, more, now)), Paused: w.paused(o, now), Recall: w.recall(o, record)}
		o.ResourceVersion = "5"
		got.Newer = w.newer(o)
		return got
	}
	if diff := cmp.Diff(told{Newer: true, Hold: 9 * time.Second, Paused: 59 * time.Second, Recall: more}, ask("")); diff != "" {
		t.Errorf("the same object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(told{Recall: record}, ask("another")); diff != "" {
		t.Errorf("another object (-want +got):\n%s", diff)
	}
	var w written
	w.pause(version("7"), start.Add(time.Minute))
	next := version("9")
	next.UID = "another"
	w.add(next, start)
	if got := w.paused(next, start); got != 0 || len(w.last) != 1 {
		t.Errorf("what is remembered of the former object is added to: paused for %s, %d entries", got, len(w.last))
	}
}

func TestHold(t *testing.T) {
	rec := func(s lifecycle.State, executors map[string]lifecycle.ExecutorState) lifecycle.Record {
		return lifecycle.Record{State: s, Attempt: 1, Executions: 1, Executors: executors}
	}
	one := map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorPending}
	two := map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorRunning}
	cases := map[string]struct {
		reason   string
		wrote    bool
		from, to lifecycle.Record
		after    time.Duration
		want     time.Duration
	}{
		"Churn":        {reason: "nothing but executors waits for the rest of the window", wrote: true, from: rec(lifecycle.Running, one), to: rec(lifecycle.Running, two), after: 3 * time.Second, want: 7 * time.Second},
		"FirstSeen":    {reason: "new executors are executors, too", wrote: true, from: rec(lifecycle.Running, nil), to: rec(lifecycle.Running, two), after: time.Second, want: 9 * time.Second},
		"Over":         {reason: "the window is over", wrote: true, from: rec(lifecycle.Running, one), to: rec(lifecycle.Running, two), after: churnWindow},
		"State":        {reason: "a transition never waits", wrote: true, from: rec(lifecycle.Running, one), to: rec(lifecycle.Succeeding, two), after: time.Second},
		"NoExecutors":  {reason: "a change of a sentence never waits", wrote: true, from: rec(lifecycle.Running, one), to: rec(lifecycle.Running, one), after: time.Second},
		"EmptyAndNone": {reason: "no executors are no executors", wrote: true, from: rec(lifecycle.Running, nil), to: rec(lifecycle.Running, map[string]lifecycle.ExecutorState{}), after: time.Second},
		"Restarted":    {reason: "after a restart nothing is remembered, and nothing waits", from: rec(lifecycle.Running, one), to: rec(lifecycle.Running, two)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w written
			if tc.wrote {
				w.add(version("7"), start)
			}
			got := w.hold(version("7"), tc.from, tc.to, start.Add(tc.after))
			if max(got, 0) != tc.want {
				t.Errorf("%s: waits %s, want %s", tc.reason, got, tc.want)
			}
			if tc.to.Executors == nil && tc.from.Executors != nil {
				t.Error("the records given were changed")
			}
		})
	}
}

func TestRecall(t *testing.T) {
	stored := lifecycle.Record{State: lifecycle.Running, SubmissionID: "s-1", Counts: lifecycle.ExecutorCounts{Pending: 1, Total: 1}}
	held := stored
	held.Executors, held.Counts = map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorRunning}, lifecycle.ExecutorCounts{Running: 1, Total: 1}
	held.Failures = []lifecycle.ExecutorFailure{{Name: "e-0"}}
	with := func(change func(*lifecycle.Record)) lifecycle.Record {
		r := stored
		change(&r)
		return r
	}
	cases := map[string]struct {
		reason string
		then   func(*written)
		// version is that of the cached object, if not the same.
		version string
		stored  lifecycle.Record
		want    lifecycle.Record
	}{
		"Known":     {reason: "what waits for its write is known", stored: stored, want: held},
		"Written":   {reason: "what was written is in the object", then: func(w *written) { w.add(version("8"), start) }, stored: stored, want: stored},
		"Forgotten": {reason: "the application went", then: func(w *written) { w.forget(key) }, stored: stored, want: stored},
		"Moved":     {reason: "somebody has written since, and may know more", version: "8", stored: stored, want: stored},
		"NextRun":   {reason: "the executors of another run", stored: with(func(r *lifecycle.Record) { r.SubmissionID = "s-2" }), want: with(func(r *lifecycle.Record) { r.SubmissionID = "s-2" })},
		"Changed":   {reason: "somebody else has written: another leader", stored: with(func(r *lifecycle.Record) { r.State = lifecycle.Succeeding }), want: with(func(r *lifecycle.Record) { r.State = lifecycle.Succeeding })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w written
			w.keep(version("7"), held)
			if tc.then != nil {
				tc.then(&w)
			}
			if diff := cmp.Diff(tc.want, w.recall(version(orSeven(tc.version)), tc.stored)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func orSeven(v string) string {
	if v == "" {
		return "7"
	}
	return v
}

// What else has to be looked at soon does not wait for a status that is held back.
func TestHeldWriteKeepsTheSoonerTimer(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Deadlines = &v1beta2.Deadlines{Run: &metav1.Duration{Duration: 20 * time.Second}}
	w := newHarness(t, o)
	w.reconcile()
	w.kubelet(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}})
	w.reconcile()
	w.pass(9 * time.Second)
	w.executor("pi-exec-1", corev1.PodRunning)
	w.pass(2 * time.Second)
	w.reconcile() // tells of it
	w.pass(7 * time.Second)
	w.executor("pi-exec-2", corev1.PodRunning)
	before := w.writes["status"]
	if r := w.reconcile(); w.writes["status"] != before || r.RequeueAfter > 2*time.Second {
		t.Errorf("%d writes, and looked at again after %s: its time is over in 2 s", w.writes["status"]-before, r.RequeueAfter)
	}
}

// The executors of a short job come and go within the window, and are worth no write of their own. Its status tells of
// them all the same when it is over.
func TestExecutorsOfAShortJobAreTold(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	before := w.writes["status"]
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
		w.executor("pi-exec-1", phase)
		if r := w.reconcile(); r.RequeueAfter <= 0 || r.RequeueAfter > churnWindow {
			t.Errorf("the write comes after %s, want within %s", r.RequeueAfter, churnWindow)
		}
		w.pass(time.Second)
	}
	if err := w.c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-exec-1"}}); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if n := w.writes["status"] - before; n != 0 {
		t.Errorf("%d writes for executors within the window", n)
	}
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	for range 3 {
		w.reconcile()
	}
	want := map[string]v1beta2.ExecutorState{"pi-exec-1": v1beta2.ExecutorStateCompleted}
	if diff := cmp.Diff(want, w.app().Status.ExecutorState); diff != "" {
		t.Errorf("executors (-want +got):\n%s", diff)
	}
}

// A cache behind our own write must not be decided on: the driver would be looked for as if it had not been created.
func TestStaleCacheIsNotDecidedOn(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	stale := w.app()
	w.reconcile()
	fresh := w.engine.Cache
	w.engine.Cache = frozen{Reader: fresh, app: stale}
	before := w.writes["create *v1.Pod"]
	if r := w.reconcile(); r.RequeueAfter != staleRetry {
		t.Errorf("looked at again after %s, want %s: the event may be lost", r.RequeueAfter, staleRetry)
	}
	if w.writes["create *v1.Pod"] != before || w.writes["status"] != 1 {
		t.Errorf("decided on a version that we have replaced: %v", w.writes)
	}
	w.engine.Cache = fresh
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	if w.state() != "RUNNING" {
		t.Errorf("state %q when the cache has caught up", w.state())
	}
}

// Nothing is remembered of an application that has ended or gone.
func TestEngineForgets(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	for range 3 {
		w.reconcile()
	}
	if n := len(w.engine.written.last); n != 0 {
		t.Errorf("%d finished applications remembered", n)
	}
}

// An operator that has missed the start of an attempt takes its driver for a former one's: it must not stop it. It is the
// case of a second leader, which remembers no write of the first.
func TestStaleCacheStopsNobodysDriver(t *testing.T) {
	o := testutil.Pi()
	o.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(3)), OnFailureRetryInterval: new(int64(1))}
	w := newHarness(t, o)
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.reconcile()
	w.kubelet(corev1.PodFailed, exited(1, "Error"))
	w.reconcile()
	stale := w.app()
	for range 6 {
		w.pass(10 * time.Second)
		w.reconcile()
	}
	if n := w.app().Status.ExecutionAttempts; n != 2 || len(w.drivers()) != 1 {
		t.Fatalf("%d attempts and %d drivers: the second attempt did not start", n, len(w.drivers()))
	}
	second := w.drivers()[0].UID
	w.restart()
	w.engine.Cache = frozen{Reader: w.engine.Cache, app: stale}
	for range 6 {
		w.pass(10 * time.Second)
		w.reconcile()
	}
	if drivers := w.drivers(); len(drivers) != 1 || drivers[0].UID != second {
		t.Errorf("an operator with a stale cache stopped the driver of the second attempt: %+v", drivers)
	}
}
