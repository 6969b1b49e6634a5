// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// Waiting is a waiting application or cluster.
type Waiting struct {
	Namespace, Name  string
	Scheduler, Queue string
	Since            time.Time
	Why              lifecycle.Cause
	Object           Object
	Positions        []scheduler.Position
	// unknown is set if the positions could not be computed.
	unknown bool
}

// waitingTypes are the kinds that wait in lines of quotas.
var waitingTypes = append(slices.Clone(Families), Clusters, Servers)

// everything selects all objects.
func everything(Object) bool { return true }

// Queued is the result of Queue.
type Queued struct {
	// Waiting are the applications and clusters, the longest wait first.
	Waiting []Waiting
	// Lines are the lines of quotas in which objects wait. Queues are the schedulers' queues in which objects wait.
	Lines, Queues []scheduler.LineState
	// Doubts explains which positions and queues are unknown.
	Doubts []string
}

// Queue returns the waiting objects of a namespace, or of all namespaces. name selects the objects in one queue; "" selects all.
func (c *Cluster) Queue(ctx context.Context, operators Installation, all bool, name string, now time.Time) (Queued, error) {
	var found Queued
	operators.everywhere = all
	items, err := c.ListObjects(ctx, waitingTypes, all, everything)
	if err != nil {
		return found, err
	}
	quotas := false
	for _, item := range items {
		if item.Type == Servers { // servers are listed elsewhere; here they only affect the positions of others
			continue
		}
		w, waits, err := inLineOf(item)
		if err != nil {
			return found, err
		}
		if waits && (name == "" || w.Queue == name) {
			w.Object = item
			found.Waiting = append(found.Waiting, w)
			quotas = quotas || slices.Contains(quotaReasons, w.Why.Reason)
		}
	}
	if quotas {
		q, doubt := c.linesOf(ctx, operators, items, all, now)
		q.enter(found.Waiting, doubt != "")
		found.Lines = q.lines
		if doubt != "" {
			found.Doubts = append(found.Doubts, doubt)
		}
	}
	queues, doubts := c.queuesOf(ctx, operators, found.Waiting, now)
	found.Queues, found.Doubts = queues, append(found.Doubts, doubts...)
	slices.SortStableFunc(found.Waiting, func(a, b Waiting) int { return a.Since.Compare(b.Since) })
	return found, nil
}

// inLineOf returns an object's wait with its start and its reason; waits is false if the object does not wait.
func inLineOf(o Object) (w Waiting, waits bool, err error) {
	if o.ReadCluster != nil {
		cluster, err := o.LoadCluster(o.Object, resolve.Operator{}, time.Time{})
		if err != nil {
			return w, false, err
		}
		w, waits = waitingCluster(o, cluster)
		return w, waits, nil
	}
	a, err := o.Load(o.Object, resolve.Operator{}, time.Time{})
	if err != nil {
		return w, false, err
	}
	w, waits = waitingOf(a)
	return w, waits, nil
}

// waitingCluster returns the wait of a cluster for its start or for a running master.
func waitingCluster(o Object, c kinds.ClusterReading) (Waiting, bool) {
	r := c.Record
	w := Waiting{
		Namespace: o.GetNamespace(), Name: o.Typed(o.GetName()), Since: c.Start.QueuedAt, Why: explain.ClusterCause(c.Conditions),
		Scheduler: r.Scheduling.Scheduler, Queue: r.Scheduling.Queue,
	}
	switch {
	case c.Desired.Probe || c.Desired.Suspend:
		return w, false
	case r.State == standalone.New && len(c.Conditions) == 0:
		w.Why.Message = "the operator has not reconciled it yet"
	case r.State.Starts():
	case r.State == standalone.Running && c.Pods != nil && c.Pods.Master.Ready == 0 && w.Why.Reason != standalone.ReasonPodsNotReady:
		w.Since = c.Since
	default:
		return w, false
	}
	return w, true
}

// waitingOf returns the wait of an application. A new application waits for the operator.
func waitingOf(a Application) (Waiting, bool) {
	r, wanted := a.Record, a.App
	w := Waiting{
		Namespace: a.GetNamespace(), Name: a.GetName(), Since: a.GetCreationTimestamp().Time, Why: explain.Cause(r, a.Conditions),
		Scheduler: cmp.Or(r.Scheduling.Scheduler, wanted.Scheduling.Scheduler), Queue: cmp.Or(r.Scheduling.Queue, wanted.Scheduling.Queue),
	}
	switch {
	case r.State == lifecycle.New:
		w.Why.Message = "the operator has not reconciled it yet"
	case r.State.Starting():
		if !r.QueuedAt.IsZero() {
			w.Since = r.QueuedAt
		}
	case r.State == lifecycle.Submitted:
		w.Since = r.SubmittedAt
	default:
		return w, false
	}
	return w, true
}

// Position returns the largest position of the object, because it starts when its turn has come in all lines.
func (x Waiting) Position() string {
	switch {
	case x.unknown:
		return "?"
	case len(x.Positions) == 0:
		return "-"
	}
	last := slices.MaxFunc(x.Positions, func(a, b scheduler.Position) int { return cmp.Compare(a.Position, b.Position) })
	return strconv.Itoa(last.Position)
}
