// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// overlaid is what of a role's pods a scheduler's plugin may change.
type overlaid struct {
	Labels, Annotations map[string]string
	Scheduler, Priority string
}

// What a plugin lays over a driver is on the master, and what it lays over executors is on the workers; only a priority class of the user's stays.
func TestPluginsAndPodsOfClusters(t *testing.T) {
	labels := func(role string, more map[string]string) map[string]string {
		return with(map[string]string{"spark.operator/spark-cluster-name": "c", "spark-role": role, "spark-version": "4.1.4"}, more)
	}
	pair := func(key, value string) map[string]string { return map[string]string{key: value} }
	usual := overlaid{Labels: labels("worker", nil), Scheduler: "default-scheduler"}
	whole := spark.PodOverlay{Labels: pair("group", "g"), Annotations: pair("queue", "q"), SchedulerName: "volcano", PriorityClassName: "low"}
	cases := map[string]struct {
		reason, spec   string
		d              scheduler.Decoration
		master, worker overlaid
	}{
		"None": {reason: "the pods are placed one by one", master: overlaid{Labels: labels("master", nil), Scheduler: "default-scheduler"}, worker: usual},
		"Master": {
			reason: "workers have their own", d: scheduler.Decoration{Driver: whole}, worker: usual,
			master: overlaid{Labels: labels("master", pair("group", "g")), Annotations: pair("queue", "q"), Scheduler: "volcano", Priority: "low"},
		},
		"Workers": {
			reason: "the master has its own", d: scheduler.Decoration{Executor: whole}, master: overlaid{Labels: labels("master", nil), Scheduler: "default-scheduler"},
			worker: overlaid{Labels: labels("worker", pair("group", "g")), Annotations: pair("queue", "q"), Scheduler: "volcano", Priority: "low"},
		},
		"Own": {
			reason: "the plugin finds its pods by its own keys, and the user's class is the user's", d: scheduler.Decoration{Executor: whole},
			spec: `sparkConf: {spark.kubernetes.scheduler.name: mine}
workerSpec: {statefulSetSpec: {template: {metadata: {labels: {group: own, a: b}, annotations: {queue: own, c: d}}, spec: {priorityClassName: high}}}}
masterSpec: {statefulSetSpec: {template: {metadata: {annotations: {queue: own}}}}}`,
			master: overlaid{Labels: labels("master", nil), Annotations: pair("queue", "own"), Scheduler: "mine"},
			worker: overlaid{Labels: labels("worker", map[string]string{"group": "g", "a": "b"}), Annotations: map[string]string{"queue": "q", "c": "d"}, Scheduler: "volcano", Priority: "high"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]overlaid{}
			for _, object := range ClusterObjects(clusterFrom(t, tc.spec), nil, tc.d) {
				if set, is := object.(*appsv1.StatefulSet); is {
					p := set.Spec.Template
					got[set.Name] = overlaid{Labels: p.Labels, Annotations: p.Annotations, Scheduler: p.Spec.SchedulerName, Priority: p.Spec.PriorityClassName}
				}
			}
			if diff := cmp.Diff(map[string]overlaid{"c-master": tc.master, "c-worker": tc.worker}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
