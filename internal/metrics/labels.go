// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/firesteel-dev/firesteel/internal/config"
)

const (
	// unknown is the value of a missing label, the same as in the Kubeflow operator.
	unknown = "Unknown"
	// other replaces all values beyond the bound.
	other = "Other"
	// maxReasons bounds the reasons. Scheduler plugins may add some.
	maxReasons = 100
	// maxSchedulers and maxQueues bound names that users write, including typos.
	maxSchedulers, maxQueues = 20, 100
)

// Indexes into limiter.seen, after the configured keys.
const (
	reasons = iota
	schedulers
	queues
	ownLabels
)

// limiter converts users' texts to label values, and bounds their number. The first values of a process get a place, and keep their series while the process
// runs. If no place is left, the namespace with the most values loses one to a namespace with fewer, so that no namespace can take all places.
type limiter struct {
	keys, names []string
	max         int
	// evicted is called with a configured label and the value that lost its place; nil for no call.
	evicted func(name, value string)

	mu sync.Mutex
	// seen has the values of each configured key, followed by the values of the operator's own labels.
	seen []shares
}

// shares has the values of one label with their namespaces, and the values of each namespace.
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

// evict removes the last value of the namespace with the most values, if that namespace still keeps more values than the given one.
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

// values returns an application's values of the configured labels. The capacity equals the length, so that two appends do not share memory.
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

// reason returns the label value of a reason. Reasons belong to no namespace, because plugins choose them.
func (l *limiter) reason(r string) string {
	if r == "" {
		return unknown
	}
	return l.bounded(len(l.keys)+reasons, "", r, maxReasons)
}

func (l *limiter) scheduler(namespace, name string) string {
	return l.bounded(len(l.keys)+schedulers, namespace, orUnknown(name), maxSchedulers)
}

// queue returns the label value of a queue. It is "" for an application without a queue, because most schedulers have none.
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

// lookup returns the value of the label key. If there is none, it takes the first label, by name, whose key has the same Prometheus name: app_type finds
// app-type.
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

// means reports whether config.LabelName(key) is name, without an allocation.
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

// allowed are the bytes that LabelName keeps.
var allowed = []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
