// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Silence is how long a scheduler that runs takes at most until it has processed a new pod.
const Silence = time.Minute

// Processed is when a scheduler first wrote about a pod, and whether it did, as the pod itself shows. Of one that has a node it is not
// known when that was.
func Processed(p *PodStatus) (time.Time, bool) {
	if c := p.Condition(corev1.PodScheduled); c.Type != "" {
		return c.LastTransitionTime.Time, true
	}
	return p.CreatedAt, p.Node != ""
}

// ignoredSince is when the oldest executor was created of those that wait and that the scheduler has not processed, although it has
// processed no pod that came later either: one that runs may leave a pod alone for reasons of its own, but not all that come. Zero if
// there is none.
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

// Voice is how a scheduler is heard while something waits for it: it writes events about that again and again.
type Voice struct {
	// Name is what messages call it.
	Name string
	// Events is the list of these events, those about what others wait for included.
	Events Read
	// Pause is the longest time between two of them.
	Pause time.Duration
}

// Silence says that a scheduler is not heard any more, although something has waited for it from some time on; "" if it is, or if
// that cannot be told, as in a list that may lack events. Without any event it is not known since when: the API server deletes
// them, after an hour as a rule.
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
		return v.Name + " says nothing any more; check that it runs"
	}
	return fmt.Sprintf("%s has said nothing since %s; check that it runs", v.Name, from.UTC().Format(time.RFC3339))
}

// Sooner is the shorter of two times after which to check again, of which 0 is for no need.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
