// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Limits of tenants are about all pods that a cluster may have, not about those that it begins with.
func TestNumbersOfPodsThatAreLimited(t *testing.T) {
	size := func(init, least, most int32) v1.WorkerInstanceConfig {
		return v1.WorkerInstanceConfig{InitWorkers: init, MinWorkers: least, MaxWorkers: most}
	}
	for name, tc := range map[string]struct {
		reason string
		size   v1.WorkerInstanceConfig
		want   [3]int32 // at the start, at least, at most
	}{
		"Plain":    {reason: "there are as many as there are", size: size(3, 0, 0), want: [3]int32{3, 3, 3}},
		"Fixed":    {reason: "without an autoscaler nothing changes them", size: size(3, 5, 5), want: [3]int32{3, 3, 3}},
		"Scaled":   {reason: "an autoscaler goes down and up", size: size(3, 1, 5), want: [3]int32{3, 1, 5}},
		"FewFirst": {reason: "it begins with fewer than the autoscaler leaves", size: size(1, 2, 5), want: [3]int32{1, 1, 5}},
		"AllFirst": {reason: "it begins with more than the autoscaler makes", size: size(9, 2, 5), want: [3]int32{9, 2, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			o := clusterFrom(t, "")
			o.Spec.ClusterTolerations.InstanceConfig = tc.size
			got := map[string][3]int32{}
			for _, r := range clusterBuilt(o, nil).Roles {
				got[r.Name] = [3]int32{r.Initial, r.Least, r.Most}
			}
			if diff := cmp.Diff(map[string][3]int32{"master": {1, 1, 1}, "worker": tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What is limited is what the user has written, in its places, and what policies have set: not the operator's own labels, nor the usual scheduler.
func TestWhatOfClustersIsLimited(t *testing.T) {
	o := clusterFrom(t, `sparkConf: {spark.a: own}
workerSpec:
  networkPolicy: {metricsPort: 9404, metricsIngress: [{podSelector: {}}]}
  serviceSpec: {type: NodePort}
  statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: work}}], template: {metadata: {labels: {team: a}}}}`)
	b := clusterBuilt(o, map[string]string{"spark.b": "1", "spark.executor.cores": "3"})
	head := spark.Standalone{Namespace: b.Namespace, Conf: b.Conf, Defaults: b.Defaults, OwnLabels: b.OwnLabels}
	if diff := cmp.Diff(spark.Standalone{
		Namespace: "jobs", Conf: map[string]string{"spark.a": "own", "spark.b": "1"}, Defaults: map[string]string{"spark.b": "1", "spark.executor.cores": "3"},
		OwnLabels: []string{
			"spark.operator/spark-cluster-name", "spark.operator/name", "sparkoperator.k8s.io/created-by-spark-operator", "sparkoperator.k8s.io/spec-hash",
			"spark.operator/spark-cluster-name", "sparkoperator.k8s.io/exposes",
		},
	}, head); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b.Fields.Path("worker.labels") != "spec.workerSpec.statefulSetSpec.template.metadata.labels" || len(b.Others) != 1 || b.Others[0].GetName() != "c-worker" {
		t.Errorf("%v, %v", b.Fields, b.Others)
	}
	w := b.Roles[1]
	if diff := cmp.Diff(map[string]string{"spark-role": "worker", "spark-version": "4.1.4", "team": "a"}, w.Pod.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	cores := w.Pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
	if cores.String() != "3" || w.Set.GetName() != "c-worker" || w.Service.Name != "c-worker-svc" || w.Service.Spec.Type != corev1.ServiceTypeNodePort || len(w.Claims) != 1 {
		t.Errorf("%+v", w)
	}
	for conf, want := range map[string]string{"": "", "sparkConf: {spark.kubernetes.scheduler.name: mine}": "mine", "sparkConf: {spark.kubernetes.scheduler.name: default-scheduler}": "default-scheduler"} {
		for _, r := range clusterBuilt(clusterFrom(t, conf), nil).Roles {
			if got := r.Pod.Spec.SchedulerName; got != want {
				t.Errorf("%q: the %s has the scheduler %q, want %q", conf, r.Name, got, want)
			}
		}
	}
}
