// SPDX-License-Identifier: Apache-2.0

package v1

// RestartPolicy is the outcome after which an application restarts.
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

// ResourceRetainPolicy is the outcome after which the driver pod and its objects are kept.
//
// +kubebuilder:validation:Enum=Always;Never;OnFailure
type ResourceRetainPolicy string

// Retain policies.
const (
	RetainAlways    ResourceRetainPolicy = "Always"
	RetainNever     ResourceRetainPolicy = "Never"
	RetainOnFailure ResourceRetainPolicy = "OnFailure"
)

// ApplicationTolerations configure restarts, timeouts and retention of an application.
type ApplicationTolerations struct {
	// RestartConfig configures restarts of the application.
	// +optional
	RestartConfig *RestartConfig `json:"restartConfig,omitempty"`
	// ApplicationTimeoutConfig bounds the stages of an attempt.
	// +optional
	ApplicationTimeoutConfig *ApplicationTimeoutConfig `json:"applicationTimeoutConfig,omitempty"`
	// InstanceConfig has the number of executors of a healthy application.
	// +optional
	InstanceConfig *InstanceConfig `json:"instanceConfig,omitempty"`
	// ResourceRetainPolicy is the outcome after which the driver pod and its objects are kept; Never by default.
	// +optional
	ResourceRetainPolicy ResourceRetainPolicy `json:"resourceRetainPolicy,omitempty"`
	// ResourceRetainDurationMillis is how long the driver pod and its objects are kept; negative for as long as the application.
	// +kubebuilder:default=-1
	// +optional
	ResourceRetainDurationMillis *int64 `json:"resourceRetainDurationMillis,omitempty"`
	// TTLAfterStopMillis is how long the ended application is kept; negative for ever.
	// +kubebuilder:default=-1
	// +optional
	TTLAfterStopMillis *int64 `json:"ttlAfterStopMillis,omitempty"`
}

// RestartConfig configures restarts of an application.
type RestartConfig struct {
	// RestartPolicy is the outcome after which the application restarts; Never by default.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// MaxRestartAttempts limits all restarts; 3 by default.
	// +optional
	MaxRestartAttempts *int64 `json:"maxRestartAttempts,omitempty"`
	// RestartBackoffMillis is the wait before a restart; 30000 by default.
	// +optional
	RestartBackoffMillis *int64 `json:"restartBackoffMillis,omitempty"`
	// RestartCounterResetMillis resets the counters after an attempt that lasted this long; negative for never.
	// +kubebuilder:default=-1
	// +optional
	RestartCounterResetMillis *int64 `json:"restartCounterResetMillis,omitempty"`
	// MaxRestartOnFailure limits restarts after consecutive failures.
	// +optional
	MaxRestartOnFailure *int64 `json:"maxRestartOnFailure,omitempty"`
	// RestartBackoffMillisForFailure is the wait after a failure.
	// +optional
	RestartBackoffMillisForFailure *int64 `json:"restartBackoffMillisForFailure,omitempty"`
	// MaxRestartOnSchedulingFailure limits restarts after consecutive scheduling failures.
	// +optional
	MaxRestartOnSchedulingFailure *int64 `json:"maxRestartOnSchedulingFailure,omitempty"`
	// RestartBackoffMillisForSchedulingFailure is the wait after a scheduling failure.
	// +optional
	RestartBackoffMillisForSchedulingFailure *int64 `json:"restartBackoffMillisForSchedulingFailure,omitempty"`
}

// ApplicationTimeoutConfig bounds the stages of an attempt. Zero or less means no bound.
type ApplicationTimeoutConfig struct {
	// DriverStartTimeoutMillis bounds the time from the request for the driver until its container has started; 300000 by
	// default.
	// +optional
	DriverStartTimeoutMillis *int64 `json:"driverStartTimeoutMillis,omitempty"`
	// DriverReadyTimeoutMillis bounds the time from the start of the driver's container until its pod is ready; 300000 by default.
	// +optional
	DriverReadyTimeoutMillis *int64 `json:"driverReadyTimeoutMillis,omitempty"`
	// ExecutorStartTimeoutMillis bounds the time from the readiness of the driver pod until the initial executors are ready; 300000 by default.
	// +optional
	ExecutorStartTimeoutMillis *int64 `json:"executorStartTimeoutMillis,omitempty"`
	// ForceTerminationGracePeriodMillis is how long the operator waits after the driver pod's own grace period, before it deletes the pod by force. If absent,
	// it never does.
	// +optional
	ForceTerminationGracePeriodMillis *int64 `json:"forceTerminationGracePeriodMillis,omitempty"`
	// TerminationRequeuePeriodMillis has no effect: the operator watches the end of pods.
	// +optional
	TerminationRequeuePeriodMillis *int64 `json:"terminationRequeuePeriodMillis,omitempty"`
}

// InstanceConfig has the number of executors of a healthy application.
type InstanceConfig struct {
	// InitExecutors is the number of executors that must be ready at the start; 0 by default.
	// +optional
	InitExecutors int32 `json:"initExecutors,omitempty"`
	// MinExecutors is the number that must be ready afterwards; 0 by default.
	// +optional
	MinExecutors int32 `json:"minExecutors,omitempty"`
	// MaxExecutors is the number of executors at full capacity; 0 (the default) means any number.
	// +optional
	MaxExecutors int32 `json:"maxExecutors,omitempty"`
}
