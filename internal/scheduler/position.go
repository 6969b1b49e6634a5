// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Usage is what a quota, or a queue of a scheduler, reports of one resource.
type Usage struct {
	Line
	// Used is what pods use, and Limit what they may use together.
	Used, Limit resource.Quantity
	// Unlimited says that there is no limit, and Limit is zero.
	Unlimited bool
	// Guaranteed is what other namespaces cannot keep, and Borrowed what is used beyond that.
	Guaranteed, Borrowed resource.Quantity
}

// Position is where an attempt stands in one of its lines.
type Position struct {
	Place
	// Position counts from 1: none is ahead of the first.
	Position int
}

// LineState is a line with all who wait in it, added up.
type LineState struct {
	// Usage is what the quota reported when one that waits in the line was last asked.
	Usage
	// Waiting is how many wait, and Asked what they ask for together.
	Waiting int
	Asked   resource.Quantity
	// Longest is for how long the one has waited that has waited longest.
	Longest time.Duration
}

func compareLines(x, y Line) int {
	return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Quota, y.Quota), cmp.Compare(x.Resource, y.Resource))
}

// Positions returns where an attempt stands in each of its lines. It is computed when it is asked for: the position of all who wait changes
// with each start.
func (l *Ledger) Positions(id string, now time.Time) []Position {
	var out []Position
	for _, p := range l.waiting[id].places {
		line, limit := l.lines[p.Namespace][p.Line], l.limit(now)
		line.age(limit)
		ahead := line.ahead(l.waiting[id].in(p), limit, l.order.Strict, l.shares)
		out = append(out, Position{Place: p, Position: ahead.Count + 1})
	}
	slices.SortFunc(out, func(x, y Position) int { return compareLines(x.Line, y.Line) })
	return out
}

// Lines returns all lines in which any attempt waits. It takes time that grows with their number, not with that of the attempts.
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
	for _, root := range l.roots() {
		if root != nil {
			s.Waiting += root.size
			s.Longest = max(s.Longest, now.Sub(root.oldest))
		}
	}
	return s
}

// note keeps what quotas have reported with their lines.
func (l *Ledger) note(all []Usage) {
	for _, u := range all {
		if line := l.lines[u.Namespace][u.Line]; line != nil {
			line.usage = u
		}
	}
}
