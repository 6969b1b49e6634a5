// SPDX-License-Identifier: Apache-2.0

package v1beta2

import corev1 "k8s.io/api/core/v1"

// SecretType is how Spark containers find a mounted Secret.
type SecretType string

// Secret types with a meaning. The schema accepts any text, and any other text counts as Generic.
const (
	// SecretTypeGCPServiceAccount sets GOOGLE_APPLICATION_CREDENTIALS.
	SecretTypeGCPServiceAccount SecretType = "GCPServiceAccount"
	// SecretTypeHadoopDelegationToken sets HADOOP_TOKEN_FILE_LOCATION.
	SecretTypeHadoopDelegationToken SecretType = "HadoopDelegationToken"
	// SecretTypeGeneric is only mounted.
	SecretTypeGeneric SecretType = "Generic"
)

// SparkPodSpec has the fields of driver and executors.
type SparkPodSpec struct {
	// Template is the pod template; the other fields override it. It needs Spark 3.0 or later.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	// Cores is the number of task slots, and of requested CPUs unless coreRequest is set.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Cores *int32 `json:"cores,omitempty"`
	// CoreLimit is the CPU limit, as a Kubernetes quantity.
	// +optional
	CoreLimit *string `json:"coreLimit,omitempty"`
	// Memory of the JVM heap in Java units, such as 512m or 4g.
	// +optional
	Memory *string `json:"memory,omitempty"`
	// MemoryLimit is the memory limit of the container, in Java units or as a Kubernetes quantity.
	// +optional
	MemoryLimit *string `json:"memoryLimit,omitempty"`
	// MemoryOverhead is the memory outside the heap, in Java units such as 512m.
	// +optional
	MemoryOverhead *string `json:"memoryOverhead,omitempty"`
	// GPU requests GPUs.
	// +optional
	GPU *GPUSpec `json:"gpu,omitempty"`
	// Image of this role.
	// +optional
	Image *string `json:"image,omitempty"`
	// ConfigMaps to mount.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	ConfigMaps []NamePath `json:"configMaps,omitempty"`
	// Secrets to mount.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Secrets []SecretInfo `json:"secrets,omitempty"`
	// Env are environment variables of the Spark container.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvVars are environment variables of the Spark container. Deprecated: use env.
	// +optional
	EnvVars map[string]string `json:"envVars,omitempty"`
	// EnvFrom are sources of environment variables of the Spark container.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=100
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// EnvSecretKeyRefs are environment variables with values from Secrets. Deprecated: use env.
	// +optional
	EnvSecretKeyRefs map[string]NameKey `json:"envSecretKeyRefs,omitempty"`
	// Labels of the pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// VolumeMounts of the Spark container; each names one of spec.volumes.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=256
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Affinity of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Tolerations of the pods.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PodSecurityContext of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// SecurityContext of the Spark container.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// SchedulerName of the pods; spec.batchScheduler overrides it.
	// +optional
	SchedulerName *string `json:"schedulerName,omitempty"`
	// Sidecars are additional containers of the pods.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Sidecars []corev1.Container `json:"sidecars,omitempty"`
	// InitContainers of the pods.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=32
	// +optional
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// HostNetwork runs the pods in the network of the node.
	// +optional
	HostNetwork *bool `json:"hostNetwork,omitempty"`
	// NodeSelector of the pods; not together with spec.nodeSelector.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// DNSConfig of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	// TerminationGracePeriodSeconds is the grace period of the pods.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// ServiceAccount is the ServiceAccount of the pods.
	// +optional
	ServiceAccount *string `json:"serviceAccount,omitempty"`
	// HostAliases are additional entries of the pods' hosts file.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=256
	// +optional
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`
	// ShareProcessNamespace lets the containers of a pod see each other's processes.
	// +optional
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty"`
}

// DriverSpec configures the driver pod.
type DriverSpec struct {
	SparkPodSpec `json:",inline"`

	// PodName is the name of the driver pod; <application>-driver by default.
	//
	// The pattern is unanchored: the schema of existing manifests required only one such character.
	// +kubebuilder:validation:Pattern=`[a-z0-9]`
	// +optional
	PodName *string `json:"podName,omitempty"`
	// CoreRequest is the CPU request, as a Kubernetes quantity.
	// +optional
	CoreRequest *string `json:"coreRequest,omitempty"`
	// JavaOptions are additional options of the driver's JVM.
	// +optional
	JavaOptions *string `json:"javaOptions,omitempty"`
	// Lifecycle hooks of the Spark container.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`
	// KubernetesMaster is the driver's URL of the API server.
	// +optional
	KubernetesMaster *string `json:"kubernetesMaster,omitempty"`
	// ServiceAnnotations of the driver's headless Service.
	// +optional
	ServiceAnnotations map[string]string `json:"serviceAnnotations,omitempty"`
	// ServiceLabels of the driver's headless Service.
	// +optional
	ServiceLabels map[string]string `json:"serviceLabels,omitempty"`
	// Ports are additional ports of the Spark container.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Ports []Port `json:"ports,omitempty"`
	// PriorityClassName of the pod.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
}

// ExecutorSpec configures the executor pods.
type ExecutorSpec struct {
	SparkPodSpec `json:",inline"`

	// Instances is the number of executors.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Instances *int32 `json:"instances,omitempty"`
	// CoreRequest is the CPU request, as a Kubernetes quantity.
	// +optional
	CoreRequest *string `json:"coreRequest,omitempty"`
	// JavaOptions are additional options of the executors' JVM.
	// +optional
	JavaOptions *string `json:"javaOptions,omitempty"`
	// Lifecycle hooks of the Spark container.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`
	// DeleteOnTermination makes Spark delete ended executor pods.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// Ports are additional ports of the Spark container.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Ports []Port `json:"ports,omitempty"`
	// PriorityClassName of the pods.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
}

// NamePath is a named object with its mount path.
type NamePath struct {
	// Name of the object.
	// +required
	Name string `json:"name"`
	// Path is the mount path.
	// +required
	Path string `json:"path"`
}

// SecretInfo is a Secret with its mount path.
type SecretInfo struct {
	// Name of the Secret.
	// +required
	Name string `json:"name"`
	// Path is the mount path.
	// +required
	Path string `json:"path"`
	// SecretType is GCPServiceAccount, HadoopDelegationToken or Generic.
	// +required
	SecretType SecretType `json:"secretType"`
}

// NameKey is a key of a Secret.
type NameKey struct {
	// Name of the Secret.
	// +required
	Name string `json:"name"`
	// Key in the Secret.
	// +required
	Key string `json:"key"`
}

// Port is a port of the Spark container.
type Port struct {
	// Name of the port.
	// +required
	Name string `json:"name"`
	// Protocol of the port, such as TCP.
	// +required
	Protocol string `json:"protocol"`
	// ContainerPort is the port's number.
	// +required
	ContainerPort int32 `json:"containerPort"`
}

// GPUSpec requests GPUs.
type GPUSpec struct {
	// Name of the resource, such as nvidia.com/gpu.
	// +required
	Name string `json:"name"`
	// Quantity is the number of GPUs per pod.
	// +required
	Quantity int64 `json:"quantity"`
}
