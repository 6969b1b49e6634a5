// SPDX-License-Identifier: Apache-2.0

// Package scheduler is the interface between the operator and batch schedulers.
//
// A plugin is a set of pure functions over values. Reads lists the objects that it needs; the core reads them into a Snapshot.
// Admit decides whether the attempt may start and which objects of the plugin must exist. Decorate adds the marks that the pods
// need. While the attempt runs, an Observer observes its pods; when it is over, a Releaser lists the objects to delete. A
// plugin has no client, no clock and no memory, and never sees a lifecycle state or an application kind. The core, in turn,
// never sees the name of a scheduler.
//
// The core calls plugins only through AdmitAttempt, Decorate, Observe and Release, which enforce the rules for all plugins. A panic becomes an error, a write
// outside ManagedKeys is refused, and an observation that a plugin omits comes from the pods.
package scheduler

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Plugin connects one batch scheduler. All methods are functions of their arguments, and must not change them.
type Plugin interface {
	// Describe introduces the plugin. Every call returns the same value.
	Describe() Descriptor
	// Validate checks the attempt alone, without the cluster. An error refuses the attempt permanently.
	Validate(Attempt) field.ErrorList
	// Reads lists the objects that Admit needs.
	Reads(Attempt) []Read
	// Admit decides whether the attempt may start, and which objects it needs. It is called again until the answer is Admit or Reject. Each answer is complete:
	// an object missing from Apply is kept, an object in Delete is deleted. An error is no verdict: the attempt waits and Admit is called again.
	Admit(Attempt, Snapshot) (Admission, error)
	// Decorate adds the scheduler's marks to the pods of both roles. It may set only the keys of Descriptor.ManagedKeys.
	Decorate(Attempt, *Decoration) error
}

// Observer is a plugin that knows more about a submitted attempt than its pods show. Without it, Pods reads the conditions of
// the kube-scheduler.
type Observer interface {
	// ObserveReads lists the objects that Observe needs.
	ObserveReads(Attempt, PodStatuses) []Read
	// Observe returns the attempt's state in its scheduler. It is not called while the operator itself ends the pods. After an error the last observation stays,
	// and Observe is called again.
	Observe(Attempt, Snapshot, PodStatuses) (Observation, error)
}

// Releaser is a plugin with objects of its own. They are deleted when the attempt is over, before the next attempt or its
// back-off begins.
type Releaser interface {
	// Release lists the objects of the attempt. Missing ones are ignored.
	Release(Attempt) []Ref
}

// Multiple is a plugin that can serve several schedulers of different names, e.g. profiles of the kube-scheduler.
type Multiple interface {
	// ForScheduler returns the plugin for one scheduler. Users choose it by the scheduler's name.
	ForScheduler(name string) Plugin
}

// Descriptor introduces a plugin.
type Descriptor struct {
	// Name is the plugin's name in spec.batchScheduler.
	Name string
	// AliasOf is set if Name is an additional name for users (see Multiple). It is the plugin's name in the operator's configuration, and the configuration of
	// that plugin applies to this one.
	AliasOf string
	// SchedulerName is set on the pods of both roles; "" leaves their schedulerName unchanged.
	SchedulerName string
	// NoBatchScheduler marks the plugin for users who turn batch scheduling off (NoScheduler).
	NoBatchScheduler bool
	// DefaultQueue is the scheduler's queue for applications without one; "" for none.
	DefaultQueue string
	// Needs are the required APIs. Without one of them the plugin is unavailable.
	Needs []API
	// Reads are the kinds that the plugin reads; Owns are the kinds that it applies and deletes. Owned kinds are watched and need not be repeated in Reads.
	Reads, Owns []schema.GroupVersionKind
	// Ignores are field paths of these kinds. Their changes enqueue no waiting application: they are numbers that change all the time and decide nothing.
	Ignores map[schema.GroupVersionKind][][]string
	// Rules are the permissions that Reads and Owns need, and no others.
	Rules []rbacv1.PolicyRule
	// ManagedKeys are the keys that Decorate may set. A different value set by a user is reported.
	ManagedKeys []PodKey
	// Supports lists the plugin's features.
	Supports Support
	// Quota requests Attempt.Quota and Attempt.Priority for the plugin.
	Quota bool
}

// API is a required API of a plugin.
type API struct {
	schema.GroupKind
	// Versions are the supported versions; one of them suffices.
	Versions []string
	// Optional is set if the plugin works without the API and sees no objects of that kind.
	Optional bool
	// Hint tells an administrator how to install it.
	Hint string
}

// Support lists features of a plugin. The documentation shows them to users, and the conformance suite selects its cases by them.
type Support struct {
	// Queues is set if spec.batchSchedulerOptions.queue has a meaning. Otherwise it is ignored.
	Queues bool
	// Resources says that spec.batchSchedulerOptions.resources has a meaning. Otherwise it is ignored.
	Resources bool
	// WaitsBeforePods is set if an attempt without room waits before its driver pod exists.
	WaitsBeforePods bool
	// Reserves is set if only one of two attempts for the same room starts.
	Reserves bool
}

// PodKey is a part of a pod that a plugin sets.
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
	// PodPriorityClass is the field spec.priorityClassName of a pod, set only on a role without one.
	PodPriorityClass PodPart = "priorityClassName"
)
