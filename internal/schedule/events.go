// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strconv"
	"time"
)

// Event describes a stored change of a schedule. It is reported once.
type Event struct {
	Warning                 bool
	Reason, Action, Message string
}

// maxNote is the API server's limit for the text of an event, in bytes.
const maxNote = 1024

// Events returns the events for the change from a stored record to a stored outcome.
func Events(d Desired, from Record, o Outcome) []Event {
	var all []Event
	add := func(warning bool, reason, action, format string, args ...any) {
		all = append(all, Event{Warning: warning, Reason: reason, Action: action, Message: head(fmt.Sprintf(format, args...), maxNote)})
	}
	to := o.Record
	if to.Key != from.Key && !from.Since.IsZero() {
		add(false, "ScheduleChanged", "Schedule", "the schedule is now %q; it counts from %s", to.Key, utc(to.Since))
	}
	if to.State == FailedValidation && to.Error != from.Error {
		add(true, "ScheduleInvalid", "Validate", "no run starts: %s", to.Error)
	}
	ended(add, d, o.Ended)
	for _, run := range o.Started {
		if run.Tick.IsZero() {
			continue // the Kubeflow operator's name
		}
		add(false, "RunStarted", "Run", "run %s was started (%s) for %s", run.Name, run.Reason, utc(run.Tick))
	}
	switch n := to.Skips - from.Skips; {
	case n == 1:
		add(true, "RunSkipped", "Skip", "the run of %s was skipped: %s", utc(to.LastSkipped), to.LastSkipReason)
	case n > 1:
		count := strconv.FormatInt(n, 10)
		if n >= maxCounted {
			count = "at least " + count
		}
		add(true, "RunsSkipped", "Skip", "%s runs were skipped, the last of %s: %s", count, utc(to.LastSkipped), to.LastSkipReason)
	}
	stalls(add, from, o)
	if b := to.Backfill; b != nil && b.Next.IsZero() && to.State == Scheduled && !finished(from.Backfill, b) {
		add(false, "BackfillFinished", "Backfill", "the runs from %s to before %s were started: %d", utc(b.From), utc(b.To), b.Started)
	}
	return all
}

type adder func(warning bool, reason, action, format string, args ...any)

func ended(add adder, d Desired, all []Ended) {
	for _, e := range all {
		switch {
		case e.Gone && d.Concurrency == Replace:
			add(false, "RunReplaced", "Run", "run %s was deleted before it had finished", e.Name)
		case e.Gone:
			add(true, "RunDeleted", "Run", "run %s was deleted before it had finished, by another client", e.Name)
		case e.Phase == Failed:
			add(true, "RunFailed", "Run", "run %s failed", e.Name)
		default:
			add(false, "RunSucceeded", "Run", "run %s succeeded", e.Name)
		}
	}
}

// stalls reports a new obstacle.
func stalls(add adder, from Record, o Outcome) {
	if t := o.Record.Trouble; t.Reason != "" && t.Reason != from.Trouble.Reason {
		add(true, string(t.Reason), "Run", "%s", t.Message)
		return
	}
	for _, c := range o.Conditions {
		if c.Type == ConditionStalled && c.Reason == ReasonInvalidTrigger && from.StalledBy != ReasonInvalidTrigger {
			add(true, string(c.Reason), "Run", "%s", c.Message)
		}
	}
}

func finished(from, to *Progress) bool {
	return from != nil && from.Next.IsZero() && from.From.Equal(to.From) && from.To.Equal(to.To)
}

func utc(t time.Time) string { return t.UTC().Format(time.RFC3339) }
