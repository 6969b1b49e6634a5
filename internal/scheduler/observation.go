// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Front is how many of those whose pods wait for the same scheduler are its front: whoever comes to it is observed at once.
const Front = 3

// PodStatuses are the states of an attempt's pods.
type PodStatuses struct {
	// Now is when they were read.
	Now time.Time
	// Driver is nil if the pod does not exist.
	Driver *PodStatus
	// Executors are the executor pods that exist.
	Executors []PodStatus
	// ExecutorsEver is how many executors there are known to have been, also those whose pods are gone.
	ExecutorsEver int32
	// RoomMadeAt is when a pod of any application was last seen to end or to go; zero if none was.
	RoomMadeAt time.Time
	// Ahead is how many other attempts are known that were queued before this one and have pods that wait for the same scheduler; Front for so
	// many or more.
	Ahead int
}

// PodStatus is one pod, as far as schedulers are concerned.
type PodStatus struct {
	Name string
	// UID tells its events from those of an earlier pod of the same name.
	UID string
	// CreatedAt is when the API server accepted the pod.
	CreatedAt time.Time
	// ExecutorID is Spark's number of an executor, from 1; 0 for the driver.
	ExecutorID int64
	// Phase, Reason and Message are those of the pod's status, as are Conditions.
	Phase      corev1.PodPhase
	Reason     string
	Message    string
	Conditions []corev1.PodCondition
	// Node is "" as long as no scheduler has placed the pod.
	Node string
	// Deleting says that the pod has a deletion timestamp.
	Deleting bool
	// Started says that one of its containers has started, now or before.
	Started bool
	// SchedulerName and Gates are those of its spec.
	SchedulerName string
	Gates         []string
}

// PodStatusOf returns the fact of a pod. It shares the pod's conditions.
func PodStatusOf(pod *corev1.Pod) PodStatus {
	f := PodStatus{
		Name: pod.Name, UID: string(pod.UID), CreatedAt: pod.CreationTimestamp.Time, Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message,
		Conditions: pod.Status.Conditions, Node: pod.Spec.NodeName, Deleting: pod.DeletionTimestamp != nil,
		SchedulerName: pod.Spec.SchedulerName,
	}
	// Whatever is no number counts as none: ids are Spark's own affair.
	f.ExecutorID, _ = strconv.ParseInt(pod.Labels[spark.LabelExecID], 10, 64)
	for _, gate := range pod.Spec.SchedulingGates {
		f.Gates = append(f.Gates, gate.Name)
	}
	for i := range pod.Status.ContainerStatuses {
		state := &pod.Status.ContainerStatuses[i]
		f.Started = f.Started || state.State.Running != nil || state.State.Terminated != nil || state.LastTerminationState.Terminated != nil
	}
	return f
}

// Waits is whether the pod exists and waits for a node.
func (p *PodStatus) Waits() bool { return p != nil && p.Phase == corev1.PodPending && p.Node == "" }

// Condition returns a condition of the pod; its zero value if the pod does not have it.
func (p *PodStatus) Condition(kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// Stage is where a submitted attempt stands with its scheduler.
type Stage string

const (
	// StageQueued : the driver waits for a node.
	StageQueued Stage = "Queued"
	// StageReserving : the scheduler gathers room for the whole gang.
	StageReserving Stage = "Reserving"
	// StagePlaced : the driver and all executors that exist have a node.
	StagePlaced Stage = "Placed"
	// StageShort : the driver has a node, but not all of its executors.
	StageShort Stage = "Short"
	// StageEvicted : the scheduler took the driver's place away.
	StageEvicted Stage = "Evicted"
	// StageRefused : the scheduler refused the attempt permanently.
	StageRefused Stage = "Refused"
	// StageGone : the driver does not exist (any more), or was deleted and has stopped, for an unknown reason.
	StageGone Stage = "Gone"
)

// Observation is where a submitted attempt stands with its scheduler.
type Observation struct {
	Stage  Stage
	Reason Reason
	// Message is one sentence for people. Schedulers' own words in it may change often while Stage and Reason stay;
	// it is stored when Reason changes.
	Message string
	// Eviction is set for StageEvicted, and for StageGone if the scheduler in question evicts without a trace. It counts
	// as the scheduler's doing, not as a failure of the application.
	Eviction *Eviction
	// StopApp says that the scheduler withdrew its permission: the driver must be stopped.
	StopApp bool
	// Apply and Delete are as in Plan.
	Apply  []*unstructured.Unstructured
	Delete []Ref
	// RetryAfter is when to reconcile again if nothing changes before; 0 for no need.
	RetryAfter time.Duration
}

// Eviction says who took a driver's place away.
type Eviction struct {
	Reason Reason
	// By names the scheduler or the component in its own words, if it is known.
	By string
}

// Ended is whether the scheduler has ended the attempt: it has refused it, evicted its driver, or withdrawn its permission.
func (o Observation) Ended() bool {
	return o.Stage == StageRefused || o.Eviction != nil || o.StopApp
}

// Waits is whether pods of the attempt wait for a node.
func (o Observation) Waits() bool {
	return !o.Ended() && (o.Stage == StageQueued || o.Stage == StageReserving || o.Stage == StageShort)
}
