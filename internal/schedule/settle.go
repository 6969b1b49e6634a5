// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Class classifies the result of a start.
type Class int

// Classes of results.
const (
	// ClassNone : there was no run to start.
	ClassNone Class = iota
	// ClassStarted : the run exists.
	ClassStarted
	// ClassConflict : another object has the run's name.
	ClassConflict
	// ClassRefused : the API server refuses the run.
	ClassRefused
	// ClassFailed : the start failed or its result is unknown. It is repeated.
	ClassFailed
)

// Result is the result of Plan.Start.
type Result struct {
	Class Class
	// Created is when the run was created.
	Created time.Time
	Message string
	// Changed is set if a run to remove has changed.
	Changed bool
	// Err is an error of the plan.
	Err error
}

// Outcome is the state after a plan.
type Outcome struct {
	Record     Record
	Conditions []Condition
	// Requeue is the longest time until the next reconcile.
	Requeue time.Duration
	// Started are the newly recorded runs. Skipped counts the newly skipped runs by reason.
	Started []Run
	Skipped map[SkipReason]int64
	// Ended are the runs that are no longer active.
	Ended []Ended
	// Delay is the delay of the run that this plan started; negative if it started none.
	Delay time.Duration
	// Hold is the time of the next try of a refused run; zero for none.
	Hold time.Time
	Err  error
}

// Ended is a run that is no longer active.
type Ended struct {
	Name string
	// Phase is the run's final phase, unless Gone is set because the run no longer exists.
	Phase Phase
	Gone  bool
}

// Settle computes the state after a plan and its result.
func Settle(p Plan, result Result, env Env) Outcome {
	o := Outcome{Record: p.record.clone(), Skipped: map[SkipReason]int64{}, Delay: -1, Err: result.Err}
	for _, s := range p.skipped {
		o.Skipped[s.reason] += s.n
	}
	next := p.next
	if s := p.Start; s != nil {
		switch result.Class {
		case ClassStarted:
			o.started(p, *s, result, env)
			next = env.Now.Add(time.Second) // more runs may be due
		case ClassConflict, ClassRefused:
			if s.Reason == ReasonTrigger && result.Class == ClassConflict {
				o.dropTrigger(*s)
				next = env.Now.Add(time.Second)
				break
			}
			o.refused(result, env)
			next = earlier(next, o.Hold)
		case ClassNone, ClassFailed:
		}
	} else if p.waits == "" && !env.Hold.After(env.Now) {
		o.Record.Trouble = Trouble{} // no run was due that could have an obstacle
	}
	if result.Changed {
		next = earlier(next, env.Now.Add(time.Second))
	}
	if p.again {
		next = env.Now.Add(time.Millisecond)
	}
	o.Conditions = conditions(p, o.Record)
	o.Requeue = max(time.Millisecond, next.Sub(env.Now))
	o.compare(p)
	return o
}

// dropTrigger drops a trigger if the name of its run is taken. A later trigger has another name, and the schedule does not wait.
func (o *Outcome) dropTrigger(s Start) {
	r := &o.Record
	r.LastTrigger, r.LastSkipped, r.LastSkipReason = s.Tick, s.Tick, SkipConflict
	r.Skips++
	o.Skipped[SkipConflict]++
}

// refused records that a run cannot be created now.
func (o *Outcome) refused(result Result, env Env) {
	t := &o.Record.Trouble
	reason := ReasonRunRefused
	if result.Class == ClassConflict {
		reason = ReasonNameConflict
	}
	if t.Reason != reason {
		t.Since = env.Now.Truncate(time.Second)
	}
	t.Reason, t.Message = reason, head(result.Message, maxMessage)
	o.Hold = env.Now.Add(cmp.Or(env.Retry, retryPeriod))
}

// started records a run.
func (o *Outcome) started(p Plan, s Start, result Result, env Env) {
	r := &o.Record
	r.Trouble = Trouble{}
	if !slices.Contains(r.Active, s.Name) {
		r.Active = append(r.Active, s.Name)
		slices.Sort(r.Active)
	}
	if !result.Created.Before(r.LastRun) {
		r.LastRun, r.LastRunName = result.Created, s.Name
	}
	switch s.Reason {
	case ReasonTrigger:
		r.LastTrigger = s.Tick
	case ReasonBackfill:
		b := r.Backfill
		b.Started++
		if b.Next = p.times.Next(s.Tick); !b.Next.Before(b.To) || b.Next.After(env.Now) {
			b.Next = time.Time{}
		}
	case ReasonSchedule:
		r.LastTick, r.Replacing = s.Tick, time.Time{}
		o.Delay = max(0, env.Now.Sub(s.Tick))
	}
	o.Started = append(o.Started, Run{Name: s.Name, Reason: s.Reason, Tick: s.Tick, Created: result.Created})
}

// compare finds the runs that have ended, and those that are newly found.
func (o *Outcome) compare(p Plan) {
	runs := map[string]Run{}
	for _, run := range p.observed.Runs {
		runs[run.Name] = run
	}
	for _, name := range p.before.Active {
		if !slices.Contains(o.Record.Active, name) {
			run, exists := runs[name]
			o.Ended = append(o.Ended, Ended{Name: name, Phase: run.Phase, Gone: !exists})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		run := runs[name]
		known := slices.Contains(p.before.Active, name) || slices.ContainsFunc(o.Started, func(s Run) bool { return s.Name == name })
		if slices.Contains(o.Record.Active, name) && !known {
			o.Started = append(o.Started, run)
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
