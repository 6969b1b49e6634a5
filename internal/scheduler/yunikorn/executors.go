// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// short observes executors without a node whose driver has a node. As for a driver, YuniKorn reports a full queue and the queueing of a pod in events only.
func short(a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) scheduler.Observation {
	cause, heard := executorWords(a, s, f)
	certain := s.Complete(podEvents(a))
	o := scheduler.Executors(a, f, scheduler.ReasonWaitingForCapacity, func(p *scheduler.PodStatus) (time.Time, bool) {
		if at, is := heard[p.UID]; is {
			return at, true
		}
		at, is := scheduler.Processed(p)
		if !certain || f.Now.Sub(p.CreatedAt) >= eventsLast { // a missing event proves nothing here
			return p.CreatedAt, true
		}
		return at, is
	})
	first := oldest(f)
	switch left := first.Add(settled).Sub(f.Now); {
	case o.Reason == scheduler.ReasonWaitingForScheduler:
		o.RetryAfter = eventsRetry
	case cause != "":
		o.Message += "; YuniKorn says: " + cause
	case first.IsZero():
	case left > 0 && certain:
		o.Reason, o.RetryAfter = scheduler.ReasonWaitingForScheduler, left
		o.Message += "; YuniKorn has not reported a reason yet"
	case len(heard) == 0 && o.RetryAfter == 0:
		o.Message += unheard
	}
	return o
}

// executorWords returns YuniKorn's last message about the wait of the attempt's executors, and for each executor, by UID, the time of the last event.
func executorWords(a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) (cause string, heard map[string]time.Time) {
	waiting, uids := map[string]bool{}, map[string]bool{}
	for i := range f.Executors {
		if e := &f.Executors[i]; e.Waits() {
			waiting[e.Name], uids[e.UID] = true, true
		}
	}
	heard = map[string]time.Time{}
	for _, e := range s.Events(podEvents(a), func(name string) bool { return waiting[name] }) {
		if !uids[e.UID] {
			continue
		}
		if heard[e.UID] = e.At; says(e) {
			cause = e.Message
		}
	}
	return cause, heard
}

// oldest returns the creation time of the first waiting executor; zero if none waits, or if a condition explains the wait of one. YuniKorn first reports
// that it queued a pod; until it reports more, the reason is unknown.
func oldest(f scheduler.PodStatuses) time.Time {
	var first time.Time
	for i := range f.Executors {
		e := &f.Executors[i]
		if !e.Waits() {
			continue
		}
		if e.Condition(corev1.PodScheduled).Status == corev1.ConditionFalse {
			return time.Time{}
		}
		if first.IsZero() || e.CreatedAt.Before(first) {
			first = e.CreatedAt
		}
	}
	return first
}
