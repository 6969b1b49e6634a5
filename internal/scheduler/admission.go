// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Plan is a plugin's answer for an attempt that has no driver yet.
type Plan struct {
	// Apply are the objects that must exist, as server-side apply takes them: each with its kind, namespace and name, and
	// only the fields that the plugin means, never a status. The engine adds owner and labels, and skips what is applied
	// already. They are applied before the verdict is acted on.
	Apply []*unstructured.Unstructured
	// Delete are the objects that must not exist. The engine deletes only what belongs to the application.
	Delete []Ref
	Admission
}

// Ref names one object. Namespace is "" for cluster-scoped kinds.
type Ref struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
}

// Verdict is a scheduler's answer to "may it start?".
type Verdict string

const (
	// Go lets the attempt start.
	Go Verdict = "Go"
	// Wait holds it back until something in the cluster changes.
	Wait Verdict = "Wait"
	// Never refuses it for good: it fails without using up a retry, and an edit of the specification starts it anew.
	Never Verdict = "Never"
	// NotReady says that the scheduler itself cannot be asked. The attempt waits.
	NotReady Verdict = "NotReady"
)

// Admission is a verdict with its explanation.
type Admission struct {
	Verdict Verdict
	Reason  Reason
	// Message is one stable sentence for people: the same as long as its cause is the same, so without ages, times and
	// counts that change by themselves.
	Message string
	// Warning is what the user should know of an attempt although it may start; "" for nothing.
	Warning string
	// RetryAfter is when to ask again if no watched object changes before; 0 relies on watches alone.
	RetryAfter time.Duration
	// Lines name the quotas of its namespace that the attempt waits for: it keeps its place in the line for each; see Ledger.
	Lines []string
	// Group is the object that stands for the attempt with its scheduler; nil if there is none.
	Group *Ref
}

// Reason is one word of the closed list that documentation, metrics and alerts rely on. The list below says which
// verdict each goes with.
type Reason string

const (
	// ReasonAdmitted : Go.
	ReasonAdmitted Reason = "Admitted"

	// ReasonWaitingForScheduler : Wait; the scheduler has not looked at the attempt yet.
	ReasonWaitingForScheduler Reason = "WaitingForScheduler"
	// ReasonWaitingForQuota : Wait; a queue or a quota is full.
	ReasonWaitingForQuota Reason = "WaitingForQuota"
	// ReasonWaitingForCapacity : Wait; no node has room, or the scheduler does not say what is missing.
	ReasonWaitingForCapacity Reason = "WaitingForCapacity"
	// ReasonWaitingForGang : Wait; pods that must start together are not complete.
	ReasonWaitingForGang Reason = "WaitingForGang"
	// ReasonBehindOthers : Wait; there is room, but others came first.
	ReasonBehindOthers Reason = "BehindOthers"
	// ReasonQueueClosed : Wait; the queue takes nothing at present.
	ReasonQueueClosed Reason = "QueueClosed"
	// ReasonQueueNotFound : Wait; the queue does not exist (yet).
	ReasonQueueNotFound Reason = "QueueNotFound"
	// ReasonPriorityClassNotFound : Wait; the named PriorityClass does not exist (yet).
	ReasonPriorityClassNotFound Reason = "PriorityClassNotFound"

	// ReasonQueueNotLeaf : Never; the queue has queues below it and takes no applications.
	ReasonQueueNotLeaf Reason = "QueueNotLeaf"
	// ReasonQueueForbidden : Never; the namespace may not use the queue.
	ReasonQueueForbidden Reason = "QueueForbidden"
	// ReasonExceedsQueueCapacity : Never; more than the queue, or one above it, can ever give.
	ReasonExceedsQueueCapacity Reason = "ExceedsQueueCapacity"
	// ReasonExceedsQuota : Never; more than the quota can ever give.
	ReasonExceedsQuota Reason = "ExceedsQuota"
	// ReasonQuotaRequiresLimits : Never; a quota counts a request or limit that the pods do not have, so they would be
	// refused.
	ReasonQuotaRequiresLimits Reason = "QuotaRequiresLimits"
	// ReasonInvalidParameters : Never; the plugin's Validate found something.
	ReasonInvalidParameters Reason = "InvalidParameters"
	// ReasonSchedulerRefused : Never; the scheduler itself refused the application.
	ReasonSchedulerRefused Reason = "SchedulerRefused"
	// ReasonPodSchedulerNameConflict : Never; the pods name another scheduler than the one chosen for the application.
	ReasonPodSchedulerNameConflict Reason = "PodSchedulerNameConflict"
	// ReasonPodKeyConflict : Never; the pods carry a label or annotation that is the plugin's, with another value.
	ReasonPodKeyConflict Reason = "PodKeyConflict"

	// ReasonSchedulerUnknown : NotReady; no plugin has the name that the application asks for.
	ReasonSchedulerUnknown Reason = "SchedulerUnknown"
	// ReasonSchedulerDisabled : NotReady; the plugin is compiled in, but not enabled.
	ReasonSchedulerDisabled Reason = "SchedulerDisabled"
	// ReasonSchedulerNotInstalled : NotReady; an API that the plugin needs is missing.
	ReasonSchedulerNotInstalled Reason = "SchedulerNotInstalled"
	// ReasonSchedulerForbidden : NotReady; the operator lacks a right that the plugin needs.
	ReasonSchedulerForbidden Reason = "SchedulerForbidden"
	// ReasonSchedulerFailed : NotReady; the plugin returned an error or panicked.
	ReasonSchedulerFailed Reason = "SchedulerFailed"

	// ReasonCapturedByOther : an observation; another scheduler took the pod over.
	ReasonCapturedByOther Reason = "CapturedByOther"
	// ReasonScheduled : an observation; all pods have a node.
	ReasonScheduled Reason = "Scheduled"
	// ReasonDriverGone : an observation; the driver pod is gone, and nothing tells why.
	ReasonDriverGone Reason = "DriverGone"

	// ReasonPreempted : an eviction; pods of higher priority took the room.
	ReasonPreempted Reason = "Preempted"
	// ReasonReclaimed : an eviction; another queue took its share back.
	ReasonReclaimed Reason = "Reclaimed"
	// ReasonNodeFailure : an eviction; the node failed, was drained or ran out of resources.
	ReasonNodeFailure Reason = "NodeFailure"
	// ReasonPodsReadyTimeout : an eviction; the scheduler did not find room for the whole gang in time.
	ReasonPodsReadyTimeout Reason = "PodsReadyTimeout"
)

// Failed is the admission for a plugin that could not answer.
func Failed(err error) Admission {
	return Admission{Verdict: NotReady, Reason: ReasonSchedulerFailed, Message: err.Error(), RetryAfter: failedRetry}
}

// failedRetry is how long a plugin that failed is left alone: what it failed on seldom changes at once.
const failedRetry = 30 * time.Second
