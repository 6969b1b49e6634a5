// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"strings"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// restore creates again what a driver was created with and lacks now. Of two operators that both believe to lead, one may delete the
// ConfigMap of a submission that was refused to it while the other creates the driver: without this, that driver would wait
// for ever, since nothing else ends a wait without a deadline. What fails is tried again with the next look.
func (e *Engine[T]) restore(ctx context.Context, s *scope[T]) {
	d := s.observed.Driver
	if s.Record.State != lifecycle.Submitted || !d.Is(lifecycle.Current) || d.Deleting || d.Waiting.Reason != lifecycle.ReasonVolume {
		return
	}
	if s.Desired.Suspend || s.Desired.Deleting || d.SpecHash != s.Desired.SpecHash {
		return // it is on its way out
	}
	if s.Desired.FollowsOthers(s.Record) {
		return // it lives on what others have made
	}
	submission, why, err := e.rebuilt(ctx, s)
	if err != nil || why != "" {
		return
	}
	if fresh, err := e.Reader.Fresh(ctx, s.obj, e.Kind.Family().GroupVersionKind()); err != nil || !fresh {
		return
	}
	if r := e.Writer.Restore(ctx, s.Owner, submission); r.Class != lifecycle.ClassDone {
		ctrllog.FromContext(ctx).Info("cannot create again what a driver lacks", "answer", r.Message)
	}
}

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=patch

// updateTemplate writes what a running driver makes its executors from, as the spec has it now.
func (e *Engine[T]) updateTemplate(ctx context.Context, s *scope[T]) lifecycle.Result {
	submission, why, err := e.rebuilt(ctx, s)
	switch {
	case err != nil:
		return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassTransient, Message: err.Error()}
	case why != "":
		return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassRefused, Message: why}
	}
	return e.Writer.UpdateTemplate(ctx, s.Owner, submission.ExecutorTemplate)
}

// rebuilt is what the attempt's driver would be created with now, or why there is no such thing. It is judged as a start is: an edit cannot
// bring what a policy forbids.
func (e *Engine[T]) rebuilt(ctx context.Context, s *scope[T]) (submission spark.Submission, why string, err error) {
	candidate, answer, err := e.candidate(ctx, s)
	if err != nil || candidate == nil {
		return submission, answer.Message, err
	}
	if forbidden := candidate.Forbidden(); len(forbidden) > 0 {
		return submission, strings.Join(forbidden, "; "), nil
	}
	if answer = candidate.AssumeAdmitted(); answer.Verdict != scheduler.Admit {
		return submission, answer.Message, nil
	}
	return answer.Submission, "", nil
}
