// SPDX-License-Identifier: Apache-2.0

package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ApplicationStateType is the state of an application.
type ApplicationStateType string

// Application states.
const (
	ApplicationStateNew              ApplicationStateType = ""
	ApplicationStateSubmitted        ApplicationStateType = "SUBMITTED"
	ApplicationStateRunning          ApplicationStateType = "RUNNING"
	ApplicationStateCompleted        ApplicationStateType = "COMPLETED"
	ApplicationStateFailed           ApplicationStateType = "FAILED"
	ApplicationStateSubmissionFailed ApplicationStateType = "SUBMISSION_FAILED"
	ApplicationStatePendingRerun     ApplicationStateType = "PENDING_RERUN"
	ApplicationStateInvalidating     ApplicationStateType = "INVALIDATING"
	ApplicationStateSucceeding       ApplicationStateType = "SUCCEEDING"
	ApplicationStateFailing          ApplicationStateType = "FAILING"
	ApplicationStateSuspending       ApplicationStateType = "SUSPENDING"
	ApplicationStateSuspended        ApplicationStateType = "SUSPENDED"
	ApplicationStateResuming         ApplicationStateType = "RESUMING"
	ApplicationStateUnknown          ApplicationStateType = "UNKNOWN"
)

// DriverState is the state of a driver pod.
type DriverState string

// Driver states.
const (
	DriverStatePending   DriverState = "PENDING"
	DriverStateRunning   DriverState = "RUNNING"
	DriverStateCompleted DriverState = "COMPLETED"
	DriverStateFailed    DriverState = "FAILED"
	DriverStateUnknown   DriverState = "UNKNOWN"
)

// ExecutorState is the state of an executor pod.
type ExecutorState string

// Executor states.
const (
	ExecutorStatePending   ExecutorState = "PENDING"
	ExecutorStateRunning   ExecutorState = "RUNNING"
	ExecutorStateCompleted ExecutorState = "COMPLETED"
	ExecutorStateFailed    ExecutorState = "FAILED"
	ExecutorStateUnknown   ExecutorState = "UNKNOWN"
)

// SparkApplicationStatus is what the operator knows about an application.
type SparkApplicationStatus struct {
	// SparkApplicationID is Spark's id of the current attempt.
	// +optional
	SparkApplicationID string `json:"sparkApplicationId,omitempty"`
	// SubmissionID is the UUID of the current attempt; its pods carry it as a label.
	// +optional
	SubmissionID string `json:"submissionID,omitempty"`
	// LastSubmissionAttemptTime is when the current attempt was submitted.
	// +nullable
	// +optional
	LastSubmissionAttemptTime metav1.Time `json:"lastSubmissionAttemptTime,omitzero"`
	// TerminationTime is when the last attempt ended.
	// +nullable
	// +optional
	TerminationTime metav1.Time `json:"terminationTime,omitzero"`
	// DriverInfo is about the driver pod.
	// +required
	DriverInfo DriverInfo `json:"driverInfo"`
	// AppState is the state of the application.
	// +optional
	AppState ApplicationState `json:"applicationState,omitempty"`
	// Cause is what the application waits for, or how it failed. It is absent if there is nothing of the kind. Why a driver
	// pod that was created does not run is in the condition DriverReady.
	// +optional
	Cause *CauseStatus `json:"cause,omitempty"`
	// ExecutorState holds the state of executors by pod name.
	// +mapType=atomic
	// +optional
	ExecutorState map[string]ExecutorState `json:"executorState,omitempty"`
	// ExecutionAttempts is how often the application was submitted with success.
	// +optional
	ExecutionAttempts int32 `json:"executionAttempts,omitempty"`
	// SubmissionAttempts is how often the application was submitted.
	// +optional
	SubmissionAttempts int32 `json:"submissionAttempts,omitempty"`
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// SpecHash identifies what of the spec the current attempt was made from: another one makes the application run again.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
	// Attempt is the number of the current attempt. It grows with each driver and is part of what the attempt's objects are called.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Attempts are the last ten attempts, the current one last.
	// +listType=atomic
	// +optional
	Attempts []AttemptStatus `json:"attempts,omitempty"`
	// Retries counts the failures since the budgets were last full.
	// +optional
	Retries *RetryStatus `json:"retries,omitempty"`
	// Rerun is about the annotation sparkoperator.k8s.io/rerun-at.
	// +optional
	Rerun *RerunStatus `json:"rerun,omitempty"`
	// ExecutorPlacement is about where executors run, an edit of which restarts nothing.
	// +optional
	ExecutorPlacement *ExecutorPlacementStatus `json:"executorPlacement,omitempty"`
	// Executors counts the executors of the current attempt. ExecutorState may hold only some of them.
	// +optional
	Executors *ExecutorSummary `json:"executors,omitempty"`
	// Scheduling is about the wait for the driver.
	// +optional
	Scheduling *SchedulingStatus `json:"scheduling,omitempty"`
	// Submitter is the user who created the application, as admission recorded it.
	// +optional
	Submitter *SubmitterStatus `json:"submitter,omitempty"`
	// Released names what of a finished application was deleted already: driverPod, resources.
	// +listType=atomic
	// +optional
	Released []string `json:"released,omitempty"`
	// Conditions explain the state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SubmitterStatus is the user who created an object.
type SubmitterStatus struct {
	// User is the name of the user.
	// +required
	User string `json:"user"`
	// Groups of the user; the first ones if there are many.
	// +listType=atomic
	// +optional
	Groups []string `json:"groups,omitempty"`
	// Source says what recorded the user at the creation: AdmissionPolicy or Webhook.
	// +required
	Source string `json:"source"`
}

// ApplicationState is the state of an application and, after a failure, its reason.
type ApplicationState struct {
	// State of the application; empty while it is new.
	// +required
	State ApplicationStateType `json:"state"`
	// ErrorMessage says why the application failed.
	// +optional
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// CauseStatus is why an application is in its state.
type CauseStatus struct {
	// Reason of the state, one of the documented list.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is the sentence to the reason.
	// +optional
	Message string `json:"message,omitempty"`
	// Time is since when the application has had this reason without a break, whatever became of the message. It is absent
	// if the reason is older than this field.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// DriverInfo is about the driver pod.
type DriverInfo struct {
	// PodName is the name of the driver pod.
	// +optional
	PodName string `json:"podName,omitempty"`
	// WebUIServiceName is the name of the Service of the Spark UI.
	// +optional
	WebUIServiceName string `json:"webUIServiceName,omitempty"`
	// WebUIAddress is the cluster IP and port of that Service.
	// +optional
	WebUIAddress string `json:"webUIAddress,omitempty"`
	// WebUIPort is the port of that Service.
	// +optional
	WebUIPort int32 `json:"webUIPort,omitempty"`
	// WebUIIngressName is the name of the Ingress of the Spark UI.
	// +optional
	WebUIIngressName string `json:"webUIIngressName,omitempty"`
	// WebUIIngressAddress is the URL of that Ingress.
	// +optional
	WebUIIngressAddress string `json:"webUIIngressAddress,omitempty"`
	// WebUIRouteName is the name of the HTTPRoute of the Spark UI.
	// +optional
	WebUIRouteName string `json:"webUIRouteName,omitempty"`
	// WebUIRouteAddress is the URL of that HTTPRoute.
	// +optional
	WebUIRouteAddress string `json:"webUIRouteAddress,omitempty"`
	// HistoryServerURL is where the history server shows the current attempt.
	// +optional
	HistoryServerURL string `json:"historyServerURL,omitempty"`
	// ExposedBy are the objects beside the driver, as kind/name, as long as they may exist.
	// +listType=atomic
	// +optional
	ExposedBy []string `json:"exposedBy,omitempty"`
}

// AttemptStatus is one attempt.
type AttemptStatus struct {
	// Attempt is its number.
	// +required
	Attempt int32 `json:"attempt"`
	// SubmissionID is the mark of its pods.
	// +optional
	SubmissionID string `json:"submissionID,omitempty"`
	// StartTime is when the driver's container started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// EndTime is when it was found ended.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// ExitCode of the driver's container, if reported.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// FailureClass is the class whose budget the failure counts against.
	// +optional
	FailureClass string `json:"failureClass,omitempty"`
	// Reason of the end, one of the documented list.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason, with the container's termination message.
	// +optional
	Message string `json:"message,omitempty"`
	// LogTail holds the last lines of a failed driver's log.
	// +optional
	LogTail string `json:"logTail,omitempty"`
	// Withdrawn says that the batch scheduler took the driver away before it had a node: it certainly never started.
	// +optional
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// RetryStatus counts failures by class since the budgets were last full.
type RetryStatus struct {
	// Infrastructure counts attempts that the cluster ended.
	// +optional
	Infrastructure int32 `json:"infrastructure,omitempty"`
	// Submission counts refused submissions.
	// +optional
	Submission int32 `json:"submission,omitempty"`
	// OutOfMemory counts drivers that ran out of memory.
	// +optional
	OutOfMemory int32 `json:"outOfMemory,omitempty"`
	// Application counts other exit codes than 0.
	// +optional
	Application int32 `json:"application,omitempty"`
	// MemoryRaises is how often the driver's memory was raised.
	// +optional
	MemoryRaises int32 `json:"memoryRaises,omitempty"`
}

// RerunStatus is what became of requests to run again.
type RerunStatus struct {
	// At is the latest request that was acted on, or that came with the first run.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
	// Ignored is the request that the application has now, if it is never acted on: it is no time in RFC 3339, or was in the future.
	// +optional
	Ignored string `json:"ignored,omitempty"`
}

// ExecutorPlacementStatus is about where executors may run.
type ExecutorPlacementStatus struct {
	// RestHash identifies what of the spec an edit of runs the application again.
	// +optional
	RestHash string `json:"restHash,omitempty"`
	// Hash identifies the placement that the driver makes executors with.
	// +optional
	Hash string `json:"hash,omitempty"`
	// Outdated is true while the driver may make executors with another placement than the spec has.
	// +optional
	Outdated bool `json:"outdated,omitempty"`
	// Problem is why an edit of the placement cannot reach the driver, and holds from the next attempt on.
	// +optional
	Problem string `json:"problem,omitempty"`
}

// ExecutorSummary counts executors.
type ExecutorSummary struct {
	// Pending executors wait for a node, an image or a volume.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// Running executors run.
	// +optional
	Running int32 `json:"running,omitempty"`
	// Completed executors ended well.
	// +optional
	Completed int32 `json:"completed,omitempty"`
	// Failed executors ended otherwise.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Unknown executors disappeared before their end was seen.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
	// Failures are the last five that failed.
	// +listType=atomic
	// +optional
	Failures []ExecutorFailure `json:"failures,omitempty"`
}

// ExecutorFailure is an executor that failed.
type ExecutorFailure struct {
	// PodName of the executor.
	// +required
	PodName string `json:"podName"`
	// ExitCode of its container, if reported.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Reason in the kubelet's words, such as OOMKilled or Evicted.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// SchedulingStatus is about the current attempt's way to its driver.
type SchedulingStatus struct {
	// Scheduler is the name of the scheduler that was chosen.
	// +optional
	Scheduler string `json:"scheduler,omitempty"`
	// Source is who chose them: Application, Policy (of the operator, for the namespace), Namespace or Cluster.
	// +optional
	Source string `json:"source,omitempty"`
	// Queue of the scheduler.
	// +optional
	Queue string `json:"queue,omitempty"`
	// Parameters are those of the operator's configuration for what the application leaves out: an object in JSON.
	// +optional
	Parameters string `json:"parameters,omitempty"`
	// Group is the scheduler's object for the attempt: kind and name.
	// +optional
	Group string `json:"group,omitempty"`
	// HeldAttempt is the attempt for which the scheduler has objects.
	// +optional
	HeldAttempt int32 `json:"heldAttempt,omitempty"`
	// HeldBy is the scheduler of those objects.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`
	// AdmittedAt is when the driver could be created.
	// +optional
	AdmittedAt *metav1.Time `json:"admittedAt,omitempty"`
	// Reason is what the attempt waits for, one of the documented list.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is the sentence to the reason.
	// +optional
	Message string `json:"message,omitempty"`
	// Warning is what the scheduler had to say when it let the attempt start.
	// +optional
	Warning string `json:"warning,omitempty"`
	// MessageTime is when the message was written. While nothing but its words change, such as what is free of a
	// quota, it is written again once a minute at most.
	// +optional
	MessageTime *metav1.Time `json:"messageTime,omitempty"`
	// Evictions counts the drivers that the scheduler took down since the application last succeeded or was changed.
	// +optional
	Evictions int32 `json:"evictions,omitempty"`
	// QueuedAt is since when the current attempt waits, or waited, for its driver.
	// +optional
	QueuedAt *metav1.Time `json:"queuedAt,omitempty"`
}
