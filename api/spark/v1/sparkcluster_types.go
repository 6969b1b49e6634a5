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

	// Spec is the cluster that the user wants.
	// +optional
	Spec SparkClusterSpec `json:"spec,omitzero"`
	// Status is what the operator knows about it.
	// +optional
	Status SparkClusterStatus `json:"status,omitzero"`

	// MalformedSpec says why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of fields in the stored spec that do not exist; of too many the first, and "..." at the end.
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

// SparkClusterSpec is the cluster that the user wants.
type SparkClusterSpec struct {
	// Suspend stops a running cluster and holds back a new one until it is false again.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// SparkConf is the configuration of master and workers. {{SPARK_VERSION}} in spark.kubernetes.container.image is the Spark version.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// RuntimeVersions of what is in the image.
	// +required
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// ClusterTolerations say how many workers there are.
	// +required
	ClusterTolerations ClusterTolerations `json:"clusterTolerations"`
	// MasterSpec is the master's StatefulSet and Service.
	// +optional
	MasterSpec *MasterSpec `json:"masterSpec,omitempty"`
	// WorkerSpec is the workers' StatefulSet, Service and autoscaler.
	// +optional
	WorkerSpec *WorkerSpec `json:"workerSpec,omitempty"`
}

// ClusterTolerations say how many workers there are.
type ClusterTolerations struct {
	// InstanceConfig is the number of workers.
	// +required
	InstanceConfig WorkerInstanceConfig `json:"instanceConfig"`
}

// WorkerInstanceConfig is the number of workers.
type WorkerInstanceConfig struct {
	// InitWorkers is how many workers a new cluster has.
	// +required
	InitWorkers int32 `json:"initWorkers"`
	// MinWorkers is how many an autoscaler leaves. With 1 or more, evictions leave one worker.
	// +required
	MinWorkers int32 `json:"minWorkers"`
	// MaxWorkers is how many an autoscaler makes. There is one if it is more than minWorkers.
	// +required
	MaxWorkers int32 `json:"maxWorkers"`
}

// RoleObjects are the objects of a role.
type RoleObjects struct {
	// StatefulSetSpec is the spec of the StatefulSet. Its replicas and its pod management policy are the operator's.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	StatefulSetSpec *appsv1.StatefulSetSpec `json:"statefulSetSpec,omitempty"`
	// StatefulSetMetadata is the metadata of the StatefulSet, but its name.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	StatefulSetMetadata *metav1.ObjectMeta `json:"statefulSetMetadata,omitempty"`
	// ServiceSpec is the spec of the Service, which has no address of its own. Spark's ports come after those that it names.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	ServiceSpec *corev1.ServiceSpec `json:"serviceSpec,omitempty"`
	// ServiceMetadata is the metadata of the Service, but its name.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	ServiceMetadata *metav1.ObjectMeta `json:"serviceMetadata,omitempty"`
}

// MasterSpec is the master's StatefulSet and Service.
type MasterSpec struct {
	RoleObjects `json:",inline"`
}

// WorkerSpec is the workers' StatefulSet, Service and autoscaler.
type WorkerSpec struct {
	RoleObjects `json:",inline"`
	// HorizontalPodAutoscalerSpec is the spec of the autoscaler. Its target and its bounds are the operator's.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	HorizontalPodAutoscalerSpec *autoscalingv2.HorizontalPodAutoscalerSpec `json:"horizontalPodAutoscalerSpec,omitempty"`
	// NetworkPolicy adds to who may reach the workers.
	// +optional
	NetworkPolicy *WorkerNetworkPolicy `json:"networkPolicy,omitempty"`
}

// WorkerNetworkPolicy is who may reach the workers beside the cluster's own pods and drivers.
type WorkerNetworkPolicy struct {
	// MetricsPort is the port of a worker that serves metrics.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	MetricsPort int32 `json:"metricsPort"`
	// MetricsIngress are those who may reach that port.
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

// SparkClusterStatus is what the operator knows about a cluster.
type SparkClusterStatus struct {
	// CurrentState is the state of the cluster.
	// +optional
	CurrentState *ClusterState `json:"currentState,omitempty"`
	// StateTransitionHistory holds the states. Its keys are numbers that grow by one with each state.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
	// CurrentAttemptSummary is about the current attempt.
	// +optional
	CurrentAttemptSummary *ClusterAttemptSummary `json:"currentAttemptSummary,omitempty"`
	// PreviousAttemptSummary is about the attempt before it.
	// +optional
	PreviousAttemptSummary *ClusterAttemptSummary `json:"previousAttemptSummary,omitempty"`

	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions explain the state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Pods are the numbers of the cluster's pods; absent unless it runs.
	// +optional
	Pods *ClusterPods `json:"pods,omitempty"`
	// Scheduling is about the scheduler of the cluster's pods.
	// +optional
	Scheduling *ClusterScheduling `json:"scheduling,omitempty"`
	// Defaults are the Spark properties that policies of the operator set for the current start, where the spec says nothing.
	// +optional
	Defaults map[string]string `json:"defaults,omitempty"`
}

// ClusterPods are the numbers of a cluster's pods.
type ClusterPods struct {
	// Master is about the master.
	// +optional
	Master ClusterPodCount `json:"master"`
	// Workers are about the workers.
	// +optional
	Workers ClusterPodCount `json:"workers"`
}

// ClusterPodCount is about the pods of a role.
type ClusterPodCount struct {
	// Ready is how many pods are ready.
	// +optional
	Ready int32 `json:"ready"`
	// Desired is how many pods there are to be, by the spec or the autoscaler.
	// +optional
	Desired int32 `json:"desired"`
}

// ClusterScheduling is about the scheduler of a cluster's pods.
type ClusterScheduling struct {
	// Start counts the starts of the cluster, from 1.
	// +optional
	Start int32 `json:"start,omitempty"`
	// Scheduler is the name of the scheduler that was chosen for the current start.
	// +optional
	Scheduler string `json:"scheduler,omitempty"`
	// Source is who chose it: Application (the cluster's own spec), Policy (of the operator, for the namespace), Namespace or Cluster (of Kubernetes).
	// +optional
	Source string `json:"source,omitempty"`
	// Queue of the scheduler.
	// +optional
	Queue string `json:"queue,omitempty"`
	// Parameters are those of the operator's configuration: an object in JSON.
	// +optional
	Parameters string `json:"parameters,omitempty"`
	// Group is the scheduler's object for the cluster: kind and name.
	// +optional
	Group string `json:"group,omitempty"`
	// HeldBy is the scheduler that may have objects for the cluster.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`
}

// ClusterState is a state, since when, and why.
type ClusterState struct {
	// CurrentStateSummary is the state.
	// +optional
	CurrentStateSummary ClusterStateSummary `json:"currentStateSummary,omitempty"`
	// LastTransitionTime is since when: RFC 3339 in UTC with a Z, to the nanosecond.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
	// SuspendReason is why the cluster is suspended, in the state Suspended.
	// +optional
	SuspendReason SuspendReason `json:"suspendReason,omitempty"`
}

// ClusterAttemptSummary is about one attempt.
type ClusterAttemptSummary struct {
	// AttemptInfo holds the number of the attempt and a counter of restarts.
	// +optional
	AttemptInfo *ClusterAttemptInfo `json:"attemptInfo,omitempty"`
	// StateTransitionHistory holds the states of an earlier attempt.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
}

// ClusterAttemptInfo holds the number of an attempt and a counter of restarts.
type ClusterAttemptInfo struct {
	// ID of the attempt: 0 for the first.
	// +optional
	ID int64 `json:"id"`
	// RestartCounter counts restarts.
	// +optional
	RestartCounter int64 `json:"restartCounter"`
}
