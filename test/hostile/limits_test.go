// SPDX-License-Identifier: Apache-2.0

package hostile

const (
	volcanoStep = `spark.kubernetes.driver.pod.featureSteps: org.apache.spark.deploy.k8s.features.VolcanoFeatureStep`
	driverPVC   = `spark.kubernetes.driver.volumes.persistentVolumeClaim.d.`
	executorPVC = `spark.kubernetes.executor.volumes.persistentVolumeClaim.d.`
	otherQueue  = "may not be used from namespace"
	// otherApplication is said of pods that name one.
	otherApplication = "counts it as a part of that application"
	finalizers       = "while it has finalizers"
	owners           = "would be deleted when its owner is"
	urls             = "allows the URLs"
)

// claim are the properties of a volume for which Spark makes a claim, with one more.
func claim(prefix, more string) string {
	return prefix + `mount.path: /d, ` + prefix + `options.claimName: OnDemand, ` + prefix + `options.storageClass: slow, ` + prefix + `options.sizeLimit: 1Gi, ` + prefix + more
}

func init() {
	images, env := "allows the images", "refers to the driver's environment"
	add(
		allowed(strict, `labels: {team: a}`),
		beyond("Images", "an image of somebody else's registry", strict, tries{
			"both":        {`image: evil.example/spark`, images},
			"driver":      {`driver: {image: evil.example/spark}`, images},
			"executor":    {`executor: {image: evil.example/spark}`, images},
			"sidecar":     {`driver: {sidecars: [{name: s, image: evil.example/s}]}`, images},
			"init":        {`executor: {initContainers: [{name: i, image: evil.example/i}]}`, images},
			"ephemeral":   {`driver: {template: {spec: {ephemeralContainers: [{name: x, image: evil.example/x}], containers: [{name: spark-kubernetes-driver}]}}}`, images},
			"template":    {`executor: {template: {spec: {containers: [{name: spark-kubernetes-executor}, {name: x, image: evil.example/x}]}}}`, images},
			"begins-like": {`image: registry.example.evil.example/spark`, images},
			"contains":    {`image: evil.example/registry.example/spark`, images},
			"case":        {`image: Registry.Example/spark`, images},
			"newline":     {`image: "evil.example/spark\nregistry.example/spark"`, images},
		}),
		beyond("ImageReferences", "an image that is only known when the driver reads its configuration", strict, tries{
			"property":    {`{executor: {image: "${spark.mine}"}, sparkConf: {spark.mine: evil.example/x}}`, images},
			"nested":      {`{executor: {image: "registry.example/${spark.mine}"}, sparkConf: {spark.mine: "${spark.other}", spark.other: "${env:IMAGE}"}}`, env},
			"environment": {`executor: {image: "${env:IMAGE}"}`, env},
			"system":      {`executor: {image: "${system:user.name}"}`, env},
		}),
		beyond("ImageVolumes", "a volume that is an image", strict, each(anyPod, "PART", `volumes: [{name: v, image: {reference: evil.example/x}}]`, images, nil)),
		beyond("ServiceAccounts", "an account with more rights", strict, tries{
			"driver":   {`driver: {serviceAccount: admin}`, "allows the service accounts"},
			"default":  {`driver: {serviceAccount: default}`, "allows the service accounts"},
			"executor": {`executor: {serviceAccount: admin}`, "allows the service accounts"},
			"template": {`executor: {template: {spec: {serviceAccountName: admin, containers: [{name: spark-kubernetes-executor}]}}}`, "allows the service accounts"},
			"old-name": {`executor: {template: {spec: {serviceAccount: admin, containers: [{name: spark-kubernetes-executor}]}}}`, "allows the service accounts"},
		}),
		beyond("SchedulerNames", "a scheduler that keeps to no queues", strict, each(anyPod, "PART", `schedulerName: theirs`, "allows the scheduler names", tries{
			"field":          {`driver: {schedulerName: theirs}`, "allows the scheduler names"},
			"property":       {`sparkConf: {spark.kubernetes.scheduler.name: theirs}`, "allows the scheduler names"},
			"property-role":  {`sparkConf: {spark.kubernetes.executor.scheduler.name: theirs}`, "allows the scheduler names"},
			"property-alias": {`sparkConf: {spark.kubernetes.executor.scheduler.name: "${spark.mine}", spark.mine: theirs}`, "allows the scheduler names"},
		})),
		beyond("Queues", "a queue of others, by the name of a scheduler that the operator was not asked for", queued, tries{
			"volcano":      {`{batchScheduler: none, driver: {schedulerName: volcano, annotations: {scheduling.volcano.sh/queue-name: theirs}}}`, otherQueue},
			"yunikorn":     {`{batchScheduler: none, driver: {schedulerName: yunikorn, labels: {queue: root.theirs}}}`, otherQueue},
			"executor":     {`{batchScheduler: none, executor: {schedulerName: yunikorn, annotations: {yunikorn.apache.org/queue: root.theirs}}}`, otherQueue},
			"property":     {`{sparkConf: {spark.kubernetes.scheduler.name: volcano}}`, otherQueue},
			"step":         {`{sparkVersion: 4.2.0, sparkConf: {` + volcanoStep + `, spark.kubernetes.scheduler.volcano.podGroupTemplateJson: '{"spec": {"queue": "theirs"}}'}}`, otherQueue},
			"step-default": {`{sparkVersion: 4.2.0, sparkConf: {` + volcanoStep + `}}`, otherQueue},
		}),
		beyond("Applications", "the queue, guarantee and user of another application of the scheduler's, by its id", queued, tries{
			"executor":  {`{batchScheduler: none, executor: {schedulerName: yunikorn, labels: {queue: mine, yunikorn.apache.org/app-id: theirs}}}`, otherApplication},
			"old-label": {`{batchScheduler: none, driver: {schedulerName: yunikorn, labels: {queue: mine, applicationId: theirs}}}`, otherApplication},
			"template":  {`{batchScheduler: none, driver: {schedulerName: yunikorn, labels: {queue: mine}, template: {metadata: {annotations: {yunikorn.apache.org/app-id: theirs}}, spec: {containers: [{name: spark-kubernetes-driver}]}}}}`, otherApplication},
			"property":  {`{sparkConf: {spark.kubernetes.scheduler.name: yunikorn, spark.kubernetes.driver.label.queue: mine, spark.kubernetes.executor.label.queue: mine, spark.kubernetes.executor.annotation.yunikorn.apache.org/app-id: theirs}}`, otherApplication},
		}),
		beyond("PriorityClasses", "pods before those of others", strict, each(anyPod, "PART", `priorityClassName: system-node-critical`, "allows the priority classes", tries{
			"field":    {`driver: {priorityClassName: high}`, "allows the priority classes"},
			"executor": {`executor: {priorityClassName: high}`, "allows the priority classes"},
			"batch":    {`batchSchedulerOptions: {priorityClassName: high}`, "allows the priority classes"},
			"group":    {`{sparkVersion: 4.2.0, sparkConf: {` + volcanoStep + `, spark.kubernetes.scheduler.volcano.podGroupTemplateJson: '{"spec": {"priorityClassName": "high"}}'}}`, "allows the priority classes"},
		})),
		beyond("RuntimeClasses", "a runtime without a sandbox", strict, each(anyPod, "PART", `runtimeClassName: runc`, "allows the runtime classes", nil)),
		beyond("PullSecrets", "others' credentials for a registry", strict, each(anyPod, "PART", `imagePullSecrets: [{name: theirs}]`, "allows the pull secrets", tries{
			"field":    {`imagePullSecrets: [mine, theirs]`, "allows the pull secrets"},
			"property": {`sparkConf: {spark.kubernetes.container.image.pullSecrets: "mine, theirs"}`, "allows the pull secrets"},
		})),
		beyond("Tolerations", "nodes that others are kept from", strict, each(anyPod, "PART", `tolerations: [{operator: Exists}]`, "allows the tolerations of", tries{
			"field": {`driver: {tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}`, "allows the tolerations of"},
		})),
		beyond("NodeLabels", "nodes of one's own choice", strict, each(anyPod, "PART", `nodeSelector: {node-role.kubernetes.io/control-plane: ""}`, "allows the node labels", tries{
			"field":    {`nodeSelector: {disk: ssd}`, "allows the node labels"},
			"property": {`sparkConf: {spark.kubernetes.executor.node.selector.disk: ssd}`, "allows the node labels"},
			"affinity": {`driver: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: Exists}]}}]}}}`, "allows the node labels"},
		})),
		beyond("NodeNames", "a node by its name, which no scheduler is asked about", strict, each(anyPod, "PART", `nodeName: control-plane-0`, "chooses a node by its name", tries{
			"field": {`executor: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}}}}`, "chooses a node by its name"},
		})),
		beyond("PodLabels", "labels by which Services, policies and controllers choose pods", strict, tries{
			"field":    {`driver: {labels: {app: bank}}`, "allows the pod labels"},
			"property": {`sparkConf: {spark.kubernetes.executor.label.app: bank}`, "allows the pod labels"},
			"template": {`executor: {template: {metadata: {labels: {app: bank}}, spec: {containers: [{name: spark-kubernetes-executor}]}}}`, "allows the pod labels"},
			"object":   {`metadata: {labels: {app: bank}}`, "allows the pod labels"},
		}),
		beyond("PodAnnotations", "annotations that other controllers obey", strict, tries{
			"field":    {`driver: {annotations: {sidecar.istio.io/inject: "true"}}`, "allows the pod annotations"},
			"property": {`sparkConf: {spark.kubernetes.executor.annotation.sidecar.istio.io/inject: "true"}`, "allows the pod annotations"},
			"template": {`driver: {template: {metadata: {annotations: {x: other}}, spec: {containers: [{name: spark-kubernetes-driver}]}}}`, "allows the pod annotations"},
		}),
		beyond("ForbiddenAnnotations", "annotations of everything that is created beside a pod", strict, tries{
			"headless":          {`driver: {serviceAnnotations: {external-dns.alpha.kubernetes.io/hostname: bank.example}}`, "no such annotation"},
			"headless-property": {`sparkConf: {spark.kubernetes.driver.service.annotation.external-dns.alpha.kubernetes.io/hostname: bank.example}`, "no such annotation"},
			"claim":             {`sparkConf: {` + claim(driverPVC, `annotation.external-dns.alpha: x`) + `}`, "no such annotation"},
			"executor-claim":    {`sparkConf: {` + claim(executorPVC, `annotation.external-dns.alpha: x`) + `}`, "no such annotation"},
			"group":             {`{sparkVersion: 4.2.0, sparkConf: {` + volcanoStep + `, spark.kubernetes.scheduler.volcano.podGroupTemplateJson: '{"metadata": {"annotations": {"x-snippet": "x"}}}'}}`, "no such annotation"},
			"ui":                {`sparkUIOptions: {serviceAnnotations: {external-dns.alpha.kubernetes.io/hostname: bank.example}}`, "no such annotation"},
			"pod":               {`driver: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example}}`, "allows the pod annotations"},
		}),
		beyond("Finalizers", "pods and groups that nobody can delete, so that neither the namespace nor what they reserve is ever free", strict, tries{
			"driver":   {`driver: {template: {metadata: {finalizers: [a.example/keep]}, spec: {containers: [{name: spark-kubernetes-driver}]}}}`, finalizers},
			"executor": {`executor: {template: {metadata: {finalizers: [a.example/keep]}, spec: {containers: [{name: spark-kubernetes-executor}]}}}`, finalizers},
			"owner":    {`executor: {template: {metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: bank, uid: bank}]}, spec: {containers: [{name: spark-kubernetes-executor}]}}}`, owners},
			"group":    {`{sparkVersion: 4.2.0, sparkConf: {` + volcanoStep + `, spark.kubernetes.scheduler.volcano.podGroupTemplateJson: '{"metadata": {"finalizers": ["a.example/keep"]}}'}}`, finalizers},
		}),
		beyond("Dependencies", "code from anywhere, with the credentials of the platform", strict, tries{
			"main":       {`mainApplicationFile: "https://evil.example/a.jar"`, urls},
			"list":       {`mainApplicationFile: "local:///a.jar,https://evil.example/b.jar"`, urls},
			"jars":       {`deps: {jars: ["s3a://team-a/a.jar", "s3a://team-b/b.jar"]}`, urls},
			"climb":      {`deps: {files: ["s3a://team-a/../team-b/b"]}`, urls},
			"parameter":  {`deps: {files: ["https://a.repo.example/x/..;a=b/y"]}`, urls},
			"twice":      {`deps: {files: ["https://a.repo.example/x/%252e%252e/y"]}`, urls},
			"host":       {`deps: {pyFiles: ["https://evil.example/x.repo.example/a.py"]}`, urls},
			"user":       {`deps: {archives: ["https://x.repo.example@evil.example/a.zip"]}`, urls},
			"packages":   {`deps: {packages: ["org.evil:lib:1"]}`, urls},
			"repository": {`deps: {repositories: ["https://evil.example/m2"]}`, urls},
			"property":   {`sparkConf: {spark.jars.ivySettings: "${spark.mine}", spark.mine: "https://evil.example/ivy.xml"}`, urls},
		}),
		beyond("StorageClasses", "storage that is paid for by others", strict, tries{
			"driver":    {`sparkConf: {` + claim(driverPVC, `options.storageClass: fast`) + `}`, "allows the storage classes"},
			"executor":  {`sparkConf: {` + claim(executorPVC, `options.storageClass: fast`) + `}`, "allows the storage classes"},
			"old-name":  {`sparkConf: {` + claim(driverPVC, `annotation.volume.beta.kubernetes.io/storage-class: fast`) + `}`, "allows the storage classes"},
			"ephemeral": {`{volumes: [{name: e, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}], driver: {volumeMounts: [{name: e, mountPath: /e}]}}`, "allows the storage classes"},
		}),
		beyond("VolumeClaims", "more claims than allowed", strict, tries{
			"executors": {`{executor: {instances: 5}, sparkConf: {` + claim(executorPVC, `label.a: b`) + `}}`, "PersistentVolumeClaims for its driver"},
		}),
		beyond("Devices", "devices by each of their names", strict, tries{
			"gpu":      {`driver: {gpu: {name: nvidia.com/gpu, quantity: 1}}`, "of nvidia.com/gpu in total"},
			"property": {`sparkConf: {spark.executor.resource.gpu.amount: "1", spark.executor.resource.gpu.vendor: amd.com, spark.executor.resource.gpu.discoveryScript: /x}`, "of amd.com/gpu in total"},
			"sidecar":  {`driver: {sidecars: [{name: s, image: registry.example/s, resources: {limits: {nvidia.com/gpu: 1}}}]}`, "of nvidia.com/gpu in total"},
			"claims":   {`driver: {template: {spec: {resourceClaims: [{name: g, resourceClaimTemplateName: g}], containers: [{name: spark-kubernetes-driver}]}}}`, "resourceclaims"},
		}),
		beyond("Sizes", "more room than allowed, wherever it is written", strict, tries{
			"field":       {`executor: {memory: 64g}`, "allows at most 8Gi"},
			"overhead":    {`executor: {memoryOverhead: 64g}`, "allows at most 8Gi"},
			"limit":       {`executor: {memoryLimit: 64g}`, "allows at most 8Gi"},
			"annotation":  {`sparkConf: {spark.kubernetes.executor.annotation.firesteel.dev/memory-limit: 64Gi}`, "allows at most 8Gi"},
			"sidecar":     {`driver: {sidecars: [{name: s, image: registry.example/s, resources: {requests: {memory: 64Gi}}}]}`, "allows at most 8Gi"},
			"unsaid":      {`driver: {sidecars: [{name: s, image: registry.example/s, resources: {requests: {memory: 1Mi}}}]}`, "has no limit of memory"},
			"pod-level":   {`driver: {template: {spec: {resources: {limits: {cpu: "64"}}, containers: [{name: spark-kubernetes-driver}]}}}`, "allows at most 4"},
			"reference":   {`sparkConf: {spark.executor.memoryOverhead: "${spark.mine}", spark.mine: 64g}`, "allows at most 8Gi"},
			"executors":   {`executor: {instances: 1000}`, "allows at most 10"},
			"without-end": {`dynamicAllocation: {enabled: true, minExecutors: 1}`, "allows at most 10"},
		}),
		beyond("HiddenTemplate", "a template from the image, of which the operator sees nothing", strict, tries{
			"file": {`sparkConf: {spark.kubernetes.executor.podTemplateFile: /opt/evil.yaml}`, "spark.kubernetes.executor.podTemplateFile"},
			"step": {`{sparkVersion: 4.1.4, executor: {template: {spec: {containers: [{name: spark-kubernetes-executor}]}}}, sparkConf: {spark.kubernetes.executor.podTemplateFile: /opt/evil.yaml, spark.kubernetes.driver.pod.excludedFeatureSteps: org.apache.spark.deploy.k8s.features.PodTemplateConfigMapStep}}`, "excludedFeatureSteps"},
		}),
		beyondAs(connect, "ServerBeyondLimits", "a server is held to the same limits", strict, tries{
			"image": {`image: evil.example/spark`, images},
			"class": {`server: {template: {spec: {priorityClassName: high, containers: [{name: spark-kubernetes-driver}]}}}`, "allows the priority classes"},
			"size":  {`executor: {memory: 64g}`, "allows at most 8Gi"},
			"kept":  {`server: {template: {metadata: {finalizers: [a.example/keep]}, spec: {containers: [{name: spark-kubernetes-driver}]}}}`, finalizers},
		}),
	)
}
