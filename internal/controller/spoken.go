// SPDX-License-Identifier: Apache-2.0

package controller

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
	// spokenHolds is how long what schedulers said in events is not asked for again.
	spokenHolds = 10 * time.Second
	// spokenLists is how many answers are remembered at most.
	spokenLists = 500
)

// spoken remembers lists of events for a short while: whoever waits in a busy queue is asked about again with each change
// of it, and what its scheduler says about it is the same mostly.
type spoken struct {
	mu    sync.Mutex
	lists map[string]answer
}

type answer struct {
	items []unstructured.Unstructured
	at    time.Time
}

// list fills in the events that the options choose, of now or of a moment ago. Nobody may change them.
func (s *spoken) list(ctx context.Context, live client.Reader, list *unstructured.UnstructuredList, o client.ListOptions, now time.Time) error {
	key := o.Namespace
	for _, selector := range []interface{ String() string }{o.LabelSelector, o.FieldSelector} {
		if key += "?"; selector != nil {
			key += selector.String()
		}
	}
	s.mu.Lock()
	known, ok := s.lists[key]
	s.mu.Unlock()
	if ok && now.Sub(known.at) < spokenHolds {
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
func (s *spoken) remember(key string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.lists = map[string]answer{}
	}
	if len(s.lists) >= spokenLists {
		maps.DeleteFunc(s.lists, func(_ string, old answer) bool { return a.at.Sub(old.at) >= spokenHolds })
	}
	if _, known := s.lists[key]; known || len(s.lists) < spokenLists {
		s.lists[key] = a
	}
}
