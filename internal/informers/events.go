// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
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
	// eventPage and eventPages bound an answer: whoever may write events in a namespace can write any number.
	eventPage  = 500
	eventPages = 20
)

// eventFields are what is kept of an event: what schedulers' plugins read. The lists are those of whole namespaces.
var eventFields = []string{"involvedObject", "type", "reason", "message", "lastTimestamp", "eventTime", "series"}

// eventCache keeps lists of events for a short while: an application in a busy queue is checked again with each change
// of it, together with all others that wait there, and what their scheduler says about them is in one list.
type eventCache struct {
	flight singleflight.Group
	mu     sync.Mutex
	lists  map[string]answer
}

type answer struct {
	items []unstructured.Unstructured
	// more is the continue token of a list that was cut; "" if it is whole.
	more string
	at   time.Time
}

// list fills in the events that the options choose, of now or of a moment ago. They must not be changed.
func (s *eventCache) list(ctx context.Context, live client.Reader, list *unstructured.UnstructuredList, o client.ListOptions, now time.Time) error {
	key := o.Namespace
	for _, selector := range []interface{ String() string }{o.LabelSelector, o.FieldSelector} {
		if key += "?"; selector != nil {
			key += selector.String()
		}
	}
	known, ok := s.remembered(key, now)
	if !ok {
		read, err, _ := s.flight.Do(key, func() (any, error) {
			if known, ok := s.remembered(key, now); ok { // another flight has ended meanwhile
				return known, nil
			}
			found, err := readEvents(ctx, live, list, o)
			if found.at = now; err == nil {
				s.remember(key, found)
			}
			return found, err
		})
		if err != nil {
			return err
		}
		known, _ = read.(answer)
	}
	list.Items = known.items
	list.SetContinue(known.more)
	return nil
}

// readEvents reads the events page by page. kind says what a list of them is.
func readEvents(ctx context.Context, live client.Reader, kind *unstructured.UnstructuredList, o client.ListOptions) (answer, error) {
	var found answer
	o.Limit = eventPage
	for range eventPages {
		var page unstructured.UnstructuredList
		page.SetGroupVersionKind(kind.GroupVersionKind())
		if err := live.List(ctx, &page, &o); err != nil {
			return answer{}, err
		}
		for i := range page.Items {
			maps.DeleteFunc(page.Items[i].Object, func(field string, _ any) bool { return !slices.Contains(eventFields, field) })
		}
		found.items = append(found.items, page.Items...)
		found.more = page.GetContinue()
		if o.Continue = found.more; o.Continue == "" {
			break
		}
	}
	return found, nil
}

func (s *eventCache) remembered(key string, now time.Time) (answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.lists[key]
	return known, ok && now.Sub(known.at) < eventsHold
}

// remember keeps an answer if there is room for it once those are gone that are too old.
func (s *eventCache) remember(key string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.lists = map[string]answer{}
	}
	maps.DeleteFunc(s.lists, func(_ string, old answer) bool { return a.at.Sub(old.at) >= eventsHold })
	if _, known := s.lists[key]; known || len(s.lists) < eventLists {
		s.lists[key] = a
	}
}
