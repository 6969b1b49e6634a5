// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Names that link objects to their server.
const (
	// LabelConnectName is the name of the SparkConnect of a pod, Service, ConfigMap or Secret.
	LabelConnectName = "sparkoperator.k8s.io/connect-name"
	// AnnotationWakeAt starts a server that was stopped as idle. Its value is a time in RFC 3339, later than
	// status.idle.stoppedAt.
	AnnotationWakeAt = "sparkoperator.k8s.io/wake-at"
)

// SparkConnectState is the state of a server.
type SparkConnectState string

// Server states.
const (
	// SparkConnectStateNew has not been reconciled yet.
	SparkConnectStateNew SparkConnectState = ""
	// SparkConnectStateProvisioning waits for the first server pod to become ready.
	SparkConnectStateProvisioning SparkConnectState = "Provisioning"
	// SparkConnectStateReady accepts clients.
	SparkConnectStateReady SparkConnectState = "Ready"
	// SparkConnectStateNotReady does not accept clients. The conditions explain why, and whether a user has to act.
	SparkConnectStateNotReady SparkConnectState = "NotReady"
	// SparkConnectStateFailed does not accept clients until the spec changes.
	SparkConnectStateFailed SparkConnectState = "Failed"
)

// ConditionServerPodReady is a condition that other clients of this API read. Its reasons follow.
const (
	ConditionServerPodReady = "ServerPodReady"
	ReasonServerPodReady    = "ServerPodReady"
	ReasonServerPodNotReady = "ServerPodNotReady"
)

// SparkConnect is a Spark Connect server: a driver that serves clients, and its executors.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sparkconn,singular=sparkconnect,categories=spark
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubeflow/spark-operator/pull/1298"
// +kubebuilder:printcolumn:JSONPath=.metadata.creationTimestamp,name=Age,type=date
// +kubebuilder:printcolumn:JSONPath=.status.state,name=Status,type=string
// +kubebuilder:printcolumn:JSONPath=.status.server.podName,name=PodName,type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="DriverReady")].reason`,name=Reason,type=string
// +kubebuilder:printcolumn:JSONPath=.status.server.serviceName,name=Service,type=string,priority=1
type SparkConnect struct {
	metav1.TypeMeta `json:",inline"`
	// +required
	metav1.ObjectMeta `json:"metadata"`

	// Spec is the desired server.
	// +required
	Spec SparkConnectSpec `json:"spec"`
	// Status is the observed state.
	// +optional
	Status SparkConnectStatus `json:"status,omitzero"`

	// MalformedSpec explains why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of unknown fields in the stored spec, e.g. of a misspelled toleration. A long list is truncated and ends with "...".
	UnknownFields []string `json:"-"`
}

// SparkConnectList is a list of SparkConnects.
//
// +kubebuilder:object:root=true
type SparkConnectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SparkConnect `json:"items"`
}

// SparkConnectSpec is the desired server.
type SparkConnectSpec struct {
	// SparkVersion is the Spark version in the image, such as 4.1.4.
	// +required
	SparkVersion string `json:"sparkVersion"`
	// Image of the server and its executors; their templates may override it.
	// +optional
	Image *string `json:"image,omitempty"`
	// HadoopConf is Hadoop's configuration; the prefix "spark.hadoop." is optional.
	// +optional
	HadoopConf map[string]string `json:"hadoopConf,omitempty"`
	// SparkConf is Spark's configuration.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// Server configures the pod that clients connect to.
	// +required
	Server ServerSpec `json:"server"`
	// Executor configures the pods that run the tasks.
	// +required
	Executor ExecutorSpec `json:"executor"`
	// DynamicAllocation lets the number of executors follow the load.
	// +optional
	DynamicAllocation *DynamicAllocation `json:"dynamicAllocation,omitempty"`

	// Suspend stops the server while it is true.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// IdleTimeout stops the server after this time without an execution; never by default. It needs Spark's UI. The annotation
	// sparkoperator.k8s.io/wake-at starts the server again, as kubectl spark connect does.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
	// DrainTimeout is the longest wait of an edit for open sessions; 10m by default. After that a new server replaces the old one.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// LogTails controls whether the end of a failed server's log, and the cause found in it, are stored in the status: Enabled
	// (default) or Disabled.
	// +optional
	LogTails v1beta2.LogTailPolicy `json:"logTails,omitempty"`
	// Authentication of clients; none by default.
	// +optional
	Authentication *AuthenticationSpec `json:"authentication,omitempty"`
	// BatchScheduler names the batch scheduler of the pods.
	// +optional
	BatchScheduler *string `json:"batchScheduler,omitempty"`
	// BatchSchedulerOptions are passed to the batch scheduler.
	// +optional
	BatchSchedulerOptions *v1beta2.BatchSchedulerConfiguration `json:"batchSchedulerOptions,omitempty"`
}

// ServerSpec configures the server's pod and Service.
type ServerSpec struct {
	SparkPodSpec `json:",inline"`
	// Service is a template of the Service that clients connect to: <name>-server, of type ClusterIP by default. The operator
	// sets its ports and selector.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Service *corev1.Service `json:"service,omitempty"`
}

// ExecutorSpec configures the executor pods.
type ExecutorSpec struct {
	SparkPodSpec `json:",inline"`
	// Instances is the number of executors without dynamic allocation.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Instances *int32 `json:"instances,omitempty"`
}

// SparkPodSpec has the fields of both roles.
type SparkPodSpec struct {
	// Cores is the number of task slots, and of requested CPUs unless coreRequest is set.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Cores *int32 `json:"cores,omitempty"`
	// CoreRequest is the CPU request, as a Kubernetes quantity.
	// +optional
	CoreRequest *string `json:"coreRequest,omitempty"`
	// CoreLimit is the CPU limit, as a Kubernetes quantity.
	// +optional
	CoreLimit *string `json:"coreLimit,omitempty"`
	// GPU requests GPUs.
	// +optional
	GPU *v1beta2.GPUSpec `json:"gpu,omitempty"`
	// Memory of the JVM, such as 4g.
	// +optional
	Memory *string `json:"memory,omitempty"`
	// Template is the template of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

// DynamicAllocation lets the number of executors follow the load.
type DynamicAllocation = v1beta2.DynamicAllocation

// AuthenticationSpec configures the authentication of clients.
type AuthenticationSpec struct {
	// Token requires that clients present the token of the Secret status.server.tokenSecretName. It needs Spark 4.0 or later.
	// +optional
	Token bool `json:"token,omitempty"`
}

// SparkConnectStatus is the observed state of a server.
type SparkConnectStatus struct {
	// Conditions explain the state.
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchMergeKey:"type" patchStrategy:"merge"`
	// State of the server: Provisioning, Ready, NotReady or Failed; empty for a new one.
	// +optional
	State SparkConnectState `json:"state,omitempty"`
	// Server describes the current server pod and its Service.
	// +optional
	Server ServerStatus `json:"server,omitempty"`
	// Executors counts the executor pods by phase, in lower case.
	// +optional
	Executors map[string]int `json:"executors,omitempty"`
	// StartTime is the time of the first reconcile.
	// +optional
	StartTime metav1.Time `json:"startTime,omitzero"`
	// LastUpdateTime is the time of the last change of this status.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`

	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Submitter is the user who created the server, as recorded by admission.
	// +optional
	Submitter *v1beta2.SubmitterStatus `json:"submitter,omitempty"`
	// Idle describes how long the server has executed nothing, if known.
	// +optional
	Idle *IdleStatus `json:"idle,omitempty"`
	// DrainSince is when an edit began to wait for the open sessions.
	// +optional
	DrainSince *metav1.Time `json:"drainSince,omitempty"`
	// Run is the operator's record of the server's pods: attempts, retries, scheduling, auxiliary objects. Its conditions are
	// those of this status.
	// +optional
	Run *v1beta2.SparkApplicationStatus `json:"run,omitempty"`
}

// ServerStatus describes the current server pod and its Service.
type ServerStatus struct {
	// PodName of the server.
	// +optional
	PodName string `json:"podName,omitempty"`
	// PodIP of the server.
	// +optional
	PodIP string `json:"podIp,omitempty"`
	// ServiceName is the Service that clients connect to.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// TokenSecretName is the Secret with the clients' token, in its key "token".
	// +optional
	TokenSecretName string `json:"tokenSecretName,omitempty"`
}

// IdleStatus describes a server that executes nothing.
type IdleStatus struct {
	// Since is the time of the last execution, or of readiness if it is later.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Streaming is true while streaming queries run; they keep the server running.
	// +optional
	Streaming bool `json:"streaming,omitempty"`
	// StoppedAt is when the server was stopped as idle; absent otherwise.
	// +optional
	StoppedAt *metav1.Time `json:"stoppedAt,omitempty"`
	// Problem explains why the server's executions are unknown; absent if they are known or irrelevant.
	// +optional
	Problem string `json:"problem,omitempty"`
}

func init() {
	SchemeBuilder.Register(func(s *runtime.Scheme) error {
		s.AddKnownTypes(SchemeGroupVersion, &SparkConnect{}, &SparkConnectList{})
		return nil
	})
}
