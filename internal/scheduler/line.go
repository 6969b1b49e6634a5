// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Line names where attempts wait: for one resource of one quota.
type Line struct {
	// Namespace of the quota; "" for what the quotas of all namespaces have in common.
	Namespace string
	Quota     string
	Resource  corev1.ResourceName
}

// Place is an attempt's place in a line: how much it asks for there.
type Place struct {
	Line
	Asked resource.Quantity
}

// Order says who comes first in a line: higher priority first, then who has waited longer. Attempts that have waited longer than a bound
// come before all others, the oldest first, and none passes them. It depends on nothing that a restart of the operator changes.
type Order struct {
	// Strict lets none pass those that are ahead of it. Else it may pass those for which there is no room.
	Strict bool
	// Fair puts, among those of the same priority, those first in the lines that namespaces share whose namespace uses least of what it is
	// guaranteed (Shares).
	Fair bool
	// AgingBound is how long an attempt may be passed. With 0 none ever is, and age alone counts.
	AgingBound time.Duration
}

// OrderNamed is the order that the operator's configuration calls so. An unknown name is BestEffortFIFO.
func OrderNamed(name string, agingBound time.Duration) Order {
	return Order{Strict: name == "StrictFIFO", Fair: name == "FairShare", AgingBound: agingBound}
}

// Compare says which of two attempts comes first in a line, but for the shares of their namespaces: a negative number for the first.
func (o Order) Compare(x, y Attempt, now time.Time) int {
	old := func(a Attempt) bool { return !a.QueuedAt.After(now.Add(-o.AgingBound)) }
	one, other := waiterOf(x, nil).seat, waiterOf(y, nil).seat
	if old(x) || old(y) { // whoever has not waited for so long is younger
		return byAge(one, other)
	}
	return byPriority(one, other)
}

// Ahead is what one line says of an attempt.
type Ahead struct {
	// Count is how many are ahead of the attempt, and Least the least that one of them asks for.
	Count int
	Least resource.Quantity
	// Fixed is how many of them it may not pass, even if there is no room for them.
	Fixed int
	// Kept is whether the attempt itself stands in the line and none may pass it any more. It stays there until it starts,
	// whether the resource is short or not: else others could take each of two resources while it waits for the other.
	Kept bool
}

// Blocks reports whether others in the line come first when so much is left: there is room for one of them, or they may not
// be passed.
func (h Ahead) Blocks(left resource.Quantity) bool {
	return h.Fixed > 0 || h.Count > 0 && h.Least.Cmp(left) <= 0
}

// Leads reports whether an attempt that asks for so much may be the next to start in the line: there can be room for it where
// there is none for those ahead.
func (h Ahead) Leads(asked resource.Quantity) bool {
	return h.Fixed == 0 && (h.Count == 0 || h.Least.Cmp(asked) > 0)
}

// line is those who wait for one resource of one quota.
type line struct {
	name    Line
	overdue tree
	// others have not waited for long: one tree, or in a line with Order.Fair that namespaces share one for each namespace.
	others map[string]*tree
	fair   bool
	// asked is what all of them ask for together.
	asked resource.Quantity
	usage Usage
}

func newLine(name Line, o Order) *line {
	return &line{name: name, overdue: tree{order: byAge}, others: map[string]*tree{}, fair: o.Fair && name.Namespace == ""}
}

// group is the tree of a seat.
func (l *line) group(s seat) string {
	if l.fair {
		return s.app.Namespace
	}
	return ""
}

func (l *line) add(s seat) {
	group := l.group(s)
	if l.others[group] == nil {
		l.others[group] = &tree{order: byPriority}
	}
	l.others[group].add(s)
	l.asked.Add(s.asked)
}

// remove takes out a seat that is there.
func (l *line) remove(s seat) {
	l.overdue.remove(s)
	l.removeOther(s)
	l.asked.Sub(s.asked)
}

func (l *line) removeOther(s seat) {
	group := l.group(s)
	if t := l.others[group]; t != nil {
		if t.remove(s); t.root == nil {
			delete(l.others, group)
		}
	}
}

// roots are those of all its trees.
func (l *line) roots() []*node {
	all := []*node{l.overdue.root}
	for _, t := range l.others {
		all = append(all, t.root)
	}
	return all
}

func (l *line) empty() bool { return l.overdue.root == nil && len(l.others) == 0 }

// age moves those who have waited since a time or longer to the front.
func (l *line) age(limit time.Time) {
	for _, t := range l.others {
		for s, found := t.waitingSince(limit); found; s, found = t.waitingSince(limit) {
			l.removeOther(s)
			l.overdue.add(s)
		}
	}
}

// ahead is what the line says of an attempt without its own seat.
func (l *line) ahead(s seat, limit time.Time, strict bool, shares Shares) Ahead {
	var h Ahead
	if !s.since.After(limit) {
		h.Count, h.Least = l.overdue.ahead(s)
		h.Fixed = h.Count
		return h
	}
	h.Count, h.Least = l.othersAhead(s, shares)
	if all := l.overdue.root; all != nil {
		if h.Fixed = all.size; h.Count == 0 || all.least.Cmp(h.Least) < 0 {
			h.Least = all.least
		}
		h.Count += all.size
	}
	if strict {
		h.Fixed = h.Count
	}
	return h
}

// nextInLine is how many of a line are enqueued when it moves. Each that starts lets the next ones be enqueued.
const nextInLine = 8

// next returns those who may start next: the first, the next one that asks for less, and so on. Whatever room there is, the first
// for which it suffices is among those, unless they are more than nextInLine. The last one returned asks for the least of all.
func (l *line) next(strict bool, shares Shares) []seat {
	if s, found := l.overdue.first(anything); found {
		return []seat{s}
	}
	var all []seat
	for _, t := range l.others {
		all = append(all, t.falling(nextInLine)...)
	}
	if len(l.others) > 1 {
		l.inOrder(all, shares)
		all = falling(all, nextInLine)
	}
	if strict {
		return all[:min(1, len(all))]
	}
	return all
}

// waiter is an attempt with the lines that it waits in.
type waiter struct {
	seat
	places []Place
}

func waiterOf(a Attempt, places []Place) waiter {
	return waiter{seat{id: a.ID, app: a.App.Key(), priority: a.Priority, since: a.QueuedAt}, slices.Clone(places)}
}

// in is the attempt's seat in one of its lines.
func (q waiter) in(p Place) seat {
	s := q.seat
	s.asked = p.Asked
	return s
}

// limit is since when those have waited at least who may not be passed. It never goes back, as a clock may.
func (l *Ledger) limit(now time.Time) time.Time {
	if t := now.Add(-l.order.AgingBound); t.After(l.aged) {
		l.aged = t
	}
	return l.aged
}

// ahead returns what the lines say that may concern an attempt: those of its namespace, and those of all namespaces.
func (l *Ledger) ahead(a Attempt, now time.Time) map[Line]Ahead {
	limit, asks := l.limit(now), waiterOf(a, nil)
	own, waits := l.waiting[a.ID]
	if waits && byPriority(own.seat, asks.seat) != 0 { // it would be ahead of itself
		l.leave(a.ID)
		defer l.join(own)
	}
	ahead := map[Line]Ahead{}
	for _, namespace := range []string{a.App.Namespace, ""} {
		for name, line := range l.lines[namespace] {
			line.age(limit)
			if h := line.ahead(asks.seat, limit, l.order.Strict, l.shares); h.Count > 0 {
				ahead[name] = h
			}
		}
	}
	if !own.since.After(limit) {
		for _, p := range own.places {
			h := ahead[p.Line]
			h.Kept = true
			ahead[p.Line] = h
		}
	}
	return ahead
}

// patienceAfterStart is how long a ledger that was rebuilt waits for those who waited before: longer than it takes to ask ten thousand of
// them.
const patienceAfterStart = 30 * time.Second

// Expect announces an attempt that waited in a line before the ledger was rebuilt.
func (l *Ledger) Expect(id string, now time.Time) {
	l.expected[id], l.expectedUntil = true, now.Add(patienceAfterStart)
}

// expects reports whether others than an attempt are to be asked first.
func (l *Ledger) expects(id string, now time.Time) bool {
	if !now.Before(l.expectedUntil) {
		clear(l.expected)
	}
	return len(l.expected) > 1 || len(l.expected) == 1 && !l.expected[id]
}

// join enters an attempt into its lines.
func (l *Ledger) join(q waiter) {
	for _, p := range q.places {
		lines := l.lines[p.Namespace]
		if lines == nil {
			lines = map[Line]*line{}
			l.lines[p.Namespace] = lines
		}
		if lines[p.Line] == nil {
			lines[p.Line] = newLine(p.Line, l.order)
		}
		lines[p.Line].add(q.in(p))
	}
	l.waiting[q.id] = q
}

// InLine reports whether an attempt waits in a line.
func (l *Ledger) InLine(id string) bool {
	_, waits := l.waiting[id]
	return waits
}

// leave takes an attempt out of all lines.
func (l *Ledger) leave(id string) {
	q := l.waiting[id]
	delete(l.waiting, id)
	for _, p := range q.places {
		lines := l.lines[p.Namespace]
		line := lines[p.Line]
		if line.remove(q.in(p)); line.empty() {
			delete(lines, p.Line)
		}
		if len(lines) == 0 {
			delete(l.lines, p.Namespace)
		}
	}
}

// Heads returns the applications that may be the next to start in a namespace, and in the lines of all namespaces: few of each line, and
// the first of each line before the second of another.
func (l *Ledger) Heads(namespace string, now time.Time) []Key {
	var lines []Line
	for _, n := range slices.Compact([]string{namespace, ""}) {
		for name := range l.lines[n] {
			lines = append(lines, name)
		}
	}
	return l.heads(lines, now)
}

func (l *Ledger) heads(lines []Line, now time.Time) []Key {
	type turn struct {
		seat
		number int
	}
	var turns []turn
	for _, name := range lines {
		line := l.lines[name.Namespace][name]
		if line == nil {
			continue
		}
		line.age(l.limit(now))
		for i, s := range line.next(l.order.Strict, l.shares) {
			turns = append(turns, turn{s, i})
		}
	}
	slices.SortFunc(turns, func(x, y turn) int { return cmp.Or(cmp.Compare(x.number, y.number), byAge(x.seat, y.seat)) })
	seen := make(map[string]bool, len(turns))
	var apps []Key
	for _, t := range turns {
		if !seen[t.id] {
			seen[t.id] = true
			apps = append(apps, t.app)
		}
	}
	return apps
}

// left are the lines that an attempt was in and is in no more.
func (l *Ledger) left(before waiter) []Line {
	var lines []Line
	for _, p := range before.places {
		if !slices.ContainsFunc(l.waiting[before.id].places, func(now Place) bool { return now.Line == p.Line }) {
			lines = append(lines, p.Line)
		}
	}
	return lines
}
