// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/policy"
)

// claims gives a role of a cluster a claim for each of its pods.
func claims(role string) string {
	return role + "Spec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d}}]}}\n"
}

// sized gives a role a claim of that size for each of its pods.
func sized(role, size string) string {
	return role + "Spec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: " + size + "}}}}]}}\n"
}

// A standalone cluster is bound by the same limits as an application: the master by those on drivers, workers by those on executors.
func TestLimitsOfClusters(t *testing.T) {
	const (
		master, worker = "masterSpec: {statefulSetSpec: {template: ", "workerSpec: {statefulSetSpec: {template: "
		own            = "spec: {containers: [{name: "
	)
	cases := map[string]struct {
		reason, limits, spec string
		want                 string // "" for none
	}{
		"Nothing":      {reason: "no limit is no limit", spec: master + "{spec: {hostNetwork: true}}}}"},
		"Plain":        {reason: "a cluster without anything of its own", limits: "{images: [apache/*], podSecurity: baseline, schedulerNames: [volcano], podLabels: [team], podAnnotations: [x], serviceTypes: [ClusterIP], forbiddenAnnotations: ['*']}"},
		"Image":        {reason: "the configuration names it", limits: "{images: [spark*]}", spec: "sparkConf: {spark.kubernetes.container.image: evil}", want: `spec.masterSpec.statefulSetSpec.template: "evil": the image of container master; namespace jobs allows the images spark*`},
		"DefaultImage": {reason: "nothing names it", limits: "{images: [spark*]}", want: "the image of container master"},
		"Sidecar":      {reason: "any container", limits: "{images: [apache/*]}", spec: worker + "{" + own + "side, image: evil}]}}}}", want: `spec.workerSpec.statefulSetSpec.template: "evil": the image of container side`},
		"Host":         {reason: "the node's network", limits: "{forbidHostAccess: true}", spec: master + "{spec: {hostNetwork: true}}}}", want: "spec.masterSpec.statefulSetSpec.template.spec.hostNetwork: the pod shares its node's network"},
		"HostPath":     {reason: "a directory of the node", limits: "{forbidHostAccess: true}", spec: worker + "{spec: {volumes: [{name: v, hostPath: {path: /}}]}}}}", want: `spec.workerSpec.statefulSetSpec.template.spec.volumes: "v": is a directory of the node`},
		"Privileged":   {reason: "Kubernetes' own standard", limits: "{podSecurity: baseline}", spec: worker + "{" + own + "worker, securityContext: {privileged: true}}]}}}}", want: `violates Pod Security "baseline": privileged`},
		"Account":      {reason: "the default account, which nothing names", limits: "{serviceAccounts: [spark]}", want: `spec.masterSpec.statefulSetSpec.template.spec.serviceAccountName: "default": namespace jobs allows the service accounts spark`},
		"OtherAccount": {reason: "a property of drivers is not the pods'", limits: "{serviceAccounts: [spark]}", spec: "sparkConf: {spark.kubernetes.authenticate.driver.serviceAccountName: spark}", want: `"default"`},
		"Memory":       {reason: "the sum of a pod", limits: "{executor: {memory: 1Gi}}", spec: worker + "{" + own + "worker, resources: {limits: {memory: 2Gi}}}]}}}}", want: "spec.workerSpec.statefulSetSpec.template.spec.containers: the worker pod requests 2Gi of memory in total; namespace jobs allows at most 1Gi"},
		"Master":       {reason: "the limits of drivers are the master's", limits: "{executor: {memory: 1Gi}}", spec: master + "{" + own + "master, resources: {limits: {memory: 2Gi}}}]}}}}\n" + worker + "{" + own + "worker, resources: {limits: {memory: 1Gi}}}]}}}}"},
		"Unwritten":    {reason: "what is not written has no end", limits: "{executor: {memory: 1Gi}}", want: `spec.workerSpec.statefulSetSpec.template.spec.containers: the container worker has no limit of memory; write resources.limits.memory; namespace jobs allows at most 1Gi`},
		"OfMasterOnly": {reason: "each role has its own limits", limits: "{driver: {cores: 1}}", want: "spec.masterSpec.statefulSetSpec.template.spec.containers: the container master requests no cpu; write resources.requests.cpu; namespace jobs allows at most 1"},
		"Requested":    {reason: "a request of memory holds up no container", limits: "{executor: {memory: 1Gi}}", spec: worker + "{" + own + "worker, resources: {requests: {memory: 1Mi}}}]}}}}", want: "the container worker has no limit of memory"},
		"Written":      {reason: "a limit is a request", limits: "{executor: {cores: 1, memory: 1Gi}}", spec: worker + "{" + own + "worker, resources: {limits: {cpu: 1, memory: 1Gi}}}]}}}}"},
		"UnsaidSide":   {reason: "any container", limits: "{executor: {cores: 2}}", spec: worker + "{" + own + "worker, resources: {requests: {cpu: 1}}}, {name: side}]}}}}", want: "the container side requests no cpu"},
		"UnsaidInit":   {reason: "one that runs first", limits: "{executor: {cores: 2}}", spec: worker + "{spec: {initContainers: [{name: first}], containers: [{name: worker, resources: {requests: {cpu: 1}}}]}}}}", want: "the container first requests no cpu"},
		"WholePod":     {reason: "what is said of the pod as a whole is not read by older versions of Kubernetes", limits: "{executor: {memory: 1Gi}}", spec: worker + "{spec: {resources: {limits: {memory: 1Gi}}}}}}", want: "the container worker has no limit of memory"},
		"Devices":      {reason: "other resources", limits: "{executor: {resources: {'*': '0'}}}", spec: worker + "{" + own + "worker, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}", want: "nvidia.com/gpu"},
		"Workers":      {reason: "as many as an autoscaler may make", limits: "{executors: 4}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 5}}", want: `spec.clusterTolerations.instanceConfig.maxWorkers: "5": namespace jobs allows at most 4 workers at a time`},
		"FewWorkers":   {reason: "without an autoscaler the maximum has no meaning", limits: "{executors: 4}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 4, minWorkers: 9, maxWorkers: 9}}"},
		"Conf":         {reason: "a property that is forbidden", limits: "{forbiddenConf: [spark.master.rest.*]}", spec: "sparkConf: {spark.master.rest.enabled: 'true'}", want: `spec.sparkConf["spark.master.rest.enabled"]: namespace jobs allows no such property`},
		"Scheduler":    {reason: "a name that the user chose", limits: "{schedulerNames: [volcano]}", spec: "sparkConf: {spark.kubernetes.scheduler.name: mine}", want: "volcano"},
		"Priority":     {reason: "a class of priority", limits: "{priorityClasses: [low]}", spec: master + "{spec: {priorityClassName: high}}}}", want: `"high"`},
		"Toleration":   {reason: "nodes of others", limits: "{tolerations: [team]}", spec: worker + "{spec: {tolerations: [{key: gpu}]}}}}", want: "gpu"},
		"PodLabel":     {reason: "a label of the user's", limits: "{podLabels: [team]}", spec: master + "{metadata: {labels: {evil: x}}}}}", want: "evil"},
		"Annotation":   {reason: "on the set itself", limits: "{forbiddenAnnotations: [evil]}", spec: "masterSpec: {statefulSetMetadata: {annotations: {evil: x}}}", want: `spec.masterSpec.statefulSetMetadata.annotations["evil"]`},
		"OnService":    {reason: "on the Service", limits: "{forbiddenAnnotations: [evil]}", spec: "workerSpec: {serviceMetadata: {annotations: {evil: x}}}", want: `spec.workerSpec.serviceMetadata.annotations["evil"]`},
		"OnClaim":      {reason: "on what is claimed for each pod", limits: "{forbiddenAnnotations: [evil]}", spec: "workerSpec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d, annotations: {evil: x}}}]}}", want: "evil"},
		"ServiceType":  {reason: "headless Services have no type, but external addresses", limits: "{serviceTypes: [ClusterIP]}", spec: "masterSpec: {serviceSpec: {externalIPs: [10.0.0.1]}}", want: "spec.masterSpec.serviceSpec.externalIPs"},
		"Claims":       {reason: "those of all pods", limits: "{volumeClaims: 2}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 3}}\n" + claims("worker"), want: `spec.workerSpec.statefulSetSpec.volumeClaimTemplates: "1": the PersistentVolumeClaims of a cluster are 0 for its master and 1 for each of 3 workers; namespace jobs allows at most 2`},
		"BothRoles":    {reason: "each is within the limit, and both are not", limits: "{volumeClaims: 3}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 3}}\n" + claims("master") + claims("worker"), want: "PersistentVolumeClaims of a cluster are 1 for its master and 1 for each of 3 workers; namespace jobs allows at most 3"},
		"Largest":      {reason: "as many as an autoscaler may make", limits: "{volumeClaims: 5}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 5}}\n" + claims("master") + claims("worker"), want: "1 for each of 5 workers"},
		"AllClaims":    {reason: "as many as allowed", limits: "{volumeClaims: 6}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 5}}\n" + claims("master") + claims("worker")},
		"OfMaster":     {reason: "ephemeral volumes are claims, too", limits: "{volumeClaims: 0}", spec: master + "{spec: {volumes: [{name: e, ephemeral: {volumeClaimTemplate: {}}}]}}}}", want: `spec.masterSpec.statefulSetSpec.volumeClaimTemplates: "1"`},
		"Storage":      {reason: "what all claims hold", limits: "{volumeClaimStorage: 5Gi}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 3}}\n" + sized("master", "1Gi") + sized("worker", "1536Mi"), want: `spec.workerSpec.statefulSetSpec.volumeClaimTemplates: the PersistentVolumeClaims of a cluster request 5632Mi of storage in total; namespace jobs allows at most 5Gi`},
		"AllStorage":   {reason: "as much as allowed", limits: "{volumeClaimStorage: 5632Mi}", spec: "clusterTolerations: {instanceConfig: {initWorkers: 3}}\n" + sized("master", "1Gi") + sized("worker", "1536Mi")},
		"Ephemeral":    {reason: "ephemeral volumes are claims, too", limits: "{volumeClaimStorage: 1Gi}", spec: master + "{spec: {volumes: [{name: e, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 2Gi}}}}}}]}}}}", want: "spec.masterSpec.statefulSetSpec.volumeClaimTemplates: the PersistentVolumeClaims of a cluster request 2Gi"},
		"Everybody":    {reason: "any address may reach a port of workers", limits: "{forbidNetworkPeers: true}", spec: "workerSpec: {networkPolicy: {metricsPort: 7078, metricsIngress: [{podSelector: {}}, {ipBlock: {cidr: 0.0.0.0/0}}]}}", want: `spec.workerSpec.networkPolicy.metricsIngress: "0.0.0.0/0": namespace jobs allows only peers in this namespace`},
		"Namespaces":   {reason: "any pod of any namespace may", limits: "{forbidNetworkPeers: true}", spec: "workerSpec: {networkPolicy: {metricsPort: 7078, metricsIngress: [{namespaceSelector: {}, podSelector: {}}]}}", want: "allows only peers in this namespace"},
		"NoPeer":       {reason: "one that says nothing is refused by the API server, and may be anyone", limits: "{forbidNetworkPeers: true}", spec: "workerSpec: {networkPolicy: {metricsPort: 7078, metricsIngress: [{}]}}", want: "allows only peers in this namespace"},
		"Neighbors":    {reason: "pods of the namespace", limits: "{forbidNetworkPeers: true}", spec: "workerSpec: {networkPolicy: {metricsPort: 7078, metricsIngress: [{podSelector: {}}]}}"},
		"FixedIP":      {reason: "an address that a cluster's own Service takes", limits: "{plainServices: true}", spec: "masterSpec: {serviceSpec: {loadBalancerIP: 10.0.0.1, ports: [{port: 1, nodePort: 30000}]}}", want: "spec.masterSpec.serviceSpec.loadBalancerIP"},
		"Label":        {reason: "on the set itself", limits: "{forbiddenLabels: [evil]}", spec: "masterSpec: {statefulSetMetadata: {labels: {evil: x}}}", want: `spec.masterSpec.statefulSetMetadata.labels["evil"]: namespace jobs allows no such label`},
		"ServiceLabel": {reason: "on the Service", limits: "{forbiddenLabels: [evil]}", spec: "workerSpec: {serviceMetadata: {labels: {evil: x}}}", want: `spec.workerSpec.serviceMetadata.labels["evil"]: namespace jobs allows no such label`},
		"OwnLabels":    {reason: "those of the operator are not meant", limits: "{forbiddenLabels: ['*']}"},
		"StorageClass": {reason: "the class of a claim", limits: "{storageClasses: [slow]}", spec: "workerSpec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {storageClassName: fast}}]}}", want: `"fast"`},
		"Required":     {reason: "a label that bills go by", limits: "{requiredLabels: [team]}", want: `spec.masterSpec.statefulSetSpec.template.metadata.labels["team"]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{}
			o.Namespace, o.Name, o.Spec.RuntimeVersions.SparkVersion = "jobs", "pi", "4.1.4"
			p := policy.Policy{Name: "strict", Namespaces: []string{"*"}}
			for text, into := range map[string]any{tc.limits: &p.Limits, tc.spec: &o.Spec} {
				if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			var said []string
			for _, e := range (policy.Set{p}).CheckCluster(apache.Clusters{}.Load(o, policy.Set{}.Apply, nil).Built) {
				said = append(said, e.About(apache.ClusterNames(o).PathOf(e)))
			}
			got := strings.Join(said, "\n")
			if (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
