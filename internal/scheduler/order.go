// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Order sorts the attempts of a line: those past AgingBound come first, the oldest first, then the others by priority and waiting time. A restart of the
// operator does not change the order, but for the turns of holds (Hold).
type Order struct {
	// Strict forbids an attempt to pass attempts ahead of it. Otherwise it may pass attempts for which there is no room.
	Strict bool
	// Fair applies to lines that namespaces share: attempts of the namespace with the smallest usage relative to its guarantee come first (Shares).
	Fair bool
	// AgingBound is the time after which an attempt comes before those that have waited less, and may hold room.
	AgingBound time.Duration
}

// OrderNamed returns the order for its name in the operator's configuration. An unknown name means BestEffortFIFO.
func OrderNamed(name string, agingBound time.Duration) Order {
	return Order{Strict: name == "StrictFIFO", Fair: name == "FairShare", AgingBound: agingBound}
}

// Compare sorts two attempts of a line and ignores holds and the shares of their namespaces. It is negative if the first comes first.
func (o Order) Compare(x, y Attempt, now time.Time) int {
	return inLine(waiterOf(x, nil).seat, waiterOf(y, nil).seat, now.Add(-o.AgingBound))
}

// inLine compares two seats of a line. Those queued at the limit or earlier are past the aging bound.
func inLine(x, y seat, limit time.Time) int {
	switch oldX, oldY := !x.since.After(limit), !y.since.After(limit); {
	case oldX && oldY:
		return byTurn(x, y)
	case oldX:
		return -1
	case oldY:
		return 1
	}
	return byPriority(x, y)
}

// Ahead describes the attempts of one line that are ahead of an attempt.
type Ahead struct {
	// Count is the number of attempts ahead, and Least the smallest request among them. The attempt of Hold is not counted.
	Count int
	Least resource.Quantity
	// Fixed counts the attempts ahead that may not be passed, even if there is no room for them.
	Fixed int
	// Hold keeps room for an attempt ahead, or for the attempt itself; nil for none.
	Hold *Hold
	// Front is the smallest request among the attempts ahead of Hold's, which it does not bind; nil for none.
	Front *resource.Quantity
	// Own is set if Hold is the attempt's. It then stays in the line until it starts, even if the resource is not short. Otherwise others could take one
	// resource while the attempt waits for another.
	Own bool
}

// free returns the part of the remaining room that the attempt may take.
func (h Ahead) free(left resource.Quantity) resource.Quantity {
	if h.Hold == nil || h.Own {
		return left
	}
	return h.Hold.free(left)
}

// HeldBack reports whether room that suffices for the request is kept for another attempt.
func (h Ahead) HeldBack(asked, left resource.Quantity) bool {
	free := h.free(left)
	return asked.Cmp(left) <= 0 && asked.Cmp(free) > 0
}

// Blocks reports whether attempts ahead come first for the remaining room: it is kept for one of them, suffices for one of them, or one of them may not be
// passed.
func (h Ahead) Blocks(asked, left resource.Quantity) bool {
	fits := h.Count > 0 && h.Least.Cmp(h.free(left)) <= 0 || h.Front != nil && h.Front.Cmp(left) <= 0
	return h.Fixed > 0 || fits || h.HeldBack(asked, left)
}

// Leads reports whether an attempt with this request may be next to start in the line: no attempt ahead is fixed, all of them request more, and the room is
// not kept for one of them.
func (h Ahead) Leads(asked, left resource.Quantity) bool {
	return h.Fixed == 0 && (h.Count == 0 || h.Least.Cmp(asked) > 0) && !h.HeldBack(asked, left)
}

// All returns the number of attempts ahead.
func (h Ahead) All() int {
	if h.Hold != nil && !h.Own {
		return h.Count + 1
	}
	return h.Count
}

// holdEnds returns the time until the first hold of the attempt ends; 0 without one.
func holdEnds(ahead map[Line]Ahead, now time.Time) time.Duration {
	var ends time.Duration
	for _, h := range ahead {
		if !h.Own {
			continue
		}
		if left := max(1, h.Hold.Until.Sub(now)); ends == 0 || left < ends {
			ends = left
		}
	}
	return ends
}
