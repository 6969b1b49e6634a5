// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"time"
)

// maxActive bounds the names of active runs that are stored.
const maxActive = 500

// census takes down which runs there are.
func (c *decision) census() {
	r := &c.record
	r.Active = slices.Clone(c.observed.Stopping)
	for _, run := range c.observed.Runs {
		if run.Phase == Active {
			r.Active = append(r.Active, run.Name)
		}
		if run.Reason == ReasonTrigger && run.Tick.After(r.LastTrigger) {
			r.LastTrigger = run.Tick // started by an operator that crashed; the trigger may be another by now
		}
		if run.Created.After(r.LastRun) {
			r.LastRun, r.LastRunName = run.Created, run.Name
		}
	}
	slices.Sort(r.Active)
	r.Active = slices.Compact(r.Active)
	r.Active = r.Active[:min(len(r.Active), maxActive)]
}

// history keeps as many finished runs as are wanted. Those that are not stored yet stay: they say that they were started.
func (c *decision) history() {
	c.record.Succeeded = c.keep(Succeeded, c.desired.KeepSucceeded)
	c.record.Failed = c.keep(Failed, c.desired.KeepFailed)
}

func (c *decision) keep(phase Phase, limit int32) []string {
	finished := slices.DeleteFunc(slices.Clone(c.observed.Runs), func(r Run) bool { return r.Phase != phase || r.Deleting })
	slices.SortFunc(finished, func(a, b Run) int {
		return cmp.Or(b.about().Compare(a.about()), b.Created.Compare(a.Created), cmp.Compare(b.Name, a.Name))
	})
	var names []string
	for i, run := range finished {
		if i < int(limit) {
			names = append(names, run.Name)
		} else if c.stored(run) {
			c.Remove = append(c.Remove, run)
		}
	}
	return names
}

// about is the time that a run is for.
func (r Run) about() time.Time {
	if r.Tick.IsZero() {
		return r.Created
	}
	return r.Tick
}

// stored is whether it is stored that a run was started, so that it is not started again when it is gone.
func (c *decision) stored(run Run) bool {
	b := c.before
	trigger, _ := c.desired.trigger()
	switch {
	case b.Since.IsZero():
		return false
	case run.Reason == "":
		return true
	case (run.Reason == ReasonTrigger || run.Tick.Equal(trigger)) && run.Tick.After(b.LastTrigger):
		return false
	case run.Tick.After(b.base()) && (c.times.has(run.Tick) || c.former != nil && c.former.has(run.Tick)):
		return false
	}
	wanted := c.desired.Backfill
	if wanted == nil || run.Tick.Before(wanted.From) || !run.Tick.Before(wanted.To) {
		return true
	}
	p := b.Backfill
	return p != nil && p.From.Equal(wanted.From) && p.To.Equal(wanted.To) && (p.Next.IsZero() || run.Tick.Before(p.Next))
}
