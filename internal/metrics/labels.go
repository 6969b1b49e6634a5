// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/firesteel-dev/firesteel/internal/config"
)

const (
	// unknown is the value of a label that an application does not have, as the Kubeflow operator calls it.
	unknown = "Unknown"
	// other is the value of everything beyond the bound.
	other = "Other"
	// maxReasons bounds reasons, which scheduler plugins may add to.
	maxReasons = 100
	// maxSchedulers and maxQueues bound names that users write, mistakes among them.
	maxSchedulers, maxQueues = 20, 100
)

// What limiter.seen has behind the configured keys.
const (
	reasons = iota
	schedulers
	queues
	ownLabels
)

// limiter makes label values of what users write, and bounds their number. The first values of a process have it, so
// that a value keeps its series as long as the process runs, unless its namespace has more of them than another one that has no
// room: what one namespace writes does not take the values of the others.
type limiter struct {
	keys, names []string
	max         int
	// evicted is called with a configured label and a value that it has no more; nil for nothing.
	evicted func(name, value string)

	mu sync.Mutex
	// seen are the values of each key, and at last those of our own labels.
	seen []shares
}

// shares are the values of one label: of each the namespace that brought it, and of each namespace its values.
type shares struct {
	owner map[string]string
	of    map[string][]string
}

func newShares() shares { return shares{owner: map[string]string{}, of: map[string][]string{}} }

// add adds a value of a namespace.
func (s shares) add(namespace, value string) {
	s.owner[value] = namespace
	s.of[namespace] = append(s.of[namespace], value)
}

// evict takes the last value from the namespace that has most, if that keeps more than another one has.
func (s shares) evict(namespace string) (value string, ok bool) {
	most := ""
	for n, values := range s.of {
		if len(values) > len(s.of[most]) || len(values) == len(s.of[most]) && n < most {
			most = n
		}
	}
	values := s.of[most]
	if len(values) <= len(s.of[namespace])+1 {
		return "", false
	}
	value = values[len(values)-1]
	s.of[most] = values[:len(values)-1]
	delete(s.owner, value)
	return value, true
}

func newLimiter(keys []string, bound int) *limiter {
	l := &limiter{keys: keys, max: bound}
	for _, key := range keys {
		l.names = append(l.names, config.LabelName(key))
		l.seen = append(l.seen, newShares())
	}
	for range ownLabels {
		l.seen = append(l.seen, newShares())
	}
	return l
}

// values returns the values of the configured labels for an application. There is no room behind them, so that two that
// append to them do not share it.
func (l *limiter) values(s Subject) []string {
	out := make([]string, 0, len(l.keys))
	for i, key := range l.keys {
		value := s.Namespace
		if key != config.NamespaceLabel {
			value = lookup(s.Labels, key, l.names[i])
		}
		out = append(out, l.bounded(i, s.Namespace, value, l.max))
	}
	return out
}

// reason is of no namespace: plugins choose it.
func (l *limiter) reason(r string) string {
	if r == "" {
		return unknown
	}
	return l.bounded(len(l.keys)+reasons, "", r, maxReasons)
}

func (l *limiter) scheduler(namespace, name string) string {
	return l.bounded(len(l.keys)+schedulers, namespace, orUnknown(name), maxSchedulers)
}

// queue leaves an application without a queue without a value: most schedulers have none.
func (l *limiter) queue(namespace, name string) string {
	if name == "" {
		return ""
	}
	return l.bounded(len(l.keys)+queues, namespace, name, maxQueues)
}

func (l *limiter) bounded(i int, namespace, value string, bound int) string {
	if value == unknown || value == other {
		return value
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen[i]
	if _, known := seen.owner[value]; known {
		return value
	}
	if len(seen.owner) >= bound {
		gone, ok := seen.evict(namespace)
		if !ok {
			return other
		}
		if i < len(l.names) && l.evicted != nil {
			l.evicted(l.names[i], gone)
		}
	}
	seen.add(namespace, value)
	return value
}

// lookup returns the value of the label that has the key, or else of the first in the order of the alphabet whose key
// means the same in Prometheus: app-type is found by app_type.
func lookup(labels map[string]string, key, name string) string {
	if value, ok := labels[key]; ok {
		return orUnknown(value)
	}
	found := ""
	for k := range labels {
		if means(k, name) && (found == "" || k < found) {
			found = k
		}
	}
	return orUnknown(labels[found])
}

func orUnknown(value string) string {
	if value == "" {
		return unknown
	}
	return value
}

// means reports whether config.LabelName(key) is name, without making it.
func means(key, name string) bool {
	if key != "" && key[0] >= '0' && key[0] <= '9' {
		rest, found := strings.CutPrefix(name, "_")
		if !found {
			return false
		}
		name = rest
	}
	if len(key) != len(name) {
		return false
	}
	for i := range len(key) {
		if c := key[i]; c != name[i] && (name[i] != '_' || slices.Contains(allowed, c)) {
			return false
		}
	}
	return true
}

// allowed are the bytes that LabelName leaves as they are.
var allowed = []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
