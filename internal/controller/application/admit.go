// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/attempt"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// admit asks the scheduler whether the attempt may start. The error is the cluster's, not the application's.
func (e *Engine[T]) admit(ctx context.Context, s *scope[T]) error {
	candidate, answer, err := e.candidate(ctx, s)
	s.admission = answer
	if err != nil || candidate == nil {
		return err
	}
	s.admission, s.seen, err = e.asking().Admit(ctx, candidate)
	if s.admission.Err != nil {
		ctrllog.FromContext(ctx).Error(s.admission.Err, "a scheduler plugin failed")
	}
	return err
}

func (e *Engine[T]) asking() attempt.Asking {
	return attempt.Asking{Registry: e.Registry, Reader: e.Reader, Reservations: e.Schedulers, Kinds: e.Kinds}
}

// candidate validates the attempt and chooses its scheduler, once per step. The candidate is nil if the answer does not depend on a scheduler.
func (e *Engine[T]) candidate(ctx context.Context, s *scope[T]) (*admission.Candidate, admission.Result, error) {
	if s.validated {
		return s.candidate, s.answer, nil
	}
	var err error
	s.candidate, s.answer, err = e.asking().Candidate(ctx, s.App.Namespace, func(annotations map[string]string) (*admission.Candidate, admission.Result) {
		return admission.NewCandidate(s.Application, e.Registry, annotations)
	})
	s.validated = err == nil
	return s.candidate, s.answer, err
}

// observeScheduler asks the batch scheduler about an attempt with a driver, and records the progress of the attempt's pods in the ledger. It asks only plugins
// that can observe. A plugin's error does not fail the application.
func (e *Engine[T]) observeScheduler(ctx context.Context, s *scope[T]) (scheduler.Observation, error) {
	var none scheduler.Observation
	d := s.observed.Driver
	if !s.Record.State.HasDriver() || d.Presence == lifecycle.Unknown || d.Is(lifecycle.NotOwned) ||
		d.Phase == lifecycle.DriverSucceeded {
		return none, nil
	}
	_, observes := e.Registry.Observer(s.Record.Scheduling.Scheduler)
	if !observes && !e.Registry.Quotas() {
		return none, nil
	}
	facts, err := e.facts(ctx, s)
	if err != nil {
		return none, err
	}
	if err := e.settle(ctx, s, facts); err != nil || !observes {
		return none, err
	}
	candidate, _, err := e.candidate(ctx, s)
	if err != nil || candidate == nil {
		return none, err
	}
	o, err := e.asking().Observe(ctx, candidate, s.Record.Scheduling.Scheduler, facts)
	if err != nil || o.Seen == nil {
		return none, err
	}
	if err := o.Err; err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin cannot observe the attempt")
		return none, nil
	}
	e.Schedulers.SetUnplaced(e.keyOf(s.obj), s.Record.Scheduling.Scheduler, s.Record.QueuedAt, o.Observation)
	s.seen = o.Seen
	return o.Observation, nil
}

// settle records the progress of an attempt's pods in the ledger. If the ledger lacks the attempt, an operator started it and crashed before recording it, or
// did not watch the namespace.
func (e *Engine[T]) settle(ctx context.Context, s *scope[T], facts scheduler.PodStatuses) error {
	id, progress := s.attemptID(), scheduler.ProgressOf(facts)
	if !e.Registry.Quotas() {
		return nil
	}
	if !e.Schedulers.Knows(e.keyOf(s.obj), id) && !s.complete() {
		candidate, _, err := e.candidate(ctx, s)
		if err != nil {
			return err
		}
		if candidate != nil {
			e.Schedulers.Enter(candidate.Attempt(), progress)
		}
	}
	e.Schedulers.Settle(id, progress)
	return nil
}

// facts returns the statuses of the attempt's pods for schedulers. Deleted executors come from the record.
func (e *Engine[T]) facts(ctx context.Context, s *scope[T]) (scheduler.PodStatuses, error) {
	facts, err := e.Reader.PodStatuses(ctx, e.target(s), s.env.Now)
	facts.ExecutorsEver, facts.RoomMadeAt = s.Record.Counts.Total, e.Schedulers.RoomMadeAt()
	facts.Ahead = e.Schedulers.UnplacedAhead(e.keyOf(s.obj), s.Record.Scheduling.Scheduler, s.Record.QueuedAt)
	return facts, err
}

// release returns the scheduler objects of an attempt, and drops its reservation. For the number 0 it returns the leftover objects of any attempt.
func (e *Engine[T]) release(ctx context.Context, s *scope[T], number int32) []scheduler.Ref {
	if number == 0 {
		return s.observed.Scheduled
	}
	identity := e.Kind.Identity(s.obj, number, s.env.Now)
	id := admission.AttemptID(identity, number)
	e.Schedulers.Release(id)
	plugin, known := e.Registry.Compiled(s.Record.Scheduling.HeldBy) // an administrator may have disabled the plugin
	if !known {
		return nil // the objects are deleted with the application
	}
	refs, err := scheduler.Release(plugin, admission.AttemptOf(s.Application, id, number))
	if err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin failed in Release", "attempt", number)
	}
	return refs
}

// EnterRunning enters running attempts in the ledger, so that a restarted operator gives no reserved room to others. It also announces waiting attempts, so
// that none loses its place. The listed objects are the cache's own, because thousands may have ended.
func (e *Engine[T]) EnterRunning(ctx context.Context) error {
	all, err := observe.List[T](ctx, e.Cache, e.List, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list applications: %w", err)
	}
	for _, obj := range all {
		if !e.watches(obj.GetNamespace()) {
			continue
		}
		if err := e.enter(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// enter enters or announces one application, unless the ledger knows its attempt.
func (e *Engine[T]) enter(ctx context.Context, obj T) error {
	record := e.Kind.FromStatus(obj)
	if !record.State.HasDriver() && !record.State.Starting() {
		return nil
	}
	id := admission.AttemptID(e.Kind.Identity(obj, max(1, record.Attempt), e.Clock.Now()), record.Attempt)
	if e.Schedulers.Knows(e.keyOf(obj), id) {
		return nil
	}
	s, err := e.driven(ctx, obj, record)
	switch {
	case err != nil:
		return err
	case s == nil && record.State == lifecycle.Queued && record.Cause.Reason.WaitsForRoom():
		e.Schedulers.Expect(id)
		return nil
	case s == nil, s.complete():
		return nil
	}
	candidate, _, err := e.candidate(ctx, s)
	if err != nil || candidate == nil {
		return err
	}
	facts, err := e.facts(ctx, s)
	if err != nil {
		return err
	}
	e.Schedulers.Enter(candidate.Attempt(), scheduler.ProgressOf(facts))
	return e.releaseEnded(ctx, s)
}

// driven returns a listed application if its attempt has a driver, otherwise nil. If an earlier operator created the driver and crashed before its status
// write, only the pods show the driver.
func (e *Engine[T]) driven(ctx context.Context, listed T, record lifecycle.Record) (*scope[T], error) {
	recorded := record.State.HasDriver()
	if !recorded {
		if found, err := e.Reader.Orphans(ctx, listed); err != nil || !found {
			return nil, err
		}
	}
	obj, there, err := observe.Whole(ctx, e.Cache, listed, e.Kind.New)
	if err != nil || !there {
		return nil, err
	}
	s := e.scope(obj, e.Kind.FromStatus(obj), e.Clock.Now())
	if recorded {
		return s, nil
	}
	t := e.target(s)
	t.Cached = true
	seen, err := e.Reader.Observe(ctx, t, s.Record)
	if err != nil || !seen.Driver.Is(lifecycle.Current) {
		return nil, err
	}
	return s, nil
}

// releaseEnded drops the reservation of an attempt that ended after it was listed, because the reconcile of its end found no reservation.
func (e *Engine[T]) releaseEnded(ctx context.Context, s *scope[T]) error {
	now := e.Kind.New()
	err := e.Cache.Get(ctx, client.ObjectKeyFromObject(s.obj), now, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read an application once more: %w", err)
	}
	if err == nil && now.GetUID() == s.obj.GetUID() {
		record := e.Kind.FromStatus(now)
		if record.Attempt == s.Record.Attempt && (record.State.HasDriver() || record.State == s.Record.State) {
			return nil
		}
	}
	e.Schedulers.Release(s.attemptID())
	return nil
}

// complete reports whether all reserved pods have existed. Such an attempt needs no reservation.
func (s *scope[T]) complete() bool {
	counts := s.Record.Counts
	return s.Record.State == lifecycle.Running && counts.Total >= s.Desired.Executors && counts.Pending == 0
}
