// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// counting is a plugin that records what is reserved for others.
type counting struct{ plain }

func (counting) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "counting", Quota: true}
}

// counted is a harness in which reservations are counted.
func counted(t *testing.T, change func(*v1beta2.SparkApplication)) *harness {
	t.Helper()
	return countedWith(t, goAhead, change)
}

func countedWith(t *testing.T, answer scheduler.Admission, change func(*v1beta2.SparkApplication)) *harness {
	t.Helper()
	o := testutil.Pi()
	o.Spec.BatchScheduler = new("counting")
	if change != nil {
		change(o)
	}
	w := newHarness(t, o)
	w.others = []scheduler.Plugin{counting{plain{answer}}}
	w.restart()
	return w
}

// reserved is how many executors and drivers the ledger holds room for, which no quota reports yet.
func (w *harness) reserved() (pods int32) {
	w.t.Helper()
	somebody := scheduler.Attempt{ID: "somebody", App: scheduler.App{Namespace: "jobs"}}
	for _, r := range w.engine.Schedulers.Outstanding(somebody).Others {
		if pods += max(0, r.PodSets.Initial-r.Progress.ExecutorsCreated); !r.Progress.DriverCreated {
			pods++
		}
	}
	return pods
}

// remove deletes a pod, as Spark does with its executors.
func (w *harness) remove(name string) {
	w.t.Helper()
	p := &corev1.Pod{}
	p.Namespace, p.Name = "jobs", name
	if err := client.IgnoreNotFound(w.c.Delete(w.t.Context(), p)); err != nil {
		w.t.Fatal(err)
	}
}

// A restarted operator reserves room for executors that are to come, and none of those that came and went.
func TestWhatCameIsNotPromisedAgain(t *testing.T) {
	cases := map[string]struct {
		reason  string
		shrinks bool
		atOnce  int32
		soon    int32
	}{
		"Growing": {reason: "one of three is still to come, and no report reports the others yet", atOnce: 4, soon: 1},
		"Shrunk":  {reason: "all were there, and none is now", shrinks: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := counted(t, func(o *v1beta2.SparkApplication) {
				o.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: new(int32(3)), ShuffleTrackingEnabled: new(true)}
			})
			w.settle()
			if got := w.reserved(); got != 3 {
				t.Fatalf("%d pods are reserved, want the three executors: the driver is there", got)
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
			if err := w.engine.EnterRunning(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := []int32{w.reserved()}
			w.pass(5 * time.Second)
			got = append(got, w.reserved())
			w.pass(5 * time.Minute) // its patience ends
			for range 2 {
				got = append(got, w.reserved())
				w.engine.Schedulers.RebuildAgain() // a namespace has come
				if err := w.engine.EnterRunning(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff([]int32{tc.atOnce, tc.soon, 0, 0}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A restarted operator admits none before it has asked those that waited for a quota: they are in no line yet.
func TestWhatWaitedIsAskedFirst(t *testing.T) {
	cases := map[string]struct {
		reason string
		answer scheduler.Admission
		want   bool
	}{
		"Quota":    {reason: "it waits for a quota", answer: scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota, Message: "full", RetryAfter: time.Minute}, want: true},
		"Behind":   {reason: "it waits behind others", answer: scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonBehindOthers, Message: "others come first", RetryAfter: time.Minute}, want: true},
		"Capacity": {reason: "room in the quotas may be kept for it", answer: scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForCapacity, Message: "no node", RetryAfter: time.Minute}, want: true},
		"Missing":  {reason: "nothing is kept for what waits for an administrator", answer: scheduler.Admission{Verdict: scheduler.Unavailable, Reason: scheduler.ReasonQueueNotFound, Message: "no queue", RetryAfter: time.Minute}},
		"Runs":     {reason: "it waits for nothing", answer: goAhead},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := countedWith(t, tc.answer, nil)
			w.settle()
			w.restart()
			expects := func() bool {
				return w.engine.Schedulers.Outstanding(scheduler.Attempt{ID: "other", App: scheduler.App{Namespace: "jobs"}}).Expected
			}
			for range 2 { // the second time for a namespace that has come
				if err := w.engine.EnterRunning(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := expects(); got != tc.want {
					t.Errorf("%s: expected %t", tc.reason, got)
				}
			}
			w.pass(time.Minute) // until it asks again
			w.settle()
			if err := w.engine.EnterRunning(t.Context()); err != nil {
				t.Fatal(err)
			}
			if expects() {
				t.Errorf("%s: it was asked", tc.reason)
			}
		})
	}
}

// ranked is a plugin that records the priority of attempts.
type ranked struct {
	counting
	got *[]int32
}

func (ranked) Reads(a scheduler.Attempt) []scheduler.Read { return scheduler.ReadPriorityClass(a) }
func (p ranked) Describe() scheduler.Descriptor {
	d := p.counting.Describe()
	d.ManagedKeys = append(d.ManagedKeys, scheduler.PodKey{Part: scheduler.PodPriorityClass})
	return d
}
func (ranked) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.DecoratePriorityClass(a, d)
	return nil
}
func (p ranked) Admit(a scheduler.Attempt, _ scheduler.Snapshot) (scheduler.Admission, error) {
	*p.got = append(*p.got, a.Priority)
	return goAhead, nil
}

// The plugin that keeps lines is told the value of the PriorityClass.
func TestPriorityIsRead(t *testing.T) {
	o := testutil.Pi()
	o.Spec.BatchScheduler, o.Spec.BatchSchedulerOptions = new("counting"), &v1beta2.BatchSchedulerConfiguration{PriorityClassName: new("high")}
	w := newHarness(t, o)
	if err := w.c.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}); err != nil {
		t.Fatal(err)
	}
	var got []int32
	w.others = []scheduler.Plugin{ranked{counting{plain{goAhead}}, &got}}
	w.restart()
	w.reconcile()
	if diff := cmp.Diff([]int32{1000}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// answer makes the API server answer the creation of a driver with an error, whether or not it was created.
func (w *harness) answer(err error, created bool) {
	w.t.Helper()
	w.engine.Writer.Client = interceptor.NewClient(w.c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if _, isPod := obj.(*corev1.Pod); !isPod {
				return c.Create(ctx, obj, opts...)
			}
			if created {
				if err := c.Create(ctx, obj, opts...); err != nil {
					w.t.Error(err)
				}
			}
			return err
		},
	})
}

// What is reserved for an application that cannot start is free for others. If its driver may exist, it is not.
func TestPromisesOfWhoDoesNotStart(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	cases := map[string]struct {
		reason   string
		notOwned bool
		answer   error
		created  bool
		// first and then are reserved after one reconcile and after the next; an application has a driver and an executor.
		first, then int32
	}{
		"Started":  {reason: "the driver is seen with the next reconcile", first: 2, then: 1},
		"NotOwned": {reason: "a pod of someone else has the driver's name", notOwned: true},
		"Quota":    {reason: "the quota has no room for the driver", answer: apierrors.NewForbidden(pods, "pi-driver", errors.New("exceeded quota: compute"))},
		"Refused":  {reason: "the API server does not take it", answer: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "pi-driver", nil)},
		"Lost":     {reason: "the answer was lost, and the driver is there", answer: apierrors.NewTimeoutError("gone", 1), created: true, first: 2, then: 1},
		"Trouble":  {reason: "it is tried again at once", answer: apierrors.NewInternalError(errors.New("boom")), first: 2, then: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := counted(t, nil)
			if tc.notOwned {
				if err := w.c.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-driver"}}); err != nil {
					t.Fatal(err)
				}
			}
			if tc.answer != nil {
				w.answer(tc.answer, tc.created)
			}
			again := func() int32 {
				_, err := w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
				if err != nil && tc.answer == nil {
					t.Fatal(err)
				}
				return w.reserved()
			}
			first := again()
			for range 3 { // it is adopted, seen, and reported
				w.pass(15 * time.Second)
				again()
			}
			if diff := cmp.Diff([]int32{tc.first, tc.then}, []int32{first, w.reserved()}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// An operator that crashed before it recorded a driver left a reservation behind: the next one makes it again.
func TestPromiseOfAnUnrecordedDriver(t *testing.T) {
	w := counted(t, nil)
	w.patchFails = errors.New("the operator is killed")
	if _, err := w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err == nil || len(w.drivers()) != 1 {
		t.Fatalf("%d drivers, %v", len(w.drivers()), err)
	}
	w.patchFails = nil
	w.restart()
	if err := w.engine.EnterRunning(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.pass(time.Minute)
	if got := w.reserved(); got != 1 {
		t.Errorf("%d pods are reserved, want the executor", got)
	}
	w.kubelet(corev1.PodRunning, running())
	w.executor("e-1", corev1.PodRunning)
	w.settle()
	w.pass(time.Minute)
	w.settle()
	if got := w.reserved(); got != 0 {
		t.Errorf("%d pods are reserved, and all are there", got)
	}
}

// after is a cache that lets something happen when pods have been read.
type after struct {
	client.Reader
	happen func()
}

func (a after) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := a.Reader.List(ctx, list, opts...)
	if _, ok := list.(*corev1.PodList); ok {
		a.happen()
	}
	return err
}

// A new operator enters what its cache says runs. If that has ended by then, and all of it is written, nobody but this operator knows
// of the reservation.
func TestPromiseOfWhatHasEnded(t *testing.T) {
	cases := map[string]struct {
		reason string
		// enter makes the new operator enter the application, and ends it before, meanwhile or afterwards.
		enter func(w *harness, enter, end func())
	}{
		"Before": {reason: "it is over", enter: func(_ *harness, enter, end func()) { end(); enter() }},
		"Meanwhile": {reason: "its end is seen before it is entered", enter: func(w *harness, enter, end func()) {
			w.engine.Reader.Cache = after{w.c, func() { end(); w.engine.Reader.Cache = w.c; w.settle() }}
			enter()
		}},
		"Afterwards": {reason: "its end was written by the operator before", enter: func(_ *harness, enter, end func()) { enter(); end() }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := counted(t, nil)
			w.settle()
			w.kubelet(corev1.PodRunning, running())
			w.settle()
			before := w.engine
			w.restart()
			current := w.engine
			tc.enter(w, func() {
				if err := current.EnterRunning(t.Context()); err != nil {
					t.Fatal(err)
				}
			}, func() {
				w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
				w.engine = before
				w.settle()
				w.engine = current
			})
			w.settle()
			if got, state := w.reserved(), w.state(); got != 0 || state != "COMPLETED" {
				t.Errorf("%s: %d pods are reserved for an application that is %s", tc.reason, got, state)
			}
		})
	}
}
