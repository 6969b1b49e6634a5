// SPDX-License-Identifier: Apache-2.0

// Package application runs applications: one generic reconciler for all kinds, with a resolve.Kind for each.
//
// A step is one read, one decision, its actions, and one status write. Events are the difference between the old and the new status, sent after the write. A
// reconcile has one step, and further steps as long as nothing has to be awaited.
package application

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/attempt"
	"github.com/firesteel-dev/firesteel/internal/eventrecorder"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/statuscache"
)

// staleRetry is the delay of the next reconcile while the cache is stale. It covers a lost event.
const staleRetry = 5 * time.Second

// Engine reconciles the applications of one kind.
type Engine[T client.Object] struct {
	Kind     resolve.Kind[T]
	Cache    client.Reader
	Reader   observe.Reader
	Writer   actuate.Writer
	Registry *scheduler.Registry
	// Policies returns the current policies; nil for none.
	Policies func() policy.Set
	// Exposure configures the auxiliary objects of drivers.
	Exposure exposure.Config
	// Submitters configures the source of submitters.
	Submitters lifecycle.Submitters
	// Schedulers keeps the state that applications share.
	Schedulers *reservations.Manager
	// Kinds knows which schedulers are available; nil for all.
	Kinds attempt.Kinds
	// List is an empty list of the kind.
	List     client.ObjectList
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Sessions reads the sessions of a driver that serves clients.
	Sessions func(ctx context.Context, podIP string, port int32, started time.Time) lifecycle.Sessions
	// Watches reports whether the operator works in a namespace; nil for all of them.
	Watches func(namespace string) bool
	// Periods replace the periods of decisions, and ExposureRetry replaces exposure.Retry, unless 0.
	Periods       lifecycle.Periods
	ExposureRetry time.Duration

	written statuscache.Cache
	asked   sessionCache
	refused refusals
}

// maxSteps bounds the steps of one reconcile. A driver that ended before its first reconcile needs the most steps: RUNNING, SUCCEEDING or FAILING, and the next
// state.
const maxSteps = 4

// Reconcile advances one application: load, observe, decide, act, write the status. A step that waits for nothing follows immediately after the previous one is
// stored. In the queue it would be behind thousands of others.
func (e *Engine[T]) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	s, after, err := e.load(ctx, req)
	if s == nil || err != nil {
		return ctrl.Result{RequeueAfter: after}, err
	}
	ctx, done := e.Metrics.Reconcile(ctx)
	defer done()
	var result ctrl.Result
	for range maxSteps {
		var again bool
		if again, result, err = e.step(ctx, s); !again || err != nil {
			break
		}
		s = e.scope(s.obj, e.Kind.FromStatus(s.obj), e.Clock.Now())
	}
	if err != nil {
		return ctrl.Result{}, err // a retry has no timer
	}
	return result, nil
}

// step takes one step. If another step follows, the scope has the stored application.
func (e *Engine[T]) step(ctx context.Context, s *scope[T]) (again bool, result ctrl.Result, err error) {
	if err := e.observe(ctx, s); err != nil {
		return false, ctrl.Result{}, err
	}
	began := e.Clock.Now()
	plan := lifecycle.Decide(s.Desired, s.Record, s.observed, s.admission.Admission, s.env)
	e.Metrics.Decided(e.Clock.Since(began))
	if plan.NeedsFresh(func(kind lifecycle.ActionKind) bool { return e.reschedules(s, plan, kind) }) {
		// A stale cache may lack the end of the attempt's driver, or have the driver of the next attempt.
		if fresh, err := e.Reader.Fresh(ctx, s.obj, e.Kind.Family().GroupVersionKind()); err != nil || !fresh {
			return false, ctrl.Result{RequeueAfter: time.Second}, err
		}
	}
	outcome := lifecycle.Settle(plan, e.act(ctx, s, plan), s.env)
	e.Schedulers.Reserve(e.keyOf(s.obj), s.attemptID(), outcome.Reservation)
	if outcome.Gone {
		e.written.Forget(client.ObjectKeyFromObject(s.obj))
		return false, ctrl.Result{}, nil
	}
	e.expose(ctx, s, &outcome)
	stored, result, err := e.writeStatus(ctx, s, outcome)
	return stored && outcome.Again, result, err
}

// key identifies an application among the applications of all kinds.
func (e *Engine[T]) key(name types.NamespacedName) scheduler.Key {
	return scheduler.Key{Kind: e.Kind.Family().GroupKind(), Namespace: name.Namespace, Name: name.Name}
}

func (e *Engine[T]) keyOf(o client.Object) scheduler.Key { return e.key(client.ObjectKeyFromObject(o)) }

// scope is the state of one reconcile.
type scope[T client.Object] struct {
	resolve.Application
	obj T
	env lifecycle.Env
	// stored is the record as in the status, without fields that are only in memory.
	stored   lifecycle.Record
	observed lifecycle.Observation
	// candidate and answer are the result of Engine.candidate, if validated is set. An attempt is built only once.
	validated bool
	candidate *admission.Candidate
	answer    admission.Result
	// admission is the scheduler's answer to the attempt, if it was asked. seen is the plugin's snapshot for that answer, or for the observation of a running
	// attempt.
	admission admission.Result
	seen      scheduler.Snapshot
	// objections are the policy violations of the requested auxiliary objects.
	objections []exposure.Objection
}

// load reads and resolves the application of a request. It returns nil if nothing is to be decided before after has passed.
func (e *Engine[T]) load(ctx context.Context, req reconcile.Request) (s *scope[T], after time.Duration, err error) {
	obj := e.Kind.New()
	if e.watches(req.Namespace) {
		err = e.Cache.Get(ctx, req.NamespacedName, obj)
	}
	if err != nil || !e.watches(req.Namespace) {
		e.written.Forget(req.NamespacedName)
		e.asked.forget(req.NamespacedName)
		e.refused.forget(req.NamespacedName)
		e.Schedulers.Forget(e.key(req.NamespacedName))
		return nil, 0, client.IgnoreNotFound(err)
	}
	if e.written.Newer(obj) {
		return nil, staleRetry, nil
	}
	now := e.Clock.Now()
	record := e.Kind.FromStatus(obj)
	desired := resolve.Rest(e.Kind, obj, record, e.operator(), now)
	if desired.LeftAlone() && record.State != lifecycle.New {
		return nil, 0, nil // another controller owns the status
	}
	if after, rests := lifecycle.NothingDue(desired, record, lifecycle.Env{Now: now, Periods: e.Periods}); rests {
		if left, err := e.leftovers(ctx, obj, record); err != nil || !left {
			e.written.Forget(req.NamespacedName)
			e.refused.forget(req.NamespacedName)
			e.Schedulers.Forget(e.key(req.NamespacedName)) // a stale cache may have entered the application after its end
			return nil, after, err
		}
	}
	if wait := e.written.Paused(obj, now); wait > 0 && record.State.Starting() {
		return nil, wait, nil
	}
	s = e.scope(obj, e.written.Recall(obj, record), now)
	s.stored = record
	return s, 0, nil
}

func (e *Engine[T]) watches(namespace string) bool { return e.Watches == nil || e.Watches(namespace) }

// operator is the operator's current configuration.
func (e *Engine[T]) operator() resolve.Operator {
	o := resolve.Operator{Registry: e.Registry, Exposure: e.Exposure, Submitters: e.Submitters}
	if e.Policies != nil {
		o.Policies = e.Policies()
	}
	return o
}

func (e *Engine[T]) scope(obj T, record lifecycle.Record, now time.Time) *scope[T] {
	return &scope[T]{Application: resolve.Load(e.Kind, obj, record, e.operator(), now), obj: obj, env: lifecycle.Env{Now: now, Periods: e.Periods}, stored: record}
}

// observe reads the application's pods. It also asks the scheduler: whether the attempt may start, or for the state of a started attempt.
func (e *Engine[T]) observe(ctx context.Context, s *scope[T]) (err error) {
	waits, err := e.waits(ctx, s)
	if waits || err != nil {
		return err
	}
	t := e.target(s)
	if s.observed, err = e.Reader.Observe(ctx, t, s.Record); err != nil {
		return err
	}
	if d := s.observed.Driver; t.DriverUID != "" && d.Is(lifecycle.Current) && d.UID != t.DriverUID {
		e.written.Created(s.obj, t.SubmissionID, d.UID) // the response to the driver's creation was lost
	}
	if lifecycle.NeedsAdmission(s.Desired, s.Record, s.observed.Driver, s.env) {
		if s.admission.Verdict == "" {
			err = e.admit(ctx, s)
		}
		return err
	}
	s.admission = admission.Result{}
	if lifecycle.AdoptsDriver(s.Desired, s.Record, s.observed.Driver, s.env) {
		_, answer, err := e.candidate(ctx, s)
		if err != nil {
			return err
		}
		s.observed.Chosen = answer.Choice
	}
	e.observeSessions(ctx, s)
	if s.Record.State.Final() {
		s.observed.Scheduled, err = e.Reader.Scheduled(ctx, s.obj, e.Registry.Owned())
	} else {
		s.observed.Scheduler, err = e.observeScheduler(ctx, s)
	}
	s.observed.At = e.Clock.Now()
	return err
}

// waits reports whether an attempt continues to wait or stays suspended, by the cached pods. Thousands may wait and are reconciled repeatedly, so the API
// server is asked for a driver only before an attempt starts or ends.
func (e *Engine[T]) waits(ctx context.Context, s *scope[T]) (bool, error) {
	if s.Record.State == lifecycle.New || !s.Record.State.Starting() {
		return false, nil
	}
	t := e.target(s)
	t.Cached = true
	var err error
	if s.observed, err = e.Reader.Observe(ctx, t, s.Record); err != nil || s.observed.Driver.Presence != lifecycle.Absent {
		return false, err
	}
	if !lifecycle.NeedsAdmission(s.Desired, s.Record, s.observed.Driver, s.env) {
		return s.Desired.Suspend && s.Record.State == lifecycle.Queued && s.Record.Cause.Reason == lifecycle.ReasonSuspended, nil
	}
	err = e.admit(ctx, s)
	return s.admission.Waits() || lifecycle.GoesOnWaiting(s.Desired, s.Record, s.admission.Admission), err
}

func (e *Engine[T]) target(s *scope[T]) observe.Target {
	t := attempt.Target(s.Application, s.env.Now)
	t.DriverUID = e.written.Driver(s.obj, s.Identity.SubmissionID)
	return t
}

// attemptID returns the attempt's ID for schedulers.
func (s *scope[T]) attemptID() string { return admission.AttemptID(s.Identity, s.Record.Attempt) }

// submissionOf returns the submission ID of an attempt.
func (e *Engine[T]) submissionOf(s *scope[T], number int32) string {
	for _, a := range s.Record.Attempts {
		if a.Number == number && a.SubmissionID != "" {
			return a.SubmissionID
		}
	}
	return e.Kind.Identity(s.obj, number, s.env.Now).SubmissionID
}

// act runs the actions of a plan, up to one that ends the plan.
func (e *Engine[T]) act(ctx context.Context, s *scope[T], plan lifecycle.Plan) []lifecycle.Result {
	results := make([]lifecycle.Result, 0, len(plan.Actions))
	owner := s.Owner
	for _, action := range plan.Actions {
		var r lifecycle.Result
		switch action.Kind {
		case lifecycle.Submit:
			if r = e.Writer.Submit(ctx, owner, s.admission.Submission); r.DriverUID != "" {
				e.written.Created(s.obj, owner.SubmissionID, r.DriverUID)
			}
		case lifecycle.Schedule:
			r = e.Writer.Schedule(ctx, owner, s.App.Name, plan.Admission, s.seen)
		case lifecycle.Release:
			r = e.Writer.Release(ctx, owner, e.release(ctx, s, action.Attempt))
		case lifecycle.DeleteDriver:
			r = e.Writer.DeleteDriver(ctx, s.App.Namespace, cmp.Or(action.Name, plan.Driver.Name), action)
		case lifecycle.DeleteResources:
			r = e.Writer.DeleteResources(ctx, s.App.Namespace, s.Family.Owner(s.obj, e.submissionOf(s, action.Attempt)))
		case lifecycle.UpdateTemplate:
			r = e.updateTemplate(ctx, s)
		case lifecycle.Restore:
			r = e.restore(ctx, s)
		case lifecycle.Adjust:
			r = e.adjust(ctx, s, plan.Scheduler)
		case lifecycle.TryExecutor:
			r = e.tryExecutor(ctx, s, plan.Driver)
		case lifecycle.DeleteApplication:
			r = e.Writer.DeleteApplication(ctx, s.obj)
		case lifecycle.RemoveFinalizer:
			r = e.Writer.RemoveFinalizer(ctx, s.obj, s.Family.Finalizer)
		}
		r.Kind = action.Kind
		results = append(results, r)
		if !r.GoesOn() {
			break
		}
	}
	return results
}

// writeStatus writes a changed status, and then records its events.
func (e *Engine[T]) writeStatus(ctx context.Context, s *scope[T], o lifecycle.Outcome) (stored bool, result ctrl.Result, err error) {
	result = ctrl.Result{RequeueAfter: o.Requeue}
	if o.Refused {
		e.written.Pause(s.obj, s.env.Now.Add(o.Requeue))
	}
	next, changed := e.Kind.ToStatus(s.obj, o, s.env.Now)
	if s.Desired.Deleting || !changed {
		return false, result, o.Err
	}
	key := client.ObjectKeyFromObject(s.obj)
	if wait := e.written.Hold(s.obj, s.stored, o.Record, s.env.Now); wait > 0 {
		e.written.Keep(s.obj, o.Record)
		return false, ctrl.Result{RequeueAfter: minNonZero(o.Requeue, wait)}, o.Err
	}
	err = e.Writer.PatchStatus(ctx, s.obj, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The object changed after it was read. Its own event enqueues it; the timer covers a lost event.
		return false, ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err != nil {
		return false, ctrl.Result{}, fmt.Errorf("patch status of %s: %w", key, err)
	}
	e.written.Add(next, s.env.Now)
	e.recordEvents(next, s.stored, o.Record)
	s.audit(ctx, o.Record)
	subject := e.subject(next)
	subject.Drain = s.Desired.Drain
	e.Metrics.Transition(subject, s.stored, o.Record, s.env.Now)
	if k, ok := e.Kind.(timed[T]); ok {
		e.Metrics.StateChanges(k.StateChanges(s.obj, next))
	}
	s.obj = next
	return true, result, o.Err
}

func (e *Engine[T]) recordEvents(obj T, from, to lifecycle.Record) {
	for _, ev := range lifecycle.Events(e.Kind.Family().Kind, obj.GetName(), from, to) {
		e.Recorder.Eventf(obj, nil, eventrecorder.EventType(ev.Warning), ev.Reason, ev.Action, "%s", ev.Message)
	}
}
