// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"math"
	"time"
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
