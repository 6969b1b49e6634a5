// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Names that tie objects to their server.
const (
	// LabelConnectName holds the name of the SparkConnect of a pod, Service, ConfigMap or Secret.
	LabelConnectName = "sparkoperator.k8s.io/connect-name"
	// AnnotationWakeAt starts a server again that was stopped because it was idle. Its value is a time in RFC 3339, later than
	// status.idle.stoppedAt.
	AnnotationWakeAt = "sparkoperator.k8s.io/wake-at"
)

// SparkConnectState is the state of a server.
type SparkConnectState string

// Server states.
const (
	// SparkConnectStateNew has not been reconciled yet.
	SparkConnectStateNew SparkConnectState = ""
	// SparkConnectStateProvisioning waits for its first server pod to take clients.
	SparkConnectStateProvisioning SparkConnectState = "Provisioning"
	// SparkConnectStateReady takes clients.
	SparkConnectStateReady SparkConnectState = "Ready"
	// SparkConnectStateNotReady takes no clients: conditions say why, and whether anybody has to do something.
	SparkConnectStateNotReady SparkConnectState = "NotReady"
	// SparkConnectStateFailed takes no clients until the spec changes.
	SparkConnectStateFailed SparkConnectState = "Failed"
)

// ConditionServerPodReady is the condition that other clients of this API know, and its reasons.
const (
	ConditionServerPodReady = "ServerPodReady"
	ReasonServerPodReady    = "ServerPodReady"
	ReasonServerPodNotReady = "ServerPodNotReady"
)

// SparkConnect is a Spark Connect server: a driver that takes clients, and its executors.
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

	// Spec is the server that the user wants.
	// +required
	Spec SparkConnectSpec `json:"spec"`
	// Status is what the operator knows about it.
	// +optional
	Status SparkConnectStatus `json:"status,omitzero"`

	// MalformedSpec says why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of fields in the stored spec that do not exist, as in a misspelled toleration; of too many
	// the first, and "..." at the end.
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

// SparkConnectSpec is the server that the user wants.
type SparkConnectSpec struct {
	// SparkVersion of the image, such as 4.1.4.
	// +required
	SparkVersion string `json:"sparkVersion"`
	// Image of the server and its executors; their templates may name others.
	// +optional
	Image *string `json:"image,omitempty"`
	// HadoopConf is Hadoop's configuration; the prefix "spark.hadoop." may be left out.
	// +optional
	HadoopConf map[string]string `json:"hadoopConf,omitempty"`
	// SparkConf is Spark's configuration.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// Server is the pod that clients connect to.
	// +required
	Server ServerSpec `json:"server"`
	// Executor is what runs the tasks.
	// +required
	Executor ExecutorSpec `json:"executor"`
	// DynamicAllocation lets the number of executors follow the load.
	// +optional
	DynamicAllocation *DynamicAllocation `json:"dynamicAllocation,omitempty"`

	// Suspend stops the server until it is false again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// IdleTimeout stops the server when it has executed nothing for so long; never by default. It needs Spark's UI. The
	// annotation sparkoperator.k8s.io/wake-at starts it again, as kubectl spark connect does.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
	// DrainTimeout is how long a server with open sessions is kept after its spec was changed, before a new one replaces
	// it; 10m by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// LogTails says whether the end of a failed server's log, and its cause from there, are stored in the status: Enabled (default) or
	// Disabled.
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

// ServerSpec is the server's pod and Service.
type ServerSpec struct {
	SparkPodSpec `json:",inline"`
	// Service is a template of the Service that clients connect to: <name>-server, of type ClusterIP by default. Its ports and selector are
	// the operator's.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Service *corev1.Service `json:"service,omitempty"`
}

// ExecutorSpec is the executors' pods.
type ExecutorSpec struct {
	SparkPodSpec `json:",inline"`
	// Instances is the number of executors without dynamic allocation.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Instances *int32 `json:"instances,omitempty"`
}

// SparkPodSpec is what both roles have.
type SparkPodSpec struct {
	// Cores of the Spark container.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Cores *int32 `json:"cores,omitempty"`
	// Memory of the JVM, such as 4g.
	// +optional
	Memory *string `json:"memory,omitempty"`
	// Template is the pod that Spark's own is made from.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

// DynamicAllocation lets the number of executors follow the load.
type DynamicAllocation = v1beta2.DynamicAllocation

// AuthenticationSpec says who may connect.
type AuthenticationSpec struct {
	// Token lets in only clients that present the token of the Secret status.server.tokenSecretName. Spark has this since 4.0.
	// +optional
	Token bool `json:"token,omitempty"`
}

// SparkConnectStatus is what the operator knows about a server.
type SparkConnectStatus struct {
	// Conditions explain the state.
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchMergeKey:"type" patchStrategy:"merge"`
	// State of the server: Provisioning, Ready, NotReady or Failed; empty while it is new.
	// +optional
	State SparkConnectState `json:"state,omitempty"`
	// Server is the current server pod and what leads to it.
	// +optional
	Server ServerStatus `json:"server,omitempty"`
	// Executors counts the executor pods by phase, in lower case.
	// +optional
	Executors map[string]int `json:"executors,omitempty"`
	// StartTime is when the operator first dealt with the server.
	// +optional
	StartTime metav1.Time `json:"startTime,omitzero"`
	// LastUpdateTime is when this status was last changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`

	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Submitter is the user who created the server, as admission recorded it.
	// +optional
	Submitter *v1beta2.SubmitterStatus `json:"submitter,omitempty"`
	// Idle is since when the server executes nothing, as far as that is known.
	// +optional
	Idle *IdleStatus `json:"idle,omitempty"`
	// DrainSince is since when a new server waits for the sessions of the old one.
	// +optional
	DrainSince *metav1.Time `json:"drainSince,omitempty"`
	// Run is what the operator remembers of the server's pods: attempts, retries, scheduling, auxiliary objects. Its
	// conditions are those of this status.
	// +optional
	Run *v1beta2.SparkApplicationStatus `json:"run,omitempty"`
}

// ServerStatus is the current server pod and what leads to it.
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
	// TokenSecretName is the Secret with the token that clients present, in its key "token".
	// +optional
	TokenSecretName string `json:"tokenSecretName,omitempty"`
}

// IdleStatus is about a server that executes nothing.
type IdleStatus struct {
	// Since is when the server last executed something, or began to take clients.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Streaming says that streaming queries run; they keep the server.
	// +optional
	Streaming bool `json:"streaming,omitempty"`
	// StoppedAt is when it was stopped for that; absent if it was not.
	// +optional
	StoppedAt *metav1.Time `json:"stoppedAt,omitempty"`
	// Problem says why it is not known what the server executes; absent if it is, or does not matter.
	// +optional
	Problem string `json:"problem,omitempty"`
}

func init() {
	SchemeBuilder.Register(func(s *runtime.Scheme) error {
		s.AddKnownTypes(SchemeGroupVersion, &SparkConnect{}, &SparkConnectList{})
		return nil
	})
}
