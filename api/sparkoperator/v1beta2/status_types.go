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

// SparkApplicationStatus is the observed state of an application.
type SparkApplicationStatus struct {
	// SparkApplicationID is the current attempt's Spark application ID.
	// +optional
	SparkApplicationID string `json:"sparkApplicationId,omitempty"`
	// SubmissionID is the UUID of the current attempt, a label of its pods.
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
	// DriverInfo describes the driver pod.
	// +required
	DriverInfo DriverInfo `json:"driverInfo"`
	// AppState is the state of the application.
	// +optional
	AppState ApplicationState `json:"applicationState,omitempty"`
	// Cause is the reason of a wait or a failure; absent if there is neither. The condition DriverReady explains why a created driver pod is not running.
	// +optional
	Cause *CauseStatus `json:"cause,omitempty"`
	// ExecutorState has the states of executors by pod name.
	// +mapType=atomic
	// +optional
	ExecutorState map[string]ExecutorState `json:"executorState,omitempty"`
	// ExecutionAttempts counts successful submissions.
	// +optional
	ExecutionAttempts int32 `json:"executionAttempts,omitempty"`
	// SubmissionAttempts counts submissions.
	// +optional
	SubmissionAttempts int32 `json:"submissionAttempts,omitempty"`
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// SpecHash identifies the part of the spec that the current attempt was created from. If it changes, the application runs
	// again.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
	// Attempt is the number of the current attempt. It grows with each driver, and names of the attempt's objects contain it.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Attempts are the last ten attempts, the current one last.
	// +listType=atomic
	// +optional
	Attempts []AttemptStatus `json:"attempts,omitempty"`
	// Retries counts the failures since the last refill of the budgets.
	// +optional
	Retries *RetryStatus `json:"retries,omitempty"`
	// Rerun describes the requests in the annotation sparkoperator.k8s.io/rerun-at.
	// +optional
	Rerun *RerunStatus `json:"rerun,omitempty"`
	// ExecutorPlacement describes the placement of executors, which can be edited without a restart.
	// +optional
	ExecutorPlacement *ExecutorPlacementStatus `json:"executorPlacement,omitempty"`
	// Executors counts the executors of the current attempt. ExecutorState may have only some of them.
	// +optional
	Executors *ExecutorSummary `json:"executors,omitempty"`
	// MissingExecutors describes a driver that runs without any executor pod.
	// +optional
	MissingExecutors *MissingExecutorsStatus `json:"missingExecutors,omitempty"`
	// Scheduling describes the wait for the driver.
	// +optional
	Scheduling *SchedulingStatus `json:"scheduling,omitempty"`
	// Submitter is the user who created the application, as recorded by admission.
	// +optional
	Submitter *SubmitterStatus `json:"submitter,omitempty"`
	// Released names the deleted parts of a finished application: driverPod, resources.
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
	// Source is what recorded the user: AdmissionPolicy or Webhook.
	// +required
	Source string `json:"source"`
}

// ApplicationState is the state of an application with the error of a failure.
type ApplicationState struct {
	// State of the application; empty for a new one.
	// +required
	State ApplicationStateType `json:"state"`
	// ErrorMessage describes the failure.
	// +optional
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// CauseStatus is the reason of an application's state.
type CauseStatus struct {
	// Reason of the state, from the documented list.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason.
	// +optional
	Message string `json:"message,omitempty"`
	// Time is when the application got this reason; changes of the message do not reset it. It is absent if the reason is older
	// than this field.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// DriverInfo describes the driver pod.
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
	// HistoryServerURL is the page of the current attempt on the history server.
	// +optional
	HistoryServerURL string `json:"historyServerURL,omitempty"`
	// ExposedBy are the driver's auxiliary objects, as kind/name, until their deletion is confirmed.
	// +listType=atomic
	// +optional
	ExposedBy []string `json:"exposedBy,omitempty"`
}

// AttemptStatus is one attempt.
type AttemptStatus struct {
	// Attempt is its number.
	// +required
	Attempt int32 `json:"attempt"`
	// SubmissionID is the UUID of the attempt, a label of its pods.
	// +optional
	SubmissionID string `json:"submissionID,omitempty"`
	// StartTime is when the driver's container started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// EndTime is when the end of the attempt was observed.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// ExitCode of the driver's container, if reported.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// FailureClass is the class of the failure; each class has a retry budget.
	// +optional
	FailureClass string `json:"failureClass,omitempty"`
	// Reason of the end, from the documented list.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason, with the container's termination message.
	// +optional
	Message string `json:"message,omitempty"`
	// LogTail holds the last lines of a failed driver's log.
	// +optional
	LogTail string `json:"logTail,omitempty"`
	// Withdrawn is true if the batch scheduler removed the driver before it had a node, so it certainly never started.
	// +optional
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// RetryStatus counts failures by class since the last refill of the budgets.
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
	// Application counts non-zero exit codes.
	// +optional
	Application int32 `json:"application,omitempty"`
	// MemoryRaises counts increases of the driver's memory.
	// +optional
	MemoryRaises int32 `json:"memoryRaises,omitempty"`
}

// RerunStatus describes requests to run again.
type RerunStatus struct {
	// At is the latest request that caused a run, or that came with the first run.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
	// Ignored is the present request if it is permanently ignored, because it is not a time in RFC 3339 or was in the future.
	// +optional
	Ignored string `json:"ignored,omitempty"`
}

// ExecutorPlacementStatus describes the placement of executors.
type ExecutorPlacementStatus struct {
	// RestHash identifies the part of the spec whose edit runs the application again.
	// +optional
	RestHash string `json:"restHash,omitempty"`
	// Hash identifies the placement in the driver's executor template.
	// +optional
	Hash string `json:"hash,omitempty"`
	// Outdated is true while the driver's executor template may differ from the spec.
	// +optional
	Outdated bool `json:"outdated,omitempty"`
	// Problem explains why an edit of the placement cannot reach the driver and takes effect with the next attempt.
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
	// Completed executors succeeded.
	// +optional
	Completed int32 `json:"completed,omitempty"`
	// Failed executors ended with an error.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Unknown executors disappeared before their end was observed.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
	// Failures are the last five failed executors.
	// +listType=atomic
	// +optional
	Failures []ExecutorFailure `json:"failures,omitempty"`
}

// MissingExecutorsStatus describes a driver that runs without any executor pod although it wants some.
type MissingExecutorsStatus struct {
	// Since is when the last executor pod disappeared. It is absent if the driver has had none.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// AskTime is when the operator asked the API server, in a dry run, to create an executor pod.
	// +optional
	AskTime *metav1.Time `json:"askTime,omitempty"`
	// Refusal is the API server's answer, if it refuses the pod.
	// +optional
	Refusal string `json:"refusal,omitempty"`
}

// ExecutorFailure is an executor that failed.
type ExecutorFailure struct {
	// PodName of the executor.
	// +required
	PodName string `json:"podName"`
	// ExitCode of its container, if reported.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Reason of the kubelet, such as OOMKilled or Evicted.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// SchedulingStatus describes the current attempt until its driver is created.
type SchedulingStatus struct {
	// Scheduler is the chosen scheduler.
	// +optional
	Scheduler string `json:"scheduler,omitempty"`
	// Source is the origin of the choice: Application, Policy (an operator policy for the namespace), Namespace or Cluster.
	// +optional
	Source string `json:"source,omitempty"`
	// Queue of the scheduler.
	// +optional
	Queue string `json:"queue,omitempty"`
	// Parameters are the operator's defaults of omitted parameters, as a JSON object.
	// +optional
	Parameters string `json:"parameters,omitempty"`
	// Group is the kind and name of the attempt's object in the scheduler.
	// +optional
	Group string `json:"group,omitempty"`
	// HeldAttempt is the attempt with objects in the scheduler.
	// +optional
	HeldAttempt int32 `json:"heldAttempt,omitempty"`
	// HeldBy is the scheduler of those objects.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`
	// AdmittedAt is when the scheduler admitted the attempt.
	// +optional
	AdmittedAt *metav1.Time `json:"admittedAt,omitempty"`
	// Reason of the wait, from the documented list.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason.
	// +optional
	Message string `json:"message,omitempty"`
	// Warning is the scheduler's warning at admission.
	// +optional
	Warning string `json:"warning,omitempty"`
	// MessageTime is when the message was written. Details such as the free amount of a quota are updated at most once a minute.
	// +optional
	MessageTime *metav1.Time `json:"messageTime,omitempty"`
	// Evictions counts the scheduler's evictions of drivers since the last success or edit.
	// +optional
	Evictions int32 `json:"evictions,omitempty"`
	// QueuedAt is when the current attempt began to wait for its driver.
	// +optional
	QueuedAt *metav1.Time `json:"queuedAt,omitempty"`
}
