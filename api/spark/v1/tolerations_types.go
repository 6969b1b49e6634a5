// SPDX-License-Identifier: Apache-2.0

package v1

// RestartPolicy says after which outcome an application runs again.
//
// +kubebuilder:validation:Enum=Always;Never;OnFailure;OnInfrastructureFailure
type RestartPolicy string

// Restart policies.
const (
	RestartAlways                  RestartPolicy = "Always"
	RestartNever                   RestartPolicy = "Never"
	RestartOnFailure               RestartPolicy = "OnFailure"
	RestartOnInfrastructureFailure RestartPolicy = "OnInfrastructureFailure"
)

// ResourceRetainPolicy says after which outcome the driver pod and its objects are kept.
//
// +kubebuilder:validation:Enum=Always;Never;OnFailure
type ResourceRetainPolicy string

// Retain policies.
const (
	RetainAlways    ResourceRetainPolicy = "Always"
	RetainNever     ResourceRetainPolicy = "Never"
	RetainOnFailure ResourceRetainPolicy = "OnFailure"
)

// ApplicationTolerations say when an application runs again, what it may take, and what is kept of it.
type ApplicationTolerations struct {
	// RestartConfig says when the application runs again.
	// +optional
	RestartConfig *RestartConfig `json:"restartConfig,omitempty"`
	// ApplicationTimeoutConfig bounds the steps of an attempt.
	// +optional
	ApplicationTimeoutConfig *ApplicationTimeoutConfig `json:"applicationTimeoutConfig,omitempty"`
	// InstanceConfig says with how many executors the application counts as healthy.
	// +optional
	InstanceConfig *InstanceConfig `json:"instanceConfig,omitempty"`
	// ResourceRetainPolicy says after which outcome the driver pod and its objects are kept; Never by default.
	// +optional
	ResourceRetainPolicy ResourceRetainPolicy `json:"resourceRetainPolicy,omitempty"`
	// ResourceRetainDurationMillis is how long they are kept; negative for as long as the application.
	// +kubebuilder:default=-1
	// +optional
	ResourceRetainDurationMillis *int64 `json:"resourceRetainDurationMillis,omitempty"`
	// TTLAfterStopMillis is how long the application itself is kept after its end; negative for ever.
	// +kubebuilder:default=-1
	// +optional
	TTLAfterStopMillis *int64 `json:"ttlAfterStopMillis,omitempty"`
}

// RestartConfig says when an application runs again.
type RestartConfig struct {
	// RestartPolicy is the outcome after which the application runs again; Never by default.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// MaxRestartAttempts is how often it runs again; 3 by default.
	// +optional
	MaxRestartAttempts *int64 `json:"maxRestartAttempts,omitempty"`
	// RestartBackoffMillis is the wait before it; 30000 by default.
	// +optional
	RestartBackoffMillis *int64 `json:"restartBackoffMillis,omitempty"`
	// RestartCounterResetMillis is how long an attempt must last for the counters to begin again; negative for never.
	// +kubebuilder:default=-1
	// +optional
	RestartCounterResetMillis *int64 `json:"restartCounterResetMillis,omitempty"`
	// MaxRestartOnFailure is how often it runs again after failures in a row.
	// +optional
	MaxRestartOnFailure *int64 `json:"maxRestartOnFailure,omitempty"`
	// RestartBackoffMillisForFailure is the wait after a failure.
	// +optional
	RestartBackoffMillisForFailure *int64 `json:"restartBackoffMillisForFailure,omitempty"`
	// MaxRestartOnSchedulingFailure is how often it runs again after scheduling failures in a row.
	// +optional
	MaxRestartOnSchedulingFailure *int64 `json:"maxRestartOnSchedulingFailure,omitempty"`
	// RestartBackoffMillisForSchedulingFailure is the wait after a scheduling failure.
	// +optional
	RestartBackoffMillisForSchedulingFailure *int64 `json:"restartBackoffMillisForSchedulingFailure,omitempty"`
}

// ApplicationTimeoutConfig bounds the steps of an attempt. Zero and less is no bound.
type ApplicationTimeoutConfig struct {
	// DriverStartTimeoutMillis bounds the time from the request for the driver to its started container; 300000 by default.
	// +optional
	DriverStartTimeoutMillis *int64 `json:"driverStartTimeoutMillis,omitempty"`
	// DriverReadyTimeoutMillis bounds the time from there to its ready pod; 300000 by default.
	// +optional
	DriverReadyTimeoutMillis *int64 `json:"driverReadyTimeoutMillis,omitempty"`
	// ExecutorStartTimeoutMillis bounds the time from there to the initial executors; 300000 by default.
	// +optional
	ExecutorStartTimeoutMillis *int64 `json:"executorStartTimeoutMillis,omitempty"`
	// ForceTerminationGracePeriodMillis is the time after the pod's own grace period until the operator
	// deletes a driver by force; without it, the operator waits.
	// +optional
	ForceTerminationGracePeriodMillis *int64 `json:"forceTerminationGracePeriodMillis,omitempty"`
	// TerminationRequeuePeriodMillis is accepted and has no effect: the operator sees when pods are gone.
	// +optional
	TerminationRequeuePeriodMillis *int64 `json:"terminationRequeuePeriodMillis,omitempty"`
}

// InstanceConfig says with how many executors an application counts as healthy.
type InstanceConfig struct {
	// InitExecutors is how many must be ready at the start; 0 by default.
	// +optional
	InitExecutors int32 `json:"initExecutors,omitempty"`
	// MinExecutors is how many must be ready afterwards; 0 by default.
	// +optional
	MinExecutors int32 `json:"minExecutors,omitempty"`
	// MaxExecutors is with how many the application has its full capacity; 0 by default, for any number.
	// +optional
	MaxExecutors int32 `json:"maxExecutors,omitempty"`
}
