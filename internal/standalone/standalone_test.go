// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	cases := map[string]struct {
		reason  string
		cluster Cluster
		record  Record
		seen    Observation
		want    Record
		actions []Action
	}{
		"Start":   {reason: "everything is made before the status says so", cluster: cluster(), want: Record{State: Running, Generation: 2, Scheduling: Scheduling{Start: 1}}, actions: apply(service, workers)},
		"Crashed": {reason: "what an earlier try has made is applied once more", cluster: cluster(), seen: Observation{Found: with(map[Ref]Found{}, service, kept)}, want: Record{State: Running, Generation: 2, Scheduling: Scheduling{Start: 1}}, actions: apply(service, workers)},
		"Taken": {
			reason: "an object of others is not touched, and nothing is made beside it", cluster: cluster(), want: Record{Cause: taken(workers)},
			seen: Observation{Found: with(map[Ref]Found{}, workers, func(f *Found) { f.Ours = false })},
		},
		"Leaving": {
			reason: "the cluster that had the name before is still there", cluster: cluster(), seen: Observation{Found: with(map[Ref]Found{}, workers, deletingNow)},
			want: Record{Cause: lifecycle.Cause{Reason: ReasonReplacing, Message: "StatefulSet pi-worker is still being deleted"}},
		},
		"HeldBack": {
			reason: "a step that crashed has made pods before it was suspended", cluster: cluster(func(c *Cluster) { c.Suspend = true }), seen: Observation{Found: all()},
			want: Record{Cause: suspended(cluster(), "its pods are not created until it is false")}, actions: []Action{remove(workers)},
		},
		"ReleasedTooEarly": {reason: "what was made a moment before is seen only now", cluster: cluster(), record: Record{State: Released, Generation: 2}, seen: Observation{Found: with(map[Ref]Found{}, service, func(*Found) {})}, want: Record{State: Released, Generation: 2}, actions: []Action{remove(service)}},
		"FailedThere":      {reason: "a state of an older release keeps its objects", cluster: cluster(), record: Record{State: Failed, Generation: 2}, seen: Observation{Found: all()}, want: Record{State: Failed, Generation: 2}},
		"Unknown":          {reason: "what is not known is not absent", cluster: cluster(), record: Record{State: Running, Generation: 2}, seen: Observation{Unknown: true}, want: Record{State: Running, Generation: 2}},
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
			want: Record{State: Suspended, Generation: 2, Cause: suspended(cluster(), "its pods are being stopped")},
		},
		"Suspended": {
			reason: "Services stay, and so does what others own", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Suspended, Generation: 2},
			seen: Observation{Found: with(all(), scaler, func(f *Found) { f.Ours = false })}, want: Record{State: Suspended, Generation: 2}, actions: []Action{remove(workers)},
		},
		"ResumedTooEarly": {
			reason: "pods of before are still there", cluster: cluster(), record: Record{State: Suspended, Generation: 2},
			seen: Observation{Found: map[Ref]Found{service: ours(service)}, Workers: Role{Pods: []string{"pi-worker-0"}}},
			want: Record{State: Suspended, Generation: 2, Cause: suspended(cluster(), "its pods are being stopped: pod pi-worker-0")},
		},
		"ResumedAgain": {reason: "suspended before anything was made", cluster: cluster(func(c *Cluster) { c.Suspend = true }), record: Record{State: Submitted}, want: Record{State: Suspended, Cause: suspended(cluster(), "its pods are being stopped")}},
		"Refused":      {reason: "what was made goes", cluster: cluster(), record: Record{State: Refused, Generation: 2}, seen: Observation{Found: with(map[Ref]Found{}, service, func(*Found) {})}, want: Record{State: Refused, Generation: 2}, actions: []Action{remove(service)}},
		"Releasing":    {reason: "until the last pod is gone", cluster: cluster(), record: Record{State: Refused, Generation: 2}, seen: Observation{Master: Role{Pods: []string{"pi-master-0"}}}, want: Record{State: Refused, Generation: 2}},
		"Deleted":      {reason: "the garbage collector takes the rest", cluster: cluster(func(c *Cluster) { c.Deleting, c.Finalizer = true, true }), record: Record{State: Running, Generation: 2}, seen: Observation{Unknown: true}, want: Record{State: Running, Generation: 2}, actions: []Action{{Kind: RemoveFinalizer}}},
		"NoFinalizer":  {reason: "others may have set one", cluster: cluster(func(c *Cluster) { c.Deleting = true }), record: Record{State: Running, Generation: 2}, want: Record{State: Running, Generation: 2}},
		"OldRelease":   {reason: "a previous operator has released it: only an edit is another try", cluster: cluster(), record: Record{State: Released}, want: Record{State: Released, Generation: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(tc.cluster, tc.record, tc.seen)
			if diff := cmp.Diff(tc.want, p.Record); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.actions, p.Actions); diff != "" {
				t.Errorf("%s: actions (-want +got):\n%s", tc.reason, diff)
			}
		})
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
			want: Record{State: Suspended, Cause: suspended(cluster(), "its pods are being stopped: pod pi-worker-0"), Scheduling: chosen(1, "gang")},
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
			if diff := cmp.Diff(tc.want, o.Record); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.actions, p.Actions); diff != "" {
				t.Errorf("%s: actions (-want +got):\n%s", tc.reason, diff)
			}
			if o.Again != tc.again {
				t.Errorf("%s: again is %t", tc.reason, o.Again)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	running := Record{State: Running, Generation: 1}
	cases := map[string]struct {
		reason string
		record Record
		class  lifecycle.Class
		state  State
		cause  lifecycle.Reason
		again  bool
		fails  bool
	}{
		"Done":       {reason: "all is made", class: lifecycle.ClassDone, state: Running},
		"Refused":    {reason: "what was made before it goes", class: lifecycle.ClassRefused, state: Refused, cause: lifecycle.ReasonSubmissionRefused, again: true},
		"Policy":     {reason: "an admission policy says no", class: lifecycle.ClassPolicy, state: Refused, cause: lifecycle.ReasonSubmissionRefused, again: true},
		"Quota":      {reason: "a quota may be raised", class: lifecycle.ClassQuota, state: New, cause: lifecycle.ReasonQuotaExceeded},
		"Trouble":    {reason: "nothing is known to have changed", class: lifecycle.ClassTransient, state: New, fails: true},
		"Edit":       {reason: "what runs goes on as it was", record: running, class: lifecycle.ClassRefused, state: Running, cause: lifecycle.ReasonSubmissionRefused},
		"EditNoRoom": {reason: "the same", record: running, class: lifecycle.ClassQuota, state: Running, cause: lifecycle.ReasonQuotaExceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(cluster(), tc.record, Observation{Found: map[Ref]Found{}})
			results := []Result{{Class: lifecycle.ClassDone}, {Class: tc.class, Message: "no"}}
			o := Settle(p, results)
			if o.Record.State != tc.state || o.Record.Cause.Reason != tc.cause || o.Again != tc.again || (o.Err != nil) != tc.fails {
				t.Errorf("%s: %+v", tc.reason, o)
			}
			if edited := tc.record.State == Running; edited && o.Record.Generation != tc.record.Generation {
				t.Errorf("%s: generation %d is told, and not applied", tc.reason, o.Record.Generation)
			}
		})
	}
}

// What is refused of a part lasts: the others are tried, and the first refusal is what people read.
func TestRefusalsOfSeveralParts(t *testing.T) {
	running := Record{State: Running, Generation: 1}
	for name, tc := range map[string]struct {
		reason string
		record Record
		kind   ActionKind
		result lifecycle.Class
		goes   bool
	}{
		"Done":      {reason: "one after the other", kind: Apply, result: lifecycle.ClassDone, goes: true},
		"Refused":   {reason: "fault 9: the other parts are repaired", record: running, kind: Apply, result: lifecycle.ClassRefused, goes: true},
		"NoRoom":    {reason: "fault 9: a quota counts one kind", record: running, kind: Apply, result: lifecycle.ClassQuota, goes: true},
		"Trouble":   {reason: "nothing is known", record: running, kind: Apply, result: lifecycle.ClassTransient},
		"Start":     {reason: "what was made before it goes again", kind: Apply, result: lifecycle.ClassRefused},
		"Deletions": {reason: "fault 9: the pods of the others go", record: Record{State: Suspended}, kind: Delete, result: lifecycle.ClassPolicy, goes: true},
		"Scheduler": {reason: "no pod is made without its group", record: Record{State: Submitted}, kind: Schedule, result: lifecycle.ClassRefused},
	} {
		if got := (Plan{Before: tc.record}).GoesOn(Action{Kind: tc.kind}, tc.result); got != tc.goes {
			t.Errorf("%s: %s: %v", name, tc.reason, got)
		}
	}
	p := Decide(cluster(), running, Observation{Found: map[Ref]Found{}})
	p.Actions = append(p.Actions, Action{Kind: Schedule})
	o := Settle(p, []Result{{Class: lifecycle.ClassRefused, Message: "first"}, {Class: lifecycle.ClassQuota, Message: "second"}, {Class: lifecycle.ClassTransient, Message: "third"}})
	if o.Record.Cause.Message != "first" || o.Requeue != conflictRetry || o.Err == nil {
		t.Errorf("fault 9: cause %q, again after %s, error %v", o.Record.Cause.Message, o.Requeue, o.Err)
	}
	probe := Decide(Cluster{Probe: true, Deleting: true, Finalizer: true}, Record{}, Observation{})
	if o := Settle(probe, []Result{{Class: lifecycle.ClassTransient}}); o.Err == nil {
		t.Error("fault 5: the finalizer of a sentinel stays")
	}
}

func TestConditions(t *testing.T) {
	waits := lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonUnschedulable}, Details: "0/3 nodes are available"}
	cases := map[string]struct {
		reason          string
		record          Record
		master, workers Role
		ready, applied  bool
		says            string
	}{
		"Ready":    {reason: "all are there", record: Record{State: Running, Generation: 2}, master: Role{Wanted: 1, Ready: 1}, workers: Role{Wanted: 2, Ready: 2}, ready: true, applied: true, says: "workers: 2 of 2 ready"},
		"NoWorker": {reason: "a cluster may have none", record: Record{State: Running, Generation: 2}, master: Role{Wanted: 1, Ready: 1}, ready: true, applied: true, says: "workers: 0 of 0"},
		"NoMaster": {reason: "the set is not seen yet", record: Record{State: Running, Generation: 2}, applied: true, says: "master: 0 of 0"},
		"Waiting":  {reason: "why is told", record: Record{State: Running, Generation: 2}, master: Role{Wanted: 1, Ready: 1}, workers: Role{Wanted: 2, Ready: 1, Waiting: waits}, applied: true, says: "0/3 nodes are available"},
		"Refused":  {reason: "nothing is to be expected", record: Record{State: Refused, Cause: lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "no"}}, says: "no pods"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Settle(Plan{Cluster: cluster(), Record: tc.record, Observation: Observation{Master: tc.master, Workers: tc.workers}}, nil)
			for _, c := range o.Conditions {
				want, says := tc.applied, ""
				if c.Type == ConditionReady {
					want, says = tc.ready, tc.says
				}
				if (c.Status == metav1.ConditionTrue) != want || !strings.Contains(c.Message, says) || c.Reason == "" {
					t.Errorf("%s: %+v", tc.reason, c)
				}
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
		if diff := cmp.Diff(tc.want, wanted); diff != "" {
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
	if diff := cmp.Diff(set(map[string]any{"group": "b", "team": "new"}, map[string]any{"members": "2"}), wanted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
