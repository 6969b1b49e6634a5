// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// A choice that was made for an attempt stays, unless the operator did not have what was chosen: that is chosen again.
func TestRecordedChoice(t *testing.T) {
	made := lifecycle.Scheduling{Choice: lifecycle.Choice{Scheduler: "batch", Source: "Namespace", Queue: "q"}}
	held := made
	held.HeldAttempt, held.HeldBy = 1, "batch"
	stays := &scheduler.Choice{Scheduler: "batch", Source: scheduler.SourceNamespace, Queue: "q"}
	cases := map[string]struct {
		reason string
		record lifecycle.Record
		want   *scheduler.Choice
	}{
		"Nothing":  {reason: "the first look", record: lifecycle.Record{State: lifecycle.New}},
		"Waits":    {reason: "it waits for its scheduler", record: lifecycle.Record{State: lifecycle.Queued, Scheduling: made, Cause: lifecycle.Cause{Reason: "WaitingForQuota"}}, want: stays},
		"Edited":   {reason: "the spec says otherwise now", record: lifecycle.Record{State: lifecycle.Queued, SpecHash: "former", Scheduling: made}},
		"Unknown":  {reason: "an administrator may have corrected a default", record: lifecycle.Record{State: lifecycle.Queued, Scheduling: made, Cause: lifecycle.Cause{Reason: "SchedulerUnknown"}}},
		"Disabled": {reason: "an administrator may have changed a default", record: lifecycle.Record{State: lifecycle.Rerunning, Scheduling: made, Cause: lifecycle.Cause{Reason: "SchedulerDisabled"}}},
		"Held":     {reason: "the scheduler has objects of the attempt", record: lifecycle.Record{State: lifecycle.Queued, Scheduling: held, Cause: lifecycle.Cause{Reason: "SchedulerDisabled"}}, want: stays},
		"Runs":     {reason: "its pods are that scheduler's", record: lifecycle.Record{State: lifecycle.Running, Scheduling: made, Cause: lifecycle.Cause{Reason: "SchedulerDisabled"}}, want: stays},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := NewScope(spark.Application{UID: "u"}, nil, tc.record, lifecycle.Application{}, time.Time{})
			if diff := cmp.Diff(tc.want, s.Request().Recorded); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

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
