// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeploymentMode says where the driver runs.
//
// +kubebuilder:validation:Enum=ClientMode;ClusterMode
type DeploymentMode string

// Deployment modes that the schema accepts.
const (
	ClientMode  DeploymentMode = "ClientMode"
	ClusterMode DeploymentMode = "ClusterMode"
)

// SparkApplication is a Spark job: a driver and its executors.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sparkapp,singular=sparkapplication,categories=spark
// +kubebuilder:printcolumn:JSONPath=.metadata.creationTimestamp,name=Age,type=date
// +kubebuilder:printcolumn:JSONPath=.status.currentState.currentStateSummary,name=Current State,type=string
type SparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is what the user wants to run.
	// +optional
	Spec SparkApplicationSpec `json:"spec,omitzero"`
	// Status is what the operator knows about it.
	// +optional
	Status SparkApplicationStatus `json:"status,omitzero"`

	// MalformedSpec says why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of fields in the stored spec that do not exist, as in a misspelled toleration; of too many
	// the first, and "..." at the end.
	UnknownFields []string `json:"-"`
}

// SparkApplicationList is a list of SparkApplications.
//
// +kubebuilder:object:root=true
type SparkApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []SparkApplication `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &SparkApplication{}, &SparkApplicationList{})
		return nil
	})
}

// SparkApplicationSpec is what the user wants to run.
type SparkApplicationSpec struct {
	// Suspend stops a running application and holds back a new one until it is false again.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// SparkConf is the Spark configuration. {{SPARK_VERSION}} in images is the Spark version.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// MainClass is the class with the main method.
	// +optional
	MainClass string `json:"mainClass,omitempty"`
	// RuntimeVersions of what is in the image.
	// +required
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// Jars is the jar to run, as path or URL (local:// for a file in the image).
	// +optional
	Jars string `json:"jars,omitempty"`
	// PyFiles is the .py file to run, and others that it needs, separated by commas.
	// +optional
	PyFiles string `json:"pyFiles,omitempty"`
	// SparkRFiles is the .R file to run.
	// +optional
	SparkRFiles string `json:"sparkRFiles,omitempty"`
	// Files is accepted and has no effect, as in Apache's operator: use spark.files in sparkConf.
	// +optional
	Files string `json:"files,omitempty"`
	// DeploymentMode is ClusterMode, by default: the operator runs drivers in pods only.
	// +optional
	DeploymentMode DeploymentMode `json:"deploymentMode,omitempty"`
	// ProxyUser is the user that Spark impersonates.
	// +optional
	ProxyUser string `json:"proxyUser,omitempty"`
	// DriverArgs are the arguments of the application.
	// +optional
	DriverArgs []string `json:"driverArgs,omitempty"`
	// DriverSpec is the driver's pod.
	// +optional
	DriverSpec *RoleSpec `json:"driverSpec,omitempty"`
	// ExecutorSpec is the executors' pods.
	// +optional
	ExecutorSpec *RoleSpec `json:"executorSpec,omitempty"`
	// DriverServiceIngressList are Services of the driver with an Ingress each.
	// +optional
	DriverServiceIngressList []DriverServiceIngress `json:"driverServiceIngressList,omitempty"`
	// DriverHTTPRouteList are Services of the driver with an HTTPRoute each.
	// +optional
	DriverHTTPRouteList []DriverHTTPRoute `json:"driverHttpRouteList,omitempty"`
	// DriverGRPCRouteList are Services of the driver with a GRPCRoute each.
	// +optional
	DriverGRPCRouteList []DriverGRPCRoute `json:"driverGrpcRouteList,omitempty"`
	// ConfigMapSpecs are ConfigMaps of the application's own.
	// +optional
	ConfigMapSpecs []ConfigMapSpec `json:"configMapSpecs,omitempty"`
	// ApplicationTolerations say when the application runs again, what it may take, and what is kept of it.
	// +optional
	ApplicationTolerations *ApplicationTolerations `json:"applicationTolerations,omitempty"`
}

// RuntimeVersions are the versions of what is in the image.
type RuntimeVersions struct {
	// SparkVersion in the image, such as 4.1.4.
	// +required
	SparkVersion string `json:"sparkVersion"`
	// ScalaVersion is accepted and has no effect.
	// +optional
	ScalaVersion string `json:"scalaVersion,omitempty"`
	// JDKVersion is accepted and has no effect.
	// +optional
	JDKVersion string `json:"jdkVersion,omitempty"`
}

// RoleSpec is the driver's or the executors' pods.
type RoleSpec struct {
	// PodTemplateSpec is the pod that Spark's own is made from.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	PodTemplateSpec *corev1.PodTemplateSpec `json:"podTemplateSpec,omitempty"`
}

// ConfigMapSpec is a ConfigMap of the application's own.
type ConfigMapSpec struct {
	// Name of the ConfigMap, as it is.
	// +required
	Name string `json:"name"`
	// Labels of the ConfigMap.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the ConfigMap.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Data of the ConfigMap.
	// +optional
	Data map[string]string `json:"data,omitempty"`
}
