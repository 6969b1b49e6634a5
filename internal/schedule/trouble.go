// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// giveUp skips a run that could not be started before the next one was due. The next run starts after the skip is stored.
func (c *decision) giveUp() bool {
	t := c.record.Trouble
	if t.Reason != ReasonNameConflict && t.Reason != ReasonRunRefused {
		return false
	}
	upTo := c.upTo()
	if next := c.times.Next(t.Since.Add(-c.desired.Delay())); next.IsZero() || next.After(upTo) {
		return false
	}
	first := c.times.Next(c.record.base())
	switch at, err := c.desired.trigger(); {
	case err == nil && at.After(c.record.LastTrigger) && !at.After(t.Since):
		if c.start(at, ReasonTrigger).find(c.observed.Runs) != nil {
			return false
		}
		c.record.LastTrigger = at
		c.count(at, SkipReason(t.Reason), 1)
	case !first.IsZero() && !first.Add(c.desired.Delay()).After(t.Since):
		if c.desired.Suspend {
			return false
		}
		until := first
		if c.desired.Missed != RunAll {
			until = c.times.Latest(c.record.base(), upTo).Add(-time.Second)
		}
		c.skip(c.times, until, SkipReason(t.Reason))
	case c.record.Backfill != nil && !c.record.Backfill.Next.IsZero():
		at := c.times.Next(c.record.Backfill.Next.Add(-time.Second))
		if c.start(at, ReasonBackfill).find(c.observed.Runs) != nil {
			return false
		}
		c.count(at, SkipReason(t.Reason), 1)
		c.record.Backfill.Next = at.Add(time.Second)
	}
	c.record.Trouble, c.again = Trouble{}, true
	return true
}
