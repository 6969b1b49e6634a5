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

// Deploy modes of the schema.
const (
	DeployModeCluster DeployMode = "cluster"
	DeployModeClient  DeployMode = "client"
)

// RestartPolicyType is the outcome after which an application restarts.
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

	// Spec is the desired application.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",fieldPath=".managedBy",message="cannot be changed; delete the application and create it again"
	Spec SparkApplicationSpec `json:"spec"`
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

// ManagedByThisOperator is the value of spec.managedBy for this operator.
const ManagedByThisOperator = "sparkoperator.k8s.io/spark-operator"

// SparkApplicationSpec is the desired application.
type SparkApplicationSpec struct {
	// Suspend stops a running application and holds back a new one while it is true.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// ManagedBy is the controller of the application: sparkoperator.k8s.io/spark-operator (this operator, the default), or
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
	// Image of driver and executors; a role may override it.
	// +optional
	Image *string `json:"image,omitempty"`
	// ImagePullPolicy of the Spark containers: Always, IfNotPresent or Never.
	// +optional
	ImagePullPolicy *string `json:"imagePullPolicy,omitempty"`
	// ImagePullSecrets are Secrets for pulling the images.
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
	// Volumes that the roles can mount; the prefix spark-local-dir- marks Spark scratch space.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=256
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Driver configures the driver pod.
	// +required
	Driver DriverSpec `json:"driver"`
	// Executor configures the executor pods.
	// +required
	Executor ExecutorSpec `json:"executor"`
	// Deps are files and packages that the application needs.
	// +optional
	Deps Dependencies `json:"deps,omitzero"`
	// RestartPolicy configures restarts; Never by default.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitzero"`
	// Deadlines bound the stages of an attempt.
	// +optional
	Deadlines *Deadlines `json:"deadlines,omitempty"`
	// Retention configures how long parts of a finished application are kept.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
	// LogTails controls whether the end of a failed driver's log, and the cause found in it, are stored in the status: Enabled
	// (default) or Disabled.
	// +optional
	LogTails LogTailPolicy `json:"logTails,omitempty"`
	// NodeSelector of driver and executors; not together with the nodeSelector of a role.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// FailureRetries has no effect; use restartPolicy.onFailureRetries.
	// +optional
	FailureRetries *int32 `json:"failureRetries,omitempty"`
	// RetryInterval has no effect; use restartPolicy.onFailureRetryInterval.
	// +optional
	RetryInterval *int64 `json:"retryInterval,omitempty"`
	// PythonVersion is the major Python version of a Python application.
	// +kubebuilder:validation:Enum={"2","3"}
	// +optional
	PythonVersion *string `json:"pythonVersion,omitempty"`
	// MemoryOverheadFactor is the fraction of memory added for non-JVM use, such as 0.1.
	// +optional
	MemoryOverheadFactor *string `json:"memoryOverheadFactor,omitempty"`
	// Monitoring configures the metrics of the pods.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
	// BatchScheduler names the batch scheduler of the pods.
	// +optional
	BatchScheduler *string `json:"batchScheduler,omitempty"`
	// BatchSchedulerOptions are passed to the batch scheduler.
	// +optional
	BatchSchedulerOptions *BatchSchedulerConfiguration `json:"batchSchedulerOptions,omitempty"`
	// TimeToLiveSeconds is how long a finished application is kept.
	// +optional
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
	// SparkUIOptions configure the Service and the Ingress of the Spark UI.
	// +optional
	SparkUIOptions *SparkUIConfiguration `json:"sparkUIOptions,omitempty"`
	// DriverIngressOptions configure additional Services and Ingresses of the driver.
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
	// ExcludePackages are group:artifact pairs that are excluded from the dependencies of packages.
	// +optional
	ExcludePackages []string `json:"excludePackages,omitempty"`
	// Repositories are URLs of additional Maven repositories.
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
	// MinExecutors is the minimum number of executors.
	// +optional
	MinExecutors *int32 `json:"minExecutors,omitempty"`
	// MaxExecutors is the maximum number of executors.
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
	// Resources are requested for the pod group where they are more than the sum of its pods, within the limits of a policy of the operator.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Parameters are options of the scheduler plugin.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`
	// OnEviction controls an application whose driver the scheduler evicts: Requeue (the default) or Fail. With the restart
	// policy Never, a driver that has started is requeued only if this or maxEvictions is set.
	// +optional
	OnEviction EvictionPolicy `json:"onEviction,omitempty"`
	// MaxEvictions limits the requeues; 3 by default.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxEvictions *int32 `json:"maxEvictions,omitempty"`
}

// EvictionPolicy controls an application whose driver its scheduler evicts.
//
// +kubebuilder:validation:Enum=Requeue;Fail
type EvictionPolicy string

// Eviction policies.
const (
	EvictionPolicyRequeue EvictionPolicy = "Requeue"
	EvictionPolicyFail    EvictionPolicy = "Fail"
)
