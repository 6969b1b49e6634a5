// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/fairqueue"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Kind is a kind of application that the operator runs.
type Kind interface {
	// Family describes the kind to the core.
	Family() lifecycle.Family
	// AddToScheme adds its types.
	AddToScheme(*runtime.Scheme) error

	// Setup adds the kind's controller to the manager.
	Setup(*operator.Shared) error
}

// kind is a Kind whose objects are of type T.
type kind[T client.Object] struct {
	resolve.Kind[T]
	name        string
	list        client.ObjectList
	addToScheme func(*runtime.Scheme) error
}

// NewKind returns a kind of application. name is that of its controller in logs and metrics, list is an empty list of its objects, and addToScheme adds its
// types to a scheme.
func NewKind[T client.Object](name string, k resolve.Kind[T], list client.ObjectList, addToScheme func(*runtime.Scheme) error) Kind {
	return kind[T]{k, name, list, addToScheme}
}

// AddToScheme implements Kind.
func (k kind[T]) AddToScheme(s *runtime.Scheme) error { return k.addToScheme(s) }

// NewEngine returns the reconciler of a kind. It assumes that the APIs of all schedulers are installed.
func NewEngine[T client.Object](k resolve.Kind[T], list client.ObjectList, reader observe.Reader, writer client.Client, registry *scheduler.Registry,
	recorder events.EventRecorder, now clock.PassiveClock, schedulers *reservations.Manager) *Engine[T] {
	deleted := &actuate.Deletions{}
	reader.Labels, reader.Deleted = k.Family().Labels, deleted.Has
	e := &Engine[T]{
		Kind: k, List: list, Cache: reader.Cache, Reader: reader,
		Writer: actuate.Writer{
			Client: writer, Existing: reader.Existing, Drivers: reader.Drivers, Resources: reader.Resources, Deleted: deleted,
		},
		Registry: registry, Schedulers: schedulers, Recorder: recorder, Clock: now,
		Sessions: reader.Sessions,
	}
	schedulers.Rebuild(e.EnterRunning)
	return e
}

// Setup implements Kind.
func (k kind[T]) Setup(s *operator.Shared) error {
	now := clock.RealClock{}
	writer := operator.CountWrites(client.WithFieldOwner(s.Manager.GetClient(), actuate.FieldOwner), s.Metrics, now, s.Manager.GetScheme())
	engine := NewEngine(k.Kind, k.list, s.Reader, writer, s.Registry, s.Recorder, now, s.Schedulers)
	engine.Kinds, engine.Exposure, engine.Metrics = s.SchedulerKinds, s.Config.Exposure(), s.Metrics
	engine.Periods, engine.ExposureRetry = s.Periods.Core, s.Periods.Exposure
	engine.Policies, engine.Watches, engine.Submitters = s.Policies, s.Namespaces.Watches, s.Submitters()
	s.Metrics.Observe(engine.applications(s.Leads))
	family := k.Family()
	err := ctrl.NewControllerManagedBy(s.Manager).
		Named(k.name).
		For(k.New()).
		Watches(&corev1.Pod{}, podHandler(s.Schedulers, family)).
		WatchesRawSource(source.Channel(s.SchedulerKinds.Events(family.GroupKind()), &handler.EnqueueRequestForObject{})).
		WatchesRawSource(s.Namespaces.Source(s.Reader.Names(k.list))).
		WithOptions(fairqueue.Options(s.Config.Workers)).
		Complete(engine)
	if err != nil {
		return fmt.Errorf("set up the controller of %s: %w", family.GroupKind(), err)
	}
	return nil
}

// priorities are the queue priorities of changes to a driver's phase.
var priorities = map[lifecycle.DriverPhase]int{
	lifecycle.DriverRunning: fairqueue.PriorityStarted, lifecycle.DriverSucceeded: fairqueue.PriorityEnded, lifecycle.DriverFailed: fairqueue.PriorityEnded,
}

// executorsTogether is how long changes of executors are collected before a reconcile. Hundreds of executors come and go together, and they change no decision.
const executorsTogether = time.Second

// podHandler enqueues the application of a pod, and reports freed resources to the reservations. Executors have the label, too, although the driver creates
// them.
func podHandler(m *reservations.Manager, family lifecycle.Family) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(q queue, pod client.Object, priority int) {
		app := pod.GetLabels()[family.Labels.App]
		item := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: app}}
		switch {
		case app == "":
		case spark.RunsDriver(pod.GetLabels()), priority < 0: // the initial list enqueues the application itself
			fairqueue.AddWithPriority(q, item, priority)
		default:
			q.AddAfter(item, executorsTogether)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			priority := 0
			if e.IsInInitialList {
				priority = handler.LowPriority
			}
			enqueue(q, e.Object, priority)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, _ := e.ObjectOld.(*observe.Pod)
			after, _ := e.ObjectNew.(*observe.Pod)
			if before == nil || after == nil {
				return
			}
			if !before.Ended() && after.Ended() {
				m.MadeRoom()
			}
			enqueue(q, after, priorities[after.DriverPhase()])
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			m.MadeRoom()
			enqueue(q, e.Object, fairqueue.PriorityEnded)
		},
	}
}
