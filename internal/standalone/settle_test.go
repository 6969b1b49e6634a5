// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

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
		next   time.Duration
	}{
		"Done":       {reason: "all is made", class: lifecycle.ClassDone, state: Running, next: heartbeat},
		"Refused":    {reason: "what was made before it goes", class: lifecycle.ClassRefused, state: Refused, cause: lifecycle.ReasonSubmissionRefused, again: true, next: unknownRetry},
		"Policy":     {reason: "an admission policy says no", class: lifecycle.ClassPolicy, state: Refused, cause: lifecycle.ReasonSubmissionRefused, again: true, next: unknownRetry},
		"Quota":      {reason: "a quota may be raised", class: lifecycle.ClassQuota, state: New, cause: lifecycle.ReasonQuotaExceeded, next: conflictRetry},
		"Trouble":    {reason: "nothing is known to have changed", class: lifecycle.ClassTransient, state: New, fails: true, next: heartbeat},
		"Edit":       {reason: "what runs goes on as it was", record: running, class: lifecycle.ClassRefused, state: Running, cause: lifecycle.ReasonSubmissionRefused, next: heartbeat},
		"EditNoRoom": {reason: "the same", record: running, class: lifecycle.ClassQuota, state: Running, cause: lifecycle.ReasonQuotaExceeded, next: conflictRetry},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(cluster(), tc.record, Observation{Found: map[Ref]Found{}})
			results := []Result{{Class: lifecycle.ClassDone}, {Class: tc.class, Message: "no"}}
			o := Settle(p, results)
			if o.Record.State != tc.state || o.Record.Cause.Reason != tc.cause || o.Again != tc.again || (o.Err != nil) != tc.fails || o.Requeue != tc.next {
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
	long := Settle(p, []Result{{Class: lifecycle.ClassRefused, Message: "a\x1bb" + strings.Repeat("c", 2*maxMessage)}})
	if said := long.Record.Cause.Message; len(said) > maxMessage || strings.Contains(said, "\x1b") {
		t.Errorf("a message has %d bytes, or controls a terminal: %.20q", len(said), said)
	}
	trouble := Settle(p, []Result{{Class: lifecycle.ClassTransient, Message: "no answer"}})
	if want := "Apply Service pi-master-svc: no answer"; trouble.Err == nil || trouble.Err.Error() != want {
		t.Errorf("the error is %v, not %s", trouble.Err, want)
	}
	for _, a := range []Action{{Kind: Delete, Ref: workers}, {Kind: Release}} {
		p.Actions = []Action{a}
		if o := Settle(p, []Result{{Class: lifecycle.ClassRefused, Message: "no"}}); o.Err == nil || o.Record.Cause.Reason != "" {
			t.Errorf("%s is refused: error %v, cause %v", a.Kind, o.Err, o.Record.Cause)
		}
	}
	group := Plan{Before: Record{State: Submitted}, Actions: []Action{{Kind: Schedule}}}
	if o := Settle(group, []Result{{Class: lifecycle.ClassRefused, Message: "no"}}); o.Record.State != Submitted || o.Record.Cause.Message != "no" || o.Requeue != heartbeat {
		t.Errorf("a group that is refused ends nothing: %+v", o)
	}
	other := Settle(Decide(Cluster{Probe: true}, running, Observation{}), nil)
	if diff := cmp.Diff(Outcome{Record: running}, other); diff != "" {
		t.Errorf("the status of a sentinel is another's (-want +got):\n%s", diff)
	}
	probe := Decide(Cluster{Probe: true, Deleting: true, Finalizer: true}, Record{}, Observation{})
	if o := Settle(probe, []Result{{Class: lifecycle.ClassTransient}}); o.Err == nil {
		t.Error("fault 5: the finalizer of a sentinel stays")
	}
}

func TestConditions(t *testing.T) {
	waits := lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonUnschedulable}, Details: "0/3 nodes are available"}
	running := Record{State: Running, Generation: 2}
	says := func(status metav1.ConditionStatus, reason lifecycle.Reason, message string) metav1.Condition {
		return metav1.Condition{Status: status, Reason: string(reason), Message: message}
	}
	made := says("True", ReasonApplied, "the objects of the cluster match the spec")
	away := says("False", ReasonPodsNotReady, "there are no pods, or their number is unknown")
	cases := map[string]struct {
		reason          string
		record          Record
		master, workers Role
		applied, ready  metav1.Condition
		pods            *Pods
	}{
		"Ready": {
			reason: "all are there", record: running, master: Role{Wanted: 1, Ready: 1}, workers: Role{Wanted: 2, Ready: 2}, applied: made,
			ready: says("True", ReasonReady, "master: 1 of 1 ready, workers: 2 of 2 ready"), pods: &Pods{Count{1, 1}, Count{2, 2}},
		},
		"NoWorker": {
			reason: "a cluster may have none", record: running, master: Role{Wanted: 1, Ready: 1}, applied: made,
			ready: says("True", ReasonReady, "master: 1 of 1 ready, workers: 0 of 0 ready"), pods: &Pods{Count{1, 1}, Count{}},
		},
		"NoMaster": {
			reason: "the set is not seen yet", record: running, applied: made,
			ready: says("False", ReasonPodsNotReady, "master: 0 of 0 ready, workers: 0 of 0 ready"), pods: &Pods{},
		},
		"Waiting": {
			reason: "why is told", record: running, master: Role{Wanted: 1, Ready: 1}, workers: Role{Wanted: 2, Ready: 1, Waiting: waits}, applied: made,
			ready: says("False", lifecycle.ReasonUnschedulable, "master: 1 of 1 ready, workers: 1 of 2 ready; 0/3 nodes are available"), pods: &Pods{Count{1, 1}, Count{1, 2}},
		},
		"Refused": {
			reason: "nothing is to be expected", record: Record{State: Refused, Cause: lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "no"}},
			applied: says("False", lifecycle.ReasonInvalidSpec, "no"), ready: away,
		},
		"New": {reason: "it is about to begin", applied: says("False", ReasonNotApplied, "some objects of the cluster are not created yet"), ready: away},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Settle(Plan{Cluster: cluster(), Record: tc.record, Observation: Observation{Master: tc.master, Workers: tc.workers}}, nil)
			tc.applied.Type, tc.ready.Type = ConditionApplied, ConditionReady
			if diff := cmp.Diff([]metav1.Condition{tc.applied, tc.ready}, o.Conditions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.pods, o.Pods); diff != "" {
				t.Errorf("%s: pods (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	long := Role{Waiting: lifecycle.Wait{Cause: waits.Cause, Details: strings.Repeat("n", 2*maxMessage)}}
	o := Settle(Plan{Record: running, Observation: Observation{Workers: long}}, nil)
	if n := len(o.Conditions[1].Message); n != maxMessage {
		t.Errorf("a condition says %d bytes", n)
	}
}
