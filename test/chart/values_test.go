// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// combination is values, and what they must come to. Every one is also sent to an API server (TestServerAccepts), and its
// configuration is read as the operator reads it.
type combination struct {
	reason string
	values string
	check  func(*testing.T, objects)
}

var combinations = map[string]combination{
	"Default": {reason: "zero values work in one namespace, without rights in the whole cluster; who submits is recorded there", check: func(t *testing.T, all objects) {
		t.Helper()
		want := []string{
			"ClusterRole spark-operator-webhook", "ClusterRoleBinding spark-operator-webhook",
			"ConfigMap ops/spark-operator-controller-config", "CustomResourceDefinition scheduledsparkapplications.sparkoperator.k8s.io",
			"CustomResourceDefinition sparkapplications.sparkoperator.k8s.io", "CustomResourceDefinition sparkconnects.sparkoperator.k8s.io",
			"Deployment ops/spark-operator-controller", "Deployment ops/spark-operator-webhook",
			"MutatingAdmissionPolicy spark-operator-executor-memory", "MutatingAdmissionPolicy spark-operator-submitter",
			"MutatingAdmissionPolicyBinding spark-operator-executor-memory", "MutatingAdmissionPolicyBinding spark-operator-submitter", "MutatingWebhookConfiguration spark-operator-webhook",
			"Role default/spark-operator-controller", "Role default/spark-operator-spark", "Role ops/spark-operator-controller", "Role ops/spark-operator-webhook",
			"RoleBinding default/spark-operator-controller", "RoleBinding default/spark-operator-spark",
			"RoleBinding ops/spark-operator-controller", "RoleBinding ops/spark-operator-webhook", "Secret ops/spark-operator-webhook-certs",
			"Service ops/spark-operator-webhook-svc", "ServiceAccount default/spark-operator-spark", "ServiceAccount ops/spark-operator-controller",
			"ServiceAccount ops/spark-operator-webhook", "ValidatingWebhookConfiguration spark-operator-webhook",
		}
		if diff := cmp.Diff(want, sorted(all)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if c := configOf(t, all, "ConfigMap ops/spark-operator-controller-config"); !slices.Equal(c.Namespaces, []string{"default"}) || !c.LeaderElection.Enabled {
			t.Errorf("configuration %+v", c)
		}
	}},
	"ServiceAccount": {reason: "Kubeflow's key; the account of a policy that is more precise comes first", values: `controller: {defaultServiceAccount: spark, policies: [{name: a, namespaces: [a], defaults: {serviceAccount: own}}]}`, check: func(t *testing.T, all objects) {
		t.Helper()
		policies := configOf(t, all, configMap).Policies
		for namespace, want := range map[string]string{"a": "own", "b": "spark"} {
			app := policies.For(namespace).Apply(spark.Application{})
			if got := app.Conf[spark.ConfDriverServiceAccount]; got != want {
				t.Errorf("a driver in %s has the account %q, want %q", namespace, got, want)
			}
		}
		app := spark.Application{Conf: map[string]string{spark.ConfDriverServiceAccount: "mine"}}
		if got := policies.For("b").Apply(app).Conf[spark.ConfDriverServiceAccount]; got != "mine" {
			t.Errorf("the application's own account became %q", got)
		}
	}},
	"All": {reason: "all namespaces take a ClusterRole, and no one knows where drivers will run", values: `spark: {jobNamespaces: [""]}`, check: func(t *testing.T, all objects) {
		t.Helper()
		has(t, all, "ClusterRole spark-operator-controller", "ClusterRoleBinding spark-operator-controller", "Role ops/spark-operator-controller")
		lacks(t, all, "ServiceAccount default/spark-operator-spark", "Role default/spark-operator-controller")
		if c := configOf(t, all, "ConfigMap ops/spark-operator-controller-config"); len(c.Namespaces) != 0 {
			t.Errorf("namespaces %v, want all", c.Namespaces)
		}
	}},
	"Empty": {reason: "an empty list is all, too", values: `spark: {jobNamespaces: []}`, check: func(t *testing.T, all objects) {
		t.Helper()
		has(t, all, "ClusterRole spark-operator-controller")
	}},
	"Null": {reason: "and so is none", values: `spark: {jobNamespaces: null}`, check: func(t *testing.T, all objects) {
		t.Helper()
		has(t, all, "ClusterRole spark-operator-controller")
	}},
	"List": {reason: "one Role a namespace, the operator's own among them", values: `spark: {jobNamespaces: [a, ops, b, a]}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if found := all.keys("ClusterRole", "ClusterRoleBinding"); len(found) != 2 {
			t.Errorf("rights in the whole cluster: %v", found)
		}
		if rules := as[rbacv1.ClusterRole](t, all, "ClusterRole "+webhook).Rules; len(rules) != 1 || !slices.Equal(rules[0].ResourceNames, []string{webhook}) {
			t.Errorf("the webhook has more than its own configurations: %+v", rules)
		}
		has(t, all, "ServiceAccount a/spark-operator-spark", "ServiceAccount ops/spark-operator-spark", "RoleBinding b/spark-operator-controller")
		rules := as[rbacv1.Role](t, all, "Role ops/spark-operator-controller").Rules
		if !grants(rules, "coordination.k8s.io", "leases", "create") || !grants(rules, "", "pods", "create") {
			t.Errorf("the operator's own namespace is a job namespace, too: %+v", rules)
		}
		if rules := as[rbacv1.Role](t, all, "Role a/spark-operator-controller").Rules; grants(rules, "coordination.k8s.io", "leases", "create") {
			t.Errorf("the lease is in the operator's namespace only: %+v", rules)
		}
	}},
	"NoRights": {reason: "anyone who makes the rights themselves", values: `{controller: {rbac: {create: false}, serviceAccount: {create: false, name: mine}}, webhook: {rbac: {create: false}, serviceAccount: {create: false, name: asked}}, spark: {rbac: {create: false}, serviceAccount: {create: false, name: theirs}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if found := all.keys("Role", "RoleBinding", "ClusterRole", "ServiceAccount"); found != nil {
			t.Errorf("made all the same: %v", found)
		}
		if pod := podOf(t, all, controller); pod.ServiceAccountName != "mine" {
			t.Errorf("service account %q", pod.ServiceAccountName)
		}
	}},
	"Accounts": {reason: "names, annotations and tokens of both service accounts, annotations of the roles", values: `
controller: {serviceAccount: {name: op, annotations: {a: b}, automountServiceAccountToken: false}, rbac: {annotations: {c: d}}}
spark: {serviceAccount: {name: driver, annotations: {e: f}}, rbac: {annotations: {g: h}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		op := as[corev1.ServiceAccount](t, all, "ServiceAccount ops/op")
		if op.Annotations["a"] != "b" || op.AutomountServiceAccountToken == nil || *op.AutomountServiceAccountToken {
			t.Errorf("%+v", op)
		}
		role := as[rbacv1.Role](t, all, "Role default/spark-operator-spark")
		if role.Annotations["g"] != "h" || all["Role ops/spark-operator-controller"].GetAnnotations()["c"] != "d" {
			t.Errorf("annotations of the roles: %v", role.Annotations)
		}
		if as[corev1.ServiceAccount](t, all, "ServiceAccount default/driver").Annotations["e"] != "f" {
			t.Error("no annotations on the drivers' service account")
		}
		if subject := as[rbacv1.RoleBinding](t, all, "RoleBinding default/spark-operator-spark").Subjects[0]; subject.Name != "driver" || subject.Namespace != "default" {
			t.Errorf("the rights go to %+v", subject)
		}
	}},
	"Volcano": {reason: "the rights of a plugin that is enabled; queues belong to the cluster", values: `controller: {batchScheduler: {default: volcano, enabled: [kube], plugins: {volcano: {defaultQueue: q, parameters: {afterStart: DriverOnly}}}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules
		cluster := as[rbacv1.ClusterRole](t, all, "ClusterRole spark-operator-controller").Rules
		if !grants(rules, "scheduling.volcano.sh", "podgroups", "create") || grants(rules, "scheduling.volcano.sh", "queues", "get") {
			t.Errorf("in the namespace: %+v", rules)
		}
		if !grants(cluster, "scheduling.volcano.sh", "queues", "watch") || len(cluster) != 1 {
			t.Errorf("in the cluster: %+v, want the queues alone", cluster)
		}
		c := configOf(t, all, "ConfigMap ops/spark-operator-controller-config").BatchScheduler
		if c.Default != "volcano" || !slices.Equal(c.Enabled, []string{"volcano", "kube"}) || c.Plugins["volcano"].DefaultQueue != "q" || string(c.Plugins["volcano"].Parameters["afterStart"]) != `"DriverOnly"` {
			t.Errorf("configuration %+v", c)
		}
	}},
	"Kubeflow": {reason: "Kubeflow's own keys", values: `controller: {batchScheduler: {enable: true, kubeSchedulerNames: [gang]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		c := configOf(t, all, "ConfigMap ops/spark-operator-controller-config").BatchScheduler
		if !slices.Equal(c.Enabled, []string{"kube", "volcano", "yunikorn", "coscheduling"}) || c.Plugins["coscheduling"].SchedulerName != "gang" || !slices.Equal(c.Plugins["coscheduling"].SchedulerNames, []string{"gang"}) {
			t.Errorf("configuration %+v", c)
		}
		rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules
		if !grants(rules, "scheduling.x-k8s.io", "podgroups", "create") {
			t.Errorf("no rights for coscheduling: %+v", rules)
		}
	}},
	"Switched off": {reason: "finding 3: as in Kubeflow's chart, any name is a plain schedulerName then, and what is left over of the other keys has no effect", values: `controller: {batchScheduler: {enable: false, default: volcano, kubeSchedulerNames: [gang]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		want := config.BatchScheduler{Default: "kube", Enabled: []string{"kube"}, PlainNames: true, ApplicationIDs: config.OwnApplicationIDs, Quota: config.Quota{Mode: "Off", Order: config.BestEffortFIFO, AgingBound: metav1.Duration{Duration: 10 * time.Minute}}}
		if diff := cmp.Diff(want, configOf(t, all, "ConfigMap ops/spark-operator-controller-config").BatchScheduler); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules; grants(rules, "scheduling.volcano.sh", "podgroups", "create") {
			t.Errorf("rights for a scheduler that has no effect: %+v", rules)
		}
	}},
	"KubeSchedulers": {reason: "applications choose among several kube-schedulers by their names, and one of them is the default", values: `controller: {batchScheduler: {kubeSchedulerNames: [kube-scheduler, gang], default: gang, enabled: [kube]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		c := configOf(t, all, "ConfigMap ops/spark-operator-controller-config").BatchScheduler
		want := config.SchedulerPlugin{SchedulerName: "kube-scheduler", SchedulerNames: []string{"kube-scheduler", "gang"}}
		if diff := cmp.Diff(want, c.Plugins["coscheduling"]); diff != "" || c.Default != "gang" || !slices.Equal(c.Enabled, []string{"coscheduling", "kube"}) {
			t.Errorf("configuration %+v (-want +got):\n%s", c, diff)
		}
		registry, err := plugins.Registry(c)
		if err != nil {
			t.Fatalf("the operator does not start with it: %v", err)
		}
		if !slices.Equal(registry.Names(), []string{"coscheduling", "gang", "kube", "kube-scheduler"}) {
			t.Errorf("names %q", registry.Names())
		}
		if rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules; !grants(rules, "scheduling.x-k8s.io", "podgroups", "create") {
			t.Errorf("no rights for PodGroups: %+v", rules)
		}
	}},
	"Quota": {reason: "rights to see quotas, and everything else of the section", values: `
spark: {jobNamespaces: []}
controller: {batchScheduler: {namespaceDefaults: true, quota: {mode: Enforce, elasticQuotaSchedulers: [coscheduling], order: StrictFIFO, agingBound: 90s}, allowedQueues: [{namespaces: ["a-*"], queues: [q]}],
  plugins: {yunikorn: {parameters: {gangSchedulingStyle: Hard}, bounds: {placeholderTimeoutInSeconds: {min: 60, max: 900}}, queues: [{queues: ["root.*"], bounds: {gangSchedulingStyle: {oneOf: [Hard, None]}}}]}}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if rules := as[rbacv1.ClusterRole](t, all, "ClusterRole spark-operator-controller").Rules; !grants(rules, "", "resourcequotas", "watch") {
			t.Errorf("rules %+v", rules)
		}
		want := config.BatchScheduler{
			Default: "kube", Enabled: []string{"kube"}, PlainNames: true, NamespaceDefaults: true,
			ApplicationIDs: config.OwnApplicationIDs, AllowedQueues: []config.AllowedQueues{{Namespaces: []string{"a-*"}, Queues: []string{"q"}}},
			Quota: config.Quota{Mode: "Enforce", ElasticQuotaSchedulers: []string{"coscheduling"}, Order: config.StrictFIFO, AgingBound: metav1.Duration{Duration: 90 * time.Second}},
			Plugins: map[string]config.SchedulerPlugin{"yunikorn": {
				ParameterRules: config.ParameterRules{
					Parameters: map[string]json.RawMessage{"gangSchedulingStyle": []byte(`"Hard"`)}, Bounds: map[string]config.ParameterBound{"placeholderTimeoutInSeconds": {Min: new(int64(60)), Max: new(int64(900))}},
				},
				Queues: []config.QueueParameters{{Queues: []string{"root.*"}, ParameterRules: config.ParameterRules{Bounds: map[string]config.ParameterBound{
					"gangSchedulingStyle": {OneOf: []json.RawMessage{[]byte(`"Hard"`), []byte(`"None"`)}},
				}}}},
			}},
		}
		if diff := cmp.Diff(want, configOf(t, all, "ConfigMap ops/spark-operator-controller-config").BatchScheduler); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}},
	"QuotaOff": {reason: "an unquoted Off is false in YAML", values: `controller: {batchScheduler: {quota: {mode: Off}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules; grants(rules, "", "resourcequotas", "get") {
			t.Errorf("rights for a check that is off: %+v", rules)
		}
	}},
	"Controller": {reason: "numbers and switches of the configuration file", values: `
controller: {workers: 3, scheduledSparkApplicationTimestampPrecision: minutes, leaderElection: {enable: false, leaseDuration: 8s}}
prometheus: {metrics: {enable: false}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		c := configOf(t, all, "ConfigMap ops/spark-operator-controller-config")
		if c.Workers != 3 || c.LeaderElection.Enabled || c.LeaderElection.LeaseDuration.Seconds() != 8 || c.Metrics.BindAddress != "0" || c.ScheduledSparkApplication.TimestampPrecision != "minutes" {
			t.Errorf("configuration %+v", c)
		}
		deployment := as[appsv1.Deployment](t, all, "Deployment ops/"+controller)
		for key := range deployment.Spec.Template.Annotations {
			if strings.HasPrefix(key, "prometheus.io/") {
				t.Errorf("annotation %s, and nothing to scrape", key)
			}
		}
		if ports := deployment.Spec.Template.Spec.Containers[0].Ports; len(ports) != 1 || ports[0].Name != "health" {
			t.Errorf("ports %+v", ports)
		}
	}},
	"Metrics": {reason: "port and name", values: `prometheus: {metrics: {port: 9090, portName: prom}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		deployment := as[appsv1.Deployment](t, all, "Deployment ops/"+controller)
		if got := deployment.Spec.Template.Annotations["prometheus.io/port"]; got != "9090" {
			t.Errorf("scrape port %q", got)
		}
		if port := deployment.Spec.Template.Spec.Containers[0].Ports[0]; port.Name != "prom" || port.ContainerPort != 9090 {
			t.Errorf("port %+v", port)
		}
		if c := configOf(t, all, "ConfigMap ops/spark-operator-controller-config"); c.Metrics.BindAddress != ":9090" {
			t.Errorf("it listens on %s", c.Metrics.BindAddress)
		}
	}},
	"PodMonitor": {reason: "as the Prometheus Operator wants it", values: `prometheus: {podMonitor: {create: true, labels: {team: x}, podMetricsEndpoint: {interval: 9s}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		monitor := all["PodMonitor ops/spark-operator-podmonitor"]
		if monitor == nil || monitor.GetLabels()["team"] != "x" {
			t.Fatalf("PodMonitor %v", monitor)
		}
		want := `[{"interval":"9s","path":"/metrics","port":"metrics","scheme":"http"}]`
		spec, _ := monitor.Object["spec"].(map[string]any)
		if got := toJSON(t, spec["podMetricsEndpoints"]); got != want {
			t.Errorf("endpoints %s, want %s", got, want)
		}
	}},
	"Pod": {reason: "everything that one may say of the pod", values: podValues("controller"), check: func(t *testing.T, all objects) {
		t.Helper()
		checkPod(t, all, controller)
	}},
	"Names": {reason: "names follow the override, and labels the common ones", values: `{fullnameOverride: other, commonLabels: {team: x}, image: {registry: "", repository: r, tag: v1, pullPolicy: Always, pullSecrets: [{name: s}]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		for key, o := range all {
			if o.GetKind() == "CustomResourceDefinition" {
				continue
			}
			if !strings.HasPrefix(o.GetName(), "other-") || o.GetLabels()["team"] != "x" || o.GetLabels()["app.kubernetes.io/instance"] != release {
				t.Errorf("%s: labels %v", key, o.GetLabels())
			}
		}
		pod := podOf(t, all, "other-controller")
		if c := pod.Containers[0]; c.Image != "r:v1" || c.ImagePullPolicy != "Always" || pod.ImagePullSecrets[0].Name != "s" {
			t.Errorf("image %s, %s, %v", c.Image, c.ImagePullPolicy, pod.ImagePullSecrets)
		}
	}},
	"Budget": {reason: "a PodDisruptionBudget and a spread for more than one replica", values: `controller: {replicas: 2, podDisruptionBudget: {enable: true}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]}`, check: func(t *testing.T, all objects) {
		t.Helper()
		deployment := as[appsv1.Deployment](t, all, "Deployment ops/"+controller)
		budget := as[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget ops/spark-operator-controller-pdb")
		if diff := cmp.Diff(deployment.Spec.Selector, budget.Spec.Selector); diff != "" || budget.Spec.MinAvailable.IntValue() != 1 {
			t.Errorf("%+v: %s", budget.Spec, diff)
		}
		spread := deployment.Spec.Template.Spec.TopologySpreadConstraints
		if len(spread) != 1 || spread[0].MaxSkew != 1 || !cmp.Equal(spread[0].LabelSelector, deployment.Spec.Selector) {
			t.Errorf("spread %+v", spread)
		}
	}},
	"Definitions": {reason: "definitions that go with the release", values: `crds: {keep: false}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if kept := all["CustomResourceDefinition sparkapplications.sparkoperator.k8s.io"].GetAnnotations()["helm.sh/resource-policy"]; kept != "" {
			t.Errorf("resource policy %q", kept)
		}
	}},
	"NoDefinitions": {reason: "definitions that someone else installs", values: `crds: {install: false}`, check: func(t *testing.T, all objects) {
		t.Helper()
		lacks(t, all, "CustomResourceDefinition sparkapplications.sparkoperator.k8s.io")
	}},
	"Namespaces": {reason: "job namespaces on request, which outlive the release", values: `spark: {jobNamespaces: [a, ops], createJobNamespaces: true}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if all["Namespace a"].GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Error("what runs in the namespace would go with the chart")
		}
		lacks(t, all, "Namespace ops") // Helm's own affair
	}},
	"UserRoles": {reason: "rights of people to all kinds, as part of the cluster's roles", values: `userRoles: {create: true}`, check: func(t *testing.T, all objects) {
		t.Helper()
		for _, role := range []string{"admin", "edit", "view"} {
			name := map[string]string{"admin": "admin", "edit": "editor", "view": "viewer"}[role]
			for _, kind := range []string{"sparkapplication", "scheduledsparkapplication", "sparkconnect"} {
				found := as[rbacv1.ClusterRole](t, all, "ClusterRole spark-operator-"+kind+"-"+name+"-role")
				if found.Labels["rbac.authorization.k8s.io/aggregate-to-"+role] != "true" || !grants(found.Rules, "sparkoperator.k8s.io", kind+"s", "get") && role != "admin" {
					t.Errorf("%s: %+v", role, found)
				}
			}
		}
	}},
}

func TestCombinations(t *testing.T) { checkAll(t, combinations) }

func checkAll(t *testing.T, cases map[string]combination) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := render(t, tc.values)
			for _, key := range all.keys("ConfigMap") {
				if strings.HasSuffix(key, "-controller-config") {
					configOf(t, all, key)
				}
			}
			tc.check(t, all)
			if t.Failed() {
				t.Logf("%s", tc.reason)
			}
		})
	}
}

// TestSchemaKnowsThePlugins holds the names in the schema to the plugins that the operator has.
func TestSchemaKnowsThePlugins(t *testing.T) {
	schema := valuesOf(t, chartPath+"/values.schema.json")
	want := []any{""}
	for _, p := range plugins.All(config.BatchScheduler{}) {
		if name := p.Describe().Name; name != "quota" { // which is asked before each of them
			want = append(want, name)
		}
	}
	definitions, _ := schema["$defs"].(map[string]any)
	names, _ := definitions["scheduler"].(map[string]any)
	if diff := cmp.Diff(want, names["enum"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
