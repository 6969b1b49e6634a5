// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"cmp"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var (
	service = Ref{"Service", "pi-master-svc"}
	workers = Ref{"StatefulSet", "pi-worker"}
	scaler  = Ref{"HorizontalPodAutoscaler", "pi-worker-hpa"}
)

func cluster(changes ...func(*Cluster)) Cluster {
	c := Cluster{
		Generation: 2, SuspendField: "spec.suspend", Optional: []Ref{scaler},
		Parts: []Part{{Ref: service}, {Ref: workers, Runs: true}},
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func ours(ref Ref) Found {
	return Found{Presence: lifecycle.Present, UID: "uid of " + ref.String(), Ours: true, Marked: true, Same: true}
}

func all() map[Ref]Found { return map[Ref]Found{service: ours(service), workers: ours(workers)} }

func with(found map[Ref]Found, ref Ref, change func(*Found)) map[Ref]Found {
	f := ours(ref)
	change(&f)
	found[ref] = f
	return found
}

// held is why a cluster that is suspended does not run.
func held(then string) lifecycle.Cause {
	return lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "spec.suspend is true: " + then}
}

func kept(f *Found)        { f.Marked, f.Same = false, false }
func edited(f *Found)      { f.Same = false }
func deletingNow(f *Found) { f.Deleting = true }

func TestDecide(t *testing.T) {
	apply := func(refs ...Ref) (all []Action) {
		for _, ref := range refs {
			all = append(all, Action{Kind: Apply, Ref: ref})
		}
		return all
	}
	remove := func(ref Ref) Action { return Action{Kind: Delete, Ref: ref, UID: "uid of " + ref.String()} }
	const none = time.Duration(-1)
	problem := lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "no image"}
	cases := map[string]struct {
		reason  string
		cluster Cluster
		record  Record
		seen    Observation
		want    Record
		actions []Action
		requeue time.Duration // heartbeat where it is zero
	}{
		"Start":   {reason: "everything is made before the status says so", cluster: cluster(), want: Record{State: Running, Generation: 2, Scheduling: Scheduling{Start: 1}}, actions: apply(service, workers)},
		"Crashed": {reason: "what an earlier try has made is applied once more", cluster: cluster(), seen: Observation{Found: with(map[Ref]Found{}, service, kept)}, want: Record{State: Running, Generation: 2, Scheduling: Scheduling{Start: 1}}, actions: apply(service, workers)},
		"Taken": {
			reason: "an object of others is not touched, and nothing is made beside it", cluster: cluster(), want: Record{Cause: lifecycle.Cause{Reason: lifecycle.ReasonNameConflict, Message: "StatefulSet pi-worker already exists and does not belong to this cluster; delete or rename it"}},
			seen:    Observation{Found: with(map[Ref]Found{}, workers, func(f *Found) { f.Ours = false })},
			requeue: conflictRetry,
		},
		"Leaving": {
			reason: "the cluster that had the name before is still there", cluster: cluster(), seen: Observation{Found: with(map[Ref]Found{}, workers, deletingNow)},
			want:    Record{Cause: lifecycle.Cause{Reason: ReasonReplacing, Message: "StatefulSet pi-worker is still being deleted"}},
			requeue: unknownRetry,
		},
		"HeldBack": {
			reason: "a step that crashed has made pods before it was suspended", cluster: cluster(func(c *Cluster) { c.Suspend = true }), seen: Observation{Found: all()},
			want: Record{Cause: held("its pods are not created until it is false")}, actions: []Action{remove(workers)},
		},
		"ReleasedTooEarly": {reason: "what was made a moment before is seen only now", cluster: cluster(), record: Record{State: Released, Generation: 2}, seen: Observation{Found: with(map[Ref]Found{}, service, func(*Found) {})}, want: Record{State: Released, Generation: 2}, actions: []Action{remove(service)}},
		"FailedThere":      {reason: "a state of an older release keeps its objects", cluster: cluster(), record: Record{State: Failed, Generation: 2}, seen: Observation{Found: all()}, want: Record{State: Failed, Generation: 2}},
		"Unknown":          {reason: "what is not known is not absent", cluster: cluster(), record: Record{State: Running, Generation: 2}, seen: Observation{Unknown: true}, want: Record{State: Running, Generation: 2}, requeue: unknownRetry},
		"AtRest":           {reason: "nothing is written", cluster: cluster(), record: Record{State: Running, Generation: 2}, seen: Observation{Found: all()}, want: Record{State: Running, Generation: 2}},
		"Edited":           {reason: "somebody has edited a part", cluster: cluster(), record: Record{State: Running, Generation: 2}, seen: Observation{Found: with(all(), workers, edited)}, want: Record{State: Running, Generation: 2}, actions: apply(workers)},
		"TakenOver": {
			reason: "other pods would take the place of those that a previous operator has started", cluster: cluster(), record: Record{State: Running},
			seen: Observation{Found: with(with(all(), service, kept), workers, kept)}, want: Record{State: Running, Generation: 2},
		},
		"TakenOverAtRest": {
			reason: "and it stays so, but what is missing is made", cluster: cluster(), record: Record{State: Running, Generation: 2},
			seen: Observation{Found: with(map[Ref]Found{}, workers, kept)}, want: Record{State: Running, Generation: 2}, actions: apply(service),
		},
		"TakenOverAndEdited": {
			reason: "an edit is an edit", cluster: cluster(), record: Record{State: Running, Generation: 1},
			seen: Observation{Found: with(all(), workers, kept)}, want: Record{State: Running, Generation: 2}, actions: apply(workers),
		},
		"NotWanted": {
			reason: "an edit has taken the autoscaler away", cluster: cluster(), record: Record{State: Running, Generation: 1}, seen: Observation{Found: with(all(), scaler, func(*Found) {})},
			want: Record{State: Running, Generation: 2}, actions: []Action{remove(scaler)},
		},
		"Suspending": {
			reason: "it is stored before anything is deleted", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Running, Generation: 2}, seen: Observation{Found: all()},
			want:    Record{State: Suspended, Generation: 2, Cause: held("its pods are being stopped")},
			requeue: unknownRetry,
		},
		"Suspended": {
			reason: "Services stay, and so does what others own", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Suspended, Generation: 2},
			seen: Observation{Found: with(all(), scaler, func(f *Found) { f.Ours = false })}, want: Record{State: Suspended, Generation: 2}, actions: []Action{remove(workers)},
			requeue: unknownRetry,
		},
		"ResumedTooEarly": {
			reason: "pods of before are still there", cluster: cluster(), record: Record{State: Suspended, Generation: 2},
			seen:    Observation{Found: map[Ref]Found{service: ours(service)}, Workers: Role{Pods: []string{"pi-worker-0"}}},
			want:    Record{State: Suspended, Generation: 2, Cause: held("its pods are being stopped: pod pi-worker-0")},
			requeue: unknownRetry,
		},
		"ResumedAgain": {reason: "suspended before anything was made", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Submitted}, want: Record{State: Suspended, Cause: held("its pods are being stopped")}, requeue: unknownRetry},
		"Refused":      {reason: "what was made goes", cluster: cluster(), record: Record{State: Refused, Generation: 2}, seen: Observation{Found: with(map[Ref]Found{}, service, func(*Found) {})}, want: Record{State: Refused, Generation: 2}, actions: []Action{remove(service)}, requeue: unknownRetry},
		"Releasing":    {reason: "until the last pod is gone", cluster: cluster(), record: Record{State: Refused, Generation: 2}, seen: Observation{Master: Role{Pods: []string{"pi-master-0"}}}, want: Record{State: Refused, Generation: 2}, requeue: unknownRetry},
		"Deleted":      {reason: "the garbage collector takes the rest", cluster: cluster(func(c *Cluster) { c.Deleting, c.Finalizer = true, true }), record: Record{State: Running, Generation: 2}, seen: Observation{Unknown: true}, want: Record{State: Running, Generation: 2}, actions: []Action{{Kind: RemoveFinalizer}}, requeue: none},
		"NoFinalizer":  {reason: "others may have set one", cluster: cluster(func(c *Cluster) { c.Deleting = true }), record: Record{State: Running, Generation: 2}, want: Record{State: Running, Generation: 2}, requeue: none},
		"OldRelease":   {reason: "a previous operator has released it: only an edit is another try", cluster: cluster(), record: Record{State: Released}, want: Record{State: Released, Generation: 2}},
		"Probe":        {reason: "it has no objects, and no status of ours", cluster: cluster(func(c *Cluster) { c.Probe = true }), seen: Observation{Unknown: true}, requeue: none},
		"Problem":      {reason: "an edit that cannot be built stops nothing", cluster: cluster(func(c *Cluster) { c.Problem = problem }), record: Record{State: Running, Generation: 1}, seen: Observation{Found: with(all(), workers, edited)}, want: Record{State: Running, Generation: 1, Cause: problem}},
		"Mended":       {reason: "what was wrong is right again", cluster: cluster(), record: Record{State: Running, Generation: 2, Cause: problem}, seen: Observation{Found: all()}, want: Record{State: Running, Generation: 2}},
		"Unbuilt":      {reason: "nothing is made of a spec that cannot be built", cluster: cluster(func(c *Cluster) { c.Problem = problem }), want: Record{State: Refused, Generation: 2, Cause: problem}, requeue: unknownRetry},
		"StaysAway":    {reason: "there is nothing left to stop", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Suspended, Generation: 2, Cause: problem}, seen: Observation{Found: map[Ref]Found{service: ours(service)}}, want: Record{State: Suspended, Generation: 2, Cause: held("there are no pods until it is false")}},
		"LateGroup": {
			reason: "an operator that stood still was slow to create it", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Suspended, Cause: problem},
			seen: Observation{Scheduled: []scheduler.Ref{{Name: "group"}}}, want: Record{State: Suspended, Cause: held("there are no pods until it is false")}, actions: []Action{{Kind: Release}},
		},
		"LateGroupOver": {reason: "nothing would look at it again", cluster: cluster(), record: Record{State: Released, Generation: 2}, seen: Observation{Scheduled: []scheduler.Ref{{Name: "group"}}}, want: Record{State: Released, Generation: 2}, actions: []Action{{Kind: Release}}},
		"LateGroupResumed": {
			reason: "the next start is stored first", cluster: cluster(), record: Record{State: Suspended}, seen: Observation{Scheduled: []scheduler.Ref{{Name: "group"}}},
			want: Record{State: Submitted, Cause: lifecycle.Cause{Reason: lifecycle.ReasonResumed, Message: "spec.suspend is false again"}, Scheduling: Scheduling{Start: 2}}, requeue: unknownRetry,
		},
		"StopsScaler": {reason: "an autoscaler that is not wanted has nothing to scale", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Suspended}, seen: Observation{Found: with(map[Ref]Found{}, scaler, func(*Found) {})}, want: Record{State: Suspended}, actions: []Action{remove(scaler)}, requeue: unknownRetry},
		"ScalesOn":    {reason: "one that is wanted stays beside the Services", cluster: cluster(func(c *Cluster) { c.Suspend, c.Parts = true, append(c.Parts, Part{Ref: scaler}) }), record: Record{State: Suspended}, seen: Observation{Found: with(map[Ref]Found{}, scaler, func(*Found) {})}, want: Record{State: Suspended, Cause: held("there are no pods until it is false")}},
		"LeavesParts": {
			reason: "a set that is being deleted has pods, one of others is none of ours", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Suspended},
			seen: Observation{Found: with(with(map[Ref]Found{}, workers, deletingNow), service, func(f *Found) { f.Deleting, f.Ours = true, false })},
			want: Record{State: Suspended, Cause: held("its pods are being stopped: StatefulSet pi-worker")}, requeue: unknownRetry,
		},
		"NotOurs":    {reason: "what others have made under the name is theirs", cluster: cluster(), record: Record{State: Running, Generation: 2}, seen: Observation{Found: with(all(), scaler, func(f *Found) { f.Ours = false })}, want: Record{State: Running, Generation: 2}},
		"Absent":     {reason: "what was there is no more", cluster: cluster(), record: Record{State: Running, Generation: 2}, seen: Observation{Found: with(all(), scaler, func(f *Found) { f.Presence = lifecycle.Absent })}, want: Record{State: Running, Generation: 2}},
		"Replied":    {reason: "the scheduler wants to be asked again sooner", cluster: cluster(), record: Record{State: Running, Generation: 2}, seen: Observation{Found: all(), Admission: scheduler.Admission{RetryAfter: time.Minute}}, want: Record{State: Running, Generation: 2, Scheduling: Scheduling{}}, requeue: time.Minute},
		"Again":      {reason: "an edit of what was refused is another try", cluster: cluster(), record: Record{State: Released, Generation: 1, Cause: problem, Scheduling: Scheduling{Start: 1}}, want: Record{State: Submitted, Cause: lifecycle.Cause{Reason: ReasonEdited, Message: "the spec was edited: the cluster is restarted"}, Scheduling: Scheduling{Start: 2}}, requeue: unknownRetry},
		"EditedAway": {reason: "it may not begin", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Failed, Generation: 1}, want: Record{State: Failed, Generation: 2}},
		"Gone":       {reason: "the last pod is gone", cluster: cluster(), record: Record{State: Refused, Generation: 2, Cause: problem}, want: Record{State: Released, Generation: 2, Cause: problem}, requeue: unknownRetry},
		"Odd":        {reason: "a state of a newer release is left alone", cluster: cluster(), record: Record{State: "Elsewhere", Generation: 1}, want: Record{State: "Elsewhere", Generation: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(tc.cluster, tc.record, tc.seen)
			if want := cmp.Or(tc.requeue, heartbeat); p.Requeue != max(want, 0) {
				t.Errorf("%s: again after %s, not %s", tc.reason, p.Requeue, want)
			}
			if diff := gocmp.Diff(Plan{Cluster: tc.cluster, Before: tc.record, Observation: tc.seen, Record: tc.want, Actions: tc.actions, Requeue: p.Requeue}, p); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStarts(t *testing.T) {
	for state, want := range map[State]bool{New: true, Submitted: true, Running: false, Suspended: false, Refused: false, Released: false, Failed: false} {
		if got := state.Starts(); got != want {
			t.Errorf("%q: %t", state, got)
		}
	}
}

// What a cluster's scheduler says decides whether it starts. That the scheduler has objects is stored before there are any, and they go when there
// are no pods any more.
func TestScheduling(t *testing.T) {
	says := func(v scheduler.Verdict, changes ...func(*scheduler.Admission)) Observation {
		a := scheduler.Admission{Verdict: v, Reason: scheduler.ReasonWaitingForCapacity, Message: "full", RetryAfter: time.Minute, Choice: scheduler.Choice{Scheduler: "gang"}}
		for _, change := range changes {
			change(&a)
		}
		return Observation{Found: map[Ref]Found{}, Admission: a}
	}
	group := func(a *scheduler.Admission) { a.Apply = []*unstructured.Unstructured{{}} }
	reversible := func(a *scheduler.Admission) { a.Reversible = true }
	chosen := func(start int32, heldBy string) Scheduling {
		return Scheduling{Choice: scheduler.Choice{Scheduler: "gang"}, Start: start, HeldBy: heldBy}
	}
	full := lifecycle.Cause{Reason: scheduler.ReasonWaitingForCapacity, Message: "full"}
	apply := []Action{{Kind: Apply, Ref: service}, {Kind: Apply, Ref: workers}}
	schedule, release := Action{Kind: Schedule}, Action{Kind: Release}
	suspend := func(c *Cluster) { c.Suspend = true }
	cases := map[string]struct {
		reason  string
		cluster Cluster
		record  Record
		seen    Observation
		want    Record
		actions []Action
		again   bool
	}{
		"Waits": {reason: "nothing is made before there is room", seen: says(scheduler.Wait), want: Record{State: Submitted, Generation: 2, Cause: full, Scheduling: chosen(1, "")}, again: true},
		"Stored": {
			reason: "a crash after the group is made would forget it", seen: says(scheduler.Wait, group),
			want: Record{State: Submitted, Scheduling: chosen(1, "gang")}, again: true,
		},
		"WaitsInGroup": {
			reason: "the group asks for the room", record: Record{State: Submitted, Scheduling: chosen(1, "gang")}, seen: says(scheduler.Wait, group),
			want: Record{State: Submitted, Generation: 2, Cause: full, Scheduling: chosen(1, "gang")}, actions: []Action{schedule},
		},
		"Admitted": {
			reason: "the group is there before its pods", record: Record{State: Submitted, Scheduling: chosen(1, "gang")}, seen: says(scheduler.Admit, group),
			want: Record{State: Running, Generation: 2, Scheduling: chosen(1, "gang")}, actions: append([]Action{schedule}, apply...),
		},
		"NoGroup":  {reason: "pods are placed as they are", seen: says(scheduler.Admit), want: Record{State: Running, Generation: 2, Scheduling: chosen(1, "")}, actions: apply},
		"Rejected": {reason: "it can never fit", seen: says(scheduler.Reject), want: Record{State: Refused, Generation: 2, Cause: full}, again: true},
		"Lowered": {
			reason: "an administrator can raise the quota again", record: Record{State: Submitted, Generation: 2, Cause: full, Scheduling: chosen(1, "gang")},
			seen: says(scheduler.Reject, reversible), want: Record{State: Submitted, Generation: 2, Cause: full, Scheduling: chosen(1, "")}, actions: []Action{release}, again: true,
		},
		"LoweredFirst": {
			reason: "an edited cluster is looked at anew", record: Record{State: Submitted, Generation: 1, Cause: full, Scheduling: chosen(1, "")},
			seen: says(scheduler.Reject, reversible), want: Record{State: Refused, Generation: 2, Cause: full, Scheduling: chosen(1, "")}, again: true,
		},
		"AnotherScheduler": {
			reason: "an edit has named another one, while objects of the first are there", record: Record{State: Submitted, Generation: 1, Scheduling: Scheduling{Start: 1, HeldBy: "other"}},
			seen: says(scheduler.Admit, group), want: Record{State: Submitted, Generation: 1, Scheduling: Scheduling{Start: 1}}, actions: []Action{release}, again: true,
		},
		"Running": {
			reason: "the group follows the size", record: Record{State: Running, Generation: 2, Scheduling: chosen(1, "gang")}, seen: func() Observation {
				o := says("", group)
				o.Found = all()
				return o
			}(), want: Record{State: Running, Generation: 2, Scheduling: chosen(1, "gang")}, actions: []Action{schedule},
		},
		"SuspendedWithPods": {
			reason: "their scheduler needs the group", cluster: cluster(suspend), record: Record{State: Suspended, Scheduling: chosen(1, "gang")}, seen: Observation{Workers: Role{Pods: []string{"pi-worker-0"}}},
			want: Record{State: Suspended, Cause: held("its pods are being stopped: pod pi-worker-0"), Scheduling: chosen(1, "gang")},
		},
		"Suspended": {
			reason: "it holds nothing", cluster: cluster(suspend), record: Record{State: Suspended, Scheduling: chosen(1, "gang")},
			want: Record{State: Suspended, Scheduling: chosen(1, "")}, actions: []Action{release}, again: true,
		},
		"ResumedAtOnce": {
			reason: "the group of the start before goes first", record: Record{State: Suspended, Scheduling: chosen(1, "gang")},
			want: Record{State: Suspended, Scheduling: chosen(1, "")}, actions: []Action{release}, again: true,
		},
		"Resumed": {
			reason: "the next start chooses once more", record: Record{State: Suspended, Scheduling: chosen(1, "")},
			want: Record{State: Submitted, Cause: lifecycle.Cause{Reason: lifecycle.ReasonResumed, Message: "spec.suspend is false again"}, Scheduling: Scheduling{Start: 2}}, again: true,
		},
		"Refused": {
			reason: "it holds nothing, either", record: Record{State: Refused, Generation: 2, Scheduling: chosen(1, "gang")},
			want: Record{State: Refused, Generation: 2, Scheduling: chosen(1, "")}, actions: []Action{release}, again: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := tc.cluster
			if c.Parts == nil {
				c = cluster()
			}
			p := Decide(c, tc.record, tc.seen)
			var results []Result
			for range p.Actions {
				results = append(results, Result{Class: lifecycle.ClassDone})
			}
			o := Settle(p, results)
			if diff := gocmp.Diff(tc.want, o.Record); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", tc.reason, diff)
			}
			if diff := gocmp.Diff(tc.actions, p.Actions); diff != "" {
				t.Errorf("%s: actions (-want +got):\n%s", tc.reason, diff)
			}
			if tc.again && o.Requeue == heartbeat {
				t.Errorf("%s: the next step waits for %s", tc.reason, o.Requeue)
			}
			if o.Again != tc.again {
				t.Errorf("%s: again is %t", tc.reason, o.Again)
			}
		})
	}
}

// What cannot be changed of a set, and what something else sets, stays as it is.
func TestKeep(t *testing.T) {
	set := func(replicas int64, label string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "StatefulSet", "spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"a": label}}, "serviceName": "x",
		}}}
	}
	fixed, scaled := Part{Ref: workers}, Part{Ref: workers, Scaled: true, Min: 2, Max: 4}
	cases := map[string]struct {
		reason string
		part   Part
		there  *unstructured.Unstructured
		want   *unstructured.Unstructured
	}{
		"New":        {reason: "there is none yet", part: scaled, want: set(1, "new")},
		"Fixed":      {reason: "the number is the user's", part: fixed, there: set(3, "old"), want: set(1, "old")},
		"Scaled":     {reason: "the number is the autoscaler's", part: scaled, there: set(3, "old"), want: set(3, "old")},
		"TooMany":    {reason: "within its bounds", part: scaled, there: set(9, "old"), want: set(4, "old")},
		"TooFew":     {reason: "on both sides", part: scaled, there: set(0, "old"), want: set(2, "old")},
		"NoStateful": {reason: "other kinds are as they are wanted", part: Part{Ref: service}, there: set(3, "old"), want: set(1, "new")},
	}
	for name, tc := range cases {
		wanted := set(1, "new")
		Keep(tc.part, wanted, tc.there)
		if diff := gocmp.Diff(tc.want, wanted); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// What a scheduler has laid over the pods stays as it was at the start, or an edit of the number of workers would restart the master.
func TestKeepOfPods(t *testing.T) {
	set := func(labels, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"template": map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}, "spec": map[string]any{"schedulerName": labels["group"]}},
		}}}
	}
	part := Part{Ref: workers, Fixed: Fixed{Labels: []string{"group"}, Annotations: []string{"members", "user"}, Scheduler: true}}
	wanted := set(map[string]any{"group": "a", "team": "new"}, map[string]any{"members": "3", "user": "ann"})
	Keep(part, wanted, set(map[string]any{"group": "b", "team": "old"}, map[string]any{"members": "2"}))
	if diff := gocmp.Diff(set(map[string]any{"group": "b", "team": "new"}, map[string]any{"members": "2"}), wanted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
