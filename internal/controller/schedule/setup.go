// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/fairqueue"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// Kind translates between one kind of schedules, with their runs, and the model. The results of its methods depend only on the arguments.
type Kind[S, R client.Object] interface {
	// GroupVersionKind returns the kind of the schedules. Family describes their runs to the core.
	GroupVersionKind() schema.GroupVersionKind
	Family() lifecycle.Family
	// New returns an empty schedule, and EmptyRun an empty run.
	New() S
	EmptyRun() R
	// Load returns the desired state of a schedule, and its record.
	Load(S) (schedule.Desired, schedule.Record)
	// State returns the state of a schedule in metrics.
	State(S) string
	// ToStatus returns a copy of the schedule with the status of the outcome. changed is false if the status stays the same.
	ToStatus(o S, outcome schedule.Outcome, recorded lifecycle.Submitters, now time.Time) (next S, changed bool)
	// NewRun returns the application of a run, with the submitter of its schedule.
	NewRun(S, schedule.Start, lifecycle.Submitters) R
	// RunOf returns the part of a run that its schedule needs.
	RunOf(R) schedule.Run
	// RunLabels selects the runs of a schedule.
	RunLabels(name string) map[string]string
	// ScheduleOf returns the name and UID of the schedule that a run belongs to.
	ScheduleOf(metav1.Object) (name, uid string, isRun bool)
}

// Setup adds the controller of a kind to the manager once the definitions of schedules and runs are installed. schedules and runs are empty lists.
func Setup[S, R client.Object](ctx context.Context, s *operator.Shared, k Kind[S, R], schedules, runs client.ObjectList) error {
	return s.WhenInstalled(k.Family().GroupVersionKind(), func() error {
		if err := s.Manager.GetFieldIndexer().IndexField(ctx, k.EmptyRun(), observe.IndexSchedule, indexed(k)); err != nil {
			return fmt.Errorf("index runs: %w", err)
		}
		return s.WhenInstalled(k.GroupVersionKind(), func() error { return add(s, k, schedules, runs) })
	})
}

func add[S, R client.Object](s *operator.Shared, k Kind[S, R], schedules, runs client.ObjectList) error {
	mgr, now := s.Manager, clock.RealClock{}
	writer := operator.CountWrites(client.WithFieldOwner(mgr.GetClient(), actuate.FieldOwner), s.Metrics, now, mgr.GetScheme())
	engine := NewEngine(k, schedules, runs, s.Reader, writer, s.Recorder, now, time.Local, s.Config.ScheduledSparkApplication.TimestampPrecision)
	engine.Metrics, engine.Watches, engine.Submitters = s.Metrics, s.Namespaces.Watches, s.Submitters()
	engine.Retry = s.Periods.Run
	err := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(k.GroupVersionKind().Kind)).
		For(k.New()).
		Watches(k.EmptyRun(), runHandler(k)).
		WatchesRawSource(s.Namespaces.Source(s.Reader.Names(schedules))).
		WithOptions(fairqueue.Options(s.Config.Workers)).
		Complete(engine)
	if err != nil {
		return fmt.Errorf("set up the controller of schedules: %w", err)
	}
	s.Metrics.ObserveSchedules(engine.schedules(s.Leads))
	return nil
}

func indexed[S, R client.Object](k Kind[S, R]) client.IndexerFunc {
	return func(o client.Object) []string {
		if _, uid, isRun := k.ScheduleOf(o); isRun {
			return []string{uid}
		}
		return nil
	}
}

// runHandler enqueues the schedule of a run that is created, ends, runs again or is deleted. Schedules do not depend on other changes of a run.
func runHandler[S, R client.Object](k Kind[S, R]) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(q queue, o client.Object) {
		if name, _, isRun := k.ScheduleOf(o); isRun {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, was := e.ObjectOld.(R)
			after, is := e.ObjectNew.(R)
			if !was || !is || k.RunOf(before).Phase != k.RunOf(after).Phase || before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() {
				enqueue(q, e.ObjectNew)
			}
		},
	}
}
