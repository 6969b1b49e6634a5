// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// noon is when states of tests begin.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 5, time.UTC)

const noonText = "2026-01-01T12:00:00.000000005Z"

func stateAtNoon(word v1.ClusterStateSummary, message string) v1.ClusterState {
	return v1.ClusterState{CurrentStateSummary: word, Message: message, LastTransitionTime: noonText}
}

// What a step has come to is stored as a whole, and an operator that starts afterwards reads back all of it.
func TestStatusOfClusters(t *testing.T) {
	const made = "the objects of the cluster exist; the condition Ready counts the ready pods"
	condition := func(kind string, status metav1.ConditionStatus, reason lifecycle.Reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: string(reason), Message: message}
	}
	stored := func(c metav1.Condition, generation int64) metav1.Condition {
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(noon)
		return c
	}
	scheduling := standalone.Scheduling{Start: 2, HeldBy: "volcano", Choice: scheduler.Choice{Scheduler: "volcano", Source: scheduler.SourcePolicy, Queue: "team", Group: "PodGroup c", Parameters: `{"a":1}`}}
	applied := condition("Applied", "True", "Applied", "made")
	refused := condition("Applied", "False", lifecycle.ReasonInvalidSpec, "no version")
	first, submitted := &v1.ClusterAttemptSummary{AttemptInfo: &v1.ClusterAttemptInfo{}}, stateAtNoon(v1.ClusterSubmitted, "the cluster was submitted")
	running, failed := stateAtNoon(v1.ClusterRunningHealthy, made), stateAtNoon(v1.ClusterSchedulingFailure, "no version")
	suspended := stateAtNoon(v1.ClusterSuspended, "")
	suspended.SuspendReason = v1.SuspendedBySpec
	released, waits := stateAtNoon(v1.ClusterResourceReleased, "all objects of the cluster are deleted"), stateAtNoon(v1.ClusterSubmitted, "")
	cases := map[string]struct {
		reason string
		before v1.SparkClusterStatus
		out    standalone.Outcome
		want   v1.SparkClusterStatus
	}{
		"Running": {
			reason: "a new cluster was submitted first",
			out: standalone.Outcome{
				Record:     standalone.Record{State: standalone.Running, Generation: 3, Scheduling: scheduling, Defaults: map[string]string{"spark.a": "1"}},
				Conditions: []metav1.Condition{applied}, Pods: &standalone.Pods{Master: standalone.Count{Ready: 1, Wanted: 2}, Workers: standalone.Count{Ready: 3, Wanted: 4}},
			},
			want: v1.SparkClusterStatus{
				CurrentState: &running, StateTransitionHistory: map[string]v1.ClusterState{"0": submitted, "1": running}, CurrentAttemptSummary: first, ObservedGeneration: 3,
				Conditions: []metav1.Condition{stored(applied, 3)}, Defaults: map[string]string{"spark.a": "1"},
				Pods:       &v1.ClusterPods{Master: v1.ClusterPodCount{Ready: 1, Desired: 2}, Workers: v1.ClusterPodCount{Ready: 3, Desired: 4}},
				Scheduling: &v1.ClusterScheduling{Start: 2, Scheduler: "volcano", Source: "Policy", Queue: "team", Parameters: `{"a":1}`, Group: "PodGroup c", HeldBy: "volcano"},
			},
		},
		"Refused": {
			reason: "the state says why",
			out:    standalone.Outcome{Record: standalone.Record{State: standalone.Refused, Cause: lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "no version"}}, Conditions: []metav1.Condition{refused}},
			want: v1.SparkClusterStatus{
				CurrentState: &failed, StateTransitionHistory: map[string]v1.ClusterState{"0": submitted, "1": failed}, CurrentAttemptSummary: first,
				Conditions: []metav1.Condition{stored(refused, 0)},
			},
		},
		"Waits": {
			reason: "it has no second state before it runs", out: standalone.Outcome{Record: standalone.Record{State: standalone.Submitted}},
			want: v1.SparkClusterStatus{CurrentState: &submitted, StateTransitionHistory: map[string]v1.ClusterState{"0": submitted}, CurrentAttemptSummary: first},
		},
		"Suspended": {
			reason: "tools read the reason", before: v1.SparkClusterStatus{CurrentState: &running, StateTransitionHistory: map[string]v1.ClusterState{"7": running}, CurrentAttemptSummary: first},
			out:  standalone.Outcome{Record: standalone.Record{State: standalone.Suspended}},
			want: v1.SparkClusterStatus{CurrentState: &suspended, StateTransitionHistory: map[string]v1.ClusterState{"7": running, "8": suspended}, CurrentAttemptSummary: first},
		},
		"Released": {
			reason: "nothing is left of it", before: v1.SparkClusterStatus{CurrentState: &failed, StateTransitionHistory: map[string]v1.ClusterState{"1": failed}, CurrentAttemptSummary: first},
			out:  standalone.Outcome{Record: standalone.Record{State: standalone.Released}},
			want: v1.SparkClusterStatus{CurrentState: &released, StateTransitionHistory: map[string]v1.ClusterState{"1": failed, "2": released}, CurrentAttemptSummary: first},
		},
		"Again": {
			reason: "the states of the start before it are kept beside it",
			before: v1.SparkClusterStatus{CurrentState: &suspended, StateTransitionHistory: map[string]v1.ClusterState{"1": running, "2": suspended}, CurrentAttemptSummary: first},
			out:    standalone.Outcome{Record: standalone.Record{State: standalone.Submitted}},
			want: v1.SparkClusterStatus{
				CurrentState: &waits, StateTransitionHistory: map[string]v1.ClusterState{"3": waits}, CurrentAttemptSummary: first,
				PreviousAttemptSummary: &v1.ClusterAttemptSummary{AttemptInfo: &v1.ClusterAttemptInfo{}, StateTransitionHistory: map[string]v1.ClusterState{"1": running, "2": suspended}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{Status: tc.before}
			before := o.DeepCopy()
			next, changed := Clusters{}.ToStatus(o, tc.out, noon)
			if diff := cmp.Diff(tc.want, next.Status); diff != "" || !changed {
				t.Errorf("%s: changed %t (-want +got):\n%s", tc.reason, changed, diff)
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the cluster itself is changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(tc.out.Record, ClusterRecord(next)); diff != "" {
				t.Errorf("%s: read back (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.out.Pods, ClusterPods(next)); diff != "" {
				t.Errorf("%s: pods read back (-want +got):\n%s", tc.reason, diff)
			}
			if same, changed := (Clusters{}).ToStatus(next, tc.out, noon.Add(time.Hour)); changed {
				t.Errorf("the same again is written again: %s", cmp.Diff(next, same))
			}
			if word, message := (Clusters{}).State(next); word != string(tc.want.CurrentState.CurrentStateSummary) || message != tc.want.CurrentState.Message || !ClusterSince(next).Equal(noon) {
				t.Errorf("it is %q, %q since %s", word, message, ClusterSince(next))
			}
		})
	}
}

// A cluster without a state has no words for it.
func TestClusterWithoutState(t *testing.T) {
	o := &v1.SparkCluster{}
	if word, message := (Clusters{}).State(o); word != "" || message != "" || ClusterState(ClusterRecord(o).State) != "" || !ClusterSince(o).IsZero() {
		t.Errorf("%q, %q, since %s", word, message, ClusterSince(o))
	}
	if next, changed := (Clusters{}).ToStatus(o, standalone.Outcome{}, noon); changed {
		t.Errorf("a status is written: %+v", next.Status)
	}
}

// Tools know the words for states.
func TestWordsOfClusterStates(t *testing.T) {
	for state, want := range map[standalone.State]string{
		standalone.Submitted: "Submitted", standalone.Running: "RunningHealthy", standalone.Suspended: "Suspended", standalone.Refused: "SchedulingFailure",
		standalone.Failed: "Failed", standalone.Released: "ResourceReleased",
	} {
		if got := ClusterState(state); got != want {
			t.Errorf("%s is %q", state, got)
		}
	}
}

// Why a cluster is not as its user has it is read back from a condition, unless that says only that it has not begun.
func TestCauseOfClusters(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		condition metav1.Condition
		want      lifecycle.Cause
	}{
		"Refused": {reason: "it was refused", condition: metav1.Condition{Type: "Applied", Status: "False", Reason: "InvalidSpec", Message: "no"}, want: lifecycle.Cause{Reason: "InvalidSpec", Message: "no"}},
		"Applied": {reason: "all is well", condition: metav1.Condition{Type: "Applied", Status: "True", Reason: "Applied", Message: "made"}},
		"Not":     {reason: "it is about to begin", condition: metav1.Condition{Type: "Applied", Status: "False", Reason: "NotApplied", Message: "still to be made"}},
		"Ready":   {reason: "pods that are not ready are no cause", condition: metav1.Condition{Type: "Ready", Status: "False", Reason: "PodsNotReady", Message: "no"}},
	} {
		o := &v1.SparkCluster{Status: v1.SparkClusterStatus{Conditions: []metav1.Condition{tc.condition}}}
		if diff := cmp.Diff(standalone.Record{Cause: tc.want}, ClusterRecord(o)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// A scheduler that changes its words about waiting pods with each look does not change the status with each.
func TestWordsOfWaitingPodsStay(t *testing.T) {
	old := metav1.Condition{Type: "Ready", Status: "False", Reason: "Unschedulable", Message: "0/3 nodes", LastTransitionTime: metav1.NewTime(noon)}
	pods := &standalone.Pods{Workers: standalone.Count{Wanted: 2}}
	for name, tc := range map[string]struct {
		reason  string
		has     []metav1.Condition
		out     metav1.Condition
		pods    *standalone.Pods
		says    string
		changed bool
	}{
		"Words":  {reason: "nothing else is new", has: []metav1.Condition{old}, out: metav1.Condition{Type: "Ready", Status: "False", Reason: "Unschedulable", Message: "0/4 nodes"}, pods: pods, says: "0/3 nodes"},
		"Reason": {reason: "it waits for something else", has: []metav1.Condition{old}, out: metav1.Condition{Type: "Ready", Status: "False", Reason: "PodsNotReady", Message: "image"}, pods: pods, says: "image", changed: true},
		"Number": {
			reason: "a pod is ready", has: []metav1.Condition{old}, out: metav1.Condition{Type: "Ready", Status: "False", Reason: "Unschedulable", Message: "0/4 nodes"},
			pods: &standalone.Pods{Workers: standalone.Count{Wanted: 2, Ready: 1}}, says: "0/4 nodes", changed: true,
		},
		"First": {reason: "nothing was said", out: metav1.Condition{Type: "Ready", Status: "False", Reason: "Unschedulable", Message: "0/4 nodes"}, pods: pods, says: "0/4 nodes", changed: true},
		"Other": {
			reason: "what was applied is another matter", has: []metav1.Condition{{Type: "Applied", Status: "False", Reason: "Unschedulable", Message: "old", LastTransitionTime: metav1.NewTime(noon)}},
			out: metav1.Condition{Type: "Applied", Status: "False", Reason: "Unschedulable", Message: "new"}, pods: pods, says: "new", changed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{Status: v1.SparkClusterStatus{Conditions: tc.has, Pods: &v1.ClusterPods{Workers: v1.ClusterPodCount{Desired: 2}}}}
			next, changed := Clusters{}.ToStatus(o, standalone.Outcome{Conditions: []metav1.Condition{tc.out}, Pods: tc.pods}, noon)
			if got := next.Status.Conditions[0].Message; got != tc.says || changed != tc.changed {
				t.Errorf("%s: %q, changed %t", tc.reason, got, changed)
			}
		})
	}
}

// The queue of a scheduler is in the order in which clusters came: one that begins again comes anew.
func TestSinceWhenClustersWait(t *testing.T) {
	at := func(word v1.ClusterStateSummary, hours int) v1.ClusterState {
		return v1.ClusterState{CurrentStateSummary: word, LastTransitionTime: instant(noon.Add(time.Duration(hours) * time.Hour))}
	}
	history := map[string]v1.ClusterState{}
	for i, s := range []v1.ClusterState{at(v1.ClusterSubmitted, 1), at(v1.ClusterSubmitted, 3), at(v1.ClusterSubmitted, 2), at(v1.ClusterSuspended, 4)} {
		history[strconv.Itoa(i)] = s
	}
	for name, tc := range map[string]struct {
		reason string
		status v1.SparkClusterStatus
		want   time.Time
	}{
		"New":    {reason: "it has no status", want: noon},
		"First":  {reason: "its first start began with it", status: v1.SparkClusterStatus{StateTransitionHistory: history, Scheduling: &v1.ClusterScheduling{Start: 1}}, want: noon},
		"Second": {reason: "the last of its starts counts", status: v1.SparkClusterStatus{StateTransitionHistory: history, Scheduling: &v1.ClusterScheduling{Start: 2}}, want: noon.Add(3 * time.Hour)},
	} {
		o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}, Status: tc.status}
		if got := clusterQueuedAt(o); !got.Equal(tc.want) {
			t.Errorf("%s: %s: %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}

// A history of all starts is bounded when one begins, as that of applications is.
func TestKeptHistoryOfClustersIsBounded(t *testing.T) {
	const states = 503
	suspended := stateAtNoon(v1.ClusterSuspended, "")
	o := &v1.SparkCluster{Status: v1.SparkClusterStatus{CurrentState: &suspended, StateTransitionHistory: map[string]v1.ClusterState{}}}
	for i := range states {
		o.Status.StateTransitionHistory[strconv.Itoa(i)] = suspended
	}
	next, _ := Clusters{KeepHistory: true}.ToStatus(o, standalone.Outcome{Record: standalone.Record{State: standalone.Submitted}}, noon)
	want := map[string]v1.ClusterState{strconv.Itoa(states): stateAtNoon(v1.ClusterSubmitted, "")}
	for i := 3; i < states; i++ {
		want[strconv.Itoa(i)] = suspended
	}
	if diff := cmp.Diff(want, next.Status.StateTransitionHistory); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if before := next.Status.PreviousAttemptSummary; before.StateTransitionHistory != nil {
		t.Errorf("the states are there twice: %d", len(before.StateTransitionHistory))
	}
}
