// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Each case is one way around a limit that once was open, or that lies beside one that was.
func TestBypasses(t *testing.T) {
	const evil = `containers: [{name: x, image: good, `
	cases := map[string]struct {
		reason string
		limits string
		spec   string
		// says are the objections without what the namespace allows.
		says []string
	}{
		"Privileged": {"the node, by its kernel", `{forbidHostAccess: true}`, "  driver: {securityContext: {privileged: true}}\n",
			[]string{`spec.driver.securityContext: violates Pod Security "baseline": privileged (container "spark-kubernetes-driver" must not set securityContext.privileged=true)`}},
		"Capabilities": {"the node, by its kernel", `{podSecurity: baseline}`, "  executor: {securityContext: {capabilities: {add: [SYS_ADMIN]}}}\n",
			[]string{`spec.executor.securityContext: violates Pod Security "baseline": non-default capabilities (container "spark-kubernetes-executor" must not include "SYS_ADMIN" in securityContext.capabilities.add)`}},
		"Unconfined": {"seccomp", `{podSecurity: baseline}`, "  driver: {podSecurityContext: {seccompProfile: {type: Unconfined}}}\n",
			[]string{`spec.driver.securityContext: violates Pod Security "baseline": seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")`}},
		"ProcMount": {"the kernel's view", `{podSecurity: baseline}`, "  driver: {securityContext: {procMount: Unmasked}}\n",
			[]string{`spec.driver.securityContext: violates Pod Security "baseline": procMount (container "spark-kubernetes-driver" must not set securityContext.procMount to "Unmasked")`}},
		"AppArmor": {"by the annotation of old, which the driver gives its executors", `{podSecurity: baseline}`,
			"  sparkConf: {spark.kubernetes.executor.annotation.container.apparmor.security.beta.kubernetes.io/spark-kubernetes-executor: unconfined}\n",
			[]string{`spec.executor.securityContext: violates Pod Security "baseline": forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/spark-kubernetes-executor="unconfined"")`}},
		"HostPort": {"a port of the node", `{podSecurity: baseline}`, "  driver: {sidecars: [{name: s, image: good, ports: [{containerPort: 80, hostPort: 80}]}]}\n",
			[]string{`spec.driver.ports: violates Pod Security "baseline": hostPort (container "s" uses hostPort 80)`}},
		"Sysctl": {"of the node", `{podSecurity: baseline}`, "  driver: {podSecurityContext: {sysctls: [{name: kernel.msgmax, value: \"1\"}]}}\n",
			[]string{`spec.driver.podSecurityContext: violates Pod Security "baseline": forbidden sysctls (kernel.msgmax)`}},
		"SidecarPrivileged": {"all containers", `{forbidHostAccess: true}`, "  executor: {sidecars: [{name: s, image: good, securityContext: {privileged: true}}]}\n",
			[]string{`spec.executor.securityContext: violates Pod Security "baseline": privileged (container "s" must not set securityContext.privileged=true)`}},
		"InitPrivileged": {"init containers, too", `{podSecurity: baseline}`, "  driver: {initContainers: [{name: i, image: good, securityContext: {privileged: true}}]}\n",
			[]string{`spec.driver.securityContext: violates Pod Security "baseline": privileged (container "i" must not set securityContext.privileged=true)`}},
		"TemplateHost": {"the template of executors", `{podSecurity: baseline}`, "  executor: {template: {spec: {hostIPC: true, " + evil + "securityContext: {privileged: true}}]}}}\n",
			[]string{`spec.executor.hostNetwork: violates Pod Security "baseline": host namespaces (hostIPC=true)`, `spec.executor.securityContext: violates Pod Security "baseline": privileged (container "x" must not set securityContext.privileged=true)`}},
		"PropertyPath": {"a volume that only the driver makes", `{podSecurity: baseline}`, "  sparkConf: {spark.kubernetes.executor.volumes.hostPath.d.mount.path: /d, spark.kubernetes.executor.volumes.hostPath.d.options.path: /}\n",
			[]string{`spec.volumes: violates Pod Security "baseline": hostPath volumes (volume "d")`}},
		"PropertyNFS": {"no volume of restricted", `{podSecurity: restricted}`,
			"  driver: " + restrictedRole + "\n  executor: " + restrictedRole + "\n  sparkConf: {spark.kubernetes.executor.volumes.nfs.d.mount.path: /d, spark.kubernetes.executor.volumes.nfs.d.options.path: /, spark.kubernetes.executor.volumes.nfs.d.options.server: s}\n",
			[]string{`spec.volumes: violates Pod Security "restricted": restricted volume types (volume "d" uses restricted volume type "nfs")`}},
		"Restricted": {"what restricted asks for can be written", `{podSecurity: restricted}`, "  driver: " + restrictedRole + "\n  executor: " + restrictedRole + "\n", nil},
		"Baseline":   {"what everybody writes is allowed", `{podSecurity: baseline}`, "", nil},

		"ImageVolume": {"a volume runs what a container would", `{images: [good*]}`, "  driver: {template: {spec: {volumes: [{name: v, image: {reference: bad}}], containers: [{name: x, image: good}]}}}\n",
			[]string{`spec.volumes: "bad": the image of volume v`}},
		"EphemeralContainer": {"of a template", `{images: [good*]}`, "  executor: {template: {spec: {ephemeralContainers: [{name: e, image: bad}], containers: [{name: x, image: good}]}}}\n",
			[]string{`spec.executor: "bad": the image of container e`}},
		"ImageReference": {"the text matches, what it becomes does not", `{images: ["*good*"]}`, "  sparkConf: {spark.good: bad}\n  executor: {image: \"${spark.good}\"}\n",
			[]string{`spec.executor.image: "bad"`}},
		"ImageEnvironment": {"only the driver knows", `{images: ["*"]}`, "  executor: {image: \"${env:IMG}\"}\n",
			[]string{`spec.executor.image: "${env:IMG}": refers to the driver's environment, which is not known before it runs`}},
		"ImageOfBoth": {"the driver has an image of its own, executors one that only the driver knows", `{images: ["*"]}`, "  image: \"${env:IMG}\"\n  driver: {image: good}\n",
			[]string{`spec.image: "${env:IMG}": refers to the driver's environment, which is not known before it runs`}},
		"AccountSystem": {"only the driver knows", `{serviceAccounts: ["*"]}`, "  sparkConf: {spark.kubernetes.executor.podTemplateContainerName: \"${system:x}\"}\n",
			[]string{`spec.sparkConf["spark.kubernetes.executor.podTemplateContainerName"]: "${system:x}": refers to the driver's environment, which is not known before it runs`}},

		"DriverScheduler":   {"a field", `{schedulerNames: [mine]}`, "  driver: {schedulerName: theirs}\n", []string{`spec.driver.schedulerName: "theirs"`}},
		"PropertyScheduler": {"a property of both", `{schedulerNames: [mine]}`, "  sparkConf: {spark.kubernetes.scheduler.name: theirs}\n", []string{`spec.sparkConf["spark.kubernetes.scheduler.name"]: "theirs"`}},
		"ReferredScheduler": {"with its references replaced", `{schedulerNames: [mine]}`, "  sparkConf: {spark.kubernetes.executor.scheduler.name: \"${spark.mine}\", spark.mine: theirs}\n",
			[]string{`spec.sparkConf["spark.kubernetes.executor.scheduler.name"]: "theirs"`}},
		"BothSchedulers": {"for its executors the driver takes the property, whatever their template says", `{schedulerNames: [mine]}`,
			"  executor: {schedulerName: mine}\n  sparkConf: {spark.kubernetes.executor.scheduler.name: theirs}\n", []string{`spec.sparkConf["spark.kubernetes.executor.scheduler.name"]: "theirs"`}},
		"TemplateScheduler": {"a template", `{schedulerNames: [mine]}`, "  executor: {template: {spec: {schedulerName: theirs, " + evil + "}]}}}\n", []string{`spec.executor.schedulerName: "theirs"`}},
		"PodPriority":       {"a field", `{priorityClasses: [low]}`, "  executor: {priorityClassName: high}\n", []string{`spec.executor.priorityClassName: "high"`}},
		"BatchPriority":     {"what the scheduler gets", `{priorityClasses: [low]}`, "  batchSchedulerOptions: {priorityClassName: high}\n", []string{`spec.batchSchedulerOptions.priorityClassName: "high"`}},
		"RuntimeClass":      {"a template", `{runtimeClasses: [gvisor]}`, "  driver: {template: {spec: {runtimeClassName: kata, " + evil + "}]}}}\n", []string{`spec.driver.template: "kata"`}},
		"PullSecret":        {"the field of both", `{pullSecrets: [mine]}`, "  imagePullSecrets: [mine, theirs]\n", []string{`spec.imagePullSecrets: "theirs"`}},
		"Toleration":        {"a field", `{tolerations: ["team/*"]}`, "  driver: {tolerations: [{key: team/a, operator: Exists}, {key: node-role.kubernetes.io/control-plane, operator: Exists}]}\n", []string{`spec.driver.tolerations: "node-role.kubernetes.io/control-plane"`}},
		"EveryTaint":        {"no key is every key", `{tolerations: ["team/*"]}`, "  driver: {tolerations: [{operator: Exists}]}\n", []string{`spec.driver.tolerations: a toleration without a key tolerates every taint`}},
		"NodeSelector":      {"a field", `{nodeLabels: [pool]}`, "  nodeSelector: {disk: ssd, pool: a}\n", []string{`spec.nodeSelector["disk"]`}},
		"NodeProperty":      {"a property", `{nodeLabels: [pool]}`, "  sparkConf: {spark.kubernetes.executor.node.selector.disk: ssd}\n", []string{`spec.sparkConf["spark.kubernetes.executor.node.selector.disk"]`}},
		"Affinity": {"another way to say it", `{nodeLabels: [pool]}`,
			"  driver: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: Exists}]}}]}}}\n",
			[]string{`spec.driver.affinity: "disk"`}},
		"NodeField": {"a node by its name", `{nodeLabels: ["*"]}`,
			"  executor: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}}\n",
			[]string{`spec.executor.template: "metadata.name In n1": chooses a node by its name`}},
		"NodeName": {"a node by its name", `{nodeLabels: ["*"]}`, "  driver: {template: {spec: {nodeName: n1, " + evil + "}]}}}\n", []string{`spec.driver.template: "n1": chooses a node by its name`}},

		"PodLabel":       {"one that a controller selects by", `{podLabels: ["team"]}`, "  driver: {labels: {team: a, istio.io/rev: x}}\n", []string{`spec.driver.labels["istio.io/rev"]`}},
		"InheritedLabel": {"the application's own", `{podLabels: ["team"]}`, "  executor: {template: {metadata: {labels: {x: z}}, spec: {" + evil + "}]}}}\n", []string{`spec.executor.labels["x"]`}},
		"OwnLabels":      {"Spark's and the operator's are nobody's choice", `{podLabels: ["none"], podAnnotations: ["none"]}`, "  monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheus: {jmxExporterJar: /x.jar}}\n", nil},
		"PodAnnotation":  {"one that a webhook obeys", `{podAnnotations: ["note"]}`, "  sparkConf: {spark.kubernetes.executor.annotation.sidecar.istio.io/inject: \"true\"}\n", []string{`spec.sparkConf["spark.kubernetes.executor.annotation.sidecar.istio.io/inject"]`}},

		"HeadlessService": {"external-dns obeys it", `{forbiddenAnnotations: ["external-dns.*"]}`, "  driver: {serviceAnnotations: {external-dns.alpha.kubernetes.io/hostname: bank.example}}\n",
			[]string{`spec.driver.serviceAnnotations["external-dns.alpha.kubernetes.io/hostname"]`}},
		"HeadlessProperty": {"external-dns obeys it", `{forbiddenAnnotations: ["external-dns.*"]}`, "  sparkConf: {spark.kubernetes.driver.service.annotation.external-dns.alpha.kubernetes.io/hostname: bank.example}\n",
			[]string{`spec.sparkConf["spark.kubernetes.driver.service.annotation.external-dns.alpha.kubernetes.io/hostname"]`}},
		"ClaimAnnotation":    {"a provisioner obeys it", `{forbiddenAnnotations: ["*evil"]}`, claimOf("driver", "annotation.evil: x"), []string{`spec.sparkConf["spark.kubernetes.driver.volumes.persistentVolumeClaim.d.annotation.evil"]`}},
		"ExecutorAnnotation": {"the driver makes the claim", `{forbiddenAnnotations: ["*evil"]}`, claimOf("executor", "annotation.evil: x"), []string{`spec.sparkConf["spark.kubernetes.executor.volumes.persistentVolumeClaim.d.annotation.evil"]`}},
		"GroupAnnotation":    {"a step of Spark's", `{forbiddenAnnotations: [evil]}`, volcanoStep(`{"metadata": {"annotations": {"evil": "x"}}}`), []string{`spec.sparkConf["spark.kubernetes.scheduler.volcano.podGroupTemplateJson"]: "evil": an annotation of the PodGroup`}},
		"GroupPriority":      {"a step of Spark's", `{priorityClasses: [low]}`, volcanoStep(`{"spec": {"priorityClassName": "high"}}`), []string{`spec.sparkConf["spark.kubernetes.scheduler.volcano.podGroupTemplateJson"]: "high"`}},
		"PodForbidden":       {"of pods, too", `{forbiddenAnnotations: [evil]}`, "  executor: {annotations: {evil: x}}\n", []string{`spec.executor.annotations["evil"]`}},

		"StorageClass":    {"the driver's claim", `{storageClasses: [slow]}`, claimOf("driver", "label.a: b"), []string{`spec.sparkConf["spark.kubernetes.driver.volumes.persistentVolumeClaim.d.options.storageClass"]: "fast"`}},
		"ExecutorStorage": {"the driver makes the claim", `{storageClasses: [slow]}`, claimOf("executor", "label.a: b"), []string{`spec.sparkConf["spark.kubernetes.executor.volumes.persistentVolumeClaim.d.options.storageClass"]: "fast"`}},
		"BetaStorage": {"the annotation wins over the field", `{storageClasses: [fast]}`, claimOf("driver", "annotation.volume.beta.kubernetes.io/storage-class: gold"),
			[]string{`spec.sparkConf["spark.kubernetes.driver.volumes.persistentVolumeClaim.d.annotation.volume.beta.kubernetes.io/storage-class"]`}},
		"EphemeralStorage": {"a claim in a pod", `{storageClasses: [slow]}`, ephemeralClaim, []string{`spec.volumes: "fast": the class of the claim of volume e`}},
		"Claims":           {"one for each executor", `{volumeClaims: 3}`, claimOf("executor", "label.a: b") + "  executor: {instances: 4}\n", []string{`spec.volumes: an attempt makes 0 PersistentVolumeClaims for its driver and 1 for each of 4 executors`}},
		"ClaimsEphemeral":  {"a claim in a pod", `{volumeClaims: 0}`, ephemeralClaim, []string{`spec.volumes: an attempt makes 1 PersistentVolumeClaims for its driver and 0 for each of 1 executors`}},
		"ClaimsEnough":     {"at most", `{volumeClaims: 4}`, claimOf("executor", "label.a: b") + "  executor: {instances: 4}\n", nil},
		"ClaimsWithoutEnd": {"no maximum", `{volumeClaims: 100}`, claimOf("executor", "label.a: b, spark.dynamicAllocation.enabled: \"true\""), []string{`spec.volumes: an attempt makes 0 PersistentVolumeClaims for its driver and 1 for each of an unlimited number of executors`}},

		"Storage":       {"of all executors", `{volumeClaimStorage: 3Gi}`, claimOf("executor", "label.a: b") + "  executor: {instances: 4}\n", []string{`spec.volumes: the PersistentVolumeClaims of an attempt request 4Gi of storage in total`}},
		"StorageEnough": {"at most", `{volumeClaimStorage: 4Gi}`, claimOf("executor", "label.a: b") + "  executor: {instances: 4}\n", nil},
		"StorageOfPods": {"a claim in a pod", `{volumeClaimStorage: 1}`, ephemeralClaim, []string{`spec.volumes: the PersistentVolumeClaims of an attempt request 1Gi of storage in total`}},
		"StorageNoEnd":  {"no maximum", `{volumeClaimStorage: 1Ti}`, claimOf("executor", "label.a: b, spark.dynamicAllocation.enabled: \"true\""), []string{`spec.volumes: the PersistentVolumeClaims of an attempt request 2147483647Gi of storage in total`}},

		"Sizes":         {"Spark writes those of its own containers", `{driver: {cores: 9, memory: 9Gi}, executor: {cores: 9, memory: 9Gi}}`, "", nil},
		"SidecarMemory": {"it takes what the node has", `{driver: {memory: 9Gi}}`, "  driver: {sidecars: [{name: s, image: good, resources: {requests: {memory: 1Mi}}}]}\n", []string{`spec.driver.memory: the container s has no limit of memory; write resources.limits.memory`}},
		"SidecarCores":  {"it is in no sum", `{executor: {cores: 9}}`, "  executor: {sidecars: [{name: s, image: good}]}\n", []string{`spec.executor.cores: the container s requests no cpu; write resources.requests.cpu`}},
		"InitMemory":    {"it runs before the others", `{executor: {memory: 9Gi}}`, "  executor: {initContainers: [{name: i, image: good}]}\n", []string{`spec.executor.memory: the container i has no limit of memory; write resources.limits.memory`}},
		"TemplateCores": {"a template", `{driver: {cores: 9}}`, "  driver: {template: {spec: {" + evil + "}, {name: z, image: good}]}}}\n", []string{`spec.driver.cores: the container z requests no cpu; write resources.requests.cpu`}},
		"SidecarSizes":  {"all that is asked for", `{driver: {cores: 9, memory: 9Gi}}`, "  driver: {sidecars: [{name: s, image: good, resources: {requests: {cpu: 1}, limits: {memory: 1Gi}}}]}\n", nil},

		"GPU":      {"the field", `{driver: {resources: {"nvidia.com/*": 1}}}`, "  driver: {gpu: {name: nvidia.com/gpu, quantity: 2}}\n", []string{`spec.driver: "nvidia.com/gpu": the driver pod requests 2 of nvidia.com/gpu in total`}},
		"Vendor":   {"a property", `{executor: {resources: {"*": 0}}}`, "  sparkConf: {spark.executor.resource.gpu.amount: \"3\", spark.executor.resource.gpu.vendor: amd.com, spark.executor.resource.gpu.discoveryScript: /x}\n", []string{`spec.sparkConf["spark.executor.resource.gpu.amount"]: "3": the executor pod requests 3 of amd.com/gpu in total`}},
		"Longest":  {"the longer pattern counts", `{driver: {resources: {"*": 0, "nvidia.com/*": 2}}}`, "  driver: {gpu: {name: nvidia.com/gpu, quantity: 2}}\n", nil},
		"Devices":  {"claims of devices", `{driver: {resources: {"*": 0}}}`, "  driver: {template: {spec: {resourceClaims: [{name: g, resourceClaimTemplateName: g}], " + evil + "}]}}}\n", []string{`spec.driver: "resourceclaims": the driver pod requests 1 of resourceclaims in total`}},
		"PodLevel": {"of the pod as a whole", `{driver: {cores: 2}}`, "  driver: {template: {spec: {resources: {limits: {cpu: \"8\"}}, " + evil + "}]}}}\n", []string{`spec.driver.cores: the driver pod requests 8 of cpu in total`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := tc.spec
			if strings.Contains(spec, "podGroupTemplateJson") {
				spec += "  sparkVersion: 4.2.0\n"
			}
			if !strings.Contains(spec, "\n  image:") && !strings.HasPrefix(spec, "  image:") {
				spec = "  image: good\n" + spec
			}
			_, got := governed(t, set(t, `[{name: small, namespaces: [team-a], limits: `+tc.limits+`}]`), application(t, spec))
			if len(got) != len(tc.says) {
				t.Fatalf("%s: %d objections, want %d: %q", tc.reason, len(got), len(tc.says), got)
			}
			for i, want := range tc.says {
				if !strings.HasPrefix(got[i], want+"; namespace team-a allows ") && !strings.HasPrefix(got[i], want+": namespace team-a allows ") {
					t.Errorf("%s:\n got %s\nwant %s", tc.reason, got[i], want)
				}
			}
		})
	}
}

const (
	restrictedRole = `{podSecurityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}`
	ephemeralClaim = "  volumes: [{name: e, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]\n  driver: {volumeMounts: [{name: e, mountPath: /e}]}\n"
)

// claimOf is a volume of a role for which a claim of the class fast is made, with one more option.
func claimOf(role, option string) string {
	prefix := "spark.kubernetes." + role + ".volumes.persistentVolumeClaim.d."
	return "  sparkConf: {" + prefix + "mount.path: /d, " + prefix + "options.claimName: OnDemand, " + prefix + "options.storageClass: fast, " + prefix + "options.sizeLimit: 1Gi, " + prefix + option + "}\n"
}

// volcanoStep is Spark's step that makes a PodGroup.
func volcanoStep(template string) string {
	return "  sparkConf: {spark.kubernetes.driver.pod.featureSteps: org.apache.spark.deploy.k8s.features.VolcanoFeatureStep, spark.kubernetes.scheduler.volcano.podGroupTemplateJson: '" + template + "'}\n"
}

// What the operator itself writes on a server's pods is no choice of the tenant's.
func TestOwnMetadataOfAServer(t *testing.T) {
	o := &v1alpha1.SparkConnect{}
	if err := yaml.Unmarshal([]byte("metadata: {name: srv, namespace: team-a, uid: a}\nspec: {sparkVersion: 4.1.0, image: good, server: {}, executor: {instances: 1}}"), o); err != nil {
		t.Fatal(err)
	}
	app := kubeflow.SparkConnects{}.Load(o, lifecycle.Record{}).App
	built, err := build(app)
	if err != nil {
		t.Fatal(err)
	}
	strict := set(t, `[{name: small, namespaces: [team-a], limits: {podLabels: [none], podAnnotations: [none], schedulerNames: [none], nodeLabels: [none], tolerations: [none], podSecurity: baseline}}]`)
	for _, p := range strict.Check(app, built) {
		t.Error(validation.Explain(app, p))
	}
}

func TestRetriesPerHour(t *testing.T) {
	s := set(t, `[{name: a, namespaces: ["*"]}, {name: b, namespaces: ["*"], limits: {retriesPerHour: 7}}, {name: c, namespaces: [team-a], limits: {retriesPerHour: 3}}]`)
	if got := s.For("team-a").RetriesPerHour(); got == nil || *got != 3 {
		t.Errorf("team-a: %v, want the least", got)
	}
	if got := s[:1].RetriesPerHour(); got != nil {
		t.Errorf("without a limit: %d", *got)
	}
}

// A server's driver reads the template of its executors from its own image, where nobody can look before.
func TestUnseenTemplateOfAServer(t *testing.T) {
	var o v1alpha1.SparkConnect
	text := `
metadata: {name: srv, namespace: team-a, uid: 7b0f0a52-0000-4000-8000-000000000002}
spec:
  sparkVersion: 4.1.0
  image: good
  server: {}
  sparkConf: {spark.kubernetes.executor.podTemplateFile: /opt/mine.yaml}
  executor: {instances: 1}
`
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	app := kubeflow.SparkConnects{}.Load(&o, lifecycle.Record{}).App
	built, err := build(app)
	if err != nil {
		t.Fatal(err)
	}
	for limits, want := range map[string]string{
		`{executor: {memory: 900Gi}}`: `spec.sparkConf["spark.kubernetes.executor.podTemplateFile"]: "/opt/mine.yaml": a file of the driver's pod, which the operator cannot read; write the template into spec.executor.template; namespace team-a allows only templates that can be checked (operator policy "small")`,
		`{driver: {memory: 900Gi}}`:   "",
	} {
		got := ""
		for _, p := range set(t, `[{name: small, namespaces: [team-a], limits: `+limits+`}]`).Check(app, built) {
			got += validation.Explain(app, p)
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", limits, got, want)
		}
	}
}
