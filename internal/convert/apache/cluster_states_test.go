// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// clusterWorld is a cluster, and the objects that there are of it.
type clusterWorld struct {
	t       *testing.T
	cluster *v1.SparkCluster
	objects map[standalone.Ref]standalone.Found
	// refused are the messages with which the API server refuses objects, by their names.
	refused map[string]string
	keep    bool
	now     time.Time
}

// desiredOf is what a cluster is to be with the defaults of policies, which limit nothing.
func desiredOf(o *v1.SparkCluster, defaults map[string]string) standalone.Cluster {
	none := func(app spark.Application) spark.Application { return app }
	loaded := Clusters{}.Load(o, none, nil)
	loaded.Defaults = defaults
	desired, _ := Clusters{}.Desired(o, loaded, scheduler.Descriptor{}, scheduler.Decoration{})
	return desired
}

// settle takes steps until one changes nothing.
func (w *clusterWorld) settle() {
	w.t.Helper()
	for range 20 {
		plan := standalone.Decide(desiredOf(w.cluster, nil), ClusterRecord(w.cluster), standalone.Observation{Found: w.objects})
		var results []standalone.Result
		for _, a := range plan.Actions {
			r := w.act(a)
			results = append(results, r)
			if r.Class != lifecycle.ClassDone {
				break
			}
		}
		w.now = w.now.Add(time.Second)
		out := standalone.Settle(plan, results)
		next, changed := Clusters{KeepHistory: w.keep}.ToStatus(w.cluster, out, w.now)
		if w.cluster = next; !changed {
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %+v", w.cluster.Status)
}

func (w *clusterWorld) act(a standalone.Action) standalone.Result {
	switch a.Kind {
	case standalone.Apply:
		if message := w.refused[a.Ref.Name]; message != "" {
			return standalone.Result{Class: lifecycle.ClassRefused, Message: message}
		}
		w.objects[a.Ref] = standalone.Found{Presence: lifecycle.Present, UID: a.Ref.String(), Ours: true, Marked: true, Same: true}
	case standalone.Delete:
		delete(w.objects, a.Ref)
	case standalone.RemoveFinalizer:
		w.cluster.Finalizers = nil
	case standalone.Schedule, standalone.Release: // the scheduler has no objects here
	}
	return standalone.Result{Class: lifecycle.ClassDone}
}

// The states of each recorded case, and what is left at its end.
func TestGoldenClusterStates(t *testing.T) {
	tally := golden.NewTally()
	for _, r := range clusterRecordings(t) {
		if len(r.states.Sequence) == 0 {
			tally.Add("clusters", golden.NotApplicable) // refused by the definition: test/integration
			continue
		}
		t.Run(r.dir, func(t *testing.T) {
			outcome := golden.Matched
			defer func() {
				if t.Failed() {
					outcome = golden.Failed
				}
				tally.Add("clusters", outcome)
			}()
			w := &clusterWorld{t: t, cluster: r.cluster, objects: map[standalone.Ref]standalone.Found{}, refused: r.refused(), now: time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC)}
			w.cluster.Generation, w.cluster.Finalizers = 1, []string{v1.ClusterFinalizer}
			w.settle()
			want := r.states.Sequence
			if slices.Contains(want, string(v1.ClusterSchedulingFailure)) {
				outcome, want = golden.Deliberate, []string{"Submitted", "SchedulingFailure", "ResourceReleased"} // as of release 1.1.0
				if len(w.refused) == 0 {
					want = []string{"Submitted", "RunningHealthy"}
				}
			}
			if diff := cmp.Diff(want, testutil.ApacheClusterStates(&w.cluster.Status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for name, message := range w.refused {
				if told := w.cluster.Status.StateTransitionHistory["1"].Message; len(w.objects) > 0 || !strings.Contains(told, message) {
					t.Errorf("%d objects are left, and of %s it says %q, want %q", len(w.objects), name, told, message)
				}
			}
		})
	}
	t.Log(tally)
}

// refused are the messages of the API server about objects that it refused, by their names, but for those that are refused for a variable that they
// have twice: ours have it once (clusterDifferences).
func (r clusterRecording) refused() map[string]string {
	refused := map[string]string{}
	for _, w := range r.writes {
		if body, ok := w.object(); ok && w.Code >= http.StatusBadRequest && !strings.Contains(w.Refused.Message, "duplicate entries for key") {
			refused[golden.Text(golden.Child(body, "metadata")["name"])] = w.Refused.Message
		}
	}
	return refused
}

// A new attempt begins a new history, or goes on in the one that there is. Its keys grow in any case, and it waits since it began.
func TestHistoryOfClusters(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		keep   bool
		want   []string
	}{
		"Trimmed": {reason: "as Apache's operator does", want: []string{"3", "4"}},
		"Kept":    {reason: "all states in one map", keep: true, want: []string{"0", "1", "2", "3", "4"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", Generation: 1}}
			o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
			w := &clusterWorld{t: t, cluster: o, keep: tc.keep, objects: map[standalone.Ref]standalone.Found{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
			w.settle()
			for _, suspend := range []bool{true, false} {
				w.cluster.Spec.Suspend = suspend
				w.cluster.Generation++
				w.settle()
			}
			s := w.cluster.Status
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(s.StateTransitionHistory))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if began := instantOf(s.StateTransitionHistory["3"].LastTransitionTime); !clusterQueuedAt(w.cluster).Equal(began) {
				t.Errorf("%s: queued at %s, began at %s", tc.reason, clusterQueuedAt(w.cluster), began)
			}
			if trimmed := len(s.PreviousAttemptSummary.StateTransitionHistory) == 3; trimmed == tc.keep {
				t.Errorf("%s: %+v", tc.reason, s.PreviousAttemptSummary)
			}
		})
	}
}

// What the recordings do not have: suspension, edits, and what a previous operator has left.
func TestClusterStories(t *testing.T) {
	suspend := func(w *clusterWorld, is bool) { w.cluster.Spec.Suspend = is; w.cluster.Generation++ }
	size := func(w *clusterWorld, init, least, most int32) {
		w.cluster.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: init, MinWorkers: least, MaxWorkers: most}
		w.cluster.Generation++
	}
	const made = "Submitted RunningHealthy"
	always := []string{"NetworkPolicy pi-worker", "Service pi-master-svc", "Service pi-worker-svc"}
	sets := []string{"StatefulSet pi-master", "StatefulSet pi-worker"}
	cases := map[string]struct {
		reason string
		before func(*clusterWorld)
		then   func(*clusterWorld)
		states string
		left   []string
	}{
		"Suspended":       {reason: "the Services stay: clients find it again", then: func(w *clusterWorld) { suspend(w, true) }, states: made + " Suspended", left: always},
		"Resumed":         {reason: "a new history begins", then: func(w *clusterWorld) { suspend(w, true); w.settle(); suspend(w, false) }, states: made + " Suspended " + made, left: append(sets, always...)},
		"HeldBack":        {reason: "nothing is made and no state is told before it is resumed", before: func(w *clusterWorld) { suspend(w, true) }},
		"SuspendedAtRest": {reason: "an edit while it is suspended waits", then: func(w *clusterWorld) { suspend(w, true); w.settle(); size(w, 3, 1, 5) }, states: made + " Suspended", left: always},
		"Autoscaled":      {reason: "an edit adds what is wanted now", then: func(w *clusterWorld) { size(w, 3, 1, 5) }, states: made, left: append([]string{"HorizontalPodAutoscaler pi-worker-hpa", "PodDisruptionBudget pi-worker-pdb"}, append(sets, always...)...)},
		"NotAutoscaled":   {reason: "and removes what is not", before: func(w *clusterWorld) { size(w, 3, 1, 5) }, then: func(w *clusterWorld) { size(w, 3, 0, 0) }, states: made, left: append(sets, always...)},
		"Deleted":         {reason: "somebody deletes a part", then: func(w *clusterWorld) { delete(w.objects, standalone.Ref{Kind: "StatefulSet", Name: "pi-worker"}) }, states: made, left: append(sets, always...)},
		"Invalid":         {reason: "the number is wrong from the beginning", before: func(w *clusterWorld) { size(w, 1, 0, 2) }, states: "Submitted SchedulingFailure ResourceReleased"},
		"InvalidEdit":     {reason: "what runs is not stopped by a wrong number", then: func(w *clusterWorld) { size(w, 1, 0, 2) }, states: made, left: append(sets, always...)},
		"Corrected":       {reason: "an edit is another try", before: func(w *clusterWorld) { size(w, 1, 0, 2) }, then: func(w *clusterWorld) { size(w, 1, 0, 0) }, states: "Submitted SchedulingFailure ResourceReleased " + made, left: append(sets, always...)},
		"OldFailure": {reason: "a state of an older release stays, with its objects", before: func(w *clusterWorld) {
			addClusterState(&w.cluster.Status, v1.ClusterFailed, "", w.now, false)
			w.objects[standalone.Ref{Kind: "Service", Name: "pi-master-svc"}] = standalone.Found{Presence: lifecycle.Present, Ours: true}
		}, states: "Failed", left: []string{"Service pi-master-svc"}},
		"Probe": {reason: "the health probe of Apache's operator is no cluster", before: func(w *clusterWorld) { w.cluster.Labels = map[string]string{v1.LabelSentinel: "true"} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", Generation: 1}}
			o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
			w := &clusterWorld{t: t, cluster: o, objects: map[standalone.Ref]standalone.Found{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
			if tc.before != nil {
				tc.before(w)
			}
			w.settle()
			if tc.then != nil {
				tc.then(w)
				w.settle()
			}
			var left []string
			for ref := range w.objects {
				left = append(left, ref.String())
			}
			slices.Sort(left)
			slices.Sort(tc.left)
			if diff := cmp.Diff(tc.left, left); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if states := strings.Join(testutil.ApacheClusterStates(&w.cluster.Status), " "); states != tc.states {
				t.Errorf("%s: %s, want %s", tc.reason, states, tc.states)
			}
		})
	}
}
