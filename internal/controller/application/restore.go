// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
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
	candidate, _, err := e.candidate(ctx, s)
	if err != nil || candidate == nil || len(candidate.Forbidden()) > 0 {
		return
	}
	if fresh, err := e.Reader.Fresh(ctx, s.obj, e.Kind.Family().GroupVersionKind()); err != nil || !fresh {
		return
	}
	if r := e.Writer.Restore(ctx, s.Owner, candidate.AssumeAdmitted().Submission); r.Class != lifecycle.ClassDone {
		ctrllog.FromContext(ctx).Info("cannot create again what a driver lacks", "answer", r.Message)
	}
}
