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

// TestTwoReleasesOfOneName : what belongs to no namespace can belong to one release only. Whichever object it is, the installer reads what to set.
func TestTwoReleasesOfOneName(t *testing.T) {
	c := newCluster(t)
	cases := map[string]string{
		"Everything": `{spark: {jobNamespaces: [ops], jobNamespaceSelector: spark=yes}, userRoles: {create: true}, apache: {enable: true}, executorAdmissionPolicy: {enable: true}, ` +
			`recordSubmitter: {from: AdmissionPolicy}, executorMemoryLimit: {enable: true}, prometheus: {metrics: {authentication: true, tls: {enable: true}}}}`,
		"Roles": `{spark: {jobNamespaces: [ops]}, controller: {batchScheduler: {enabled: [volcano]}}}`,
	}
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			args := []string{"template", "fs", chartPath, "-n", namespace, "-f", valuesFile(t, values), "--dry-run=server", "--no-hooks", "--kubeconfig", c.kubeconfig}
			text, err := run(t, c.helm, args...)
			if err != nil {
				t.Fatal(err)
			}
			tried := 0
			for _, o := range parse(t, text) {
				if o.GetNamespace() != "" || o.GetKind() == "CustomResourceDefinition" {
					continue
				}
				tried++
				owners := []string{"elsewhere"}
				if tried == 1 {
					owners = append(owners, namespace) // the mark is read alike of all kinds
				}
				for _, owner := range owners {
					theirs := o.DeepCopy()
					theirs.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "fs", "meta.helm.sh/release-namespace": owner})
					if err := c.client.Create(t.Context(), theirs); err != nil {
						t.Fatal(err)
					}
					_, err := run(t, c.helm, args...)
					if owner == namespace {
						if err != nil {
							t.Errorf("an upgrade with %s %s: %v", o.GetKind(), o.GetName(), err)
						}
					} else if says := "fullnameOverride: the name fs-spark-operator is taken: " + o.GetKind() + " " + o.GetName() +
						" belongs to the release fs in the namespace elsewhere"; err == nil || !strings.Contains(err.Error(), says) {
						t.Errorf("%v\nwant: %s", err, says)
					}
					if err := c.client.Delete(t.Context(), theirs); err != nil {
						t.Fatal(err)
					}
				}
			}
			if tried == 0 {
				t.Error("nothing belongs to the cluster")
			}
		})
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
