// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// scrapePatience is how long a scrape waits for a cache that is being filled.
const scrapePatience = 5 * time.Second

func subjectOf(o client.Object) metrics.Subject {
	return metrics.Subject{Namespace: o.GetNamespace(), Labels: o.GetLabels(), CreatedAt: o.GetCreationTimestamp().Time}
}

// record counts the runs of a stored outcome.
func (e *Engine[S, R]) record(o S, outcome schedule.Outcome) {
	subject := subjectOf(o)
	for _, run := range outcome.Started {
		if run.Reason != "" {
			e.Metrics.RunStarted(subject, string(run.Reason))
		}
	}
	for reason, n := range outcome.Skipped {
		e.Metrics.RunsSkipped(subject, string(reason), n)
	}
	if outcome.Delay >= 0 {
		e.Metrics.RunDelayed(subject, outcome.Delay)
	}
}

// schedules lists the schedules in the operator's namespaces while this replica is the leader.
func (e *Engine[S, R]) schedules(leads func() bool) metrics.ScheduleSource {
	return func(each func(s metrics.Subject, state string)) {
		if !leads() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		all, err := observe.List[S](ctx, e.Reader.Cache, e.Schedules, client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrllog.Log.Error(err, "cannot list schedules for metrics")
		}
		for _, o := range all {
			if e.Watches == nil || e.Watches(o.GetNamespace()) {
				each(subjectOf(o), e.Kind.State(o))
			}
		}
	}
}
