// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

// What the API server refuses of a pod is said before, by the field that the user wrote: of drivers (case 020), of executors (case 019), which the
// driver makes, and of a standalone cluster's members, which a StatefulSet makes.
func TestPodsAreJudged(t *testing.T) {
	const (
		kubeflow = head + "spec:\n  type: Scala\n  sparkVersion: 4.1.4\n  image: a/b:c\n  mainClass: M\n  mainApplicationFile: local:///a.jar\n"
		apache   = "apiVersion: spark.apache.org/v1\nkind: SparkApplication\nmetadata: {name: pi}\nspec:\n  mainClass: M\n  jars: local:///a.jar\n" +
			"  runtimeVersions: {sparkVersion: 4.1.4}\n  sparkConf: {spark.kubernetes.container.image: a/b:c}\n"
		cluster = "apiVersion: spark.apache.org/v1\nkind: SparkCluster\nmetadata: {name: pool}\nspec:\n  runtimeVersions: {sparkVersion: 4.1.4}\n" +
			"  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}\n"
		roles = "  driver: {}\n  executor: {}\n"
	)
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ reason, text, want string }{
		"EnvFrom":     {"a name that no Secret has", kubeflow + "  driver:\n    env: [{name: A, value: b}]\n    envFrom: [{secretRef: {name: Login_A}}]\n  executor: {}\n", `spec.driver.envFrom[0].secretRef.name: "Login_A": Kubernetes refuses it`},
		"HostAliases": {"a host where an address is wanted", kubeflow + "  driver: {}\n  executor:\n    hostAliases: [{ip: store.example.org, hostnames: [store]}]\n", `spec.executor.hostAliases[0].ip: "store.example.org": Kubernetes refuses it`},
		"Affinity": {
			"In needs values", kubeflow + "  driver: {}\n  executor:\n    affinity:\n      nodeAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms:\n" +
				"          - matchExpressions: [{key: pool, operator: In}]\n",
			"spec.executor.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: missing",
		},
		"Volume": {
			"two sources; the first volume is of the other role, and a ConfigMap comes before them", kubeflow +
				"  sparkConfigMap: conf\n  volumes:\n  - {name: a, emptyDir: {}}\n  - {name: b, emptyDir: {}, hostPath: {path: /b}}\n" +
				"  driver:\n    volumeMounts: [{name: b, mountPath: /b}]\n  executor:\n    volumeMounts: [{name: a, mountPath: /a}]\n",
			"spec.volumes[1].hostPath: Kubernetes does not allow it: may not specify more than 1 volume type",
		},
		"ConfigMap":  {"the volume is made from the field", kubeflow + "  driver:\n    configMaps: [{name: good, path: /a}, {name: Bad_One, path: /b}]\n  executor: {}\n", `spec.driver.configMaps[1]: "Bad_One-vol": Kubernetes refuses it`},
		"Property":   {"Spark makes a variable of it", kubeflow + roles + "  sparkConf: {spark.kubernetes.driver.secretKeyRef.A: 'Login_A:key'}\n", `spec.sparkConf["spark.kubernetes.driver.secretKeyRef.A"]: "Login_A": Kubernetes refuses it`},
		"Probe":      {"below its range, in a template's container that is not Spark's", kubeflow + "  driver:\n    template:\n      spec:\n        containers:\n        - {name: a}\n        - {name: log, image: log, livenessProbe: {exec: {command: [ls]}, periodSeconds: -1}}\n  executor: {}\n", `spec.driver.template.spec.containers[1].livenessProbe.periodSeconds: "-1": Kubernetes refuses it`},
		"OwnInTempl": {"in the template's container that becomes Spark's", kubeflow + "  driver: {}\n  executor:\n    template:\n      spec:\n        containers:\n        - {name: a, securityContext: {runAsUser: -5}}\n", `spec.executor.template.spec.containers[0].securityContext.runAsUser: "-5": Kubernetes refuses it`},
		"Mode":       {"a mode above 0777", kubeflow + "  volumes: [{name: v, secret: {secretName: s, defaultMode: 5000}}]\n  driver:\n    volumeMounts: [{name: v, mountPath: /v}]\n  executor: {}\n", `spec.volumes[0].secret.defaultMode: "5000": Kubernetes refuses it`},
		"Lifecycle":  {"no handler", kubeflow + "  driver:\n    lifecycle: {preStop: {}}\n  executor: {}\n", "spec.driver.lifecycle.preStop: missing"},
		"Privileged": {"both at once", kubeflow + "  driver:\n    securityContext: {privileged: true, allowPrivilegeEscalation: false}\n  executor: {}\n", "spec.driver.securityContext: Kubernetes refuses it: cannot set"},
		"DNS":        {"a name server is an address", kubeflow + "  driver:\n    dnsConfig: {nameservers: [dns.example.org]}\n  executor: {}\n", `spec.driver.dnsConfig.nameservers[0]: "dns.example.org": Kubernetes refuses it`},
		"Apache":     {"the other family's template", apache + "  driverSpec:\n    podTemplateSpec:\n      spec:\n        dnsPolicy: Cluster\n", `spec.driverSpec.podTemplateSpec.spec.dnsPolicy: "Cluster": not a value that Kubernetes takes`},
		"ApacheExec": {"and its executors", apache + "  executorSpec:\n    podTemplateSpec:\n      spec:\n        tolerations: [{operator: Equals, key: a}]\n", `spec.executorSpec.podTemplateSpec.spec.tolerations[0].operator: "Equals": not a value`},
		"Server":     {"a server's template", lab("  server:\n    template:\n      spec:\n        hostname: A.b\n"), `spec.server.template.spec.hostname: "A.b": Kubernetes refuses it`},
		"Master":     {"a cluster's master", cluster + "  masterSpec:\n    statefulSetSpec:\n      template:\n        spec:\n          containers:\n          - {name: log, image: log, imagePullPolicy: Now}\n", `spec.masterSpec.statefulSetSpec.template.spec.containers[0].imagePullPolicy: "Now": not a value that Kubernetes takes`},
		"Worker": {
			"a worker's own container mounts a claim, and what is nowhere", cluster + "  workerSpec:\n    statefulSetSpec:\n      volumeClaimTemplates:\n      - {metadata: {name: scratch}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n" +
				"      template:\n        spec:\n          containers:\n          - {name: worker, volumeMounts: [{name: scratch, mountPath: /a}, {name: nowhere, mountPath: /b}]}\n",
			`spec.workerSpec.statefulSetSpec.template.spec.containers[0].volumeMounts[1].name: "nowhere": no volume of the pod has this name; add it to the volumes of the template`,
		},
	} {
		var got []string
		for _, f := range Check(documents(t, tc.text), kinds.Assumed{Namespace: "data", Now: time.Unix(0, 0)}, resolve.Operator{Registry: registry}) {
			if f.Severity == Error {
				got = append(got, f.Message)
			}
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], tc.want) {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, cmp.Diff([]string{tc.want}, got))
		}
	}
}
