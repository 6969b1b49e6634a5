/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"context"

	"github.com/firesteel-dev/firesteel/internal/prepare"
)

// prepare asks whether the attempt may start, and shows its scheduler what it wants to see. The error is the cluster's,
// not the application's.
func (e *Engine[T]) prepare(ctx context.Context, s scope[T]) (prepare.Prepared, error) {
	candidate, prepared := prepare.Examine(s.Request(), e.Registry)
	if candidate == nil {
		return prepared, nil
	}
	snapshot, err := e.Reader.Snapshot(ctx, candidate.Reads())
	if err != nil {
		return prepare.Prepared{}, err
	}
	return candidate.Prepare(snapshot), nil
}
