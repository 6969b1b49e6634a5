// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Plan is the result of a decision.
type Plan struct {
	// Start is the run to create; nil for none.
	Start *Start
	// Stop are the runs to delete because a later one replaces them; Remove are finished runs beyond the limit.
	Stop, Remove []Run
	// NeedsLive requests that the runs be read from the API server, and Decide be called again, before any action: a cache may
	// lack a run that another operator started.
	NeedsLive bool
	// Errors are the schedule's errors; they prevent all runs.
	Errors field.ErrorList

	desired Desired
	times   *Timetable
	// record is stored if no run is started; before is the stored record.
	record, before Record
	observed       Observation
	skipped        []skipped
	// waits is the reason why a due run is not started; "" if none is due.
	waits Reason
	// requested is the message about a trigger without effect; empty for none.
	requested string
	// again is set if another step follows immediately; next is the time of the next one.
	again bool
	next  time.Time
}

// skipped are due runs that will not be started.
type skipped struct {
	reason SkipReason
	n      int64
}

// Decide plans the next step of a schedule.
func Decide(d Desired, r Record, o Observation, env Env) Plan {
	p := Plan{desired: d, before: r, record: r.clone(), observed: o, next: env.Now.Add(maxWait)}
	c := &decision{Plan: &p, env: env, now: env.Now, second: env.Now.Truncate(time.Second)}
	p.record.Generation = d.Generation
	c.times, p.Errors = d.validate(env.Local)
	if d.Malformed == "" {
		c.rebase()
	}
	c.census()
	if len(p.Errors) > 0 {
		p.record.State, p.record.Error, p.record.NextRun, p.record.Trouble = FailedValidation, head(invalid(p.Errors), maxMessage), time.Time{}, Trouble{}
		return p
	}
	p.record.State, p.record.Error = Scheduled, ""
	c.history()
	if !c.giveUp() {
		c.choose()
	}
	c.plan()
	return p
}

// decision is a plan in the making.
type decision struct {
	*Plan
	env Env
	// previous is the timetable before an edit; nil for none.
	previous    *Timetable
	now, second time.Time
}

// base returns the last handled time of the schedule.
func (r Record) base() time.Time {
	if r.LastTick.After(r.Since) {
		return r.LastTick
	}
	return r.Since
}

func (r Record) clone() Record {
	r.Active, r.Succeeded, r.Failed = slices.Clone(r.Active), slices.Clone(r.Succeeded), slices.Clone(r.Failed)
	if r.Backfill != nil {
		b := *r.Backfill
		b.Failed = slices.Clone(b.Failed)
		r.Backfill = &b
	}
	return r
}

// upTo returns the last time whose run may have started.
func (c *decision) upTo() time.Time { return c.now.Add(-c.desired.Delay()) }

func (c *decision) wake(at time.Time) {
	if at.Before(c.next) {
		c.next = at
	}
}

// rebase sets the begin of the schedule: a changed one begins now. Due runs of the previous timetable are skipped.
func (c *decision) rebase() {
	key := Key(c.desired.Schedule, c.desired.TimeZone)
	switch {
	case c.unbegun():
	case c.record.Since.IsZero():
		c.record.Key, c.record.Since = key, c.since()
	case c.record.Key != key:
		if previous, err := Parse(c.record.Key, "", c.env.Local, c.desired.Created); err == nil {
			c.previous = previous
			c.skip(previous, c.upTo(), SkipChanged)
		}
		c.record.Key, c.record.Since, c.record.LastTick = key, c.second, time.Time{}
		c.record.Trouble, c.record.Replacing = Trouble{}, time.Time{}
	}
}

// unbegun reports whether the schedule was created suspended and still is: it begins when it is resumed. Triggers may have
// started runs.
func (c *decision) unbegun() bool {
	r := c.record
	takenOver := !r.NextRun.IsZero() || !r.LastRun.IsZero() && r.LastTrigger.IsZero() // a record of the Kubeflow operator
	return c.desired.Suspend && r.Since.IsZero() && !takenOver && !slices.ContainsFunc(c.observed.Runs, func(run Run) bool { return run.Reason != ReasonTrigger })
}

// since returns the begin of a schedule without this operator's record: its creation, or the last run of the Kubeflow operator.
// A schedule that was created suspended begins now.
func (c *decision) since() time.Time {
	since := c.desired.Created
	switch next := c.record.NextRun; {
	case c.record.State != New && next.IsZero() && (c.record.LastRun.IsZero() || !c.record.LastTrigger.IsZero()):
		since = c.second
	case !c.record.LastRun.IsZero():
		since = c.record.LastRun
	case next.After(c.now):
		since = c.second
	case !next.IsZero():
		since = next.Add(-time.Second)
	}
	for _, run := range c.observed.Runs {
		if run.Reason == "" && run.Created.After(since) {
			since = run.Created
		}
	}
	return since.Truncate(time.Second)
}

// choose chooses the run to start: a trigger first, because a user waits, and a backfill last. All three are evaluated, because
// they find existing runs.
func (c *decision) choose() {
	trigger, tick, backfill := c.trigger(), c.tick(), c.backfill()
	for _, s := range []*Start{trigger, tick, backfill} {
		if s != nil {
			c.admit(*s)
			return
		}
	}
}

// trigger returns the requested run outside the schedule.
func (c *decision) trigger() *Start {
	at, err := c.desired.trigger()
	switch {
	case err != nil || at.IsZero():
		return nil
	case !at.After(c.record.LastTrigger):
		if at.Before(c.record.LastTrigger) {
			c.requested = fmt.Sprintf("%s is not later than the last one, %s: no run starts", utc(at), utc(c.record.LastTrigger))
		}
		return nil
	case at.After(c.now):
		c.requested = utc(at) + " is in the future: a run starts then"
		c.wake(at)
		return nil
	}
	s := c.start(at, ReasonTrigger)
	if s.find(c.observed.Runs) != nil {
		c.record.LastTrigger = at
		return nil
	}
	return &s
}

// start returns the run of a time.
func (c *decision) start(at time.Time, reason RunReason) Start {
	s := Start{Name: Name(c.desired.Name, at, c.env.Precision), Reason: reason, Tick: at.In(c.times.Location)}
	if reason == ReasonTrigger {
		s.From, s.To = c.times.LastInterval(s.Tick)
	} else {
		s.From, s.To = c.times.Interval(s.Tick)
	}
	return s
}

// tick returns the due run of the schedule.
func (c *decision) tick() *Start {
	c.passStarted()
	if c.desired.Suspend {
		return nil
	}
	upTo := c.upTo()
	if first := c.times.Next(c.record.base()); first.IsZero() || first.After(upTo) {
		return nil
	}
	if limit, reason := c.lateness(); limit != nil {
		late := c.second.Add(-c.desired.Delay() - *limit - time.Nanosecond)
		if committed := c.record.Replacing; committed.After(c.record.base()) && !committed.After(late) {
			// Runs were stopped for it: it is too late only if a later one can start.
			if latest := c.times.Latest(c.record.base(), upTo); !latest.After(late) {
				upTo = committed
			}
			late = committed.Add(-time.Nanosecond)
		}
		c.skip(c.times, late, reason)
	}
	c.supersede(upTo)
	c.passStarted()
	at := c.times.Next(c.record.base())
	if at.IsZero() || at.After(upTo) {
		return nil
	}
	if limit, _ := c.lateness(); limit != nil {
		// A run for which others were stopped is never too late: a past time would cause a reconcile each millisecond until they
		// are gone.
		if late := at.Add(c.desired.Delay() + *limit + time.Second); late.After(c.now) {
			c.wake(late)
		}
	}
	s := c.start(at, ReasonSchedule)
	return &s
}

// passStarted skips the times with existing runs. The record may lack them after an edit or a crash.
func (c *decision) passStarted() {
	for upTo := c.upTo(); !c.record.Since.IsZero(); {
		at := c.times.Next(c.record.base())
		if at.IsZero() || at.After(upTo) || c.start(at, ReasonSchedule).find(c.observed.Runs) == nil {
			return
		}
		c.record.LastTick = at
	}
}

// lateness returns the longest delay of a start, nil for no limit, and the reason for skipping a later one.
func (c *decision) lateness() (limit *time.Duration, reason SkipReason) {
	if c.desired.Deadline != nil {
		return c.desired.Deadline, SkipDeadline
	}
	if c.desired.Missed == Skip {
		window := skipWindow
		return &window, c.obstacle()
	}
	return nil, ""
}

// supersede skips due runs that are not made up for.
func (c *decision) supersede(upTo time.Time) {
	if c.desired.Missed != RunAll {
		if latest := c.times.Latest(c.record.base(), upTo); !latest.IsZero() {
			c.skip(c.times, latest.Add(-time.Second), c.obstacle())
		}
		return
	}
	if _, more := c.times.Count(c.record.base(), upTo, MaxOutstanding); !more {
		return
	}
	oldest := upTo.Add(time.Nanosecond)
	for range MaxOutstanding {
		oldest = c.times.Latest(c.record.base(), oldest.Add(-time.Nanosecond))
	}
	c.skip(c.times, oldest.Add(-time.Second), SkipTooMany)
}

// obstacle returns the reason why due runs were not started.
func (c *decision) obstacle() SkipReason {
	switch {
	case c.record.Trouble.Reason == ReasonNameConflict:
		return SkipConflict
	case c.record.Trouble.Reason == ReasonRunRefused:
		return SkipRefused
	case c.desired.Concurrency == Forbid && len(c.record.Active) > 0:
		return SkipActive
	}
	return SkipMissed
}

// skip skips and counts the times up to a time that have no run.
func (c *decision) skip(times *Timetable, until time.Time, reason SkipReason) {
	base := c.record.base()
	last := times.Latest(base, until)
	if last.IsZero() {
		return
	}
	count, _ := times.Count(base, until, maxCounted)
	n := int64(count)
	exists := map[int64]bool{}
	for _, run := range c.observed.Runs {
		if run.Reason != "" && run.Tick.After(base) && !run.Tick.After(until) && !exists[run.Tick.Unix()] {
			if exists[run.Tick.Unix()] = true; times.has(run.Tick) {
				n--
			}
		}
	}
	c.record.LastTick = last
	if n <= 0 {
		return
	}
	for exists[last.Unix()] {
		last = times.Latest(base, last.Add(-time.Second))
	}
	c.count(last, reason, n)
}

// count counts skipped runs; the last one was due at the given time.
func (c *decision) count(last time.Time, reason SkipReason, n int64) {
	c.record.Skips += n
	c.record.LastSkipped, c.record.LastSkipReason = last, reason
	c.skipped = append(c.skipped, skipped{reason, n})
	c.NeedsLive = !c.observed.Live
}

// admit starts a run if the unfinished ones allow it.
func (c *decision) admit(s Start) {
	var active []Run
	for _, run := range c.observed.Runs {
		if run.Phase == Active && (c.desired.Concurrency == Forbid || run.Reason != ReasonBackfill) {
			active = append(active, run)
		}
	}
	blocked := len(active)+len(c.observed.Stopping) > 0
	switch {
	case c.desired.Concurrency == Forbid && blocked:
		c.waits = ReasonWaitingForActive
	case c.desired.Concurrency == Replace && s.Reason != ReasonBackfill && blocked:
		c.waits = ReasonReplacing
		// A driver pod is looked up only for runs stored as active, and the start of a run must be known.
		c.again = slices.ContainsFunc(active, func(r Run) bool {
			return !slices.Contains(c.before.Active, r.Name) && slices.Contains(c.record.Active, r.Name)
		})
		if s.Reason == ReasonSchedule {
			c.record.Replacing = s.Tick
			if !c.before.Replacing.Equal(s.Tick) { // stored before anything is stopped for it: after a crash the time must not be too late
				c.again = true
				break
			}
		}
		c.Stop = slices.DeleteFunc(active, func(r Run) bool {
			return r.Deleting || !slices.Contains(c.before.Active, r.Name) || !c.stored(r)
		})
		c.wake(c.now.Add(gonePeriod))
	case c.env.Hold.After(c.now):
		c.wake(c.env.Hold)
	default:
		c.Start = &s
	}
	if c.desired.Concurrency != "" && c.desired.Concurrency != Allow && (c.Start != nil || len(c.Stop) > 0) {
		c.NeedsLive = !c.observed.Live
	}
}

// plan sets the time of the next run. A handled time loses its claim on stopped runs.
func (c *decision) plan() {
	if !c.record.Replacing.After(c.record.base()) {
		c.record.Replacing = time.Time{}
	}
	after := c.upTo()
	if base := c.record.base(); base.After(after) {
		after = base
	}
	c.record.NextRun = time.Time{}
	if c.desired.Suspend {
		return
	}
	if next := c.times.Next(after); !next.IsZero() {
		c.record.NextRun = next.Add(c.desired.Delay())
		c.wake(c.record.NextRun)
	}
}
