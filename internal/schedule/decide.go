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
	// Stop are the runs to delete because a later one replaces them. Remove are finished runs beyond the limit.
	Stop, Remove []Run
	// NeedsLive requires that the runs are read from the API server and Decide is called again, before any action. A cache may lack a run that another operator
	// started.
	NeedsLive bool
	// Errors are the schedule's errors. They prevent all runs.
	Errors field.ErrorList

	desired Desired
	times   *Timetable
	// record is stored if no run is started. before is the stored record.
	record, before Record
	observed       Observation
	skipped        []skipped
	// waits is the reason why a due run is not started; "" if no run is due or waits.
	waits Reason
	// requested is the message about a trigger that starts no run; "" for none.
	requested string
	// again is set if another step follows immediately. next is the time of the next step.
	again bool
	next  time.Time
}

// skipped counts due runs that are not started.
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

// decision is a plan that is being made.
type decision struct {
	*Plan
	env Env
	// previous is the timetable before an edit; nil for none.
	previous    *Timetable
	now, second time.Time
}

// base returns the last time of the schedule that is handled.
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

// upTo returns the latest scheduled time whose run may start now.
func (c *decision) upTo() time.Time { return c.now.Add(-c.desired.Delay()) }

func (c *decision) wake(at time.Time) {
	if at.Before(c.next) {
		c.next = at
	}
}

// rebase sets the start of the schedule. A changed schedule starts now, and due runs of the previous timetable are skipped.
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

// unbegun reports whether the schedule was created suspended and is still suspended. Such a schedule starts when it is resumed. Triggers may have started runs.
func (c *decision) unbegun() bool {
	r := c.record
	takenOver := !r.NextRun.IsZero() || !r.LastRun.IsZero() && r.LastTrigger.IsZero() // the Kubeflow operator wrote the record
	return c.desired.Suspend && r.Since.IsZero() && !takenOver && !slices.ContainsFunc(c.observed.Runs, func(run Run) bool { return run.Reason != ReasonTrigger })
}

// since returns the start of a schedule that this operator has not recorded: its creation, or the last run of the Kubeflow operator. A schedule that was
// created suspended starts now.
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

// choose chooses the run to start. A trigger comes first, because a user waits, and a backfill comes last. All three are evaluated, because each finds existing
// runs.
func (c *decision) choose() {
	trigger, tick, backfill := c.trigger(), c.tick(), c.backfill()
	for _, s := range []*Start{trigger, tick, backfill} {
		if s != nil {
			c.admit(*s)
			return
		}
	}
}

// trigger returns the run that the trigger requests; nil for none.
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

// start returns the run for a time.
func (c *decision) start(at time.Time, reason RunReason) Start {
	s := Start{Name: Name(c.desired.Name, at, c.env.Precision), Reason: reason, Tick: at.In(c.times.Location)}
	if reason == ReasonTrigger {
		s.From, s.To = c.times.LastInterval(s.Tick)
	} else {
		s.From, s.To = c.times.Interval(s.Tick)
	}
	return s
}

// tick returns the due run of the schedule; nil for none.
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
			// Runs were stopped for this run. It is too late only if a later one can start.
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
		// A run for which others were stopped is never too late. A time in the past would cause a reconcile each millisecond until the others are gone.
		if late := at.Add(c.desired.Delay() + *limit + time.Second); late.After(c.now) {
			c.wake(late)
		}
	}
	s := c.start(at, ReasonSchedule)
	return &s
}

// passStarted skips the times with existing runs. After an edit or a crash the record may lack them.
func (c *decision) passStarted() {
	for upTo := c.upTo(); !c.record.Since.IsZero(); {
		at := c.times.Next(c.record.base())
		if at.IsZero() || at.After(upTo) || c.start(at, ReasonSchedule).find(c.observed.Runs) == nil {
			return
		}
		c.record.LastTick = at
	}
}

// lateness returns the longest delay of a start, and the reason for skipping a run that is later; nil for no limit.
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

// supersede skips due runs that the policy does not catch up on.
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

// skip skips the times up to until. It counts those without a run.
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

// count counts skipped runs. The last one was due at the given time.
func (c *decision) count(last time.Time, reason SkipReason, n int64) {
	c.record.Skips += n
	c.record.LastSkipped, c.record.LastSkipReason = last, reason
	c.skipped = append(c.skipped, skipped{reason, n})
	c.NeedsLive = !c.observed.Live
}

// admit starts a run if the concurrency policy allows it.
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
		// Only runs that are stored as active are searched for driver pods, and the start of a run must be recorded.
		c.again = slices.ContainsFunc(active, func(r Run) bool {
			return !slices.Contains(c.before.Active, r.Name) && slices.Contains(c.record.Active, r.Name)
		})
		if s.Reason == ReasonSchedule {
			c.record.Replacing = s.Tick
			if !c.before.Replacing.Equal(s.Tick) { // the time is stored before runs are stopped, so that it is not too late after a crash
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

// plan sets the time of the next run. It clears Replacing once that time is handled.
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
