// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"time"
)

// maxActive bounds how many active runs are stored by name.
const maxActive = 500

// census records the existing runs.
func (c *decision) census() {
	r := &c.record
	r.Active = slices.Clone(c.observed.Stopping)
	for _, run := range c.observed.Runs {
		if run.Phase == Active {
			r.Active = append(r.Active, run.Name)
		}
		if run.Reason == ReasonTrigger && run.Tick.After(r.LastTrigger) {
			r.LastTrigger = run.Tick // an operator that crashed started the run, and the trigger may have changed since
		}
		if run.Created.After(r.LastRun) {
			r.LastRun, r.LastRunName = run.Created, run.Name
		}
	}
	slices.Sort(r.Active)
	r.Active = slices.Compact(r.Active)
	r.Active = r.Active[:min(len(r.Active), maxActive)]
}

// history keeps the configured number of finished runs. It keeps as many runs of a backfill in addition, because these are the oldest and would be deleted
// first. Runs that are not stored yet stay as a proof of their start.
func (c *decision) history() {
	c.record.Succeeded, c.record.Failed = nil, nil
	for _, backfilled := range []bool{false, true} {
		c.record.Succeeded = append(c.record.Succeeded, c.keep(Succeeded, backfilled, c.desired.KeepSucceeded)...)
		c.record.Failed = append(c.record.Failed, c.keep(Failed, backfilled, c.desired.KeepFailed)...)
	}
}

func (c *decision) keep(phase Phase, backfilled bool, limit int32) []string {
	finished := slices.DeleteFunc(slices.Clone(c.observed.Runs), func(r Run) bool {
		return r.Phase != phase || r.Deleting || (r.Reason == ReasonBackfill) != backfilled
	})
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

// about returns the scheduled time of a run, or its creation time if it has none.
func (r Run) about() time.Time {
	if r.Tick.IsZero() {
		return r.Created
	}
	return r.Tick
}

// stored reports whether the start of a run is stored. Such a run is not started again after its deletion.
func (c *decision) stored(run Run) bool {
	b := c.before
	trigger, _ := c.desired.trigger()
	switch {
	case b.Since.IsZero(): // in a schedule that was created suspended, only triggers start runs
		return run.Reason == ReasonTrigger && !run.Tick.After(b.LastTrigger)
	case run.Reason == "":
		return true
	case (run.Reason == ReasonTrigger || run.Tick.Equal(trigger)) && run.Tick.After(b.LastTrigger):
		return false
	case run.Tick.After(b.base()) && (c.times.has(run.Tick) || c.previous != nil && c.previous.has(run.Tick)):
		return false
	}
	return c.recorded(run)
}
