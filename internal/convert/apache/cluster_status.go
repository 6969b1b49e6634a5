// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// clusterStates are the names of states.
var clusterStates = map[standalone.State]v1.ClusterStateSummary{
	standalone.Submitted: v1.ClusterSubmitted, standalone.Running: v1.ClusterRunningHealthy, standalone.Suspended: v1.ClusterSuspended,
	standalone.Refused: v1.ClusterSchedulingFailure, standalone.Failed: v1.ClusterFailed, standalone.Released: v1.ClusterResourceReleased,
}

// ClusterState returns the name of a state; "" for a new cluster.
func ClusterState(s standalone.State) string { return string(clusterStates[s]) }

// ClusterRecord reads the record from the status that ToStatus or Apache's operator wrote.
func ClusterRecord(o *v1.SparkCluster) standalone.Record {
	r := standalone.Record{Generation: o.Status.ObservedGeneration, Defaults: o.Status.Defaults}
	if s := o.Status.Scheduling; s != nil {
		r.Scheduling = standalone.Scheduling{Start: s.Start, HeldBy: s.HeldBy, Choice: scheduler.Choice{
			Scheduler: s.Scheduler, Source: scheduler.Source(s.Source), Queue: s.Queue, Group: s.Group, Parameters: s.Parameters,
		}}
	}
	if s := o.Status.CurrentState; s != nil {
		for state, word := range clusterStates {
			if word == s.CurrentStateSummary {
				r.State = state
			}
		}
	}
	if c := meta.FindStatusCondition(o.Status.Conditions, standalone.ConditionApplied); c != nil &&
		c.Status == metav1.ConditionFalse && c.Reason != string(standalone.ReasonNotApplied) {
		r.Cause = lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
	}
	return r
}

// ToStatus returns a copy of the object with the status for the outcome; changed is false if the status stays the same.
func (k Clusters) ToStatus(o *v1.SparkCluster, out standalone.Outcome, now time.Time) (next *v1.SparkCluster, changed bool) {
	next = o.DeepCopy()
	s := &next.Status
	s.ObservedGeneration = out.Record.Generation
	s.Scheduling, s.Defaults = clusterScheduling(out.Record.Scheduling), out.Record.Defaults
	s.Pods = clusterPods(out.Pods)
	for _, c := range out.Conditions {
		if c.Type == standalone.ConditionReady && equality.Semantic.DeepEqual(o.Status.Pods, s.Pods) {
			c.Message = wordsKept(meta.FindStatusCondition(s.Conditions, c.Type), c)
		}
		c.ObservedGeneration, c.LastTransitionTime = out.Record.Generation, metav1.NewTime(now)
		meta.SetStatusCondition(&s.Conditions, c)
	}
	before := ClusterRecord(o).State
	if before != out.Record.State {
		if before == standalone.New {
			addClusterState(s, v1.ClusterSubmitted, "the cluster was submitted", now, k.KeepHistory)
		}
		if word := clusterStates[out.Record.State]; before != standalone.New || word != v1.ClusterSubmitted {
			addClusterState(s, word, clusterMessage(out.Record), now, k.KeepHistory)
		}
	}
	return next, !equality.Semantic.DeepEqual(&o.Status, s)
}

// wordsKept returns the stored message of the condition Ready while the numbers of pods stay the same. A scheduler may change its messages about waiting pods
// all the time, so they are written only with a new reason.
func wordsKept(old *metav1.Condition, c metav1.Condition) string {
	if old == nil || old.Reason != c.Reason {
		return c.Message
	}
	return old.Message
}

func clusterPods(p *standalone.Pods) *v1.ClusterPods {
	if p == nil {
		return nil
	}
	count := func(c standalone.Count) v1.ClusterPodCount {
		return v1.ClusterPodCount{Ready: c.Ready, Desired: c.Wanted}
	}
	return &v1.ClusterPods{Master: count(p.Master), Workers: count(p.Workers)}
}

// ClusterPods returns the stored numbers of pods; nil for none.
func ClusterPods(o *v1.SparkCluster) *standalone.Pods {
	if o.Status.Pods == nil {
		return nil
	}
	count := func(c v1.ClusterPodCount) standalone.Count {
		return standalone.Count{Ready: c.Ready, Wanted: c.Desired}
	}
	return &standalone.Pods{Master: count(o.Status.Pods.Master), Workers: count(o.Status.Pods.Workers)}
}

// clusterQueuedAt returns when a cluster began to wait for its start. For the first start this is the cluster's creation, and later the beginning of the
// current start.
func clusterQueuedAt(o *v1.SparkCluster) time.Time {
	if s := o.Status.Scheduling; s == nil || s.Start <= 1 {
		return o.CreationTimestamp.Time
	}
	var began time.Time
	for _, state := range o.Status.StateTransitionHistory {
		if at := instantOf(state.LastTransitionTime); state.CurrentStateSummary == v1.ClusterSubmitted && at.After(began) {
			began = at
		}
	}
	return began
}

// ClusterSince returns the beginning of the current state; zero if the status lacks it.
func ClusterSince(o *v1.SparkCluster) time.Time {
	if s := o.Status.CurrentState; s != nil {
		return instantOf(s.LastTransitionTime)
	}
	return time.Time{}
}

func clusterScheduling(s standalone.Scheduling) *v1.ClusterScheduling {
	if s == (standalone.Scheduling{}) {
		return nil
	}
	s.Choice = lifecycle.Stored(s.Choice)
	return &v1.ClusterScheduling{
		Start: s.Start, Scheduler: s.Scheduler, Source: string(s.Source), Queue: s.Queue, Parameters: s.Parameters, Group: s.Group, HeldBy: s.HeldBy,
	}
}

// clusterMessage returns the message about a state.
func clusterMessage(r standalone.Record) string {
	switch {
	case r.Cause.Message != "":
		return r.Cause.Message
	case r.State == standalone.Running:
		return "the objects of the cluster exist; the condition Ready counts the ready pods"
	case r.State == standalone.Released:
		return "all objects of the cluster are deleted"
	}
	return ""
}

// addClusterState adds a state to the history. A restart begins a new history, and the old history becomes that of the previous attempt.
func addClusterState(s *v1.SparkClusterStatus, word v1.ClusterStateSummary, message string, now time.Time, keep bool) {
	state := v1.ClusterState{CurrentStateSummary: word, Message: message, LastTransitionTime: instant(now)}
	if word == v1.ClusterSuspended {
		state.SuspendReason = v1.SuspendedBySpec
	}
	last, key := lastOf(s.StateTransitionHistory)
	if last == nil {
		key = -1
	}
	if s.CurrentAttemptSummary == nil {
		s.CurrentAttemptSummary = &v1.ClusterAttemptSummary{AttemptInfo: &v1.ClusterAttemptInfo{}}
	}
	if word == v1.ClusterSubmitted && last != nil {
		s.PreviousAttemptSummary = &v1.ClusterAttemptSummary{AttemptInfo: s.CurrentAttemptSummary.AttemptInfo}
		if keep {
			forgetUntil(s.StateTransitionHistory, key-mostKept)
		} else {
			s.PreviousAttemptSummary.StateTransitionHistory, s.StateTransitionHistory = s.StateTransitionHistory, nil
		}
	}
	if s.StateTransitionHistory == nil {
		s.StateTransitionHistory = map[string]v1.ClusterState{}
	}
	s.StateTransitionHistory[strconv.FormatInt(key+1, 10)] = state
	s.CurrentState = &state
}
