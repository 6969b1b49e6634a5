// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"
)

// classes count what histories are hostile with: views that lie, edits, and deletions.
type classes struct {
	// Behind are decisions from a cache that was behind, Unheard changes that woke no operator, Between crashes between two writes of a reconcile.
	Behind, Unheard, Between int
	// Edits are those of specs, Deletions those of the objects that histories are about, Farewells those of them in fair weather.
	Edits, Deletions, Farewells int
	// LeftAlone are objects that another controller runs, or that are health probes at some time; Waits are those that wait at the end for their user.
	LeftAlone, Waits int
	// Compared are edited objects that are compared with what they would be in a calm world.
	Compared int
}

func (c *classes) add(o classes) {
	c.Behind += o.Behind
	c.Unheard += o.Unheard
	c.Between += o.Between
	c.Edits += o.Edits
	c.Deletions += o.Deletions
	c.Farewells += o.Farewells
	c.LeftAlone += o.LeftAlone
	c.Waits += o.Waits
	c.Compared += o.Compared
}

func (c classes) String() string {
	return fmt.Sprintf("%d decisions from caches behind, %d events never heard, %d crashes between two writes, %d edits, %d deletions (%d in fair weather), %d left alone, %d wait for their user at the end, %d compared with a calm world",
		c.Behind, c.Unheard, c.Between, c.Edits, c.Deletions, c.Farewells, c.LeftAlone, c.Waits, c.Compared)
}

// resync is how long after an event that it has not heard an operator reads everything again, as informers do. What is not at its end has a
// heartbeat, which is more often.
const resync = 10 * time.Minute

// hears reports whether an event wakes an operator. One that does not is in its cache, and nothing else comes of it before the next look.
func (o *operator) hears() bool {
	if o.h.fair || !o.h.chance(o.h.climate.unheard) {
		return true
	}
	o.h.stats.Unheard++
	o.h.tell(o.name, "does not hear of a change")
	if o.resync.IsZero() {
		o.resync = o.h.now.Add(resync)
	}
	return false
}

// hearAll lets operators read again what they have not heard of.
func (h *history) hearAll() {
	for _, process := range h.operators {
		for _, o := range process.controllers() {
			if !o.resync.IsZero() {
				o.resync = h.now
			}
		}
	}
}

// behind reports whether a cache of the operator is.
func (o *operator) behind() bool {
	for _, kind := range watched {
		if o.cache.behind(kind) > 0 {
			return true
		}
	}
	return false
}

// next is the first timer of the operator that ends after a time; zero for none.
func (o *operator) next(after time.Time) (first time.Time) {
	for _, t := range []time.Time{o.timer, o.resync} {
		if t.After(after) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
