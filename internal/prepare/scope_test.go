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

package prepare

import (
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// An application that asks for the first time stands at the end of the line, not before everybody.
func TestFirstRequestIsQueuedNow(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := NewScope(spark.Application{UID: "u"}, nil, lifecycle.Record{}, lifecycle.Application{}, now)
	if at := s.Request().QueuedAt; !at.Equal(now) {
		t.Errorf("queued at %s", at)
	}
	before := lifecycle.Record{QueuedAt: now.Add(-time.Hour)}
	s = NewScope(spark.Application{UID: "u"}, nil, before, lifecycle.Application{}, now)
	if at := s.Request().QueuedAt; !at.Equal(before.QueuedAt) {
		t.Errorf("queued at %s", at)
	}
}
