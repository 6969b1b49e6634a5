// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/prepare"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// asked is what came of asking whether an attempt may start.
type asked struct {
	prepare.Prepared
	// seen is what the scheduler's plugin was shown.
	seen scheduler.Snapshot
}

// prepare asks whether the attempt may start, and shows its scheduler what it wants to see. The error is the cluster's,
// not the application's.
func (e *Engine[T]) prepare(ctx context.Context, s scope[T]) (asked, error) {
	candidate, answer, err := e.candidate(ctx, s)
	if err != nil || candidate == nil {
		return asked{Prepared: answer}, err
	}
	key := client.ObjectKeyFromObject(s.obj)
	// before it looks: what changes while it looks must wake it
	e.Schedulers.waits(key, candidate, scheduler.Admission{Verdict: scheduler.Wait})
	if missing, ok := e.Schedulers.Unavailable(candidate.Plugin()); ok {
		e.Schedulers.waits(key, candidate, missing)
		return asked{Prepared: candidate.Unavailable(missing)}, nil
	}
	seen, err := e.Reader.Snapshot(ctx, candidate.Reads())
	if err != nil {
		return asked{}, err
	}
	prepared, err := e.Schedulers.admit(ctx, candidate, seen, func() error { return e.rebuildLedger(ctx) })
	if err != nil {
		return asked{}, err
	}
	if prepared.Trouble != nil {
		ctrllog.FromContext(ctx).Error(prepared.Trouble, "a scheduler plugin cannot answer")
	}
	e.Schedulers.waits(key, candidate, prepared.Plan.Admission)
	return asked{Prepared: prepared, seen: seen}, nil
}

// candidate examines the attempt. It is nil if the answer is known without its scheduler.
func (e *Engine[T]) candidate(ctx context.Context, s scope[T]) (*prepare.Candidate, prepare.Prepared, error) {
	request := s.Request()
	if e.Registry.NamespaceDefaults() {
		annotations, err := e.Reader.NamespaceAnnotations(ctx, s.App.Namespace)
		if err != nil {
			return nil, prepare.Prepared{}, err
		}
		request.NamespaceAnnotations = annotations
	}
	candidate, prepared := prepare.Examine(request, e.Registry)
	return candidate, prepared, nil
}

// observeScheduler asks the batch scheduler about an attempt that has a driver, and tells the ledger how far its pods
// have come. Only plugins that know more than the pods are asked. Trouble with a plugin is no trouble of the application.
func (e *Engine[T]) observeScheduler(ctx context.Context, s scope[T], d lifecycle.Driver) (lifecycle.SchedulerView, error) {
	var none lifecycle.SchedulerView
	state := s.Record.State
	if state != lifecycle.Submitted && state != lifecycle.Running || d.Presence == lifecycle.Unknown || d.Is(lifecycle.Foreign) ||
		d.Phase == lifecycle.DriverSucceeded {
		return none, nil
	}
	plugin, observes := e.Registry.Observer(s.Record.Scheduling.Scheduler)
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
	if _, missing := e.Schedulers.Unavailable(candidate.Plugin()); missing {
		return none, nil
	}
	seen, err := e.Reader.Snapshot(ctx, candidate.ObserveReads(facts))
	if err != nil {
		return none, err
	}
	o, err := scheduler.Observe(plugin, candidate.Attempt(), seen, facts)
	if err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin cannot judge the attempt")
		return none, nil
	}
	e.adjust(ctx, s, o, seen)
	return prepare.ViewOf(o, s.Record.Scheduling.Scheduler), nil
}

// settle tells the ledger how far an attempt's pods have come. One that it does not know was started by an operator that
// did not live to record it, or that did not watch the namespace.
func (e *Engine[T]) settle(ctx context.Context, s scope[T], facts scheduler.Facts) error {
	id, progress := prepare.AttemptID(s.Identity, s.Record.Attempt), scheduler.ProgressOf(facts)
	if !e.Registry.Quotas() {
		return nil
	}
	if !e.Schedulers.knows(client.ObjectKeyFromObject(s.obj), id) && !complete(s) {
		candidate, _, err := e.candidate(ctx, s)
		if err != nil {
			return err
		}
		if candidate != nil {
			e.Schedulers.enter(candidate.Attempt(), progress)
		}
	}
	e.Schedulers.settle(id, progress)
	return nil
}

// withdraw gives back what was promised to an attempt that was let in and does not start: what stands in its way may do
// so for long, and the specification may change before it is asked about again. Where the API server's answer was lost
// its driver may exist.
func (e *Engine[T]) withdraw(s scope[T], p asked, plan lifecycle.Plan, results []lifecycle.Result) {
	if p.Plan.Verdict == scheduler.Go && !starts(s.Record, plan, results) {
		e.Schedulers.release(prepare.AttemptID(s.Identity, s.Record.Attempt))
	}
}

// starts is whether a driver was created, or may have been, or will be in a moment.
func starts(before lifecycle.Record, plan lifecycle.Plan, results []lifecycle.Result) bool {
	for _, r := range results {
		switch {
		case r.Class != lifecycle.ClassDone:
			return r.Class == lifecycle.ClassTransient
		case r.Kind == lifecycle.Submit:
			return true
		}
	}
	return before.Scheduling.HeldAttempt == 0 && plan.Record.Scheduling.HeldAttempt != 0 // stored before it acts
}

// facts are what schedulers want to know of the attempt's pods. The record knows of executors that came and went.
func (e *Engine[T]) facts(ctx context.Context, s scope[T]) (scheduler.Facts, error) {
	facts, err := e.Reader.Facts(ctx, s.target(), s.env.Now)
	facts.ExecutorsEver, facts.RoomMadeAt = s.Record.Counts.Total, e.Schedulers.roomMadeAt()
	return facts, err
}

// adjust makes the objects of a running attempt what its scheduler wants them to be by now, for one because somebody
// deleted them. It is tried again with the next look.
func (e *Engine[T]) adjust(ctx context.Context, s scope[T], o scheduler.Observation, seen scheduler.Snapshot) {
	if len(o.Apply)+len(o.Delete) == 0 {
		return
	}
	r := e.Writer.Schedule(ctx, e.owner(s), s.App.Name, scheduler.Plan{Apply: o.Apply, Delete: o.Delete}, seen)
	if r.Class != lifecycle.ClassDone {
		ctrllog.FromContext(ctx).Info("cannot adjust the scheduler's objects of a running attempt", "answer", r.Message)
	}
}

// release names what the scheduler of an attempt has, and gives back what the ledger has promised it.
func (e *Engine[T]) release(ctx context.Context, s scope[T], attempt int32) []scheduler.Ref {
	identity := spark.NewIdentity(s.App.UID, attempt, s.env.Now)
	id := prepare.AttemptID(identity, attempt)
	e.Schedulers.release(id)
	plugin, known := e.Registry.Compiled(s.Record.Scheduling.HeldBy) // it may have been disabled since
	if !known {
		return nil // its objects go with the application
	}
	refs, err := scheduler.Release(plugin, prepare.AttemptOf(s.App, id, attempt))
	if err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin cannot name its objects", "attempt", attempt)
	}
	return refs
}

// rebuildLedger enters what runs already, so that an operator that was restarted promises nothing twice.
func (e *Engine[T]) rebuildLedger(ctx context.Context) error {
	all, err := e.List(ctx, e.Cache)
	if err != nil {
		return fmt.Errorf("list applications: %w", err)
	}
	for _, obj := range all {
		record := e.Adapter.Record(obj)
		if record.State != lifecycle.Submitted && record.State != lifecycle.Running || !e.watches(obj.GetNamespace()) {
			continue
		}
		env := lifecycle.Env{Now: e.Clock.Now()}
		s := e.scope(obj, record, e.Adapter.Wish(obj, record), env)
		if complete(s) || e.Schedulers.knows(client.ObjectKeyFromObject(obj), prepare.AttemptID(s.Identity, record.Attempt)) {
			continue
		}
		candidate, _, err := e.candidate(ctx, s)
		if err != nil {
			return err
		}
		if candidate == nil {
			continue
		}
		facts, err := e.facts(ctx, s)
		if err != nil {
			return err
		}
		e.Schedulers.enter(candidate.Attempt(), scheduler.ProgressOf(facts))
	}
	return nil
}

// complete is whether all that an attempt was promised had come before now: whatever has become of it since, it is not
// promised again.
func complete[T client.Object](s scope[T]) bool {
	counts := s.Record.Counts
	return s.Record.State == lifecycle.Running && counts.Total >= s.Wish.Executors && counts.Pending == 0
}
