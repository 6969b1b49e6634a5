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
	// eventKind is the kind that is never watched as a whole: there are very many events in a cluster.
	eventKind = "Event"
	// eventsHold is how long what schedulers said in events is not asked for again where it is not followed.
	eventsHold = 10 * time.Second
	// eventLists is how many answers are remembered at most that are not followed.
	eventLists = 500
	// eventPage and eventPages bound an answer: whoever may write events in a namespace can write any number.
	eventPage  = 500
	eventPages = 20
	// eventWords is how long a text of an event may be, in bytes; the rest is left out.
	eventWords = 1024
)

// eventCache keeps lists of events: an application in a busy queue is checked again with each change of it, together with all others
// that wait there, and what their scheduler says about them is in one list. A list is read when the first one asks, and followed by a
// watch from then on, as long as anyone asks. It is read again when the watch has ended, which the API server sees to now and then.
type eventCache struct {
	flight singleflight.Group

	mu sync.Mutex
	// life is how long answers are followed; nil as long as none is.
	life  context.Context
	lists map[string]*answer
	// watches is how many answers are followed, and followed how many events they have together.
	watches, followed int
}

// answer is what is known of the events that are asked for together.
type answer struct {
	events map[string]unstructured.Unstructured // by name
	// sorted are they in the order of their names; nil after a change.
	sorted []unstructured.Unstructured
	// more is not "" if some are left out.
	more        string
	at, askedAt time.Time
	followed    bool
}

// list fills in the events that the options choose, of now or of a moment ago. They must not be changed.
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

// read reads an answer once for all that ask for it meanwhile.
func (s *eventCache) read(ctx context.Context, live client.WithWatch, key string, list *unstructured.UnstructuredList,
	o client.ListOptions, now func() time.Time) (*answer, error) {
	found, err, _ := s.flight.Do(key, func() (any, error) {
		if known := s.known(key, now()); known != nil { // another flight has ended meanwhile
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

// readEvents reads the events page by page. kind says what a list of them is. The text is the version of the cluster that they are of.
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

// essence is what schedulers' plugins read of an event. Anyone who may write events can write long ones.
func essence(e *unstructured.Unstructured) unstructured.Unstructured {
	out := map[string]any{}
	for _, path := range [][]string{{"involvedObject", "name"}, {"involvedObject", "uid"}, {"type"}, {"reason"}, {"message"},
		{"lastTimestamp"}, {"eventTime"}, {"series", "lastObservedTime"}} {
		if text, found, _ := unstructured.NestedString(e.Object, path...); found {
			_ = unstructured.SetNestedField(out, strings.ToValidUTF8(text[:min(len(text), eventWords)], ""), path...) // what is there are maps
		}
	}
	return unstructured.Unstructured{Object: out}
}

// fill shows what is known, in the order of the events' names.
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

// known is an answer that is good enough; nil if there is none.
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

// remember keeps an answer if there is room for it once those are gone that are too old.
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
