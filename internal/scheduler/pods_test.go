// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// unschedulable is how the kube-scheduler marks a pod without a node.
func unschedulable(message string) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}
}

func disrupted(reason, message string) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
}

func TestPods(t *testing.T) {
	const pending, running, failed = corev1.PodPending, corev1.PodRunning, corev1.PodFailed
	up := &PodStatus{Phase: running, Node: "n1", Started: true}
	cases := map[string]struct {
		reason string
		facts  PodStatuses
		stage  Stage
		code   Reason
		says   []string
		evicts bool
	}{
		"Gone":      {reason: "no driver", stage: StageGone, code: ReasonDriverGone},
		"Silent":    {reason: "no one has checked it", facts: PodStatuses{Driver: &PodStatus{Phase: pending}}, stage: StageQueued, code: ReasonWaitingForScheduler},
		"Full":      {reason: "the scheduler's own words", facts: PodStatuses{Driver: &PodStatus{Phase: pending, Conditions: unschedulable("0/3 nodes are available: 3 Insufficient cpu.")}}, stage: StageQueued, code: ReasonWaitingForCapacity, says: []string{"3 Insufficient cpu"}},
		"Wordless":  {reason: "the reason stands in for the message", facts: PodStatuses{Driver: &PodStatus{Phase: pending, Conditions: unschedulable("")}}, stage: StageQueued, code: ReasonWaitingForCapacity, says: []string{"Unschedulable"}},
		"Gated":     {reason: "a gate that is not ours", facts: PodStatuses{Driver: &PodStatus{Phase: pending, Gates: []string{"kueue.x-k8s.io/admission"}}}, stage: StageQueued, code: ReasonCapturedByOther, says: []string{"kueue.x-k8s.io/admission"}},
		"Starting":  {reason: "it has a node", facts: PodStatuses{Driver: &PodStatus{Phase: pending, Node: "n1"}}, stage: StagePlaced, code: ReasonScheduled},
		"Running":   {reason: "it runs", facts: PodStatuses{Driver: up}, stage: StagePlaced, code: ReasonScheduled},
		"Ended":     {reason: "what it ended with is not the scheduler's affair", facts: PodStatuses{Driver: &PodStatus{Phase: failed, Node: "n1", Started: true}}, stage: StagePlaced, code: ReasonScheduled},
		"Deleted":   {reason: "a kubelet stops a pod before it is gone", facts: PodStatuses{Driver: &PodStatus{Phase: failed, Node: "n1", Started: true, Deleting: true}}, stage: StageGone, code: ReasonDriverGone, says: []string{"was deleted"}},
		"Stopping":  {reason: "it may still end well", facts: PodStatuses{Driver: &PodStatus{Phase: running, Node: "n1", Started: true, Deleting: true}}, stage: StagePlaced, code: ReasonScheduled},
		"Preempted": {reason: "someone more important", facts: PodStatuses{Driver: &PodStatus{Phase: running, Node: "n1", Started: true, Deleting: true, Conditions: disrupted("PreemptionByScheduler", "default-scheduler: preempting")}}, stage: StageEvicted, code: ReasonPreempted, says: []string{"default-scheduler: preempting"}, evicts: true},
		"Drained":   {reason: "the node went", facts: PodStatuses{Driver: &PodStatus{Phase: failed, Node: "n1", Started: true, Conditions: disrupted("DeletionByTaintManager", "")}}, stage: StageEvicted, code: ReasonNodeFailure, says: []string{"the driver was evicted"}, evicts: true},
		"OutOfCpu":  {reason: "two schedulers met on a node", facts: PodStatuses{Driver: &PodStatus{Phase: failed, Node: "n1", Reason: "OutOfcpu", Message: "Node didn't have enough resource"}}, stage: StageEvicted, code: ReasonNodeFailure, says: []string{"node n1", "enough resource"}, evicts: true},
		"Short": {
			reason: "some executors wait",
			facts:  PodStatuses{Driver: up, Executors: []PodStatus{{Phase: running, Node: "n1"}, {Phase: pending, Conditions: unschedulable("no room")}, {Phase: pending}}},
			stage:  StageShort, code: ReasonWaitingForCapacity, says: []string{"2 of 3 executors", "no room"},
		},
		"Pulling": {reason: "executors with a node do not wait for one", facts: PodStatuses{Driver: up, Executors: []PodStatus{{Phase: pending, Node: "n2"}}}, stage: StagePlaced, code: ReasonScheduled},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Pods(Attempt{}, tc.facts)
			if got.Stage != tc.stage || got.Reason != tc.code {
				t.Errorf("%s: %s and %s, want %s and %s", tc.reason, got.Stage, got.Reason, tc.stage, tc.code)
			}
			if (got.Eviction != nil) != tc.evicts {
				t.Errorf("%s: eviction %+v", tc.reason, got.Eviction)
			}
			for _, text := range append(tc.says, "") {
				if !strings.Contains(got.Message, text) || got.Message == "" {
					t.Errorf("%s: the sentence does not say %q: %s", tc.reason, text, got.Message)
				}
			}
		})
	}
}

func TestFactOf(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "u", CreationTimestamp: metav1.Unix(7, 0), Labels: map[string]string{spark.LabelExecID: "7"}, DeletionTimestamp: &metav1.Time{}},
		Spec:       corev1.PodSpec{NodeName: "n1", SchedulerName: "s", SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "R", Message: "M", Conditions: unschedulable("m"),
			ContainerStatuses: []corev1.ContainerStatus{{}, {State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}},
		},
	}
	want := PodStatus{
		Name: "x", UID: "u", CreatedAt: time.Unix(7, 0), ExecutorID: 7, Phase: corev1.PodFailed, Reason: "R", Message: "M", Conditions: unschedulable("m"), Node: "n1",
		Deleting: true, Started: true, SchedulerName: "s", Gates: []string{"g"},
	}
	if diff := cmp.Diff(want, PodStatusOf(pod)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	waiting := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}}}
	if diff := cmp.Diff(PodStatus{}, PodStatusOf(waiting)); diff != "" {
		t.Errorf("a container that waits has not started (-want +got):\n%s", diff)
	}
	restarted := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}}}
	if !PodStatusOf(restarted).Started {
		t.Error("a container that waits to start again has started before")
	}
	odd := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{spark.LabelExecID: "EXECID"}}}
	if PodStatusOf(odd).ExecutorID != 0 {
		t.Error("a word is no number")
	}
}
