// SPDX-License-Identifier: Apache-2.0

// Package attempt asks the scheduler of an attempt. It reads the input for the choice of the scheduler, chooses it, and reads the objects that its plugin
// needs. Then it asks whether the attempt may start, or for its state. The controllers and the command line share this order, and the selection of pods. Reads
// and reservations are interfaces, so the package depends on no client and no kind.
package attempt

import (
	"context"
	"time"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Target selects the pods of an application's attempt.
func Target(s resolve.Application, now time.Time) observe.Target {
	return observe.Target{
		Namespace: s.App.Namespace, App: s.App.Name, UID: s.App.UID, Owner: s.Owner.Reference, DriverName: s.DriverName(), NextName: s.Desired.DriverName,
		SubmissionID: s.Identity.SubmissionID, LogTails: s.Desired.LogTails, Now: now,
	}
}

// Reader reads the objects that schedulers need.
type Reader interface {
	NamespaceAnnotations(ctx context.Context, namespace string) (map[string]string, error)
	// Snapshot returns a snapshot that is not nil, unless there is an error.
	Snapshot(ctx context.Context, reads []scheduler.Read) (scheduler.Snapshot, error)
}

// Kinds knows which APIs are installed (informers.SchedulerKinds).
type Kinds interface {
	// Unavailable returns the answer for a plugin that cannot be asked now; false if it can be asked.
	Unavailable(d scheduler.Descriptor) (scheduler.Admission, bool)
}

// Reservations keeps the state that all attempts share.
type Reservations interface {
	// SetWaiting records that an application waits, or no longer waits.
	SetWaiting(app scheduler.Key, c *admission.Candidate, a scheduler.Admission)
	// Admit asks the scheduler of a candidate under the quotas, and reserves room for an admitted attempt.
	Admit(ctx context.Context, c *admission.Candidate, seen scheduler.Snapshot) (admission.Result, error)
}

// Asking has the dependencies for asking about attempts.
type Asking struct {
	Registry     *scheduler.Registry
	Reader       Reader
	Reservations Reservations
	// Kinds is nil if all APIs count as installed.
	Kinds Kinds
}

// Candidate chooses the scheduler of an attempt in a namespace. If there is no candidate, the answer is final. choose builds the attempt. That is the expensive
// part of a decision, so callers keep the candidate. The error is the cluster's, not the attempt's.
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

// Admit asks whether an attempt may start. seen is the plugin's snapshot; nil if the scheduler is unavailable. The error is the cluster's, not the attempt's.
func (a Asking) Admit(ctx context.Context, c *admission.Candidate) (r admission.Result, seen scheduler.Snapshot, err error) {
	key := c.Attempt().App.Key()
	// the wait is recorded before the read, so that a change during the read enqueues the application
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

// Unavailable returns the answer for a scheduler that cannot be asked now; false if it can be asked.
func (a Asking) Unavailable(c *admission.Candidate) (scheduler.Admission, bool) {
	if a.Kinds == nil {
		return scheduler.Admission{}, false
	}
	return a.Kinds.Unavailable(c.Plugin().Describe())
}

// Observed is a scheduler's answer about a submitted attempt.
type Observed struct {
	scheduler.Observation
	// Seen is the plugin's snapshot; nil if the plugin was not asked.
	Seen scheduler.Snapshot
	// Err is the plugin's error.
	Err error
}

// Observe asks for the state of a submitted attempt. by names the scheduler of the submission. The answer is empty if its plugin does not observe or is
// unavailable. The error is the cluster's, not the attempt's.
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
