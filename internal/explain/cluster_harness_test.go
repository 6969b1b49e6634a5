// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// clusterHarness is one cluster whose status is what the operator's own code makes of what happens to it.
type clusterHarness struct {
	t       *testing.T
	o       *v1.SparkCluster
	now     time.Time
	found   map[standalone.Ref]standalone.Found
	pods    []lifecycle.Driver
	says    scheduler.Admission
	placing lifecycle.Cause
	// refuses is what the API server says of an object, by its name.
	refuses map[string]standalone.Result
	// unknown says that nothing of the cluster can be read.
	unknown bool
}

func newClusterHarness(t *testing.T) *clusterHarness {
	t.Helper()
	w := &clusterHarness{
		t: t, now: start, found: map[standalone.Ref]standalone.Found{}, refuses: map[string]standalone.Result{},
		says: scheduler.Admission{Verdict: scheduler.Admit, Choice: scheduler.Choice{Scheduler: "kube", Source: scheduler.SourceCluster}},
		o:    &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "lab", UID: testutil.UID, Generation: 1, CreationTimestamp: metav1.NewTime(start)}},
	}
	w.o.Spec.RuntimeVersions.SparkVersion = testutil.SparkVersion
	w.workers(2)
	return w
}

func (w *clusterHarness) workers(n int32) {
	w.o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: n, MinWorkers: n, MaxWorkers: n}
}

func (w *clusterHarness) edit(change func(*v1.SparkClusterSpec)) {
	change(&w.o.Spec)
	w.o.Generation++
}

func (w *clusterHarness) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *clusterHarness) desired() standalone.Cluster {
	desired, _ := apache.Clusters{}.Desired(w.o, apache.Clusters{}.Load(w.o, policy.Set{}.Apply, nil), scheduler.Descriptor{}, scheduler.Decoration{})
	return desired
}

// observed are the sets as their pods are.
func (w *clusterHarness) observed() standalone.Observation {
	o := standalone.Observation{Found: map[standalone.Ref]standalone.Found{}, Placing: w.placing, Unknown: w.unknown}
	for ref, f := range w.found {
		f.Same = apache.ClusterRecord(w.o).Generation == w.o.Generation
		o.Found[ref] = f
	}
	roles := map[string]*standalone.Role{"lab-master": &o.Master, "lab-worker": &o.Workers}
	for name, role := range roles {
		if w.found[standalone.Ref{Kind: "StatefulSet", Name: name}].Presence == lifecycle.Present {
			role.Wanted = 1
			if role == &o.Workers {
				role.Wanted = w.o.Spec.ClusterTolerations.InstanceConfig.InitWorkers
			}
		}
	}
	for _, pod := range w.pods {
		role := roles[pod.Name[:len(pod.Name)-2]]
		role.Pods, role.Updated = append(role.Pods, pod.Name), role.Updated+1
		if pod.Ready {
			role.Ready++
		}
		if role.Waiting.Reason == "" {
			role.Waiting = pod.Waiting
		}
	}
	return o
}

// settle reconciles until nothing changes.
func (w *clusterHarness) settle() {
	w.t.Helper()
	for range 20 {
		seen := w.observed()
		seen.Admission = w.says
		plan := standalone.Decide(w.desired(), apache.ClusterRecord(w.o), seen)
		results := w.act(plan)
		refused := slices.ContainsFunc(results, func(r standalone.Result) bool { return r.Class != lifecycle.ClassDone })
		out := standalone.Settle(plan, results)
		next, changed := apache.Clusters{}.ToStatus(w.o, out, w.now)
		if w.o = next; !changed && (refused || len(plan.Actions) == 0) {
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %+v", w.o.Status)
}

func (w *clusterHarness) act(plan standalone.Plan) []standalone.Result {
	var results []standalone.Result
	for _, a := range plan.Actions {
		r := standalone.Result{Class: lifecycle.ClassDone}
		switch refused, is := w.refuses[a.Ref.Name]; {
		case a.Kind == standalone.Apply && is:
			r = refused
		case a.Kind == standalone.Apply:
			w.found[a.Ref] = standalone.Found{Presence: lifecycle.Present, UID: a.Ref.String(), Ours: true, Marked: true}
		case a.Kind == standalone.Delete:
			delete(w.found, a.Ref)
		}
		if results = append(results, r); r.Class != lifecycle.ClassDone {
			break
		}
	}
	return results
}

// pod is one of a role, with its number.
func (w *clusterHarness) pod(role string, n int, change func(*lifecycle.Driver)) {
	d := lifecycle.Driver{Presence: lifecycle.Present, Name: fmt.Sprintf("lab-%s-%d", role, n), Phase: lifecycle.DriverPending, CreatedAt: w.now}
	change(&d)
	w.pods = append(w.pods, d)
}

func (w *clusterHarness) runs(d *lifecycle.Driver) {
	d.Phase, d.Ready, d.ScheduledAt, d.StartedAt = lifecycle.DriverRunning, true, w.now, w.now
}

// running is a cluster that has all its pods.
func (w *clusterHarness) running() {
	w.t.Helper()
	w.settle()
	w.pod("master", 0, w.runs)
	w.pod("worker", 0, w.runs)
	w.pod("worker", 1, w.runs)
	w.settle()
}

func (w *clusterHarness) input() ClusterInput {
	in := ClusterInput{
		Object: w.o, Family: apache.ClusterFamily, Word: apache.ClusterState, Desired: w.desired(), Record: apache.ClusterRecord(w.o), Observed: w.observed(),
		Pods: w.pods, Conditions: w.o.Status.Conditions, Since: apache.ClusterSince(w.o), QueuedAt: apache.Clusters{}.Load(w.o, policy.Set{}.Apply, nil).QueuedAt, Now: w.now,
	}
	in.Observed.Placing = lifecycle.Cause{}
	if s := w.o.Status.CurrentState; s != nil {
		in.State, in.StateMessage = string(s.CurrentStateSummary), s.Message
	}
	return in
}

func (w *clusterHarness) explain(after time.Duration) ClusterReport {
	w.pass(after)
	return Cluster(w.input())
}
