// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var asked = corev1.ResourceList{"cpu": resource.MustParse("12"), "memory": resource.MustParse("24Gi")}

// waitsForQuota is the answer of a batch scheduler with queues and groups.
func waitsForQuota() *scheduler.Admission {
	return &scheduler.Admission{
		Verdict: scheduler.Wait, RetryAfter: time.Minute, Apply: []*unstructured.Unstructured{{}},
		Reason: "WaitingForQuota", Message: "waiting for quota in queue team-a: cpu asked 12, free 4 of 40 (batch)",
		Choice: scheduler.Choice{Scheduler: "batch", Source: "Application", Queue: "team-a", Group: "PodGroup spark-1"},
	}
}

func letsStart() *scheduler.Admission {
	g := waitsForQuota()
	g.Verdict, g.Apply, g.Reason, g.Message = scheduler.Admit, nil, lifecycle.ReasonAdmitted, "queue team-a holds the room for the whole application"
	return g
}

// reserved is what the scheduler has of the attempt; without a phase it has only pods.
func reserved(phase string) func(*Input) {
	return func(in *Input) {
		in.Reserved = Reserved{Requested: asked, Made: true}
		if phase != "" {
			in.Reserved.Group, in.Reserved.Phase = "PodGroup spark-1", phase
		}
	}
}

// queues are the situations in which a batch scheduler has a say.
func queues() map[string]func(*harness) Report {
	return map[string]func(*harness) Report{
		"queued-in-a-queue": func(w *harness) Report {
			w.says = waitsForQuota()
			w.sees(absent())
			w.sees(absent())
			w.pass(90 * time.Second)
			return w.explain(absent(), reserved("Pending"))
		},
		"queued-again": func(w *harness) Report {
			w.says = waitsForQuota()
			w.sees(absent())
			return w.explain(absent(), func(in *Input) { in.Reserved.Requested = asked })
		},
		"placed-by-an-unknown-scheduler": func(w *harness) Report {
			obs := w.submitted()
			w.pass(2 * time.Minute)
			w.sees(obs)
			return w.explain(obs, func(in *Input) { in.Scope.App.Driver.Overlay.SchedulerName = "volcanoo" })
		},
		"gang-is-gathered": func(w *harness) Report {
			w.says = letsStart()
			obs := w.submitted()
			obs.Scheduler = scheduler.Observation{Stage: scheduler.StageQueued, Reason: "WaitingForGang", Message: "waiting for room for all pods of the gang (batch)"}
			w.sees(obs)
			w.pass(2 * time.Minute)
			return w.explain(obs, reserved(""))
		},
		"executors-wait-for-room": func(w *harness) Report {
			w.says = letsStart()
			obs := w.running(executor("pi-exec-1", lifecycle.ExecutorRunning), executor("pi-exec-2", lifecycle.ExecutorPending))
			obs.Scheduler = scheduler.Observation{Stage: scheduler.StageQueued, Reason: "WaitingForCapacity", Message: "1 of 2 executors wait for a node (batch)"}
			w.pass(2 * time.Minute)
			return w.explain(obs, reserved("Running"))
		},
		"evicted": func(w *harness) Report {
			w.o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{OnEviction: v1beta2.EvictionPolicyRequeue}
			w.says = letsStart()
			obs := w.running()
			obs.Scheduler = scheduler.Observation{Stage: scheduler.StageEvicted, Eviction: &scheduler.Eviction{}, Reason: "Preempted", Message: "the driver was evicted: preempting to accommodate a higher priority pod (batch)"}
			w.sees(obs)
			w.sees(absent())
			w.pass(time.Minute)
			w.says = waitsForQuota()
			w.sees(absent())
			w.sees(absent())
			w.pass(time.Minute)
			return w.explain(absent(), reserved("Pending"))
		},
	}
}

func TestHeard(t *testing.T) {
	gate := func(v scheduler.Verdict, reason lifecycle.Reason, message string) scheduler.Admission {
		return scheduler.Admission{Verdict: v, Reason: reason, Message: message}
	}
	record := func(reason lifecycle.Reason) lifecycle.Record {
		return lifecycle.Record{State: lifecycle.Queued, SpecHash: "a", Cause: lifecycle.Cause{Reason: reason, Message: "said"}}
	}
	admitted := gate(scheduler.Admit, "Admitted", "here")
	cases := map[string]struct {
		reason string
		here   scheduler.Admission
		record lifecycle.Record
		want   scheduler.Admission
	}{
		"Quota":     {"the operator may enforce quotas", admitted, record("WaitingForQuota"), gate(scheduler.Wait, "WaitingForQuota", "said")},
		"Disabled":  {"the operator's configuration is not known here", admitted, record("SchedulerDisabled"), gate(scheduler.Wait, "SchedulerDisabled", "said")},
		"GoneBy":    {"what can be seen from here is newer", admitted, record("WaitingForScheduler"), admitted},
		"SameCause": {"it knows which queues the namespace may use", gate(scheduler.Wait, "QueueNotFound", "here"), record("QueueNotFound"), gate(scheduler.Wait, "QueueNotFound", "said")},
		"Other":     {"what can be seen from here is newer", gate(scheduler.Wait, "QueueClosed", "here"), record("WaitingForQuota"), gate(scheduler.Wait, "QueueClosed", "here")},
		"Refused":   {"it is about the specification", gate(scheduler.Reject, "InvalidSpec", "here"), record("WaitingForQuota"), gate(scheduler.Reject, "InvalidSpec", "here")},
		"NewSpec":   {"its word was about another specification", admitted, lifecycle.Record{State: lifecycle.Queued, SpecHash: "b", Cause: lifecycle.Cause{Reason: "WaitingForQuota"}}, admitted},
		"Failed":    {"the cause is of an attempt that is over", admitted, lifecycle.Record{State: lifecycle.Failing, SpecHash: "a", Cause: lifecycle.Cause{Reason: "WaitingForQuota"}}, admitted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Combine(tc.here, tc.record, "a")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
