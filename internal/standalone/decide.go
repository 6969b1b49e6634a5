// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/text"
)

const (
	// conflictRetry is the interval for checking a taken name or a full quota again. Objects of other owners have no watch.
	conflictRetry = 10 * time.Second
	// unknownRetry is the delay after an incomplete observation, and during a deletion.
	unknownRetry = 2 * time.Second
	// heartbeat is the longest time between two reconciles. It bounds the effect of a lost watch event.
	heartbeat = 5 * time.Minute
)

// Decide plans the next step of a cluster. It has an answer for every record and observation.
func Decide(c Cluster, r Record, o Observation) Plan {
	p := Plan{Cluster: c, Before: r, Record: r, Observation: o, Requeue: heartbeat}
	switch {
	case c.Deleting:
		return decideDeletion(p)
	case c.Probe:
		p.Requeue = 0
		return p
	case o.Unknown:
		p.Requeue = unknownRetry
		return p
	}
	switch r.State {
	case New, Submitted:
		return decideStart(p)
	case Running:
		return decideRunning(p)
	case Suspended:
		return swept(decideSuspended(p))
	case Refused:
		return decideRefused(p)
	case Released, Failed:
		return swept(decideOver(p))
	}
	return p
}

// swept deletes scheduler objects of a cluster that does not change. A second operator that believed to be the leader created them late.
func swept(p Plan) Plan {
	if p.Record.State == p.Before.State && len(p.Observation.Scheduled) > 0 {
		p.Actions = append(p.Actions, Action{Kind: Release})
	}
	return p
}

// decideDeletion removes the finalizer. The garbage collector deletes the objects.
func decideDeletion(p Plan) Plan {
	p.Requeue = 0
	if p.Cluster.Finalizer {
		p.Actions = []Action{{Kind: RemoveFinalizer}}
	}
	return p
}

// decideStart creates the objects.
func decideStart(p Plan) Plan {
	c, o := p.Cluster, p.Observation
	switch {
	case c.Suspend && p.Record.State == Submitted:
		return stop(p)
	case c.Suspend:
		p.Actions = deletions(p, false) // an unrecorded step may have created some objects
		p.Record.Cause = suspended(c, "its pods are not created until it is false")
		return p
	case c.Problem.Reason != "":
		return refuse(p, c.Problem)
	}
	for _, part := range c.Parts {
		switch f := o.Found[part.Ref]; {
		case f.Presence != lifecycle.Present:
		case !f.Ours && !f.Deleting:
			p.Record.Cause, p.Requeue = taken(part.Ref), conflictRetry
			return p
		case f.Deleting:
			p.Record.Cause, p.Requeue = lifecycle.Cause{Reason: ReasonReplacing, Message: part.String() + " is still being deleted"}, unknownRetry
			return p
		}
	}
	p, admitted := admit(p)
	if !admitted {
		return p
	}
	p = converge(p)
	p.Record.State, p.Record.Cause, p.Record.Defaults = Running, lifecycle.Cause{}, c.Defaults
	return p
}

// admit applies the scheduler's answer, and reports whether the cluster's objects may be created. The record names the scheduler before scheduler objects are
// created. Objects of another scheduler are deleted first.
func admit(p Plan) (next Plan, admitted bool) {
	a, s := p.Observation.Admission, &p.Record.Scheduling
	held := s.HeldBy
	switch {
	case a.Verdict == scheduler.Reject && a.Reversible && p.Record.State == Submitted && p.Record.Generation == p.Cluster.Generation: // it has waited
		p.Record.Cause, p.Requeue = lifecycle.Cause{Reason: a.Reason, Message: a.Message}, heartbeat
		if held != "" {
			p = release(p)
		}
		return p, false
	case a.Verdict == scheduler.Reject:
		return refuse(p, lifecycle.Cause{Reason: a.Reason, Message: a.Message}), false
	case held != "" && held != a.Choice.Scheduler:
		return release(p), false
	}
	s.Choice, s.Start = a.Choice, max(1, s.Start)
	if a.HasObjects() {
		s.HeldBy = a.Choice.Scheduler
	}
	switch {
	case s.HeldBy != held:
		p.Record.State, p.Requeue = Submitted, unknownRetry
		return p, false
	case a.HasObjects():
		p.Actions = append(p.Actions, Action{Kind: Schedule})
	}
	if a.Waits() {
		p.Record.State, p.Record.Generation = Submitted, p.Cluster.Generation
		p.Record.Cause, p.Requeue = lifecycle.Cause{Reason: a.Reason, Message: a.Message}, cmp.Or(a.RetryAfter, heartbeat)
		return p, false
	}
	return p, true
}

// release deletes the scheduler's objects.
func release(p Plan) Plan {
	p.Actions, p.Requeue = append(p.Actions, Action{Kind: Release}), unknownRetry
	p.Record.Scheduling.HeldBy = ""
	return p
}

// decideRunning keeps the objects equal to the spec.
func decideRunning(p Plan) Plan {
	c := p.Cluster
	switch {
	case c.Suspend:
		return stop(p)
	case c.Problem.Reason != "": // an invalid edit stops nothing
		p.Record.Cause = c.Problem
		return p
	}
	p = converge(p)
	p.Record.Cause = lifecycle.Cause{}
	a := p.Observation.Admission
	if a.HasObjects() {
		p.Actions = append(p.Actions, Action{Kind: Schedule})
	}
	if a.RetryAfter > 0 {
		p.Requeue = min(p.Requeue, a.RetryAfter)
	}
	return p
}

// converge applies wanted objects and deletes unwanted ones. It keeps another operator's objects until an edit, because a change would replace their pods.
func converge(p Plan) Plan {
	c, o := p.Cluster, p.Observation
	adopts := p.Record.State == Running && (p.Record.Generation == 0 || p.Record.Generation == c.Generation)
	for _, part := range c.Parts {
		f := o.Found[part.Ref]
		if f.Presence == lifecycle.Present && (f.Same || f.Deleting || adopts && f.Ours && !f.Marked) {
			continue
		}
		p.Actions = append(p.Actions, Action{Kind: Apply, Ref: part.Ref})
	}
	for _, ref := range c.Optional {
		if f := o.Found[ref]; f.Presence == lifecycle.Present && f.Ours && !f.Deleting && !wants(c, ref) {
			p.Actions = append(p.Actions, Action{Kind: Delete, Ref: ref, UID: f.UID})
		}
	}
	p.Record.Generation = c.Generation
	return p
}

// Keep copies fields of an existing StatefulSet that must stay: its selector, its replicas if an autoscaler sets them, and the fixed part of its pods.
func Keep(p Part, wanted, there *unstructured.Unstructured) {
	if p.Kind != "StatefulSet" || there == nil {
		return
	}
	template := []string{"spec", "template"}
	for field, keys := range map[string][]string{"labels": p.Fixed.Labels, "annotations": p.Fixed.Annotations} {
		for _, key := range keys {
			keep(wanted, there, slices.Concat(template, []string{"metadata", field, key})...)
		}
	}
	if p.Fixed.Scheduler {
		keep(wanted, there, slices.Concat(template, []string{"spec", "schedulerName"})...)
	}
	if selector, ok, err := unstructured.NestedMap(there.Object, "spec", "selector"); ok && err == nil {
		_ = unstructured.SetNestedMap(wanted.Object, selector, "spec", "selector") // spec is a map
	}
	if n, ok, err := unstructured.NestedInt64(there.Object, "spec", "replicas"); p.Scaled && ok && err == nil {
		_ = unstructured.SetNestedField(wanted.Object, min(max(n, int64(p.Min)), int64(p.Max)), "spec", "replicas")
	}
}

// keep copies one text field from the existing to the wanted object, or removes it.
func keep(wanted, there *unstructured.Unstructured, path ...string) {
	if value, ok, err := unstructured.NestedString(there.Object, path...); ok && err == nil {
		_ = unstructured.SetNestedField(wanted.Object, value, path...) // they are maps
		return
	}
	unstructured.RemoveNestedField(wanted.Object, path...)
}

func wants(c Cluster, ref Ref) bool {
	for _, part := range c.Parts {
		if part.Ref == ref {
			return true
		}
	}
	return false
}

// stop suspends the cluster. The record is stored before the first delete.
func stop(p Plan) Plan {
	p.Record.State, p.Record.Cause, p.Requeue = Suspended, suspended(p.Cluster, "its pods are being stopped"), unknownRetry
	return p
}

func suspended(c Cluster, then string) lifecycle.Cause {
	return lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: c.SuspendField + " is true: " + then}
}

// decideSuspended deletes the objects that run pods, waits until they are gone, and starts the cluster again when it may.
func decideSuspended(p Plan) Plan {
	if p.Actions = deletions(p, false); len(p.Actions) > 0 {
		p.Requeue = unknownRetry
		return p
	}
	left := leaving(p)
	switch {
	case len(left) > 0:
		p.Record.Cause, p.Requeue = suspended(p.Cluster, "its pods are being stopped: "+text.Some(left)), unknownRetry
	case p.Record.Scheduling.HeldBy != "":
		return release(p)
	case p.Cluster.Suspend:
		p.Record.Cause = suspended(p.Cluster, "there are no pods until it is false")
	default:
		return begin(p, lifecycle.Cause{Reason: lifecycle.ReasonResumed, Message: p.Cluster.SuspendField + " is false again"})
	}
	return p
}

// begin starts the cluster again. The record is stored before the first create.
func begin(p Plan, c lifecycle.Cause) Plan {
	p.Record = Record{State: Submitted, Cause: c, Scheduling: Scheduling{Start: max(1, p.Record.Scheduling.Start) + 1}}
	p.Requeue = unknownRetry
	return p
}

// refuse ends a cluster whose objects cannot be created. The record is stored before the first delete.
func refuse(p Plan, c lifecycle.Cause) Plan {
	p.Record.State, p.Record.Cause, p.Record.Generation, p.Requeue = Refused, c, p.Cluster.Generation, unknownRetry
	return p
}

// decideRefused deletes all created objects.
func decideRefused(p Plan) Plan {
	p.Requeue = unknownRetry
	switch p.Actions = deletions(p, true); {
	case len(p.Actions) > 0 || len(leaving(p)) > 0:
	case p.Record.Scheduling.HeldBy != "":
		return release(p)
	default:
		p.Record.State = Released
	}
	return p
}

// decideOver starts the cluster again after an edit, because the refusal concerned the old spec.
func decideOver(p Plan) Plan {
	if g := p.Record.Generation; g != 0 && g != p.Cluster.Generation && !p.Cluster.Suspend {
		return begin(p, lifecycle.Cause{Reason: ReasonEdited, Message: "the spec was edited: the cluster is restarted"})
	}
	p.Record.Generation = p.Cluster.Generation
	if p.Record.State == Released { // objects that were just created may become visible only now
		p.Actions = deletions(p, true)
	}
	return p
}

// deletions deletes the cluster's objects that run pods, or all its objects, and in both cases the unneeded optional ones.
func deletions(p Plan, all bool) []Action {
	var actions []Action
	add := func(ref Ref) {
		if f := p.Observation.Found[ref]; f.Presence == lifecycle.Present && f.Ours && !f.Deleting {
			actions = append(actions, Action{Kind: Delete, Ref: ref, UID: f.UID})
		}
	}
	for _, part := range p.Cluster.Parts {
		if all || part.Runs {
			add(part.Ref)
		}
	}
	for _, ref := range p.Cluster.Optional {
		if !wants(p.Cluster, ref) {
			add(ref)
		}
	}
	return actions
}

// leaving names the objects that are being deleted, and the remaining pods.
func leaving(p Plan) []string {
	var left []string
	for _, part := range p.Cluster.Parts {
		if f := p.Observation.Found[part.Ref]; f.Presence == lifecycle.Present && f.Ours && f.Deleting {
			left = append(left, part.String())
		}
	}
	for _, role := range []Role{p.Observation.Master, p.Observation.Workers} {
		for _, pod := range role.Pods {
			left = append(left, "pod "+pod)
		}
	}
	return left
}

func taken(ref Ref) lifecycle.Cause {
	return lifecycle.Cause{Reason: lifecycle.ReasonNameConflict,
		Message: ref.String() + " already exists and does not belong to this cluster; delete or rename it"}
}
