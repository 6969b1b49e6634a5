// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// govern puts the harness's operator under policies.
func (w *harness) govern(s policy.Set) {
	w.engine.Policies = func() policy.Set { return s }
}

func forJobs(l policy.Limits, d policy.Defaults) policy.Set {
	return policy.Set{{Name: "jobs", Namespaces: []string{"jobs"}, Defaults: d, Limits: l}}
}

func TestPolicyRefuses(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.govern(forJobs(policy.Limits{Executors: new(int32)}, policy.Defaults{}))
	w.settle()
	status := w.app().Status
	want := `spec.executor.instances: "1": namespace jobs allows at most 0 executors at a time (operator policy "jobs")`
	if w.state() != "FAILED" || !strings.Contains(status.AppState.ErrorMessage, want) || len(w.drivers()) != 0 {
		t.Errorf("%s, %d drivers: %s", w.state(), len(w.drivers()), status.AppState.ErrorMessage)
	}
	for _, kind := range []string{"Admitted", "Stalled", "Succeeded"} {
		if c := conditionOf(w, kind); c.Reason != "InvalidSpec" || c.Message != want {
			t.Errorf("the condition %s does not say which policy refuses what: %+v", kind, c)
		}
	}
	w.reconcile()
	if events := w.events(); len(events) != 1 || events[0] != "Warning SparkApplicationFailed SparkApplication pi failed: "+want {
		t.Errorf("events %q, want the refusal once", events)
	}
}

// A scheduler that a policy names and that there is not is the policy's mistake: the status says what was requested and which
// policy did, and the application continues automatically when the policy is corrected.
func TestPolicyNamesAScheduler(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.govern(forJobs(policy.Limits{}, policy.Defaults{BatchScheduler: "vulcano"}))
	w.settle()
	const says = `defaults.batchScheduler of the operator's policy "jobs": "vulcano" is not known to this operator; known: plain`
	got := *w.app().Status.Scheduling
	got.QueuedAt, got.MessageTime = nil, nil
	want := v1beta2.SchedulingStatus{Scheduler: "vulcano", Source: "Policy", Reason: "SchedulerUnknown", Message: says}
	if diff := cmp.Diff(want, got); diff != "" || conditionOf(w, "Admitted").Message != says {
		t.Errorf("condition %+v, status (-want +got):\n%s", conditionOf(w, "Admitted"), diff)
	}
	if events := w.events(); len(events) != 1 || events[0] != "Warning SparkApplicationWaiting "+says {
		t.Errorf("events %q, want the wait once", events)
	}
	w.govern(forJobs(policy.Limits{}, policy.Defaults{BatchScheduler: "plain"}))
	w.settle()
	if s := w.app().Status.Scheduling; len(w.drivers()) != 1 || s.Scheduler != "plain" || s.Source != "Policy" {
		t.Errorf("%d drivers with the corrected policy: %+v", len(w.drivers()), s)
	}
}

func TestPolicyDefaultsReachThePods(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Image = nil
	w := newHarness(t, o)
	w.govern(forJobs(policy.Limits{}, policy.Defaults{Image: "registry.example/spark", Labels: map[string]string{"team": "a"}}))
	w.reconcile()
	drivers := w.drivers()
	if len(drivers) != 1 || drivers[0].Spec.Containers[0].Image != "registry.example/spark" || drivers[0].Labels["team"] != "a" {
		t.Fatalf("drivers: %+v", drivers)
	}
	if diff := cmp.Diff(o.Spec, w.app().Spec); diff != "" {
		t.Errorf("the spec has changed (-want +got):\n%s", diff)
	}
}

// A changed policy neither stops nor restarts what runs; the next attempt keeps to it.
func TestPolicyLeavesAloneWhatRuns(t *testing.T) {
	o := testutil.Pi()
	o.Spec.RestartPolicy.Type = "OnFailure"
	o.Spec.RestartPolicy.OnFailureRetries = new(int32(3))
	w := newHarness(t, o)
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	hash, uid := w.app().Status.SubmissionID, w.drivers()[0].UID
	w.govern(forJobs(policy.Limits{Images: []string{"registry.example/*"}}, policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}))
	w.settle()
	if drivers := w.drivers(); w.state() != "RUNNING" || len(drivers) != 1 || drivers[0].UID != uid || w.app().Status.SubmissionID != hash {
		t.Fatalf("%s, drivers %v", w.state(), drivers)
	}
	w.kubelet(corev1.PodFailed, exited(1, "Error"))
	w.settle()
	w.pass(time.Minute)
	w.settle()
	if message := w.app().Status.AppState.ErrorMessage; w.state() != "FAILED" || !strings.Contains(message, `operator policy "jobs"`) {
		t.Errorf("%s: %s", w.state(), message)
	}
}

func TestPolicyTimeToLive(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.govern(forJobs(policy.Limits{}, policy.Defaults{TimeToLiveSeconds: new(int64(3600))}))
	w.reconcile()
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.settle()
	if w.state() != "COMPLETED" {
		t.Fatal(w.state())
	}
	w.pass(time.Hour + time.Second)
	w.reconcile()
	if !w.gone() {
		t.Error("the application outlives the policy's time to live")
	}
}

// An application of a namespace that is not the operator's is left as it is, and continues when the namespace is back.
func TestNamespaceIsLeftAlone(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	watched := true
	w.engine.Watches = func(namespace string) bool { return watched && namespace == "jobs" }
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	watched = false
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	before := fmt.Sprint(w.reads, w.writes)
	if r := w.reconcile(); r.RequeueAfter != 0 || fmt.Sprint(w.reads, w.writes) != before || w.state() != "RUNNING" {
		t.Errorf("%s, again after %s, reads %v, writes %v", w.state(), r.RequeueAfter, w.reads, w.writes)
	}
	watched = true
	w.settle()
	if w.state() != "COMPLETED" {
		t.Errorf("it did not continue: %s", w.state())
	}
}

// An application that is small and stands for what is not fails alone: it takes the operator no memory, now or after a
// restart.
func TestBombsFail(t *testing.T) {
	for name, conf := range heaptest.Bombs() {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			o.Spec.SparkConf = conf
			w := newHarness(t, o)
			defer heaptest.Bound(t, 4*(len(conf["spark.a"])+len(conf["spark.d"])))() // stored, cached and read again after the restart
			w.settle()
			const field = `spec.sparkConf["spark.executor.memoryOverhead"]: `
			if message := w.app().Status.AppState.ErrorMessage; w.state() != "FAILED" || !strings.HasPrefix(message, field) || !strings.Contains(message, "refer to") {
				t.Errorf("state %q: %q", w.state(), message)
			}
			w.restart()
			w.settle()
			if w.state() != "FAILED" || len(w.drivers()) != 0 {
				t.Errorf("after a restart: state %q with %d drivers", w.state(), len(w.drivers()))
			}
		})
	}
}
