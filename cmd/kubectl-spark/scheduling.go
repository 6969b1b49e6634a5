// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/prepare"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// asking is one look at what the batch scheduler knows and has of an attempt.
type asking struct {
	cluster observe.Reader
	mapper  meta.RESTMapper
	scope   prepare.Scope
	in      *explain.Input
	// foreign is an object of somebody else that has the name of one of the attempt's.
	foreign string
}

// ask completes the input with the scheduler's side: its verdict if the driver may be created now, else what it says of the
// driver. The error is about what could not be read; what was said last is the best that is known then.
func (c *connection) ask(ctx context.Context, cluster observe.Reader, registry *scheduler.Registry, s prepare.Scope, in *explain.Input) (err error) {
	gated := lifecycle.Gated(s.Wish, s.Record, in.Observed.Driver, lifecycle.Env{Now: in.Now})
	if state := s.Record.State; !gated && state != lifecycle.Submitted && state != lifecycle.Running {
		return nil
	}
	unanswered := lifecycle.Gate{Verdict: lifecycle.Waiting, Cause: s.Record.Cause}
	request := s.Request()
	if registry.NamespaceDefaults() {
		if request.NamespaceAnnotations, err = cluster.NamespaceAnnotations(ctx, s.App.Namespace); err != nil {
			if gated {
				in.Gate = unanswered
			}
			return err
		}
	}
	candidate, prepared := prepare.Examine(request, registry)
	in.Reserved.Choice = prepared.Choice
	if candidate == nil {
		if gated {
			in.Gate = prepared.Gate
		}
		return nil
	}
	in.Reserved.Asked = candidate.Attempt().Total()
	a := &asking{cluster: cluster, mapper: c.RESTMapper(), scope: s, in: in}
	if gated {
		in.Gate, err = a.gate(ctx, candidate)
		if err != nil {
			in.Gate = unanswered
			return err
		}
		in.Gate = explain.Heard(in.Gate, s.Record, s.Wish.SpecHash)
		return nil
	}
	if d := in.Observed.Driver; d.Presence == lifecycle.Unknown || d.Is(lifecycle.Foreign) || d.Phase == lifecycle.DriverSucceeded {
		return nil // as a reconcile does not ask then
	}
	return a.observe(ctx, registry, candidate)
}

// gate asks whether the driver may be created.
func (a *asking) gate(ctx context.Context, candidate *prepare.Candidate) (lifecycle.Gate, error) {
	if missing, ok := a.unready(candidate.Plugin()); ok {
		return candidate.Unavailable(missing).Gate, nil
	}
	snapshot, err := a.cluster.Snapshot(ctx, candidate.Reads())
	if err != nil {
		return lifecycle.Gate{}, err
	}
	prepared := candidate.Prepare(snapshot)
	var refs []scheduler.Ref
	for _, u := range prepared.Plan.Apply {
		refs = append(refs, scheduler.Ref{GroupVersionKind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()})
	}
	made, err := a.group(ctx, refs)
	if foreign := a.foreign; foreign != "" {
		return lifecycle.Gate{Verdict: lifecycle.Waiting, Cause: lifecycle.Cause{
			Reason: lifecycle.ReasonNameConflict, Message: foreign + " exists already and does not belong to this application; delete or rename it",
		}}, nil
	}
	a.in.Reserved.Made = made && len(prepared.Plan.Delete) == 0
	return prepared.Gate, err
}

// observe asks about a driver that was submitted.
func (a *asking) observe(ctx context.Context, registry *scheduler.Registry, candidate *prepare.Candidate) error {
	if _, missing := a.unready(candidate.Plugin()); missing {
		return nil
	}
	facts, err := a.cluster.Facts(ctx, targetOf(a.scope), a.in.Now)
	if err != nil {
		return err
	}
	name := a.scope.Record.Scheduling.Scheduler
	if plugin, observes := registry.Observer(name); observes {
		seen, err := a.cluster.Snapshot(ctx, candidate.ObserveReads(facts))
		if err != nil {
			return err
		}
		o, err := scheduler.Observe(plugin, candidate.Attempt(), seen, facts)
		if err != nil {
			return err
		}
		a.in.Observed.Scheduler = prepare.ViewOf(o, name)
	}
	refs, err := scheduler.Release(candidate.Plugin(), candidate.Attempt())
	if err != nil {
		return err
	}
	_, err = a.group(ctx, refs)
	return err
}

// group reads the objects of an attempt and remembers the phase of the one that stands for it. It reports whether all of
// them exist.
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
			a.foreign = read.Kind + " " + read.Name
			continue
		}
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		a.in.Reserved.Group, a.in.Reserved.Phase = read.Kind+" "+read.Name, cmp.Or(phase, "no phase yet")
	}
	return all, nil
}

// unready is the answer of a scheduler whose API is not installed. The operator's rights are not known here.
func (a *asking) unready(plugin scheduler.Plugin) (scheduler.Admission, bool) {
	served := func(kind schema.GroupVersionKind) bool {
		_, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		return !meta.IsNoMatchError(err)
	}
	return plugin.Describe().Unready(served, func(scheduler.Access) bool { return true })
}
