// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Usage is the reported usage of one resource of a quota or a scheduler's queue.
type Usage struct {
	Line
	// Used is the usage of all pods, and Limit its maximum.
	Used, Limit resource.Quantity
	// Unlimited is set if there is no limit; Limit is zero then.
	Unlimited bool
	// Guaranteed is the amount that other namespaces must return on demand, and Borrowed the usage beyond it.
	Guaranteed, Borrowed resource.Quantity
}

// Position is an attempt's position in one of its lines.
type Position struct {
	Place
	// Position counts from 1, the head of the line.
	Position int
}

// LineState is a line with sums over its attempts.
type LineState struct {
	// Usage is the usage that the quota reported when an attempt in the line was last checked.
	Usage
	// Waiting is the number of attempts in the line, and Asked the sum of their requests.
	Waiting int
	Asked   resource.Quantity
	// Longest is the longest waiting time of an attempt in the line.
	Longest time.Duration
}

func compareLines(x, y Line) int {
	return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Quota, y.Quota), cmp.Compare(x.Resource, y.Resource))
}

// Positions returns an attempt's position in each of its lines. It is computed on request, because each start changes the positions of all waiting attempts.
func (l *Ledger) Positions(id string, now time.Time) []Position {
	var out []Position
	for _, p := range l.waiting[id].places {
		line, limit := l.lines[p.Namespace][p.Line], l.limit(now)
		line.age(limit)
		out = append(out, Position{Place: p, Position: l.aheadIn(line, l.waiting[id].in(p), limit).All() + 1})
	}
	slices.SortFunc(out, func(x, y Position) int { return compareLines(x.Line, y.Line) })
	return out
}

// Lines returns all lines with waiting attempts. Its run time grows with the number of lines, not of attempts.
func (l *Ledger) Lines(now time.Time) []LineState {
	var out []LineState
	for _, lines := range l.lines {
		for name, line := range lines {
			s := line.state(now)
			s.Line = name
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y LineState) int { return compareLines(x.Line, y.Line) })
	return out
}

func (l *line) state(now time.Time) LineState {
	s := LineState{Usage: l.usage, Asked: l.asked.DeepCopy()}
	for _, t := range l.trees() {
		s.Waiting += t.root.size
		s.Longest = max(s.Longest, now.Sub(t.root.oldest))
	}
	return s
}

// note stores the reported usage of quotas in their lines.
func (l *Ledger) note(all []Usage) {
	for _, u := range all {
		if line := l.lines[u.Namespace][u.Line]; line != nil {
			line.usage = u
		}
	}
}
