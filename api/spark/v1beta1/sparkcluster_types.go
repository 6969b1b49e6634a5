// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// SparkCluster is a Spark standalone cluster: a master and its workers.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sparkcluster,singular=sparkcluster,categories=spark
// +kubebuilder:deprecatedversion:warning="spark.apache.org/v1beta1 SparkCluster is deprecated; use spark.apache.org/v1"
// +kubebuilder:printcolumn:JSONPath=.status.currentState.currentStateSummary,name=Current State,type=string
// +kubebuilder:printcolumn:JSONPath=.metadata.creationTimestamp,name=Age,type=date
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
}

// SparkClusterSpec is the desired cluster.
type SparkClusterSpec struct {
	// SparkConf is the configuration of master and workers. {{SPARK_VERSION}} in spark.kubernetes.container.image stands for the
	// Spark version.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// RuntimeVersions are the versions in the image.
	// +required
	RuntimeVersions v1.RuntimeVersions `json:"runtimeVersions"`
	// ClusterTolerations configure the number of workers.
	// +required
	ClusterTolerations v1.ClusterTolerations `json:"clusterTolerations"`
	// MasterSpec configures the master's StatefulSet and Service.
	// +optional
	MasterSpec *v1.MasterSpec `json:"masterSpec,omitempty"`
	// WorkerSpec configures the workers' StatefulSet, Service and autoscaler.
	// +optional
	WorkerSpec *WorkerSpec `json:"workerSpec,omitempty"`
}

// ClusterStateSummary is the state of a cluster.
//
// +kubebuilder:validation:Enum=Submitted;RunningHealthy;Failed;SchedulingFailure;ResourceReleased
type ClusterStateSummary string

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
}

// ClusterAttemptSummary describes one attempt.
type ClusterAttemptSummary struct {
	// AttemptInfo has the number of the attempt.
	// +optional
	AttemptInfo *ClusterAttemptInfo `json:"attemptInfo,omitempty"`
	// StateTransitionHistory holds the states of an earlier attempt.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
}

// ClusterAttemptInfo has the number of an attempt.
type ClusterAttemptInfo struct {
	// ID of the attempt; the first is 0.
	// +optional
	ID int64 `json:"id"`
}

// WorkerSpec configures the workers' StatefulSet, Service and autoscaler.
type WorkerSpec struct {
	v1.RoleObjects `json:",inline"`
	// HorizontalPodAutoscalerSpec is the spec of the autoscaler. The operator sets its target and its bounds.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	HorizontalPodAutoscalerSpec *autoscalingv2.HorizontalPodAutoscalerSpec `json:"horizontalPodAutoscalerSpec,omitempty"`
}
