// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// maxFailed bounds how many failed runs of a backfill are stored by name.
const maxFailed = 100

// backfill returns the next run of the backfill; nil for none.
func (c *decision) backfill() *Start {
	b := c.desired.Backfill
	if b == nil {
		c.record.Backfill = nil
		return nil
	}
	p := c.record.Backfill
	if p == nil || !p.From.Equal(b.From) || !p.To.Equal(b.To) {
		p = &Progress{From: b.From, To: b.To, Next: b.From}
		c.record.Backfill = p
	}
	c.failures(p)
	if c.desired.Suspend {
		return nil
	}
	for !p.Next.IsZero() {
		at := c.times.Next(p.Next.Add(-time.Second))
		if at.IsZero() || !at.Before(b.To) || at.After(c.now) {
			p.Next = time.Time{}
			return nil
		}
		s := c.start(at, ReasonBackfill)
		if s.find(c.observed.Runs) == nil {
			p.Next = at
			if c.backfilling() < max(int(b.MaxActive), defaultMaxActive) {
				return &s
			}
			return nil
		}
		p.Started, p.Next = p.Started+1, at.Add(time.Second)
	}
	return nil
}

// failures records the failed runs of a backfill, before the runs are deleted.
func (c *decision) failures(p *Progress) {
	for _, run := range c.observed.Runs {
		if run.Reason != ReasonBackfill || run.Tick.Before(p.From) || !run.Tick.Before(p.To) {
			continue
		}
		at := slices.Index(p.Failed, run.Name)
		switch {
		case at >= 0 && run.Phase != Failed: // it was run again
			p.Failed = slices.Delete(p.Failed, at, at+1)
		case at < 0 && run.Phase == Failed && len(p.Failed) < maxFailed:
			p.Failed = append(p.Failed, run.Name)
		}
	}
	slices.Sort(p.Failed)
}

// backfilling counts the unfinished runs of backfills.
func (c *decision) backfilling() int {
	n := 0
	for _, run := range c.observed.Runs {
		if run.Phase == Active && run.Reason == ReasonBackfill {
			n++
		}
	}
	return n
}

// recorded reports whether the status counts a run of the backfill as started. A failed run's name must also be listed, up to maxFailed names.
func (c *decision) recorded(run Run) bool {
	wanted, p := c.desired.Backfill, c.before.Backfill
	if wanted == nil || run.Tick.Before(wanted.From) || !run.Tick.Before(wanted.To) {
		return true
	}
	if p == nil || !p.From.Equal(wanted.From) || !p.To.Equal(wanted.To) || !p.Next.IsZero() && !run.Tick.Before(p.Next) {
		return false
	}
	return run.Phase != Failed || run.Reason != ReasonBackfill || slices.Contains(p.Failed, run.Name) || len(p.Failed) >= maxFailed
}
