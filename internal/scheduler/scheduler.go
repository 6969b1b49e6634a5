// SPDX-License-Identifier: Apache-2.0

// Package scheduler is the seam between the operator and batch schedulers.
//
// A plugin is a set of pure functions over values. It says what it needs to see of the cluster (Reads); the core reads
// that and hands it over as a Snapshot; the plugin answers whether the attempt may start and which objects of its own
// must exist (Admit), and what the pods must carry (Decorate). While the attempt runs it may observe the pods (Observer),
// and when the attempt is over it names what has to go (Releaser). A plugin has no client and no clock, never sleeps,
// keeps nothing in memory, and never sees the name of a lifecycle state or of an application kind. The core, in turn,
// never sees the name of a scheduler.
//
// The core calls plugins only through AdmitAttempt, Decorate, Observe and Release, which hold what is true for all of them:
// a plugin that panics becomes an error, one that writes what it did not announce is refused, and answers that a plugin
// leaves out are filled in from the pods.
package scheduler

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Plugin connects one batch scheduler. All methods are functions of their arguments alone, and must not change them.
type Plugin interface {
	// Describe introduces the plugin. It is the same at every call.
	Describe() Descriptor
	// Validate checks the attempt alone, without the cluster. A finding refuses the attempt permanently.
	Validate(Attempt) field.ErrorList
	// Reads names what Admit wants to see.
	Reads(Attempt) []Read
	// Admit says whether the attempt may start, and which objects it needs. It is called again until the answer is Admit or
	// Reject, and each time gives the whole answer: what is missing from Apply is not taken back, Delete does that. An
	// error is never a verdict: the attempt waits and Admit is called again.
	Admit(Attempt, Snapshot) (Admission, error)
	// Decorate adds to both roles' pods what the scheduler needs to find on them: keys of Descriptor.ManagedKeys, and nothing
	// else.
	Decorate(Attempt, *Decoration) error
}

// Observer is a plugin that knows more of a submitted attempt than its pods show. Without it, the pods are read as
// the kube-scheduler leaves them (see Pods).
type Observer interface {
	// ObserveReads names what Observe wants to see.
	ObserveReads(Attempt, PodStatuses) []Read
	// Observe says where the attempt stands with its scheduler. It is not asked about pods that the operator itself is
	// ending. An error keeps the last observation, and Observe is called again.
	Observe(Attempt, Snapshot, PodStatuses) (Observation, error)
}

// Releaser is a plugin that has objects of its own. They go when the attempt is over, however it ended, before the next
// attempt or its back-off begins.
type Releaser interface {
	// Release names the objects of the attempt. Those that do not exist are ignored.
	Release(Attempt) []Ref
}

// Multiple is a plugin that can serve several schedulers, each by its own name, e.g. profiles of the kube-scheduler.
type Multiple interface {
	// ForScheduler returns the plugin for one of them. Users choose it by the scheduler's name.
	ForScheduler(name string) Plugin
}

// Descriptor introduces a plugin.
type Descriptor struct {
	// Name is what users write in spec.batchScheduler.
	Name string
	// AliasOf is the plugin's name in the operator's configuration, if Name is a further one that users may write (see
	// Multiple). What is enabled or set for that name is so for this one.
	AliasOf string
	// SchedulerName is written to the pods of both roles; "" leaves it alone.
	SchedulerName string
	// NoBatchScheduler says that this plugin is what users mean who opt out of batch scheduling (NoScheduler).
	NoBatchScheduler bool
	// DefaultQueue is where the scheduler puts applications without a queue; "" if there is no such queue.
	DefaultQueue string
	// Needs are the APIs that must be installed. Without one of them the plugin is NotReady.
	Needs []API
	// Reads and Owns are the kinds that the plugin reads, and those that it has applied and deleted. A kind that it
	// owns is watched and need not be repeated in Reads.
	Reads, Owns []schema.GroupVersionKind
	// Ignores are fields of these kinds, as paths, whose changes enqueue no application that waits: numbers that change all the time and
	// by which nothing is decided.
	Ignores map[schema.GroupVersionKind][][]string
	// Rules are the rights that the operator needs for Reads and Owns, no more.
	Rules []rbacv1.PolicyRule
	// ManagedKeys are the keys that Decorate may set. Another value that a user sets is reported.
	ManagedKeys []PodKey
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
	// Hint says how an administrator installs it.
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
