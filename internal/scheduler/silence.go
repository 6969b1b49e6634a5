// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Silence is the longest time that a running scheduler needs to process a new pod.
const Silence = time.Minute

// Processed returns when a scheduler first wrote about a pod, by the pod's conditions, and whether it did. For a pod with a
// node that time is unknown.
func Processed(p *PodStatus) (time.Time, bool) {
	if c := p.Condition(corev1.PodScheduled); c.Type != "" {
		return c.LastTransitionTime.Time, true
	}
	return p.CreatedAt, p.Node != ""
}

// ignoredSince returns the creation time of the oldest waiting executor that the scheduler has not processed, if it has
// processed no later pod either: a running scheduler may skip one pod, but not all. Zero if there is none.
func ignoredSince(f PodStatuses, processed func(*PodStatus) (time.Time, bool)) time.Time {
	var last, since time.Time
	pods := append([]PodStatus{*f.Driver}, f.Executors...)
	for i := range pods {
		if at, is := processed(&pods[i]); is && at.After(last) {
			last = at
		}
	}
	for i := range pods {
		p := &pods[i]
		_, is := processed(p)
		if is || !p.Waits() || p.Deleting || p.CreatedAt.IsZero() || p.CreatedAt.Before(last) {
			continue
		}
		if since.IsZero() || p.CreatedAt.Before(since) {
			since = p.CreatedAt
		}
	}
	return since
}

// Voice describes the events that a scheduler writes regularly while anything waits for it.
type Voice struct {
	// Name is the scheduler's name in messages.
	Name string
	// Events is the list of these events, including those about other waiting objects.
	Events Read
	// Pause is the longest time between two events.
	Pause time.Duration
}

// Silence reports that a scheduler has become silent although something has waited for it since a time; "" if it is not silent,
// or if that is unknown, as in a list that may lack events. Without any event the time is unknown, because the API server
// usually deletes events after an hour.
func (s Snapshot) Silence(v Voice, from, now time.Time) string {
	if from.IsZero() || now.Sub(from) < v.Pause || !s.Complete(v.Events) {
		return ""
	}
	items, _ := s[v.Events].Object["items"].([]any)
	for _, item := range items {
		content, _ := item.(map[string]any)
		at := writtenAt(content)
		if now.Sub(at) < v.Pause {
			return ""
		}
		if at.After(from) {
			from = at
		}
	}
	if len(items) == 0 {
		return v.Name + " has become silent; check that it runs"
	}
	return fmt.Sprintf("%s has been silent since %s; check that it runs", v.Name, from.UTC().Format(time.RFC3339))
}

// Sooner returns the shorter of two delays, where 0 means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
