// SPDX-License-Identifier: Apache-2.0

package eventrecorder

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"

	"github.com/firesteel-dev/firesteel/internal/metrics"
)

// Budgets of events about one object, and about all objects of a namespace: a burst, and a rate per second. An attempt has up to eight events, and an
// application restarts up to 60 times an hour. A thousand applications created at once have 3,000 events.
const (
	objectBurst, objectRate       = 60, rate.Limit(0.1)
	namespaceBurst, namespaceRate = 5000, rate.Limit(100)
)

// The number of objects and namespaces with a stored budget; all others have a full budget. They take 5 MB.
const objectsRemembered, namespacesRemembered = 10_000, 1_000

// reasonEventsDropped is the reason of the event that reports an object's exhausted budget.
const reasonEventsDropped = "EventsDropped"

// eventBudget limits the events of objects and namespaces, so that many events about one do not displace the events about others.
type eventBudget struct {
	mu                  sync.Mutex
	objects, namespaces *lru.Cache
}

type bucket struct {
	*rate.Limiter
	// reported is set while an exhausted budget is already reported. It is cleared when the budget is full again.
	reported bool
}

func newEventBudget() *eventBudget {
	return &eventBudget{objects: lru.New(objectsRemembered), namespaces: lru.New(namespacesRemembered)}
}

// take takes one event about an object from the budgets. exceeded names the exhausted budget, "" for none; first is set if this is not reported yet.
func (b *eventBudget) take(about *corev1.ObjectReference, now time.Time) (exceeded metrics.EventLimit, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	object := corev1.ObjectReference{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name} // a recreated object has another UID and shares the budget
	if ok, first := allow(b.objects, object, objectRate, objectBurst, now); !ok {
		return metrics.EventsOfObject, first
	}
	if ok, first := allow(b.namespaces, about.Namespace, namespaceRate, namespaceBurst, now); !ok {
		return metrics.EventsOfNamespace, first
	}
	return "", false
}

// allow takes one event from the budget of a key. The caller holds the lock.
func allow(buckets *lru.Cache, key lru.Key, limit rate.Limit, burst int, now time.Time) (ok, first bool) {
	found, _ := buckets.Get(key)
	b, known := found.(*bucket)
	if !known {
		b = &bucket{Limiter: rate.NewLimiter(limit, burst)}
		buckets.Add(key, b)
	}
	if b.TokensAt(now) >= float64(burst) {
		b.reported = false
	}
	if b.AllowN(now, 1) {
		return true, false
	}
	first, b.reported = !b.reported, true
	return false, first
}
