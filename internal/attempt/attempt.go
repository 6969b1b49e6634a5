// SPDX-License-Identifier: Apache-2.0

// Package attempt asks the scheduler of an attempt: it reads what the choice of the scheduler needs, chooses it, shows its plugin what that
// wants to see, and asks whether the attempt may start, or where it stands. The controllers and the command line have this order from here, and
// which pods to read for it. It knows no client and no kind: what is read and what is reserved for others are interfaces.
package attempt

import (
	"context"
	"time"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Target says which pods are those of an application's attempt.
func Target(s resolve.Application, now time.Time) observe.Target {
	return observe.Target{
		Namespace: s.App.Namespace, App: s.App.Name, UID: s.App.UID, Owner: s.Owner.Reference, DriverName: s.DriverName(), NextName: s.Desired.DriverName,
		SubmissionID: s.Identity.SubmissionID, LogTails: s.Desired.LogTails, Now: now,
	}
}

// Reader reads what schedulers want to see.
type Reader interface {
	NamespaceAnnotations(ctx context.Context, namespace string) (map[string]string, error)
	// Snapshot is not nil, unless there is an error.
	Snapshot(ctx context.Context, reads []scheduler.Read) (scheduler.Snapshot, error)
}

// Kinds know which APIs are installed (informers.SchedulerKinds).
type Kinds interface {
	// Unavailable returns why a plugin cannot be asked now.
	Unavailable(d scheduler.Descriptor) (scheduler.Admission, bool)
}

// Reservations are what is kept of all attempts together.
type Reservations interface {
	// SetWaiting records what an application waits for, or that it does not wait.
	SetWaiting(app scheduler.Key, c *admission.Candidate, a scheduler.Admission)
	// Admit asks the scheduler of a candidate that meets quotas, and reserves what it admits.
	Admit(ctx context.Context, c *admission.Candidate, seen scheduler.Snapshot) (admission.Result, error)
}

// Asking is what attempts are asked about with.
type Asking struct {
	Registry     *scheduler.Registry
	Reader       Reader
	Reservations Reservations
	// Kinds are nil where every API counts as installed.
	Kinds Kinds
}

// Candidate chooses the scheduler of an attempt in a namespace. Without a candidate the answer is final. choose builds the attempt, which is
// the expensive part of a decision: the candidate is kept for all that is asked in it. The error is the cluster's, not the attempt's.
func (a Asking) Candidate(ctx context.Context, namespace string,
	choose func(annotations map[string]string) (*admission.Candidate, admission.Result)) (*admission.Candidate, admission.Result, error) {
	var annotations map[string]string
	if a.Registry.NamespaceDefaults() {
		var err error
		if annotations, err = a.Reader.NamespaceAnnotations(ctx, namespace); err != nil {
			return nil, admission.Result{}, err
		}
	}
	c, answer := choose(annotations)
	return c, answer, nil
}

// Admit asks whether an attempt may start. seen is what its scheduler's plugin was shown; nil if it cannot be asked now. The error is the
// cluster's, not the attempt's.
func (a Asking) Admit(ctx context.Context, c *admission.Candidate) (r admission.Result, seen scheduler.Snapshot, err error) {
	key := c.Attempt().App.Key()
	// before it reads: what changes while it reads must enqueue it
	a.Reservations.SetWaiting(key, c, scheduler.Admission{Verdict: scheduler.Wait})
	if missing, ok := a.Unavailable(c); ok {
		a.Reservations.SetWaiting(key, c, missing)
		return c.Unavailable(missing), nil, nil
	}
	if seen, err = a.Reader.Snapshot(ctx, c.Reads); err != nil {
		return r, nil, err
	}
	if !c.Plugin().Describe().Quota {
		r = c.Admit(seen)
	} else if r, err = a.Reservations.Admit(ctx, c, seen); err != nil {
		return r, seen, err
	}
	a.Reservations.SetWaiting(key, c, r.Admission)
	return r, seen, nil
}

// Unavailable returns why the scheduler of an attempt cannot be asked now.
func (a Asking) Unavailable(c *admission.Candidate) (scheduler.Admission, bool) {
	if a.Kinds == nil {
		return scheduler.Admission{}, false
	}
	return a.Kinds.Unavailable(c.Plugin().Describe())
}

// Observed is what a scheduler says of an attempt that was submitted.
type Observed struct {
	scheduler.Observation
	// Seen is what its plugin was shown; nil if it was not asked.
	Seen scheduler.Snapshot
	// Err is what kept the plugin from answering.
	Err error
}

// Observe asks where a submitted attempt stands. A plugin that does not observe, or cannot be asked now, says nothing. by is the name of the
// scheduler that the attempt was submitted with. The error is the cluster's, not the attempt's.
func (a Asking) Observe(ctx context.Context, c *admission.Candidate, by string, facts scheduler.PodStatuses) (o Observed, err error) {
	plugin, observes := a.Registry.Observer(by)
	if !observes {
		return o, nil
	}
	if _, missing := a.Unavailable(c); missing {
		return o, nil
	}
	if o.Seen, err = a.Reader.Snapshot(ctx, c.ObserveReads(facts)); err != nil {
		return Observed{}, err
	}
	o.Observation, o.Err = c.Observe(plugin, o.Seen, facts)
	return o, nil
}
