// SPDX-License-Identifier: Apache-2.0

// Package schedule runs schedules: it reads a schedule and its runs, asks the planner (internal/schedule), acts, and writes the
// status. A run is an application like any other, which the applications' controller runs.
package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/eventrecorder"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/statuscache"
)

// staleRetry reconciles an object again whose event was lost, raceRetry one that has just been changed.
const (
	staleRetry = 5 * time.Second
	raceRetry  = time.Second
)

type object = v1beta2.ScheduledSparkApplication

// Engine reconciles schedules.
type Engine struct {
	Reader   observe.Reader
	Writer   actuate.Writer
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Local is the time zone of schedules that name none.
	Local *time.Location
	// Precision is the unit of the timestamps in the names of runs.
	Precision schedule.Precision
	// Submitters says what records who created an object.
	Submitters lifecycle.SubmitterSource
	// Watches reports whether the operator works in a namespace; nil for all of them.
	Watches func(namespace string) bool
	// Retry is when a run that was refused is tried again; 0 is the usual time.
	Retry time.Duration

	written statuscache.Cache
}

// NewEngine returns the reconciler. Times are of time zone local.
func NewEngine(reader observe.Reader, writer client.Client, recorder events.EventRecorder, now clock.PassiveClock, local *time.Location, p schedule.Precision) *Engine {
	reader.Labels = kubeflow.SparkApplications{}.Family().Labels
	return &Engine{
		Reader: reader, Writer: actuate.Writer{Client: writer, Existing: reader.Existing},
		Recorder: recorder, Clock: now, Local: local, Precision: p,
	}
}

// Reconcile brings one schedule one step further: read, decide, act, write the status. It starts at most one run.
func (e *Engine) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	obj := &object{}
	if e.Watches != nil && !e.Watches(req.Namespace) {
		e.written.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err := e.Reader.Cache.Get(ctx, req.NamespacedName, obj); err != nil {
		e.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case !obj.DeletionTimestamp.IsZero():
		return ctrl.Result{}, nil // its runs are garbage-collected
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
		// Another operator, or this one before it crashed, may have dealt with the time already.
		if fresh, err := e.Reader.Fresh(ctx, obj, v1beta2.GroupVersion.WithKind(kubeflow.ScheduleKind)); err != nil || !fresh {
			return ctrl.Result{RequeueAfter: raceRetry}, err
		}
	}
	return e.writeStatus(ctx, s, schedule.Settle(plan, e.act(ctx, s, plan), s.env))
}

// scope is what one reconcile is about.
type scope struct {
	obj     *object
	desired schedule.Desired
	record  schedule.Record
	env     schedule.Env
}

func (e *Engine) scope(obj *object) *scope {
	now := e.Clock.Now()
	env := schedule.Env{Now: now, Local: e.Local, Precision: e.Precision, Retry: e.Retry}
	if wait := e.written.Paused(obj, now); wait > 0 {
		env.Hold = now.Add(wait)
	}
	return &scope{obj: obj, desired: kubeflow.DesiredSchedule(obj), record: kubeflow.ScheduleRecord(&obj.Status), env: env}
}

// decide observes the runs and asks for a plan.
func (e *Engine) decide(ctx context.Context, s *scope, live bool) (schedule.Plan, error) {
	which := observe.Runs{
		Namespace: s.obj.Namespace, UID: string(s.obj.UID), Named: s.record.Active, Live: live,
		Label: kubeflow.RunLabels(s.obj.Name),
	}
	empty := func() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} }
	owned := func(app *v1beta2.SparkApplication) bool { return isRunOf(app, s.obj) }
	runs, err := observe.ListRuns(ctx, e.Reader, which, &v1beta2.SparkApplicationList{}, empty, owned)
	if err != nil {
		return schedule.Plan{}, err
	}
	observed := schedule.Observation{Live: live}
	for _, run := range runs {
		observed.Runs = append(observed.Runs, kubeflow.RunOf(run))
	}
	for _, name := range s.record.Active {
		if slices.ContainsFunc(observed.Runs, func(r schedule.Run) bool { return r.Name == name }) {
			continue
		}
		has, err := e.Reader.HasDriver(ctx, s.obj.Namespace, name)
		if err != nil {
			return schedule.Plan{}, err
		}
		if has {
			observed.Stopping = append(observed.Stopping, name)
		}
	}
	return schedule.Decide(s.desired, s.record, observed, s.env), nil
}

func isRunOf(app *v1beta2.SparkApplication, obj *object) bool {
	_, uid, isRun := kubeflow.ScheduleOf(app)
	return isRun && uid == string(obj.UID)
}

// act carries out a plan.
func (e *Engine) act(ctx context.Context, s *scope, plan schedule.Plan) (r schedule.Result) {
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

func (e *Engine) delete(ctx context.Context, s *scope, run schedule.Run, version string) error {
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: s.obj.Namespace, Name: run.Name}}
	if err := e.Writer.DeleteRun(ctx, app, run.UID, version); err != nil {
		return fmt.Errorf("delete run %s/%s: %w", s.obj.Namespace, run.Name, err)
	}
	return nil
}

// start creates a run, or finds that it exists.
func (e *Engine) start(ctx context.Context, s *scope, start schedule.Start) schedule.Result {
	run := kubeflow.NewRun(s.obj, start)
	kubeflow.Inherit(run, kubeflow.ScheduleSubmitter(s.obj, e.Submitters))
	existing, err := e.Writer.CreateRun(ctx, run)
	if existing != nil {
		found, _ := existing.(*v1beta2.SparkApplication)
		if found != nil && isRunOf(found, s.obj) && start.Is(kubeflow.RunOf(found)) {
			return schedule.Result{Class: schedule.ClassStarted, Created: found.CreationTimestamp.Time}
		}
		return schedule.Result{Class: schedule.ClassConflict, Message: fmt.Sprintf(
			"SparkApplication %s already exists and is not the run of %s; delete or rename it", start.Name, start.Tick.UTC().Format(time.RFC3339))}
	}
	switch lifecycle.Classify(lifecycle.Submit, err) {
	case lifecycle.ClassDone:
		return schedule.Result{Class: schedule.ClassStarted, Created: run.CreationTimestamp.Time}
	case lifecycle.ClassTransient, lifecycle.ClassNameTaken:
		return schedule.Result{Class: schedule.ClassFailed, Err: fmt.Errorf("create run %s/%s: %w", s.obj.Namespace, start.Name, err)}
	default:
		return schedule.Result{Class: schedule.ClassRefused, Message: fmt.Sprintf("the API server refuses run %s: %s", start.Name, err)}
	}
}

// writeStatus writes the status if it changed, then records events and metrics.
func (e *Engine) writeStatus(ctx context.Context, s *scope, o schedule.Outcome) (ctrl.Result, error) {
	result := ctrl.Result{RequeueAfter: o.Requeue}
	if !o.Hold.IsZero() {
		e.written.Pause(s.obj, o.Hold)
	}
	status := kubeflow.ScheduleStatus(&s.obj.Status, o, s.env.Now)
	status.Submitter = kubeflow.ScheduleSubmitter(s.obj, e.Submitters)
	if equality.Semantic.DeepEqual(&s.obj.Status, &status) {
		return result, o.Err
	}
	next := s.obj.DeepCopy()
	next.Status = status
	err := e.Writer.PatchStatus(ctx, s.obj, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: raceRetry}, nil // its event brings it back; the timer is for a lost one
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("patch status of %s/%s: %w", s.obj.Namespace, s.obj.Name, err)
	}
	e.written.Add(next, s.env.Now)
	for _, ev := range schedule.Events(s.desired, s.record, o) {
		e.Recorder.Eventf(next, nil, eventrecorder.EventType(ev.Warning), ev.Reason, ev.Action, "%s", ev.Message)
	}
	e.record(next, o)
	return result, o.Err
}
