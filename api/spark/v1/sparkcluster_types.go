// SPDX-License-Identifier: Apache-2.0

package v1

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SparkCluster is a Spark standalone cluster: a master and its workers.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sparkcluster,singular=sparkcluster,categories=spark
// +kubebuilder:printcolumn:JSONPath=.metadata.creationTimestamp,name=Age,type=date
// +kubebuilder:printcolumn:JSONPath=.status.currentState.currentStateSummary,name=Current State,type=string
type SparkCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is the desired cluster.
	// +optional
	Spec SparkClusterSpec `json:"spec,omitzero"`
	// Status is the observed state.
	// +optional
	Status SparkClusterStatus `json:"status,omitzero"`

	// MalformedSpec explains why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of unknown fields in the stored spec. A long list is truncated and ends with "...".
	UnknownFields []string `json:"-"`
}

// SparkClusterList is a list of SparkClusters.
//
// +kubebuilder:object:root=true
type SparkClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []SparkCluster `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &SparkCluster{}, &SparkClusterList{})
		return nil
	})
}

// SparkClusterSpec is the desired cluster.
type SparkClusterSpec struct {
	// Suspend stops a running cluster and holds back a new one while it is true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// SparkConf is the configuration of master and workers. {{SPARK_VERSION}} in spark.kubernetes.container.image stands for the
	// Spark version.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// RuntimeVersions are the versions in the image.
	// +required
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// ClusterTolerations configure the number of workers.
	// +required
	ClusterTolerations ClusterTolerations `json:"clusterTolerations"`
	// MasterSpec configures the master's StatefulSet and Service.
	// +optional
	MasterSpec *MasterSpec `json:"masterSpec,omitempty"`
	// WorkerSpec configures the workers' StatefulSet, Service and autoscaler.
	// +optional
	WorkerSpec *WorkerSpec `json:"workerSpec,omitempty"`
}

// ClusterTolerations configure the number of workers.
type ClusterTolerations struct {
	// InstanceConfig is the number of workers.
	// +required
	InstanceConfig WorkerInstanceConfig `json:"instanceConfig"`
}

// WorkerInstanceConfig is the number of workers.
type WorkerInstanceConfig struct {
	// InitWorkers is the number of workers of a new cluster.
	// +required
	InitWorkers int32 `json:"initWorkers"`
	// MinWorkers is the autoscaler's minimum. With 1 or more, voluntary evictions leave at least one worker.
	// +required
	MinWorkers int32 `json:"minWorkers"`
	// MaxWorkers is the autoscaler's maximum. If it is more than minWorkers, an autoscaler is created.
	// +required
	MaxWorkers int32 `json:"maxWorkers"`
}

// RoleObjects configure the objects of a role.
type RoleObjects struct {
	// StatefulSetSpec is the spec of the StatefulSet. The operator sets its replicas and its pod management policy.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	StatefulSetSpec *appsv1.StatefulSetSpec `json:"statefulSetSpec,omitempty"`
	// StatefulSetMetadata is the metadata of the StatefulSet, except its name.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	StatefulSetMetadata *metav1.ObjectMeta `json:"statefulSetMetadata,omitempty"`
	// ServiceSpec is the spec of the headless Service. Spark's ports are added after its own.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	ServiceSpec *corev1.ServiceSpec `json:"serviceSpec,omitempty"`
	// ServiceMetadata is the metadata of the Service, except its name.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	ServiceMetadata *metav1.ObjectMeta `json:"serviceMetadata,omitempty"`
}

// MasterSpec configures the master's StatefulSet and Service.
type MasterSpec struct {
	RoleObjects `json:",inline"`
}

// WorkerSpec configures the workers' StatefulSet, Service and autoscaler.
type WorkerSpec struct {
	RoleObjects `json:",inline"`
	// HorizontalPodAutoscalerSpec is the spec of the autoscaler. The operator sets its target and its bounds.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	HorizontalPodAutoscalerSpec *autoscalingv2.HorizontalPodAutoscalerSpec `json:"horizontalPodAutoscalerSpec,omitempty"`
	// NetworkPolicy admits further clients to the workers.
	// +optional
	NetworkPolicy *WorkerNetworkPolicy `json:"networkPolicy,omitempty"`
}

// WorkerNetworkPolicy admits clients to the workers, besides the cluster's own pods and drivers.
type WorkerNetworkPolicy struct {
	// MetricsPort is a worker's metrics port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	MetricsPort int32 `json:"metricsPort"`
	// MetricsIngress are the peers admitted to that port.
	// +listType=atomic
	// +required
	MetricsIngress []networkingv1.NetworkPolicyPeer `json:"metricsIngress"`
}

// ClusterStateSummary is the state of a cluster.
//
// +kubebuilder:validation:Enum=Submitted;RunningHealthy;Failed;SchedulingFailure;ResourceReleased;Suspended
type ClusterStateSummary string

// Cluster states.
const (
	ClusterSubmitted         ClusterStateSummary = "Submitted"
	ClusterSchedulingFailure ClusterStateSummary = "SchedulingFailure"
	ClusterRunningHealthy    ClusterStateSummary = "RunningHealthy"
	ClusterFailed            ClusterStateSummary = "Failed"
	ClusterResourceReleased  ClusterStateSummary = "ResourceReleased"
	ClusterSuspended         ClusterStateSummary = "Suspended"
)

// SparkClusterStatus is the observed state of a cluster.
type SparkClusterStatus struct {
	// CurrentState is the state of the cluster.
	// +optional
	CurrentState *ClusterState `json:"currentState,omitempty"`
	// StateTransitionHistory holds the states by increasing numbers.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
	// CurrentAttemptSummary describes the current attempt.
	// +optional
	CurrentAttemptSummary *ClusterAttemptSummary `json:"currentAttemptSummary,omitempty"`
	// PreviousAttemptSummary describes the previous attempt.
	// +optional
	PreviousAttemptSummary *ClusterAttemptSummary `json:"previousAttemptSummary,omitempty"`

	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions explain the state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Pods counts the cluster's pods; absent unless it runs.
	// +optional
	Pods *ClusterPods `json:"pods,omitempty"`
	// Scheduling describes the scheduler of the cluster's pods.
	// +optional
	Scheduling *ClusterScheduling `json:"scheduling,omitempty"`
	// Defaults are the Spark properties that operator policies set for the current start.
	// +optional
	Defaults map[string]string `json:"defaults,omitempty"`
}

// ClusterPods counts a cluster's pods.
type ClusterPods struct {
	// Master counts the master's pods.
	// +optional
	Master ClusterPodCount `json:"master"`
	// Workers counts the workers' pods.
	// +optional
	Workers ClusterPodCount `json:"workers"`
}

// ClusterPodCount counts the pods of a role.
type ClusterPodCount struct {
	// Ready is the number of ready pods.
	// +optional
	Ready int32 `json:"ready"`
	// Desired is the number required by the spec or the autoscaler.
	// +optional
	Desired int32 `json:"desired"`
}

// ClusterScheduling describes the scheduler of a cluster's pods.
type ClusterScheduling struct {
	// Start counts the starts of the cluster, from 1.
	// +optional
	Start int32 `json:"start,omitempty"`
	// Scheduler is the scheduler chosen for the current start.
	// +optional
	Scheduler string `json:"scheduler,omitempty"`
	// Source is the origin of the choice: Application (the cluster's own spec), Policy (an operator policy for the namespace),
	// Namespace or Cluster (of Kubernetes).
	// +optional
	Source string `json:"source,omitempty"`
	// Queue of the scheduler.
	// +optional
	Queue string `json:"queue,omitempty"`
	// Parameters are the operator's defaults, as a JSON object.
	// +optional
	Parameters string `json:"parameters,omitempty"`
	// Group is the kind and name of the cluster's object in the scheduler.
	// +optional
	Group string `json:"group,omitempty"`
	// HeldBy is the scheduler that may have objects for the cluster.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`
}

// ClusterState is a state with its time and its reason.
type ClusterState struct {
	// CurrentStateSummary is the state.
	// +optional
	CurrentStateSummary ClusterStateSummary `json:"currentStateSummary,omitempty"`
	// LastTransitionTime is the start of the state: RFC 3339 in UTC with a Z, to the nanosecond.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
	// SuspendReason is the reason of the state Suspended.
	// +optional
	SuspendReason SuspendReason `json:"suspendReason,omitempty"`
}

// ClusterAttemptSummary describes one attempt.
type ClusterAttemptSummary struct {
	// AttemptInfo has the number of the attempt and a counter of restarts.
	// +optional
	AttemptInfo *ClusterAttemptInfo `json:"attemptInfo,omitempty"`
	// StateTransitionHistory holds the states of an earlier attempt.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
}

// ClusterAttemptInfo has the number of an attempt and a counter of restarts.
type ClusterAttemptInfo struct {
	// ID of the attempt; the first is 0.
	// +optional
	ID int64 `json:"id"`
	// RestartCounter counts restarts.
	// +optional
	RestartCounter int64 `json:"restartCounter"`
}
