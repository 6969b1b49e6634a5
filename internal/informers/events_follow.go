// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// eventsIdle is how long an unused list is followed, and eventsLook the interval of checks for unused lists.
	eventsIdle = 15 * time.Minute
	eventsLook = time.Minute
	// eventWatches bounds the number of followed lists, and eventsFollowed the sum of their events.
	eventWatches   = 500
	eventsFollowed = 100_000
)

// leftOut marks a list in which some events did not fit.
const leftOut = "some are left out"

// begin allows following lists until the context ends.
func (s *eventCache) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = ctx
}

// follow keeps a stored list up to date with a watch from a resource version on. Lists about a single object are not followed, because they are rarely read
// again.
func (s *eventCache) follow(live client.WithWatch, key string, a *answer, version string,
	kind schema.GroupVersionKind, o client.ListOptions, now func() time.Time) {
	if o.FieldSelector != nil {
		if _, one := o.FieldSelector.RequiresExactMatch("involvedObject.name"); one {
			return
		}
	}
	s.mu.Lock()
	life, may := s.life, s.lists[key] == a && s.watches < eventWatches
	s.mu.Unlock()
	if life == nil || !may {
		return
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	o.Limit, o.Continue, o.Raw = 0, "", &metav1.ListOptions{ResourceVersion: version}
	ctx, stop := context.WithCancel(life)
	changes, err := live.Watch(ctx, list, &o)
	if err != nil {
		stop()
		return // the list stays valid for a while and is then read again
	}
	s.mu.Lock()
	a.followed = true
	s.watches, s.followed = s.watches+1, s.followed+len(a.events)
	s.mu.Unlock()
	go func() {
		defer stop()
		s.apply(ctx, a, changes.ResultChan(), now)
		changes.Stop()
		s.forget(key, a)
	}()
}

// apply applies changes until the watch ends or the list is no longer used.
func (s *eventCache) apply(ctx context.Context, a *answer, changes <-chan watch.Event, now func() time.Time) {
	ticker := time.NewTicker(eventsLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s.idle(a, now()) {
				return
			}
		case change, ok := <-changes:
			e, is := change.Object.(*unstructured.Unstructured)
			if !ok || !is || change.Type == watch.Error {
				return
			}
			s.change(a, change.Type, e)
		}
	}
}

func (s *eventCache) idle(a *answer, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(a.askedAt) >= eventsIdle
}

// change applies one change. It drops an event that does not fit.
func (s *eventCache) change(a *answer, what watch.EventType, e *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followed -= len(a.events)
	_, known := a.events[nameOf(e)]
	switch {
	case what == watch.Deleted:
		delete(a.events, nameOf(e))
	case known || len(a.events) < eventPage*eventPages && s.followed+len(a.events) < eventsFollowed:
		a.events[nameOf(e)] = essence(e)
	default:
		a.more = leftOut
	}
	a.sorted = nil
	s.followed += len(a.events)
}

// forget drops a list that is no longer followed. The next caller reads the list again.
func (s *eventCache) forget(key string, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches, s.followed = s.watches-1, s.followed-len(a.events)
	if s.lists[key] == a {
		delete(s.lists, key)
	}
}
