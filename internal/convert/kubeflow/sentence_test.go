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
)

// A wait is told again when its cause is another one. What is free in a busy quota is news once a minute.
func TestSentenceOfAWaitStands(t *testing.T) {
	const first = "waiting for quota in queue team-a: cpu asked 12, free 4 of 40"
	type wait struct {
		state      lifecycle.State
		generation int64
		reason     lifecycle.Reason
		message    string
	}
	was := wait{lifecycle.Queued, 1, "WaitingForQuota", first}
	cases := map[string]struct {
		reason string
		next   wait
		after  time.Duration
		stands bool
	}{
		"Numbers":    {reason: "a pod came or went", next: wait{lifecycle.Queued, 1, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 12, free 7 of 40"}, after: 59 * time.Second, stands: true},
		"Units":      {reason: "1500m is a number", next: wait{lifecycle.Queued, 1, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 12, free 1500m of 40"}, after: time.Second, stands: true},
		"Promises":   {reason: "somebody was promised what is free", next: wait{lifecycle.Queued, 1, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 12, free 14 of 40, promised 7 to others"}, after: time.Second, stands: true},
		"Resources":  {reason: "of another resource there is too little for a moment", next: wait{lifecycle.Queued, 1, "WaitingForQuota", "waiting for quota in queue team-a: memory asked 8Gi, free 2Gi of 64Gi"}, after: time.Second, stands: true},
		"Minute":     {reason: "whoever looks must not see old numbers", next: wait{lifecycle.Queued, 1, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 12, free 7 of 40"}, after: time.Minute},
		"Queue":      {reason: "another queue is another cause", next: wait{lifecycle.Queued, 1, "WaitingForQuota", "waiting for quota in queue parent: cpu asked 12, free 7 of 40"}, after: time.Second},
		"Reason":     {reason: "another reason is another cause", next: wait{lifecycle.Queued, 1, "BehindOthers", first}, after: time.Second},
		"Details":    {reason: "that there are details at all is news", next: wait{lifecycle.Queued, 1, "WaitingForQuota", "waiting for quota in queue team-a"}, after: time.Second},
		"Edit":       {reason: "whoever edits the application wants to see what it asks for now", next: wait{lifecycle.Queued, 2, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 9, free 4 of 40"}, after: time.Second},
		"State":      {reason: "the next attempt waits for itself", next: wait{lifecycle.Rerunning, 1, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 14, free 4 of 40"}, after: time.Second},
		"Submission": {reason: "a refusal is no wait, tools read its words", next: wait{lifecycle.SubmissionFailed, 1, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 12, free 7 of 40"}, after: time.Second},
	}
	outcome := func(w wait) lifecycle.Outcome {
		return settled(lifecycle.Record{State: w.state, Generation: w.generation, Cause: lifecycle.Cause{Reason: w.reason, Message: w.message}})
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := reread(t, Project(&v1beta2.SparkApplicationStatus{}, outcome(was), now))
			after := Project(&before, outcome(tc.next), now.Add(tc.after))
			if tc.stands {
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s, and yet the status was changed (-before +after):\n%s", tc.reason, diff)
				}
				return
			}
			if got := after.Scheduling.Message; got != tc.next.message {
				t.Errorf("%s: status.scheduling.message is %q, want %q", tc.reason, got, tc.next.message)
			}
			if want := now.Add(tc.after); tc.next.message != first && !after.Scheduling.MessageTime.Time.Equal(want) {
				t.Errorf("%s: written at %s, want %s", tc.reason, after.Scheduling.MessageTime, want)
			}
			for _, kind := range []string{"Reconciling", "Succeeded"} {
				if c := meta.FindStatusCondition(after.Conditions, kind); tc.next.state == lifecycle.Queued && c.Message != tc.next.message && c.Message != lifecycle.WaitingPrefix+tc.next.message {
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
		next := Project(&status, settled(lifecycle.Record{State: lifecycle.Queued, Cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: message}}), now.Add(time.Duration(second)*time.Second))
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

// A status that an operator before us wrote has no time: nothing is written because of that alone.
func TestSentenceWithoutATime(t *testing.T) {
	o := settled(lifecycle.Record{State: lifecycle.Queued, Cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: "waiting for quota in queue team-a: cpu asked 12, free 4 of 40"}})
	before := Project(&v1beta2.SparkApplicationStatus{}, o, now)
	before.Scheduling.MessageTime = nil
	if diff := cmp.Diff(before, Project(&before, o, now.Add(time.Hour))); diff != "" {
		t.Errorf("the status was changed (-before +after):\n%s", diff)
	}
}
