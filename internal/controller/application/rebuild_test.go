// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// lent is a cache of applications that lends its objects to readers that ask for no copies, and counts the others' copies.
type lent struct {
	client.Reader
	apps          []*v1beta2.SparkApplication
	lists, copies atomic.Int32
}

func (c *lent) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.lists.Add(1)
	o := (&client.ListOptions{}).ApplyOptions(opts)
	all, _ := list.(*v1beta2.SparkApplicationList)
	for _, app := range c.apps {
		all.Items = append(all.Items, *c.give(app, o.UnsafeDisableDeepCopy))
	}
	return nil
}

func (c *lent) Get(_ context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	options := (&client.GetOptions{}).ApplyOptions(opts)
	for _, app := range c.apps {
		if client.ObjectKeyFromObject(app) == key {
			*o.(*v1beta2.SparkApplication) = *c.give(app, options.UnsafeDisableDeepCopy)
		}
	}
	return nil
}

func (c *lent) give(app *v1beta2.SparkApplication, lends *bool) *v1beta2.SparkApplication {
	if lends != nil && *lends {
		return app
	}
	c.copies.Add(1)
	return app.DeepCopy()
}

// typical has a spec of a usual size: about 15 kB.
func typical(o *v1beta2.SparkApplication) {
	o.Spec.BatchScheduler, o.Spec.SparkConf = new("counting"), map[string]string{}
	for i := range 60 {
		o.Spec.SparkConf[fmt.Sprintf("spark.hadoop.fs.s3a.bucket.b%d.endpoint", i)] = strings.Repeat("x", 80)
		o.Spec.Driver.Env = append(o.Spec.Driver.Env, corev1.EnvVar{Name: fmt.Sprint("V", i), Value: strings.Repeat("y", 40)})
	}
	o.Labels = map[string]string{"team": "a"}
}

// cacheOf returns a cache of applications that run, wait for a quota, and have ended.
func cacheOf(tb testing.TB, running, waiting, ended int) *lent {
	tb.Helper()
	c, look := newBare(tb)
	typical(c.app)
	c.app.Spec.BatchScheduler = nil
	look()
	runs := c.app
	pod := c.ran(corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	if err := c.put(pod); err != nil {
		tb.Fatal(err)
	}
	look()
	over := c.app
	waits, changed := kubeflow.SparkApplications{}.ToStatus(testutil.Pi(typical), lifecycle.Outcome{Record: lifecycle.Record{
		State: lifecycle.Queued, Attempt: 1, QueuedAt: start, Cause: lifecycle.Cause{Reason: scheduler.ReasonWaitingForQuota},
	}}, start)
	if !changed || runs.Status.AppState.State != v1beta2.ApplicationStateSubmitted || over.Status.AppState.State != v1beta2.ApplicationStateCompleted {
		tb.Fatalf("%t, %q, %q", changed, runs.Status.AppState.State, over.Status.AppState.State)
	}
	all := &lent{}
	for i := range running + waiting + ended {
		from := over
		switch {
		case i < running:
			from = runs
		case i < running+waiting:
			from = waits
		}
		app := from.DeepCopy()
		app.Name, app.UID = fmt.Sprint("app-", i), types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		all.apps = append(all.apps, app)
	}
	return all
}

// newOperator is an operator that has just started, over a cache, and an attempt that it is asked to admit.
func newOperator(tb testing.TB, c client.Reader) (*Engine[*v1beta2.SparkApplication], *admission.Candidate) {
	tb.Helper()
	registry, err := scheduler.NewRegistry("counting", counting{plain{goAhead}}, plain{goAhead})
	if err != nil {
		tb.Fatal(err)
	}
	pods := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, observe.IndexPods(v1beta2.LabelAppName))
	reader := observe.Reader{Cache: c, Live: c, Pods: observe.CachedPods(func(context.Context, string) (toolscache.Indexer, error) { return pods, nil })}
	now := clocktesting.NewFakePassiveClock(start.Add(time.Minute))
	e := NewEngine(kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, reader, nil, registry, &events.FakeRecorder{}, now, reservations.New(now, nil, scheduler.Order{}))
	asked, answer := admission.NewCandidate(resolve.Load(kubeflow.SparkApplications{}, testutil.Pi(), lifecycle.Record{}, e.operator(), start), registry, nil)
	if asked == nil {
		tb.Fatal(answer.Message)
	}
	return e, asked
}

// admitByAll makes all workers of an operator ask at once.
func admitByAll(tb testing.TB, e *Engine[*v1beta2.SparkApplication], asked *admission.Candidate) {
	tb.Helper()
	var all sync.WaitGroup
	for range 16 {
		own := *asked
		all.Go(func() {
			if _, err := e.Schedulers.Admit(tb.Context(), &own, nil); err != nil {
				tb.Error(err)
			}
		})
	}
	all.Wait()
}

// What the cache has is read where it is: of thousands of applications, most of which have ended, copies would fill the memory.
func TestRebuildCopiesNothing(t *testing.T) {
	c := cacheOf(t, 3, 3, 3)
	large := c.apps[0].DeepCopy()
	large.Spec.SparkConf["spark.app.notes"] = strings.Repeat("x", 40<<10)
	live := &lent{apps: []*v1beta2.SparkApplication{large.DeepCopy()}}
	if _, err := observe.Strip(kubeflow.SparkApplications{}.Family())(large); err != nil || !observe.IsStub(large) {
		t.Fatalf("no stub: %v", err)
	}
	c.apps[0] = large
	var before []*v1beta2.SparkApplication
	for _, app := range c.apps {
		before = append(before, app.DeepCopy())
	}
	e, asked := newOperator(t, observe.WithStubs(c, live, func() {}))
	read := make(chan struct{})
	go func() { // another controller, for the race detector
		defer close(read)
		for _, app := range c.apps {
			_ = app.DeepCopy()
		}
	}()
	admitByAll(t, e, asked)
	<-read
	if lists, copies := c.lists.Load(), c.copies.Load(); lists != 1 || copies != 0 {
		t.Errorf("16 workers list all applications %d times and copy %d, want once and none", lists, copies)
	}
	if diff := cmp.Diff(before, c.apps); diff != "" {
		t.Errorf("the rebuild changes what others read (-want +got):\n%s", diff)
	}
	o := e.Schedulers.Outstanding(scheduler.Attempt{ID: "other", App: scheduler.App{Namespace: "jobs"}})
	var executors []int32
	for _, r := range o.Others {
		executors = append(executors, r.PodSets.Initial)
	}
	slices.Sort(executors)
	if diff := cmp.Diff([]int32{1, 2, 2, 2}, executors); diff != "" || !o.Expected {
		t.Errorf("expected %t; room is reserved for the executors of the admitted attempt and of the three that run, of which the cache lacks one spec (-want +got):\n%s",
			o.Expected, diff)
	}
}

// alone is a plugin with room for one application.
type alone struct{ counting }

func (alone) Admit(a scheduler.Attempt, _ scheduler.Snapshot) (scheduler.Admission, error) {
	if len(a.Quota.Others) > 0 {
		return scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota, Message: "full", RetryAfter: time.Minute}, nil
	}
	return goAhead, nil
}

// An operator may crash between the creation of a driver and its status write. The next one admits none into the room of its executors,
// whatever the status says and whoever is reconciled first.
func TestRoomOfAnUnrecordedDriver(t *testing.T) {
	cases := map[string]struct {
		reason string
		// waits lets it wait for a quota before it is admitted; then is what happens to its driver before the next operator starts.
		waits bool
		then  func(w *harness)
		// starts is set if the other application may.
		starts bool
	}{
		"New":      {reason: "it was admitted at its first look"},
		"Queued":   {reason: "its status says that it waits", waits: true},
		"Running":  {reason: "its driver is about to create executors", then: func(w *harness) { w.kubelet(corev1.PodRunning, running()) }},
		"Ended":    {reason: "its driver creates no executors", then: func(w *harness) { w.kubelet(corev1.PodSucceeded, exited(0, "Completed")) }, starts: true},
		"Deleted":  {reason: "it has no driver", then: func(w *harness) { w.remove("pi-driver") }, starts: true},
		"Somebody": {reason: "the driver is not its own", then: func(w *harness) { w.disown() }, starts: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := testutil.Pi()
			other.Name, other.UID = "other", "0f5b2b1e-0000-4000-8000-0000000000ff"
			w := newHarness(t, testutil.Pi(), other)
			usual := w.plugin
			if tc.waits {
				w.plugin = plain{scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota, Message: "full", RetryAfter: time.Minute}}
				w.restart()
				w.reconcile()
			}
			w.plugin, w.patchFails = usual, errors.New("the operator is killed")
			w.restart()
			if _, err := w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err == nil || len(w.drivers()) != 1 {
				t.Fatalf("%d drivers, %v", len(w.drivers()), err)
			}
			if tc.then != nil {
				tc.then(w)
			}
			w.patchFails = nil
			registry, err := scheduler.NewRegistry("counting", alone{}, usual)
			if err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.engine.Registry = registry
			if _, err := w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)}); err != nil {
				t.Fatal(err)
			}
			err = w.c.Get(t.Context(), types.NamespacedName{Namespace: "jobs", Name: "other-driver"}, &corev1.Pod{})
			if client.IgnoreNotFound(err) != nil || (err == nil) != tc.starts {
				t.Errorf("%s: the other application starts: %t, want %t", tc.reason, err == nil, tc.starts)
			}
		})
	}
}

// disown makes the driver that of an earlier application of the name.
func (w *harness) disown() {
	w.t.Helper()
	pod := w.drivers()[0]
	pod.OwnerReferences[0].UID = "another"
	if err := w.c.Update(w.t.Context(), &pod); err != nil {
		w.t.Fatal(err)
	}
}

// BenchmarkRebuild is what 16 workers allocate at a start with 5,000 applications: 100 run, 100 wait, and the others have ended.
func BenchmarkRebuild(b *testing.B) {
	c := cacheOf(b, 100, 100, 4800)
	b.ReportAllocs()
	for b.Loop() {
		e, asked := newOperator(b, c)
		admitByAll(b, e, asked)
	}
}
