// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"
)

// This file decides nothing: it shows the inputs of the decisions.

// Budget is what a rule has of retries, for the classes that share it.
type Budget struct {
	Classes []FailureClass
	Retries int32
	// Used counts the retries since the budget was last full.
	Used int32
	// Unlimited is set if the restart policy is Always and the classes have no rule of their own.
	Unlimited bool
}

// Left is how many more failures are followed by another attempt.
func (b Budget) Left() int32 { return max(0, b.Retries-b.Used) }

// Budgets lists the budgets of a restart policy, none if nothing is retried.
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

// Timer is a deadline that runs. What is not over at Since plus Limit ends the attempt for Reason.
type Timer struct {
	Reason Reason
	Since  time.Time
	Limit  time.Duration
}

// Timers lists the deadlines that run for what is recorded of an application and seen of its driver.
func Timers(app Application, rec Record, d Driver) []Timer {
	var all []Timer
	for _, s := range current(app, rec, d) {
		if _, bounded := s.remaining(time.Time{}); bounded {
			all = append(all, Timer{Reason: s.reason, Since: s.since, Limit: s.limit})
		}
	}
	return all
}

// current lists the stages that an application is in.
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

// WaitsUnbounded returns the reason with which a deadline would end the wait for a driver to run, if no deadline is set; "" if
// the application does not wait for that, or not without bound.
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

// Expiration is when something of a finished application is to be deleted.
type Expiration struct {
	What  ActionKind
	Until time.Time
}

// Expirations lists what of a finished application is kept for a limited time.
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
