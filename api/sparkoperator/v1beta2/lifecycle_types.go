// SPDX-License-Identifier: Apache-2.0

package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RestartPolicy configures restarts of an application. The number of attempts is the number of retries plus one.
//
// Each failure has a class. A class with a rule has its own budget and back-off; the others share onFailureRetries (failures of
// a run) or onSubmissionFailureRetries (refused submissions).
type RestartPolicy struct {
	// Type is the outcome after which the application restarts. The default is OnFailure if a class has a rule, otherwise Never.
	// +optional
	Type RestartPolicyType `json:"type,omitempty"`
	// OnSubmissionFailureRetries limits retries of refused submissions.
	// +kubebuilder:validation:Minimum=0
	// +optional
	OnSubmissionFailureRetries *int32 `json:"onSubmissionFailureRetries,omitempty"`
	// OnFailureRetries limits restarts of a failed application.
	// +kubebuilder:validation:Minimum=0
	// +optional
	OnFailureRetries *int32 `json:"onFailureRetries,omitempty"`
	// OnSubmissionFailureRetryInterval is the wait before a new submission, in seconds, multiplied by the number of consecutive failures.
	// +kubebuilder:validation:Minimum=1
	// +optional
	OnSubmissionFailureRetryInterval *int64 `json:"onSubmissionFailureRetryInterval,omitempty"`
	// OnFailureRetryInterval is the wait before a restart, in seconds, multiplied by the number of consecutive failures.
	// +kubebuilder:validation:Minimum=1
	// +optional
	OnFailureRetryInterval *int64 `json:"onFailureRetryInterval,omitempty"`
	// Infrastructure is the rule for attempts that the cluster ended: eviction, preemption, a lost node, a deleted driver pod.
	// It also applies with the type Never.
	// +optional
	Infrastructure *RetryRule `json:"infrastructure,omitempty"`
	// Submission is the rule for submissions that the API server refused.
	// +optional
	Submission *RetryRule `json:"submission,omitempty"`
	// OutOfMemory is the rule for drivers that ran out of memory.
	// +optional
	OutOfMemory *OutOfMemoryRule `json:"outOfMemory,omitempty"`
	// Application is the rule for drivers with a non-zero exit code.
	// +optional
	Application *ApplicationRule `json:"application,omitempty"`
	// ResetAfter is the run time of a driver that refills all budgets. Streaming applications need it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	ResetAfter *metav1.Duration `json:"resetAfter,omitempty"`
}

// RetryRule is the budget of one class of failures.
type RetryRule struct {
	// Retries is the number of retries of the class.
	// +kubebuilder:validation:Minimum=0
	// +required
	Retries int32 `json:"retries"`
	// Backoff is the wait before the next attempt; by default 10s, doubled with each consecutive failure, at most 10m.
	// +optional
	Backoff *Backoff `json:"backoff,omitempty"`
}

// Backoff is a wait that doubles with each consecutive failure. Jitter shortens it by up to a fifth.
type Backoff struct {
	// Initial is the wait after the first failure; 10s by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Initial *metav1.Duration `json:"initial,omitempty"`
	// Max is the longest wait; 10m by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Max *metav1.Duration `json:"max,omitempty"`
}

// OutOfMemoryRule is the budget of drivers that ran out of memory.
type OutOfMemoryRule struct {
	RetryRule `json:",inline"`
	// MemoryFactor multiplies the driver's memory before each retry, such as "1.5"; by default the memory stays the same.
	// +optional
	MemoryFactor *string `json:"memoryFactor,omitempty"`
	// MaxMemory bounds the driver's memory (spark.driver.memory), such as "16g".
	// +optional
	MaxMemory *string `json:"maxMemory,omitempty"`
}

// ApplicationRule is the budget of drivers with a non-zero exit code.
type ApplicationRule struct {
	RetryRule `json:",inline"`
	// RetryExitCodes are the only exit codes that are retried; all by default.
	// +optional
	RetryExitCodes []int32 `json:"retryExitCodes,omitempty"`
	// FailExitCodes are never retried.
	// +optional
	FailExitCodes []int32 `json:"failExitCodes,omitempty"`
}

// Deadlines bound the stages of an attempt. A stage that takes longer ends the attempt. A stage without a deadline has no
// bound, unless an operator policy sets one; "0s" always means no bound.
type Deadlines struct {
	// Queued bounds the wait for the creation of the driver pod (scheduler, quota). Suspension does not count.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Queued *metav1.Duration `json:"queued,omitempty"`
	// DriverScheduled bounds the wait of the driver pod for a node.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DriverScheduled *metav1.Duration `json:"driverScheduled,omitempty"`
	// DriverReady bounds the time from the driver pod's scheduling until its container runs (images, volumes).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DriverReady *metav1.Duration `json:"driverReady,omitempty"`
	// FirstExecutors bounds the time from the driver's start until the first executor runs.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	FirstExecutors *metav1.Duration `json:"firstExecutors,omitempty"`
	// Run bounds the run time of the driver.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Run *metav1.Duration `json:"run,omitempty"`
}

// Retention configures how long parts of a finished application are kept. Parts without a time are kept as long as the application.
type Retention struct {
	// OnSuccess is for completed applications.
	// +optional
	OnSuccess *RetentionTimes `json:"onSuccess,omitempty"`
	// OnFailure is for failed applications. A retried attempt does not count as failed.
	// +optional
	OnFailure *RetentionTimes `json:"onFailure,omitempty"`
}

// RetentionTimes count from the end of the application.
type RetentionTimes struct {
	// DriverPod is how long the driver pod and its log are kept.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DriverPod *metav1.Duration `json:"driverPod,omitempty"`
	// Resources is how long the Service, the ConfigMaps and the other objects of the last attempt are kept.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Resources *metav1.Duration `json:"resources,omitempty"`
	// Application is how long the application is kept; it overrides timeToLiveSeconds.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Application *metav1.Duration `json:"application,omitempty"`
}

// LogTailPolicy controls whether the end of a failed driver's log is stored.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type LogTailPolicy string

// Policies for log tails.
const (
	LogTailsEnabled  LogTailPolicy = "Enabled"
	LogTailsDisabled LogTailPolicy = "Disabled"
)
