/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v1beta2

// Labels that the operator sets.
const (
	// LabelAppName holds the name of the SparkApplication.
	LabelAppName = "sparkoperator.k8s.io/app-name"
	// LabelScheduledAppName holds the name of the ScheduledSparkApplication that created an application.
	LabelScheduledAppName = "sparkoperator.k8s.io/scheduled-app-name"
	// LabelConnectName holds the name of the SparkConnect.
	LabelConnectName = "sparkoperator.k8s.io/connect-name"
	// LabelLaunchedBy marks the pods of applications and the driver's PodDisruptionBudget.
	LabelLaunchedBy = "sparkoperator.k8s.io/launched-by-spark-operator"
	// LabelCreatedBy marks the operator's ConfigMaps and Services.
	LabelCreatedBy = "sparkoperator.k8s.io/created-by-spark-operator"
	// LabelMutatedBy marks pods that were completed without a pod template of the user.
	LabelMutatedBy = "sparkoperator.k8s.io/mutated-by-spark-operator"
	// LabelSubmissionID holds status.submissionID.
	LabelSubmissionID = "sparkoperator.k8s.io/submission-id"
	// LabelValueTrue is the value of the labels that only mark.
	LabelValueTrue = "true"
)

// KueueLabelPrefix starts the labels that stay on the SparkApplication and are not copied to its pods.
const KueueLabelPrefix = "kueue.x-k8s.io/"

// Labels that Spark sets.
const (
	// LabelSparkRole holds one of the SparkRole constants.
	LabelSparkRole = "spark-role"
	// LabelSparkAppID holds status.sparkApplicationId.
	LabelSparkAppID = "spark-app-selector"
	// LabelSparkExecutorID holds the number of an executor.
	LabelSparkExecutorID = "spark-exec-id"
	// LabelSparkVersion holds the Spark version.
	LabelSparkVersion = "spark-version"

	SparkRoleDriver        = "driver"
	SparkRoleExecutor      = "executor"
	SparkRoleConnectServer = "connect-server"
)

// Names of the Spark containers.
const (
	DriverContainerName   = "spark-kubernetes-driver"
	ExecutorContainerName = "spark-kubernetes-executor"
	// Spark2ExecutorContainerName is the name before Spark 3.0.
	Spark2ExecutorContainerName = "executor"
)

// Ends of the names of an application's objects. They follow the application's name; Services and Ingresses over 63
// characters are cut and hashed.
const (
	DriverPodSuffix = "-driver"
	UIServiceSuffix = "-ui-svc"
	UIIngressSuffix = "-ui-ingress"
	// DriverIngressServiceInfix and DriverIngressInfix stand between the application's name and a port number.
	DriverIngressServiceInfix = "-driver-"
	DriverIngressInfix        = "-ing-"
	MetricsConfigMapSuffix    = "-prom-conf"
)

// Volumes in the Spark pods and where they are mounted.
const (
	// SparkLocalDirVolumePrefix starts the names of volumes that Spark uses as scratch space.
	SparkLocalDirVolumePrefix = "spark-local-dir-"

	SparkConfigMapVolumeName  = "spark-configmap-volume"
	HadoopConfigMapVolumeName = "hadoop-configmap-volume"
	// ConfigMapVolumeSuffix follows the name of a mounted ConfigMap, also of the metrics ConfigMap.
	ConfigMapVolumeSuffix = "-vol"

	SparkConfDir         = "/etc/spark/conf"
	HadoopConfDir        = "/etc/hadoop/conf"
	MetricsConfDir       = "/etc/metrics/conf"
	MetricsPropertiesKey = "metrics.properties"
	PrometheusConfigKey  = "prometheus.yaml"
)

// Environment variables in the Spark containers, and the files in a mounted Secret that they point at.
const (
	EnvSparkConfDir                 = "SPARK_CONF_DIR"
	EnvHadoopConfDir                = "HADOOP_CONF_DIR"
	EnvGoogleApplicationCredentials = "GOOGLE_APPLICATION_CREDENTIALS"
	EnvHadoopTokenFileLocation      = "HADOOP_TOKEN_FILE_LOCATION"

	GCPServiceAccountKeyFile  = "key.json"
	HadoopDelegationTokenFile = "hadoop.token"
)
