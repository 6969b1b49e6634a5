// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// silenceStart is the beginning of these tests.
var silenceStart = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func TestSilence(t *testing.T) {
	voice := Voice{Name: "Herald", Events: Read{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), Namespace: "jobs"}, Pause: 10 * time.Minute}
	// at is an event about some object, written so long after the beginning.
	at := func(after time.Duration) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"lastTimestamp": silenceStart.Add(after).Format(time.RFC3339), "involvedObject": map[string]any{"name": "any"}}}
	}
	const minute = time.Minute
	cases := map[string]struct {
		reason string
		list   *unstructured.Unstructured
		// from is when something began to wait, and now what time it is, after the beginning.
		from, now time.Duration
		want      string
	}{
		"Speaks":  {reason: "it wrote a while ago", list: NewList(at(21 * minute)), now: 30 * minute},
		"Others":  {reason: "whatever it writes about shows that it runs", list: NewList(at(minute), at(29*minute), at(2*minute)), now: 30 * minute},
		"Silent":  {reason: "the newest of its events is too old", list: NewList(at(12*minute), at(20*minute), at(minute)), now: 30 * minute, want: "Herald has been silent since 2026-11-21T10:20:00Z; check that it runs"},
		"Before":  {reason: "what it wrote about others before is no news of this one", list: NewList(at(minute)), from: 5 * minute, now: 30 * minute, want: "Herald has been silent since 2026-11-21T10:05:00Z; check that it runs"},
		"Early":   {reason: "there was no time to write anything", list: NewList(at(minute)), from: 21 * minute, now: 30 * minute},
		"Forgot":  {reason: "the API server has deleted all events, so when the last was written is not known", list: NewList(), now: 3 * time.Hour, want: "Herald has become silent; check that it runs"},
		"Cut":     {reason: "its event may be among those that are left out", list: NewPartialList(at(minute)), now: 30 * minute},
		"Denied":  {reason: "who may not read events hears nothing", list: &unstructured.Unstructured{}, now: 30 * minute},
		"Unread":  {reason: "they were not asked for", now: 30 * minute},
		"Skew":    {reason: "its clock is ahead", list: NewList(at(40 * minute)), now: 30 * minute},
		"Garbled": {reason: "an event without a time tells nothing", list: NewList(&unstructured.Unstructured{Object: map[string]any{"lastTimestamp": "noon"}}, at(29*minute)), now: 30 * minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{}
			if tc.list != nil {
				s[voice.Events] = tc.list
			}
			if got := s.Silence(voice, silenceStart.Add(tc.from), silenceStart.Add(tc.now)); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	for name, got := range map[string]string{
		"since when it waits": (Snapshot{voice.Events: NewList()}).Silence(voice, time.Time{}, silenceStart),
		"what time it is":     (Snapshot{voice.Events: NewList()}).Silence(voice, silenceStart, time.Time{}),
	} {
		if got != "" {
			t.Errorf("%q, although it is not known %s", got, name)
		}
	}
}

// A scheduler that dies leaves executors alone that come then, whatever it said before.
func TestExecutorsIgnored(t *testing.T) {
	const second, minute = time.Second, time.Minute
	// made is an executor that was created so long after the beginning; seen is one that the scheduler found no room for then, and
	// placed one that has a node.
	made := func(after time.Duration) PodStatus {
		return PodStatus{Phase: corev1.PodPending, CreatedAt: silenceStart.Add(after)}
	}
	seen := func(after, at time.Duration) PodStatus {
		p := made(after)
		p.Conditions = unschedulable("no room")
		p.Conditions[0].LastTransitionTime = metav1.NewTime(silenceStart.Add(at))
		return p
	}
	placed := func(after time.Duration) PodStatus {
		p := made(after)
		p.Phase, p.Node = corev1.PodRunning, "n1"
		return p
	}
	deleting := made(5 * minute)
	deleting.Deleting = true
	const silent = ": no scheduler has processed a pod of the application since "
	cases := map[string]struct {
		reason    string
		executors []PodStatus
		now       time.Duration
		code      Reason
		message   string
		again     time.Duration
	}{
		"New":      {reason: "it takes a moment", executors: []PodStatus{made(5 * minute)}, now: 5*minute + 10*second, code: ReasonWaitingForCapacity, message: "1 of 1 executors wait for a node", again: 50 * second},
		"Ignored":  {reason: "it has died since it placed the driver", executors: []PodStatus{made(5 * minute), made(6 * minute)}, now: 6 * minute, code: ReasonWaitingForScheduler, message: "2 of 2 executors wait for a node" + silent + "2026-11-21T10:05:00Z; check that it runs"},
		"Later":    {reason: "it has died since it found no room for the first", executors: []PodStatus{seen(5*minute, 5*minute), made(9 * minute)}, now: 20 * minute, code: ReasonWaitingForScheduler, message: "2 of 2 executors wait for a node" + silent + "2026-11-21T10:09:00Z; check that it runs"},
		"Alive":    {reason: "it has processed one that came later, and leaves this one alone for a reason of its own", executors: []PodStatus{made(5 * minute), seen(9*minute, 9*minute)}, now: 20 * minute, code: ReasonWaitingForCapacity, message: "2 of 2 executors wait for a node: no room"},
		"Placed":   {reason: "the same with one that got a node", executors: []PodStatus{made(5 * minute), placed(9 * minute)}, now: 20 * minute, code: ReasonWaitingForCapacity, message: "1 of 2 executors wait for a node"},
		"Seen":     {reason: "a scheduler need not write again about what it has seen", executors: []PodStatus{seen(5*minute, 5*minute)}, now: time.Hour, code: ReasonWaitingForCapacity, message: "1 of 1 executors wait for a node: no room"},
		"Deleting": {reason: "one that goes needs no node", executors: []PodStatus{deleting}, now: 20 * minute, code: ReasonWaitingForCapacity, message: "1 of 1 executors wait for a node"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			driver := placed(minute)
			driver.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(silenceStart.Add(2 * minute))}}
			got := Pods(Attempt{}, PodStatuses{Now: silenceStart.Add(tc.now), Driver: &driver, Executors: tc.executors})
			if got.Stage != StageShort || got.Reason != tc.code || got.Message != tc.message || got.RetryAfter != tc.again {
				t.Errorf("%s: %+v; want %s, again after %s, and %q", tc.reason, got, tc.code, tc.again, tc.message)
			}
		})
	}
}

func TestSooner(t *testing.T) {
	for _, tc := range [][3]time.Duration{{0, 0, 0}, {0, 5, 5}, {5, 0, 5}, {5, 7, 5}, {7, 5, 5}} {
		if got := Sooner(tc[0], tc[1]); got != tc[2] {
			t.Errorf("of %d and %d: %d, want %d; 0 is for no need", tc[0], tc[1], got, tc[2])
		}
	}
}
