// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// eventKind is the kind that is never watched: there are very many events in a cluster.
	eventKind = "Event"
	// eventsHold is how long what schedulers said in events is not asked for again.
	eventsHold = 10 * time.Second
	// eventLists is how many answers are remembered at most.
	eventLists = 500
)

// eventCache keeps lists of events for a short while: an application in a busy queue is checked again with each change
// of it, and what its scheduler says about it is the same mostly.
type eventCache struct {
	mu    sync.Mutex
	lists map[string]answer
}

type answer struct {
	items []unstructured.Unstructured
	at    time.Time
}

// list fills in the events that the options choose, of now or of a moment ago. They must not be changed.
func (s *eventCache) list(ctx context.Context, live client.Reader, list *unstructured.UnstructuredList, o client.ListOptions, now time.Time) error {
	key := o.Namespace
	for _, selector := range []interface{ String() string }{o.LabelSelector, o.FieldSelector} {
		if key += "?"; selector != nil {
			key += selector.String()
		}
	}
	s.mu.Lock()
	known, ok := s.lists[key]
	s.mu.Unlock()
	if ok && now.Sub(known.at) < eventsHold {
		list.Items = known.items
		return nil
	}
	if err := live.List(ctx, list, &o); err != nil {
		return err
	}
	for i := range list.Items {
		list.Items[i].SetManagedFields(nil)
	}
	s.remember(key, answer{list.Items, now})
	return nil
}

// remember keeps an answer if there is room for it once those are gone that are too old.
func (s *eventCache) remember(key string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.lists = map[string]answer{}
	}
	if len(s.lists) >= eventLists {
		maps.DeleteFunc(s.lists, func(_ string, old answer) bool { return a.at.Sub(old.at) >= eventsHold })
	}
	if _, known := s.lists[key]; known || len(s.lists) < eventLists {
		s.lists[key] = a
	}
}
