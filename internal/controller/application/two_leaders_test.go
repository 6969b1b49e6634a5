// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// repairing is permit that creates its object again while the attempt runs.
type repairing struct{ permit }

func (p repairing) ObserveReads(a scheduler.Attempt, _ scheduler.PodStatuses) []scheduler.Read {
	return p.Reads(a)
}

func (p repairing) Observe(a scheduler.Attempt, seen scheduler.Snapshot, _ scheduler.PodStatuses) (scheduler.Observation, error) {
	answer, err := p.Admit(a, seen)
	return scheduler.Observation{Apply: answer.Apply}, err
}

// A leader that was paused goes on with the application as it was then. What its successor has done to the scheduler's objects meanwhile stays.
func TestPausedLeaderLeavesTheSchedulersObjectsAlone(t *testing.T) {
	suspend := func(value bool) func(*harness) {
		return func(w *harness) {
			w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = &value })
		}
	}
	cases := map[string]struct {
		reason string
		plugin scheduler.Plugin
		// before leads to what the paused leader has seen; what after does is the successor's.
		before, after func(*harness)
		want          int
	}{
		"Schedule": {
			reason: "the object of an application that is suspended holds its queue", plugin: gang{}, before: func(*harness) {}, after: suspend(true),
		},
		"Release": {
			reason: "the application waits again", plugin: gang{}, before: suspend(true), after: suspend(false), want: 1,
		},
		"Adjust": {
			reason: "the object of an application that is over holds its queue", plugin: repairing{},
			before: func(w *harness) { w.kubelet(corev1.PodRunning, running()) },
			after:  func(w *harness) { w.kubelet(corev1.PodSucceeded, exited(0, "Completed")) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("gang") }))
			w.others = []scheduler.Plugin{tc.plugin}
			w.restart()
			w.settle()
			tc.before(w)
			stale := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithObjects(w.app()).WithStatusSubresource(&v1beta2.SparkApplication{})
			for _, driver := range w.drivers() {
				stale.WithObjects(&driver)
			}
			paused := stale.Build()
			w.settle()
			tc.after(w)
			w.settle()
			there := w.tickets()
			if len(there) != tc.want {
				t.Fatalf("%v, want %d", there, tc.want)
			}
			w.restart()
			w.engine.Cache, w.engine.Reader.Cache, w.engine.Reader.Pods = paused, paused, nil
			for range 3 {
				if r := w.reconcile(); r.RequeueAfter == 0 {
					t.Error("the application is not reconciled again")
				}
			}
			if diff := cmp.Diff(there, w.tickets()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
