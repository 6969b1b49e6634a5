// SPDX-License-Identifier: Apache-2.0

package hostile

import "strings"

// Policies of the attacks on limits: see testdata/policies.yaml.
const (
	baseline   = "baseline"
	restricted = "restricted"
	strict     = "strict"
	queued     = "queued"
	hushed     = "hushed"
)

const (
	breaksBaseline   = `violates Pod Security "baseline": `
	breaksRestricted = `violates Pod Security "restricted": `
)

// anyContainer are the ways to give a container a security context: that of Spark's own containers, and of each other container that a pod may have.
var anyContainer = map[string]string{
	"driver":             `driver: {securityContext: CONTEXT}`,
	"executor":           `executor: {securityContext: CONTEXT}`,
	"sidecar":            `driver: {sidecars: [{name: s, image: registry.example/s, securityContext: CONTEXT}]}`,
	"init":               `executor: {initContainers: [{name: i, image: registry.example/i, securityContext: CONTEXT}]}`,
	"template":           `driver: {template: {spec: {containers: [{name: spark-kubernetes-driver, securityContext: CONTEXT}]}}}`,
	"template-other":     `executor: {template: {spec: {containers: [{name: spark-kubernetes-executor}, {name: x, image: registry.example/x, securityContext: CONTEXT}]}}}`,
	"template-init":      `driver: {template: {spec: {initContainers: [{name: x, image: registry.example/x, securityContext: CONTEXT}], containers: [{name: spark-kubernetes-driver}]}}}`,
	"template-restarted": `executor: {template: {spec: {initContainers: [{name: x, image: registry.example/x, restartPolicy: Always, securityContext: CONTEXT}], containers: [{name: spark-kubernetes-executor}]}}}`,
	"template-ephemeral": `driver: {template: {spec: {ephemeralContainers: [{name: x, image: registry.example/x, securityContext: CONTEXT}], containers: [{name: spark-kubernetes-driver}]}}}`,
}

// anyPod are the ways to write a part of a pod's spec.
var anyPod = map[string]string{
	"driver-template":   `driver: {template: {spec: {PART, containers: [{name: spark-kubernetes-driver}]}}}`,
	"executor-template": `executor: {template: {spec: {PART, containers: [{name: spark-kubernetes-executor}]}}}`,
}

// each fills a part of a spec into each way to write it.
func each(ways map[string]string, placeholder, part, told string, more tries) tries {
	all := tries{}
	for name, spec := range ways {
		all[name] = try{strings.ReplaceAll(spec, placeholder, part), told}
	}
	for name, way := range more {
		all[name] = way
	}
	return all
}

// withSecurityOf are the security contexts that restricted asks for, one of which is another in an attack.
func withSecurityOf(pod, container string) string {
	role := `{podSecurityContext: {` + pod + `}, securityContext: {` + container + `}}`
	return "driver: " + role + "\nexecutor: " + role
}

const (
	restrictedPod       = `runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}`
	restrictedContainer = `allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}`
)

func init() {
	for _, x := range []struct{ name, context, told string }{
		{"Privileged", `{privileged: true}`, "privileged"},
		{"AddedCapabilities", `{capabilities: {add: [SYS_ADMIN]}}`, "non-default capabilities"},
		{"UnmaskedProc", `{procMount: Unmasked}`, "procMount"},
		{"UnconfinedSeccomp", `{seccompProfile: {type: Unconfined}}`, "seccompProfile"},
		{"UnconfinedAppArmor", `{appArmorProfile: {type: Unconfined}}`, "forbidden AppArmor profile"},
		{"SELinuxType", `{seLinuxOptions: {type: spc_t}}`, "seLinuxOptions"},
		{"HostProcessContainer", `{windowsOptions: {hostProcess: true}}`, "hostProcess"},
	} {
		add(beyond(x.name, "a container of any sort gets the node", baseline, each(anyContainer, "CONTEXT", x.context, breaksBaseline+x.told, nil)))
	}
	add(
		beyond("HostNetwork", "the node's network", baseline, each(anyPod, "PART", "hostNetwork: true", breaksBaseline+"host namespaces", tries{
			"field-driver":   {`driver: {hostNetwork: true}`, breaksBaseline + "host namespaces"},
			"field-executor": {`executor: {hostNetwork: true}`, breaksBaseline + "host namespaces"},
		})),
		beyond("HostProcesses", "the node's processes", baseline, each(anyPod, "PART", "hostPID: true", breaksBaseline+"host namespaces", nil)),
		beyond("HostIPC", "the node's shared memory", baseline, each(anyPod, "PART", "hostIPC: true", breaksBaseline+"host namespaces", nil)),
		beyond("Sysctls", "the node's kernel", baseline, each(anyPod, "PART", `securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}`, breaksBaseline+"forbidden sysctls", tries{
			"field": {`executor: {podSecurityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}}`, breaksBaseline + "forbidden sysctls"},
		})),
		beyond("HostPaths", "the node's directories", baseline, each(anyPod, "PART", "volumes: [{name: h, hostPath: {path: /}}]", breaksBaseline+"hostPath volumes", tries{
			"field":             {`{volumes: [{name: h, hostPath: {path: /}}], driver: {volumeMounts: [{name: h, mountPath: /h}]}}`, breaksBaseline + "hostPath volumes"},
			"local-dir":         {`{volumes: [{name: spark-local-dir-1, hostPath: {path: /}}], executor: {volumeMounts: [{name: spark-local-dir-1, mountPath: /tmp/x}]}}`, breaksBaseline + "hostPath volumes"},
			"property-driver":   {`sparkConf: {spark.kubernetes.driver.volumes.hostPath.h.mount.path: /h, spark.kubernetes.driver.volumes.hostPath.h.options.path: /}`, breaksBaseline + "hostPath volumes"},
			"property-executor": {`sparkConf: {spark.kubernetes.executor.volumes.hostPath.h.mount.path: /h, spark.kubernetes.executor.volumes.hostPath.h.options.path: /}`, breaksBaseline + "hostPath volumes"},
		})),
		beyond("HostPorts", "the node's ports", baseline, tries{
			"sidecar":  {`driver: {sidecars: [{name: s, image: registry.example/s, ports: [{containerPort: 80, hostPort: 80}]}]}`, breaksBaseline + "hostPort"},
			"init":     {`executor: {initContainers: [{name: i, image: registry.example/i, ports: [{containerPort: 80, hostPort: 80}]}]}`, breaksBaseline + "hostPort"},
			"template": {`executor: {template: {spec: {containers: [{name: spark-kubernetes-executor, ports: [{containerPort: 80, hostPort: 80}]}]}}}`, breaksBaseline + "hostPort"},
		}),
		beyond("AppArmorAnnotation", "an annotation, which older clusters obey", baseline, tries{
			"field":    {`driver: {annotations: {container.apparmor.security.beta.kubernetes.io/spark-kubernetes-driver: unconfined}}`, breaksBaseline + "forbidden AppArmor profile"},
			"property": {`sparkConf: {spark.kubernetes.executor.annotation.container.apparmor.security.beta.kubernetes.io/x: unconfined}`, breaksBaseline + "forbidden AppArmor profile"},
		}),
		beyond("UnconfinedPod", "the security context of the pod", baseline, each(anyPod, "PART", `securityContext: {seccompProfile: {type: Unconfined}}`, breaksBaseline+"seccompProfile", tries{
			"field": {`driver: {podSecurityContext: {seccompProfile: {type: Unconfined}}}`, breaksBaseline + "seccompProfile"},
		})),
		beyondAs(connect, "PrivilegedServer", "a server's pods are pods", baseline, tries{
			"server":   {`server: {template: {spec: {hostPID: true, containers: [{name: spark-kubernetes-driver}]}}}`, breaksBaseline + "host namespaces"},
			"executor": {`executor: {template: {spec: {containers: [{name: spark-kubernetes-executor, securityContext: {privileged: true}}]}}}`, breaksBaseline + "privileged"},
		}),
		allowed(baseline, ""),

		beyond("Unrestricted", "who says nothing about security does not meet restricted", restricted, tries{"silent": {"", breaksRestricted}}),
		beyond("Escalation", "a program that becomes root", restricted, tries{
			"unsaid": {withSecurityOf(restrictedPod, `capabilities: {drop: [ALL]}`), breaksRestricted + "allowPrivilegeEscalation != false"},
			"said":   {withSecurityOf(restrictedPod, `allowPrivilegeEscalation: true, capabilities: {drop: [ALL]}`), breaksRestricted + "allowPrivilegeEscalation != false"},
		}),
		beyond("KeptCapabilities", "capabilities that are not dropped", restricted, tries{
			"unsaid": {withSecurityOf(restrictedPod, `allowPrivilegeEscalation: false`), breaksRestricted + "unrestricted capabilities"},
			"added":  {withSecurityOf(restrictedPod, `allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [CHOWN]}`), breaksRestricted + "unrestricted capabilities"},
		}),
		beyond("Root", "root in the container", restricted, tries{
			"unsaid": {withSecurityOf(`seccompProfile: {type: RuntimeDefault}`, restrictedContainer), breaksRestricted + "runAsNonRoot != true"},
			"user":   {withSecurityOf(restrictedPod+`, runAsUser: 0`, restrictedContainer), breaksRestricted + "runAsUser=0"},
		}),
		beyond("UnsaidSeccomp", "no seccomp profile", restricted, tries{"unsaid": {withSecurityOf(`runAsNonRoot: true`, restrictedContainer), breaksRestricted + "seccompProfile"}}),
		beyond("RestrictedVolumes", "storage that restricted does not name", restricted, tries{
			"property": {withSecurityOf(restrictedPod, restrictedContainer) + "\nsparkConf: {spark.kubernetes.executor.volumes.nfs.d.mount.path: /d, spark.kubernetes.executor.volumes.nfs.d.options.path: /, spark.kubernetes.executor.volumes.nfs.d.options.server: s}", breaksRestricted + "restricted volume types"},
			"field":    {strings.Replace(withSecurityOf(restrictedPod, restrictedContainer), "driver: {", "volumes: [{name: d, nfs: {server: s, path: /}}]\ndriver: {volumeMounts: [{name: d, mountPath: /d}], ", 1), breaksRestricted + "restricted volume types"},
		}),
		allowed(restricted, withSecurityOf(restrictedPod, restrictedContainer)),
	)
}
