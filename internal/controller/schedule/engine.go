// SPDX-License-Identifier: Apache-2.0

// Package schedule runs schedules: it reads a schedule and its runs, plans (internal/schedule), acts, and writes the status. A run is an ordinary application,
// which the applications' controller runs. A Kind hides the API family.
package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/eventrecorder"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/statuscache"
)

// staleRetry is the delay of the next reconcile while the cache is stale, and raceRetry after a concurrent change.
const (
	staleRetry = 5 * time.Second
	raceRetry  = time.Second
)

// Engine reconciles the schedules of a kind.
type Engine[S, R client.Object] struct {
	Kind Kind[S, R]
	// Schedules and Runs are empty lists of both.
	Schedules, Runs client.ObjectList

	Reader   observe.Reader
	Writer   actuate.Writer
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Local is the time zone of schedules without one.
	Local *time.Location
	// Precision is the unit of the timestamps in the names of runs.
	Precision schedule.Precision
	// Submitters configures the source of submitters.
	Submitters lifecycle.Submitters
	// Watches reports whether the operator works in a namespace; nil for all of them.
	Watches func(namespace string) bool
	// Retry is the delay before the next try of a refused run; 0 for the default.
	Retry time.Duration

	written statuscache.Cache
}

// NewEngine returns the reconciler of a kind; local is the default time zone.
func NewEngine[S, R client.Object](k Kind[S, R], schedules, runs client.ObjectList, reader observe.Reader, writer client.Client,
	recorder events.EventRecorder, now clock.PassiveClock, local *time.Location, p schedule.Precision) *Engine[S, R] {
	reader.Labels = k.Family().Labels
	return &Engine[S, R]{
		Kind: k, Schedules: schedules, Runs: runs, Reader: reader, Writer: actuate.Writer{Client: writer, Existing: reader.Existing},
		Recorder: recorder, Clock: now, Local: local, Precision: p,
	}
}

// Reconcile advances one schedule by one step: read, decide, act, write the status. It starts at most one run.
func (e *Engine[S, R]) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	obj := e.Kind.New()
	if e.Watches != nil && !e.Watches(req.Namespace) {
		e.written.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err := e.Reader.Cache.Get(ctx, req.NamespacedName, obj); err != nil {
		e.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case !obj.GetDeletionTimestamp().IsZero():
		return ctrl.Result{}, nil // the garbage collector deletes its runs
	case e.written.Newer(obj):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	s := e.scope(obj)
	plan, err := e.decide(ctx, s, false)
	if err == nil && plan.NeedsLive {
		plan, err = e.decide(ctx, s, true)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if plan.Start != nil || len(plan.Stop) > 0 {
		// Another operator may have handled this time already, or this one before a crash.
		if fresh, err := e.Reader.Fresh(ctx, obj, e.Kind.GroupVersionKind()); err != nil || !fresh {
			return ctrl.Result{RequeueAfter: raceRetry}, err
		}
	}
	return e.writeStatus(ctx, s, schedule.Settle(plan, e.act(ctx, s, plan), s.env))
}

// scope is the state of one reconcile.
type scope[S client.Object] struct {
	obj     S
	desired schedule.Desired
	record  schedule.Record
	env     schedule.Env
}

func (e *Engine[S, R]) scope(obj S) *scope[S] {
	now := e.Clock.Now()
	env := schedule.Env{Now: now, Local: e.Local, Precision: e.Precision, Retry: e.Retry}
	if wait := e.written.Paused(obj, now); wait > 0 {
		env.Hold = now.Add(wait)
	}
	s := &scope[S]{obj: obj, env: env}
	s.desired, s.record = e.Kind.Load(obj)
	return s
}

// decide observes the runs and plans.
func (e *Engine[S, R]) decide(ctx context.Context, s *scope[S], live bool) (schedule.Plan, error) {
	which := observe.Runs{
		Namespace: s.obj.GetNamespace(), UID: string(s.obj.GetUID()), Named: s.record.Active, Live: live,
		Label: e.Kind.RunLabels(s.obj.GetName()),
	}
	owned := func(run R) bool { return e.isRunOf(run, s.obj) }
	runs, err := observe.ListRuns(ctx, e.Reader, which, e.Runs, e.Kind.EmptyRun, owned)
	if err != nil {
		return schedule.Plan{}, err
	}
	observed := schedule.Observation{Live: live}
	for _, run := range runs {
		observed.Runs = append(observed.Runs, e.Kind.RunOf(run))
	}
	for _, name := range s.record.Active {
		if slices.ContainsFunc(observed.Runs, func(r schedule.Run) bool { return r.Name == name }) {
			continue
		}
		has, err := e.Reader.HasDriver(ctx, s.obj.GetNamespace(), name)
		if err != nil {
			return schedule.Plan{}, err
		}
		if has {
			observed.Stopping = append(observed.Stopping, name)
		}
	}
	return schedule.Decide(s.desired, s.record, observed, s.env), nil
}

func (e *Engine[S, R]) isRunOf(run R, obj S) bool {
	_, uid, isRun := e.Kind.ScheduleOf(run)
	return isRun && uid == string(obj.GetUID())
}

// act runs the actions of a plan.
func (e *Engine[S, R]) act(ctx context.Context, s *scope[S], plan schedule.Plan) (r schedule.Result) {
	for _, run := range plan.Stop {
		if r.Err = e.delete(ctx, s, run, ""); r.Err != nil {
			return r
		}
	}
	if plan.Start != nil {
		r = e.start(ctx, s, *plan.Start)
	}
	for _, run := range plan.Remove {
		err := e.delete(ctx, s, run, run.Version)
		if r.Changed = r.Changed || apierrors.IsConflict(err); err != nil && !apierrors.IsConflict(err) && r.Err == nil {
			r.Err = err
		}
	}
	return r
}

func (e *Engine[S, R]) delete(ctx context.Context, s *scope[S], run schedule.Run, version string) error {
	o := e.Kind.EmptyRun()
	o.SetNamespace(s.obj.GetNamespace())
	o.SetName(run.Name)
	if err := e.Writer.DeleteRun(ctx, o, run.UID, version); err != nil {
		return fmt.Errorf("delete run %s/%s: %w", s.obj.GetNamespace(), run.Name, err)
	}
	return nil
}

// start creates a run, or finds the existing run.
func (e *Engine[S, R]) start(ctx context.Context, s *scope[S], start schedule.Start) schedule.Result {
	run := e.Kind.NewRun(s.obj, start, e.Submitters)
	existing, err := e.Writer.CreateRun(ctx, run)
	if existing != nil {
		if found, is := existing.(R); is && e.isRunOf(found, s.obj) && start.Is(e.Kind.RunOf(found)) {
			return schedule.Result{Class: schedule.ClassStarted, Created: found.GetCreationTimestamp().Time}
		}
		return schedule.Result{Class: schedule.ClassConflict, Message: fmt.Sprintf(
			"%s %s already exists and is not the run of %s; delete or rename it", e.Kind.Family().Kind, start.Name, start.Tick.UTC().Format(time.RFC3339))}
	}
	switch lifecycle.Classify(lifecycle.Submit, err) {
	case lifecycle.ClassDone:
		return schedule.Result{Class: schedule.ClassStarted, Created: run.GetCreationTimestamp().Time}
	case lifecycle.ClassTransient, lifecycle.ClassNameTaken:
		return schedule.Result{Class: schedule.ClassFailed, Err: fmt.Errorf("create run %s/%s: %w", s.obj.GetNamespace(), start.Name, err)}
	default:
		return schedule.Result{Class: schedule.ClassRefused, Message: fmt.Sprintf("the API server refuses run %s: %s", start.Name, err)}
	}
}

// writeStatus writes a changed status, and then records its events and metrics.
func (e *Engine[S, R]) writeStatus(ctx context.Context, s *scope[S], o schedule.Outcome) (ctrl.Result, error) {
	result := ctrl.Result{RequeueAfter: o.Requeue}
	if !o.Hold.IsZero() {
		e.written.Pause(s.obj, o.Hold)
	}
	next, changed := e.Kind.ToStatus(s.obj, o, e.Submitters, s.env.Now)
	if !changed {
		return result, o.Err
	}
	err := e.Writer.PatchStatus(ctx, s.obj, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: raceRetry}, nil // the object's own event enqueues it; the timer covers a lost event
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("patch status of %s/%s: %w", s.obj.GetNamespace(), s.obj.GetName(), err)
	}
	e.written.Add(next, s.env.Now)
	for _, ev := range schedule.Events(s.desired, s.record, o) {
		e.Recorder.Eventf(next, nil, eventrecorder.EventType(ev.Warning), ev.Reason, ev.Action, "%s", ev.Message)
	}
	e.record(next, o)
	return result, o.Err
}
