// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"
)

// This file shows the inputs of decisions, and decides nothing.

// Budget is the retry budget of classes that share a rule.
type Budget struct {
	Classes []FailureClass
	Retries int32
	// Used counts the retries since the last refill.
	Used int32
	// Unlimited is set if the restart policy is Always and the classes have no rule.
	Unlimited bool
}

// Left returns the number of failures that are still retried.
func (b Budget) Left() int32 { return max(0, b.Retries-b.Used) }

// Budgets lists the budgets of a restart policy; empty if nothing is retried.
func (r Restart) Budgets(used map[FailureClass]int32) []Budget {
	var all []Budget
	for _, class := range FailureClasses() {
		rule, sharing := r.rule(class)
		if r.Type == Never && !r.despiteNever(class) {
			continue
		}
		if slices.ContainsFunc(all, func(b Budget) bool { return slices.Contains(b.Classes, class) }) {
			continue
		}
		_, own := r.Classes[class]
		b := Budget{Classes: sharing, Retries: rule.Retries, Unlimited: r.Type == Always && !own}
		for _, c := range sharing {
			b.Used += used[c]
		}
		all = append(all, b)
	}
	return all
}

// Timer is a running deadline. A stage that lasts longer than Limit ends the attempt with Reason.
type Timer struct {
	Reason Reason
	Since  time.Time
	Limit  time.Duration
}

// Timers lists the running deadlines, by the record and the observed driver.
func Timers(app Application, rec Record, d Driver) []Timer {
	var all []Timer
	for _, s := range current(app, rec, d) {
		if _, bounded := s.remaining(time.Time{}); bounded {
			all = append(all, Timer{Reason: s.reason, Since: s.since, Limit: s.limit})
		}
	}
	return all
}

// current lists the current stages of an application.
func current(app Application, rec Record, d Driver) []stage {
	switch {
	case app.Deleting, awaitsAdoption(app, rec):
	case rec.State.Starting() && !app.Suspend:
		return []stage{queueStage(app, rec)}
	case rec.State.HasDriver() && d.ours() && d.live():
		return stages(app, rec, d)
	}
	return nil
}

// WaitsUnbounded returns the reason of the unset deadline that would end the present wait for a driver; "" if the application waits for no driver, or if the
// wait has a deadline.
func WaitsUnbounded(app Application, rec Record, d Driver) Reason {
	if rec.State == Running {
		return ""
	}
	for _, s := range current(app, rec, d) {
		if s.limit <= 0 {
			return s.reason
		}
	}
	return ""
}

// Expiration is the deletion time of a part of a finished application.
type Expiration struct {
	What  ActionKind
	Until time.Time
}

// Expirations lists the parts of a finished application that expire.
func Expirations(app Application, rec Record) []Expiration {
	if !rec.State.Final() {
		return nil
	}
	keep := app.Policies.Retention.of(rec.State)
	var all []Expiration
	add := func(what ActionKind, limit *time.Duration, done bool) {
		if limit != nil && !done {
			all = append(all, Expiration{What: what, Until: rec.TerminatedAt.Add(*limit)})
		}
	}
	add(DeleteDriver, keep.DriverPod, rec.Released.DriverPod)
	add(DeleteResources, keep.Resources, rec.Released.Resources)
	add(DeleteApplication, keep.Application, false)
	return all
}

// ConditionTypes lists the conditions that every application shows.
func ConditionTypes() []ConditionType {
	var all []ConditionType
	for _, c := range conditions(Record{}, Plan{}) {
		all = append(all, c.Type)
	}
	return all
}
