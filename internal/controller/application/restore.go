// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"strings"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// restore recreates the driver's missing objects.
func (e *Engine[T]) restore(ctx context.Context, s *scope[T]) lifecycle.Result {
	submission, r := e.rebuilt(ctx, s)
	if r.Class == lifecycle.ClassDone {
		r = e.Writer.Restore(ctx, s.Owner, submission)
	}
	if r.Class != lifecycle.ClassDone {
		ctrllog.FromContext(ctx).Info("cannot recreate missing objects of a driver", "answer", r.Message)
	}
	return r
}

// reschedules reports whether an action sends a request about the scheduler's objects.
func (e *Engine[T]) reschedules(s *scope[T], plan lifecycle.Plan, kind lifecycle.ActionKind) bool {
	wanted := plan.Admission
	if kind == lifecycle.Adjust {
		wanted = adjustment(plan.Scheduler)
	}
	return !actuate.Scheduled(s.Owner, s.App.Name, wanted, s.seen)
}

func adjustment(o scheduler.Observation) scheduler.Admission {
	return scheduler.Admission{Apply: o.Apply, Delete: o.Delete}
}

// adjust updates the scheduler's objects of a running attempt.
func (e *Engine[T]) adjust(ctx context.Context, s *scope[T], o scheduler.Observation) lifecycle.Result {
	r := e.Writer.Schedule(ctx, s.Owner, s.App.Name, adjustment(o), s.seen)
	if r.Class != lifecycle.ClassDone {
		ctrllog.FromContext(ctx).Info("cannot adjust the scheduler's objects of a running attempt", "answer", r.Message)
	}
	return r
}

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=patch

// updateTemplate updates the executor template of a running driver to the present spec.
func (e *Engine[T]) updateTemplate(ctx context.Context, s *scope[T]) lifecycle.Result {
	submission, r := e.rebuilt(ctx, s)
	if r.Class != lifecycle.ClassDone {
		return r
	}
	return e.Writer.UpdateTemplate(ctx, s.Owner, submission)
}

// tryExecutor asks the API server, in a dry run, to create an executor pod of a running driver.
func (e *Engine[T]) tryExecutor(ctx context.Context, s *scope[T], d lifecycle.Driver) lifecycle.Result {
	submission, r := e.rebuilt(ctx, s)
	if r.Class != lifecycle.ClassDone {
		if r.Class == lifecycle.ClassRefused {
			r.Class = lifecycle.ClassDone // the operator builds no executor of this spec
		}
		return r
	}
	return e.Writer.TryExecutor(ctx, s.Owner, d, spark.NewReader(s.App, submission).ExecutorPod(submission))
}

// rebuilt returns the submission as it would be created now, or the reason why there is none. It has the checks of a start, so that an edit cannot add anything
// that a policy forbids.
func (e *Engine[T]) rebuilt(ctx context.Context, s *scope[T]) (spark.Submission, lifecycle.Result) {
	var none spark.Submission
	refused := func(why string) (spark.Submission, lifecycle.Result) {
		return none, lifecycle.Result{Class: lifecycle.ClassRefused, Message: why}
	}
	candidate, answer, err := e.candidate(ctx, s)
	switch {
	case err != nil:
		return none, lifecycle.Result{Class: lifecycle.ClassTransient, Message: err.Error()}
	case candidate == nil:
		return refused(answer.Message)
	}
	if forbidden := candidate.Forbidden(); len(forbidden) > 0 {
		return refused(strings.Join(forbidden, "; "))
	}
	if answer = candidate.AssumeAdmitted(); answer.Verdict != scheduler.Admit {
		return refused(answer.Message)
	}
	return answer.Submission, lifecycle.Result{Class: lifecycle.ClassDone}
}
