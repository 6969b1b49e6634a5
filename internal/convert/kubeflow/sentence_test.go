// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// A wait is told again when its cause is another one. What is free in a busy quota is news once a minute.
func TestSentenceOfAWaitStands(t *testing.T) {
	const first = "waiting for quota in queue team-a: cpu asked 12, free 4 of 40"
	const other = "waiting for quota in queue parent: memory asked 8Gi, free 2Gi of 64Gi"
	was := lifecycle.Record{
		State: lifecycle.Queued, Generation: 1, Attempt: 1, Cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: first},
		Scheduling: lifecycle.Scheduling{Choice: scheduler.Choice{Scheduler: "volcano", Source: "Namespace", Queue: "team-a"}},
	}
	cases := map[string]struct {
		reason string
		// is the reason; "" for WaitingForQuota.
		is     lifecycle.Reason
		change func(*lifecycle.Record)
		after  time.Duration
		stands bool
	}{
		"Numbers":    {reason: "a pod came or went", after: 59 * time.Second, stands: true},
		"Minute":     {reason: "users must not see old numbers, or an earlier shortage", after: time.Minute},
		"Queue":      {reason: "another queue is another cause", change: func(r *lifecycle.Record) { r.Scheduling.Queue = "parent" }, after: time.Second},
		"Scheduler":  {reason: "another operator wrote it", change: func(r *lifecycle.Record) { r.Scheduling.Scheduler = "kube" }, after: time.Second},
		"Choice":     {reason: "who chose it says where to change it", change: func(r *lifecycle.Record) { r.Scheduling.Source = "Cluster" }, after: time.Second},
		"Group":      {reason: "another group is asked about", change: func(r *lifecycle.Record) { r.Scheduling.Group = "PodGroup g" }, after: time.Second},
		"Reason":     {reason: "another reason is another cause", change: func(r *lifecycle.Record) { r.Cause.Reason = "BehindOthers" }, after: time.Second},
		"Conflict":   {reason: "one object was renamed, and now the next is in the way", is: lifecycle.ReasonNameConflict, after: time.Second},
		"Edit":       {reason: "a user who edits the application sees what it requests now", change: func(r *lifecycle.Record) { r.Generation = 2 }, after: time.Second},
		"State":      {reason: "the next attempt waits for itself", change: func(r *lifecycle.Record) { r.State = lifecycle.Rerunning }, after: time.Second},
		"Attempt":    {reason: "the next attempt waits for itself", change: func(r *lifecycle.Record) { r.Attempt = 2 }, after: time.Second},
		"Submission": {reason: "a refusal is no wait, tools read its words", change: func(r *lifecycle.Record) { r.State = lifecycle.SubmissionFailed }, after: time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			was := was
			if tc.is != "" {
				was.Cause.Reason = tc.is
			}
			before := reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, settled(was), now))
			next := was
			next.Cause.Message = other
			if tc.change != nil {
				tc.change(&next)
			}
			after := ToStatus(&before, settled(next), now.Add(tc.after))
			if tc.stands {
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s, and yet the status was changed (-before +after):\n%s", tc.reason, diff)
				}
				return
			}
			if got, field := after.Scheduling.Message, after.Cause.Message; got != other || field != other {
				t.Errorf("%s: status.scheduling.message is %q, status.cause.message %q, want %q", tc.reason, got, field, other)
			}
			if want := now.Add(tc.after); !after.Scheduling.MessageTime.Time.Equal(want) {
				t.Errorf("%s: written at %s, want %s", tc.reason, after.Scheduling.MessageTime, want)
			}
			for kind, want := range map[string]string{"Reconciling": other, "Succeeded": "waiting: " + other} {
				if c := meta.FindStatusCondition(after.Conditions, kind); next.State == lifecycle.Queued && c.Message != want {
					t.Errorf("%s: %s says %q", tc.reason, kind, c.Message)
				}
			}
		})
	}
}

// However often the numbers change: one write a minute, and then the newest.
func TestBusyQuotaIsWrittenOnceAMinute(t *testing.T) {
	var status v1beta2.SparkApplicationStatus
	writes, message := 0, ""
	for second := range 181 {
		message = fmt.Sprintf("waiting for quota in queue team-a: cpu asked 500, free %d of 1000", second)
		next := ToStatus(&status, settled(lifecycle.Record{State: lifecycle.Queued, Cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: message}}), now.Add(time.Duration(second)*time.Second))
		if !equality.Semantic.DeepEqual(status, next) {
			writes++
			status = reread(t, next)
		}
	}
	if writes != 4 {
		t.Errorf("%d writes within three minutes, want the first and one a minute", writes)
	}
	if got := status.Scheduling.Message; got != message {
		t.Errorf("the last one says %q, want %q", got, message)
	}
}

// A status that a previous operator wrote has no time: nothing is written because of that alone.
func TestSentenceWithoutATime(t *testing.T) {
	o := settled(lifecycle.Record{State: lifecycle.Queued, Cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: "waiting for quota in queue team-a: cpu asked 12, free 4 of 40"}})
	before := ToStatus(&v1beta2.SparkApplicationStatus{}, o, now)
	before.Scheduling.MessageTime = nil
	if diff := cmp.Diff(before, ToStatus(&before, o, now.Add(time.Hour))); diff != "" {
		t.Errorf("the status was changed (-before +after):\n%s", diff)
	}
}

// Schedulers and kubelets find new words for the same wait all the time: the status keeps the first ones.
func TestOthersWordsAreNoNews(t *testing.T) {
	const driver, executors, stalled = lifecycle.ConditionDriverReady, lifecycle.ConditionExecutorsReady, lifecycle.ConditionStalled
	wait := func(reason lifecycle.Reason, message, details string) lifecycle.Wait {
		return lifecycle.Wait{Cause: lifecycle.Cause{Reason: reason, Message: message}, Details: details}
	}
	two := lifecycle.ExecutorCounts{Pending: 2, Total: 2}
	cases := map[string]struct {
		reason      string
		kind        lifecycle.ConditionType
		last, next  lifecycle.Wait
		status      lifecycle.Status
		counts      lifecycle.ExecutorCounts
		wantsOldOne bool
	}{
		"Nodes":     {reason: "a node more or less", kind: driver, last: wait("Unschedulable", "", "0/3 nodes are available: 3 Insufficient cpu."), next: wait("Unschedulable", "", "0/4 nodes: 4 Insufficient cpu."), wantsOldOne: true},
		"Stalled":   {reason: "in whatever condition", kind: stalled, last: wait("ContainerStartError", "container a", "back-off 10s"), next: wait("ContainerStartError", "container a", "back-off 20s"), wantsOldOne: true},
		"Container": {reason: "our own words are news", kind: driver, last: wait("ImagePullError", "container a", "denied"), next: wait("ImagePullError", "container b", "denied")},
		"Longer":    {reason: "a name that begins with the other is another one", kind: driver, last: wait("ImagePullError", "container ab", "denied"), next: wait("ImagePullError", "container a", "denied")},
		"Colon":     {reason: "what the details look like does not matter", kind: driver, last: wait("VolumeError", `volume "a: b"`, "x: y"), next: wait("VolumeError", `volume "a: b"`, "z"), wantsOldOne: true},
		"Executors": {reason: "the same of executors", kind: executors, last: wait("WaitingForGang", "", "2 of 3 executors wait for a node: a"), next: wait("WaitingForGang", "", "2 of 3 executors wait for a node: b"), counts: two, wantsOldOne: true},
		"Count":     {reason: "that there are other executors is news", kind: executors, last: wait("WaitingForGang", "", "2 of 3 executors wait for a node: a"), next: wait("WaitingForGang", "", "1 of 3 executors wait for a node: a"), counts: lifecycle.ExecutorCounts{Pending: 1, Running: 1, Total: 2}},
		"Reason":    {reason: "another reason is news", kind: driver, last: wait("SchedulingGated", "x", "a"), next: wait("Unschedulable", "x", "b")},
		"Status":    {reason: "and so is another status", kind: driver, status: lifecycle.True, last: wait("Unschedulable", "x", "a"), next: wait("Unschedulable", "x", "b")},
		"Ours":      {reason: "without details all words are ours", kind: driver, last: wait("DriverPending", "a", ""), next: wait("DriverPending", "b", "")},
		"NoDetails": {reason: "that there are none any more is news", kind: driver, last: wait("DriverPending", "a", "b"), next: wait("DriverPending", "a", "")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			outcome := func(status lifecycle.Status, w lifecycle.Wait, counts lifecycle.ExecutorCounts) lifecycle.Outcome {
				told := w.Detailed()
				return lifecycle.Outcome{
					Record:     lifecycle.Record{State: lifecycle.Submitted, Counts: counts},
					Conditions: []lifecycle.Condition{{Type: tc.kind, Status: status, Reason: told.Reason, Message: told.Message, Wait: w}},
				}
			}
			before := lifecycle.False
			if tc.status != "" {
				before = tc.status
			}
			status := reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, outcome(before, tc.last, two), now))
			status = ToStatus(&status, outcome(lifecycle.False, tc.next, tc.counts), now)
			want := tc.next
			if tc.wantsOldOne {
				want = tc.last
			}
			if got := meta.FindStatusCondition(status.Conditions, string(tc.kind)).Message; got != want.Detailed().Message {
				t.Errorf("%s: %q, want %q", tc.reason, got, want.Detailed().Message)
			}
		})
	}
}
