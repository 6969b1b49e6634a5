// SPDX-License-Identifier: Apache-2.0

package v1beta1

import corev1 "k8s.io/api/core/v1"

// ApplicationStateSummary is the state of an application.
//
// +kubebuilder:validation:Enum=Submitted;ScheduledToRestart;DriverRequested;DriverStarted;DriverReady;InitializedBelowThresholdExecutors;RunningHealthy;RunningWithBelowThresholdExecutors;DriverStartTimedOut;ExecutorsStartTimedOut;DriverReadyTimedOut;Succeeded;Failed;SchedulingFailure;DriverEvicted;ResourceReleased;TerminatedWithoutReleaseResources
type ApplicationStateSummary string

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
}

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

// AttemptInfo has the number of an attempt.
type AttemptInfo struct {
	// ID of the attempt; the first is 0. Names of its objects contain it.
	// +optional
	ID int64 `json:"id"`
}
