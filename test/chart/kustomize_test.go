// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trees are the folders of config that people apply.
func trees(t *testing.T) []string {
	t.Helper()
	found := []string{"config/default", "config/samples"}
	overlays, err := os.ReadDir(filepath.Join(root, "config/overlays"))
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		found = append(found, "config/overlays/"+overlay.Name())
	}
	return found
}

func kustomize(t *testing.T, tree string) objects {
	t.Helper()
	text, err := run(t, tool(t, "kubernetes", "kubectl"), "kustomize", filepath.Join(root, tree))
	if err != nil {
		t.Fatalf("%s: %v", tree, err)
	}
	return parse(t, text)
}

// TestChartAndKustomizeAgree compares the kustomize trees with the chart under the values that mean the same. They may
// differ in what normalize takes away, in the policy that records submitters, a component of the trees, and in how rights are cut into roles: each service account has the same rights.
func TestChartAndKustomizeAgree(t *testing.T) {
	cases := map[string]struct {
		tree, values string
		only         map[string]string // objects that one of them has, and why
	}{
		"Default":    {tree: "config/default", values: `{spark: {jobNamespaces: []}, userRoles: {create: true}, crds: {keep: false}, recordSubmitter: {from: None}, executorMemoryLimit: {enable: false}, webhook: {enable: false}}`},
		"Namespaced": {tree: "config/overlays/namespaced", values: `{crds: {keep: false}, recordSubmitter: {from: None}, executorMemoryLimit: {enable: false}, webhook: {enable: false}}`},
		"Schedulers": {tree: "config/overlays/schedulers", values: `{spark: {jobNamespaces: []}, userRoles: {create: true}, crds: {keep: false}, recordSubmitter: {from: None}, executorMemoryLimit: {enable: false}, webhook: {enable: false},
			controller: {batchScheduler: {enabled: [kube, volcano, yunikorn, coscheduling], quota: {mode: Enforce}}}}`},
		"HighAvailability": {tree: "config/overlays/high-availability", values: `{spark: {jobNamespaces: []}, userRoles: {create: true}, crds: {keep: false}, recordSubmitter: {from: None}, executorMemoryLimit: {enable: false}, webhook: {enable: false},
			controller: {replicas: 2, podDisruptionBudget: {enable: true}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]}}`},
		"Webhook": {tree: "config/overlays/webhook", values: `{spark: {jobNamespaces: []}, userRoles: {create: true}, crds: {keep: false}, recordSubmitter: {from: None}, executorMemoryLimit: {enable: false}, webhook: {enable: true}}`},
		"Apache":  {tree: "config/overlays/apache", values: `{apache: {enable: true}, spark: {jobNamespaces: []}, userRoles: {create: true}, crds: {keep: false}, recordSubmitter: {from: None}, executorMemoryLimit: {enable: false}, webhook: {enable: true}}`},
		"Hardened": {tree: "config/overlays/hardened", values: `{hardened: true, image: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"},
			spark: {jobNamespaces: [spark-jobs]}, executorAdmissionPolicy: {images: ["registry.example/spark*"]}, userRoles: {create: true}, crds: {keep: false}}`},
		"OpenShift": {tree: "config/overlays/openshift", values: `{spark: {jobNamespaces: []}, userRoles: {create: true}, crds: {keep: false}, recordSubmitter: {from: None}, executorMemoryLimit: {enable: false}, webhook: {enable: false}, prometheus: {rules: {create: true}}, grafana: {dashboard: {create: true}}}`,
			only: map[string]string{"ConfigMap ops/spark-operator-parameters": "what Open Data Hub rewrites", "PodMonitor ops/controller": "an option of the chart"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chart, tree := render(t, tc.values), kustomize(t, tc.tree)
			if diff := cmp.Diff(rights(t, chart), rights(t, tree)); diff != "" {
				t.Errorf("rights (-chart +kustomize):\n%s", diff)
			}
			mine, theirs := normalize(t, chart), normalize(t, tree)
			for key, reason := range tc.only {
				if theirs[key] == nil {
					t.Errorf("%s (%s) is not in the tree", key, reason)
				}
				delete(theirs, key)
			}
			if diff := cmp.Diff(mine, theirs); diff != "" {
				t.Errorf("objects (-chart +kustomize):\n%s", diff)
			}
		})
	}
}

// liveConfiguration is the variable by which the chart's operator watches its ConfigMap. A tree gives that a new name with each change, which
// restarts the operator.
const liveConfiguration = "CONFIG_MAP_NAME"

// TestLiveConfiguration : a changed list of namespaces does not wait for a kubelet, at the cost of a right to one ConfigMap.
func TestLiveConfiguration(t *testing.T) {
	for name, values := range map[string]string{
		"Namespaces": `{spark: {jobNamespaces: [a]}}`, "AmongJobs": `{spark: {jobNamespaces: [ops, a]}}`, "All": `{spark: {jobNamespaces: []}}`,
	} {
		t.Run(name, func(t *testing.T) {
			all := install(t, "beta", values)
			var found []string
			for _, key := range all.keys("Role", "ClusterRole") {
				for _, rule := range as[roleRules](t, objects{key: all[key]}, key).Rules {
					if slices.Contains(rule.Resources, "configmaps") && slices.Contains(rule.Verbs, "watch") && !strings.HasSuffix(key, "-spark") {
						found = append(found, fmt.Sprint(key, ": ", rightsOf(rule)))
					}
				}
			}
			config := "beta-spark-operator-controller-config"
			want := []string{"Role ops/beta-spark-operator-controller: [list configmaps. [" + config + "] watch configmaps. [" + config + "]]"}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("rights to watch ConfigMaps (-want +got):\n%s", diff)
			}
			pod := as[appsv1.Deployment](t, all, "Deployment ops/beta-spark-operator-controller").Spec.Template.Spec
			if named := (corev1.EnvVar{Name: liveConfiguration, Value: pod.Volumes[0].ConfigMap.Name}); named.Value != config || !slices.Contains(pod.Containers[0].Env, named) {
				t.Errorf("the operator watches another ConfigMap than the one it mounts, %s: %+v", named.Value, pod.Containers[0].Env)
			}
		})
	}
}

// alike are names in the kustomize trees, and those in the chart.
var alike = map[string]string{
	"opendatahub": namespace, "spark-operator": namespace,
}

// normalize takes away what differs by rule: the namespace of the operator, the labels by which each tool finds its objects
// again, defaults that are written down, and the name and text of the configuration, which is compared by its meaning.
func normalize(t *testing.T, all objects) map[string]any {
	t.Helper()
	found := map[string]any{}
	for key, o := range all {
		o = o.DeepCopy()
		switch o.GetKind() {
		case "Namespace", "Role", "RoleBinding", "ClusterRoleBinding":
			continue // Helm makes the namespace; rights are compared as such
		case "ClusterRole":
			if !strings.Contains(o.GetName(), "sparkapplication-") {
				continue
			}
		case "ConfigMap":
			if _, isConfig, _ := unstructured.NestedString(o.Object, "data", "config.yaml"); isConfig {
				c := configOf(t, all, key)
				c.Submitter.OperatorUser = here(c.Submitter.OperatorUser)
				if c.BatchScheduler.Enabled == nil {
					c.BatchScheduler.Enabled = []string{c.BatchScheduler.Default}
				}
				if len(c.Namespaces) == 0 {
					c.Namespaces = nil
				}
				found["configuration"] = c
				continue
			}
		}
		if ns := alike[o.GetNamespace()]; ns != "" {
			o.SetNamespace(ns)
		}
		if name := alike[o.GetName()]; name != "" {
			o.SetName(name)
		}
		plain(o.Object)
		place := ""
		if o.GetNamespace() != "" {
			place = o.GetNamespace() + "/"
		}
		found[fmt.Sprintf("%s %s%s", o.GetKind(), place, o.GetName())] = o.Object
	}
	return found
}

// plain walks through an object and takes away what normalize says.
func plain(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			plain(item)
		}
	case map[string]any:
		if env, ok := value["env"].([]any); ok {
			value["env"] = slices.DeleteFunc(env, func(of any) bool { return of.(map[string]any)["name"] == liveConfiguration })
		}
		for _, key := range []string{"helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "checksum/config"} {
			delete(value, key)
		}
		for key, item := range value {
			plain(item)
			if text, ok := item.(string); ok {
				value[key] = here(text)
			}
		}
		if metadata, ok := value["metadata"].(map[string]any); ok && value["kind"] != nil {
			if labels, ok := metadata["labels"].(map[string]any); ok {
				delete(labels, "app.kubernetes.io/component")
				delete(labels, "app.kubernetes.io/name")
				if len(labels) == 0 {
					delete(metadata, "labels")
				}
			}
		}
		for key, usual := range map[string]any{"automountServiceAccountToken": true, "revisionHistoryLimit": float64(10)} {
			if value[key] == usual {
				delete(value, key)
			}
		}
		delete(value, "scope") // of an admission rule, for which only what is namespaced matters
		if ns, ok := value["namespace"].(string); ok && alike[ns] != "" {
			value["namespace"] = alike[ns]
		}
		if value["targetPort"] == "webhook" || value["name"] == "spark-operator-webhook-svc" && value["path"] != nil {
			delete(value, "port") // 9443 in Kubeflow's chart, 443 in its kustomize tree
		}
		if reference, ok := value["configMap"].(map[string]any); ok && value["name"] == "config" {
			reference["name"] = "configuration"
		}
	}
}

// here is text in which the operator's account is that of the chart.
func here(text string) string {
	return strings.ReplaceAll(text, "system:serviceaccount:spark-operator:", "system:serviceaccount:"+namespace+":")
}

type roleRules struct {
	rbacv1.ClusterRole `json:",inline"`
}

// rights are what each service account may do: "ops/spark-operator-controller in default: create pods".
func rights(t *testing.T, all objects) []string {
	t.Helper()
	found := map[string]bool{}
	for _, key := range all.keys("RoleBinding", "ClusterRoleBinding") {
		binding := as[rbacv1.RoleBinding](t, objects{key: all[key]}, key)
		where := binding.Namespace
		role := binding.RoleRef.Kind + " " + binding.RoleRef.Name
		if binding.RoleRef.Kind == "Role" {
			role = binding.RoleRef.Kind + " " + where + "/" + binding.RoleRef.Name
		}
		if where == "" {
			where = "the cluster"
		}
		rules := as[roleRules](t, all, role).Rules
		for _, subject := range binding.Subjects {
			for _, rule := range rules {
				if slices.Equal(rule.Resources, []string{"configmaps"}) && len(rule.ResourceNames) > 0 {
					continue // TestLiveConfiguration
				}
				for _, right := range rightsOf(rule) {
					found[fmt.Sprintf("%s/%s in %s: %s", nameOf(subject.Namespace), nameOf(subject.Name), nameOf(where), right)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// TestMonitorsAreLimited: one scrape of what somebody else serves must not fill a Prometheus. What drivers serve is their programs'
// choice, labels included.
func TestMonitorsAreLimited(t *testing.T) {
	operators, drivers := []string{"sampleLimit"}, []string{"sampleLimit", "labelLimit", "labelNameLengthLimit", "labelValueLengthLimit"}
	for name, tc := range map[string]struct {
		all    objects
		limits []string
	}{
		"Operator":       {parse(t, readFile(t, filepath.Join(root, "config/prometheus/monitor.yaml"))), operators},
		"Drivers":        {parse(t, readFile(t, filepath.Join(root, "config/prometheus/applications/monitor.yaml"))), drivers},
		"PodMonitor":     {render(t, `prometheus: {podMonitor: {create: true}}`), operators},
		"ServiceMonitor": {render(t, `prometheus: {serviceMonitor: {create: true}}`), operators},
	} {
		t.Run(name, func(t *testing.T) {
			found := 0
			for _, o := range tc.all {
				if !strings.HasSuffix(o.GetKind(), "Monitor") {
					continue
				}
				found++
				for _, limit := range tc.limits {
					if n, _, _ := unstructured.NestedNumberAsFloat64(o.Object, "spec", limit); n <= 0 {
						t.Errorf("%s %s has no %s", o.GetKind(), o.GetName(), limit)
					}
				}
			}
			if found == 0 {
				t.Error("there is no monitor")
			}
		})
	}
}

func nameOf(name string) string {
	if other := alike[name]; other != "" {
		return other
	}
	return name
}

func rightsOf(rule rbacv1.PolicyRule) []string {
	var found []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				found = append(found, fmt.Sprintf("%s %s.%s %v", verb, resource, group, rule.ResourceNames))
			}
		}
	}
	return found
}
