// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// gang is a plugin that wants an object for each attempt, and lets none start.
type gang struct{ plain }

var ticketKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func (gang) Describe() scheduler.Descriptor { return scheduler.Descriptor{Name: "gang"} }

func (gang) Admit(a scheduler.Attempt, _ scheduler.Snapshot) (scheduler.Admission, error) {
	ticket := &unstructured.Unstructured{}
	ticket.SetGroupVersionKind(ticketKind)
	ticket.SetNamespace(a.App.Namespace)
	ticket.SetName(a.ID)
	return scheduler.Admission{
		Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota, Message: "the queue is full", RetryAfter: time.Minute,
		Apply: []*unstructured.Unstructured{ticket},
	}, nil
}

func (g gang) Reads(a scheduler.Attempt) []scheduler.Read {
	return []scheduler.Read{g.Release(a)[0].Read()}
}

func (gang) Release(a scheduler.Attempt) []scheduler.Ref {
	return []scheduler.Ref{{GroupVersionKind: ticketKind, Namespace: a.App.Namespace, Name: a.ID}}
}

// permit is gang that lets every attempt start.
type permit struct{ gang }

func (p permit) Admit(a scheduler.Attempt, seen scheduler.Snapshot) (scheduler.Admission, error) {
	answer, err := p.gang.Admit(a, seen)
	answer.Verdict, answer.Reason, answer.Message, answer.RetryAfter = goAhead.Verdict, goAhead.Reason, goAhead.Message, 0
	return answer, err
}

// tickets are the names of what gang has made.
func (w *harness) tickets() (names []string) {
	w.t.Helper()
	var all corev1.ConfigMapList
	if err := w.c.List(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for i := range all.Items {
		if all.Items[i].Labels[v1beta2.LabelAppName] != "" && len(all.Items[i].Data) == 0 {
			names = append(names, all.Items[i].Name)
		}
	}
	return names
}

// A plugin that is disabled is asked for nothing new. What it has made for an attempt that is over goes all the same: a
// group without pods competes for room again.
func TestDisabledSchedulerIsReleased(t *testing.T) {
	cases := map[string]struct {
		reason string
		end    func(*harness)
	}{
		"Suspended": {reason: "the driver is deleted", end: func(w *harness) { w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = new(true) }) }},
		"Failed":    {reason: "the driver failed", end: func(w *harness) { w.kubelet(corev1.PodFailed, exited(1, "Error")) }},
		"Succeeded": {reason: "the driver ended well", end: func(w *harness) { w.kubelet(corev1.PodSucceeded, exited(0, "Completed")) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			o.Spec.BatchScheduler = new("gang")
			w := newHarness(t, o)
			w.others = []scheduler.Plugin{permit{}}
			w.restart()
			w.settle()
			w.kubelet(corev1.PodRunning, running())
			w.settle()
			registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: "plain"}, w.plugin, permit{})
			if err != nil {
				t.Fatal(err)
			}
			w.engine = NewEngine(kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, w.engine.Reader, w.c, registry, w.recorder, w.clock, reservations.New(w.clock, nil, scheduler.Order{}))
			w.settle()
			if s := w.app().Status.Scheduling; w.state() != "RUNNING" || len(w.tickets()) != 1 || s.HeldBy != "gang" {
				t.Fatalf("state %q, tickets %v, status.scheduling %+v: what runs continues when its scheduler is disabled", w.state(), w.tickets(), s)
			}
			tc.end(w)
			w.settle()
			if left, s := w.tickets(), w.app().Status.Scheduling; len(left) != 0 || s.HeldAttempt != 0 {
				t.Errorf("%s, and there is %v left, status.scheduling %+v", tc.reason, left, s)
			}
		})
	}
}

// An application that is told to wait by one scheduler and then asks another leaves nothing in the first one's queue.
func TestAnotherSchedulerWhileQueued(t *testing.T) {
	o := testutil.Pi()
	o.Spec.BatchScheduler = new("gang")
	w := newHarness(t, o)
	w.others = []scheduler.Plugin{gang{}}
	w.restart()
	w.settle()
	if n := len(w.tickets()); n != 1 || len(w.drivers()) != 0 {
		t.Fatalf("%d tickets and %d drivers, want one that waits", n, len(w.drivers()))
	}
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("plain") })
	w.settle()
	if n := len(w.tickets()); n != 0 || len(w.drivers()) != 1 {
		t.Errorf("%d tickets and %d drivers, want a driver and nothing of the scheduler before", n, len(w.drivers()))
	}
	if s := w.app().Status.Scheduling; s == nil || s.Scheduler != "plain" || s.HeldAttempt != 0 || s.HeldBy != "" {
		t.Errorf("status.scheduling %+v", s)
	}
}
