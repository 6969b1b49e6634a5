// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Front is the number of waiting attempts that count as the front of a scheduler's line. An attempt that reaches the front is observed at once.
const Front = 3

// PodStatuses are the states of an attempt's pods.
type PodStatuses struct {
	// Now is the time of the read.
	Now time.Time
	// Driver is nil if the pod does not exist.
	Driver *PodStatus
	// Executors are the executor pods that exist.
	Executors []PodStatus
	// ExecutorsEver counts all executors known to have existed, including deleted ones.
	ExecutorsEver int32
	// RoomMadeAt is when a pod of any application last ended or was deleted; zero for never.
	RoomMadeAt time.Time
	// Ahead counts known attempts that were queued before this one and have pods that wait for the same scheduler, up to Front.
	Ahead int
}

// PodStatus is the part of a pod that scheduler plugins use.
type PodStatus struct {
	Name string
	// UID distinguishes the pod's events from those of an earlier pod of the same name.
	UID string
	// CreatedAt is when the API server accepted the pod.
	CreatedAt time.Time
	// ExecutorID is the number that Spark gives an executor, from 1; 0 for the driver.
	ExecutorID int64
	// Phase, Reason, Message and Conditions are copied from the pod's status.
	Phase      corev1.PodPhase
	Reason     string
	Message    string
	Conditions []corev1.PodCondition
	// Node is "" until a scheduler has placed the pod.
	Node string
	// Deleting is set if the pod has a deletion timestamp.
	Deleting bool
	// Started is set if one of its containers has ever started.
	Started bool
	// SchedulerName and Gates are copied from the pod's spec.
	SchedulerName string
	Gates         []string
}

// PodStatusOf returns the status of a pod. It shares the pod's conditions.
func PodStatusOf(pod *corev1.Pod) PodStatus {
	f := PodStatus{
		Name: pod.Name, UID: string(pod.UID), CreatedAt: pod.CreationTimestamp.Time, Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message,
		Conditions: pod.Status.Conditions, Node: pod.Spec.NodeName, Deleting: pod.DeletionTimestamp != nil,
		SchedulerName: pod.Spec.SchedulerName,
	}
	// A text that is no number yields 0: Spark defines the ids.
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

// Waits reports whether the pod exists and waits for a node.
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

// Stage is the state of a submitted attempt in its scheduler.
type Stage string

const (
	// StageQueued : the driver waits for a node.
	StageQueued Stage = "Queued"
	// StageReserving : the scheduler gathers room for the whole gang.
	StageReserving Stage = "Reserving"
	// StagePlaced : the driver and all existing executors have a node.
	StagePlaced Stage = "Placed"
	// StageShort : the driver has a node, but some of its executors have none.
	StageShort Stage = "Short"
	// StageEvicted : the scheduler evicted the driver.
	StageEvicted Stage = "Evicted"
	// StageRefused : the scheduler refused the attempt permanently.
	StageRefused Stage = "Refused"
	// StageGone : the driver does not exist any more, or was deleted and has stopped, for an unknown reason.
	StageGone Stage = "Gone"
)

// Observation is the state of a submitted attempt in its scheduler.
type Observation struct {
	Stage  Stage
	Reason Reason
	// Message is one sentence for users. It may contain the scheduler's text, which may change often while Stage and Reason stay the same. It is stored when
	// Reason changes.
	Message string
	// Eviction is set for StageEvicted. It is also set for StageGone if the scheduler evicts without a trace. An eviction is attributed to the scheduler, not to
	// the application.
	Eviction *Eviction
	// StopApp is set if the scheduler revoked its admission: the driver must be stopped.
	StopApp bool
	// Apply and Delete are as in Admission.
	Apply  []*unstructured.Unstructured
	Delete []Ref
	// RetryAfter is the delay until the next reconcile if nothing changes; 0 for none.
	RetryAfter time.Duration
}

// Eviction names the cause of a driver's eviction.
type Eviction struct {
	Reason Reason
	// By is the name that the scheduler or component gives itself, if known.
	By string
}

// Ended reports whether the scheduler ended the attempt: it refused the attempt, evicted its driver, or revoked its admission.
func (o Observation) Ended() bool {
	return o.Stage == StageRefused || o.Eviction != nil || o.StopApp
}

// Waits reports whether pods of the attempt wait for a node.
func (o Observation) Waits() bool {
	return !o.Ended() && (o.Stage == StageQueued || o.Stage == StageReserving || o.Stage == StageShort)
}
