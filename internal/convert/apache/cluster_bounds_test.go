// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

func clusterFrom(t *testing.T, spec string) *v1.SparkCluster {
	t.Helper()
	o := &v1.SparkCluster{}
	o.Namespace, o.Name = "jobs", "c"
	if err := yaml.UnmarshalStrict([]byte("runtimeVersions: {sparkVersion: 4.1.4}\n"+spec), &o.Spec); err != nil {
		t.Fatal(err)
	}
	return o
}

// Numbers of what Kubernetes keeps or reads for a cluster are bounded, of both roles.
func TestNumbersOfClustersAreBounded(t *testing.T) {
	metrics := func(n int) string {
		return "workerSpec: {horizontalPodAutoscalerSpec: {maxReplicas: 1, metrics: [" + strings.TrimSuffix(strings.Repeat("{type: Resource},", n), ",") + "]}}"
	}
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"Master":  {"each revision has the whole template", "masterSpec: {statefulSetSpec: {revisionHistoryLimit: 101}}", `spec.masterSpec.statefulSetSpec.revisionHistoryLimit: "101": is above the operator's limit; use at most 100`},
		"Worker":  {"each revision has the whole template", "workerSpec: {statefulSetSpec: {revisionHistoryLimit: 101}}", `spec.workerSpec.statefulSetSpec.revisionHistoryLimit: "101": is above the operator's limit; use at most 100`},
		"Enough":  {"ten are Kubernetes' default", "masterSpec: {statefulSetSpec: {revisionHistoryLimit: 100}}", ""},
		"Metrics": {"each is read every 15 seconds", metrics(21), `spec.workerSpec.horizontalPodAutoscalerSpec.metrics: "21": are above the limit for an autoscaler; use at most 20`},
		"Few":     {"as many as allowed", metrics(20), ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := clusterFrom(t, tc.spec)
			var said []string
			for _, e := range (Clusters{}).Load(o, policy.Set{}.Apply, nil).Objections {
				said = append(said, e.About(ClusterNames(o).PathOf(e)))
			}
			if got := strings.Join(said, "\n"); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// An administrator may switch the budgets of workers off; what is there already is then not wanted any more.
func TestBudgetOfWorkers(t *testing.T) {
	o := clusterFrom(t, "clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}")
	budget := standalone.Ref{Kind: "PodDisruptionBudget", Name: "c-worker-pdb"}
	for off, want := range map[bool]bool{false: true, true: false} {
		c, objects := Clusters{NoDisruptionBudget: off}.Desired(o, standalone.Loaded{}, scheduler.Descriptor{}, scheduler.Decoration{})
		made := slices.ContainsFunc(objects, func(object spark.Object) bool { return object.GetName() == budget.Name })
		part := slices.ContainsFunc(c.Parts, func(p standalone.Part) bool { return p.Ref == budget })
		if made != want || part != want || !slices.Contains(c.Optional, budget) {
			t.Errorf("switched off: %t: made %t, part %t", off, made, part)
		}
	}
}
