// SPDX-License-Identifier: Apache-2.0

package application

import (
	"cmp"
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
)

// timed is a kind that measures the time between its own states.
type timed[T client.Object] interface {
	// StateChanges returns the state changes that the status of after adds to the status of before, in order.
	StateChanges(before, after T) []lifecycle.StateChange
}

func (e *Engine[T]) subject(o client.Object) metrics.Subject {
	return metrics.Subject{
		Namespace: o.GetNamespace(), Labels: o.GetLabels(), CreatedAt: o.GetCreationTimestamp().Time, Server: e.Kind.Family().Endures,
	}
}

// scrapePatience is how long a scrape waits for a cache that is being filled.
const scrapePatience = 5 * time.Second

// applications lists the applications in the operator's namespaces while this replica is the leader. With a selector the cache also has applications of other
// namespaces, which may belong to another operator.
func (e *Engine[T]) applications(leads func() bool) metrics.Source {
	return func(each func(metrics.Subject, metrics.View)) bool {
		if !leads() {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		all, err := observe.List[T](ctx, e.Cache, e.List, client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrllog.Log.Error(err, "cannot list applications for metrics")
			return true
		}
		now := e.Clock.Now()
		for _, o := range all {
			if e.watches(o.GetNamespace()) {
				each(e.subject(o), e.view(o, now))
			}
		}
		return true
	}
}

// view returns the state of an application, and its wait before or after the creation of its driver pod.
func (e *Engine[T]) view(o T, now time.Time) metrics.View {
	r := e.Kind.FromStatus(o)
	v := metrics.View{
		State: r.State, Scheduler: r.Scheduling.Scheduler, Queue: r.Scheduling.Queue, Draining: !r.DrainSince.IsZero(), Idle: !r.Idle.StoppedAt.IsZero(),
	}
	if !r.State.Final() {
		v.Pending, v.Running = r.Counts.Pending, r.Counts.Running
	}
	since := r.QueuedAt
	switch {
	case r.State == lifecycle.Submitted:
		since = r.SubmittedAt
		v.Reason = cmp.Or(e.Kind.DriverWaits(o), string(lifecycle.ReasonDriverPending))
	case r.State == lifecycle.Running && e.Kind.Family().Endures:
		v.Ready = e.Kind.DriverWaits(o) == string(lifecycle.ReasonDriverRunning)
	case r.State.Starting():
		v.Reason = cmp.Or(string(r.Cause.Reason), string(lifecycle.ReasonNotSubmitted))
	}
	if v.Reason != "" && !since.IsZero() {
		v.Waiting = max(0, now.Sub(since))
	}
	return v
}
