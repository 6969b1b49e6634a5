// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// scrapePatience bounds how long a scrape waits for a cache that is not filled yet.
const scrapePatience = 5 * time.Second

func subjectOf(o *object) metrics.Subject {
	return metrics.Subject{Namespace: o.Namespace, Labels: o.Labels, CreatedAt: o.CreationTimestamp.Time}
}

// record counts what an outcome, which is stored, says that has happened.
func (e *Engine) record(o *object, outcome schedule.Outcome) {
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

// schedules lists the schedules in the operator's namespaces, once this replica leads.
func (e *Engine) schedules(leads <-chan struct{}) metrics.ScheduleSource {
	return func(each func(s metrics.Subject, state string)) {
		select {
		case <-leads:
		default:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		var all v1beta2.ScheduledSparkApplicationList
		if err := e.Reader.Cache.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
			ctrllog.Log.Error(err, "cannot list schedules for metrics")
			return
		}
		for i := range all.Items {
			if o := &all.Items[i]; e.Watches == nil || e.Watches(o.Namespace) {
				each(subjectOf(o), stateOf(o))
			}
		}
	}
}

// stateOf is the value of the label state.
func stateOf(o *object) string {
	switch {
	case o.Status.ScheduleState == v1beta2.ScheduleStateNew:
		return "New"
	case o.Status.ScheduleState == v1beta2.ScheduleStateScheduled && ptr.Deref(o.Spec.Suspend, false):
		return "Suspended"
	}
	return string(o.Status.ScheduleState)
}
