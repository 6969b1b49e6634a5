// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	family "github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// ofCluster is a cluster with two workers, an hour old, that was never reconciled.
func ofCluster(name string, changes ...func(*v1.SparkCluster)) *v1.SparkCluster {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: before(time.Hour), Generation: 1}}
	o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 2, MinWorkers: 2, MaxWorkers: 2}
	for _, change := range changes {
		change(o)
	}
	return o
}

// reconciled gives a cluster the status that the operator writes when it sees something.
func reconciled(seen standalone.Observation) func(*v1.SparkCluster) {
	return func(o *v1.SparkCluster) {
		desired, _ := family.Clusters{}.Desired(o, family.Clusters{}.Load(o, policy.Set{}.Apply, nil), scheduler.Descriptor{}, scheduler.Decoration{})
		for range 2 {
			plan := standalone.Decide(desired, family.ClusterRecord(o), seen)
			results := make([]standalone.Result, len(plan.Actions))
			for i := range results {
				results[i].Class = lifecycle.ClassDone
			}
			next, _ := family.Clusters{}.ToStatus(o, standalone.Settle(plan, results), before(10*time.Minute).Time)
			*o = *next
		}
	}
}

// inTeamA is a scheduler's answer about a cluster.
func inTeamA(verdict scheduler.Verdict, reason scheduler.Reason, message string) scheduler.Admission {
	choice := scheduler.Choice{Scheduler: "volcano", Source: scheduler.SourceApplication, Queue: "team-a", Group: "PodGroup spark-lab-1"}
	return scheduler.Admission{Verdict: verdict, Reason: reason, Message: message, Choice: choice}
}

// queuedCluster waits for its scheduler.
var queuedCluster = reconciled(standalone.Observation{Admission: inTeamA(scheduler.Wait, scheduler.ReasonWaitingForQuota, "waiting for quota in queue team-a: cpu asked 3, free 1 of 4 (volcano)")})

// readyCluster runs, and a number of its two workers is ready.
func readyCluster(workers int32) func(*v1.SparkCluster) {
	return reconciled(standalone.Observation{Admission: inTeamA(scheduler.Admit, "", ""), Master: standalone.Role{Wanted: 1, Ready: 1}, Workers: standalone.Role{Wanted: 2, Ready: workers}})
}

// madeOf are the objects of a cluster as the operator makes them, and its pods. The last worker cannot pull its image unless all are ready.
func madeOf(t *testing.T, o *v1.SparkCluster, workers int32) []client.Object {
	t.Helper()
	owner := family.ClusterFamily.Owner(o, "")
	var all []client.Object
	for _, object := range family.ClusterObjects(o, nil, scheduler.Decoration{}) {
		object.SetOwnerReferences([]metav1.OwnerReference{owner.Reference})
		object.SetAnnotations(map[string]string{owner.Labels.Applied: "mark"})
		if set, is := object.(*appsv1.StatefulSet); is {
			set.Status = appsv1.StatefulSetStatus{Replicas: *set.Spec.Replicas, ReadyReplicas: min(workers, *set.Spec.Replicas), UpdatedReplicas: *set.Spec.Replicas}
			all = append(all, podsOf(o, set)...)
		}
		all = append(all, object.(client.Object))
	}
	return all
}

func podsOf(o *v1.SparkCluster, set *appsv1.StatefulSet) []client.Object {
	var all []client.Object
	for i := range *set.Spec.Replicas {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: o.Namespace, Name: set.Name + "-" + string('0'+i), Labels: set.Spec.Template.Labels, CreationTimestamp: before(10 * time.Minute),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: "set", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: "node-1", Containers: set.Spec.Template.Spec.Containers},
		}
		container := pod.Spec.Containers[0].Name
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: container, Ready: true, State: running()}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: before(10 * time.Minute)}},
		}
		if i >= set.Status.ReadyReplicas {
			pod.Status.Phase, pod.Status.Conditions[0].Status = corev1.PodPending, corev1.ConditionFalse
			pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}}
		}
		all = append(all, pod)
	}
	return all
}

func TestListClusters(t *testing.T) {
	other := ofCluster("other", readyCluster(2))
	other.Namespace = "etl"
	wrong := ofCluster("wrong", func(o *v1.SparkCluster) { o.Spec.ClusterTolerations.InstanceConfig.InitWorkers = -1 }, reconciled(standalone.Observation{}))
	apaches := ofCluster("apaches", func(o *v1.SparkCluster) {
		o.Status.CurrentState = &v1.ClusterState{CurrentStateSummary: v1.ClusterRunningHealthy}
	})
	newAPI(t, other, wrong, apaches, ofCluster("new"), ofCluster("queued", queuedCluster), ofCluster("ready", readyCluster(2)), ofCluster("starting", readyCluster(1)))
	for name, args := range map[string]string{
		"list-clusters": "clusters", "list-clusters-all": "sparkcluster -A", "list-clusters-wide": "sparkclusters.spark.apache.org -o wide",
		"list-clusters-state": "clusters --state submitted,new", "list-clusters-name": "sparkclusters -o name", "list-clusters-none": "clusters -n empty",
	} {
		t.Run(name, func(t *testing.T) { prints(t, name, append([]string{"list"}, strings.Fields(args)...)...) })
	}
	if _, errOut, code := execute(t, "", "list", "clusters", "--state", "running"); code != 1 || !strings.Contains(errOut, "the states are NEW, Submitted, RunningHealthy, ") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	out, _, code := execute(t, "", "list", "clusters", "-o", "json")
	var list struct{ Items []v1.SparkCluster }
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list.Items) != 6 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

func TestExplainClusters(t *testing.T) {
	ready, starting := ofCluster("ready", readyCluster(2)), ofCluster("starting", readyCluster(1))
	objects := append(madeOf(t, ready, 2), madeOf(t, starting, 1)...)
	a := newAPI(t, append(objects, ready, starting, ofCluster("queued", queuedCluster), ofCluster("new"))...)
	for name, arg := range map[string]string{"explain-cluster": "ready", "explain-cluster-starting": "sparkcluster/starting", "explain-cluster-queued": "sparkclusters/queued", "explain-cluster-new": "new"} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, "", "explain", arg)
			if code != 0 {
				t.Error(errOut)
			}
			testutil.Golden(t, "testdata/"+name+".golden", ages.ReplaceAllString(out, "AGE"))
		})
	}
	out, _, _ := execute(t, "", "explain", "starting", "-o", "json")
	var report struct {
		State   string
		Workers struct{ Ready, Wanted int }
		Pods    []struct{ Name, Waiting string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.State != "RunningHealthy" || report.Workers.Ready != 1 || report.Workers.Wanted != 2 || len(report.Pods) != 3 || report.Pods[2].Waiting == "" {
		t.Errorf("%v: %s", err, out)
	}
	a.Deny(request("get", "statefulsets"), request("list", "pods"))
	out, _, code := execute(t, "", "explain", "ready")
	for _, text := range []string{"was running at the last reconcile", "objects of the cluster: you may not get statefulsets.apps", "pods: you may not list pods"} {
		if code != 0 || !strings.Contains(out, text) {
			t.Errorf("exit code %d, it does not say %q:\n%s", code, text, out)
		}
	}
}

func TestQueueOfClusters(t *testing.T) {
	placing := lifecycle.Cause{Reason: scheduler.ReasonWaitingForCapacity, Message: "no node has room for pod placing-master-0 (volcano)"}
	newAPI(t, inState("pi", v1beta2.ApplicationStateRunning), ofCluster("queued", queuedCluster), ofCluster("new"), ofCluster("ready", readyCluster(2)),
		ofCluster("placing", reconciled(standalone.Observation{Admission: inTeamA(scheduler.Admit, "", ""), Master: standalone.Role{Wanted: 1}, Workers: standalone.Role{Wanted: 2}, Placing: placing})),
		ofCluster("made", reconciled(standalone.Observation{Admission: inTeamA(scheduler.Admit, "", ""), Master: standalone.Role{Wanted: 1}, Workers: standalone.Role{Wanted: 2}})),
		ofCluster("stopped", func(o *v1.SparkCluster) { o.Spec.Suspend = true }, reconciled(standalone.Observation{})),
		ofCluster("probe", func(o *v1.SparkCluster) { o.Labels = map[string]string{v1.LabelSentinel: "true"} }),
		ofCluster("apaches", func(o *v1.SparkCluster) {
			o.Status.CurrentState = &v1.ClusterState{CurrentStateSummary: v1.ClusterRunningHealthy}
		}))
	for name, args := range map[string][]string{"queue-clusters": {"queue"}, "queue-clusters-one": {"queue", "--queue", "team-a"}} {
		t.Run(name, func(t *testing.T) { prints(t, name, args...) })
	}
}

func TestClusterVerbs(t *testing.T) {
	const cluster = "sparkcluster.spark.apache.org/"
	cases := map[string]verbCase{
		"Suspend":      {"with its type", "suspend sparkcluster/lab", cluster + "lab suspended\n", "", 0, []string{`patch sparkclusters/lab {"metadata":{"uid":"uid-lab"},"spec":{"suspend":true}}`}},
		"SuspendPlain": {"by its name alone", "suspend lab --dry-run=client", cluster + "lab suspended (dry run)\n", "", 0, nil},
		"Resume":       {"it is not suspended", "resume sparkclusters lab", cluster + "lab resumed (no change)\n", "", 0, nil},
		"All":          {"of the type", "suspend sparkclusters --all --dry-run=client", cluster + "lab suspended (dry run)\n" + cluster + "twin suspended (dry run)\n", "", 0, nil},
		"Delete": {
			"and what goes with it", "delete lab", cluster + "lab deleted\n",
			"lab: it was RunningHealthy; its master, its workers and its other objects are deleted with it; applications in it fail\n", 0,
			[]string{`delete sparkclusters/lab {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-lab"},"propagationPolicy":"Background"}`},
		},
		"DeleteNew": {"nothing was made of it", "delete sparkcluster/twin", cluster + "twin deleted\n", "", 0, []string{
			`delete sparkclusters/twin {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-twin"},"propagationPolicy":"Background"}`,
		}},
		"Ambiguous": {"nothing is deleted by mistake", "delete twin", "", "error: \"twin\" is the name of sparkapp/twin and of sparkcluster/twin: write one of them\n", 1, nil},
		"KeepRuns":  {"for schedules", "delete lab --keep-runs", "", "error: " + cluster + "lab: --keep-runs: only for a ScheduledSparkApplication\n", 1, nil},
		"Rerun":     {"clusters have no runs", "rerun lab", "", "error: lab is a SparkCluster: it starts again after kubectl spark suspend sparkcluster/lab and kubectl spark resume sparkcluster/lab\n", 1, nil},
		"Trigger":   {"clusters have no runs", "trigger sparkcluster/lab", "", "error: lab is a SparkCluster: only schedules have runs to start; it starts again after kubectl spark suspend sparkcluster/lab and kubectl spark resume sparkcluster/lab\n", 1, nil},
		"Logs":      {"there is no driver", "logs sparkcluster/lab", "", "error: sparkcluster/lab is a cluster: logs is only for applications; kubectl logs lab-master-0 -n jobs prints the log of its master, and lab-worker-0 that of its first worker\n", 1, nil},
		"LogsPlain": {"no application has the name", "logs lab", "", "error: lab is a cluster: logs is only for applications; kubectl logs lab-master-0 -n jobs prints the log of its master, and lab-worker-0 that of its first worker\n", 1, nil},
		"UI":        {"that of the master", "ui lab", "", "error: lab is a cluster: ui is only for applications; kubectl port-forward pod/lab-master-0 8080 -n jobs opens the UI of its master at http://localhost:8080\n", 1, nil},
		"Wait":      {"kubectl can do that", "wait sparkcluster/lab", "", "error: sparkcluster/lab is a cluster: wait is only for applications; kubectl wait sparkclusters/lab -n jobs --for=condition=Ready waits until its pods are ready\n", 1, nil},
		"Near":      {"with its type", "suspend lba", "", "error: there is no SparkApplication \"lba\" in namespace jobs; did you mean sparkcluster/lab?\n", 1, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, ofCluster("lab", readyCluster(2)), ofCluster("twin"), inState("twin", v1beta2.ApplicationStateRunning))
			tc.run(t, a)
		})
	}
}
