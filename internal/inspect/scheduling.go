// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/attempt"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// asking asks a batch scheduler about the state of an attempt.
type asking struct {
	attempt.Asking
	cluster observe.Reader
	scope   resolve.Application
	in      *explain.Input
	// notOwned names an object of another owner that has the name of one of the attempt's objects.
	notOwned string
}

// ask adds the scheduler's state to the input. If the driver may be created now, this is the scheduler's verdict, and else its observation of the driver. The
// error lists unreadable objects; the recorded state is then used.
func (c *Cluster) ask(ctx context.Context, cluster observe.Reader, registry *scheduler.Registry, s resolve.Application, in *explain.Input) (err error) {
	needsAdmission := lifecycle.NeedsAdmission(s.Desired, s.Record, in.Observed.Driver, lifecycle.Env{Now: in.Now})
	if !needsAdmission && !s.Record.State.HasDriver() {
		return nil
	}
	unanswered := scheduler.Admission{Verdict: scheduler.Wait, Reason: s.Record.Cause.Reason, Message: s.Record.Cause.Message}
	a := &asking{
		Asking: attempt.Asking{Registry: registry, Reader: cluster, Reservations: unreserved{}, Kinds: apis{c.RESTMapper()}}, cluster: cluster, scope: s, in: in,
	}
	candidate, answer, err := a.Candidate(ctx, s.App.Namespace, func(annotations map[string]string) (*admission.Candidate, admission.Result) {
		return admission.NewCandidate(s, registry, annotations)
	})
	if err != nil {
		if needsAdmission {
			in.Admission = unanswered
		}
		return err
	}
	in.Reserved.Choice = answer.Choice
	if candidate == nil {
		if needsAdmission {
			in.Admission = answer.Admission
		}
		return nil
	}
	in.Reserved.Requested = candidate.Attempt().Total()
	if needsAdmission {
		in.Admission, err = a.admit(ctx, candidate)
		if err != nil {
			in.Admission = unanswered
			return err
		}
		in.Admission = explain.Combine(in.Admission, s.Record, s.Desired.SpecHash)
		return nil
	}
	if d := in.Observed.Driver; d.Presence == lifecycle.Unknown || d.Is(lifecycle.NotOwned) || d.Phase == lifecycle.DriverSucceeded {
		return nil // a reconcile does not ask in this case, either
	}
	return a.observe(ctx, candidate)
}

// admit asks the scheduler whether the driver may be created.
func (a *asking) admit(ctx context.Context, candidate *admission.Candidate) (scheduler.Admission, error) {
	asked, seen, err := a.Admit(ctx, candidate)
	answer := asked.Admission
	if err != nil || seen == nil {
		return answer, err
	}
	var refs []scheduler.Ref
	for _, u := range answer.Apply {
		refs = append(refs, scheduler.Ref{GroupVersionKind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()})
	}
	made, err := a.group(ctx, refs)
	if notOwned := a.notOwned; notOwned != "" {
		return scheduler.Admission{
			Verdict: scheduler.Wait, Reason: lifecycle.ReasonNameConflict,
			Message: notOwned + " already exists and does not belong to this application; delete or rename it",
		}, nil
	}
	a.in.Reserved.Made = made && len(answer.Delete) == 0
	return answer, err
}

// observe asks the scheduler about a submitted driver.
func (a *asking) observe(ctx context.Context, candidate *admission.Candidate) error {
	if _, missing := a.Unavailable(candidate); missing {
		return nil
	}
	facts, err := a.cluster.PodStatuses(ctx, attempt.Target(a.scope, a.in.Now), a.in.Now)
	if err != nil {
		return err
	}
	said, err := a.Observe(ctx, candidate, a.scope.Record.Scheduling.Scheduler, facts)
	if a.in.Observed.Scheduler = said.Observation; err != nil || said.Err != nil {
		return cmp.Or(err, said.Err)
	}
	refs, err := scheduler.Release(candidate.Plugin(), candidate.Attempt())
	if err != nil {
		return err
	}
	_, err = a.group(ctx, refs)
	return err
}

// group reads the objects of an attempt and stores the phase of its group. It reports whether all of them exist.
func (a *asking) group(ctx context.Context, refs []scheduler.Ref) (bool, error) {
	reads := make([]scheduler.Read, 0, len(refs))
	for _, r := range refs {
		reads = append(reads, r.Read())
	}
	seen, err := a.cluster.Snapshot(ctx, reads)
	if err != nil {
		return false, err
	}
	all := true
	for _, read := range reads {
		u := seen[read]
		if all = all && u != nil; u == nil {
			continue
		}
		if !metav1.IsControlledBy(u, a.in.Object) {
			a.notOwned = read.Kind + " " + read.Name
			continue
		}
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		a.in.Reserved.Group, a.in.Reserved.Phase = read.Kind+" "+read.Name, cmp.Or(phase, "no phase yet")
	}
	return all, nil
}

// apis knows which APIs are installed.
type apis struct{ mapper meta.RESTMapper }

// Unavailable returns the answer for a scheduler whose API is not installed. It does not check the operator's permissions, which are unknown here.
func (i apis) Unavailable(d scheduler.Descriptor) (scheduler.Admission, bool) {
	served := func(kind schema.GroupVersionKind) bool {
		_, err := i.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		return !meta.IsNoMatchError(err)
	}
	return d.Unready(served, func(scheduler.Access) bool { return true })
}

// unreserved has no reservations, because only the operator knows them.
type unreserved struct{}

// SetWaiting does nothing, because no application is enqueued here.
func (unreserved) SetWaiting(scheduler.Key, *admission.Candidate, scheduler.Admission) {}

// Admit asks the scheduler, and reserves nothing.
func (unreserved) Admit(_ context.Context, c *admission.Candidate, seen scheduler.Snapshot) (admission.Result, error) {
	return c.Admit(seen), nil
}
