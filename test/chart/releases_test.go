// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// install renders the chart as a release of another name than that of the other tests, in their namespace.
func install(t *testing.T, name, values string) objects {
	t.Helper()
	text, err := run(t, tool(t, "helm", "helm"), "template", name, chartPath, "-n", namespace, "-f", valuesFile(t, values), "--api-versions", apis, "--no-hooks")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// TestTwoReleasesInOneNamespace : each serves its own namespaces, so each has a leader of its own.
func TestTwoReleasesInOneNamespace(t *testing.T) {
	const everything = `webhook: {enable: true}, prometheus: {podMonitor: {create: true}, serviceMonitor: {create: true}, rules: {create: true}}, ` +
		`grafana: {dashboard: {create: true}}, controller: {replicas: 2, podDisruptionBudget: {enable: true}}, executorAdmissionPolicy: {enable: true}`
	alpha := install(t, "alpha", `{spark: {jobNamespaces: [team-a]}, `+everything+`}`)
	beta := install(t, "beta", `{spark: {jobNamespaces: [team-b]}, `+everything+`}`)
	for key := range alpha {
		if beta[key] != nil && !strings.HasPrefix(key, "CustomResourceDefinition ") {
			t.Errorf("%s belongs to both", key)
		}
	}
	for name, all := range map[string]objects{"alpha": alpha, "beta": beta} {
		lease := name + "-spark-operator-controller-lock"
		if got := configOf(t, all, "ConfigMap ops/"+name+"-spark-operator-controller-config").LeaderElection; !got.Enabled || got.Name != lease {
			t.Errorf("%s: its replicas choose one by %+v, want the lease %s", name, got, lease)
		}
	}
}

// TestOneLeaseOnly : wherever the operator is installed, kube-system say, the Leases of others are none of its business.
func TestOneLeaseOnly(t *testing.T) {
	cases := map[string]struct {
		reason, lease string
		all           func(*testing.T) objects
	}{
		"Namespaced": {reason: "in a namespace of its own", lease: "beta-spark-operator-controller-lock", all: func(t *testing.T) objects { t.Helper(); return install(t, "beta", `{}`) }},
		"AmongJobs": {reason: "one Role for both", lease: "beta-spark-operator-controller-lock", all: func(t *testing.T) objects {
			t.Helper()
			return install(t, "beta", `{spark: {jobNamespaces: [ops, a]}}`)
		}},
		"All":           {reason: "with a ClusterRole", lease: "beta-spark-operator-controller-lock", all: func(t *testing.T) objects { t.Helper(); return install(t, "beta", `{spark: {jobNamespaces: []}}`) }},
		"Kustomize":     {reason: "the default of the configuration", lease: "spark-operator-controller-lock", all: func(t *testing.T) objects { t.Helper(); return kustomize(t, "config/default") }},
		"OpenShift":     {reason: "in another namespace", lease: "spark-operator-controller-lock", all: func(t *testing.T) objects { t.Helper(); return kustomize(t, "config/overlays/openshift") }},
		"NoClusterWide": {reason: "Roles only", lease: "spark-operator-controller-lock", all: func(t *testing.T) objects { t.Helper(); return kustomize(t, "config/overlays/namespaced") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := tc.all(t)
			found := map[string][]string{}
			for _, key := range all.keys("Role", "ClusterRole") {
				for _, rule := range as[roleRules](t, objects{key: all[key]}, key).Rules {
					if slices.Contains(rule.APIGroups, "coordination.k8s.io") {
						of := strings.Join(rule.ResourceNames, " ")
						found[of] = append(found[of], rule.Verbs...)
					}
				}
			}
			want := map[string][]string{"": {"create"}, tc.lease: {"get", "list", "update", "watch"}}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("%s: verbs by Lease (-want +got):\n%s", tc.reason, diff)
			}
			for _, key := range all.keys("ConfigMap") {
				if c := all[key]; strings.Contains(c.GetName(), "config") {
					if got := configOf(t, all, key).LeaderElection.Name; got != tc.lease {
						t.Errorf("%s: the configuration names %s", tc.reason, got)
					}
				}
			}
		})
	}
}
