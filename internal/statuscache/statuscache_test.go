// SPDX-License-Identifier: Apache-2.0

package statuscache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

var (
	start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	key   = types.NamespacedName{Namespace: "jobs", Name: "pi"}
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
		"Ahead":    {reason: "someone wrote after us", wrote: "7", cached: "9"},
		"Numbers":  {reason: "versions are compared as numbers", wrote: "10", cached: "9", want: true},
		"Numbers2": {reason: "versions are compared as numbers", wrote: "9", cached: "10"},
		"Opaque":   {reason: "a version that cannot be compared holds nothing up", wrote: "abc", cached: "5"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w Cache
			if tc.wrote != "" {
				w.Add(version(tc.wrote), start)
			}
			if got := w.Newer(version(tc.cached)); got != tc.want {
				t.Errorf("%s: newer = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestForget(t *testing.T) {
	var w Cache
	w.Forget(key) // nothing is there
	w.Add(version("7"), start)
	w.Forget(types.NamespacedName{Namespace: "jobs", Name: "other"})
	if !w.Newer(version("5")) {
		t.Error("another application's memory was dropped")
	}
	w.Forget(key)
	if w.Newer(version("5")) {
		t.Error("an object recreated under the name would be held up")
	}
	if len(w.last) != 0 {
		t.Errorf("%d applications remembered forever", len(w.last))
	}
}

// Another application may get the name before anyone has seen the first one go: it knows nothing of that.
func TestNothingIsRememberedOfAFormerObject(t *testing.T) {
	record := lifecycle.Record{State: lifecycle.Running, SubmissionID: "s-1"}
	more := record
	more.Counts.Running = 1
	type answers struct {
		Newer        bool
		Hold, Paused time.Duration
		Recall       lifecycle.Record
	}
	ask := func(uid types.UID) answers {
		var w Cache
		w.Add(version("7"), start)
		w.Keep(version("7"), more)
		w.Pause(version("7"), start.Add(time.Minute))
		o := version("7")
		o.UID = uid
		now := start.Add(time.Second)
		got := answers{Hold: max(0, w.Hold(o, record, more, now)), Paused: w.Paused(o, now), Recall: w.Recall(o, record)}
		o.ResourceVersion = "5"
		got.Newer = w.Newer(o)
		return got
	}
	if diff := cmp.Diff(answers{Newer: true, Hold: 9 * time.Second, Paused: 59 * time.Second, Recall: more}, ask("")); diff != "" {
		t.Errorf("the same object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(answers{Recall: record}, ask("another")); diff != "" {
		t.Errorf("another object (-want +got):\n%s", diff)
	}
	var w Cache
	w.Pause(version("7"), start.Add(time.Minute))
	next := version("9")
	next.UID = "another"
	w.Add(next, start)
	if got := w.Paused(next, start); got != 0 || len(w.last) != 1 {
		t.Errorf("what is remembered of the previous object is added to: paused for %s, %d entries", got, len(w.last))
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
		"Over":         {reason: "the window is over", wrote: true, from: rec(lifecycle.Running, one), to: rec(lifecycle.Running, two), after: ChurnWindow},
		"State":        {reason: "a transition never waits", wrote: true, from: rec(lifecycle.Running, one), to: rec(lifecycle.Succeeding, two), after: time.Second},
		"NoExecutors":  {reason: "a change of a sentence never waits", wrote: true, from: rec(lifecycle.Running, one), to: rec(lifecycle.Running, one), after: time.Second},
		"EmptyAndNone": {reason: "no executors are no executors", wrote: true, from: rec(lifecycle.Running, nil), to: rec(lifecycle.Running, map[string]lifecycle.ExecutorState{}), after: time.Second},
		"Restarted":    {reason: "after a restart nothing is remembered, and nothing waits", from: rec(lifecycle.Running, one), to: rec(lifecycle.Running, two)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w Cache
			if tc.wrote {
				w.Add(version("7"), start)
			}
			got := w.Hold(version("7"), tc.from, tc.to, start.Add(tc.after))
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
		then   func(*Cache)
		// version is that of the cached object, if not the same.
		version string
		stored  lifecycle.Record
		want    lifecycle.Record
	}{
		"Known":     {reason: "what waits for its write is known", stored: stored, want: held},
		"Written":   {reason: "what was written is in the object", then: func(w *Cache) { w.Add(version("8"), start) }, stored: stored, want: stored},
		"Forgotten": {reason: "the application went", then: func(w *Cache) { w.Forget(key) }, stored: stored, want: stored},
		"Moved":     {reason: "someone has written since, and may know more", version: "8", stored: stored, want: stored},
		"NextRun":   {reason: "the executors of another run", stored: with(func(r *lifecycle.Record) { r.SubmissionID = "s-2" }), want: with(func(r *lifecycle.Record) { r.SubmissionID = "s-2" })},
		"Changed":   {reason: "someone else has written: another leader", stored: with(func(r *lifecycle.Record) { r.State = lifecycle.Succeeding }), want: with(func(r *lifecycle.Record) { r.State = lifecycle.Succeeding })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w Cache
			w.Keep(version("7"), held)
			if tc.then != nil {
				tc.then(&w)
			}
			if diff := cmp.Diff(tc.want, w.Recall(version(orSeven(tc.version)), tc.stored)); diff != "" {
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
