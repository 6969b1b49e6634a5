/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// counting is a plugin that is told what others were promised.
type counting struct{ plain }

func (counting) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "counting", Quota: true}
}

// counted is a world in which promises are counted.
func counted(t *testing.T, change func(*v1beta2.SparkApplication)) *world {
	t.Helper()
	o := pi()
	o.Spec.BatchScheduler = new("counting")
	if change != nil {
		change(o)
	}
	w := newWorld(t, o)
	w.others = []scheduler.Plugin{counting{plain{goAhead}}}
	w.restart()
	return w
}

// promised is how many executors and drivers the ledger holds room for, which no quota reports yet.
func (w *world) promised() (pods int32) {
	w.t.Helper()
	somebody := scheduler.Attempt{ID: "somebody", App: scheduler.App{Namespace: "jobs"}}
	for _, r := range w.engine.Schedulers.ledger.Outstanding(somebody, w.clock.Now()).Others {
		if pods += max(0, r.Shapes.Initial-r.Progress.ExecutorsCreated); !r.Progress.DriverCreated {
			pods++
		}
	}
	return pods
}

// remove deletes a pod, as Spark does with its executors.
func (w *world) remove(name string) {
	w.t.Helper()
	p := &corev1.Pod{}
	p.Namespace, p.Name = "jobs", name
	if err := client.IgnoreNotFound(w.c.Delete(w.t.Context(), p)); err != nil {
		w.t.Fatal(err)
	}
}

// A restarted operator promises executors that are to come, and none of those that came and went.
func TestWhatCameIsNotPromisedAgain(t *testing.T) {
	cases := map[string]struct {
		reason  string
		shrinks bool
		atOnce  int32
		soon    int32
	}{
		"Growing": {reason: "one of three is still to come, and no report tells of the others yet", atOnce: 4, soon: 1},
		"Shrunk":  {reason: "all were there, and none is now", shrinks: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := counted(t, func(o *v1beta2.SparkApplication) {
				o.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: new(int32(3)), ShuffleTrackingEnabled: new(true)}
			})
			w.settle()
			if got := w.promised(); got != 3 {
				t.Fatalf("%d pods are promised, want the three executors: the driver is there", got)
			}
			w.kubelet(corev1.PodRunning, running())
			w.executor("e-1", corev1.PodRunning)
			w.executor("e-2", corev1.PodRunning)
			w.settle()
			if tc.shrinks {
				w.executor("e-3", corev1.PodRunning)
				w.settle()
				for _, executor := range []string{"e-1", "e-2", "e-3"} {
					w.remove(executor)
				}
				w.pass(time.Minute)
				w.settle()
			}
			w.restart()
			if err := w.engine.rebuildLedger(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := []int32{w.promised()}
			w.pass(5 * time.Second)
			got = append(got, w.promised())
			if diff := cmp.Diff([]int32{tc.atOnce, tc.soon}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
