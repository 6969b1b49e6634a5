// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Shares say of each line that namespaces share what every namespace uses, relative to what it is guaranteed: 1 is all of that. One that is
// guaranteed nothing, or of which nothing is known, uses the most.
type Shares map[Line]map[string]float64

// of is the share of a namespace in a line.
func (s Shares) of(line Line, namespace string) float64 {
	if share, known := s[line][namespace]; known {
		return share
	}
	return math.Inf(1)
}

// Sharer is a plugin with quotas that namespaces share.
type Sharer interface {
	Plugin
	// Shares is what namespaces use at the moment, with what is reserved for others of them.
	Shares(a Attempt, s Snapshot) (Shares, error)
}

// SharesOf asks a plugin for the shares of namespaces. One that has none, or cannot say, has no influence on the order.
func SharesOf(p Plugin, a Attempt, s Snapshot) Shares {
	sharer, ok := can[Sharer](p)
	if !ok {
		return nil
	}
	shares, err := call(p, "Shares", func() (Shares, error) { return sharer.Shares(a, s) })
	if err != nil {
		return nil // the same trouble is in its answer to the attempt
	}
	return shares
}

// OutstandingBy is Outstanding in an order that depends on shares, which are asked for if it does: they may depend on what is reserved.
func (l *Ledger) OutstandingBy(a Attempt, now time.Time, shares func(Outstanding) Shares) Outstanding {
	o := l.Outstanding(a, now)
	if l.order.Fair {
		if s := shares(o); s != nil { // no quota of such a line binds the attempt otherwise
			l.shares = s
		}
		o.Ahead = l.ahead(a, now)
	}
	return o
}

// The times of seats ahead of and behind all others of a priority.
var earliest, latest = time.Time{}, time.Unix(1<<60, 0)

// othersAhead returns how many of those who have not waited for long are ahead of a seat, and the least that one of them asks for.
func (l *line) othersAhead(s seat, shares Shares) (count int, least resource.Quantity) {
	own := l.group(s)
	for name, t := range l.others {
		bound := s
		switch c := cmp.Compare(shares.of(l.name, name), shares.of(l.name, own)); {
		case name == own || c == 0:
		case c < 0:
			bound.since = latest
		default:
			bound.since = earliest
		}
		n, asked := t.ahead(bound)
		if n > 0 && (count == 0 || asked.Cmp(least) < 0) {
			least = asked
		}
		count += n
	}
	return count, least
}

// inOrder sorts seats of those who have not waited for long.
func (l *line) inOrder(seats []seat, shares Shares) {
	slices.SortFunc(seats, func(x, y seat) int {
		return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(shares.of(l.name, l.group(x)), shares.of(l.name, l.group(y))), byAge(x, y))
	})
}
