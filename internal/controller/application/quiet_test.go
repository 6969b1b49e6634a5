// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func mustJSON(t *testing.T, o any) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// full lets no further driver start.
func (w *harness) full() {
	w.plugin = plain{scheduler.Admission{Verdict: scheduler.Wait, Reason: "QueueFull", Message: "3 ahead", RetryAfter: time.Minute}}
	w.restart()
}

// hold keeps a driver from going when it is deleted, as a kubelet does for a while.
func (w *harness) hold() {
	w.t.Helper()
	d := w.drivers()[0]
	d.Finalizers = []string{"example.com/hold"}
	if err := w.c.Update(w.t.Context(), &d); err != nil {
		w.t.Fatal(err)
	}
}

// A reconcile in which nothing has changed writes nothing, in whatever state, and does not come back at once forever.
func TestNoChangeNoWriteInEveryState(t *testing.T) {
	slow := func(s *v1beta2.SparkApplicationSpec) {
		s.RestartPolicy = v1beta2.RestartPolicy{
			Type: "Always", OnFailureRetryInterval: new(int64(3000)), OnSubmissionFailureRetries: new(int32(3)), OnSubmissionFailureRetryInterval: new(int64(3000)),
		}
	}
	plainly := func(*v1beta2.SparkApplicationSpec) {}
	suspend := func(w *harness, suspended bool) {
		w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = &suspended })
	}
	// Each case leads a running application to its state.
	type runner func(change func(*v1beta2.SparkApplicationSpec)) *harness
	cases := map[v1beta2.ApplicationStateType]func(runner) *harness{
		"SUBMITTED": nil,
		"RUNNING":   func(run runner) *harness { return run(plainly) },
		"SUCCEEDING": func(run runner) *harness {
			w := run(slow)
			w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
			return w
		},
		"FAILING": func(run runner) *harness {
			w := run(slow)
			w.kubelet(corev1.PodFailed, exited(1, "Error"))
			return w
		},
		"COMPLETED": func(run runner) *harness {
			w := run(plainly)
			w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
			return w
		},
		"FAILED": func(run runner) *harness {
			w := run(plainly)
			w.kubelet(corev1.PodFailed, exited(1, "Error"))
			return w
		},
		"SUSPENDING": func(run runner) *harness {
			w := run(plainly)
			w.hold()
			suspend(w, true)
			w.reconcile()
			w.reconcile()
			return w
		},
		"SUSPENDED": func(run runner) *harness {
			w := run(plainly)
			suspend(w, true)
			return w
		},
		"RESUMING": func(run runner) *harness {
			w := run(plainly)
			suspend(w, true)
			w.settle()
			w.full()
			suspend(w, false)
			return w
		},
		"PENDING_RERUN": func(run runner) *harness {
			w := run(plainly)
			w.full()
			w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Image = new("other") })
			return w
		},
	}
	for state, reach := range cases {
		t.Run(string(state), func(t *testing.T) {
			w := newHarness(t, testutil.Pi())
			if reach != nil {
				w = reach(func(change func(*v1beta2.SparkApplicationSpec)) *harness { return started(t, change) })
			}
			if state != "SUSPENDING" { // which comes back every two seconds until the pod is gone
				w.settle()
			}
			if w.state() != string(state) {
				t.Fatalf("state %q", w.state())
			}
			before := mustJSON(t, w.app())
			clear(w.writes)
			for range 5 {
				r := w.reconcile()
				if final := state == "COMPLETED" || state == "FAILED"; (r.RequeueAfter > 0) == final {
					t.Errorf("checked again after %s", r.RequeueAfter)
				}
				w.pass(time.Second)
			}
			if len(w.writes) != 0 || mustJSON(t, w.app()) != before {
				t.Errorf("nothing has changed, and yet: %v", w.writes)
			}
			w.restart() // a new process knows no more and no less
			w.reconcile()
			if len(w.writes) != 0 {
				t.Errorf("nothing has changed, and yet a new operator writes: %v", w.writes)
			}
		})
	}
}

// A driver that starts and ends while thousands wait to be looked at is shown to have run, and its end follows in the same reconcile.
func TestDriverThatRanUnseen(t *testing.T) {
	cases := map[string]struct {
		end    func(w *harness)
		events []string
		writes int
	}{
		"Succeeded": {
			end:    func(w *harness) { w.kubelet(corev1.PodSucceeded, exited(0, "Completed")) },
			events: []string{"Normal SparkDriverRunning Driver pi-driver is running", "Normal SparkApplicationCompleted SparkApplication pi completed"},
			writes: 2, // RUNNING, COMPLETED
		},
		"Failed": {
			end: func(w *harness) {
				exit := exited(1, "Error")
				exit.Terminated.StartedAt = metav1.NewTime(w.clock.Now())
				w.kubelet(corev1.PodFailed, exit)
			},
			events: []string{"Normal SparkDriverRunning Driver pi-driver is running",
				"Warning SparkDriverFailed Driver pi-driver failed: driver container failed with ExitCode: 1, Reason: Error",
				"Warning SparkApplicationFailed SparkApplication pi failed: driver container failed with ExitCode: 1, Reason: Error"},
			writes: 3, // RUNNING, FAILING, FAILED
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, testutil.Pi())
			w.reconcile()
			w.events()
			before := w.writes["status"]
			tc.end(w)
			w.reconcile()
			if diff := cmp.Diff(tc.events, w.events()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got := w.writes["status"] - before; got != tc.writes {
				t.Errorf("%d status writes, want %d", got, tc.writes)
			}
		})
	}
}

// added records how items are added to a queue.
type added struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	all []string
}

func (a *added) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, i := range items {
		a.all = append(a.all, fmt.Sprintf("%s priority %d after %s", i, ptr.Deref(o.Priority, 0), o.After))
	}
}

func (a *added) AddAfter(i reconcile.Request, after time.Duration) {
	a.AddWithOpts(priorityqueue.AddOpts{After: after}, i)
}

// What becomes of a driver says how soon its application is looked at; its executors are looked at together.
func TestPodHandler(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.reconcile()
	first := w.drivers()[0]
	cached := func(p *corev1.Pod) client.Object {
		o, _ := observe.CachePod(kubeflow.SparkApplications{}.Family().Labels)(p)
		return o.(client.Object)
	}
	of := func(phase corev1.PodPhase, state corev1.ContainerState) client.Object {
		w.kubelet(phase, state)
		return cached(&w.drivers()[0])
	}
	runs, ended := of(corev1.PodRunning, running()), of(corev1.PodRunning, exited(0, "Completed")) // a sidecar lives on
	other, nobodys := first.DeepCopy(), first.DeepCopy()
	other.Labels[spark.LabelRole], nobodys.Labels = spark.RoleExecutor, nil
	pending, executor, stranger := cached(&first), cached(other), cached(nobodys)
	cases := map[string]struct {
		reason string
		see    func(h handler.EventHandler, q *added)
		want   []string
	}{
		"Listed": {reason: "what was there before", see: func(h handler.EventHandler, q *added) {
			h.Create(t.Context(), event.CreateEvent{Object: ended, IsInInitialList: true}, q)
			h.Create(t.Context(), event.CreateEvent{Object: executor, IsInInitialList: true}, q)
		}, want: []string{"jobs/pi priority -100 after 0s", "jobs/pi priority -100 after 0s"}},
		"Created": {reason: "nothing is to be seen yet", see: func(h handler.EventHandler, q *added) { h.Create(t.Context(), event.CreateEvent{Object: pending}, q) }, want: []string{"jobs/pi priority 0 after 0s"}},
		"Starts": {reason: "before new applications", see: func(h handler.EventHandler, q *added) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: pending, ObjectNew: runs}, q)
		}, want: []string{"jobs/pi priority 10 after 0s"}},
		"Ends": {reason: "before everything else", see: func(h handler.EventHandler, q *added) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: runs, ObjectNew: ended}, q)
		}, want: []string{"jobs/pi priority 20 after 0s"}},
		"Goes": {reason: "that is an end, too", see: func(h handler.EventHandler, q *added) { h.Delete(t.Context(), event.DeleteEvent{Object: runs}, q) }, want: []string{"jobs/pi priority 20 after 0s"}},
		"Executor": {reason: "with the others that come and go", see: func(h handler.EventHandler, q *added) {
			h.Create(t.Context(), event.CreateEvent{Object: executor}, q)
			h.Delete(t.Context(), event.DeleteEvent{Object: executor}, q)
		}, want: []string{"jobs/pi priority 0 after 1s", "jobs/pi priority 0 after 1s"}},
		"Stranger": {reason: "a pod of nobody", see: func(h handler.EventHandler, q *added) { h.Create(t.Context(), event.CreateEvent{Object: stranger}, q) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := &added{}
			tc.see(podHandler(reservations.New(w.clock, nil, scheduler.Order{}), kubeflow.SparkApplications{}.Family()), q)
			if diff := cmp.Diff(tc.want, q.all); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// podless is the API server, of which no pods are asked.
type podless struct {
	client.Reader
	t *testing.T
}

func (r podless) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, pod := o.(*corev1.Pod); pod {
		r.t.Errorf("a live read of pod %s", key)
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

func (r podless) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		r.t.Error("a live list of pods")
	}
	return r.Reader.List(ctx, list, opts...)
}

// Thousands may wait or be held back, each of which is asked again and again: the API server is asked for pods only before one starts.
func TestWaitingReadsNoPods(t *testing.T) {
	for name, suspended := range map[string]bool{"Waits": false, "HeldBack": true} {
		t.Run(name, func(t *testing.T) {
			pi := testutil.Pi()
			pi.Spec.Suspend = &suspended
			w := newHarness(t, pi)
			w.full()
			w.reconcile()
			w.reconcile()
			live := w.engine.Reader.Live
			w.engine.Reader.Live = podless{live, t}
			for range 3 {
				w.pass(time.Minute)
				w.reconcile()
			}
			if n := len(w.drivers()); n != 0 {
				t.Fatalf("%d drivers while it waits", n)
			}
			w.engine.Reader.Live = live
			w.plugin = plain{scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted}}
			w.restart()
			w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = nil })
			w.settle()
			if n := len(w.drivers()); n != 1 {
				t.Errorf("%d drivers when it may start", n)
			}
		})
	}
}
