// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// said is an event as YuniKorn 1.8 writes it, so many seconds after the driver was created.
func said(tb testing.TB, after int, pod, uid, kind, reason, words string) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, fmt.Sprintf("{type: %s, reason: %s, message: %q, eventTime: %q, lastTimestamp: null, involvedObject: {kind: Pod, name: %s, uid: %q}}",
		kind, reason, words, schedulertest.Start.Add(time.Duration(after)*time.Second).Format("2006-01-02T15:04:05.000000Z07:00"), pod, uid))
}

// What YuniKorn says about the pods of an application that waits, and that it says nothing.
func TestEvents(t *testing.T) {
	const (
		noGang      = `{"gangSchedulingStyle":"None"}`
		gang        = "waiting in queue root.team-a for the capacity of the driver and 3 executors: together they asked cpu 7, memory 14Gi"
		alone       = "waiting in queue root.team-a for capacity or for its turn: the driver asked cpu 1, memory 2Gi"
		full        = "Request 'p' does not fit in queue 'root.team-a' (requested map[vcore:2000], available map[vcore:0])"
		queuedUp    = "team-a/d is queued and waiting for allocation"
		resuming    = "Application a resuming as non-gang application (SOFT)"
		placeholder = "tg-spark-0123456789abcdef-1-executor-x1"
		quiet       = "; YuniKorn does not report what is missing: check the capacity of the queue and its maximum of running applications (maxapplications); its last event: "
		down        = "waiting for YuniKorn to process the driver pod; if it has no event of YuniKorn a minute after its creation, check that YuniKorn runs"
		unknown     = "; no events of YuniKorn are visible (the API server deletes them after an hour): if no application starts, check that YuniKorn runs"
	)
	waits := scheduler.PodStatus{Name: "d", UID: "d1", CreatedAt: schedulertest.Start, Phase: corev1.PodPending, SchedulerName: "yunikorn"}
	noNode := waits
	noNode.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "request is waiting for cluster resources become available"}}
	gated := waits
	gated.Gates = []string{"g"}
	seen := said(t, 1, "d", "d1", "Normal", "Scheduling", queuedUp)
	cases := map[string]struct {
		reason     string
		parameters string
		driver     scheduler.PodStatus
		age        time.Duration
		events     []*unstructured.Unstructured
		denied     bool
		code       scheduler.Reason
		message    string
		again      time.Duration
	}{
		"Early":     {reason: "it takes a moment until YuniKorn says why", driver: waits, age: 5 * time.Second, code: scheduler.ReasonWaitingForScheduler, message: down, again: 10 * time.Second},
		"Queued":    {reason: "the cause may come yet, and is not stored if the reason is", driver: waits, age: 5 * time.Second, events: []*unstructured.Unstructured{seen}, code: scheduler.ReasonWaitingForScheduler, message: down, again: 10 * time.Second},
		"Down":      {reason: "it does not run, or not for this cluster", driver: waits, age: time.Minute, code: scheduler.ReasonWaitingForScheduler, message: down, again: eventsRetry},
		"DownAlone": {reason: "the same without a gang", parameters: noGang, driver: waits, age: time.Minute, code: scheduler.ReasonWaitingForScheduler, message: down, again: eventsRetry},
		"Old":       {reason: "the API server forgets events after an hour", driver: waits, age: time.Hour, code: scheduler.ReasonWaitingForGang, message: gang + unknown},
		"Denied":    {reason: "who may not read events does not know", driver: waits, age: time.Minute, denied: true, code: scheduler.ReasonWaitingForGang, message: gang + unknown},
		"Earlier": {
			reason: "they are about the driver of an earlier attempt, which had the same name", driver: waits, age: time.Minute,
			events: []*unstructured.Unstructured{said(t, -9, "d", "d0", "Normal", "Informational", full)}, code: scheduler.ReasonWaitingForScheduler, message: down, again: eventsRetry,
		},
		"Neighbor": {
			reason: "they are about another application in the namespace", driver: waits, age: time.Minute,
			events: []*unstructured.Unstructured{said(t, 1, "tg-spark-0123456789abcdef-10-driver-x", "p", "Normal", "Informational", full)}, code: scheduler.ReasonWaitingForScheduler, message: down, again: eventsRetry,
		},
		"Full": {
			reason: "in a gang it is about a placeholder", driver: waits, age: time.Minute,
			events: []*unstructured.Unstructured{seen, said(t, 2, placeholder, "p", "Normal", "Informational", full), said(t, 3, placeholder, "p", "Normal", "Scheduling", "queued")},
			code:   scheduler.ReasonWaitingForGang, message: gang + "; YuniKorn says: " + full,
		},
		"FullAlone": {
			reason: "without a gang it is about the driver", parameters: noGang, driver: waits, age: time.Minute,
			events: []*unstructured.Unstructured{said(t, 2, "d", "d1", "Normal", "Informational", full), seen}, code: scheduler.ReasonWaitingForQuota, message: alone + "; YuniKorn says: " + full,
		},
		"Turn": {
			reason: "that the queue runs its maxapplications it does not say", parameters: noGang, driver: waits, age: time.Minute,
			events: []*unstructured.Unstructured{seen}, code: scheduler.ReasonWaitingForQuota, message: alone + quiet + queuedUp,
		},
		"Prompt": {
			reason: "no need to wait for more", driver: waits, age: 2 * time.Second, events: []*unstructured.Unstructured{said(t, 2, placeholder, "p", "Normal", "Informational", full)},
			code: scheduler.ReasonWaitingForGang, message: gang + "; YuniKorn says: " + full,
		},
		"Soft": {
			reason: "its last word counts", driver: waits, age: time.Minute,
			events: []*unstructured.Unstructured{said(t, 9, "d", "d1", "Warning", "GangScheduling", resuming), said(t, 2, placeholder, "p", "Normal", "Informational", full)},
			code:   scheduler.ReasonWaitingForGang, message: gang + "; YuniKorn says: " + resuming,
		},
		"NoNode": {
			reason: "the words say more than the condition", driver: noNode, age: time.Minute,
			events: []*unstructured.Unstructured{seen, said(t, 2, "d", "d1", "Normal", "Informational", "Unschedulable request 'd1': failed plugin: 'NodeAffinity'")},
			code:   scheduler.ReasonWaitingForCapacity, message: "the driver waits for a node: request is waiting for cluster resources become available; YuniKorn says: Unschedulable request 'd1': failed plugin: 'NodeAffinity'",
		},
		"Condition": {reason: "YuniKorn has written a condition, so it runs", driver: noNode, age: time.Minute, code: scheduler.ReasonWaitingForCapacity, message: "the driver waits for a node: request is waiting for cluster resources become available"},
		"Gates":     {reason: "YuniKorn does not schedule a pod with gates", driver: gated, age: time.Minute, code: scheduler.ReasonCapturedByOther, message: "the driver pod is held back by scheduling gates that the operator did not set: g"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			facts := scheduler.PodStatuses{Now: schedulertest.Start.Add(tc.age), Driver: &tc.driver}
			s := scheduler.Snapshot{}
			for _, read := range (Plugin{}).ObserveReads(a, facts) {
				if s[read] = scheduler.NewList(tc.events...); tc.denied {
					s[read] = &unstructured.Unstructured{}
				}
			}
			got, err := scheduler.Observe(Plugin{}, a, s, facts)
			if err != nil || got.Reason != tc.code || got.Message != tc.message || got.RetryAfter != tc.again {
				t.Errorf("%s: %+v, %v; want %s, again after %s, and %q", tc.reason, got, err, tc.code, tc.again, tc.message)
			}
			schedulertest.Keeps(t, Plugin{}, a, s, facts)
		})
	}
}

// All applications of a namespace that wait ask for the same list, which is read once for all of them.
func TestEventsAreShared(t *testing.T) {
	one, other := attempt(""), attempt("")
	other.ID, other.App.Name = "spark-fedcba9876543210-1", "other"
	reads := map[scheduler.Read]bool{}
	waits := scheduler.PodStatus{Name: "d", Phase: corev1.PodPending}
	runs := scheduler.PodStatuses{Driver: &scheduler.PodStatus{Name: "e", Phase: corev1.PodRunning, Node: "n1"}, Executors: []scheduler.PodStatus{waits}}
	for _, wait := range []struct {
		attempt scheduler.Attempt
		facts   scheduler.PodStatuses
	}{{one, scheduler.PodStatuses{Driver: &waits}}, {other, runs}} {
		for _, read := range (Plugin{}).ObserveReads(wait.attempt, wait.facts) {
			reads[read] = true
			if !read.Optional {
				t.Error("without the right to read events, nothing of the application would be observed")
			}
		}
	}
	if len(reads) != 1 {
		t.Errorf("%d reads, want one: %v", len(reads), reads)
	}
}
