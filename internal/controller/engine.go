// SPDX-License-Identifier: Apache-2.0

// Package controller runs applications: one generic engine for all kinds, and a thin adapter for each.
//
// A reconcile is one read, one decision, its actions, and one status write; events are the difference between the old
// and the new status, sent after the write succeeded.
package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/prepare"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Adapter connects one kind of application with the engine. Its methods are pure.
type Adapter[T client.Object] interface {
	// New returns an empty object.
	New() T
	// Kind returns the API version and kind for owner references.
	Kind() (apiVersion, kind string)
	// Normalise returns the model of the current attempt and the fields whose value means nothing.
	Normalise(T, lifecycle.Record) (spark.Application, []*spark.ConfError)
	// Wish returns what Decide needs to know of the object itself.
	Wish(T, lifecycle.Record) lifecycle.Application
	// Record reads back what Project stored.
	Record(T) lifecycle.Record
	// Project returns a copy of the object with the status for the outcome; changed is false if it has that already.
	Project(o T, outcome lifecycle.Outcome, now time.Time) (next T, changed bool)
}

// Engine reconciles the applications of one kind.
type Engine[T client.Object] struct {
	Adapter  Adapter[T]
	Cache    client.Reader
	Reader   observe.Reader
	Writer   actuate.Writer
	Registry *scheduler.Registry
	// Schedulers remembers what concerns more than one application.
	Schedulers *Schedulers
	// List returns all applications.
	List     func(context.Context, client.Reader, ...client.ListOption) ([]T, error)
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Exposure says what is made beside drivers.
	Exposure exposure.Config
	// Watches reports whether the operator works in a namespace; nil for all of them.
	Watches func(namespace string) bool

	written written
}

// Reconcile brings one application one step further.
func (e *Engine[T]) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	if !e.watches(req.Namespace) {
		e.written.forget(req.NamespacedName)
		e.Schedulers.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	obj := e.Adapter.New()
	if err := e.Cache.Get(ctx, req.NamespacedName, obj); err != nil {
		e.written.forget(req.NamespacedName)
		e.Schedulers.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if e.written.newer(obj) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	env := lifecycle.Env{Now: e.Clock.Now()}
	record := e.Adapter.Record(obj)
	wish := e.Adapter.Wish(obj, record)
	if after, rests := lifecycle.Rests(wish, record, env); rests {
		if left, err := e.leftovers(ctx, obj, record); err != nil || !left {
			e.written.forget(req.NamespacedName)
			return ctrl.Result{RequeueAfter: after}, err
		}
	}
	if wait := e.written.paused(obj, env.Now); wait > 0 && record.State.Starting() {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s := e.scope(obj, e.written.recall(obj, record), wish, env)
	s.stored = record
	return e.advance(ctx, s)
}

func (e *Engine[T]) watches(namespace string) bool { return e.Watches == nil || e.Watches(namespace) }

// advance looks, decides, acts and stores.
func (e *Engine[T]) advance(ctx context.Context, s scope[T]) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.obj)
	observed, err := e.Reader.Observe(ctx, s.target(), s.Record)
	if err != nil {
		return ctrl.Result{}, err
	}
	looked := e.Clock.Now()
	var p asked
	gated := lifecycle.Gated(s.Wish, s.Record, observed.Driver, s.env)
	if gated {
		if p, err = e.prepare(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	} else if observed.Scheduler, err = e.observeScheduler(ctx, s, observed.Driver); err != nil {
		return ctrl.Result{}, err
	}
	plan := lifecycle.Decide(s.Wish, s.Record, observed, p.Gate, s.env)
	e.Metrics.Decided(e.Clock.Since(looked))
	ctx, done := e.Metrics.Reconcile(ctx)
	defer done()
	if plan.TouchesDriver() {
		// A stale cache may not know that the attempt's driver has come and gone already, or that the one it sees is the
		// next attempt's.
		if fresh, err := e.Reader.Fresh(ctx, s.obj); err != nil || !fresh {
			return ctrl.Result{RequeueAfter: time.Second}, err
		}
	}
	e.forgetPromises(s, plan.Record.State, gated)
	results := e.act(ctx, s, plan, p)
	e.withdraw(s, p, plan, results)
	if gone(results) {
		e.written.forget(key)
		return ctrl.Result{}, nil
	}
	outcome := lifecycle.Settle(plan, results, s.env)
	e.expose(ctx, s, &outcome)
	return e.store(ctx, s, outcome)
}

// forgetPromises takes an application off the schedulers' books that does not want to start at present, e.g. because it
// is suspended, or that is over.
func (e *Engine[T]) forgetPromises(s scope[T], state lifecycle.State, gated bool) {
	over := !state.Starting() && state != lifecycle.Submitted && state != lifecycle.Running
	if over || state.Starting() && !gated {
		e.Schedulers.forget(client.ObjectKeyFromObject(s.obj))
	}
	if over {
		e.Schedulers.release(prepare.AttemptID(s.Identity, s.Record.Attempt))
	}
}

// gone reports whether the application itself was deleted.
func gone(results []lifecycle.Result) bool {
	n := len(results)
	return n > 0 && results[n-1].Kind == lifecycle.DeleteApplication && results[n-1].Class == lifecycle.ClassDone
}

// scope is what one reconcile is about.
type scope[T client.Object] struct {
	prepare.Scope
	obj T
	env lifecycle.Env
	// stored is the record without what is remembered beside it.
	stored lifecycle.Record
}

func (e *Engine[T]) scope(obj T, record lifecycle.Record, wish lifecycle.Application, env lifecycle.Env) scope[T] {
	app, problems := e.Adapter.Normalise(obj, record)
	s := scope[T]{Scope: prepare.NewScope(app, problems, record, wish, env.Now), obj: obj, env: env}
	s.App = exposure.Configure(s.App, s.Identity.AppID, e.Exposure)
	return s
}

func (s scope[T]) target() observe.Target {
	return observe.Target{
		Namespace: s.App.Namespace, App: s.App.Name, UID: s.App.UID,
		DriverName: s.DriverName(), NextName: s.Wish.DriverName, SubmissionID: s.Identity.SubmissionID,
	}
}

// submissionOf returns the mark of an attempt's objects.
func (s scope[T]) submissionOf(attempt int32) string {
	for _, a := range s.Record.Attempts {
		if a.Number == attempt && a.SubmissionID != "" {
			return a.SubmissionID
		}
	}
	return spark.NewIdentity(s.App.UID, attempt, s.env.Now).SubmissionID
}

func (e *Engine[T]) owner(s scope[T]) actuate.Owner {
	apiVersion, kind := e.Adapter.Kind()
	return actuate.Owner{Reference: lifecycle.OwnerReference(s.obj, apiVersion, kind), SubmissionID: s.Identity.SubmissionID}
}

// act carries out a plan. The first action that is not done ends it.
func (e *Engine[T]) act(ctx context.Context, s scope[T], plan lifecycle.Plan, p asked) []lifecycle.Result {
	results := make([]lifecycle.Result, 0, len(plan.Actions))
	owner := e.owner(s)
	for _, action := range plan.Actions {
		var r lifecycle.Result
		switch action.Kind {
		case lifecycle.Submit:
			r = e.Writer.Submit(ctx, owner, p.Submission)
		case lifecycle.Schedule:
			r = e.Writer.Schedule(ctx, owner, s.App.Name, p.Plan, p.seen)
		case lifecycle.Release:
			r = e.Writer.Release(ctx, owner, e.release(ctx, s, action.Attempt))
		case lifecycle.DeleteDriver:
			r = e.Writer.DeleteDriver(ctx, s.App.Namespace, plan.Driver.Name, action.UID)
		case lifecycle.DeleteResources:
			r = e.Writer.DeleteResources(ctx, s.App.Namespace, actuate.Owner{Reference: owner.Reference, SubmissionID: s.submissionOf(action.Attempt)})
		case lifecycle.DeleteApplication:
			r = e.Writer.DeleteApplication(ctx, s.obj)
		}
		results = append(results, r)
		if r.Class != lifecycle.ClassDone {
			break
		}
	}
	return results
}

// store writes the status if it changed, then tells what happened.
func (e *Engine[T]) store(ctx context.Context, s scope[T], o lifecycle.Outcome) (ctrl.Result, error) {
	result := ctrl.Result{RequeueAfter: o.Requeue}
	if o.Refused {
		e.written.pause(s.obj, s.env.Now.Add(o.Requeue))
	}
	next, changed := e.Adapter.Project(s.obj, o, s.env.Now)
	if s.Wish.Deleting || !changed {
		return result, o.Err
	}
	key := client.ObjectKeyFromObject(s.obj)
	if wait := e.written.hold(s.obj, s.stored, o.Record, s.env.Now); wait > 0 {
		e.written.keep(s.obj, o.Record)
		return ctrl.Result{RequeueAfter: sooner(o.Requeue, wait)}, o.Err
	}
	err := e.Writer.PatchStatus(ctx, s.obj, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The object changed since it was read. Its own event brings it back here; the timer is for a lost one.
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("patch status of %s: %w", key, err)
	}
	e.written.add(next, s.env.Now)
	e.tell(next, s.stored, o.Record)
	e.Metrics.Transition(subjectOf(next), s.stored, o.Record, s.env.Now)
	return result, o.Err
}

func (e *Engine[T]) tell(obj T, from, to lifecycle.Record) {
	for _, ev := range lifecycle.Events(obj.GetName(), from, to) {
		e.Recorder.Eventf(obj, nil, kindOf(ev.Warning), ev.Reason, ev.Action, "%s", ev.Message)
	}
}
