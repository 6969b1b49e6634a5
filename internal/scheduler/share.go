// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Shares are the namespaces' usages relative to their guarantees, for each line that namespaces share. A share of 1 is the whole guarantee. A namespace
// without a guarantee, or of unknown usage, counts as the largest.
type Shares map[Line]map[string]float64

// of returns the share of a namespace in a line.
func (s Shares) of(line Line, namespace string) float64 {
	if share, known := s[line][namespace]; known {
		return share
	}
	return math.Inf(1)
}

// Sharer is a plugin with quotas that namespaces share.
type Sharer interface {
	Plugin
	// Shares returns the present usage of namespaces relative to their guarantees. It includes the reservations of other attempts.
	Shares(a Attempt, s Snapshot) (Shares, error)
}

// SharesOf returns the plugin's shares of namespaces; nil if the plugin has none or fails, which leaves the order unchanged.
func SharesOf(p Plugin, a Attempt, s Snapshot) Shares {
	sharer, ok := can[Sharer](p)
	if !ok {
		return nil
	}
	shares, err := call(p, "Shares", func() (Shares, error) { return sharer.Shares(a, s) })
	if err != nil {
		return nil // the plugin's answer for the attempt reports the same error
	}
	return shares
}

// OutstandingBy is Outstanding with an order that may use shares. It calls shares only if the order is Fair, because the shares depend on reservations.
func (l *Ledger) OutstandingBy(a Attempt, now time.Time, shares func(Outstanding) Shares) Outstanding {
	o := l.Outstanding(a, now)
	if l.order.Fair {
		if s := shares(o); s != nil { // without shares no quota of a shared line limits the attempt
			l.shares = s
		}
		o.Ahead = l.ahead(a, now)
	}
	return o
}

// earliest and latest are before and after the queueing time of any seat.
var earliest, latest = time.Time{}, time.Unix(1<<60, 0)

// othersAhead returns the number of attempts below the aging bound that are ahead of a seat, and the smallest request among them.
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

// inOrder sorts seats below the aging bound.
func (l *line) inOrder(seats []seat, shares Shares) {
	slices.SortFunc(seats, func(x, y seat) int {
		return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(shares.of(l.name, l.group(x)), shares.of(l.name, l.group(y))), byAge(x, y))
	})
}
