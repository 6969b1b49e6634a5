// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// life is a random history of an application: an operator that dies before or after any write, answers that are lost, a cache that is behind,
// a kubelet, a user. Its judge sees each write.
type life struct {
	*world
	rand  *rand.Rand
	cache snapshot
	// asks is the client of the operator.
	asks client.WithWatch
	// dead says that the operator has died, and dies is before how many writes more it dies; 0 for not now. Half of the time the write is
	// done all the same.
	dead   bool
	dies   int
	calm   bool
	told   strings.Builder
	broken string
	// taken are the Services that somebody has deleted.
	taken map[string]bool
	// made counts the drivers that were created by the attempt that they are for.
	made map[string]int
}

var errDead = errors.New("the operator is dead")

func newLife(t *testing.T, seed uint64) *life {
	t.Helper()
	l := &life{rand: rand.New(rand.NewPCG(seed, 0)), made: map[string]int{}, taken: map[string]bool{}}
	pick := func(all ...v1.RestartPolicy) v1.RestartPolicy { return all[l.rand.IntN(len(all))] }
	r := own(func(s *v1.SparkApplicationSpec) {
		s.ApplicationTolerations = &v1.ApplicationTolerations{
			RestartConfig: &v1.RestartConfig{
				RestartPolicy:      pick(v1.RestartNever, v1.RestartAlways, v1.RestartOnFailure, v1.RestartOnInfrastructureFailure),
				MaxRestartAttempts: new(int64(l.rand.IntN(3))), RestartBackoffMillis: new(int64(l.rand.IntN(20_000))),
			},
			InstanceConfig: &v1.InstanceConfig{InitExecutors: int32(l.rand.IntN(3)), MinExecutors: int32(l.rand.IntN(3)), MaxExecutors: 2},
		}
		if l.rand.IntN(3) == 0 {
			s.ApplicationTolerations.ResourceRetainPolicy = v1.RetainAlways
		}
		if l.rand.IntN(2) == 0 {
			s.DriverServiceIngressList = []v1.DriverServiceIngress{{
				ServiceMetadata: metav1.ObjectMeta{Name: "ui"}, ServiceSpec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 4040}}}, IngressMetadata: metav1.ObjectMeta{Name: "ui"},
			}}
		}
		s.Suspend = l.rand.IntN(5) == 0
	})
	l.world = newWorld(t, r)
	l.asks = interceptor.NewClient(l.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return l.write("create "+o.GetName(), func() error { return c.Create(ctx, o, opts...) }, o)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return l.write("delete "+o.GetName(), func() error {
				if id, ok := strings.CutSuffix(o.GetName(), "-driver"); ok && !l.startable(id) {
					delete(l.made, id) // it never ran
				}
				return c.Delete(ctx, o, opts...)
			}, nil)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return l.write("status", func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) }, nil)
		},
	})
	l.sync()
	l.restart()
	return l
}

func (l *life) tell(format string, args ...any) {
	fmt.Fprintf(&l.told, "%s ", l.clock.Now().Format("04:05.000"))
	fmt.Fprintf(&l.told, format+"\n", args...)
}

func (l *life) violated(format string, args ...any) {
	if l.broken == "" {
		l.broken = fmt.Sprintf(format, args...)
		l.tell("BROKEN: %s", l.broken)
	}
}

// write is a write of the operator. It may die before or after it, and the answer may be lost.
func (l *life) write(what string, do func() error, created client.Object) error {
	if l.dead {
		return errDead
	}
	lost := false
	if l.dies > 0 {
		if l.dies--; l.dies == 0 {
			l.dead = true
			if l.rand.IntN(2) == 0 {
				l.tell("dies before %s", what)
				return errDead
			}
			l.tell("dies after %s", what)
			lost = true
		}
	} else if created != nil && !l.calm && l.rand.IntN(6) == 0 {
		l.tell("%s is refused", what)
		return apierrors.NewBadRequest("no")
	} else if !l.calm && l.rand.IntN(12) == 0 {
		if l.rand.IntN(2) == 0 {
			l.tell("%s fails", what)
			return apierrors.NewServiceUnavailable("try again")
		}
		l.tell("the answer to %s is lost", what)
		lost = true
	}
	err := do()
	l.tell("%s: %v", what, err)
	if pod, ok := created.(*corev1.Pod); ok && err == nil {
		l.created(pod)
	}
	if lost && err == nil {
		return apierrors.NewTimeoutError("lost", 0)
	}
	return err
}

func (l *life) drivers() []corev1.Pod {
	var list corev1.PodList
	if err := l.client.List(l.t.Context(), &list, client.MatchingLabels{"spark-role": "driver"}); err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

// snapshot is a cache: what there was a while ago.
type snapshot struct {
	app  *v1.SparkApplication
	pods []corev1.Pod
}

// Get implements client.Reader.
func (s snapshot) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *v1.SparkApplication:
		if s.app != nil {
			s.app.DeepCopyInto(into)
			return nil
		}
	case *corev1.Pod:
		for i := range s.pods {
			if s.pods[i].Name == key.Name {
				s.pods[i].DeepCopyInto(into)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List implements client.Reader.
func (s snapshot) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	switch into := into.(type) {
	case *v1.SparkApplicationList:
		if s.app != nil {
			into.Items = []v1.SparkApplication{*s.app.DeepCopy()}
		}
	case *corev1.PodList:
		for i := range s.pods {
			if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(s.pods[i].Labels)) {
				into.Items = append(into.Items, *s.pods[i].DeepCopy())
			}
		}
	}
	return nil
}

// sync brings the cache up to date.
func (l *life) sync() {
	l.cache = snapshot{}
	app := &v1.SparkApplication{}
	if err := l.client.Get(l.t.Context(), l.key(), app); err == nil {
		l.cache.app = app
	}
	var pods corev1.PodList
	if err := l.client.List(l.t.Context(), &pods); err != nil {
		l.t.Fatal(err)
	}
	l.cache.pods = pods.Items
	if l.engine != nil {
		l.engine.Cache, l.engine.Reader.Cache = l.cache, l.cache
	}
}

// restart is a new operator process.
func (l *life) restart() {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.dead, l.dies = false, 0
	l.engine = application.NewEngine(SparkApplications{}, &v1.SparkApplicationList{}, observe.Reader{Cache: l.cache, Live: l.asks},
		l.asks, registry, events.NewFakeRecorder(10_000), l.clock, operator.NewSchedulers(l.clock, nil))
}

// act is one thing that happens.
func (l *life) act() {
	driver := l.driver()
	switch n := l.rand.IntN(20); {
	case n < 8:
		l.sync()
	case n == 8 && !l.dead:
		l.dies = 1 + l.rand.IntN(4)
	case n == 9:
		l.tell("a new operator")
		l.sync()
		l.restart()
	case n == 10:
		suspend := l.rand.IntN(3) == 0
		l.tell("suspend: %t", suspend)
		l.suspendTo(suspend)
	case n == 11 && driver != nil && l.rand.IntN(4) == 0:
		l.tell("somebody deletes %s", driver.Name)
		if !l.recorded(driver) {
			delete(l.made, driver.Labels["spark-app-selector"]) // with all that was known of it
		}
		l.remove(driver)
	case n == 12 && driver != nil && l.rand.IntN(3) == 0:
		for _, o := range l.objects() {
			if o.GetKind() == "Service" && driver.Status.Phase == "" {
				l.tell("somebody deletes Service %s", o.GetName())
				l.taken[o.GetName()] = true
				l.remove(o)
				return
			}
		}
	case n < 18 && driver != nil:
		l.kubelet(driver)
	default:
		l.clock.SetTime(l.clock.Now().Add(time.Duration(l.rand.IntN(30_000)) * time.Millisecond))
	}
}

// recorded reports whether the status tells of a driver.
func (l *life) recorded(driver *corev1.Pod) bool {
	app := &v1.SparkApplication{}
	if err := l.client.Get(l.t.Context(), l.key(), app); err != nil {
		return false
	}
	return app.Status.Details != nil && app.Status.Details.SparkApplicationID == driver.Labels["spark-app-selector"]
}

func (l *life) remove(o client.Object) {
	if err := l.client.Delete(l.t.Context(), o); client.IgnoreNotFound(err) != nil {
		l.t.Fatal(err)
	}
}

func (l *life) suspendTo(on bool) {
	app := &v1.SparkApplication{}
	if err := l.client.Get(l.t.Context(), l.key(), app); err != nil {
		return
	}
	app.Spec.Suspend = on
	app.Generation++
	if err := l.client.Update(l.t.Context(), app); err != nil {
		l.t.Fatal(err)
	}
}

// startable reports whether a driver has its ConfigMap.
func (l *life) startable(id string) bool {
	return slices.Contains(l.names(), "ConfigMap "+id+"-spark-drv-conf-map")
}

// kubelet brings a driver a step further. One that lacks its ConfigMap does not start.
func (l *life) kubelet(driver *corev1.Pod) {
	next := map[corev1.PodPhase][]string{"": {"started", "ready", "failed", "succeeded"}, corev1.PodPending: {"ready"}, corev1.PodRunning: {"ready", "failed", "succeeded", "evicted"}}[driver.Status.Phase]
	if len(next) == 0 {
		return
	}
	if driver.Status.Phase == "" && !l.startable(driver.Labels["spark-app-selector"]) {
		l.tell("%s waits for its ConfigMap", driver.Name)
		return
	}
	l.complete(driver)
	status := next[l.rand.IntN(len(next))]
	l.tell("%s is %s", driver.Name, status)
	l.say(driver, l.status(driver, recordedStep{Status: status}))
	if status == "ready" {
		l.executors(l.rand.IntN(3))
	}
}

// live lets so much happen, and then waits until nothing happens any more.
func (l *life) live() {
	for range 60 {
		l.act()
		if !l.dead {
			l.reconcileOnce()
		}
		l.judge()
		if l.broken != "" {
			return
		}
	}
	l.calm = true
	l.tell("everything is calm")
	l.sync()
	l.restart()
	l.suspendTo(false)
	for i := range 400 {
		l.sync()
		after := l.reconcileOnce()
		l.judge()
		if l.last.CurrentState != nil && terminated(l.last.CurrentState.CurrentStateSummary) {
			break
		}
		if driver := l.driver(); driver != nil && i%10 == 9 && driver.Status.Phase != corev1.PodSucceeded && driver.Status.Phase != corev1.PodFailed {
			if driver.Status.Phase == "" && !l.startable(driver.Labels["spark-app-selector"]) {
				continue
			}
			l.say(driver, l.status(driver, recordedStep{Status: "succeeded"}))
		}
		l.clock.SetTime(l.clock.Now().Add(min(max(after, time.Second), 10*time.Second)))
	}
	app := &v1.SparkApplication{}
	if err := l.client.Get(l.t.Context(), l.key(), app); err != nil {
		l.t.Fatal(err)
	}
	now := app.Status.CurrentState
	if now == nil || !terminated(now.CurrentStateSummary) {
		l.violated("it does not end: %+v, %v", now, l.names())
		return
	}
	if names := l.names(); now.CurrentStateSummary == v1.StateResourceReleased && len(names) > 0 {
		l.violated("%s, and there are %v", now.CurrentStateSummary, names)
	}
	version := app.ResourceVersion
	l.sync()
	l.reconcileOnce()
	if err := l.client.Get(l.t.Context(), l.key(), app); err == nil && app.ResourceVersion != version {
		l.violated("it is written at rest")
	}
}

func (l *life) reconcileOnce() time.Duration {
	after := l.reconcile()
	if l.dead {
		return 0
	}
	return after
}

// TestHistories plays random histories.
func TestHistories(t *testing.T) {
	play := func(first uint64, n int) {
		for seed := first; seed < first+uint64(n); seed++ {
			l := newLife(t, seed)
			if l.live(); l.broken != "" {
				t.Fatalf("seed %d: %s\n%s", seed, l.broken, l.told.String())
			}
		}
	}
	fixed, fresh := testrun.Pick(60, 60, 60), testrun.Pick(0, 150, 4000)
	play(1, fixed)
	play(testrun.Seed(), fresh)
	t.Logf("%d histories; %d are fresh, from seed %d", fixed+fresh, fresh, testrun.Seed())
}
