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

// Verdict is a scheduler's answer whether an attempt may start.
type Verdict string

const (
	// Admit lets the attempt start.
	Admit Verdict = "Admit"
	// Wait holds it back until something in the cluster changes.
	Wait Verdict = "Wait"
	// Reject refuses the attempt: it fails without using a retry, and an edit of the spec starts it again. See Admission.Reversible.
	Reject Verdict = "Reject"
	// Unavailable means that the scheduler cannot be asked; the attempt waits.
	Unavailable Verdict = "Unavailable"
)

// Admission is the scheduler's answer for an attempt without a driver. The condition that users read is made from it.
type Admission struct {
	// Verdict is "" if no plugin was asked.
	Verdict Verdict
	Reason  Reason
	// Reversible is set if a setting of the cluster, such as a limit, causes a Reject: an administrator can change the setting. Such a Reject applies to new
	// applications only; an application that has waited or run before keeps waiting.
	Reversible bool
	// Message is one stable sentence for users: it has no ages, times or counts that change while the cause is the same.
	Message string
	// Warning is shown to the user although the attempt may start; "" for none.
	Warning string
	// RetryAfter is the delay until the next call of Admit if no watched object changes; 0 relies on watches alone.
	RetryAfter time.Duration
	// Lines are the attempt's places in waiting lines, one line for each resource of a quota; see Ledger.
	Lines []Place
	// Usage is the reported usage of the quotas of Lines.
	Usage []Usage
	// Takes are the requests of an admitted attempt in the lines of quotas.
	Takes []Place
	// Apply lists the objects that must exist, in the form of server-side apply: kind, namespace, name and the plugin's own
	// fields, without a status. The operator adds owner and labels, and skips objects that are already applied. It applies them
	// before it acts on the verdict.
	Apply []*unstructured.Unstructured
	// Delete lists the objects that must not exist. The operator deletes only objects of the application.
	Delete []Ref
	// Group is the object that represents the attempt in its scheduler; nil for none.
	Group *Ref
	// Choice names the scheduler that answered. The core fills it in, not the plugin.
	Choice Choice
}

// Waits reports whether the attempt may start later.
func (a Admission) Waits() bool { return a.Verdict == Wait || a.Verdict == Unavailable }

// WaitsForRoom reports whether the reason is a wait for resources that others use.
func (r Reason) WaitsForRoom() bool {
	return slices.Contains([]Reason{ReasonWaitingForCapacity, ReasonWaitingForQuota, ReasonWaitingForGang, ReasonBehindOthers}, r)
}

// HasObjects reports whether the scheduler has objects to apply or delete.
func (a Admission) HasObjects() bool { return len(a.Apply)+len(a.Delete) > 0 }

// Reason is one word of a closed list that documentation, metrics and alerts use. The comment of each reason begins with its verdict.
type Reason string

const (
	// ReasonAdmitted : Admit.
	ReasonAdmitted Reason = "Admitted"

	// ReasonWaitingForScheduler : Wait; the scheduler has not processed the attempt yet, or has become silent.
	ReasonWaitingForScheduler Reason = "WaitingForScheduler"
	// ReasonWaitingForQuota : Wait; a queue or a quota is full.
	ReasonWaitingForQuota Reason = "WaitingForQuota"
	// ReasonWaitingForCapacity : Wait; no node has room, or the scheduler does not report what is missing.
	ReasonWaitingForCapacity Reason = "WaitingForCapacity"
	// ReasonWaitingForGang : Wait; the pods that must start together are incomplete.
	ReasonWaitingForGang Reason = "WaitingForGang"
	// ReasonBehindOthers : Wait; there is room, but others come first.
	ReasonBehindOthers Reason = "BehindOthers"
	// ReasonQueueClosed : Wait; the queue is closed.
	ReasonQueueClosed Reason = "QueueClosed"
	// ReasonQueueNotFound : Wait; the queue does not exist yet.
	ReasonQueueNotFound Reason = "QueueNotFound"
	// ReasonPriorityClassNotFound : Wait; the named PriorityClass does not exist yet.
	ReasonPriorityClassNotFound Reason = "PriorityClassNotFound"
	// ReasonPodGroupNotFound : Wait; the PodGroup that the pods name does not exist yet.
	ReasonPodGroupNotFound Reason = "PodGroupNotFound"

	// ReasonQueueNotLeaf : Reject; the queue has child queues and accepts no applications.
	ReasonQueueNotLeaf Reason = "QueueNotLeaf"
	// ReasonQueueForbidden : Reject; the namespace may not use the queue.
	ReasonQueueForbidden Reason = "QueueForbidden"
	// ReasonExceedsQueueCapacity : Reject; the request exceeds the capacity of the queue or of a parent queue.
	ReasonExceedsQueueCapacity Reason = "ExceedsQueueCapacity"
	// ReasonExceedsQuota : Reject; the request exceeds the limit of the quota.
	ReasonExceedsQuota Reason = "ExceedsQuota"
	// ReasonQuotaRequiresLimits : Reject; a quota requires a request or limit that the pods lack, so the API server would refuse
	// them.
	ReasonQuotaRequiresLimits Reason = "QuotaRequiresLimits"
	// ReasonInvalidParameters : Reject; the plugin's Validate reported an error.
	ReasonInvalidParameters Reason = "InvalidParameters"
	// ReasonSchedulerRefused : Reject; the scheduler itself refused the application.
	ReasonSchedulerRefused Reason = "SchedulerRefused"
	// ReasonPodSchedulerNameConflict : Reject; the pods name a scheduler other than the one chosen for the application.
	ReasonPodSchedulerNameConflict Reason = "PodSchedulerNameConflict"
	// ReasonPodKeyConflict : Reject; the pods have a label or annotation of the plugin with another value.
	ReasonPodKeyConflict Reason = "PodKeyConflict"

	// ReasonSchedulerUnknown : Unavailable; no plugin has the requested name.
	ReasonSchedulerUnknown Reason = "SchedulerUnknown"
	// ReasonSchedulerDisabled : Unavailable; the plugin is compiled in, but not enabled.
	ReasonSchedulerDisabled Reason = "SchedulerDisabled"
	// ReasonSchedulerNotInstalled : Unavailable; the API server lacks an API that the plugin needs.
	ReasonSchedulerNotInstalled Reason = "SchedulerNotInstalled"
	// ReasonSchedulerForbidden : Unavailable; the operator lacks a permission that the plugin needs.
	ReasonSchedulerForbidden Reason = "SchedulerForbidden"
	// ReasonSchedulerFailed : Unavailable; the plugin returned an error or panicked.
	ReasonSchedulerFailed Reason = "SchedulerFailed"

	// ReasonCapturedByOther : an observation; another scheduler took over the pod.
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
	// ReasonPodsReadyTimeout : an eviction; the scheduler did not find capacity for the gang in time.
	ReasonPodsReadyTimeout Reason = "PodsReadyTimeout"
)

// Failed returns the admission for a plugin that could not answer.
func Failed(err error) Admission {
	return Admission{Verdict: Unavailable, Reason: ReasonSchedulerFailed, Message: err.Error(), RetryAfter: failedRetry}
}

// failedRetry is the pause after a plugin failed. The cause of a failure seldom disappears at once.
const failedRetry = 30 * time.Second
