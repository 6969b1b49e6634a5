// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// rolePod is what defaults set of the pods of a role.
type rolePod struct {
	Image, PullPolicy, Account, Team     string
	CPU, CPULimit, Memory, MemoryMaximum string
}

// Every default reaches the pods of a cluster that says nothing, and one that says something else keeps its word.
func TestDefaultsOfClusters(t *testing.T) {
	master := rolePod{Image: "registry.example/spark:4.1.0", PullPolicy: "Always", Account: "spark", Team: "a", CPU: "2", CPULimit: "2500m", Memory: "2Gi", MemoryMaximum: "2Gi"}
	worker := master
	worker.CPU, worker.CPULimit, worker.Memory, worker.MemoryMaximum = "3", "4", "4Gi", "4Gi"
	running := "{currentState: {currentStateSummary: RunningHealthy}, defaults: {spark.kubernetes.container.image: old}}"
	cases := map[string]struct {
		reason, spec, status string
		master, worker       rolePod
	}{
		"Everything": {reason: "nothing is said", master: master, worker: worker},
		"OwnWords": {
			reason: "configuration and templates win, a resource as a whole", master: rolePod{Image: "own", PullPolicy: "Never", Account: "mine", Team: "mine", CPULimit: "1", Memory: "1Gi"},
			worker: rolePod{Image: "own", PullPolicy: "Always", Account: "spark", Team: "a", CPU: "3", CPULimit: "4", Memory: "4Gi", MemoryMaximum: "4Gi"},
			spec: `{sparkConf: {spark.kubernetes.container.image: own}, masterSpec: {statefulSetSpec: {template: {metadata: {labels: {team: mine}}, spec: {serviceAccountName: mine,
				containers: [{name: side}, {name: master, imagePullPolicy: Never, resources: {limits: {cpu: 1}, requests: {memory: 1Gi}}}]}}}}}`,
		},
		"Properties": {reason: "properties for pods of applications are not those of clusters' pods", spec: "{sparkConf: {spark.driver.memory: 9g, spark.kubernetes.authenticate.driver.serviceAccountName: mine}}", master: master, worker: worker},
		"Running":    {reason: "a cluster keeps the defaults of its start", status: running, master: rolePod{Image: "old"}, worker: rolePod{Image: "old"}},
		"Taken":      {reason: "another operator's has none", status: "{currentState: {currentStateSummary: RunningHealthy}}", master: rolePod{Image: "apache/spark:4.3.0"}, worker: rolePod{Image: "apache/spark:4.3.0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{}
			o.Namespace, o.Name = "team-a", "lab"
			for text, into := range map[string]any{tc.spec: &o.Spec, tc.status: &o.Status} {
				if err := yaml.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			before := o.DeepCopy()
			policies := set(t, whole)
			pods := map[string]rolePod{}
			for _, object := range apache.ClusterObjects(o, apache.Clusters{}.Load(o, policies.Apply, nil).Defaults, scheduler.Decoration{}) {
				if set, is := object.(*appsv1.StatefulSet); is {
					pods[set.Name] = rolePodOf(&set.Spec.Template)
				}
			}
			if diff := cmp.Diff(map[string]rolePod{"lab-master": tc.master, "lab-worker": tc.worker}, pods); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the cluster itself is changed (-before +after):\n%s", diff)
			}
		})
	}
}

func rolePodOf(t *corev1.PodTemplateSpec) rolePod {
	d := t.Spec.Containers[len(t.Spec.Containers)-1]
	p := rolePod{Image: d.Image, PullPolicy: string(d.ImagePullPolicy), Account: t.Spec.ServiceAccountName, Team: t.Labels["team"]}
	for into, q := range map[*string]struct {
		list corev1.ResourceList
		name corev1.ResourceName
	}{
		&p.CPU: {d.Resources.Requests, corev1.ResourceCPU}, &p.CPULimit: {d.Resources.Limits, corev1.ResourceCPU},
		&p.Memory: {d.Resources.Requests, corev1.ResourceMemory}, &p.MemoryMaximum: {d.Resources.Limits, corev1.ResourceMemory},
	} {
		if amount, there := q.list[q.name]; there {
			*into = amount.String()
		}
	}
	return p
}
