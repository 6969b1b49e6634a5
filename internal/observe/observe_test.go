// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

var (
	family  = kubeflow.SparkApplications{}.Family()
	labeled = Reader{Labels: family.Labels}
	byApp   = IndexByApp(family.Labels.App)
)

var target = Target{Namespace: "jobs", App: "pi", UID: "app", DriverName: "pi-driver", SubmissionID: "s-1"}

// ours gives a pod the marks of the application's attempt.
func ours(p *corev1.Pod, name, role, submission string) *corev1.Pod {
	p.Name = name
	p.Labels = map[string]string{v1beta2.LabelAppName: "pi", v1beta2.LabelSubmissionID: submission, "spark-role": role}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "pi", UID: "app", Controller: new(true)}}
	return p
}

func driverPod() *corev1.Pod {
	return ours(pod(corev1.PodRunning, runs(driverContainer)), "pi-driver", "driver", "s-1")
}

// cluster is a client over some objects; gets counts reads of single objects, and fail answers them.
func cluster(gets *int, fail error, objects ...client.Object) client.Reader {
	return fake.NewClientBuilder().WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if gets != nil {
					*gets++
				}
				if fail != nil {
					return fail
				}
				return c.Get(ctx, key, obj, opts...)
			},
		}).Build()
}

// stored are pods in the store of an informer.
func stored(t *testing.T, pods ...*corev1.Pod) Pods {
	t.Helper()
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, IndexPods(family.Labels.App))
	for _, p := range pods {
		p.ResourceVersion = "999" // as the client has it that these tests compare with
		o, err := CachePod(family.Labels)(p)
		if err == nil {
			err = store.Add(o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return CachedPods(func(context.Context, string) (toolscache.Indexer, error) { return store, nil })
}

func TestObserveDriver(t *testing.T) {
	trouble := apierrors.NewServiceUnavailable("etcd leader changed")
	previous := ours(pod(corev1.PodSucceeded, exits(driverContainer, 0, "", "")), "pi-driver", "driver", "s-0")
	notOwned := pod(corev1.PodRunning)
	cases := map[string]struct {
		reason    string
		state     lifecycle.State
		cached    []client.Object
		live      []client.Object
		liveFails error
		presence  lifecycle.Presence
		ownership lifecycle.Ownership
		liveReads int
	}{
		"NewAbsent":      {reason: "the create reports it: no live read", state: lifecycle.New, presence: lifecycle.Absent},
		"NewStale":       {reason: "the cache may be behind, and the create will meet it", state: lifecycle.New, live: []client.Object{driverPod()}, presence: lifecycle.Absent},
		"NewPresent":     {reason: "created before a crash", state: lifecycle.New, cached: []client.Object{driverPod()}, presence: lifecycle.Present, ownership: lifecycle.Current},
		"RunningCached":  {reason: "what the cache has needs no live read", state: lifecycle.Running, cached: []client.Object{driverPod()}, presence: lifecycle.Present, ownership: lifecycle.Current},
		"RunningStale":   {reason: "a stale cache is not the end of a driver", state: lifecycle.Running, live: []client.Object{driverPod()}, presence: lifecycle.Present, ownership: lifecycle.Current, liveReads: 1},
		"RunningGone":    {reason: "only a live read proves absence", state: lifecycle.Running, presence: lifecycle.Absent, liveReads: 1},
		"RunningDoubt":   {reason: "an API server in trouble proves nothing", state: lifecycle.Running, liveFails: trouble, presence: lifecycle.Unknown, liveReads: 1},
		"Forbidden":      {reason: "no right to look proves nothing", state: lifecycle.Running, liveFails: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "pi-driver", errors.New("no")), presence: lifecycle.Unknown, liveReads: 1},
		"Submitted":      {reason: "the same before it runs", state: lifecycle.Submitted, liveFails: trouble, presence: lifecycle.Unknown, liveReads: 1},
		"QueuedNotOwned": {reason: "pods of other owners are not in the cache", state: lifecycle.Queued, live: []client.Object{notOwned}, presence: lifecycle.Present, ownership: lifecycle.NotOwned, liveReads: 1},
		"QueuedPrevious": {reason: "the pod of an earlier attempt still has the name", state: lifecycle.Queued, cached: []client.Object{previous}, presence: lifecycle.Present, ownership: lifecycle.Previous},
		"OtherNamespace": {reason: "a pod of the name otherNode is another pod", state: lifecycle.Running, live: []client.Object{otherNode(driverPod())}, presence: lifecycle.Absent, liveReads: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reads := 0
			r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, tc.cached...), Live: cluster(&reads, tc.liveFails, tc.live...)}
			got, err := r.Observe(t.Context(), target, lifecycle.Record{State: tc.state})
			if err != nil {
				t.Fatal(err)
			}
			if got.Driver.Presence != tc.presence || got.Driver.Ownership != tc.ownership || got.Driver.Name != "pi-driver" {
				t.Errorf("%s: %+v, want %s %s", tc.reason, got.Driver, tc.presence, tc.ownership)
			}
			if reads != tc.liveReads {
				t.Errorf("%s: %d live reads, want %d", tc.reason, reads, tc.liveReads)
			}
		})
	}
}

func otherNode(p *corev1.Pod) *corev1.Pod {
	p.Namespace = "other"
	return p
}

// Whoever stops the operator must not make it believe that drivers are gone, or unknown.
func TestObserveCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Reader{Labels: family.Labels, Cache: cluster(nil, nil), Live: cluster(nil, context.Canceled)}
	if _, err := r.Observe(ctx, target, lifecycle.Record{State: lifecycle.Running}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the cancellation", err)
	}
}

func TestObserveCacheTrouble(t *testing.T) {
	r := Reader{Labels: family.Labels, Cache: cluster(nil, errors.New("cache not started")), Live: cluster(nil, nil)}
	got, err := r.Observe(t.Context(), target, lifecycle.Record{State: lifecycle.Running})
	if err != nil || got.Driver.Presence != lifecycle.Unknown {
		t.Errorf("%+v, %v: a cache that cannot be read is doubt", got.Driver, err)
	}
}

func TestObserveExecutors(t *testing.T) {
	exec := func(name, submission string, phase corev1.PodPhase) *corev1.Pod {
		return ours(pod(phase), name, "executor", submission)
	}
	strange := exec("strange", "s-1", corev1.PodRunning)
	strange.Labels[v1beta2.LabelAppName] = "other"
	r := Reader{Labels: family.Labels, Live: cluster(nil, nil), Cache: cluster(nil, nil,
		driverPod(), exec("e-1", "s-1", corev1.PodRunning), exec("e-2", "s-1", corev1.PodFailed),
		exec("old", "s-0", corev1.PodRunning), strange, otherNode(exec("far", "s-1", corev1.PodRunning)))}
	got, err := r.Observe(t.Context(), target, lifecycle.Record{State: lifecycle.Running})
	if err != nil {
		t.Fatal(err)
	}
	want := []lifecycle.Executor{{Name: "e-1", State: lifecycle.ExecutorRunning}, {Name: "e-2", State: lifecycle.ExecutorFailed}}
	if diff := cmp.Diff(want, got.Executors); diff != "" {
		t.Errorf("executors of this attempt, this application and this namespace only (-want +got):\n%s", diff)
	}
	r.Pods = stored(t, driverPod(), exec("e-1", "s-1", corev1.PodRunning), exec("e-2", "s-1", corev1.PodFailed),
		exec("old", "s-0", corev1.PodRunning), strange, otherNode(exec("far", "s-1", corev1.PodRunning)))
	indexed, err := r.Observe(t.Context(), target, lifecycle.Record{State: lifecycle.Running})
	if diff := cmp.Diff(got, indexed); err != nil || diff != "" {
		t.Errorf("by the index the same is seen (-read +indexed): %v\n%s", err, diff)
	}
	if _, err := r.Pods.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: "far"}); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want NotFound", err)
	}
}

func TestSparkContainer(t *testing.T) {
	own := driverPod()
	own.Spec.Containers = []corev1.Container{{Name: "proxy"}, {Name: "own", Env: []corev1.EnvVar{{Name: appIDEnv}}}}
	cases := map[string]*corev1.Pod{
		spark.DriverContainerName: driverPod(), spark.ExecutorContainerName: ours(pod(corev1.PodRunning), "e-1", "executor", "s-1"), "own": own,
	}
	for want, pod := range cases {
		if got := SparkContainer(pod); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestObserveExecutorsError(t *testing.T) {
	broken := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no index")
		},
	}).Build()
	_, err := Reader{Labels: family.Labels, Cache: broken, Live: broken}.Observe(t.Context(), target, lifecycle.Record{})
	if err == nil || !strings.Contains(err.Error(), "jobs/pi") {
		t.Errorf("error %v, want one that names the application", err)
	}
}

// A name that no label can hold is not asked for: an API server would answer that the question is malformed.
func TestObserveLongName(t *testing.T) {
	broken := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewBadRequest("unable to parse requirement")
		},
	}).Build()
	long := target
	long.App = strings.Repeat("a", 64)
	got, err := Reader{Labels: family.Labels, Cache: broken, Live: broken}.Observe(t.Context(), long, lifecycle.Record{})
	if err != nil || got.Driver.Presence != lifecycle.Absent {
		t.Errorf("%+v, %v; want no driver", got.Driver, err)
	}
}

func TestExisting(t *testing.T) {
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "cm", UID: "u"}, Data: map[string]string{"a": "b"}}
	r := Reader{Labels: family.Labels, Live: cluster(nil, nil, stored)}
	asked := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "cm"}, Data: map[string]string{"a": "c"}}
	got, err := r.Existing(t.Context(), asked)
	if err != nil || got == nil || got.GetUID() != "u" {
		t.Fatalf("got %v, %v; want the stored object", got, err)
	}
	if asked.UID != "" || asked.Data["a"] != "c" {
		t.Errorf("the object asked for was overwritten: %+v", asked)
	}
	// A pod of the same name is another kind.
	if got, err := r.Existing(t.Context(), &corev1.Pod{ObjectMeta: asked.ObjectMeta}); err != nil || got != nil {
		t.Errorf("got %v, %v; there is no such pod", got, err)
	}
	if _, err := (Reader{Labels: family.Labels, Live: cluster(nil, errors.New("boom"))}).Existing(t.Context(), asked); err == nil || !strings.Contains(err.Error(), "jobs/cm") {
		t.Errorf("error %v, want one that names the object: trouble is no absence", err)
	}
}

func TestSnapshot(t *testing.T) {
	class := func(name string) scheduler.Read {
		return scheduler.Read{GroupVersionKind: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), Name: name}
	}
	stored := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7}
	got, err := Reader{Labels: family.Labels, Live: cluster(nil, nil, stored)}.Snapshot(t.Context(), []scheduler.Read{class("high"), class("low")})
	if err != nil {
		t.Fatal(err)
	}
	if high := got[class("high")]; high == nil || high.GetName() != "high" {
		t.Errorf("the object that exists is %v", high)
	}
	if low, looked := got[class("low")]; !looked || low != nil {
		t.Errorf("an object that does not exist is %v, looked up: %v; want nil, true", low, looked)
	}
	if _, err := (Reader{Labels: family.Labels, Live: cluster(nil, errors.New("boom"))}).Snapshot(t.Context(), []scheduler.Read{class("high")}); err == nil {
		t.Error("trouble is no absence: want an error")
	}
	forbidden := Reader{Labels: family.Labels, Live: cluster(nil, apierrors.NewForbidden(schema.GroupResource{Resource: "priorityclasses"}, "high", nil))}
	spared := class("high")
	spared.Optional = true
	if s, err := forbidden.Snapshot(t.Context(), []scheduler.Read{spared}); err != nil || s[spared] == nil {
		t.Errorf("got %v, %v; what the operator may not read is not absent", s, err)
	}
	if _, err := forbidden.Snapshot(t.Context(), []scheduler.Read{class("high")}); err == nil {
		t.Error("a denial is no absence: want an error")
	}
	seen := Reader{Labels: family.Labels, Live: cluster(nil, nil, stored), Whole: func(k schema.GroupVersionKind) bool { return k.Kind == "PriorityClass" }}
	for kind, want := range map[string]bool{"PriorityClass": true, "CSIStorageCapacity": false} {
		all := class("")
		if all.Kind = kind; kind != "PriorityClass" {
			all.Group = "storage.k8s.io"
		}
		if s, err := seen.Snapshot(t.Context(), []scheduler.Read{all}); err != nil || s.Complete(all) != want {
			t.Errorf("%s: complete %t, %v; want %t", kind, s.Complete(all), err, want)
		}
	}
	of := scheduler.Read{GroupVersionKind: schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"}, Namespace: "jobs"}
	if s, err := seen.Snapshot(t.Context(), []scheduler.Read{of}); err != nil || !s.Complete(of) {
		t.Errorf("complete %t, %v; one namespace is seen or not", s.Complete(of), err)
	}
	if s, err := (Reader{Labels: family.Labels, Live: cluster(nil, errors.New("boom"))}).Snapshot(t.Context(), nil); err != nil || len(s) != 0 {
		t.Errorf("got %v, %v; who asks for nothing needs no API server", s, err)
	}
}

// A reconcile that crashed before it wrote the status has created the driver under the name that the spec now gives it. The
// cache does not have it yet.
func TestDriverUnderANewName(t *testing.T) {
	current := func() *corev1.Pod { return ours(driverPod(), "renamed", "driver", "s-1") }
	previous := func() *corev1.Pod { return ours(driverPod(), "renamed", "driver", "s-0") }
	cases := map[string]struct {
		live      *corev1.Pod
		ownership lifecycle.Ownership
	}{
		"Current":  {live: current(), ownership: lifecycle.Current},
		"Previous": {live: previous(), ownership: lifecycle.Previous},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			next := target
			next.NextName = "renamed"
			r := Reader{Labels: family.Labels, Cache: cluster(nil, nil), Live: cluster(nil, nil, tc.live)}
			got, err := r.Observe(t.Context(), next, lifecycle.Record{State: lifecycle.Rerunning})
			if err != nil {
				t.Fatal(err)
			}
			if d := got.Driver; d.Presence != lifecycle.Present || d.Ownership != tc.ownership || d.Name != "renamed" {
				t.Errorf("%+v, want the driver under its new name", d)
			}
		})
	}
}

// The cache still has the driver of the attempt before, under the same name: the one of this attempt lives.
func TestFormerDriverInAStaleCache(t *testing.T) {
	previous := ours(pod(corev1.PodFailed), "pi-driver", "driver", "s-0")
	for _, state := range []lifecycle.State{lifecycle.Submitted, lifecycle.Running, lifecycle.Suspending} {
		r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, previous), Live: cluster(nil, nil, driverPod())}
		got, err := r.Observe(t.Context(), target, lifecycle.Record{State: state})
		if err != nil || got.Driver.Ownership != lifecycle.Current || got.Driver.Phase != lifecycle.DriverRunning {
			t.Errorf("%s: %+v, %v: a healthy driver is treated as lost", state, got.Driver, err)
		}
	}
}

// The cache still has a driver of this very attempt that was deleted before any status told of it, under the same name and with the same
// marks: the one that was created since lives.
func TestOutlivedDriverInAStaleCache(t *testing.T) {
	outlived, now := ours(pod(corev1.PodPending), "pi-driver", "driver", "s-1"), driverPod()
	outlived.UID, now.UID = "first", "second"
	look := target
	look.DriverUID = "second"
	for _, state := range []lifecycle.State{lifecycle.New, lifecycle.Submitted, lifecycle.Running, lifecycle.Suspending} {
		r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, outlived), Live: cluster(nil, nil, now)}
		got, err := r.Observe(t.Context(), look, lifecycle.Record{State: state})
		if err != nil || got.Driver.UID != "second" || got.Driver.Ownership != lifecycle.Current || got.Driver.Phase != lifecycle.DriverRunning {
			t.Errorf("%s: %+v, %v: a healthy driver is taken for a previous one", state, got.Driver, err)
		}
	}
}

func TestFresh(t *testing.T) {
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "app"}}
	r := Reader{Labels: family.Labels, Live: cluster(nil, nil, stored)}
	read := &corev1.ConfigMap{}
	if err := r.Live.Get(t.Context(), client.ObjectKeyFromObject(stored), read); err != nil {
		t.Fatal(err)
	}
	older, other, gone := read.DeepCopy(), read.DeepCopy(), read.DeepCopy()
	older.ResourceVersion, other.UID, gone.Name = "1", "another", "gone"
	for name, tc := range map[string]struct {
		object *corev1.ConfigMap
		want   bool
	}{
		"Same": {read, true}, "Older": {older, false}, "Recreated": {other, false}, "Gone": {gone, false},
	} {
		if got, err := r.Fresh(t.Context(), tc.object, corev1.SchemeGroupVersion.WithKind("ConfigMap")); err != nil || got != tc.want {
			t.Errorf("%s: %t, %v; want %t", name, got, err, tc.want)
		}
	}
}

// Of a finished application only a driver that still runs is worth a look.
func TestStrays(t *testing.T) {
	app := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "app"}}
	leaving := driverPod()
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/x"}
	notOwned := driverPod()
	notOwned.OwnerReferences[0].UID = "another"
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"Running":  {driverPod(), true},
		"Pending":  {ours(pod(corev1.PodPending), "pi-driver", "driver", "s-1"), true},
		"Ended":    {ours(pod(corev1.PodSucceeded, exits(driverContainer, 0, "", "")), "pi-driver", "driver", "s-1"), false},
		"Leaving":  {leaving, false},
		"NotOwned": {notOwned, false},
		"Executor": {ours(pod(corev1.PodRunning), "pi-exec-1", "executor", "s-1"), false},
	} {
		r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, tc.pod)}
		if got, err := r.Orphans(t.Context(), app); err != nil || got != tc.want {
			t.Errorf("%s: %t, %v; want %t", name, got, err, tc.want)
		}
	}
}
