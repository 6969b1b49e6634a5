/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package chart

import (
	"strings"
	"testing"
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
