// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// eventKind is never watched as a whole, because clusters have very many events.
	eventKind = "Event"
	// eventsHold is how long a list is cached that no watch follows.
	eventsHold = 10 * time.Second
	// eventLists bounds the number of cached lists that no watch follows.
	eventLists = 500
	// eventPage and eventPages bound the size of a list, because users may write any number of events.
	eventPage  = 500
	eventPages = 20
	// eventWords bounds each text of an event, in bytes. The rest is cut.
	eventWords = 1024
)

// eventCache caches lists of events. Each change in a busy queue causes checks of all its applications, and one list has their scheduler's events about all
// of them. The first check reads the list. A watch then follows the list while it is in use. When the API server ends the watch, which it does regularly, the
// list is read again.
type eventCache struct {
	flight singleflight.Group

	mu sync.Mutex
	// life bounds the watches that follow lists; nil while none may be followed.
	life  context.Context
	lists map[string]*answer
	// watches counts the followed lists, and followed their events.
	watches, followed int
}

// answer has the known events of one cached list.
type answer struct {
	events map[string]unstructured.Unstructured // by name
	// sorted has the events sorted by name; nil after a change.
	sorted []unstructured.Unstructured
	// more is not "" if some events did not fit.
	more        string
	at, askedAt time.Time
	followed    bool
}

// list returns the selected events. They may be slightly outdated, and they are read-only.
func (s *eventCache) list(ctx context.Context, live client.WithWatch, list *unstructured.UnstructuredList, o client.ListOptions, now func() time.Time) error {
	key := o.Namespace
	for _, selector := range []interface{ String() string }{o.LabelSelector, o.FieldSelector} {
		if key += "?"; selector != nil {
			key += selector.String()
		}
	}
	known := s.known(key, now())
	if known == nil {
		var err error
		if known, err = s.read(ctx, live, key, list, o, now); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known.fill(list)
	return nil
}

// read reads a list once for all concurrent callers.
func (s *eventCache) read(ctx context.Context, live client.WithWatch, key string, list *unstructured.UnstructuredList,
	o client.ListOptions, now func() time.Time) (*answer, error) {
	found, err, _ := s.flight.Do(key, func() (any, error) {
		if known := s.known(key, now()); known != nil { // a concurrent call has read the list
			return known, nil
		}
		found, version, err := readEvents(ctx, live, list, o)
		if err != nil {
			return nil, err
		}
		s.remember(key, found, now())
		s.follow(live, key, found, version, list.GroupVersionKind(), o, now)
		return found, nil
	})
	answer, _ := found.(*answer)
	return answer, err
}

// readEvents reads events in pages. kind is an empty list of their kind. The text is the resource version of the result.
func readEvents(ctx context.Context, live client.Reader, kind *unstructured.UnstructuredList, o client.ListOptions) (*answer, string, error) {
	found, version := &answer{events: map[string]unstructured.Unstructured{}}, ""
	o.Limit = eventPage
	for range eventPages {
		var page unstructured.UnstructuredList
		page.SetGroupVersionKind(kind.GroupVersionKind())
		if err := live.List(ctx, &page, &o); err != nil {
			return nil, "", err
		}
		for i := range page.Items {
			found.events[nameOf(&page.Items[i])] = essence(&page.Items[i])
		}
		version, found.more = page.GetResourceVersion(), page.GetContinue()
		if o.Continue = found.more; o.Continue == "" {
			break
		}
	}
	return found, version, nil
}

func nameOf(e *unstructured.Unstructured) string { return e.GetNamespace() + "/" + e.GetName() }

// essence returns the part of an event that scheduler plugins read, because users may write very long events.
func essence(e *unstructured.Unstructured) unstructured.Unstructured {
	out := map[string]any{}
	for _, path := range [][]string{{"involvedObject", "name"}, {"involvedObject", "uid"}, {"type"}, {"reason"}, {"message"},
		{"lastTimestamp"}, {"eventTime"}, {"series", "lastObservedTime"}} {
		if text, found, _ := unstructured.NestedString(e.Object, path...); found {
			_ = unstructured.SetNestedField(out, strings.ToValidUTF8(text[:min(len(text), eventWords)], ""), path...) // all levels of the path are maps
		}
	}
	return unstructured.Unstructured{Object: out}
}

// fill copies the known events, sorted by name.
func (a *answer) fill(list *unstructured.UnstructuredList) {
	if a.sorted == nil {
		a.sorted = make([]unstructured.Unstructured, 0, len(a.events))
		for _, name := range slices.Sorted(maps.Keys(a.events)) {
			a.sorted = append(a.sorted, a.events[name])
		}
	}
	list.Items = slices.Clip(a.sorted)
	list.SetContinue(a.more)
}

// known returns a cached list that is recent enough; nil if there is none.
func (s *eventCache) known(key string, now time.Time) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.lists[key]
	if known == nil || !known.followed && now.Sub(known.at) >= eventsHold {
		return nil
	}
	known.askedAt = now
	return known
}

// remember stores a list if there is room after outdated lists are removed.
func (s *eventCache) remember(key string, a *answer, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.at, a.askedAt = now, now
	if s.lists == nil {
		s.lists = map[string]*answer{}
	}
	maps.DeleteFunc(s.lists, func(_ string, old *answer) bool { return !old.followed && now.Sub(old.at) >= eventsHold })
	if _, known := s.lists[key]; known || len(s.lists)-s.watches < eventLists {
		s.lists[key] = a
	}
}
