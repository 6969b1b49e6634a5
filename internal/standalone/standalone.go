// SPDX-License-Identifier: Apache-2.0

// Package standalone is the state machine of Spark standalone clusters, a master and its workers. Its pure functions map
// recorded and observed state to actions (Decide), and their results to the new state (Settle).
//
// One step is one Decide, its actions in order, and one Settle. An action that must not happen twice or too early is recorded
// first; all others are repeated until they are done.
package standalone

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// State is the state of a cluster.
type State string

// The states.
const (
	// New clusters have no status.
	New State = ""
	// Submitted : its objects are to be created. It is stored only for a restarted cluster.
	Submitted State = "Submitted"
	// Running : its objects exist and are kept at the spec.
	Running State = "Running"
	// Suspended : its pods are deleted, and none are created until it is resumed.
	Suspended State = "Suspended"
	// Refused : its objects cannot be created; existing ones are deleted.
	Refused State = "Refused"
	// Failed : a final state of another operator; the objects stay.
	Failed State = "Failed"
	// Released : all objects of a refused cluster are deleted.
	Released State = "Released"
)

// Starts reports whether a cluster in the state has yet to start.
func (s State) Starts() bool { return s == New || s == Submitted }

// Ref identifies an object of a cluster.
type Ref struct{ Kind, Name string }

// String returns the kind and the name.
func (r Ref) String() string { return r.Kind + " " + r.Name }

// Part is an object of a cluster.
type Part struct {
	Ref
	// Runs is set if the object has pods or acts on them: a suspended cluster has none.
	Runs bool
	// Scaled is set if an autoscaler sets the number of replicas, from Min to Max.
	Scaled   bool
	Min, Max int32
	// Fixed is the scheduler's decoration of the pods at the start. It never changes, because a change would restart the pods.
	Fixed Fixed
}

// Fixed lists keys of labels and annotations; SchedulerName is set if the scheduler's name is fixed, too.
type Fixed struct {
	Labels, Annotations []string
	Scheduler           bool
}

// Cluster is the desired state.
type Cluster struct {
	Generation int64
	Suspend    bool
	// Deleting is set when the object has a deletion timestamp, and Finalizer when it has another operator's finalizer.
	Deleting, Finalizer bool
	// Probe is set if the object is another operator's health probe and no cluster.
	Probe bool
	// Parts are the wanted objects, in the order of their creation.
	Parts []Part
	// Optional are objects that clusters may have and this one does not need.
	Optional []Ref
	// Defaults are the policies' Spark properties with which it would start now.
	Defaults map[string]string
	// Problem explains why the objects cannot be built; empty if they can.
	Problem lifecycle.Cause
	// SuspendField is the user's field that suspends the cluster.
	SuspendField string
}

// Loaded is the content of a cluster object under the policies of its namespace.
type Loaded struct {
	Record Record
	// Defaults are the policies' Spark properties for unset fields.
	Defaults map[string]string
	// Objections prevent the creation of the cluster: errors in its spec, or else policy violations.
	Objections []*spark.ConfError
	// Suspend and Probe are as in Cluster.
	Suspend, Probe bool
	// Built is the built cluster for the limits; QueuedAt is when it began to wait for its start.
	Built    spark.Standalone
	QueuedAt time.Time
	// Master and Workers are the names of its StatefulSets.
	Master, Workers string
}

// Record is the stored state.
type Record struct {
	State State
	Cause lifecycle.Cause
	// Generation is that of the spec that the objects were last built from, or that waits for its scheduler; 0 if this operator
	// has built none.
	Generation int64
	Scheduling Scheduling
	// Defaults are those of the cluster's start. They stay until the next start.
	Defaults map[string]string
}

// Scheduling is the scheduling state of a cluster.
type Scheduling struct {
	// Choice is the scheduler of the current start. It stays until the next one; empty for a cluster that another operator
	// started.
	scheduler.Choice
	// Start counts the starts of the cluster, from 1; 0 before the first.
	Start int32
	// HeldBy is the scheduler that may have objects for the cluster; "" for none.
	HeldBy string
}

// Found is the observed state of an object.
type Found struct {
	// Presence of an unlisted object is Absent.
	Presence lifecycle.Presence
	UID      string
	// Ours is set if the object belongs to the cluster.
	Ours bool
	// Marked is set if this operator created or updated it.
	Marked bool
	// Same is set if the object is as wanted.
	Same     bool
	Deleting bool
}

// Role is the observed state of a role's pods.
type Role struct {
	// Wanted, Ready and Updated count pods. Updated ones match the spec.
	Wanted, Ready, Updated int32
	// Pods names the existing pods, running or not.
	Pods []string
	// Waiting explains why a pod does not run; empty if all do.
	Waiting lifecycle.Wait
}

// Observation is the observed state.
type Observation struct {
	Found map[Ref]Found
	// Unknown is set if an object could not be read.
	Unknown         bool
	Master, Workers Role
	// Admission is the scheduler's answer about a cluster that starts, and its requirements on objects while the cluster runs.
	Admission scheduler.Admission
	// Scheduled are the scheduler objects of a cluster whose record has none.
	Scheduled []scheduler.Ref
	// Placing is the scheduler's observation of pods without a node; empty if there are none.
	Placing lifecycle.Cause
}

// Action is one write. The set is closed.
type Action struct {
	Kind ActionKind
	Ref  Ref
	// UID of the object to delete.
	UID string
}

// ActionKind names an action.
type ActionKind string

const (
	// Apply creates or updates an object.
	Apply ActionKind = "Apply"
	// Delete deletes an object.
	Delete ActionKind = "Delete"
	// Schedule applies the scheduler's objects.
	Schedule ActionKind = "Schedule"
	// Release deletes the scheduler's objects.
	Release ActionKind = "Release"
	// RemoveFinalizer removes the finalizer of a deleted cluster.
	RemoveFinalizer ActionKind = "RemoveFinalizer"
)

// Plan is a decision: the record to store, the actions, and the time of the next reconcile.
type Plan struct {
	Cluster Cluster
	Before  Record
	// Record holds if all actions succeed.
	Record      Record
	Observation Observation
	Actions     []Action
	Requeue     time.Duration
}

// Result is the result of one action.
type Result struct {
	Class   lifecycle.Class
	Message string
}

// Pods counts a cluster's pods.
type Pods struct{ Master, Workers Count }

// Count is the number of ready and of wanted pods of a role.
type Count struct{ Ready, Wanted int32 }

// Outcome is the record to store and the state to show.
type Outcome struct {
	Record     Record
	Conditions []metav1.Condition
	// Pods counts its pods; nil unless it runs.
	Pods    *Pods
	Requeue time.Duration
	// Again is set if another step follows as soon as this one is stored.
	Again bool
	// Err is an error of the step, not of the cluster; the step is repeated with back-off.
	Err error
}
