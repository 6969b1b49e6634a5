// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ApplicationType is the language of an application.
//
// +kubebuilder:validation:Enum=Java;Python;Scala;R
type ApplicationType string

// Application types.
const (
	ApplicationTypeJava   ApplicationType = "Java"
	ApplicationTypeScala  ApplicationType = "Scala"
	ApplicationTypePython ApplicationType = "Python"
	ApplicationTypeR      ApplicationType = "R"
)

// DeployMode says where the driver runs.
//
// +kubebuilder:validation:Enum=cluster;client
type DeployMode string

// Deploy modes that the schema accepts.
const (
	DeployModeCluster DeployMode = "cluster"
	DeployModeClient  DeployMode = "client"
)

// RestartPolicyType says after which outcome an application runs again.
//
// +kubebuilder:validation:Enum=Never;Always;OnFailure
type RestartPolicyType string

// Restart policies.
const (
	RestartPolicyNever     RestartPolicyType = "Never"
	RestartPolicyAlways    RestartPolicyType = "Always"
	RestartPolicyOnFailure RestartPolicyType = "OnFailure"
)

// SparkApplication is a Spark job: a driver and its executors.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sparkapp,singular=sparkapplication,categories=spark
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubeflow/spark-operator/pull/1298"
// +kubebuilder:printcolumn:JSONPath=.spec.suspend,name=Suspend,type=boolean
// +kubebuilder:printcolumn:JSONPath=.status.applicationState.state,name=Status,type=string
// +kubebuilder:printcolumn:JSONPath=.status.executionAttempts,name=Attempts,type=string
// +kubebuilder:printcolumn:JSONPath=.status.lastSubmissionAttemptTime,name=Start,type=string
// +kubebuilder:printcolumn:JSONPath=.status.terminationTime,name=Finish,type=string
// +kubebuilder:printcolumn:JSONPath=.metadata.creationTimestamp,name=Age,type=date
// +kubebuilder:printcolumn:JSONPath=.status.scheduling.queue,name=Queue,type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`,name=Reason,type=string,priority=1
type SparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// +required
	metav1.ObjectMeta `json:"metadata"`

	// Spec is what the user wants to run.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",fieldPath=".managedBy",message="cannot be changed; delete the application and create it again"
	Spec SparkApplicationSpec `json:"spec"`
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

// ManagedByThisOperator is the value of spec.managedBy that means this operator.
const ManagedByThisOperator = "sparkoperator.k8s.io/spark-operator"

// SparkApplicationSpec is what the user wants to run.
type SparkApplicationSpec struct {
	// Suspend stops a running application and holds back a new one until it is false again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// ManagedBy is the controller that runs the application: sparkoperator.k8s.io/spark-operator, which is this operator and the default, or
	// kueue.x-k8s.io/multikueue, which runs it in another cluster. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=sparkoperator.k8s.io/spark-operator;kueue.x-k8s.io/multikueue
	ManagedBy *string `json:"managedBy,omitempty"`
	// Type is the language of the application.
	// +required
	Type ApplicationType `json:"type"`
	// SparkVersion is the Spark version in the image, such as 4.1.4.
	// +required
	SparkVersion string `json:"sparkVersion"`
	// Mode says where the driver runs; cluster by default.
	// +optional
	Mode DeployMode `json:"mode,omitempty"`
	// ProxyUser is the user that Spark impersonates.
	// +optional
	ProxyUser *string `json:"proxyUser,omitempty"`
	// Image of driver and executors, unless a role names its own.
	// +optional
	Image *string `json:"image,omitempty"`
	// ImagePullPolicy of the Spark containers: Always, IfNotPresent or Never.
	// +optional
	ImagePullPolicy *string `json:"imagePullPolicy,omitempty"`
	// ImagePullSecrets are names of Secrets for pulling the images.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	// MainClass is the class with the main method of a Java or Scala application.
	// +optional
	MainClass *string `json:"mainClass,omitempty"`
	// MainApplicationFile is the jar, .py or .R file to run, as path or URL (local:// for a file in the image).
	// +required
	MainApplicationFile *string `json:"mainApplicationFile"`
	// Arguments of the application.
	// +optional
	Arguments []string `json:"arguments,omitempty"`
	// SparkConf holds Spark properties.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// HadoopConf holds Hadoop properties, without the prefix spark.hadoop.
	// +optional
	HadoopConf map[string]string `json:"hadoopConf,omitempty"`
	// SparkConfigMap names a ConfigMap that is mounted as SPARK_CONF_DIR.
	// +optional
	SparkConfigMap *string `json:"sparkConfigMap,omitempty"`
	// HadoopConfigMap names a ConfigMap that is mounted as HADOOP_CONF_DIR.
	// +optional
	HadoopConfigMap *string `json:"hadoopConfigMap,omitempty"`
	// Volumes that the roles may mount; the prefix spark-local-dir- marks Spark scratch space.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=256
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Driver describes the driver pod.
	// +required
	Driver DriverSpec `json:"driver"`
	// Executor describes the executor pods.
	// +required
	Executor ExecutorSpec `json:"executor"`
	// Deps are files and packages that the application needs.
	// +optional
	Deps Dependencies `json:"deps,omitzero"`
	// RestartPolicy says when the application runs again; never by default.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitzero"`
	// Deadlines bound the stages of an attempt.
	// +optional
	Deadlines *Deadlines `json:"deadlines,omitempty"`
	// Retention says what is kept of a finished application, and how long.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
	// LogTails says whether the end of a failed driver's log, and its cause from there, are stored in the status: Enabled (default) or
	// Disabled.
	// +optional
	LogTails LogTailPolicy `json:"logTails,omitempty"`
	// NodeSelector of driver and executors; not together with the nodeSelector of a role.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// FailureRetries is accepted and has no effect; use restartPolicy.onFailureRetries.
	// +optional
	FailureRetries *int32 `json:"failureRetries,omitempty"`
	// RetryInterval is accepted and has no effect; use restartPolicy.onFailureRetryInterval.
	// +optional
	RetryInterval *int64 `json:"retryInterval,omitempty"`
	// PythonVersion is the major Python version of a Python application.
	// +kubebuilder:validation:Enum={"2","3"}
	// +optional
	PythonVersion *string `json:"pythonVersion,omitempty"`
	// MemoryOverheadFactor is the part of the memory that is added for non-JVM use, such as 0.1.
	// +optional
	MemoryOverheadFactor *string `json:"memoryOverheadFactor,omitempty"`
	// Monitoring says which metrics the pods expose.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
	// BatchScheduler names the batch scheduler of the pods.
	// +optional
	BatchScheduler *string `json:"batchScheduler,omitempty"`
	// BatchSchedulerOptions are passed to the batch scheduler.
	// +optional
	BatchSchedulerOptions *BatchSchedulerConfiguration `json:"batchSchedulerOptions,omitempty"`
	// TimeToLiveSeconds is how long a finished application is kept, in seconds.
	// +optional
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
	// SparkUIOptions describe the Service and Ingress of the Spark UI.
	// +optional
	SparkUIOptions *SparkUIConfiguration `json:"sparkUIOptions,omitempty"`
	// DriverIngressOptions describe further Services and Ingresses of the driver.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	DriverIngressOptions []DriverIngressConfiguration `json:"driverIngressOptions,omitempty"`
	// DynamicAllocation lets Spark change the number of executors.
	// +optional
	DynamicAllocation *DynamicAllocation `json:"dynamicAllocation,omitempty"`
	// DriverPodDisruptionBudget protects the driver pod from voluntary evictions.
	// +optional
	DriverPodDisruptionBudget *bool `json:"driverPodDisruptionBudget,omitempty"`
}

// Dependencies are files and packages that an application needs.
type Dependencies struct {
	// Jars are paths or URLs of jars for driver and executors.
	// +optional
	Jars []string `json:"jars,omitempty"`
	// Files are paths or URLs of files for the working directory of driver and executors.
	// +optional
	Files []string `json:"files,omitempty"`
	// PyFiles are paths or URLs of .py, .zip or .egg files for the Python path.
	// +optional
	PyFiles []string `json:"pyFiles,omitempty"`
	// Packages are Maven coordinates, group:artifact:version.
	// +optional
	Packages []string `json:"packages,omitempty"`
	// ExcludePackages are group:artifact pairs that packages must not bring in.
	// +optional
	ExcludePackages []string `json:"excludePackages,omitempty"`
	// Repositories are URLs of further Maven repositories.
	// +optional
	Repositories []string `json:"repositories,omitempty"`
	// Archives are paths or URLs of archives that are unpacked in the executors' working directory.
	// +optional
	Archives []string `json:"archives,omitempty"`
}

// DynamicAllocation lets Spark change the number of executors while it runs.
type DynamicAllocation struct {
	// Enabled turns dynamic allocation on.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// InitialExecutors is the number of executors at the start.
	// +optional
	InitialExecutors *int32 `json:"initialExecutors,omitempty"`
	// MinExecutors is the lowest number of executors.
	// +optional
	MinExecutors *int32 `json:"minExecutors,omitempty"`
	// MaxExecutors is the highest number of executors.
	// +optional
	MaxExecutors *int32 `json:"maxExecutors,omitempty"`
	// ShuffleTrackingEnabled keeps executors with shuffle data, so that no shuffle service is needed.
	// +optional
	ShuffleTrackingEnabled *bool `json:"shuffleTrackingEnabled,omitempty"`
	// ShuffleTrackingTimeout is how long an executor with shuffle data is kept, in milliseconds.
	// +optional
	ShuffleTrackingTimeout *int64 `json:"shuffleTrackingTimeout,omitempty"`
}

// BatchSchedulerConfiguration is passed to the batch scheduler.
type BatchSchedulerConfiguration struct {
	// Queue of the application.
	// +optional
	Queue *string `json:"queue,omitempty"`
	// PriorityClassName of the pod group.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
	// Resources that the pod group needs at least, instead of the computed sum.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Parameters are the scheduler plugin's own options.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`
	// OnEviction says what becomes of an application whose driver the scheduler takes down: Requeue, by default, or Fail. With the
	// restart policy Never a driver that has started is only requeued if this or maxEvictions is set.
	// +optional
	OnEviction EvictionPolicy `json:"onEviction,omitempty"`
	// MaxEvictions is how often it is requeued; 3 by default.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxEvictions *int32 `json:"maxEvictions,omitempty"`
}

// EvictionPolicy says what becomes of an application whose driver its scheduler takes down.
//
// +kubebuilder:validation:Enum=Requeue;Fail
type EvictionPolicy string

// Eviction policies.
const (
	EvictionPolicyRequeue EvictionPolicy = "Requeue"
	EvictionPolicyFail    EvictionPolicy = "Fail"
)
