// SPDX-License-Identifier: Apache-2.0

package spark

// Names of Spark's containers if a template does not name them.
const (
	DriverContainerName   = "spark-kubernetes-driver"
	ExecutorContainerName = "spark-kubernetes-executor"
)

// Labels that Spark sets on its pods, and the two values of the role.
const (
	LabelAppSelector = "spark-app-selector"
	LabelAppName     = "spark-app-name"
	LabelRole        = "spark-role"
	LabelVersion     = "spark-version"
	LabelExecID      = "spark-exec-id"

	RoleDriver   = "driver"
	RoleExecutor = "executor"
)

// NoResource is the primary resource of an application whose classes are all in the image.
const NoResource = "spark-internal"

// Names of the ports of the driver pod and of its service.
const (
	PortDriverRPC    = "driver-rpc-port"
	PortBlockManager = "blockmanager"
	PortUI           = "spark-ui"
	PortConnect      = "spark-connect"
)

// Configuration keys that other packages use, too.
const (
	ConfMaster             = "spark.master"
	ConfDeployMode         = "spark.submit.deployMode"
	ConfAppName            = "spark.app.name"
	ConfAppID              = "spark.app.id"
	ConfSubmitTime         = "spark.app.submitTime"
	ConfJars               = "spark.jars"
	ConfFiles              = "spark.files"
	ConfArchives           = "spark.archives"
	ConfPyFiles            = "spark.submit.pyFiles"
	ConfPackages           = "spark.jars.packages"
	ConfExcludePackages    = "spark.jars.excludes"
	ConfRepositories       = "spark.jars.repositories"
	ConfDriverHost         = "spark.driver.host"
	ConfDriverPort         = "spark.driver.port"
	ConfDriverBlockPort    = "spark.driver.blockManager.port"
	ConfBlockManagerPort   = "spark.blockManager.port"
	ConfUIPort             = "spark.ui.port"
	ConfStreamingUIEnabled = "spark.sql.streaming.ui.enabled"
	ConfUIEnabled          = "spark.ui.enabled"
	ConfUIProxyBase        = "spark.ui.proxyBase"
	ConfUIProxyRedirect    = "spark.ui.proxyRedirectUri"
	ConfEventLog           = "spark.eventLog.enabled"
	ConfConnectPort        = "spark.connect.grpc.binding.port"
	ConfDriverMemory       = "spark.driver.memory"
	ConfDriverCores        = "spark.driver.cores"
	ConfExecutorMemory     = "spark.executor.memory"
	ConfExecutorCores      = "spark.executor.cores"
	ConfExecutorInstances  = "spark.executor.instances"

	ConfDriverMemoryOverhead         = "spark.driver.memoryOverhead"
	ConfDriverMemoryOverheadFactor   = "spark.driver.memoryOverheadFactor"
	ConfDriverMinMemoryOverhead      = "spark.driver.minMemoryOverhead"
	ConfExecutorMemoryOverhead       = "spark.executor.memoryOverhead"
	ConfExecutorMemoryOverheadFactor = "spark.executor.memoryOverheadFactor"
	ConfExecutorMinMemoryOverhead    = "spark.executor.minMemoryOverhead"
	ConfExecutorPySparkMemory        = "spark.executor.pyspark.memory"
	ConfOffHeapEnabled               = "spark.memory.offHeap.enabled"
	ConfOffHeapSize                  = "spark.memory.offHeap.size"

	ConfDynamicAllocation = "spark.dynamicAllocation.enabled"
	ConfMinExecutors      = "spark.dynamicAllocation.minExecutors"
	ConfInitialExecutors  = "spark.dynamicAllocation.initialExecutors"
	ConfMaxExecutors      = "spark.dynamicAllocation.maxExecutors"

	// The allocation of Spark Streaming, which excludes the other one.
	ConfStreamingAllocation   = "spark.streaming.dynamicAllocation.enabled"
	ConfStreamingMaxExecutors = "spark.streaming.dynamicAllocation.maxExecutors"

	ConfNamespace               = "spark.kubernetes.namespace"
	ConfImage                   = "spark.kubernetes.container.image"
	ConfDriverImage             = "spark.kubernetes.driver.container.image"
	ConfExecutorImage           = "spark.kubernetes.executor.container.image"
	ConfImagePullPolicy         = "spark.kubernetes.container.image.pullPolicy"
	ConfImagePullSecrets        = "spark.kubernetes.container.image.pullSecrets"
	ConfDriverPodName           = "spark.kubernetes.driver.pod.name"
	ConfExecutorPodNamePrefix   = "spark.kubernetes.executor.podNamePrefix"
	ConfDriverRequestCores      = "spark.kubernetes.driver.request.cores"
	ConfDriverLimitCores        = "spark.kubernetes.driver.limit.cores"
	ConfExecutorRequestCores    = "spark.kubernetes.executor.request.cores"
	ConfExecutorLimitCores      = "spark.kubernetes.executor.limit.cores"
	ConfMemoryOverheadFactor    = "spark.kubernetes.memoryOverheadFactor"
	ConfExecutorGrace           = "spark.kubernetes.executor.terminationGracePeriodSeconds"
	ConfDriverServiceAccount    = "spark.kubernetes.authenticate.driver.serviceAccountName"
	ConfExecutorServiceAccount  = "spark.kubernetes.authenticate.executor.serviceAccountName"
	ConfSchedulerName           = "spark.kubernetes.scheduler.name"
	ConfDriverSchedulerName     = "spark.kubernetes.driver.scheduler.name"
	ConfExecutorSchedulerName   = "spark.kubernetes.executor.scheduler.name"
	ConfDriverTemplateFile      = "spark.kubernetes.driver.podTemplateFile"
	ConfDriverTemplateContainer = "spark.kubernetes.driver.podTemplateContainerName"
	ConfExecTemplateFile        = "spark.kubernetes.executor.podTemplateFile"
	ConfExecTemplateContainer   = "spark.kubernetes.executor.podTemplateContainerName"
	ConfUploadPath              = "spark.kubernetes.file.upload.path"
	ConfPodGroupJSON            = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"

	ConfDriverLabelPrefix          = "spark.kubernetes.driver.label."
	ConfDriverAnnotationPrefix     = "spark.kubernetes.driver.annotation."
	ConfExecutorLabelPrefix        = "spark.kubernetes.executor.label."
	ConfExecutorAnnotationPrefix   = "spark.kubernetes.executor.annotation."
	ConfServiceLabelPrefix         = "spark.kubernetes.driver.service.label."
	ConfServiceAnnotationPrefix    = "spark.kubernetes.driver.service.annotation."
	ConfDriverEnvPrefix            = "spark.kubernetes.driverEnv."
	ConfExecutorEnvPrefix          = "spark.executorEnv."
	ConfNodeSelectorPrefix         = "spark.kubernetes.node.selector."
	ConfDriverNodeSelectorPrefix   = "spark.kubernetes.driver.node.selector."
	ConfExecutorNodeSelectorPrefix = "spark.kubernetes.executor.node.selector."
	ConfDriverSecretsPrefix        = "spark.kubernetes.driver.secrets."
	ConfDriverSecretKeyRefPrefix   = "spark.kubernetes.driver.secretKeyRef."
	ConfDriverVolumesPrefix        = "spark.kubernetes.driver.volumes."
	ConfExecutorVolumesPrefix      = "spark.kubernetes.executor.volumes."
	ConfDriverResourcePrefix       = "spark.driver.resource."
	ConfExecutorResourcePrefix     = "spark.executor.resource."
)

// Configuration keys that only this package uses.
const (
	confMaxPendingPods = "spark.kubernetes.allocation.maxPendingPods"

	confBindAddress        = "spark.driver.bindAddress"
	confResourceType       = "spark.kubernetes.resource.type"
	confSubmitInDriver     = "spark.kubernetes.submitInDriver"
	confDriverMaster       = "spark.kubernetes.driver.master"
	confExcludedSteps      = "spark.kubernetes.driver.pod.excludedFeatureSteps"
	confFeatureSteps       = "spark.kubernetes.driver.pod.featureSteps"
	confIPFamilyPolicy     = "spark.kubernetes.driver.service.ipFamilyPolicy"
	confIPFamilies         = "spark.kubernetes.driver.service.ipFamilies"
	confPublishNotReady    = "spark.kubernetes.driver.service.publishNotReadyAddresses"
	confKeepService        = "spark.kubernetes.driver.service.deleteOnTermination"
	confConnectToken       = "spark.connect.authenticate.token"
	confPrivilege          = "spark.kubernetes.securityContext.allowPrivilegeEscalation"
	confDriverPrivilege    = "spark.kubernetes.driver.securityContext.allowPrivilegeEscalation"
	confExecutorPrivilege  = "spark.kubernetes.executor.securityContext.allowPrivilegeEscalation"
	confReadWriteOnce      = "spark.kubernetes.legacy.useReadWriteOnceAccessMode"
	confHadoopMap          = "spark.kubernetes.hadoop.configMapName"
	confExecutorHadoopMap  = "spark.kubernetes.executor.hadoopConfigMapName"
	confKrb5Path           = "spark.kubernetes.kerberos.krb5.path"
	confKrb5Map            = "spark.kubernetes.kerberos.krb5.configMapName"
	confKeytab             = "spark.kerberos.keytab"
	confPrincipal          = "spark.kerberos.principal"
	confTokenSecretName    = "spark.kubernetes.kerberos.tokenSecret.name"
	confTokenSecretItemKey = "spark.kubernetes.kerberos.tokenSecret.itemKey"
	confTmpfs              = "spark.kubernetes.local.dirs.tmpfs"
	confLocalDir           = "spark.local.dir"
	confMapMaxSize         = "spark.kubernetes.configMap.maxSize"
	confPython             = "spark.pyspark.python"
	confDriverPython       = "spark.pyspark.driver.python"
	confPythonVersion      = "spark.kubernetes.pyspark.pythonVersion"
	confDriverCredentials  = "spark.kubernetes.authenticate.driver."
	confMountedCredentials = "spark.kubernetes.authenticate.driver.mounted."
	confJavaOptions        = "spark.driver.extraJavaOptions"
	confDefaultJavaOptions = "spark.driver.defaultJavaOptions"
	confPodGroupFile       = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
)

// Paths inside of the pods.
const (
	confDirInPod         = "/opt/spark/conf"
	propertiesFile       = "spark.properties"
	propertiesPathInPod  = confDirInPod + "/" + propertiesFile
	hadoopConfDirInPod   = "/opt/hadoop/conf"
	credentialsDirInPod  = "/mnt/secrets/spark-kubernetes-credentials"
	keytabDirInPod       = "/mnt/secrets/kerberos-keytab"
	tokenDirInPod        = "/mnt/secrets/hadoop-credentials"
	templateDirInPod     = "/opt/spark/pod-template"
	templateFileInPod    = "pod-spec-template.yml"
	localDirVolumePrefix = "spark-local-dir-"
)

// reservedLabels cannot be set by spark.kubernetes.driver.label.*, because Spark finds its pods with them.
var reservedLabels = map[string]bool{
	LabelVersion: true, LabelAppSelector: true, LabelAppName: true, LabelRole: true,
}

// IsReservedLabel reports whether Spark sets the label on its pods itself and refuses any other value.
func IsReservedLabel(name string) bool { return reservedLabels[name] }
