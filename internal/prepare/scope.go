// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Scope is what one decision is about: an application and the attempt that it is at. Whoever decides, or explains a
// decision, starts here.
type Scope struct {
	App spark.Application
	// Problems are the fields that conversion could make nothing of.
	Problems []*spark.ConfError
	Record   lifecycle.Record
	Wish     lifecycle.Application
	Identity spark.Identity
	// now is when the attempt begins to wait if nothing is recorded yet.
	now time.Time
}

// NewScope completes a wish with what follows from the model of the application and from what is recorded of it.
func NewScope(app spark.Application, problems []*spark.ConfError, record lifecycle.Record, wish lifecycle.Application, now time.Time) Scope {
	s := Scope{App: app, Problems: problems, Record: record, Wish: wish, now: now}
	s.Identity = spark.NewIdentity(app.UID, max(1, record.Attempt), now)
	if record.SubmissionID != "" {
		s.Identity.SubmissionID = record.SubmissionID
	}
	s.Wish.SparkAppID, s.Wish.SubmissionID = s.Identity.AppID, s.Identity.SubmissionID
	s.Wish.DriverName = app.OperatorConf[spark.ConfDriverPodName]
	s.Wish.Executors, s.Wish.Notes = spark.InitialExecutors(app), validation.Notes(app)
	return s
}

// DriverName is the name that the driver has if there is one, else the one that it will get.
func (s Scope) DriverName() string {
	if !s.Record.NeverRan() && s.Record.DriverName != "" {
		return s.Record.DriverName
	}
	return s.Wish.DriverName
}

// unserved is whether the recorded scheduler is one that the operator did not have, so that the choice is made again:
// whoever made the mistake, an administrator may have mended it.
func (s Scope) unserved() bool {
	reason := scheduler.Reason(s.Record.Cause.Reason)
	return s.Record.State.Starting() && s.Record.Scheduling.HeldAttempt == 0 &&
		(reason == scheduler.ReasonSchedulerUnknown || reason == scheduler.ReasonSchedulerDisabled)
}

// Request is what to examine before the attempt may start.
func (s Scope) Request() Request {
	r := Request{
		App: s.App, Problems: s.Problems, Identity: s.Identity, Attempt: s.Record.Attempt, SpecHash: s.Wish.SpecHash,
		QueuedAt: s.Record.QueuedAt,
	}
	if r.QueuedAt.IsZero() {
		r.QueuedAt = s.now // who asks for the first time comes last, not first
	}
	if c := s.Record.Scheduling; c.Scheduler != "" && s.Record.SpecHash == s.Wish.SpecHash && !s.unserved() {
		r.Recorded = &scheduler.Choice{Scheduler: c.Scheduler, Source: scheduler.Source(c.Source), Queue: c.Queue}
	}
	return r
}
