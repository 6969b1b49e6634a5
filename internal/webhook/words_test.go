// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/quota"
	"github.com/firesteel-dev/firesteel/internal/scheduler/volcano"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

var wordsAt = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// podsOf returns pods of a cluster: a master that waits for a node and says why, or one that runs before workers that wait.
func podsOf(waiting corev1.PodCondition, workers int) scheduler.PodStatuses {
	pod := func(name string) scheduler.PodStatus {
		return scheduler.PodStatus{Name: name, UID: name, Phase: corev1.PodPending, CreatedAt: wordsAt, SchedulerName: yunikorn.Name, Conditions: []corev1.PodCondition{waiting}}
	}
	master := pod("m")
	f := scheduler.PodStatuses{Now: wordsAt.Add(time.Hour), Driver: &master}
	if workers > 0 {
		master = scheduler.PodStatus{Name: "m", UID: "m", Phase: corev1.PodRunning, Node: "n", Started: true, CreatedAt: wordsAt}
	}
	for range workers {
		f.Executors = append(f.Executors, pod("w"))
	}
	return f
}

// The sentences of schedulers and policies about a cluster have the names of its roles, and the names that users gave as they
// gave them. Every name here has the word of a role in it.
func TestWordsOfRoles(t *testing.T) {
	condition := func(message string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}
	}
	gated := podsOf(corev1.PodCondition{}, 0)
	gated.Driver.Gates = []string{"driver.example.com/executors"}
	both := func(template string) string {
		return "masterSpec: {statefulSetSpec: {template: " + template + "}}\nworkerSpec: {statefulSetSpec: {template: " + template + "}}"
	}
	group := func(phase string) string {
		return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: GROUP, namespace: team-executors}\nstatus: {phase: " + phase + "}"
	}
	queue := func(rest string) string {
		return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: root.executors}\n" + rest
	}
	const namespaceQuota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: driver-quota, namespace: team-executors}\n"
	cases := map[string]struct {
		reason, scheduler, spec, parameters string
		objects                             []string
		pods                                *scheduler.PodStatuses
		policy                              scheduler.Policy
		policies                            string
		want                                string
	}{
		"VolcanoQueue":     {reason: "a queue's name", scheduler: volcano.Name, want: `the queue that the pods name: queue "root.executors" does not exist; there is no queue that you may use (volcano)`},
		"VolcanoAdmits":    {reason: "a name beside a word", scheduler: volcano.Name, objects: []string{queue(""), group("Inqueue")}, want: "queue root.executors has reserved capacity for the whole cluster"},
		"VolcanoWaits":     {reason: "the scheduler's own sentence", scheduler: volcano.Name, objects: []string{queue("spec: {capability: {cpu: 9}}"), group("Pending"), "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: team-executors}\ninvolvedObject: {name: GROUP}\nreason: Unschedulable\nmessage: queue root.executors holds the driver of the application"}, want: "waiting for capacity in queue root.executors: asked ; the queue has allocated cpu 0 of 9; queue root.executors holds the driver of the application (volcano)"},
		"VolcanoGroup":     {reason: "a group that the user names", scheduler: volcano.Name, spec: both(`{metadata: {annotations: {scheduling.k8s.io/group-name: the-driver-executors}}}`), objects: []string{strings.ReplaceAll(group("Inqueue"), "GROUP", "the-driver-executors")}, want: "the pods belong to PodGroup the-driver-executors, which the cluster names itself"},
		"VolcanoNoGroup":   {reason: "the same before it exists", scheduler: volcano.Name, spec: both(`{metadata: {annotations: {scheduling.k8s.io/group-name: the-driver-executors}}}`), want: "PodGroup the-driver-executors does not exist; create it, or remove its name from the labels and annotations of the pods (volcano)"},
		"VolcanoGang":      {reason: "a parameter's name is no word", scheduler: volcano.Name, parameters: `{"executorGang": 1}`, want: "the parameters in the operator's configuration.executorGang: 1: must be true or false (volcano)"},
		"YuniKorn":         {reason: "a name beside a word", scheduler: yunikorn.Name, want: "the master pod waits in queue root.executors"},
		"YuniKornWaits":    {reason: "both roles in one sentence", scheduler: yunikorn.Name, pods: new(podsOf(corev1.PodCondition{}, 0)), objects: []string{"apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: team-executors}\ninvolvedObject: {name: m, uid: m}\nreason: Informational\nmessage: no room in root.executors for the driver"}, want: "waiting in queue root.executors for the capacity of the master and 2 workers: together they asked ; YuniKorn says: no room in root.executors for the driver (yunikorn)"},
		"Coscheduling":     {reason: "words alone", scheduler: coscheduling.Name, want: "the master starts when the cluster has capacity for the whole cluster"},
		"CoschedulingGang": {reason: "workers that start together", scheduler: coscheduling.Name, parameters: `{"executorGang": true}`, want: "the master starts when a node has capacity for it, and its 2 workers start together"},
		"CoschedulingUser": {reason: "a group that the user names", scheduler: coscheduling.Name, spec: both("{metadata: {labels: {scheduling.x-k8s.io/pod-group: the-executors}}}"), want: "PodGroup the-executors does not exist; create it, or remove its name from the labels and annotations of the pods (coscheduling)"},
		"Kube":             {reason: "words alone", scheduler: kube.Name, want: `plain Kubernetes scheduling has no queues: the queue that the pods name "root.executors" is ignored`},
		"MasterWaits":      {reason: "what the nodes say of pods and taints", scheduler: kube.Name, pods: new(podsOf(condition("node executor-1 has the taint driver"), 0)), want: "the master waits for a node: node executor-1 has the taint driver (kube)"},
		"WorkersWait":      {reason: "the same of workers", scheduler: kube.Name, pods: new(podsOf(condition("node executor-1 has the taint driver"), 2)), want: "2 of 2 workers wait for a node: node executor-1 has the taint driver (kube)"},
		"Quota":            {reason: "a quota and a namespace", scheduler: kube.Name, objects: []string{namespaceQuota + "spec: {hard: {pods: 1}}"}, want: "the request exceeds ResourceQuota driver-quota of namespace team-executors: pods asked 3, limit 1 (kube)"},
		"QuotaRequires":    {reason: "a role beside a quota", scheduler: kube.Name, objects: []string{namespaceQuota + "spec: {hard: {limits.cpu: 1}}"}, want: "ResourceQuota driver-quota of namespace team-executors counts limits.cpu, but the master has none and would be refused; set it (for limits.cpu: spec.masterSpec.statefulSetSpec.template.spec.containers), or ask for a LimitRange with a default (kube)"},
		"AllowedQueues":    {reason: "the administrator's rules", scheduler: volcano.Name, policy: scheduler.Policy{AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"team-executors"}, Queues: []string{"root.drivers"}}}}, want: `the queue that the pods name: queue "root.executors" may not be used from namespace "team-executors"; queues you may use: root.drivers`},
		"PodQueue":         {reason: "a queue that a pod of a role enters", scheduler: kube.Name, policy: scheduler.Policy{AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"team-executors"}, Queues: []string{"root.executors"}}}}, spec: "sparkConf: {spark.kubernetes.scheduler.name: volcano}\n" + both(`{metadata: {annotations: {scheduling.volcano.sh/queue-name: root.driver}}}`), want: `spec.sparkConf["spark.kubernetes.scheduler.name"]: the master pod enters queue "root.driver" of the scheduler volcano, which may not be used from namespace "team-executors"; queues you may use: root.executors (kube)`},
		"ForeignMark":      {reason: "another user on a pod", scheduler: yunikorn.Name, spec: both("{metadata: {labels: {yunikorn.apache.org/username: driver}}}"), want: `the master pod has the label yunikorn.apache.org/username: "driver", and the scheduler yunikorn therefore counts it as that user's, not the creator of the cluster (executor); remove it (yunikorn)`},
		"PodKey":           {reason: "a mark of the plugin with another value", scheduler: yunikorn.Name, spec: both("{metadata: {labels: {yunikorn.apache.org/queue: root.driver}}}"), want: `the master pod has the label yunikorn.apache.org/queue: "root.driver", which the scheduler plugin yunikorn sets to "root.executors"; remove it (yunikorn)`},
		"Gates":            {reason: "gates of another owner", scheduler: kube.Name, pods: new(gated), want: "the master pod is held back by scheduling gates that the operator did not set: driver.example.com/executors (kube)"},
		"Limit":            {reason: "a policy and its namespace", scheduler: kube.Name, policies: "limits: {executor: {memory: 1Gi}}", spec: "workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, resources: {limits: {memory: 2Gi}}}]}}}}", want: `the worker pod requests 2Gi of memory in total; namespace team-executors allows at most 1Gi (operator policy "the-driver-policy")`},
		"DefaultQueue":     {reason: "a policy that names the queue", scheduler: volcano.Name, policies: "defaults: {batchScheduler: volcano, queue: root.executors}", want: `defaults.queue of the operator's policy "the-driver-policy": queue "root.executors" does not exist; there is no queue that you may use (volcano)`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team-executors", Name: "driver", UID: "1"}}
			o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
			for text, into := range map[string]any{tc.spec: &o.Spec, "{instanceConfig: {initWorkers: 2, minWorkers: 2, maxWorkers: 2}}": &o.Spec.ClusterTolerations} {
				if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			tc.policy.Default, tc.policy.Admissions = tc.scheduler, []scheduler.Plugin{quota.New("Enforce", nil)}
			registry, err := scheduler.NewRegistryFor(tc.policy, volcano.New(""), yunikorn.Plugin{}, coscheduling.New(""), kube.Plugin{})
			if err != nil {
				t.Fatal(err)
			}
			p := policy.Policy{Name: "the-driver-policy", Namespaces: []string{"team-executors"}}
			if err := yaml.UnmarshalStrict([]byte(tc.policies), &p); err != nil {
				t.Fatal(err)
			}
			operator := resolve.Operator{Registry: registry, Policies: policy.Set{p}}
			loaded := apache.Clusters{}.Load(o, policy.Set{}.Apply, admission.CheckCluster(operator, o.Namespace))
			c := admission.ClusterOf(apache.ClusterFamily, o, loaded, lifecycle.Submitters{}, wordsAt)
			c.Submitter = lifecycle.Submitter{User: "executor"}
			if p.Defaults.Queue == "" {
				c.Recorded = scheduler.Choice{Scheduler: tc.scheduler, Source: scheduler.SourceApplication, Queue: "root.executors", Parameters: tc.parameters}
			}
			if got := answerTo(t, c, operator, tc.objects, tc.pods); got != tc.want && len(loaded.Objections) == 0 {
				t.Errorf("%s: it says %q, want %q", tc.reason, got, tc.want)
			}
			for _, e := range loaded.Objections {
				if e.Problem != tc.want {
					t.Errorf("%s: it says %q, want %q", tc.reason, e.Problem, tc.want)
				}
			}
		})
	}
}

// answerTo returns the message about a cluster that starts, or about one with pods.
func answerTo(t *testing.T, c admission.Cluster, operator resolve.Operator, objects []string, pods *scheduler.PodStatuses) string {
	t.Helper()
	if pods != nil {
		candidate := c.Running(operator)
		o, err := candidate.Observe(candidate.Plugin(), snapshotOf(t, candidate, candidate.ObserveReads(*pods), objects), *pods)
		if err != nil {
			t.Fatal(err)
		}
		return o.Message
	}
	candidate, refused := c.Candidate(operator, nil)
	if candidate == nil {
		return refused.Message
	}
	return candidate.Ask(snapshotOf(t, candidate, candidate.Reads, objects)).Message
}

// snapshotOf returns what is read of the objects; GROUP in them stands for the attempt.
func snapshotOf(t *testing.T, c *admission.Candidate, reads []scheduler.Read, texts []string) scheduler.Snapshot {
	t.Helper()
	s := scheduler.Snapshot{}
	for _, read := range reads {
		var found []*unstructured.Unstructured
		for _, text := range texts {
			object := schedulertest.Object(t, strings.ReplaceAll(text, "GROUP", c.Attempt().ID))
			if object.GetKind() == read.Kind && (read.Name == "" || read.Name == object.GetName()) {
				found = append(found, object)
			}
		}
		if read.Name == "" {
			s[read] = scheduler.NewList(found...)
		} else if len(found) > 0 {
			s[read] = found[0]
		}
	}
	return s
}
