// SPDX-License-Identifier: Apache-2.0

// Package standalone is the state machine of Spark standalone clusters, a master and its workers. Its pure functions map recorded and observed state to actions
// (Decide), and the results of actions to the new state (Settle).
//
// One step is one Decide, its actions in order, and one Settle. An action that must not happen twice or too early is recorded before it. Any other action is
// repeated until it succeeds.
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
	// Submitted : the objects are not created yet. This state is stored only for a restarted cluster.
	Submitted State = "Submitted"
	// Running : the objects exist and are kept equal to the spec.
	Running State = "Running"
	// Suspended : the pods are deleted, and no pod is created before the cluster is resumed.
	Suspended State = "Suspended"
	// Refused : the objects cannot be created; existing ones are deleted.
	Refused State = "Refused"
	// Failed : the final state of another operator; the objects stay.
	Failed State = "Failed"
	// Released : all objects of a refused cluster are deleted.
	Released State = "Released"
)

// Starts reports whether a cluster in this state has not started.
func (s State) Starts() bool { return s == New || s == Submitted }

// Ref identifies an object of a cluster.
type Ref struct{ Kind, Name string }

// String returns the kind and the name.
func (r Ref) String() string { return r.Kind + " " + r.Name }

// Part is an object of a cluster.
type Part struct {
	Ref
	// Runs is set if the object runs pods or acts on pods. A suspended cluster has no such object.
	Runs bool
	// Scaled is set if an autoscaler sets the number of replicas, from Min to Max.
	Scaled   bool
	Min, Max int32
	// Fixed is the scheduler's decoration of the pods from the start. It never changes, because a change would restart the pods.
	Fixed Fixed
}

// Fixed lists keys of labels and annotations. Scheduler is set if the scheduler's name is fixed, too.
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
	// Probe is set if the object is another operator's health probe, not a cluster.
	Probe bool
	// Parts are the wanted objects, in the order of their creation.
	Parts []Part
	// Optional are objects that other clusters may have and this one does not need.
	Optional []Ref
	// Defaults are the policies' Spark properties for a start now.
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
	// Objections prevent the creation of the cluster. They are the errors in its spec, or the policy violations if there are no errors.
	Objections []*spark.ConfError
	// Suspend and Probe are as in Cluster.
	Suspend, Probe bool
	// Built is the built cluster, for the check of limits. QueuedAt is when it began to wait for its start.
	Built    spark.Standalone
	QueuedAt time.Time
	// Master and Workers name the cluster's StatefulSets.
	Master, Workers string
}

// Record is the stored state.
type Record struct {
	State State
	Cause lifecycle.Cause
	// Generation is the spec's generation of the last build, or of the spec that waits for its scheduler; 0 if this operator has built nothing.
	Generation int64
	Scheduling Scheduling
	// Defaults are the policies' Spark properties at the cluster's start. They stay until the next start.
	Defaults map[string]string
}

// Scheduling is the scheduling state of a cluster.
type Scheduling struct {
	// Choice is the scheduler of the current start. It stays until the next start; empty for a cluster that another operator started.
	scheduler.Choice
	// Start counts the starts of the cluster, from 1; 0 before the first.
	Start int32
	// HeldBy is the scheduler that may have objects for the cluster; "" for none.
	HeldBy string
}

// Found is the observed state of an object.
type Found struct {
	// Presence is Absent for an object that is not in the map.
	Presence lifecycle.Presence
	UID      string
	// Ours is set if the object belongs to the cluster.
	Ours bool
	// Marked is set if this operator created or updated the object.
	Marked bool
	// Same is set if the object equals the wanted one.
	Same     bool
	Deleting bool
}

// Role is the observed state of a role's pods.
type Role struct {
	// Wanted, Ready and Updated count pods. An updated pod matches the spec.
	Wanted, Ready, Updated int32
	// Pods names the existing pods, running or not.
	Pods []string
	// Waiting explains why a pod is not running; empty if all pods are.
	Waiting lifecycle.Wait
}

// Observation is the observed state.
type Observation struct {
	Found map[Ref]Found
	// Unknown is set if an object could not be read.
	Unknown         bool
	Master, Workers Role
	// Admission is the scheduler's answer for a cluster that starts. For a running cluster it has the scheduler objects to apply.
	Admission scheduler.Admission
	// Scheduled are the scheduler objects of a cluster whose record lists none.
	Scheduled []scheduler.Ref
	// Placing is the scheduler's observation of pods without a node; empty for none.
	Placing lifecycle.Cause
}

// Action is one write of a plan.
type Action struct {
	Kind ActionKind
	Ref  Ref
	// UID is that of the object to delete.
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
	// Record is valid if all actions succeed.
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

// Count is the number of a role's ready and wanted pods.
type Count struct{ Ready, Wanted int32 }

// Outcome is the result of a step: the record to store, and the conditions to show.
type Outcome struct {
	Record     Record
	Conditions []metav1.Condition
	// Pods counts the cluster's pods; nil unless the cluster runs.
	Pods    *Pods
	Requeue time.Duration
	// Again is set if another step follows as soon as this step is stored.
	Again bool
	// Err is an error of the step, not of the cluster. The step is repeated with back-off.
	Err error
}
