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

// Deployment modes of the schema.
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

	// Spec is the desired application.
	// +optional
	Spec SparkApplicationSpec `json:"spec,omitzero"`
	// Status is the observed state.
	// +optional
	Status SparkApplicationStatus `json:"status,omitzero"`

	// MalformedSpec explains why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of unknown fields in the stored spec, e.g. of a misspelled toleration. A long list is truncated and ends with "...".
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

// SparkApplicationSpec is the desired application.
type SparkApplicationSpec struct {
	// Suspend stops a running application and holds back a new one while it is true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// SparkConf is the Spark configuration. {{SPARK_VERSION}} in images stands for the Spark version.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// MainClass is the class with the main method.
	// +optional
	MainClass string `json:"mainClass,omitempty"`
	// RuntimeVersions are the versions in the image.
	// +required
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// Jars is the jar to run, as path or URL (local:// for a file in the image).
	// +optional
	Jars string `json:"jars,omitempty"`
	// PyFiles is the .py file to run, followed by files that it needs, separated by commas.
	// +optional
	PyFiles string `json:"pyFiles,omitempty"`
	// SparkRFiles is the .R file to run.
	// +optional
	SparkRFiles string `json:"sparkRFiles,omitempty"`
	// Files has no effect, as in Apache's operator: use spark.files in sparkConf.
	// +optional
	Files string `json:"files,omitempty"`
	// DeploymentMode is ClusterMode by default: the operator runs drivers in pods only.
	// +optional
	DeploymentMode DeploymentMode `json:"deploymentMode,omitempty"`
	// ProxyUser is the user that Spark impersonates.
	// +optional
	ProxyUser string `json:"proxyUser,omitempty"`
	// DriverArgs are the arguments of the application.
	// +optional
	DriverArgs []string `json:"driverArgs,omitempty"`
	// DriverSpec configures the driver pod.
	// +optional
	DriverSpec *RoleSpec `json:"driverSpec,omitempty"`
	// ExecutorSpec configures the executor pods.
	// +optional
	ExecutorSpec *RoleSpec `json:"executorSpec,omitempty"`
	// DriverServiceIngressList are Services of the driver, each with an Ingress.
	// +optional
	DriverServiceIngressList []DriverServiceIngress `json:"driverServiceIngressList,omitempty"`
	// DriverHTTPRouteList are Services of the driver, each with an HTTPRoute.
	// +optional
	DriverHTTPRouteList []DriverHTTPRoute `json:"driverHttpRouteList,omitempty"`
	// DriverGRPCRouteList are Services of the driver, each with a GRPCRoute.
	// +optional
	DriverGRPCRouteList []DriverGRPCRoute `json:"driverGrpcRouteList,omitempty"`
	// ConfigMapSpecs are ConfigMaps that are created for the application.
	// +optional
	ConfigMapSpecs []ConfigMapSpec `json:"configMapSpecs,omitempty"`
	// ApplicationTolerations configure restarts, timeouts and retention.
	// +optional
	ApplicationTolerations *ApplicationTolerations `json:"applicationTolerations,omitempty"`
}

// RuntimeVersions are the versions in the image.
type RuntimeVersions struct {
	// SparkVersion is the Spark version in the image, such as 4.1.4.
	// +required
	SparkVersion string `json:"sparkVersion"`
	// ScalaVersion has no effect.
	// +optional
	ScalaVersion string `json:"scalaVersion,omitempty"`
	// JDKVersion has no effect.
	// +optional
	JDKVersion string `json:"jdkVersion,omitempty"`
}

// RoleSpec configures the pods of a role.
type RoleSpec struct {
	// PodTemplateSpec is the template of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	PodTemplateSpec *corev1.PodTemplateSpec `json:"podTemplateSpec,omitempty"`
}

// ConfigMapSpec is a ConfigMap that is created for the application.
type ConfigMapSpec struct {
	// Name of the ConfigMap.
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
