// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Line identifies a waiting line: the attempts that wait for one resource of one quota.
type Line struct {
	// Namespace of the quota; "" for a total of the quotas of all namespaces.
	Namespace string
	Quota     string
	Resource  corev1.ResourceName
}

// Place is an attempt's place in a line, with its request for the line's resource.
type Place struct {
	Line
	Asked resource.Quantity
}

// Order sorts the attempts of a line by priority, then by waiting time. Attempts that have waited longer than AgingBound come before all others, the oldest
// first, and no other attempt passes them. A restart of the operator does not change the order.
type Order struct {
	// Strict forbids an attempt to pass attempts ahead of it. Otherwise it may pass attempts for which there is no room.
	Strict bool
	// Fair applies to lines that namespaces share: attempts of the same priority are sorted by the usage of their namespace relative to its guarantee (Shares).
	Fair bool
	// AgingBound is the time after which an attempt may no longer be passed. With 0, no attempt is ever passed, and age alone counts.
	AgingBound time.Duration
}

// OrderNamed returns the order for its name in the operator's configuration. An unknown name means BestEffortFIFO.
func OrderNamed(name string, agingBound time.Duration) Order {
	return Order{Strict: name == "StrictFIFO", Fair: name == "FairShare", AgingBound: agingBound}
}

// Compare sorts two attempts of a line and ignores the shares of their namespaces. It is negative if the first comes first.
func (o Order) Compare(x, y Attempt, now time.Time) int {
	old := func(a Attempt) bool { return !a.QueuedAt.After(now.Add(-o.AgingBound)) }
	one, other := waiterOf(x, nil).seat, waiterOf(y, nil).seat
	if old(x) || old(y) { // an attempt past the bound is older than one that is not
		return byAge(one, other)
	}
	return byPriority(one, other)
}

// Ahead describes the attempts of one line that are ahead of an attempt.
type Ahead struct {
	// Count is the number of attempts ahead, and Least the smallest request among them.
	Count int
	Least resource.Quantity
	// Fixed counts the attempts ahead that may not be passed, even if there is no room for them.
	Fixed int
	// Kept is set if the attempt is in the line and no other attempt may pass it any more. It stays in the line until it starts, even if the resource is not
	// short. Otherwise others could take one resource while the attempt waits for another.
	Kept bool
}

// Blocks reports whether attempts ahead come first for the remaining amount: the amount suffices for one of them, or one of them may not be passed.
func (h Ahead) Blocks(left resource.Quantity) bool {
	return h.Fixed > 0 || h.Count > 0 && h.Least.Cmp(left) <= 0
}

// Leads reports whether an attempt with this request may be next to start in the line: no attempt ahead is fixed, and all of them request more.
func (h Ahead) Leads(asked resource.Quantity) bool {
	return h.Fixed == 0 && (h.Count == 0 || h.Least.Cmp(asked) > 0)
}

// line holds the attempts that wait for one resource of one quota.
type line struct {
	name    Line
	overdue tree
	// others are below the aging bound. They are one tree, or one tree for each namespace with Order.Fair in a shared line.
	others map[string]*tree
	fair   bool
	// asked is the sum of the requests of all attempts in the line.
	asked resource.Quantity
	usage Usage
}

func newLine(name Line, o Order) *line {
	return &line{name: name, overdue: tree{order: byAge}, others: map[string]*tree{}, fair: o.Fair && name.Namespace == ""}
}

// group returns the key of a seat's tree.
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

// remove deletes an existing seat.
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

// roots returns the roots of all trees.
func (l *line) roots() []*node {
	all := []*node{l.overdue.root}
	for _, t := range l.others {
		all = append(all, t.root)
	}
	return all
}

func (l *line) empty() bool { return l.overdue.root == nil && len(l.others) == 0 }

// age moves attempts that were queued at the limit or earlier to overdue, the front of the line.
func (l *line) age(limit time.Time) {
	for _, t := range l.others {
		for s, found := t.waitingSince(limit); found; s, found = t.waitingSince(limit) {
			l.removeOther(s)
			l.overdue.add(s)
		}
	}
}

// ahead returns the line's part of Outstanding.Ahead for an attempt. The attempt itself is not counted.
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

// nextInLine is the number of attempts that are enqueued after a change of a line. Each attempt that starts enqueues the next ones.
const nextInLine = 8

// next returns the attempts that may start next: the first, the next one with a smaller request, and so on. For any amount of room they include the first
// attempt that fits, unless there are more than nextInLine. The last one has the smallest request of the line.
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

// waiter is an attempt with its lines.
type waiter struct {
	seat
	places []Place
}

func waiterOf(a Attempt, places []Place) waiter {
	return waiter{seat{id: a.ID, app: a.App.Key(), priority: a.Priority, since: a.QueuedAt}, slices.Clone(places)}
}

// in returns the attempt's seat in one of its lines.
func (q waiter) in(p Place) seat {
	s := q.seat
	s.asked = p.Asked
	return s
}

// limit returns the latest queueing time of an attempt that is past the aging bound. It never goes back, although a clock may.
func (l *Ledger) limit(now time.Time) time.Time {
	if t := now.Add(-l.order.AgingBound); t.After(l.aged) {
		l.aged = t
	}
	return l.aged
}

// ahead returns the attempts ahead in the lines that may concern an attempt: those of its namespace and those of all namespaces.
func (l *Ledger) ahead(a Attempt, now time.Time) map[Line]Ahead {
	limit, asks := l.limit(now), waiterOf(a, nil)
	own, waits := l.waiting[a.ID]
	if waits && byPriority(own.seat, asks.seat) != 0 { // otherwise it would be ahead of itself
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

// patienceAfterStart is how long a rebuilt ledger waits for the attempts that waited before the restart. Ten thousand attempts are checked in less time.
const patienceAfterStart = 30 * time.Second

// Expect announces an attempt that waited in a line before the ledger was rebuilt.
func (l *Ledger) Expect(id string, now time.Time) {
	l.expected[id], l.expectedUntil = true, now.Add(patienceAfterStart)
}

// expects reports whether the ledger still waits for other announced attempts.
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

// leave removes an attempt from all lines.
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

// Heads returns the applications that may be next to start in the lines of a namespace and of all namespaces. It takes a few applications of each line, in
// turns: the first of every line before the second of any.
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

// left returns the lines that an attempt has left.
func (l *Ledger) left(before waiter) []Line {
	var lines []Line
	for _, p := range before.places {
		if !slices.ContainsFunc(l.waiting[before.id].places, func(now Place) bool { return now.Line == p.Line }) {
			lines = append(lines, p.Line)
		}
	}
	return lines
}
