// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// world is a cluster with the operator in it, in which a recorded case is played: objects get UIDs, what belongs to a pod goes with it, and
// what the recorded API server refused is refused.
type world struct {
	t      *testing.T
	r      recording
	client client.WithWatch
	clock  *clocktesting.FakePassiveClock
	engine *application.Engine[*v1.SparkApplication]
	uids   int
	refuse map[string]*apierrors.StatusError
	// seen are all states that were stored, by their keys.
	seen map[int64]v1.ApplicationStateSummary
	last v1.SparkApplicationStatus
	// timers are of all operator processes.
	timers *metrics.Metrics
}

var (
	began = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	// kindsOf are those of the objects that a snapshot has.
	kindsOf = []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), networkingv1.SchemeGroupVersion.WithKind("Ingress"),
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}, {Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GRPCRoute"},
	}
)

func newWorld(t *testing.T, r recording) *world {
	t.Helper()
	w := &world{t: t, r: r, clock: clocktesting.NewFakePassiveClock(began), refuse: map[string]*apierrors.StatusError{}, seen: map[int64]v1.ApplicationStateSummary{}, timers: metrics.New(config.Metrics{})}
	for _, write := range r.writes {
		if object, ok := write.object(); ok && write.Code >= http.StatusBadRequest {
			w.refuse[golden.NameOf(object)] = &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: int32(write.Code), Message: write.Refused.Message, Reason: metav1.StatusReason(write.Refused.Reason),
			}}
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, networkingv1.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	app := r.app.DeepCopy()
	app.UID, app.CreationTimestamp, app.Generation = "app", metav1.NewTime(began), 1
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(app).WithStatusSubresource(&v1.SparkApplication{}, &corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: w.create, Delete: w.delete, List: withoutFields}).Build()
	for _, o := range r.before {
		if err := w.client.Create(t.Context(), &unstructured.Unstructured{Object: o}); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	return w
}

// withoutFields lists: the fake server has no field selectors for events.
func withoutFields(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if _, selected := list.(*corev1.EventList); selected {
		opts = nil
	}
	return c.List(ctx, list, opts...)
}

func (w *world) create(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	if refused := w.refuse[gvk.Kind+" "+obj.GetName()]; refused != nil {
		return refused
	}
	var options client.CreateOptions
	if options.ApplyOptions(opts); len(options.DryRun) > 0 {
		return nil
	}
	w.uids++
	obj.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
	obj.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	if o, ok := obj.(*unstructured.Unstructured); ok && o.GetNamespace() == "" {
		o.SetNamespace(w.r.namespace)
	}
	return c.Create(ctx, obj, opts...)
}

// delete deletes an object and, as the garbage collector does, what belongs to it.
func (w *world) delete(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
	if err := c.Delete(ctx, obj, opts...); err != nil {
		return err
	}
	for _, o := range w.objects() {
		for _, owner := range o.GetOwnerReferences() {
			if owner.UID == obj.GetUID() {
				if err := w.delete(ctx, c, o); client.IgnoreNotFound(err) != nil {
					return err
				}
			}
		}
	}
	return nil
}

// objects are all that there is but the application, and the executors.
func (w *world) objects() []*unstructured.Unstructured {
	w.t.Helper()
	var all []*unstructured.Unstructured
	for _, kind := range kindsOf {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.client.List(w.t.Context(), list, client.InNamespace(w.r.namespace)); err != nil {
			continue // a kind that no object of was created
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
			all = append(all, &list.Items[i])
		}
	}
	return all
}

// names names what there is, but for executors.
func (w *world) names() []string {
	names := []string{}
	for _, o := range w.objects() {
		if o.GetLabels()["spark-role"] != "executor" || o.GetKind() != "Pod" {
			names = append(names, o.GetKind()+" "+o.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// restart is a new operator process.
func (w *world) restart() {
	w.t.Helper()
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = application.NewEngine(SparkApplications{KeepHistory: w.r.conf == "notrim"}, &v1.SparkApplicationList{}, observe.Reader{Cache: w.client, Live: w.client},
		w.client, registry, events.NewFakeRecorder(1000), w.clock, reservations.New(w.clock, nil, scheduler.Order{}))
	w.engine.Metrics = w.timers
}

func (w *world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.r.namespace, Name: w.r.app.Name}
}

// reconcile reconciles once, notes the states, and returns when to reconcile again.
func (w *world) reconcile() time.Duration {
	w.t.Helper()
	result, err := w.engine.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: w.key()})
	if err != nil {
		result.RequeueAfter = time.Second
	}
	var o v1.SparkApplication
	switch err := w.client.Get(w.t.Context(), w.key(), &o); {
	case apierrors.IsNotFound(err):
	case err != nil:
		w.t.Fatal(err)
	default:
		w.last = o.Status
		histories := []map[string]v1.ApplicationState{o.Status.StateTransitionHistory}
		if p := o.Status.PreviousAttemptSummary; p != nil {
			histories = append(histories, p.StateTransitionHistory)
		}
		for _, history := range histories {
			for key, state := range history {
				n, err := strconv.ParseInt(key, 10, 64)
				if err != nil {
					w.t.Fatal(err)
				}
				w.seen[n] = state.CurrentStateSummary
			}
		}
	}
	return result.RequeueAfter
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for end := w.clock.Now().Add(d); ; {
		after := w.reconcile()
		left := end.Sub(w.clock.Now())
		if left <= 0 {
			return
		}
		if after <= 0 || after > left {
			after = left
		}
		w.clock.SetTime(w.clock.Now().Add(after))
	}
}

// sequence are the states in their order.
func (w *world) sequence() []string {
	all := []string{}
	for _, key := range slices.Sorted(maps.Keys(w.seen)) {
		all = append(all, string(w.seen[key]))
	}
	return all
}

// latencies are the timers that have measured something, each with how often.
func (w *world) latencies() map[string]float64 {
	all := map[string]float64{}
	for _, c := range w.timers.Collectors() {
		for name, count := range testutil.Scrape(w.t, c) {
			if between, ok := strings.CutPrefix(name, "sparkappstatusrecorder_sparkapp_latency_"); ok {
				all[strings.TrimSuffix(between, "_duration_seconds")] = count
			}
		}
	}
	return all
}

// wait reconciles until a state was stored so many times; the time that the recorder gave it passes at most.
func (w *world) wait(state string, count int, limit time.Duration) bool {
	w.t.Helper()
	for end := w.clock.Now().Add(limit); ; {
		after := w.reconcile()
		n := 0
		for _, s := range w.sequence() {
			if s == state {
				n++
			}
		}
		if n >= max(1, count) {
			return true
		}
		if !w.clock.Now().Before(end) {
			return false
		}
		w.clock.SetTime(w.clock.Now().Add(min(max(after, 100*time.Millisecond), time.Second)))
	}
}

// driver is the newest driver pod.
func (w *world) driver() *corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.r.namespace), client.MatchingLabels{"spark-role": "driver"}); err != nil {
		w.t.Fatal(err)
	}
	var newest *corev1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; newest == nil || newest.Name < p.Name {
			newest = p
		}
	}
	return newest
}

// say sets the status of a pod.
func (w *world) say(pod *corev1.Pod, status corev1.PodStatus) {
	w.t.Helper()
	pod.Status = status
	if err := w.client.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}
