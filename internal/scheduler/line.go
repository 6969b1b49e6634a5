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
	// Left is the room that was left in the quota when the attempt was checked. It is negative if more is reserved than left.
	Left resource.Quantity
}

// line holds the attempts that wait for one resource of one quota.
type line struct {
	name Line
	// groups hold the attempts of each namespace in a line that namespaces share. Another line is one group.
	groups map[string]*group
	// asked is the sum of the requests of all attempts in the line.
	asked resource.Quantity
	usage Usage
}

// group holds attempts past the aging bound, and the others.
type group struct{ overdue, others tree }

func newLine(name Line) *line { return &line{name: name, groups: map[string]*group{}} }

// group returns the key of a seat's group.
func (l *line) group(s seat) string {
	if l.name.Namespace == "" {
		return s.app.Namespace
	}
	return ""
}

func (l *line) add(s seat) {
	name := l.group(s)
	if l.groups[name] == nil {
		l.groups[name] = &group{overdue: tree{order: byTurn}, others: tree{order: byPriority}}
	}
	l.groups[name].others.add(s)
	l.asked.Add(s.asked)
}

// remove deletes an existing seat.
func (l *line) remove(s seat) {
	name := l.group(s)
	g := l.groups[name]
	g.overdue.remove(s)
	g.others.remove(s)
	if l.asked.Sub(s.asked); g.overdue.root == nil && g.others.root == nil {
		delete(l.groups, name)
	}
}

// trees returns all trees with seats.
func (l *line) trees() []*tree {
	all := make([]*tree, 0, 2*len(l.groups))
	for _, g := range l.groups {
		for _, t := range []*tree{&g.overdue, &g.others} {
			if t.root != nil {
				all = append(all, t)
			}
		}
	}
	return all
}

func (l *line) empty() bool { return len(l.groups) == 0 }

// age moves attempts that were queued at the limit or earlier to the front of their group.
func (l *line) age(limit time.Time) {
	for _, g := range l.groups {
		for s, found := g.others.waitingSince(limit); found; s, found = g.others.waitingSince(limit) {
			g.others.remove(s)
			g.overdue.add(s)
		}
	}
}

// compare compares two seats. In a line that namespaces share, the shares of the namespaces decide first.
func (l *line) compare(x, y seat, limit time.Time, shares Shares) int {
	return cmp.Or(cmp.Compare(shares.of(l.name, l.group(x)), shares.of(l.name, l.group(y))), inLine(x, y, limit))
}

// ahead returns the number of attempts ahead of a seat, without the seat itself, and the smallest request among them.
func (l *line) ahead(s seat, limit time.Time, shares Shares) (count int, least resource.Quantity) {
	note := func(n int, asked resource.Quantity) {
		if n > 0 && (count == 0 || asked.Cmp(least) < 0) {
			least = asked
		}
		count += n
	}
	all := func(n *node) {
		if n != nil {
			note(n.size, n.least)
		}
	}
	own := shares.of(l.name, l.group(s))
	for name, g := range l.groups {
		switch c := cmp.Compare(shares.of(l.name, name), own); {
		case c > 0:
		case c < 0:
			all(g.overdue.root)
			all(g.others.root)
		case !s.since.After(limit):
			note(g.overdue.ahead(s))
		default:
			all(g.overdue.root)
			note(g.others.ahead(s))
		}
	}
	return count, least
}

// nextInLine is the number of attempts that are enqueued after a change of a line. Each attempt that starts enqueues the next ones.
const nextInLine = 8

// next returns the attempts that may start next: the first, the next one with a smaller request, and so on. For any amount of room they include the first
// attempt that fits, unless there are more than nextInLine. The last one has the smallest request of the line.
func (l *line) next(limit time.Time, strict bool, shares Shares) []seat {
	trees, least := l.trees(), l.least()
	var all []seat
	for most := nextInLine; len(all) < most; {
		fits := anything
		switch {
		case len(all) == most-1:
			fits = func(q resource.Quantity) bool { return q.Cmp(least) <= 0 }
		case len(all) > 0:
			last := all[len(all)-1].asked
			fits = func(q resource.Quantity) bool { return q.Cmp(last) < 0 }
		}
		next, found := l.first(trees, fits, limit, shares)
		if !found || len(all) > 0 && next.id == all[len(all)-1].id {
			break
		}
		if all = append(all, next); strict {
			break
		}
	}
	return all
}

// first returns the first seat of some trees whose request fits.
func (l *line) first(trees []*tree, fits func(resource.Quantity) bool, limit time.Time, shares Shares) (first seat, found bool) {
	for _, t := range trees {
		s, ok := t.first(fits)
		if ok && (!found || l.compare(s, first, limit, shares) < 0) {
			first, found = s, true
		}
	}
	return first, found
}

// least returns the smallest request in the line.
func (l *line) least() (least resource.Quantity) {
	for i, t := range l.trees() {
		if i == 0 || t.root.least.Cmp(least) < 0 {
			least = t.root.least
		}
	}
	return least
}

// waiter is an attempt with its lines.
type waiter struct {
	seat
	places []Place
}

func waiterOf(a Attempt, places []Place) waiter {
	return waiter{seat{id: a.ID, app: a.App.Key(), priority: a.Priority, since: a.QueuedAt, turn: a.QueuedAt}, slices.Clone(places)}
}

// waiterOf returns the attempt with its turn among those past the aging bound.
func (l *Ledger) waiterOf(a Attempt, places []Place) waiter {
	q := waiterOf(a, places)
	if ended, failed := l.failed[a.ID]; failed {
		q.turn = l.turnOf(q.since, ended)
	}
	return q
}

// in returns the attempt's seat in one of its lines.
func (q waiter) in(p Place) seat {
	s := q.seat
	s.asked = p.Asked
	return s
}

// setBack is how far a clock must go back to restart the waits. Clocks are corrected by less.
const setBack = time.Minute

// limit returns the latest queueing time of an attempt that is past the aging bound. It goes back only with a clock that was wrong.
func (l *Ledger) limit(now time.Time) time.Time {
	switch t := now.Add(-l.order.AgingBound); {
	case t.After(l.aged):
		l.aged = t
	case l.aged.Sub(t) > setBack:
		l.aged = t
		l.rewind()
	}
	return l.aged
}

// ahead returns the attempts ahead in the lines that may concern an attempt: those of its namespace and those of all namespaces.
func (l *Ledger) ahead(a Attempt, now time.Time) map[Line]Ahead {
	limit := l.limit(now)
	for _, namespace := range []string{a.App.Namespace, ""} {
		l.endHolds(namespace, now)
	}
	asks := l.waiterOf(a, nil)
	own, waits := l.waiting[a.ID]
	if waits && byPriority(own.seat, asks.seat) != 0 { // otherwise it would be ahead of itself
		l.leave(a.ID)
		defer l.join(own)
	}
	ahead := map[Line]Ahead{}
	for _, namespace := range []string{a.App.Namespace, ""} {
		for name, line := range l.lines[namespace] {
			line.age(limit)
			if h := l.aheadIn(line, asks.seat, limit); h.Count > 0 || h.Hold != nil {
				ahead[name] = h
			}
		}
	}
	return ahead
}

// aheadIn returns the attempts ahead of a seat in one line.
func (l *Ledger) aheadIn(line *line, s seat, limit time.Time) Ahead {
	var h Ahead
	held := l.holds[line.name]
	first, waits := l.seatIn(held.id, line.name)
	switch {
	case held.id == s.id && s.id != "":
		h.Hold, h.Own = &held.Hold, true
	case waits && line.compare(first, s, limit, l.shares) < 0: // it may wait for another resource, and there is room for it here
		h.Hold = &held.Hold
		if n, least := line.ahead(first, limit, l.shares); n > 0 {
			h.Front = &least
		}
		line.remove(first)
		defer func() {
			line.add(first)
			line.age(limit)
		}()
	}
	if h.Count, h.Least = line.ahead(s, limit, l.shares); l.order.Strict {
		h.Fixed = h.Count
	}
	return h
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
			lines[p.Line] = newLine(p.Line)
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
	limit := l.limit(now)
	for _, name := range lines {
		line := l.lines[name.Namespace][name]
		if line == nil {
			continue
		}
		line.age(limit)
		if s, held := l.seatIn(l.holds[name].id, name); held {
			turns = append(turns, turn{s, 0})
		}
		for i, s := range line.next(limit, l.order.Strict, l.shares) {
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
