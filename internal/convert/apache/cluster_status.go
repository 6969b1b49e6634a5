// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// ClusterFamily is what the core knows of clusters.
var ClusterFamily = lifecycle.Family{
	Group: v1.SchemeGroupVersion.Group, Version: v1.SchemeGroupVersion.Version, Kind: "SparkCluster",
	Labels: lifecycle.Labels{
		App: v1.LabelClusterName, LaunchedBy: v1.LabelOperator, Submission: v1.LabelClusterName, PlainOwner: true,
		CreatedBy: v1beta2.LabelCreatedBy, SpecHash: v1beta2.LabelSpecHash, Exposes: v1beta2.LabelExposes, Applied: v1beta2.AnnotationApplied,
	},
	Finalizer: v1.ClusterFinalizer,
	Submitter: lifecycle.SubmitterKeys{User: v1beta2.AnnotationSubmitter, Groups: v1beta2.AnnotationSubmitterGroups},
	Fields:    spark.Fields{"": "spec"},
}

// ClusterSets are the names of the StatefulSets of a cluster.
func ClusterSets(name string) (master, workers string) { return masterName(name), workerName(name) }

// DesiredCluster returns what standalone.Decide needs to know of the object itself.
func DesiredCluster(o *v1.SparkCluster) standalone.Cluster {
	c := standalone.Cluster{
		Generation: o.Generation, Suspend: o.Spec.Suspend, Deleting: !o.DeletionTimestamp.IsZero(), Finalizer: slices.Contains(o.Finalizers, v1.ClusterFinalizer),
		SuspendField: "spec.suspend", Problem: clusterProblem(o),
		Optional: []standalone.Ref{{Kind: "HorizontalPodAutoscaler", Name: workerName(o.Name) + "-hpa"}, {Kind: "PodDisruptionBudget", Name: workerName(o.Name) + "-pdb"}},
	}
	if value := o.Labels[v1.LabelSentinel]; strings.EqualFold(value, "true") {
		c.ManagedBy = "the health probe of Apache's operator (label " + v1.LabelSentinel + ")"
	}
	size := o.Spec.ClusterTolerations.InstanceConfig
	for _, object := range ClusterObjects(o) {
		part := standalone.Part{Ref: standalone.Ref{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName()}}
		part.Runs = part.Kind == "StatefulSet" || slices.Contains(c.Optional, part.Ref)
		if part.Kind == "StatefulSet" && part.Name == workerName(o.Name) && size.MinWorkers < size.MaxWorkers {
			part.Scaled, part.Min, part.Max = true, size.MinWorkers, size.MaxWorkers
		}
		c.Parts = append(c.Parts, part)
	}
	return c
}

// clusterProblem is what is wrong with a spec; empty if nothing is known to be.
func clusterProblem(o *v1.SparkCluster) lifecycle.Cause {
	problem := func(message string) lifecycle.Cause {
		return lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: message}
	}
	const size = "spec.clusterTolerations.instanceConfig."
	n := o.Spec.ClusterTolerations.InstanceConfig
	number := func(value int32) string { return strconv.FormatInt(int64(value), 10) }
	switch service := masterService(o.Name); {
	case o.MalformedSpec != "":
		return problem("spec: cannot be decoded: " + o.MalformedSpec)
	case len(validation.IsDNS1035Label(service)) > 0:
		return problem("metadata.name: " + strconv.Quote(o.Name) + " does not make the name of a Service, " + service +
			"; use lower case letters, digits and -, begin with a letter, and at most " + number(int32(validation.DNS1035LabelMaxLength-len(service)+len(o.Name))) + " characters")
	case n.InitWorkers < 0:
		return problem(size + "initWorkers: " + number(n.InitWorkers) + " is not a number of workers; use 0 or more")
	case n.MinWorkers < n.MaxWorkers && n.MinWorkers < 1:
		return problem(size + "minWorkers: " + number(n.MinWorkers) + " is too small for an autoscaler, which there is because maxWorkers is more; use 1 or more, or the same as maxWorkers")
	}
	return lifecycle.Cause{}
}

// clusterStates are the words for states.
var clusterStates = map[standalone.State]v1.ClusterStateSummary{
	standalone.Submitted: v1.ClusterSubmitted, standalone.Running: v1.ClusterRunningHealthy, standalone.Suspended: v1.ClusterSuspended,
	standalone.Refused: v1.ClusterSchedulingFailure, standalone.Failed: v1.ClusterFailed, standalone.Released: v1.ClusterResourceReleased,
}

// ClusterRecord reads back what ClusterStatus stored, or what Apache's operator wrote.
func ClusterRecord(o *v1.SparkCluster) standalone.Record {
	r := standalone.Record{Generation: o.Status.ObservedGeneration}
	if s := o.Status.CurrentState; s != nil {
		for state, word := range clusterStates {
			if word == s.CurrentStateSummary {
				r.State = state
			}
		}
	}
	if c := meta.FindStatusCondition(o.Status.Conditions, standalone.ConditionApplied); c != nil && c.Status == metav1.ConditionFalse && c.Reason != string(standalone.ReasonNotApplied) {
		r.Cause = lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
	}
	return r
}

// ClusterStatus returns a copy of the object with the status for the outcome; changed is false if it has that already.
func ClusterStatus(o *v1.SparkCluster, out standalone.Outcome, now time.Time) (next *v1.SparkCluster, changed bool) {
	next = o.DeepCopy()
	s := &next.Status
	s.ObservedGeneration = out.Record.Generation
	for _, c := range out.Conditions {
		c.ObservedGeneration, c.LastTransitionTime = out.Record.Generation, metav1.NewTime(now)
		meta.SetStatusCondition(&s.Conditions, c)
	}
	before := ClusterRecord(o).State
	if before != out.Record.State {
		if before == standalone.New {
			addClusterState(s, v1.ClusterSubmitted, "the cluster was submitted", now)
		}
		if word := clusterStates[out.Record.State]; before != standalone.New || word != v1.ClusterSubmitted {
			addClusterState(s, word, clusterMessage(out.Record), now)
		}
	}
	return next, !equality.Semantic.DeepEqual(&o.Status, s)
}

// clusterMessage explains a state.
func clusterMessage(r standalone.Record) string {
	switch {
	case r.Cause.Message != "":
		return r.Cause.Message
	case r.State == standalone.Running:
		return "the objects of the cluster are made; the condition Ready says how many pods are ready"
	case r.State == standalone.Released:
		return "what was made of the cluster is deleted"
	}
	return ""
}

// addClusterState adds a state to the history. A cluster that begins again has a new one, and the old one is that of the attempt before.
func addClusterState(s *v1.SparkClusterStatus, word v1.ClusterStateSummary, message string, now time.Time) {
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
		s.PreviousAttemptSummary = &v1.ClusterAttemptSummary{AttemptInfo: s.CurrentAttemptSummary.AttemptInfo, StateTransitionHistory: s.StateTransitionHistory}
		s.StateTransitionHistory = nil
	}
	if s.StateTransitionHistory == nil {
		s.StateTransitionHistory = map[string]v1.ClusterState{}
	}
	s.StateTransitionHistory[strconv.FormatInt(key+1, 10)] = state
	s.CurrentState = &state
}
