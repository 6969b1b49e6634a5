// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Descriptor introduces a plugin.
type Descriptor struct {
	// Name is what users write in spec.batchScheduler.
	Name string
	// SchedulerName is written to the pods of both roles; "" leaves it alone.
	SchedulerName string
	// Plain says that this plugin is what users mean who opt out of batch scheduling (NoScheduler).
	Plain bool
	// DefaultQueue is where the scheduler puts applications without a queue; "" if there is no such queue.
	DefaultQueue string
	// Needs are the APIs that must be installed. Without one of them the plugin is NotReady.
	Needs []API
	// Reads and Owns are the kinds that the plugin looks at, and those that it has applied and deleted. A kind that it
	// owns is watched and need not be repeated in Reads.
	Reads, Owns []schema.GroupVersionKind
	// Rules are the rights that the operator needs for Reads and Owns, no more.
	Rules []rbacv1.PolicyRule
	// Claims are the keys that Decorate may set. A user who sets one of them to another value is told so.
	Claims []PodKey
	// Supports is what the plugin can do.
	Supports Support
	// Quota asks for Attempt.Quota.
	Quota bool
}

// API is an API that a plugin needs.
type API struct {
	schema.GroupKind
	// Versions are those that the plugin understands; one of them suffices.
	Versions []string
	// Optional says that the plugin works without it and sees nothing of that kind.
	Optional bool
	// Hint tells an administrator how to get it.
	Hint string
}

// Support is what a plugin can do. Users read it in the documentation, the conformance suite in its list of cases.
type Support struct {
	// Queues says that spec.batchSchedulerOptions.queue has a meaning. Otherwise it is ignored.
	Queues bool
	// WaitsBeforePods says that an attempt that finds no room waits before its driver pod exists.
	WaitsBeforePods bool
	// Reserves says that of two attempts for the same room only one starts.
	Reserves bool
}

// PodKey is something on a pod that a plugin sets.
type PodKey struct {
	Part PodPart
	// Key of the label or annotation; "" for fields.
	Key string
}

// PodPart is a part of a pod.
type PodPart string

const (
	// PodLabel is a label of a pod.
	PodLabel PodPart = "label"
	// PodAnnotation is an annotation of a pod.
	PodAnnotation PodPart = "annotation"
	// PodPriorityClass is the field spec.priorityClassName of a pod, which is set only where the role has none of its own.
	PodPriorityClass PodPart = "priorityClassName"
)
