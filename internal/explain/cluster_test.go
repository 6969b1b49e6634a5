// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// inVolcano is an answer of a batch scheduler.
func inVolcano(verdict scheduler.Verdict, reason scheduler.Reason, message string) scheduler.Admission {
	return scheduler.Admission{
		Verdict: verdict, Reason: reason, Message: message,
		Choice: scheduler.Choice{Scheduler: "volcano", Source: scheduler.SourceApplication, Queue: "team-a", Group: "PodGroup spark-lab-1"},
	}
}

// waitingClusters are those that have no pods yet, or none any more.
func waitingClusters() map[string]func(*clusterHarness) ClusterReport {
	return map[string]func(*clusterHarness) ClusterReport{
		"new": func(w *clusterHarness) ClusterReport { return w.explain(3 * time.Second) },
		"held-back": func(w *clusterHarness) ClusterReport {
			w.o.Spec.Suspend = true
			w.settle()
			return w.explain(time.Minute)
		},
		"queued": func(w *clusterHarness) ClusterReport {
			w.says = inVolcano(scheduler.Wait, scheduler.ReasonWaitingForQuota, "waiting for quota in queue team-a: cpu asked 3, free 1 of 4 (volcano)")
			w.settle()
			return w.explain(5 * time.Minute)
		},
		"queue-forbidden": func(w *clusterHarness) ClusterReport {
			w.says = inVolcano(scheduler.Reject, scheduler.ReasonQueueForbidden, `queue "team-b" may not be used in namespace jobs; queues you may use: team-a`)
			w.settle()
			return w.explain(time.Minute)
		},
		"name-conflict": func(w *clusterHarness) ClusterReport {
			w.found[standalone.Ref{Kind: "Service", Name: "lab-master-svc"}] = standalone.Found{Presence: lifecycle.Present}
			w.settle()
			return w.explain(time.Minute)
		},
		"name-free-again": func(w *clusterHarness) ClusterReport {
			taken := standalone.Ref{Kind: "Service", Name: "lab-master-svc"}
			w.found[taken] = standalone.Found{Presence: lifecycle.Present}
			w.settle()
			delete(w.found, taken)
			return w.explain(time.Second)
		},
		"quota-of-objects": func(w *clusterHarness) ClusterReport {
			w.refuses["lab-master-svc"] = standalone.Result{Class: lifecycle.ClassQuota, Message: `services "lab-master-svc" is forbidden: exceeded quota: small`}
			w.settle()
			return w.explain(time.Minute)
		},
		"invalid": func(w *clusterHarness) ClusterReport {
			w.workers(-1)
			w.settle()
			return w.explain(time.Minute)
		},
		"invalid-unseen": func(w *clusterHarness) ClusterReport {
			w.workers(-1)
			return w.explain(time.Second)
		},
		"malformed": func(w *clusterHarness) ClusterReport {
			w.o.Spec, w.o.MalformedSpec = v1.SparkClusterSpec{}, "suspend: a number"
			w.settle()
			return w.explain(time.Minute)
		},
		"refused-and-edited": func(w *clusterHarness) ClusterReport {
			w.workers(-1)
			w.settle()
			w.edit(func(*v1.SparkClusterSpec) { w.workers(2) })
			return w.explain(time.Second)
		},
		"suspending": func(w *clusterHarness) ClusterReport {
			w.running()
			w.edit(func(s *v1.SparkClusterSpec) { s.Suspend = true })
			w.settle()
			return w.explain(2 * time.Second)
		},
		"suspended": func(w *clusterHarness) ClusterReport {
			w.running()
			w.edit(func(s *v1.SparkClusterSpec) { s.Suspend = true })
			w.pods = nil
			w.settle()
			return w.explain(time.Hour)
		},
		"resumed": func(w *clusterHarness) ClusterReport {
			w.running()
			w.edit(func(s *v1.SparkClusterSpec) { s.Suspend = true })
			w.pods = nil
			w.settle()
			w.edit(func(s *v1.SparkClusterSpec) { s.Suspend = false })
			return w.explain(time.Second)
		},
		"deleting": func(w *clusterHarness) ClusterReport {
			w.running()
			w.o.DeletionTimestamp, w.o.Finalizers = &metav1.Time{Time: w.now}, []string{v1.ClusterFinalizer, "example.org/backup"}
			return w.explain(time.Minute)
		},
		"probe": func(w *clusterHarness) ClusterReport {
			w.o.Labels = map[string]string{v1.LabelSentinel: "true"}
			return w.explain(time.Minute)
		},
	}
}

// runningClusters are those whose objects were made.
func runningClusters() map[string]func(*clusterHarness) ClusterReport {
	return map[string]func(*clusterHarness) ClusterReport{
		"running": func(w *clusterHarness) ClusterReport {
			w.running()
			return w.explain(40 * time.Minute)
		},
		"second-start": func(w *clusterHarness) ClusterReport {
			w.says = inVolcano(scheduler.Admit, "", "")
			w.running()
			w.edit(func(s *v1.SparkClusterSpec) { s.Suspend = true })
			w.pods = nil
			w.settle()
			w.pass(time.Hour)
			w.edit(func(s *v1.SparkClusterSpec) { s.Suspend = false })
			w.running()
			return w.explain(time.Minute)
		},
		"no-pods-yet": func(w *clusterHarness) ClusterReport {
			w.settle()
			return w.explain(time.Second)
		},
		"image-pull": func(w *clusterHarness) ClusterReport {
			w.settle()
			w.pod("master", 0, w.runs)
			w.pod("worker", 0, func(d *lifecycle.Driver) {
				d.ScheduledAt = w.now
				d.Waiting = lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonImagePull, Message: "image spark:9"}, Details: "not found"}
			})
			w.pod("worker", 1, w.runs)
			w.settle()
			return w.explain(time.Minute)
		},
		"placing": func(w *clusterHarness) ClusterReport {
			w.says = inVolcano(scheduler.Admit, "", "")
			w.settle()
			w.pod("master", 0, w.runs)
			w.placing = lifecycle.Cause{Reason: scheduler.ReasonWaitingForCapacity, Message: "no node has room for pod lab-worker-0 (volcano)"}
			w.pod("worker", 0, func(d *lifecycle.Driver) {
				d.Waiting = lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonUnschedulable}, Details: "0/3 nodes are available"}
			})
			w.settle()
			return w.explain(time.Minute)
		},
		"unschedulable": func(w *clusterHarness) ClusterReport {
			w.settle()
			w.pod("master", 0, func(d *lifecycle.Driver) {
				d.Waiting = lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonUnschedulable}, Details: "0/3 nodes are available"}
			})
			w.settle()
			return w.explain(time.Minute)
		},
		"crashed": func(w *clusterHarness) ClusterReport {
			w.running()
			w.pods[0].Phase, w.pods[0].Ready, w.pods[0].Exit = lifecycle.DriverFailed, false, lifecycle.Exit{Code: 1, Reason: "Error"}
			w.settle()
			return w.explain(time.Second)
		},
		"edited-unseen": func(w *clusterHarness) ClusterReport {
			w.running()
			w.edit(func(*v1.SparkClusterSpec) { w.workers(3) })
			return w.explain(time.Second)
		},
		"edit-refused": func(w *clusterHarness) ClusterReport {
			w.running()
			w.refuses["lab-worker"] = standalone.Result{Class: lifecycle.ClassRefused, Message: `StatefulSet "lab-worker" is invalid: spec: Forbidden`}
			w.edit(func(*v1.SparkClusterSpec) { w.workers(3) })
			w.settle()
			return w.explain(time.Minute)
		},
		"edit-invalid": func(w *clusterHarness) ClusterReport {
			w.running()
			w.edit(func(s *v1.SparkClusterSpec) { s.RuntimeVersions.SparkVersion = "" })
			w.settle()
			return w.explain(time.Minute)
		},
		"suspend-unseen": func(w *clusterHarness) ClusterReport {
			w.running()
			w.edit(func(s *v1.SparkClusterSpec) { s.Suspend = true })
			return w.explain(time.Second)
		},
		"unreadable": func(w *clusterHarness) ClusterReport {
			w.running()
			w.unknown, w.pods = true, nil
			in := w.input()
			in.Unreadable = []string{"objects of the cluster: you may not get services in namespace jobs"}
			return Cluster(in)
		},
		"of-apache": func(w *clusterHarness) ClusterReport {
			w.running()
			w.o.Status.Conditions, w.o.Status.Scheduling, w.o.Status.ObservedGeneration = nil, nil, 0
			for ref, f := range w.found {
				f.Marked = false
				w.found[ref] = f
			}
			return w.explain(time.Hour)
		},
		"failed-of-apache": func(w *clusterHarness) ClusterReport {
			w.o.Status.CurrentState = &v1.ClusterState{CurrentStateSummary: v1.ClusterFailed, Message: "the cluster has failed"}
			return w.explain(time.Hour)
		},
	}
}

func TestClusters(t *testing.T) {
	all := waitingClusters()
	for name, situation := range runningClusters() {
		all[name] = situation
	}
	for name, situation := range all {
		t.Run(name, func(t *testing.T) {
			r := situation(newClusterHarness(t))
			if r.Summary == "" || r.Decision.Sentence == "" || r.Decision.State == "" {
				t.Errorf("something is not said: %+v", r)
			}
			testutil.Golden(t, "testdata/clusters/"+name+".txt", r.Text())
		})
	}
	testutil.NoStaleGolden(t, "testdata/clusters/*.txt", all)
}

var capitals = regexp.MustCompile(`\b(NAME|NAMESPACE|POD|LABEL|QUEUE|APPLICATION)\b|\{[a-z]|driver|executor|application|sparkapp`)

// Whatever reason a cluster has, the advice is about clusters, and names what is meant.
func TestAdviceOfClusters(t *testing.T) {
	all := map[lifecycle.Reason]bool{}
	for reason := range clusterAdvice {
		all[reason] = true
	}
	for reason := range queueing {
		all[reason] = true
	}
	for _, reason := range []lifecycle.Reason{
		lifecycle.ReasonAdmissionRefused, lifecycle.ReasonOperatorForbidden, lifecycle.ReasonSchedulerObjects, lifecycle.ReasonInvalidSpec,
		lifecycle.ReasonSubmissionRefused, lifecycle.ReasonUnschedulable, lifecycle.ReasonSchedulingGated, lifecycle.ReasonConfigMissing, lifecycle.ReasonVolume,
	} {
		all[reason] = true
	}
	for reason := range all {
		w := newClusterHarness(t)
		w.running()
		w.pods[1].Ready = false
		w.pods[1].Waiting = lifecycle.Wait{Cause: lifecycle.Cause{Reason: reason, Message: "it waits"}}
		r := w.explain(time.Second)
		if len(r.Advice) != 1 {
			t.Errorf("%s: the advice is %q", reason, r.Advice)
		}
		for _, text := range r.Advice {
			if wrong := capitals.FindString(text); wrong != "" {
				t.Errorf("%s: the advice has %q: %s", reason, wrong, text)
			}
		}
	}
}

// Finalizers of others may have the words in their names that advice is filled in by.
func TestFinalizersAreNamedAsTheyAre(t *testing.T) {
	const theirs = "NAMESPACE.example.com/POD"
	ended := metav1.NewTime(start)
	w, c := newHarness(t), newClusterHarness(t)
	running := w.running()
	c.running()
	w.o.DeletionTimestamp, w.o.Finalizers = &ended, []string{theirs}
	c.o.DeletionTimestamp, c.o.Finalizers = &ended, []string{theirs}
	want := "if it is not deleted, the owner of its finalizers must remove them: " + theirs
	for kind, advice := range map[string][]string{"application": w.explain(running).Advice, "cluster": c.explain(time.Minute).Advice} {
		if !slices.Contains(advice, want) {
			t.Errorf("%s: the advice is %q, want %q", kind, advice, want)
		}
	}
}

// A status that has less than the operator writes is explained as far as it goes.
func TestHalfOfAStatus(t *testing.T) {
	empty := v1.ClusterState{}
	cases := map[string]struct {
		reason string
		status v1.SparkClusterStatus
		want   string
	}{
		"Empty":      {reason: "it was never reconciled", want: "SparkCluster jobs/lab is new"},
		"NoWord":     {reason: "a state without its word", status: v1.SparkClusterStatus{CurrentState: &empty}, want: "SparkCluster jobs/lab is new"},
		"OtherWord":  {reason: "a word of a later release", status: v1.SparkClusterStatus{CurrentState: &v1.ClusterState{CurrentStateSummary: "Dreaming", LastTransitionTime: "soon"}}, want: "State      Dreaming, created"},
		"Running":    {reason: "without its objects", status: v1.SparkClusterStatus{CurrentState: &v1.ClusterState{CurrentStateSummary: v1.ClusterRunningHealthy}}, want: "has no master that is ready"},
		"Conditions": {reason: "without anything else", status: v1.SparkClusterStatus{Conditions: []metav1.Condition{{Type: "Ready"}, {Type: "Applied"}}}, want: "SparkCluster jobs/lab is new"},
		"Scheduling": {reason: "without anything else", status: v1.SparkClusterStatus{Scheduling: &v1.ClusterScheduling{Queue: "q"}}, want: "SparkCluster jobs/lab is new"},
		"Released":   {reason: "by a previous operator", status: v1.SparkClusterStatus{CurrentState: &v1.ClusterState{CurrentStateSummary: v1.ClusterResourceReleased, Message: "over"}}, want: "was refused: over"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newClusterHarness(t)
			w.o.Status = tc.status
			if text := w.explain(time.Minute).Text(); !strings.Contains(text, tc.want) {
				t.Errorf("%s: it does not say %q:\n%s", tc.reason, tc.want, text)
			}
		})
	}
}

// What listings say comes from the conditions that the operator writes.
func TestClusterStatusIsRead(t *testing.T) {
	cases := map[string]struct {
		reason          string
		story           func(*clusterHarness)
		master, workers string
		why             lifecycle.Reason
	}{
		"New":     {reason: "there is no status", story: func(*clusterHarness) {}},
		"Running": {reason: "all pods are ready", story: (*clusterHarness).running, master: "1/1", workers: "2/2"},
		"Made":    {reason: "no pod is there yet", story: (*clusterHarness).settle, master: "0/1", workers: "0/2", why: standalone.ReasonPodsNotReady},
		"Waiting": {reason: "its reason, and no pods", story: func(w *clusterHarness) {
			w.says = inVolcano(scheduler.Wait, scheduler.ReasonWaitingForQuota, "waiting for quota")
			w.settle()
		}, why: scheduler.ReasonWaitingForQuota},
		"Placing": {reason: "words after the numbers", story: func(w *clusterHarness) {
			w.settle()
			w.pod("master", 0, w.runs)
			w.placing = lifecycle.Cause{Reason: "WaitingForCapacity", Message: "workers: 7 of 9 ready"}
			w.settle()
		}, master: "1/1", workers: "0/2", why: "WaitingForCapacity"},
		"EditRefused": {reason: "all are ready, but not as they are wanted", story: func(w *clusterHarness) {
			w.running()
			w.edit(func(s *v1.SparkClusterSpec) { s.RuntimeVersions.SparkVersion = "" })
			w.settle()
		}, master: "1/1", workers: "2/2", why: lifecycle.ReasonInvalidSpec},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newClusterHarness(t)
			tc.story(w)
			var master, workers string
			if p := w.o.Status.Pods; p != nil {
				master, workers = fmt.Sprint(p.Master.Ready, "/", p.Master.Desired), fmt.Sprint(p.Workers.Ready, "/", p.Workers.Desired)
			}
			got := []string{master, workers, string(ClusterCause(w.o.Status.Conditions).Reason)}
			if diff := cmp.Diff([]string{tc.master, tc.workers, string(tc.why)}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The words of all states are those of the family.
func TestDecisionNamesStates(t *testing.T) {
	w := newClusterHarness(t)
	w.workers(-1)
	if got := w.explain(time.Second).Decision.State; got != apache.ClusterState(standalone.Refused) {
		t.Errorf("the state after a refusal is %q", got)
	}
}
