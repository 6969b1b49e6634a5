// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// SparkApplication is a Spark job: a driver and its executors.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sparkapp,singular=sparkapplication,categories=spark
// +kubebuilder:deprecatedversion:warning="spark.apache.org/v1beta1 SparkApplication is deprecated; use spark.apache.org/v1"
// +kubebuilder:printcolumn:JSONPath=.status.currentState.currentStateSummary,name=Current State,type=string
// +kubebuilder:printcolumn:JSONPath=.metadata.creationTimestamp,name=Age,type=date
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
}

// SparkApplicationSpec is the desired application.
type SparkApplicationSpec struct {
	// SparkConf is the Spark configuration. {{SPARK_VERSION}} in images stands for the Spark version.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// MainClass is the class with the main method.
	// +optional
	MainClass string `json:"mainClass,omitempty"`
	// RuntimeVersions are the versions in the image.
	// +required
	RuntimeVersions v1.RuntimeVersions `json:"runtimeVersions"`
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
	DeploymentMode v1.DeploymentMode `json:"deploymentMode,omitempty"`
	// ProxyUser is the user that Spark impersonates.
	// +optional
	ProxyUser string `json:"proxyUser,omitempty"`
	// DriverArgs are the arguments of the application.
	// +optional
	DriverArgs []string `json:"driverArgs,omitempty"`
	// DriverSpec configures the driver pod.
	// +optional
	DriverSpec *v1.RoleSpec `json:"driverSpec,omitempty"`
	// ExecutorSpec configures the executor pods.
	// +optional
	ExecutorSpec *v1.RoleSpec `json:"executorSpec,omitempty"`
	// DriverServiceIngressList are Services of the driver, each with an Ingress.
	// +optional
	DriverServiceIngressList []v1.DriverServiceIngress `json:"driverServiceIngressList,omitempty"`
	// ConfigMapSpecs are ConfigMaps that are created for the application.
	// +optional
	ConfigMapSpecs []v1.ConfigMapSpec `json:"configMapSpecs,omitempty"`
	// ApplicationTolerations configure restarts, timeouts and retention.
	// +optional
	ApplicationTolerations *ApplicationTolerations `json:"applicationTolerations,omitempty"`
}

// ApplicationTolerations configure restarts, timeouts and retention of an application.
type ApplicationTolerations struct {
	// RestartConfig configures restarts of the application.
	// +optional
	RestartConfig *RestartConfig `json:"restartConfig,omitempty"`
	// ApplicationTimeoutConfig bounds the stages of an attempt.
	// +optional
	ApplicationTimeoutConfig *v1.ApplicationTimeoutConfig `json:"applicationTimeoutConfig,omitempty"`
	// InstanceConfig has the number of executors of a healthy application.
	// +optional
	InstanceConfig *v1.InstanceConfig `json:"instanceConfig,omitempty"`
	// ResourceRetainPolicy is the outcome after which the driver pod and its objects are kept; Never by default.
	// +optional
	ResourceRetainPolicy v1.ResourceRetainPolicy `json:"resourceRetainPolicy,omitempty"`
}

// RestartConfig configures restarts of an application.
type RestartConfig struct {
	// RestartPolicy is the outcome after which the application restarts; Never by default.
	// +optional
	RestartPolicy v1.RestartPolicy `json:"restartPolicy,omitempty"`
	// MaxRestartAttempts limits all restarts; 3 by default.
	// +optional
	MaxRestartAttempts *int64 `json:"maxRestartAttempts,omitempty"`
	// RestartBackoffMillis is the wait before a restart; 30000 by default.
	// +optional
	RestartBackoffMillis *int64 `json:"restartBackoffMillis,omitempty"`
}
