// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Kind is a kind of applications that the operator runs.
type Kind interface {
	// Family is what the core knows of it.
	Family() lifecycle.Family
	// AddToScheme adds its types.
	AddToScheme(*runtime.Scheme) error

	setup(*shared) error
}

// kind is a Kind whose objects are of type T.
type kind[T client.Object] struct {
	resolve.Kind[T]
	name        string
	list        client.ObjectList
	addToScheme func(*runtime.Scheme) error
}

// NewKind returns a kind of applications: the name of its controller in logs and metrics, an empty list of its objects, and
// what adds its types to a scheme.
func NewKind[T client.Object](name string, k resolve.Kind[T], list client.ObjectList, addToScheme func(*runtime.Scheme) error) Kind {
	return kind[T]{k, name, list, addToScheme}
}

// AddToScheme implements Kind.
func (k kind[T]) AddToScheme(s *runtime.Scheme) error { return k.addToScheme(s) }

// shared is what the controllers of all kinds have in common.
type shared struct {
	mgr        ctrl.Manager
	config     config.OperatorConfiguration
	registry   *scheduler.Registry
	reader     observe.Reader
	recorder   events.EventRecorder
	metrics    *metrics.Metrics
	schedulers *Schedulers
	watched    *schedulerKinds
	tenancy    *tenancy
}

// NewEngine returns the reconciler of a kind. It takes every scheduler's API for installed.
func NewEngine[T client.Object](k resolve.Kind[T], list client.ObjectList, reader observe.Reader, writer client.Client, registry *scheduler.Registry, recorder events.EventRecorder, now clock.PassiveClock, schedulers *Schedulers) *Engine[T] {
	reader.Labels = k.Family().Labels
	e := &Engine[T]{
		Kind: k, List: list, Cache: reader.Cache, Reader: reader,
		Writer: actuate.Writer{
			Client: writer, Existing: reader.Existing, Drivers: reader.Drivers, Resources: reader.Resources,
		},
		Registry: registry, Schedulers: schedulers, Recorder: recorder, Clock: now,
	}
	schedulers.Rebuild(e.EnterRunning)
	return e
}

func newShared(ctx context.Context, mgr ctrl.Manager, c config.OperatorConfiguration, registry *scheduler.Registry, families []lifecycle.Family) (*shared, error) {
	s := &shared{mgr: mgr, config: c, registry: registry}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, observe.IndexApp, observe.IndexByApp(appLabels(families)...)); err != nil {
		return nil, fmt.Errorf("index pods: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("create client for logs: %w", err)
	}
	if s.watched, err = newSchedulerKinds(mgr, c, registry.Plugins(), families); err != nil {
		return nil, err
	}
	s.schedulers = NewSchedulers(clock.RealClock{}, s.watched)
	s.watched.waiters = s.schedulers.waitersFor
	auxiliary, err := newAuxiliary(mgr, c, families, s.watched.wake)
	if err != nil {
		return nil, err
	}
	s.reader = observe.Reader{
		Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Kinds: s.watched, Whole: s.watched.whole, Auxiliary: auxiliary, Logs: logsOf(clientset),
	}
	recorder, err := newRecorder(mgr.GetClient(), mgr.GetScheme(), clock.RealClock{}, mgr.GetLogger().WithName("events"))
	if err != nil {
		return nil, err
	}
	s.recorder = recorder
	if err := mgr.Add(recorder); err != nil {
		return nil, fmt.Errorf("add sender of events: %w", err)
	}
	if s.metrics, err = newMetrics(mgr, c.Metrics); err != nil {
		return nil, err
	}
	s.tenancy, err = newTenancy(ctx, s, auxiliary)
	return s, err
}

// setup adds the controller of a kind to the manager.
func (k kind[T]) setup(s *shared) error {
	writer := client.WithFieldOwner(s.mgr.GetClient(), fieldOwner)
	if s.metrics != nil {
		writer = countingClient{writer, writeCounter{s.metrics, clock.RealClock{}, s.mgr.GetScheme()}}
	}
	engine := NewEngine(k.Kind, k.list, s.reader, writer, s.registry, s.recorder, clock.RealClock{}, s.schedulers)
	engine.Exposure, engine.Metrics = s.config.Exposure(), s.metrics
	engine.Policies, engine.Watches = s.tenancy.Policies, s.tenancy.namespaces.Watches
	s.metrics.Observe(engine.applications(s.mgr.Elected()))
	family := k.Family()
	err := ctrl.NewControllerManagedBy(s.mgr).
		Named(k.name).
		For(k.New()).
		Watches(&corev1.Pod{}, podHandler(s.schedulers, family)).
		WatchesRawSource(source.Channel(s.watched.wakers.of(family.GroupKind()), &handler.EnqueueRequestForObject{})).
		WatchesRawSource(s.tenancy.namespaces.source(engine.names)).
		// A standby watches too, so that it need not list anything when its turn comes.
		WithOptions(controller.Options{MaxConcurrentReconciles: s.config.Workers, EnableWarmup: ptr.To(true), NewQueue: newFairQueue}).
		Complete(engine)
	if err != nil {
		return fmt.Errorf("set up the controller of %s: %w", family.GroupKind(), err)
	}
	return nil
}
