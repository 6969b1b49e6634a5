// SPDX-License-Identifier: Apache-2.0

// Package standalone is the state machine of Spark standalone clusters, a master and its workers: pure functions from what is recorded and
// observed to the actions to take (Decide), and from their results to the new state (Settle).
//
// One step is one Decide, its actions in order, one Settle. What must not happen twice or too early is recorded before it is done; everything
// else is done again until it is true.
package standalone

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// State is where a cluster is.
type State string

// The states.
const (
	// New clusters have no status.
	New State = ""
	// Submitted : its objects are to be made. It is stored only for a cluster that begins again.
	Submitted State = "Submitted"
	// Running : its objects are made, and kept as the spec has them.
	Running State = "Running"
	// Suspended : its pods are deleted, and there are none until it is resumed.
	Suspended State = "Suspended"
	// Refused : its objects cannot be made. Those that were are deleted.
	Refused State = "Refused"
	// Failed is a state that a previous operator has left: the objects stay.
	Failed State = "Failed"
	// Released : nothing is left of a cluster that was refused.
	Released State = "Released"
)

// Starts is whether a cluster in the state has yet to start.
func (s State) Starts() bool { return s == New || s == Submitted }

// Ref names an object of a cluster.
type Ref struct{ Kind, Name string }

// String is the kind and the name.
func (r Ref) String() string { return r.Kind + " " + r.Name }

// Part is an object that a cluster consists of.
type Part struct {
	Ref
	// Runs says that the object has pods or acts on them: a suspended cluster has none.
	Runs bool
	// Scaled says that something else sets the number of replicas, from Min to Max.
	Scaled   bool
	Min, Max int32
	// Fixed is what a scheduler has laid over the pods at the start. It stays as it was made: anything else would restart the pods.
	Fixed Fixed
}

// Fixed are keys of labels and of annotations, and whether the name of the scheduler is one of them.
type Fixed struct {
	Labels, Annotations []string
	Scheduler           bool
}

// Cluster is the desired state.
type Cluster struct {
	Generation int64
	Suspend    bool
	// Deleting is set when the object has a deletion timestamp, and Finalizer when it has that of a previous operator.
	Deleting, Finalizer bool
	// Probe says that the object is no cluster: the health probe of a previous operator edits it.
	Probe bool
	// Parts are the objects that are wanted, in the order in which they are made.
	Parts []Part
	// Optional are those that a cluster may have and this one need not.
	Optional []Ref
	// Defaults are the Spark properties that policies set for it, with which it would start now.
	Defaults map[string]string
	// Problem says why the objects cannot be built; empty if they can.
	Problem lifecycle.Cause
	// SuspendField is what suspends the cluster, in the user's words.
	SuspendField string
}

// Loaded is a cluster as its object has it, under the policies of its namespace.
type Loaded struct {
	Record Record
	// Defaults are the Spark properties that policies set where the cluster says nothing.
	Defaults map[string]string
	// Objections are what keeps the cluster from being made: what is wrong with its spec, or else what policies have against it.
	Objections []*spark.ConfError
	// Suspend and Probe are as in Cluster.
	Suspend, Probe bool
	// Built is what is built of it, as far as that is limited, and QueuedAt is since when it waits for its start.
	Built    spark.Standalone
	QueuedAt time.Time
	// Master and Workers are the names of its StatefulSets.
	Master, Workers string
}

// Record is what is stored.
type Record struct {
	State State
	Cause lifecycle.Cause
	// Generation is that of the spec that the objects were last made from, or that waits for its scheduler; 0 if this operator has made none.
	Generation int64
	Scheduling Scheduling
	// Defaults are those that the cluster was started with. They stay until it starts again.
	Defaults map[string]string
}

// Scheduling is how a cluster is scheduled.
type Scheduling struct {
	// Choice is who schedules the current start. It stays as it is until the next one; empty for a cluster that another operator has started.
	scheduler.Choice
	// Start counts the starts of the cluster, from 1; 0 before the first.
	Start int32
	// HeldBy is the scheduler that may have objects for the cluster; "" if none has.
	HeldBy string
}

// Found is what there is of an object.
type Found struct {
	// Presence of an object that is not listed is that of an absent one.
	Presence lifecycle.Presence
	UID      string
	// Ours says that the object belongs to the cluster.
	Ours bool
	// Marked says that this operator has made it, or changed it to what it wants.
	Marked bool
	// Same says that the object is as it is wanted.
	Same     bool
	Deleting bool
}

// Role is what is known of the pods of a role.
type Role struct {
	// Wanted, Ready and Updated are numbers of pods. Updated ones are as the spec has them.
	Wanted, Ready, Updated int32
	// Pods are the names of those that are there, whether they run or not.
	Pods []string
	// Waiting says why a pod does not run; empty if all do.
	Waiting lifecycle.Wait
}

// Observation is what was seen.
type Observation struct {
	Found map[Ref]Found
	// Unknown says that something could not be read.
	Unknown         bool
	Master, Workers Role
	// Admission is the answer of the scheduler about a cluster that is to start, and what its objects must be like when it runs.
	Admission scheduler.Admission
	// Scheduled are the objects that schedulers have for a cluster that holds none.
	Scheduled []scheduler.Ref
	// Placing is what the scheduler says of pods that wait for a node; empty if none do.
	Placing lifecycle.Cause
}

// Action is one write. The set is closed.
type Action struct {
	Kind ActionKind
	Ref  Ref
	// UID of the object that Delete means.
	UID string
}

// ActionKind names an action.
type ActionKind string

const (
	// Apply makes an object, or changes it to what is wanted.
	Apply ActionKind = "Apply"
	// Delete deletes an object.
	Delete ActionKind = "Delete"
	// Schedule makes the scheduler's objects as it wants them.
	Schedule ActionKind = "Schedule"
	// Release deletes the scheduler's objects.
	Release ActionKind = "Release"
	// RemoveFinalizer lets go of a cluster that is being deleted.
	RemoveFinalizer ActionKind = "RemoveFinalizer"
)

// Plan is a decision: what to record, what to do, and when to reconcile again if nothing changes before.
type Plan struct {
	Cluster Cluster
	Before  Record
	// Record is true if all actions are done.
	Record      Record
	Observation Observation
	Actions     []Action
	Requeue     time.Duration
}

// Result is what became of one action.
type Result struct {
	Class   lifecycle.Class
	Message string
}

// Pods are the numbers of a cluster's pods.
type Pods struct{ Master, Workers Count }

// Count is how many pods of a role are ready of those that are wanted.
type Count struct{ Ready, Wanted int32 }

// Outcome is what to store and to show.
type Outcome struct {
	Record     Record
	Conditions []metav1.Condition
	// Pods are the numbers of its pods; nil unless it runs.
	Pods    *Pods
	Requeue time.Duration
	// Again says that another step follows at once, as soon as this one is stored.
	Again bool
	// Err is an error that is not the cluster's: the step is repeated with back-off.
	Err error
}
