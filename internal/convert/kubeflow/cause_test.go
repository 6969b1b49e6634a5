// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// A cause is read back as it was, whatever its words look like.
func TestCauseRoundTrip(t *testing.T) {
	cases := map[string]struct {
		reason string
		state  lifecycle.State
		cause  lifecycle.Cause
	}{
		"Wait":        {reason: "plain words", state: lifecycle.Queued, cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: "the queue is full"}},
		"WaitTwice":   {reason: "as the condition Succeeded reports a wait", state: lifecycle.Rerunning, cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: "waiting: for Godot"}},
		"Stopped":     {reason: "which is no wait to the condition Succeeded", state: lifecycle.Suspending, cause: lifecycle.Cause{Reason: lifecycle.ReasonNodeLost, Message: "waiting: for Godot"}},
		"Quoted":      {reason: "a driver that submits others fails in their words", state: lifecycle.Failed, cause: lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: submissionPrefix + "no such class"}},
		"QuotedAgain": {reason: "a webhook's words may be those of another operator", state: lifecycle.SubmissionFailed, cause: lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: submissionPrefix + submissionPrefix + "no"}},
		"InProgress":  {reason: "a reason that conditions use for nothing", state: lifecycle.Queued, cause: lifecycle.Cause{Reason: lifecycle.ReasonInProgress, Message: "m"}},
		"Silent":      {reason: "a failure without a word", state: lifecycle.Failing, cause: lifecycle.Cause{Reason: lifecycle.ReasonDriverEvicted}},
		"Long":        {reason: "longer than a condition", state: lifecycle.Queued, cause: lifecycle.Cause{Reason: lifecycle.ReasonAdmissionRefused, Message: strings.Repeat("x", 1000)}},
		"Lines":       {reason: "a stack trace", state: lifecycle.Failing, cause: lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "boom\n\tat A.<init>(A.java:1)"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := settled(lifecycle.Record{State: tc.state, Generation: 1, Attempt: 1, Cause: tc.cause})
			status := reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, o, now))
			if diff := cmp.Diff(tc.cause, FromStatus(&status).Cause); diff != "" {
				t.Errorf("%s: written (-) and read (+) differ:\n%s", tc.reason, diff)
			}
		})
	}
}

// Whatever words the API server, a kubelet or a scheduler finds: they are bounded once, before anything is decided or shown,
// and no state loses or changes them.
func FuzzCause(f *testing.F) {
	for i, text := range []string{"", "waiting: x", submissionPrefix, "a: b", "\xff<\x00>", strings.Repeat("<", 600), strings.Repeat("ä", 600), strings.Repeat("x", 5000)} {
		f.Add(text, i)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		states := lifecycle.States()
		state := states[uint(n)%uint(len(states))]
		o := settled(lifecycle.Record{State: state, Attempt: 1, Generation: 1, Cause: lifecycle.Cause{Reason: "QueueFull", Message: text}})
		if state == lifecycle.Submitted { // without a driver it is no such state
			return
		}
		status := reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, o, now))
		got := FromStatus(&status)
		if got.Cause != o.Record.Cause {
			t.Fatalf("%s: written %+v, read back %+v", state, o.Record.Cause, got.Cause)
		}
		if size := len(mustJSON(t, status.Cause)); size > 1200 {
			t.Errorf("%d bytes of cause", size)
		}
		if diff := cmp.Diff(status, reread(t, ToStatus(&status, settled(got), now.Add(time.Hour)))); diff != "" {
			t.Errorf("%s: what was read is written differently (-first +second):\n%s", state, diff)
		}
	})
}

// The time of a cause is that of its reason.
func TestCauseTime(t *testing.T) {
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	var status v1beta2.SparkApplicationStatus
	for i, step := range []struct {
		reason string
		state  lifecycle.State
		cause  lifecycle.Cause
		want   *metav1.Time
	}{
		{reason: "it begins to wait", state: lifecycle.Queued, cause: lifecycle.Cause{Reason: "QueueFull", Message: "a"}, want: &metav1.Time{Time: at(0)}},
		{reason: "other words for the same", state: lifecycle.Queued, cause: lifecycle.Cause{Reason: "QueueFull", Message: "b"}, want: &metav1.Time{Time: at(0)}},
		{reason: "it waits for something else", state: lifecycle.Queued, cause: lifecycle.Cause{Reason: "BehindOthers", Message: "c"}, want: &metav1.Time{Time: at(2)}},
		{reason: "nothing is to be explained", state: lifecycle.Running},
		{reason: "it fails", state: lifecycle.Failing, cause: lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "d"}, want: &metav1.Time{Time: at(4)}},
		{reason: "permanently", state: lifecycle.Failed, cause: lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "d"}, want: &metav1.Time{Time: at(4)}},
	} {
		status = reread(t, ToStatus(&status, settled(lifecycle.Record{State: step.state, Attempt: 1, Cause: step.cause}), at(i)))
		switch got := status.Cause; {
		case step.want == nil && got != nil, step.want != nil && got == nil:
			t.Fatalf("step %d, %s: cause %+v", i, step.reason, got)
		case got != nil && (!got.Time.Equal(step.want) || got.Message != step.cause.Message):
			t.Errorf("step %d, %s: %q since %s, want %q since %s", i, step.reason, got.Message, got.Time, step.cause.Message, step.want)
		}
	}
}

// Nothing but the field is read back: conditions and the error message are for people and tools.
func TestCauseIsReadFromItsField(t *testing.T) {
	for _, r := range producedRecords() {
		status := ToStatus(&v1beta2.SparkApplicationStatus{}, settled(r), now)
		want := FromStatus(&status)
		for i := range status.Conditions {
			c := &status.Conditions[i]
			c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "Edited", "edited: x"
		}
		status.AppState.ErrorMessage = "edited"
		if diff := cmp.Diff(want, FromStatus(&status)); diff != "" {
			t.Fatalf("%s: prose was read (-want +got):\n%s", r.State, diff)
		}
	}
}

// previous is a status as a release before status.cause wrote it.
func previous(status v1beta2.SparkApplicationStatus) v1beta2.SparkApplicationStatus {
	status.Cause = nil
	return status
}

// An upgrade loses no cause in any state, and makes a field of it that does not pretend to know since when.
func TestUpgradeKeepsTheCause(t *testing.T) {
	causes := 0
	for _, r := range producedRecords() {
		status := previous(reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, settled(r), now)))
		got := FromStatus(&status)
		if diff := cmp.Diff(readable(r), got, same); diff != "" {
			t.Fatalf("%s: written (-) and read after the upgrade (+) differ:\n%s", r.State, diff)
		}
		after := reread(t, ToStatus(&status, settled(got), now.Add(time.Hour)))
		if again := previous(after); !cmp.Equal(status, again) {
			t.Fatalf("%s: the upgrade changes more than the field (-before +after):\n%s", r.State, cmp.Diff(status, again))
		}
		if r.Cause.Reason == "" {
			continue
		}
		causes++
		if want := (&v1beta2.CauseStatus{Reason: string(r.Cause.Reason), Message: r.Cause.Message}); !cmp.Equal(want, after.Cause) {
			t.Fatalf("%s (-want +got):\n%s", r.State, cmp.Diff(want, after.Cause))
		}
	}
	if causes < 50 {
		t.Errorf("only %d causes", causes)
	}
}

// An upgrade in the middle of a wait writes no sentence that the minute holds back.
func TestUpgradeDuringAWait(t *testing.T) {
	waits := func(message string) lifecycle.Outcome {
		return settled(lifecycle.Record{State: lifecycle.Queued, Attempt: 1, Cause: lifecycle.Cause{Reason: "WaitingForQuota", Message: message}})
	}
	before := previous(reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, waits("free 4"), now)))
	after := ToStatus(&before, waits("free 7"), now.Add(time.Second))
	if diff := cmp.Diff(&v1beta2.CauseStatus{Reason: "WaitingForQuota", Message: "free 4"}, after.Cause); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, previous(after)); diff != "" {
		t.Errorf("more than the field was changed (-before +after):\n%s", diff)
	}
}

// What a previous release showed of a driver pod's wait is the cause of nothing.
func TestWaitOfADriverIsNoCause(t *testing.T) {
	for state, want := range map[lifecycle.State]lifecycle.Cause{
		lifecycle.Submitted: {}, lifecycle.Queued: {Reason: "DriverPending", Message: "the driver pod is not running yet"},
	} {
		s := v1beta2.SparkApplicationStatus{Attempt: 1, AppState: v1beta2.ApplicationState{State: states[state]}}
		if state == lifecycle.Submitted {
			s.ExecutionAttempts = 1
		}
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: "Succeeded", Status: metav1.ConditionUnknown, Reason: "DriverPending", Message: "waiting: the driver pod is not running yet"})
		if r := FromStatus(&s); r.State != state || r.Cause != want {
			t.Errorf("%s: read back as %s, %+v; want %+v", state, r.State, r.Cause, want)
		}
	}
}

// A driver that was created counts: no condition is needed to tell an attempt that has one.
func TestSubmittedIsToldByItsCount(t *testing.T) {
	for _, r := range producedRecords() {
		if r.State != lifecycle.Queued && r.State != lifecycle.Submitted {
			continue
		}
		status := ToStatus(&v1beta2.SparkApplicationStatus{}, settled(r), now)
		status.Conditions = nil
		if got := FromStatus(&status).State; got != r.State {
			t.Fatalf("%s is read back as %s", r.State, got)
		}
	}
}
