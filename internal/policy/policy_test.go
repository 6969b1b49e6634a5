// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

const head = `
metadata: {name: pi, namespace: team-a, uid: 7b0f0a52-0000-4000-8000-000000000001}
spec:
  type: Scala
  sparkVersion: 4.1.0
  mainClass: org.apache.spark.examples.SparkPi
  mainApplicationFile: local:///opt/spark/examples/jars/spark-examples.jar
`

// set reads policies as they stand in a configuration file.
func set(t *testing.T, text string) Set {
	t.Helper()
	var s Set
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Validate("policies") {
		t.Fatal(err)
	}
	return s
}

// application reads a manifest: the part of the specification beside what every application has.
func application(t *testing.T, spec string) *v1beta2.SparkApplication {
	t.Helper()
	var o v1beta2.SparkApplication
	if err := yaml.Unmarshal([]byte(head+spec), &o); err != nil {
		t.Fatal(err)
	}
	if o.MalformedSpec != "" {
		t.Fatal(o.MalformedSpec)
	}
	return &o
}

// governed is an application under the policies of its namespace, and what they object to, as people read it.
func governed(t *testing.T, s Set, o *v1beta2.SparkApplication) (spark.Application, []string) {
	t.Helper()
	app, problems := kubeflow.Normalize(o)
	for _, p := range problems {
		t.Fatalf("unexpected problem: %v", p)
	}
	rules := s.For(app.Namespace)
	app = rules.Apply(app)
	var says []string
	built, err := build(app)
	if err != nil {
		return app, nil // which is for others to say
	}
	for _, p := range rules.Check(app, built) {
		says = append(says, validation.Explain(app, p))
	}
	return app, says
}

// build is what would be created of an application.
func build(app spark.Application) (spark.Submission, error) {
	profile, err := spark.ProfileFor(app.SparkVersion)
	if err != nil {
		return spark.Submission{}, err
	}
	return spark.Build(app, spark.NewIdentity(app.UID, 1, time.Unix(0, 0)), profile)
}

func TestFor(t *testing.T) {
	s := set(t, `[{name: all, namespaces: ["*"]}, {name: a, namespaces: [team-a, "team-a-*"]}, {name: b, namespaces: [team-b]}, {name: dev, namespaces: ["*-dev"]}]`)
	cases := map[string][]string{
		"team-a":       {"all", "a"},
		"team-a-dev":   {"all", "a", "dev"},
		"team-b":       {"all", "b"},
		"team-another": {"all"},
		"":             {"all"},
	}
	for namespace, want := range cases {
		var got []string
		for _, p := range s.For(namespace) {
			got = append(got, p.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", namespace, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Whole": {reason: "everything that there is", text: whole},
		"Name":  {reason: "messages mention it", text: `[{namespaces: [a]}]`, want: []string{`policies[0].name: "": give the policy a name; messages to users mention it`}},
		"Twice": {reason: "messages would be ambiguous", text: `[{name: x, namespaces: [a]}, {name: x, namespaces: [b]}]`, want: []string{`policies[1].name: "x": another policy has this name`}},
		"Nobody": {reason: "it would hold nowhere", text: `[{name: x}, {name: y, namespaces: [""]}]`, want: []string{
			`policies[0].namespaces: "": name at least one; "*" matches all`, `policies[1].namespaces[0]: "": write a name, in which * matches any text`,
		}},
		"Sizes": {reason: "Spark's units are not Kubernetes'", text: `[{name: x, namespaces: [a], defaults: {driver: {cores: 0, memory: 1Gi}, executor: {coreLimit: many}}, limits: {driver: {cores: -1}, executor: {memory: 16g}, executors: -1}}]`, want: []string{
			`policies[0].defaults.driver.cores: "0": must be at least 1`,
			`policies[0].defaults.driver.memory: "1Gi": write a size in Spark's units, such as "512m" or "2g"`,
			`policies[0].defaults.executor.coreLimit: "many": write a positive Kubernetes quantity such as "500m", "4" or "16Gi"`,
			`policies[0].limits.driver.cores: "-1": write a positive Kubernetes quantity such as "500m", "4" or "16Gi"`,
			`policies[0].limits.executor.memory: "16g": write a positive Kubernetes quantity such as "500m", "4" or "16Gi"`,
			`policies[0].limits.executors: "-1": must not be negative`,
		}},
		"Properties": {reason: "an application would be refused for each, and a cluster run without it", text: `[{name: x, namespaces: [a], defaults: {sparkConf: {spark.driver.memory: 2gb, spark.driver.cores: "1.5", spark.executor.memory: 2gbb,
			spark.executor.cores: "0", spark.executor.memoryOverhead: 1Gi, spark.kubernetes.executor.limit.cores: many, spark.memory.offHeap.size: "${spark.x}", spark.executor.memoryOverheadFactor: "-1"}}},
			{name: y, namespaces: [a], defaults: {sparkConf: {spark.executor.memory: "0", spark.driver.memory: 2g, spark.executor.cores: "2", spark.driver.memoryOverhead: 1g}}}]`, want: []string{
			`policies[0].defaults.sparkConf["spark.driver.memory"]: "2gb": not a heap size that a JVM takes; write a whole number and one of k, m, g, t, such as "512m" or "2g"`,
			`policies[0].defaults.sparkConf["spark.executor.memory"]: "2gbb": not a size; write a whole number and one of k, m, g, t, such as "512m" or "2g"`,
			`policies[0].defaults.sparkConf["spark.executor.memoryOverhead"]: "1Gi": a Kubernetes quantity, where Spark expects its own size format; write "1g"`,
			`policies[0].defaults.sparkConf["spark.executor.memoryOverheadFactor"]: "-1": not a factor; write a number that is not negative, such as "0.1"`,
			`policies[0].defaults.sparkConf["spark.kubernetes.executor.limit.cores"]: "many": not a number of cores; write a Kubernetes quantity that is not negative, such as "500m" or "2"`,
			`policies[0].defaults.sparkConf["spark.driver.cores"]: "1.5": not a positive whole number; write e.g. "2"`,
			`policies[0].defaults.sparkConf["spark.executor.cores"]: "0": not a positive whole number; write e.g. "2"`,
			`policies[1].defaults.sparkConf["spark.executor.memory"]: "0": not a size: a positive whole number with one of the suffixes k, m, g, t and p; write e.g. "2g"`,
		}},
		"Words": {reason: "each would fail in every application", text: `[{name: x, namespaces: [a], defaults: {imagePullPolicy: Sometimes, serviceAccount: "A b", sparkConf: {executor.memory: 1g}, labels: {"a b": c, spark-role: x}, timeToLiveSeconds: -1, deadlines: {queued: 0s, driverScheduled: soon, driverReady: 60, firstExecutors: -1m, run: 1h}}, limits: {requiredLabels: [" "], images: [""], serviceTypes: [clusterip], hosts: [""], timeToLiveSeconds: 9999999999}}]`, want: []string{
			`policies[0].defaults.imagePullPolicy: "Sometimes": must be "Always", "Never" or "IfNotPresent"`,
			`policies[0].defaults.serviceAccount: "A b": not the name of a service account`,
			`policies[0].defaults.sparkConf: "executor.memory": not a Spark property; those begin with spark.`,
			`policies[0].defaults.labels: "a b=c": not a label that a pod may have; Spark's own are reserved`,
			`policies[0].defaults.labels: "spark-role=x": not a label that a pod may have; Spark's own are reserved`,
			`policies[0].defaults.timeToLiveSeconds: "-1": must be seconds, not negative and at most 100 years`,
			`policies[0].defaults.deadlines.queued: "0s": write a positive duration such as "30m"; leave it out for no deadline`,
			`policies[0].defaults.deadlines.driverScheduled: "soon": write a positive duration such as "30m"; leave it out for no deadline`,
			`policies[0].defaults.deadlines.driverReady: "60": write a positive duration such as "30m"; leave it out for no deadline`,
			`policies[0].defaults.deadlines.firstExecutors: "-1m": write a positive duration such as "30m"; leave it out for no deadline`,
			`policies[0].limits.images[0]: "": write a name, in which * matches any text`,
			`policies[0].limits.hosts[0]: "": write a name, in which * matches any text`,
			`policies[0].limits.serviceTypes[0]: "clusterip": must be one of ClusterIP, NodePort, LoadBalancer, ExternalName`,
			`policies[0].limits.requiredLabels[0]: " ": not the name of a label`,
			`policies[0].limits.timeToLiveSeconds: "9999999999": must be seconds, not negative and at most 100 years`,
		}},
		"Limits": {reason: "each would forbid something else than it seems to", text: `[{name: x, namespaces: [a], limits: {podSecurity: privileged, volumeClaims: -1, retriesPerHour: -1, tolerations: [""], driver: {resources: {cpu: 1, "": 1, gpu: -1, good: 0}}}}]`, want: []string{
			`policies[0].limits.tolerations[0]: "": write a name, in which * matches any text`,
			`policies[0].limits.podSecurity: "privileged": must be one of baseline, restricted`,
			`policies[0].limits.driver.resources: "": write a pattern of names with a limit, such as "nvidia.com/*": 1; 0 forbids it`,
			`policies[0].limits.driver.resources: "cpu": set cores or memory outside of resources`,
			`policies[0].limits.driver.resources: "gpu": write a pattern of names with a limit, such as "nvidia.com/*": 1; 0 forbids it`,
			`policies[0].limits.volumeClaims: "-1": must not be negative`,
			`policies[0].limits.retriesPerHour: "-1": must not be negative`,
		}},
		"Rules": {reason: "each would allow nothing, or seem to allow less than it does", text: `[{name: x, namespaces: [a], limits: {hosts: ["{{$appName}}.example.org"], gateways: [inner, "{x}/y"], paths: ["", team-a, "/{namespace}", "/a/../b", "/a//b", "/a b", "*"]}}]`, want: []string{
			`policies[0].limits.hosts[0]: "{{$appName}}.example.org": unmatched brace; the placeholder is {{$appNamespace}}`,
			`policies[0].limits.paths[0]: "": write a name, in which * matches any text`,
			`policies[0].limits.paths[1]: "team-a": paths begin with /; write e.g. /{{$appNamespace}}`,
			`policies[0].limits.paths[2]: "/{namespace}": unmatched brace; the placeholder is {{$appNamespace}}`,
			`policies[0].limits.paths[3]: "/a/../b": the path "/a/../b" has an empty segment, or . or .., which proxies remove`,
			`policies[0].limits.paths[4]: "/a//b": the path "/a//b" has an empty segment, or . or .., which proxies remove`,
			`policies[0].limits.paths[5]: "/a b": the path "/a b" has a character other than A-Z a-z 0-9 . _ ~ / -`,
			`policies[0].limits.paths[6]: "*": paths begin with /; write e.g. /{{$appNamespace}}`,
			`policies[0].limits.gateways[0]: "inner": write NAMESPACE/NAME, such as {{$appNamespace}}/*`,
			`policies[0].limits.gateways[1]: "{x}/y": unmatched brace; the placeholder is {{$appNamespace}}`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s Set
			if err := yaml.UnmarshalStrict([]byte(tc.text), &s); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, err := range s.Validate("policies") {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// whole names every field.
const whole = `
- name: team-a
  namespaces: [team-a, "team-a-*"]
  defaults:
    image: registry.example/spark:4.1.0
    imagePullPolicy: Always
    serviceAccount: spark
    driver: {cores: 2, coreLimit: 2500m, memory: 2g}
    executor: {cores: 3, coreLimit: 4, memory: 4g}
    sparkConf: {spark.eventLog.enabled: "true"}
    labels: {team: a}
    batchScheduler: volcano
    queue: a
    timeToLiveSeconds: 3600
  limits:
    images: [registry.example/*]
    serviceAccounts: [spark]
    driver: {cores: 4, memory: 8Gi, resources: {"*": 0}}
    executor: {cores: 4, memory: 8Gi, resources: {"*": 0, nvidia.com/gpu: 1}}
    executors: 10
    podSecurity: restricted
    podLabels: [team]
    podAnnotations: ["example.org/*"]
    schedulerNames: [volcano]
    priorityClasses: [low]
    runtimeClasses: [gvisor]
    storageClasses: [standard]
    pullSecrets: [registry]
    tolerations: ["team/*"]
    nodeLabels: [pool]
    volumeClaims: 20
    retriesPerHour: 6
    forbidLogTails: true
    forbiddenConf: [spark.plugins]
    requiredLabels: [team]
    timeToLiveSeconds: 7200
    forbidHostAccess: true
    serviceTypes: [ClusterIP, NodePort]
    hosts: ["*.team-a.example.org", "{{$appNamespace}}.example.org"]
    paths: [/, "/{{$appNamespace}}", "/*/ui/"]
    forbiddenAnnotations: ["*-snippet"]
    forbiddenLabels: ["grafana_*"]
    ingressClasses: [inner]
    gateways: ["{{$appNamespace}}/*", gateways/inner]
    plainServices: true
    forbidNetworkPeers: true
    volumeClaimStorage: 1Ti
`
