// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// ApplicationStateSummary is the state of an application.
//
// +kubebuilder:validation:Enum=Submitted;ScheduledToRestart;DriverRequested;DriverStarted;DriverReady;InitializedBelowThresholdExecutors;RunningHealthy;RunningWithPartialCapacity;RunningWithBelowThresholdExecutors;DriverStartTimedOut;ExecutorsStartTimedOut;DriverReadyTimedOut;Succeeded;Failed;SchedulingFailure;DriverEvicted;ResourceReleased;TerminatedWithoutReleaseResources;Suspended
type ApplicationStateSummary string

// Application states, in the order in which tools compare them.
const (
	StateSubmitted                          ApplicationStateSummary = "Submitted"
	StateScheduledToRestart                 ApplicationStateSummary = "ScheduledToRestart"
	StateDriverRequested                    ApplicationStateSummary = "DriverRequested"
	StateDriverStarted                      ApplicationStateSummary = "DriverStarted"
	StateDriverReady                        ApplicationStateSummary = "DriverReady"
	StateInitializedBelowThresholdExecutors ApplicationStateSummary = "InitializedBelowThresholdExecutors"
	StateRunningHealthy                     ApplicationStateSummary = "RunningHealthy"
	StateRunningWithPartialCapacity         ApplicationStateSummary = "RunningWithPartialCapacity"
	StateRunningWithBelowThresholdExecutors ApplicationStateSummary = "RunningWithBelowThresholdExecutors"
	StateDriverStartTimedOut                ApplicationStateSummary = "DriverStartTimedOut"
	StateExecutorsStartTimedOut             ApplicationStateSummary = "ExecutorsStartTimedOut"
	StateDriverReadyTimedOut                ApplicationStateSummary = "DriverReadyTimedOut"
	StateSucceeded                          ApplicationStateSummary = "Succeeded"
	StateFailed                             ApplicationStateSummary = "Failed"
	StateSchedulingFailure                  ApplicationStateSummary = "SchedulingFailure"
	StateDriverEvicted                      ApplicationStateSummary = "DriverEvicted"
	StateResourceReleased                   ApplicationStateSummary = "ResourceReleased"
	StateTerminatedWithoutReleaseResources  ApplicationStateSummary = "TerminatedWithoutReleaseResources"
	StateSuspended                          ApplicationStateSummary = "Suspended"
)

// SuspendReason is the reason of a suspension.
//
// +kubebuilder:validation:Enum=SpecSuspend;KueueEviction
type SuspendReason string

// Reasons of a suspension. The empty string counts as SpecSuspend.
const (
	SuspendedBySpec  SuspendReason = "SpecSuspend"
	SuspendedByKueue SuspendReason = "KueueEviction"
)

// SparkApplicationStatus is the observed state of an application.
type SparkApplicationStatus struct {
	// CurrentState is the state of the application.
	// +optional
	CurrentState *ApplicationState `json:"currentState,omitempty"`
	// StateTransitionHistory holds the states of the current attempt by increasing numbers.
	// +optional
	StateTransitionHistory map[string]ApplicationState `json:"stateTransitionHistory,omitempty"`
	// CurrentAttemptSummary describes the current attempt.
	// +optional
	CurrentAttemptSummary *AttemptSummary `json:"currentAttemptSummary,omitempty"`
	// PreviousAttemptSummary describes the previous attempt.
	// +optional
	PreviousAttemptSummary *AttemptSummary `json:"previousAttemptSummary,omitempty"`

	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions explain the state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Details are this operator's additions to the status of Apache's operator.
	// +optional
	Details *Details `json:"details,omitempty"`
}

// Details are the same in both families.
type Details = v1beta2.SparkApplicationStatus

// ApplicationState is a state with its time and its reason.
type ApplicationState struct {
	// CurrentStateSummary is the state.
	// +optional
	CurrentStateSummary ApplicationStateSummary `json:"currentStateSummary,omitempty"`
	// LastTransitionTime is the start of the state: RFC 3339 in UTC with a Z, to the nanosecond.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
	// LastObservedDriverStatus is the status of the driver pod at its end.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	LastObservedDriverStatus *corev1.PodStatus `json:"lastObservedDriverStatus,omitempty"`
	// SuspendReason is the reason of the state Suspended.
	// +optional
	SuspendReason SuspendReason `json:"suspendReason,omitempty"`
}

// AttemptSummary describes one attempt.
type AttemptSummary struct {
	// AttemptInfo has the number of the attempt and the counters of restarts.
	// +optional
	AttemptInfo *AttemptInfo `json:"attemptInfo,omitempty"`
	// StateTransitionHistory holds the states of an earlier attempt.
	// +optional
	StateTransitionHistory map[string]ApplicationState `json:"stateTransitionHistory,omitempty"`
}

// AttemptInfo has the number of an attempt and the counters of restarts.
type AttemptInfo struct {
	// ID of the attempt; the first is 0. Names of its objects contain it.
	// +optional
	ID int64 `json:"id"`
	// RestartCounter counts restarts.
	// +optional
	RestartCounter int64 `json:"restartCounter"`
	// FailureRestartCounter counts restarts after consecutive failures.
	// +optional
	FailureRestartCounter int64 `json:"failureRestartCounter"`
	// SchedulingFailureRestartCounter counts restarts after consecutive scheduling failures.
	// +optional
	SchedulingFailureRestartCounter int64 `json:"schedulingFailureRestartCounter"`
}
