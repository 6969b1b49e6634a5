package controller

import (
	"context"

	"github.com/firesteel-dev/firesteel/internal/prepare"
)

// prepare asks whether the attempt may start, and shows its scheduler what it wants to see. The error is the cluster's,
// not the application's.
func (e *Engine[T]) prepare(ctx context.Context, s scope[T]) (prepare.Prepared, error) {
	candidate, prepared := prepare.Examine(prepare.Request{
		App: s.app, Problems: s.problems, Identity: s.identity, Attempt: s.record.Attempt,
	}, e.Registry)
	if candidate == nil {
		return prepared, nil
	}
	snapshot, err := e.Reader.Snapshot(ctx, candidate.Reads())
	if err != nil {
		return prepare.Prepared{}, err
	}
	return candidate.Prepare(snapshot), nil
}
