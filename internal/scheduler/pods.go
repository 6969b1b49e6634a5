// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Pods derives the state of an attempt from its pods alone. It reads conditions that the kube-scheduler and schedulers built on it set: PodScheduled=False on
// a pod without a node, DisruptionTarget on an evicted pod. Plugins refine its result.
func Pods(a Attempt, f PodStatuses) Observation {
	d, driver := f.Driver, a.Word(spark.WordDriver)
	switch {
	case d == nil:
		return Observation{Stage: StageGone, Reason: ReasonDriverGone, Message: fmt.Sprintf("the %s pod is gone", driver)}
	case d.Condition(corev1.DisruptionTarget).Status == corev1.ConditionTrue:
		return evicted(driver, d)
	case d.Phase == corev1.PodFailed && !d.Started && d.Node != "":
		return refusedByNode(driver, d)
	case d.Phase == corev1.PodFailed && d.Deleting:
		return Observation{Stage: StageGone, Reason: ReasonDriverGone, Message: fmt.Sprintf("the %s pod was deleted, and has stopped", driver)}
	case d.Waits():
		return queued(driver, d)
	}
	return Executors(a, f, ReasonWaitingForCapacity, Processed)
}

// evicted reads the condition DisruptionTarget. Kubernetes defines its reasons:
// https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
func evicted(driver string, d *PodStatus) Observation {
	c := d.Condition(corev1.DisruptionTarget)
	reason := ReasonNodeFailure
	if c.Reason == corev1.PodReasonPreemptionByScheduler {
		reason = ReasonPreempted
	}
	message := fmt.Sprintf("the %s was evicted", driver)
	if c.Message != "" {
		message += ": " + c.Message
	}
	return Observation{Stage: StageEvicted, Reason: reason, Message: message, Eviction: &Eviction{Reason: reason, By: c.Reason}}
}

// refusedByNode detects a pod that the kubelet refused, e.g. with OutOfcpu because two schedulers share the node. No container of the application has run.
func refusedByNode(driver string, d *PodStatus) Observation {
	return Observation{
		Stage: StageEvicted, Reason: ReasonNodeFailure,
		Message:  fmt.Sprintf("node %s refused the %s: %s", d.Node, driver, either(d.Message, d.Reason)),
		Eviction: &Eviction{Reason: ReasonNodeFailure, By: d.Reason},
	}
}

func queued(driver string, d *PodStatus) Observation {
	o := Observation{Stage: StageQueued, Reason: ReasonWaitingForScheduler, Message: fmt.Sprintf("no scheduler has processed the %s pod yet", driver)}
	c := d.Condition(corev1.PodScheduled)
	switch {
	case len(d.Gates) > 0:
		o.Message = fmt.Sprintf("the %s pod is held back by scheduling gates that the operator did not set: %s", driver, strings.Join(d.Gates, ", "))
		o.Reason = ReasonCapturedByOther
	case c.Status == corev1.ConditionFalse:
		o.Reason, o.Message = ReasonWaitingForCapacity, fmt.Sprintf("the %s waits for a node: %s", driver, either(c.Message, c.Reason))
	}
	return o
}

// Executors observes the executors of a driver that has a node. It reports why executors wait, or that the scheduler has processed none of them for the time
// Silence. processed returns when the scheduler first wrote about a pod; it is Processed, unless the plugin has a better source.
func Executors(a Attempt, f PodStatuses, reason Reason, processed func(*PodStatus) (time.Time, bool)) Observation {
	waiting, why := 0, ""
	for i := range f.Executors {
		e := &f.Executors[i]
		if !e.Waits() {
			continue
		}
		waiting++
		if c := e.Condition(corev1.PodScheduled); c.Status == corev1.ConditionFalse && why == "" {
			why = ": " + either(c.Message, c.Reason)
		}
	}
	if waiting == 0 {
		return Observation{Stage: StagePlaced, Reason: ReasonScheduled, Message: "all pods have a node"}
	}
	o := Observation{Stage: StageShort, Reason: reason}
	o.Message = fmt.Sprintf("%d of %d %s wait for a node", waiting, len(f.Executors), a.Word(spark.WordExecutors))
	since := ignoredSince(f, processed)
	switch left := since.Add(Silence).Sub(f.Now); {
	case since.IsZero():
	case left > 0:
		o.RetryAfter = left
	default:
		o.Reason = ReasonWaitingForScheduler
		o.Message += fmt.Sprintf(": no scheduler has processed a pod of the %s since %s; check that it runs",
			a.Word(spark.WordApplication), since.UTC().Format(time.RFC3339))
		return o
	}
	o.Message += why
	return o
}

func either(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

// Warnings joins the texts that are not empty.
func Warnings(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// Grows reports whether dynamic allocation may exceed the initial executors, up to a set maximum.
func (a Attempt) Grows() bool {
	return a.PodSets.Max > a.PodSets.Initial && a.PodSets.Max < math.MaxInt32
}

// CannotGrow warns of executors that will wait forever. most is the request with all executors that dynamic allocation may add; owner names the object that
// has the limit.
func CannotGrow(a Attempt, owner string, most, limit corev1.ResourceList) string {
	never := Shortages(most, nil, limit)
	if len(never) == 0 {
		return ""
	}
	return fmt.Sprintf("dynamic allocation cannot grow to %d %s: they exceed %s: %s", a.PodSets.Max, a.Word(spark.WordExecutors), owner, Exceeding(never))
}

// FewPending warns if spark.kubernetes.allocation.maxPendingPods is smaller than the gang: Spark then does not request all executors at once.
func FewPending(a Attempt) string {
	if a.PodSets.MaxPending == 0 || a.PodSets.MaxPending >= a.PodSets.Initial {
		return ""
	}
	return fmt.Sprintf("spark.kubernetes.allocation.maxPendingPods is %d: of the %d %s with reserved capacity, Spark creates at most so many at a time",
		a.PodSets.MaxPending, a.PodSets.Initial, a.Word(spark.WordExecutors))
}
