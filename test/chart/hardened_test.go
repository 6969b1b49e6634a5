// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/text"
)

const (
	digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	// must are the values that the switch asks for.
	must = `hardened: true
image: {digest: "` + digest + `"}
spark: {jobNamespaces: [a, b]}
executorAdmissionPolicy: {images: ["registry.example/spark*"]}
`
)

// hardenings are promises of the switch: docs/helm-values.md and values.yaml list them.
var hardenings = map[string]combination{
	"Image": {reason: "a tag can be moved", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		for _, part := range []string{controller, webhook} {
			if image := podOf(t, all, part).Containers[0].Image; image != "firesteel.local/spark-operator@"+digest {
				t.Errorf("%s runs %s", part, image)
			}
		}
	}},
	"Webhook": {reason: "nothing is stored unseen, and a webhook that may refuse has to be there", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		for _, hook := range as[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration "+webhook).Webhooks {
			if *hook.FailurePolicy != admissionv1.Fail || !slices.Equal(hook.NamespaceSelector.MatchExpressions[0].Values, []string{"a", "b"}) {
				t.Errorf("%s: %s in %v", hook.Name, *hook.FailurePolicy, hook.NamespaceSelector)
			}
		}
		if hook := as[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration "+webhook).Webhooks[0]; *hook.FailurePolicy != admissionv1.Fail {
			t.Errorf("%s: %s", hook.Name, *hook.FailurePolicy)
		}
	}},
	"Replicas": {reason: "neither a node that fails nor one that is drained stops anything", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		for _, part := range []string{controller, webhook} {
			deployment := as[appsv1.Deployment](t, all, "Deployment ops/"+part)
			budget := as[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget ops/"+part+"-pdb")
			spread := deployment.Spec.Template.Spec.TopologySpreadConstraints
			if *deployment.Spec.Replicas != 2 || budget.Spec.MinAvailable.IntValue() != 1 || len(spread) != 1 || spread[0].TopologyKey != "kubernetes.io/hostname" {
				t.Errorf("%s: %d replicas, budget %v, spread %v", part, *deployment.Spec.Replicas, budget.Spec, spread)
			}
		}
		if !configOf(t, all, configMap).LeaderElection.Enabled {
			t.Error("both replicas work")
		}
	}},
	"Namespaces": {reason: "no rights beyond the list, and none on what the cluster has in common", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		if c := configOf(t, all, configMap); !slices.Equal(c.Namespaces, []string{"a", "b"}) || c.NamespaceSelector != "" {
			t.Errorf("namespaces %v and %q", c.Namespaces, c.NamespaceSelector)
		}
		for _, key := range all.keys("ClusterRole") {
			for _, rule := range as[rbacv1.ClusterRole](t, all, key).Rules {
				asks := slices.Contains(rule.Resources, "tokenreviews") || slices.Contains(rule.Resources, "subjectaccessreviews") || len(rule.NonResourceURLs) > 0
				if !asks && len(rule.ResourceNames) == 0 {
					t.Errorf("%s in the whole cluster: %+v", key, rule)
				}
			}
		}
	}},
	"Exposure": {reason: "nobody publishes a driver: not the operator, and not the driver's program", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		ui := configOf(t, all, configMap).UI
		if ui.Ingress.Enabled || ui.Ingress.URLFormat != "" || ui.Route.URLFormat != "" {
			t.Errorf("%+v", ui)
		}
		for _, namespace := range []string{"a", "b"} {
			if rules := as[rbacv1.Role](t, all, "Role "+namespace+"/"+controller).Rules; grants(rules, "networking.k8s.io", "ingresses", "create") {
				t.Errorf("the operator may make Ingresses: %+v", rules)
			}
			rules := as[rbacv1.Role](t, all, "Role "+namespace+"/spark-operator-spark").Rules
			for _, verb := range []string{"create", "update", "patch"} {
				if grants(rules, "", "services", verb) || !grants(rules, "", "pods", verb) {
					t.Errorf("drivers may %s: %+v", verb, rules)
				}
			}
			if grants(rules, "", "pods/resize", "patch") {
				t.Errorf("drivers resize pods beyond what was judged: %+v", rules)
			}
			if !grants(rules, "", "services", "deletecollection") {
				t.Errorf("Spark deletes its Services at its end: %+v", rules)
			}
		}
	}},
	"Metrics": {reason: "only those who may, and nobody on the way", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		if m := configOf(t, all, configMap).Metrics; !m.Authentication || !m.TLS.Enabled {
			t.Errorf("metrics %+v", m)
		}
		checkReviews(t, all, controller, webhook)
	}},
	"NoMetrics": {reason: "stricter than the switch", values: must + "prometheus: {metrics: {enable: false}}", check: func(t *testing.T, all objects) {
		t.Helper()
		if c := configOf(t, all, configMap); c.Metrics.BindAddress != "0" {
			t.Errorf("metrics %+v", c.Metrics)
		}
		lacks(t, all, "ClusterRole spark-operator-metrics-reader", "ClusterRole "+controller+"-metrics-authentication")
		for _, part := range []string{controller, webhook} {
			for _, rule := range as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy ops/"+part).Spec.Ingress {
				if len(rule.Ports) == 0 || rule.Ports[0].Port.IntValue() == 8080 {
					t.Errorf("%s: open for what is not there: %+v", part, rule)
				}
			}
		}
	}},
	"Submitter": {reason: "who it was, where the cluster can hold it", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		if from := configOf(t, all, configMap).Submitter.From; from != "AdmissionPolicy" {
			t.Errorf("the operator believes %q", from)
		}
		binding := as[admissionv1.MutatingAdmissionPolicyBinding](t, all, "MutatingAdmissionPolicyBinding spark-operator-submitter").Spec
		if !slices.Equal(binding.MatchResources.NamespaceSelector.MatchExpressions[0].Values, []string{"a", "b"}) {
			t.Errorf("it is recorded in %+v", binding.MatchResources)
		}
	}},
	"Network": {reason: "the operator talks to the API server and to servers, and only scrapers and API servers to it", values: must + `
networkPolicy: {apiServer: {to: [{ipBlock: {cidr: 10.0.0.1/32}}], ports: [6443]}, webhook: {from: [{ipBlock: {cidr: 10.0.0.0/24}}]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		api, calls := "6443 10.0.0.1/32", "9443 10.0.0.0/24"
		want := map[string][]string{controller: {"< 8080 metrics=enabled", "> " + api, "> 53 53 kube-system", "> 4040 a,b/servers"}, webhook: {"< " + calls, "< 8080 metrics=enabled", "> " + api}}
		for part, rules := range want {
			network := as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy ops/"+part)
			if diff := cmp.Diff(rules, rulesOf(network.Spec)); diff != "" || len(network.Spec.PolicyTypes) != 2 {
				t.Errorf("%s, %v (-want +got):\n%s", part, network.Spec.PolicyTypes, diff)
			}
			labels := as[appsv1.Deployment](t, all, "Deployment ops/"+part).Spec.Selector.MatchLabels
			if diff := cmp.Diff(labels, network.Spec.PodSelector.MatchLabels); diff != "" {
				t.Errorf("%s: other pods: %s", part, diff)
			}
		}
	}},
	"Executors": {reason: "what a driver starts by itself is bound, too", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		executors := as[admissionv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy spark-operator-executors").Spec
		if *executors.FailurePolicy != admissionv1.Fail || variable(executors, "images") != `["registry.example/spark*"]` || variable(executors, "hostAccess") != "false" {
			t.Errorf("%s: images %s, host access %s", *executors.FailurePolicy, variable(executors, "images"), variable(executors, "hostAccess"))
		}
		binding := as[admissionv1.ValidatingAdmissionPolicyBinding](t, all, "ValidatingAdmissionPolicyBinding spark-operator-executors").Spec
		if !slices.Equal(binding.MatchResources.NamespaceSelector.MatchExpressions[0].Values, []string{"a", "b"}) {
			t.Errorf("it binds in %+v", binding.MatchResources)
		}
	}},
	"Policy": {reason: "what applications may ask for", values: must, check: func(t *testing.T, all objects) {
		t.Helper()
		got := hardenedPolicy(t, all)
		want := policy.Policy{Name: "hardened", Namespaces: []string{"a", "b"}, Defaults: policy.Defaults{ServiceAccount: "spark-operator-spark"}, Limits: policy.Limits{
			PodSecurity: "restricted", Images: []string{"registry.example/spark*"}, ServiceAccounts: []string{"spark-operator-spark"},
			SchedulerNames: []string{"default-scheduler"}, ServiceTypes: []string{"ClusterIP"}, ForbiddenAnnotations: got.Limits.ForbiddenAnnotations,
			ForbiddenLabels: []string{"grafana_*"}, PlainServices: true, ForbidNetworkPeers: true, ForbiddenConf: got.Limits.ForbiddenConf,
			PriorityClasses: []string{"(none)"}, RuntimeClasses: []string{"(none)"}, Tolerations: []string{"(none)"},
			NodeLabels:   []string{"kubernetes.io/arch", "kubernetes.io/os", "topology.kubernetes.io/zone"},
			VolumeClaims: new(int32(20)), RetriesPerHour: new(int32(12)), ForbidLogTails: true,
		}}
		if diff := cmp.Diff(want, got); diff != "" || len(got.Limits.ForbiddenAnnotations) == 0 {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}},
	"Allows": {reason: "an administrator's own exceptions, and more policies, whose limits bind as well", values: must + `
hardenedAllows: {priorityClasses: [batch-*], tolerations: [nvidia.com/gpu]}
controller: {policies: [{name: small, namespaces: [a], limits: {executors: 5}}]}`, check: func(t *testing.T, all objects) {
		t.Helper()
		limits := hardenedPolicy(t, all).Limits
		if !slices.Equal(limits.PriorityClasses, []string{"batch-*"}) || !slices.Equal(limits.Tolerations, []string{"nvidia.com/gpu"}) || !slices.Equal(limits.RuntimeClasses, []string{"(none)"}) {
			t.Errorf("limits %+v", limits)
		}
		if policies := configOf(t, all, configMap).Policies; len(policies) != 2 || policies[0].Name != "small" {
			t.Errorf("policies %+v", policies)
		}
	}},
	"Account": {reason: "the administrator named it", values: must + "controller: {defaultServiceAccount: jobs}", check: func(t *testing.T, all objects) {
		t.Helper()
		if got := hardenedPolicy(t, all).Limits.ServiceAccounts; !slices.Equal(got, []string{"spark-operator-spark", "jobs"}) {
			t.Errorf("allowed are %q", got)
		}
	}},
	"Schedulers": {reason: "the schedulers that are enabled, by the names that pods have", values: must + `
controller: {batchScheduler: {enabled: [kube, volcano, yunikorn, coscheduling], kubeSchedulerNames: [gang, other], plugins: {volcano: {schedulerName: vc}}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		registry, err := plugins.Registry(configOf(t, all, configMap).BatchScheduler)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"default-scheduler"}
		for _, name := range registry.Names() {
			plugin, _ := registry.Plugin(name)
			if own := plugin.Describe().SchedulerName; own != "" && !slices.Contains(want, own) {
				want = append(want, own)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, hardenedPolicy(t, all).Limits.SchedulerNames); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}},
	"MadeNamespaces": {reason: "those that the chart makes have the level of the policy", values: must + "\nspark: {jobNamespaces: [a], createJobNamespaces: true}", check: func(t *testing.T, all objects) {
		t.Helper()
		if level := all["Namespace a"].GetLabels()["pod-security.kubernetes.io/enforce"]; level != "restricted" {
			t.Errorf("level %q", level)
		}
	}},
	"Stricter": {reason: "one's own values win where they are as strict or stricter", values: strings.Replace(must, "spark:", "controller: {replicas: 3, podDisruptionBudget: {enable: true, minAvailable: 2}}\nwebhook: {failurePolicy: Fail, replicas: 4}\nspark:", 1), check: func(t *testing.T, all objects) {
		t.Helper()
		for part, want := range map[string]int32{controller: 3, webhook: 4} {
			if got := *as[appsv1.Deployment](t, all, "Deployment ops/"+part).Spec.Replicas; got != want {
				t.Errorf("%s: %d replicas", part, got)
			}
		}
		if budget := as[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget ops/"+controller+"-pdb"); budget.Spec.MinAvailable.IntValue() != 2 {
			t.Errorf("budget %+v", budget.Spec)
		}
	}},
}

func TestHardened(t *testing.T) { checkAll(t, hardenings) }

func hardenedPolicy(t *testing.T, all objects) policy.Policy {
	t.Helper()
	policies := configOf(t, all, configMap).Policies
	i := slices.IndexFunc(policies, func(p policy.Policy) bool { return p.Name == "hardened" })
	if i < 0 {
		t.Fatalf("policies %+v", policies)
	}
	return policies[i]
}

func variable(executors admissionv1.ValidatingAdmissionPolicySpec, name string) string {
	for _, v := range executors.Variables {
		if v.Name == name {
			return v.Expression
		}
	}
	return ""
}

// checkReviews looks for the rights of those who ask the API server about tokens.
func checkReviews(t *testing.T, all objects, parts ...string) {
	t.Helper()
	for _, part := range parts {
		name := part + "-metrics-authentication"
		rules := as[rbacv1.ClusterRole](t, all, "ClusterRole "+name).Rules
		if len(rules) != 2 || !grants(rules, "authentication.k8s.io", "tokenreviews", "create") || !grants(rules, "authorization.k8s.io", "subjectaccessreviews", "create") {
			t.Errorf("%s: %+v", name, rules)
		}
		if subject := as[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding "+name).Subjects[0]; subject.Name != part || subject.Namespace != namespace {
			t.Errorf("%s: %+v", name, subject)
		}
	}
	rules := as[rbacv1.ClusterRole](t, all, "ClusterRole spark-operator-metrics-reader").Rules
	if diff := cmp.Diff([]rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}}, rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// rulesOf are the rules of a NetworkPolicy in short: direction, ports, peers.
func rulesOf(spec networkingv1.NetworkPolicySpec) []string {
	var found []string
	short := func(direction string, ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer) {
		words := []string{direction}
		for _, p := range ports {
			words = append(words, p.Port.String())
		}
		for _, p := range peers {
			switch {
			case p.IPBlock != nil:
				words = append(words, p.IPBlock.CIDR)
			case p.PodSelector != nil:
				words = append(words, strings.Join(p.NamespaceSelector.MatchExpressions[0].Values, ",")+"/servers")
			default:
				for key, value := range p.NamespaceSelector.MatchLabels {
					words = append(words, strings.TrimPrefix(key+"="+value, "kubernetes.io/metadata.name="))
				}
			}
		}
		found = append(found, strings.Join(words, " "))
	}
	for _, rule := range spec.Ingress {
		short("<", rule.Ports, rule.From)
	}
	for _, rule := range spec.Egress {
		short(">", rule.Ports, rule.To)
	}
	return found
}

// TestHardenedRefuses are values that are weaker than the switch, each refused by its name; all at once.
func TestHardenedRefuses(t *testing.T) {
	cases := map[string]struct {
		reason, values string
		says           []string
	}{
		"Alone":      {reason: "three values are nobody's to guess", values: "hardened: true", says: []string{"image.digest", "sha256", `spark.jobNamespaces: "default"`, "executorAdmissionPolicy.images"}},
		"All":        {reason: "all namespaces", values: must + "\nspark: {jobNamespaces: []}", says: []string{"spark.jobNamespaces: name"}},
		"Everything": {reason: `"" stands for all`, values: must + "\nspark: {jobNamespaces: [a, \"\"]}", says: []string{"spark.jobNamespaces: name"}},
		"System":     {reason: "Kubernetes' own", values: must + "\nspark: {jobNamespaces: [a, kube-system]}", says: []string{`spark.jobNamespaces: "kube-system"`}},
		"Own":        {reason: "who may start a driver beside the operator may take on its rights", values: must + "\nspark: {jobNamespaces: [ops]}", says: []string{`spark.jobNamespaces: "ops"`}},
		"Selector":   {reason: "whoever labels a namespace extends the operator's rights", values: must + "\nspark: {jobNamespaces: [a], jobNamespaceSelector: x=y}", says: []string{`spark.jobNamespaceSelector: "x=y"`}},
		"NoWebhook":  {reason: "a part is off", values: must + "webhook: {enable: false}", says: []string{"webhook.enable: false: must be true"}},
		"Replicas":   {reason: "no webhook refuses everything", values: must + "webhook: {replicas: 0}", says: []string{"webhook.replicas: 0: must be at least 2"}},
		"Election":   {reason: "two would work", values: must + "controller: {leaderElection: {enable: false}}", says: []string{"controller.leaderElection.enable"}},
		"Exposure":   {reason: "each way out", values: must + "controller: {uiIngress: {enable: true, urlFormat: x.org}, uiRoute: {enable: true}}", says: []string{"controller.uiIngress.enable: true: must be false", "controller.uiRoute.enable"}},
		"Allocator":  {reason: "no policy judges the pods of a StatefulSet", values: must + "\nspark: {jobNamespaces: [a], rbac: {statefulSets: true}}", says: []string{"spark.rbac.statefulSets: true: must be false"}},
		"Profiles":   {reason: "without authentication", values: must + "controller: {pprof: {enable: true}}", says: []string{"controller.pprof.enable"}},
		"Context": {reason: "its own pods", values: must + "webhook: {securityContext: {runAsNonRoot: null, privileged: true, capabilities: {add: [SYS_ADMIN]}, seccompProfile: {type: Unconfined}}}", says: []string{
			"webhook.securityContext.runAsNonRoot", "webhook.securityContext.privileged: true", "webhook.securityContext.capabilities", "webhook.securityContext.seccompProfile.type",
		}},
		"Name":   {reason: "two policies of one name", values: must + "controller: {policies: [{name: hardened, namespaces: [a]}]}", says: []string{`controller.policies: "hardened"`}},
		"Digest": {reason: "no digest", values: "image: {digest: v1}", says: []string{"/image/digest", "v1"}},
		"Token":  {reason: "a monitor that is refused each time", values: must + "prometheus: {podMonitor: {create: true}}", says: []string{"prometheus.podMonitor.podMetricsEndpoint", "authorization"}},
		"Plain":  {reason: "tokens in plain text", values: "prometheus: {metrics: {authentication: true}}", says: []string{"prometheus.metrics.authentication", "prometheus.metrics.tls.enable"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := helm(t, tc.values)
			if err == nil {
				t.Fatalf("%s: accepted", tc.reason)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, text, err)
				}
			}
		})
	}
}

// TestEveryTemplateIsHardened : the first template that is rendered sets the values, and Helm has an order of its own.
func TestEveryTemplateIsHardened(t *testing.T) {
	err := filepath.WalkDir(chartPath+"/templates", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".tpl" {
			return err
		}
		text, err := os.ReadFile(path)
		if first := `{{- include "spark-operator.harden" . -}}`; err == nil && !strings.HasPrefix(string(text), first) {
			return fmt.Errorf("%s does not begin with %s", path, first)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What docs/tenants.md lists beside urls is forbidden: each of these makes of an allowed URL another place.
func TestHardenedForbidsOtherPlaces(t *testing.T) {
	patterns := hardenedPolicy(t, render(t, must)).Limits.ForbiddenConf
	for _, key := range []string{
		"fs.s3a.endpoint", "fs.s3a.bucket.jars.endpoint", "fs.s3a.bucket.jars.accesspoint.arn", "fs.s3a.proxy.host", "fs.s3a.impl", "fs.AbstractFileSystem.s3a.impl", "fs.s3a.s3.client.factory.impl",
		"fs.gs.storage.root.url", "fs.gs.proxy.address", "fs.defaultFS", "fs.default.name", "fs.viewfs.mounttable.default.link./jars", "dfs.nameservices", "dfs.namenode.rpc-address.prod.a",
		"dfs.ha.namenodes.prod", "dfs.client.failover.proxy.provider.prod", "hadoop.socks.server", "hadoop.rpc.socket.factory.class.default",
	} {
		if !text.MatchesAny(patterns, "spark.hadoop."+key) {
			t.Errorf("a tenant may set %s", key)
		}
	}
	for _, key := range []string{"spark.hadoop.fs.s3a.access.key", "spark.hadoop.fs.s3a.connection.maximum", "spark.hadoop.dfs.replication", "spark.hadoop.fs.s3a.impl.disable.cache"} {
		if text.MatchesAny(patterns, key) {
			t.Errorf("a tenant may not set %s", key)
		}
	}
	if !text.MatchesAny(patterns, "spark.repl.class.uri") {
		t.Error("a tenant may name a server of classes")
	}
}
