// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Silence is the longest time that a working scheduler needs to process a new pod.
const Silence = time.Minute

// Processed reports whether a scheduler has written about a pod, and when it did so first, by the pod's conditions. For a pod with a node but without the
// condition, the creation time stands for the unknown time.
func Processed(p *PodStatus) (time.Time, bool) {
	if c := p.Condition(corev1.PodScheduled); c.Type != "" {
		return c.LastTransitionTime.Time, true
	}
	return p.CreatedAt, p.Node != ""
}

// ignoredSince returns the creation time of the oldest waiting executor that the scheduler has not processed. It returns zero if there is none, or if the
// scheduler has processed a later pod: a working scheduler may skip one pod, but not all.
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

// Voice describes the events that a scheduler writes regularly while an object waits for it.
type Voice struct {
	// Name is the scheduler's name in messages.
	Name string
	// Events is the list of the scheduler's events, including those about other waiting objects.
	Events Read
	// Pause is the longest time between two events.
	Pause time.Duration
}

// Silence returns a message if a scheduler has become silent although an object has waited for it since from. It returns "" if the scheduler is not silent,
// or if the list may lack events. If the list is empty, the message has no time, because the API server usually deletes events after an hour.
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
