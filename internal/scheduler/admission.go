// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names one object. Namespace is "" for cluster-scoped kinds.
type Ref struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
}

// Verdict is a scheduler's answer to "may it start?".
type Verdict string

const (
	// Admit lets the attempt start.
	Admit Verdict = "Admit"
	// Wait holds it back until something in the cluster changes.
	Wait Verdict = "Wait"
	// Reject refuses it permanently: it fails without using up a retry, and an edit of the specification starts it again.
	Reject Verdict = "Reject"
	// Unavailable says that the scheduler itself cannot be asked. The attempt waits.
	Unavailable Verdict = "Unavailable"
)

// Admission is the answer for an attempt that has no driver yet: from the plugin to the condition that a user reads, it is
// this one value.
type Admission struct {
	// Verdict is "" if no plugin was asked.
	Verdict Verdict
	Reason  Reason
	// Message is one stable sentence for people: the same as long as its cause is the same, so without ages, times and
	// counts that change by themselves.
	Message string
	// Warning is what the user should know of an attempt although it may start; "" for nothing.
	Warning string
	// RetryAfter is when to ask again if no watched object changes before; 0 relies on watches alone.
	RetryAfter time.Duration
	// Lines are those that the attempt waits in, each for one resource of a quota: it keeps its place there; see Ledger.
	Lines []Place
	// Usage is what the quotas of these lines report.
	Usage []Usage
	// HasQuota says that there is room in the quotas for an attempt that waits for something else.
	HasQuota bool
	// Apply are the objects that must exist, as server-side apply takes them: each with its kind, namespace and name, and
	// only the fields that the plugin means, never a status. The operator adds owner and labels, and skips what is applied
	// already. They are applied before the verdict is acted on.
	Apply []*unstructured.Unstructured
	// Delete are the objects that must not exist. The operator deletes only what belongs to the application.
	Delete []Ref
	// Group is the object that represents the attempt in its scheduler; nil if there is none.
	Group *Ref
	// Choice is who gave the answer. A plugin leaves it empty: the core fills it in.
	Choice Choice
}

// Waits is whether the attempt may start later.
func (a Admission) Waits() bool { return a.Verdict == Wait || a.Verdict == Unavailable }

// waitsForRoom is whether the attempt waits for what others use, and not for something that is missing.
func (a Admission) waitsForRoom() bool { return a.Verdict == Wait && a.Reason.WaitsForRoom() }

// WaitsForRoom is whether an attempt that waits for the reason waits for what others use. It has a place in a line of quotas then, or room in them may
// be kept for it.
func (r Reason) WaitsForRoom() bool {
	return slices.Contains([]Reason{ReasonWaitingForCapacity, ReasonWaitingForQuota, ReasonWaitingForGang, ReasonBehindOthers}, r)
}

// HasObjects is whether the scheduler wants objects of its own to exist, or not to.
func (a Admission) HasObjects() bool { return len(a.Apply)+len(a.Delete) > 0 }

// Reason is one word of the closed list that documentation, metrics and alerts rely on. The list below says which
// verdict each goes with.
type Reason string

const (
	// ReasonAdmitted : Admit.
	ReasonAdmitted Reason = "Admitted"

	// ReasonWaitingForScheduler : Wait; the scheduler has not processed the attempt yet, or is not heard any more.
	ReasonWaitingForScheduler Reason = "WaitingForScheduler"
	// ReasonWaitingForQuota : Wait; a queue or a quota is full.
	ReasonWaitingForQuota Reason = "WaitingForQuota"
	// ReasonWaitingForCapacity : Wait; no node has room, or the scheduler does not say what is missing.
	ReasonWaitingForCapacity Reason = "WaitingForCapacity"
	// ReasonWaitingForGang : Wait; pods that must start together are not complete.
	ReasonWaitingForGang Reason = "WaitingForGang"
	// ReasonBehindOthers : Wait; there is room, but others come first.
	ReasonBehindOthers Reason = "BehindOthers"
	// ReasonQueueClosed : Wait; the queue is closed.
	ReasonQueueClosed Reason = "QueueClosed"
	// ReasonQueueNotFound : Wait; the queue does not exist (yet).
	ReasonQueueNotFound Reason = "QueueNotFound"
	// ReasonPriorityClassNotFound : Wait; the named PriorityClass does not exist (yet).
	ReasonPriorityClassNotFound Reason = "PriorityClassNotFound"
	// ReasonPodGroupNotFound : Wait; the PodGroup that the pods name themselves does not exist (yet).
	ReasonPodGroupNotFound Reason = "PodGroupNotFound"

	// ReasonQueueNotLeaf : Reject; the queue has child queues and accepts no applications.
	ReasonQueueNotLeaf Reason = "QueueNotLeaf"
	// ReasonQueueForbidden : Reject; the namespace may not use the queue.
	ReasonQueueForbidden Reason = "QueueForbidden"
	// ReasonExceedsQueueCapacity : Reject; more than the queue, or one above it, can ever give.
	ReasonExceedsQueueCapacity Reason = "ExceedsQueueCapacity"
	// ReasonExceedsQuota : Reject; more than the quota can ever give.
	ReasonExceedsQuota Reason = "ExceedsQuota"
	// ReasonQuotaRequiresLimits : Reject; a quota counts a request or limit that the pods do not have, so they would be
	// refused.
	ReasonQuotaRequiresLimits Reason = "QuotaRequiresLimits"
	// ReasonInvalidParameters : Reject; the plugin's Validate found something.
	ReasonInvalidParameters Reason = "InvalidParameters"
	// ReasonSchedulerRefused : Reject; the scheduler itself refused the application.
	ReasonSchedulerRefused Reason = "SchedulerRefused"
	// ReasonPodSchedulerNameConflict : Reject; the pods name another scheduler than the one chosen for the application.
	ReasonPodSchedulerNameConflict Reason = "PodSchedulerNameConflict"
	// ReasonPodKeyConflict : Reject; the pods carry a label or annotation that is the plugin's, with another value.
	ReasonPodKeyConflict Reason = "PodKeyConflict"

	// ReasonSchedulerUnknown : Unavailable; no plugin has the name that the application asks for.
	ReasonSchedulerUnknown Reason = "SchedulerUnknown"
	// ReasonSchedulerDisabled : Unavailable; the plugin is compiled in, but not enabled.
	ReasonSchedulerDisabled Reason = "SchedulerDisabled"
	// ReasonSchedulerNotInstalled : Unavailable; an API that the plugin needs is missing.
	ReasonSchedulerNotInstalled Reason = "SchedulerNotInstalled"
	// ReasonSchedulerForbidden : Unavailable; the operator lacks a right that the plugin needs.
	ReasonSchedulerForbidden Reason = "SchedulerForbidden"
	// ReasonSchedulerFailed : Unavailable; the plugin returned an error or panicked.
	ReasonSchedulerFailed Reason = "SchedulerFailed"

	// ReasonCapturedByOther : an observation; another scheduler took the pod over.
	ReasonCapturedByOther Reason = "CapturedByOther"
	// ReasonScheduled : an observation; all pods have a node.
	ReasonScheduled Reason = "Scheduled"
	// ReasonDriverGone : an observation; the driver pod is gone, for an unknown reason.
	ReasonDriverGone Reason = "DriverGone"

	// ReasonPreempted : an eviction; pods of higher priority took the room.
	ReasonPreempted Reason = "Preempted"
	// ReasonReclaimed : an eviction; another queue took its share back.
	ReasonReclaimed Reason = "Reclaimed"
	// ReasonNodeFailure : an eviction; the node failed, was drained or ran out of resources.
	ReasonNodeFailure Reason = "NodeFailure"
	// ReasonPodsReadyTimeout : an eviction; the scheduler did not find capacity for the whole gang in time.
	ReasonPodsReadyTimeout Reason = "PodsReadyTimeout"
)

// Failed is the admission for a plugin that could not answer.
func Failed(err error) Admission {
	return Admission{Verdict: Unavailable, Reason: ReasonSchedulerFailed, Message: err.Error(), RetryAfter: failedRetry}
}

// failedRetry is how long a plugin that failed is left alone: what it failed on seldom changes at once.
const failedRetry = 30 * time.Second
