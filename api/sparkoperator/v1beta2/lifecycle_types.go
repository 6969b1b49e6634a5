// SPDX-License-Identifier: Apache-2.0

package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RestartPolicy says when an application runs again. The number of attempts is the number of retries plus one.
//
// A failure has a class. A class with a rule of its own has its own budget and back-off; the others share
// onFailureRetries (failures of a run) or onSubmissionFailureRetries (refused submissions).
type RestartPolicy struct {
	// Type is the outcome after which the application runs again; OnFailure if a class has a rule, else Never.
	// +optional
	Type RestartPolicyType `json:"type,omitempty"`
	// OnSubmissionFailureRetries is how often a failed submission is tried again.
	// +kubebuilder:validation:Minimum=0
	// +optional
	OnSubmissionFailureRetries *int32 `json:"onSubmissionFailureRetries,omitempty"`
	// OnFailureRetries is how often a failed application runs again.
	// +kubebuilder:validation:Minimum=0
	// +optional
	OnFailureRetries *int32 `json:"onFailureRetries,omitempty"`
	// OnSubmissionFailureRetryInterval is the wait before submitting again, in seconds, times the failures in a row.
	// +kubebuilder:validation:Minimum=1
	// +optional
	OnSubmissionFailureRetryInterval *int64 `json:"onSubmissionFailureRetryInterval,omitempty"`
	// OnFailureRetryInterval is the wait before running again, in seconds, times the failures in a row.
	// +kubebuilder:validation:Minimum=1
	// +optional
	OnFailureRetryInterval *int64 `json:"onFailureRetryInterval,omitempty"`
	// Infrastructure is the rule for attempts that the cluster ended: eviction, preemption, a lost node, a deleted driver pod. It
	// holds with the type Never, too.
	// +optional
	Infrastructure *RetryRule `json:"infrastructure,omitempty"`
	// Submission is the rule for submissions that the API server refused.
	// +optional
	Submission *RetryRule `json:"submission,omitempty"`
	// OutOfMemory is the rule for drivers that ran out of memory.
	// +optional
	OutOfMemory *OutOfMemoryRule `json:"outOfMemory,omitempty"`
	// Application is the rule for drivers that ended with another exit code than 0.
	// +optional
	Application *ApplicationRule `json:"application,omitempty"`
	// ResetAfter gives all budgets back once a driver has run this long, as streaming applications need it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	ResetAfter *metav1.Duration `json:"resetAfter,omitempty"`
}

// RetryRule is the budget of one class of failures.
type RetryRule struct {
	// Retries is how often the class may fail and run again.
	// +kubebuilder:validation:Minimum=0
	// +required
	Retries int32 `json:"retries"`
	// Backoff is the wait before the next attempt; 10s, doubled with each failure in a row, at most 10m by default.
	// +optional
	Backoff *Backoff `json:"backoff,omitempty"`
}

// Backoff is a wait that doubles with each failure in a row. A fifth of it is jitter.
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
	// MemoryFactor multiplies the driver's memory for each next attempt, such as "1.5"; it stays as it is by default.
	// +optional
	MemoryFactor *string `json:"memoryFactor,omitempty"`
	// MaxMemory bounds the driver's memory (spark.driver.memory), such as "16g".
	// +optional
	MaxMemory *string `json:"maxMemory,omitempty"`
}

// ApplicationRule is the budget of drivers that ended with another exit code than 0.
type ApplicationRule struct {
	RetryRule `json:",inline"`
	// RetryExitCodes are the only exit codes that are worth another attempt; all by default.
	// +optional
	RetryExitCodes []int32 `json:"retryExitCodes,omitempty"`
	// FailExitCodes are never worth another attempt.
	// +optional
	FailExitCodes []int32 `json:"failExitCodes,omitempty"`
}

// Deadlines bound the stages of an attempt. A stage that takes longer ends the attempt. One that is not set has no bound, unless a
// policy of the operator sets it; "0s" is no bound in any case.
type Deadlines struct {
	// Queued bounds the wait for the driver pod's creation (scheduler, quota). Suspension does not count.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Queued *metav1.Duration `json:"queued,omitempty"`
	// DriverScheduled bounds the wait of the driver pod for a node.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DriverScheduled *metav1.Duration `json:"driverScheduled,omitempty"`
	// DriverReady bounds the time from the driver pod's node to its running container (images, volumes).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DriverReady *metav1.Duration `json:"driverReady,omitempty"`
	// FirstExecutors bounds the time from a running driver to its first running executor.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	FirstExecutors *metav1.Duration `json:"firstExecutors,omitempty"`
	// Run bounds the time that the driver runs.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Run *metav1.Duration `json:"run,omitempty"`
}

// Retention says what is kept of a finished application, and how long. What is not named is kept with the application.
type Retention struct {
	// OnSuccess is for completed applications.
	// +optional
	OnSuccess *RetentionTimes `json:"onSuccess,omitempty"`
	// OnFailure is for failed applications. An attempt that is retried is not failed.
	// +optional
	OnFailure *RetentionTimes `json:"onFailure,omitempty"`
}

// RetentionTimes count from the end of the application.
type RetentionTimes struct {
	// DriverPod is how long the driver pod, and with it its log, is kept.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DriverPod *metav1.Duration `json:"driverPod,omitempty"`
	// Resources is how long the Service, the ConfigMaps and the other objects of the last attempt are kept.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Resources *metav1.Duration `json:"resources,omitempty"`
	// Application is how long the application is kept; it goes before timeToLiveSeconds.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	Application *metav1.Duration `json:"application,omitempty"`
}

// LogTailPolicy says whether the end of a failed driver's log is stored.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type LogTailPolicy string

// Policies for log tails.
const (
	LogTailsEnabled  LogTailPolicy = "Enabled"
	LogTailsDisabled LogTailPolicy = "Disabled"
)
