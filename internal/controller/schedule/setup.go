// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/fairqueue"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/operator"
)

// Setup adds the controller to the manager, once the definitions of schedules and of their runs are installed.
func Setup(ctx context.Context, s *operator.Shared) error {
	return s.WhenInstalled(kubeflow.SparkApplications{}.Family().GroupVersionKind(), func() error {
		if err := s.Manager.GetFieldIndexer().IndexField(ctx, &v1beta2.SparkApplication{}, observe.IndexSchedule, indexed); err != nil {
			return fmt.Errorf("index runs: %w", err)
		}
		return s.WhenInstalled(v1beta2.SchemeGroupVersion.WithKind(kubeflow.ScheduleKind), func() error { return add(s) })
	})
}

func add(s *operator.Shared) error {
	mgr, now := s.Manager, clock.RealClock{}
	writer := operator.CountWrites(client.WithFieldOwner(mgr.GetClient(), actuate.FieldOwner), s.Metrics, now, mgr.GetScheme())
	engine := NewEngine(s.Reader, writer, s.Recorder, now, time.Local, s.Config.ScheduledSparkApplication.TimestampPrecision)
	engine.Metrics, engine.Watches, engine.Submitters = s.Metrics, s.Namespaces.Watches, s.Config.Submitter.From
	engine.Retry = s.Periods.Run
	err := ctrl.NewControllerManagedBy(mgr).
		Named("scheduledsparkapplication").
		For(&object{}).
		Watches(&v1beta2.SparkApplication{}, runHandler()).
		WatchesRawSource(s.Namespaces.Source(engine.names)).
		WithOptions(fairqueue.Options(s.Config.Workers)).
		Complete(engine)
	if err != nil {
		return fmt.Errorf("set up the controller of schedules: %w", err)
	}
	s.Metrics.ObserveSchedules(engine.schedules(mgr.Elected()))
	return nil
}

func indexed(o client.Object) []string {
	if _, uid, isRun := kubeflow.ScheduleOf(o); isRun {
		return []string{uid}
	}
	return nil
}

// names names the schedules of a namespace, or all with "", in the cache.
func (e *Engine) names(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	var all v1beta2.ScheduledSparkApplicationList
	err := e.Reader.Cache.List(ctx, &all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	names := make([]types.NamespacedName, 0, len(all.Items))
	for i := range all.Items {
		names = append(names, client.ObjectKeyFromObject(&all.Items[i]))
	}
	return names, err
}

// runHandler enqueues the schedule of a run that appears, finishes, runs again, is being deleted or is gone. What else happens to a
// run does not concern its schedule.
func runHandler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(q queue, o client.Object) {
		if name, _, isRun := kubeflow.ScheduleOf(o); isRun {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, _ := e.ObjectOld.(*v1beta2.SparkApplication)
			after, _ := e.ObjectNew.(*v1beta2.SparkApplication)
			if before == nil || after == nil || kubeflow.PhaseOf(before) != kubeflow.PhaseOf(after) || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() {
				enqueue(q, e.ObjectNew)
			}
		},
	}
}
