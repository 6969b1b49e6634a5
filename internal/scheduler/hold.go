// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Hold keeps room in a line for an attempt past the aging bound: the room that becomes free while the hold lasts, up to the request. What was free before and
// does not suffice for the attempt stays free for others.
//
// Holds of a namespace begin and end together, so that an attempt that needs two resources collects both. After holds that did not suffice, the lines rest for
// as long: attempts that fit start in the order of the line. The next holds are twice as long, up to longestHold, and begin with the next attempt.
type Hold struct {
	App Key
	// Asked is the attempt's request.
	Asked resource.Quantity
	// Spare is the room that other attempts may still take: what was free and of no use to the attempt when the hold began, less what has started since.
	Spare resource.Quantity
	Until time.Time
}

const (
	// shortestHold bounds the length of a hold from below: pods need this time to end and to be reported.
	shortestHold = time.Minute
	// longestHold is the most aging bounds that a hold lasts.
	longestHold = 8
	// restMargin makes a rest longer than the hold before it. Rests of an attempt's own namespace and of the shared lines then overlap.
	restMargin = time.Minute
)

// free returns the part of the remaining room that attempts behind the hold may take. Room that suffices for the hold's attempt is the attempt's.
func (h Hold) free(left resource.Quantity) resource.Quantity {
	if left.Cmp(h.Asked) >= 0 || left.Cmp(h.Spare) < 0 {
		return uselessFor(h.Asked, left)
	}
	return h.Spare
}

// uselessFor returns the part of the remaining room that is too little for a request, or beyond it.
func uselessFor(asked, left resource.Quantity) resource.Quantity {
	rest := left.DeepCopy()
	if rest.Cmp(asked) >= 0 {
		rest.Sub(asked)
	}
	return atLeastZero(rest)
}

func atLeastZero(q resource.Quantity) resource.Quantity {
	if q.Sign() < 0 {
		return resource.Quantity{}
	}
	return q
}

// hold is a Hold with its attempt.
type hold struct {
	Hold
	id string
}

// phase is a time of holds in the lines of one namespace, or in the lines that namespaces share, with the rest that follows.
type phase struct {
	length time.Duration
	until  time.Time
	// rest is the end of the rest; zero while the phase lasts.
	rest time.Time
}

// seatIn returns the seat of an attempt in a line; ok is false if it does not wait there.
func (l *Ledger) seatIn(id string, name Line) (s seat, ok bool) {
	q := l.waiting[id]
	for _, p := range q.places {
		if p.Line == name {
			return q.in(p), true
		}
	}
	return seat{}, false
}

// begin lets an attempt hold room in its lines in which it is the next to do so.
func (l *Ledger) begin(a Attempt, now time.Time) {
	limit := l.limit(now)
	if l.order.Strict || a.QueuedAt.After(limit) || l.expects("", now) { // with Strict, no attempt passes in any case
		return
	}
	q := l.waiting[a.ID]
	for _, p := range q.places {
		h, held := l.holds[p.Line]
		switch line := l.lines[p.Namespace][p.Line]; {
		case held && h.id == a.ID:
			h.Asked = p.Asked
		case held || line.nextHolder(limit, l.shares, l.turns) != a.ID || !l.mayHold(p.Namespace, now):
			continue
		default:
			h = hold{id: a.ID, Hold: Hold{App: q.app, Asked: p.Asked, Spare: uselessFor(p.Asked, p.Left), Until: l.phases[p.Namespace].until}}
			if now.Before(l.expectedUntil.Add(shortestHold)) { // the attempt may have collected all of it before a restart
				h.Spare = resource.Quantity{}
			}
		}
		l.holds[p.Line] = h
	}
}

// mayHold reports whether a hold may begin in the lines of a namespace, and begins a phase if none lasts.
func (l *Ledger) mayHold(namespace string, now time.Time) bool {
	shortest := max(l.order.AgingBound, shortestHold)
	switch last := l.phases[namespace]; {
	case last == nil:
		l.phases[namespace] = &phase{length: shortest, until: now.Add(shortest)}
	case last.rest.IsZero(): // a shorter hold would be of little use, and cost the attempt its turn
		return last.until.Sub(now) >= last.length/2
	case now.Before(last.rest):
		return false
	default:
		length := min(2*last.length, longestHold*shortest)
		l.phases[namespace] = &phase{length: length, until: now.Add(length)}
	}
	return true
}

// nextHolder returns the attempt that is the next to hold room in the line; "" for none. Attempts take turns, and so do the namespaces of a shared line.
func (l *line) nextHolder(limit time.Time, shares Shares, turns map[string]time.Time) string {
	l.age(limit)
	var next seat
	for name, g := range l.groups {
		first, found := g.overdue.first(anything)
		if !found {
			continue
		}
		if c := turns[name].Compare(turns[l.group(next)]); next.id == "" || c < 0 || c == 0 && l.compare(first, next, limit, shares) < 0 {
			next = first
		}
	}
	return next.id
}

// endHolds ends the holds of a phase that is over. Their attempts go to the end of those past the aging bound.
func (l *Ledger) endHolds(namespace string, now time.Time) {
	p := l.phases[namespace]
	if p == nil || !p.rest.IsZero() || now.Before(p.until) {
		return
	}
	failed := map[string]bool{}
	for name, h := range l.holds {
		if name.Namespace == namespace {
			failed[h.id] = true
			delete(l.holds, name)
		}
	}
	for id := range failed {
		q := l.waiting[id]
		l.leave(id)
		q.turn, l.failed[id] = l.turnOf(q.since, now), now
		if namespace == "" {
			l.turns[q.app.Namespace] = now
		}
		l.join(q)
		for _, place := range q.places { // another attempt may be first now, also in lines that it did not hold
			l.moved = append(l.moved, place.Line)
		}
	}
	if p.rest = now.Add(p.length + restMargin); len(failed) == 0 {
		delete(l.phases, namespace)
	}
}

// turnOf returns the time that counts as the begin of the wait after a hold has ended.
func (l *Ledger) turnOf(since, ended time.Time) time.Time {
	if t := ended.Add(-l.order.AgingBound); t.After(since) {
		return t
	}
	return since
}

// take notes that an attempt has started in lines in which others hold room.
func (l *Ledger) take(places []Place) {
	for _, p := range places {
		if h, held := l.holds[p.Line]; held {
			h.Spare = h.Spare.DeepCopy()
			h.Spare.Sub(p.Asked)
			h.Spare = atLeastZero(h.Spare)
			l.holds[p.Line] = h
		}
	}
}

// tidy ends the holds in the lines that an attempt has left, and forgets what holds leave behind.
func (l *Ledger) tidy(before waiter) {
	for _, name := range l.left(before) {
		if l.holds[name].id == before.id {
			delete(l.holds, name)
		}
	}
	if !l.InLine(before.id) {
		delete(l.failed, before.id)
	}
	for _, namespace := range []string{before.app.Namespace, ""} {
		if len(l.lines[namespace]) == 0 {
			delete(l.phases, namespace)
		}
	}
	if l.phases[""] == nil {
		clear(l.turns)
	}
}

// rewind restarts all waits in their lines after the clock was set back: attempts count as past the aging bound by the present time only.
func (l *Ledger) rewind() {
	clear(l.holds)
	clear(l.phases)
	clear(l.failed)
	clear(l.turns)
	all := l.waiting
	l.waiting, l.lines = map[string]waiter{}, map[string]map[Line]*line{}
	for _, q := range all {
		q.turn = q.since
		l.join(q)
	}
}
