// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// place is where an attempt waits: since when, and for which quotas of its namespace.
type place struct {
	since time.Time
	lines []string
}

// ahead counts who has waited longer than an attempt in its namespace, for each quota.
func (l *Ledger) ahead(a Attempt) map[string]int {
	var ahead map[string]int
	for id, p := range l.waiting[a.App.Namespace] {
		if id == a.ID || p.since.After(a.QueuedAt) || p.since.Equal(a.QueuedAt) && id > a.ID {
			continue
		}
		if ahead == nil {
			ahead = map[string]int{}
		}
		for _, line := range p.lines {
			ahead[line]++
		}
	}
	return ahead
}

// join enters an attempt into the lines for some quotas of its namespace.
func (l *Ledger) join(a Attempt, lines []string) {
	if l.waiting[a.App.Namespace] == nil {
		l.waiting[a.App.Namespace] = map[string]place{}
	}
	l.waiting[a.App.Namespace][a.ID] = place{since: a.QueuedAt, lines: slices.Clone(lines)}
	l.places[a.ID] = a.App.Namespace
}

// leave takes an attempt out of all lines.
func (l *Ledger) leave(id string) {
	namespace, waits := l.places[id]
	if !waits {
		return
	}
	delete(l.places, id)
	delete(l.waiting[namespace], id)
	if len(l.waiting[namespace]) == 0 {
		delete(l.waiting, namespace)
	}
}

// Line returns the attempts that wait for the quotas of a namespace, longest first.
func (l *Ledger) Line(namespace string) []string {
	waiting := l.waiting[namespace]
	return slices.SortedFunc(maps.Keys(waiting), before(waiting))
}

// Heads returns the attempts that wait longest for a quota, longest first.
func (l *Ledger) Heads() []string {
	all := map[string]place{}
	for _, waiting := range l.waiting {
		heads := map[string]string{} // by quota
		for id, p := range waiting {
			for _, line := range p.lines {
				if head, taken := heads[line]; !taken || before(waiting)(id, head) < 0 {
					heads[line] = id
				}
			}
		}
		for _, id := range heads {
			all[id] = waiting[id]
		}
	}
	return slices.SortedFunc(maps.Keys(all), before(all))
}

// before compares attempts by the time since when they wait.
func before(waiting map[string]place) func(x, y string) int {
	return func(x, y string) int {
		return cmp.Or(waiting[x].since.Compare(waiting[y].since), cmp.Compare(x, y))
	}
}
