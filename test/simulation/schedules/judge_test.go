// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// judge sees every write, and says what must not be.
type judge struct {
	w *world
	// log has the runs that were created: by reason (Trigger or not) and time, to how often.
	log map[string]int
	// backfilled are the times whose runs were created for a backfill.
	backfilled map[int64]bool
	// backfills counts the ranges that users have asked for: each may run a time again.
	backfills int
	// untold are those that a user deleted before a status told of them.
	untold map[string]bool
	// owes says that a run was stopped for another, which has not started yet.
	owes bool
	// begun says that a run was started which nobody asked for. asleep says that the schedule was created suspended, and is stored as such; woken is when it was resumed.
	begun, asleep bool
	woken         time.Time
	// raced says that two operators have acted at the same time, refusing that the API server takes no run.
	raced, refusing bool
	verdict         string
}

func (j *judge) fail(format string, args ...any) {
	if j.verdict == "" {
		j.verdict = fmt.Sprintf(format, args...)
		j.w.tell("VIOLATION: %s", j.verdict)
	}
}

func (j *judge) key(reason schedule.RunReason, tick time.Time) string {
	kind := "time"
	switch reason {
	case schedule.ReasonTrigger:
		kind = "trigger"
	case schedule.ReasonBackfill:
		kind = fmt.Sprint("backfill ", j.backfills)
	case schedule.ReasonSchedule:
	}
	return kind + " " + tick.UTC().Format(time.RFC3339)
}

// created judges a run before it is in the store.
func (j *judge) created(r *run) {
	w, spec := j.w, &j.w.object.Spec
	is := kubeflow.RunOf(r)
	k := j.key(is.Reason, is.Tick)
	if w.gone || !w.object.DeletionTimestamp.IsZero() {
		j.fail("%s starts for a schedule that is deleted", r.Name)
	}
	j.begun = j.begun || is.Reason != schedule.ReasonTrigger
	j.owes = j.owes && is.Reason == schedule.ReasonBackfill
	if is.Reason == schedule.ReasonSchedule && is.Tick.Before(j.woken) {
		j.fail("%s was due before the schedule, which was created suspended, was resumed at %s", r.Name, j.woken)
	}
	if j.log[k]++; j.log[k] > 1 && !j.untold[k] {
		j.fail("a second run for %s", k)
	}
	delete(j.untold, k)
	if is.Reason == schedule.ReasonBackfill {
		j.backfilled[is.Tick.Unix()] = true
	}
	if problems := validation.IsDNS1035Label(r.Name); len(problems) > 0 {
		j.fail("the name %q: %v", r.Name, problems)
	}
	if strings.Contains(strings.Join(r.Spec.Arguments, " "), "$(") {
		j.fail("a variable is left in %q", r.Spec.Arguments)
	}
	if j.raced {
		return
	}
	if ptr.Deref(spec.Suspend, false) && is.Reason != schedule.ReasonTrigger {
		j.fail("%s starts while the schedule is suspended", r.Name)
	}
	if is.Tick.After(w.now) {
		j.fail("%s starts before its time", r.Name)
	}
	for name, other := range w.runs {
		o := kubeflow.RunOf(other)
		if _, _, ours := (kubeflow.Schedules{}).ScheduleOf(other); !ours || o.Phase != schedule.Active {
			continue
		}
		j.overlap(is, o, r.Name, name)
	}
	for name := range w.drivers {
		if w.runs[name] == nil && spec.ConcurrencyPolicy == v1beta2.ConcurrencyForbid {
			j.fail("%s starts beside the driver of %s, with Forbid", r.Name, name)
		}
		if w.runs[name] == nil && spec.ConcurrencyPolicy == v1beta2.ConcurrencyReplace && is.Reason != schedule.ReasonBackfill {
			j.fail("%s starts beside the driver of %s, with Replace", r.Name, name)
		}
	}
}

func (j *judge) overlap(starts, runs schedule.Run, name, other string) {
	switch j.w.object.Spec.ConcurrencyPolicy {
	case v1beta2.ConcurrencyForbid:
		j.fail("%s starts while %s is active, with Forbid", name, other)
	case v1beta2.ConcurrencyReplace:
		if starts.Reason != schedule.ReasonBackfill && runs.Reason != schedule.ReasonBackfill {
			j.fail("%s starts while %s is active, with Replace", name, other)
		}
	case v1beta2.ConcurrencyAllow:
	}
}

// deleted judges a deletion by an operator.
func (j *judge) deleted(r *run) {
	is := kubeflow.RunOf(r)
	if _, _, ours := (kubeflow.Schedules{}).ScheduleOf(r); !ours {
		j.fail("%s is not of the schedule, and is deleted", r.Name)
	}
	if is.Phase == schedule.Active && j.w.object.Spec.ConcurrencyPolicy != v1beta2.ConcurrencyReplace {
		j.fail("%s is active, and is deleted", r.Name)
	}
	j.owes = j.owes || is.Phase == schedule.Active
	if is.Phase == schedule.Active && is.Reason == schedule.ReasonBackfill {
		j.fail("%s is of a backfill, and is replaced", r.Name)
	}
}

// gone is called when a user deletes a run.
func (j *judge) gone(r *run) {
	is, rec := kubeflow.RunOf(r), kubeflow.ScheduleRecord(&j.w.object.Status)
	told := !is.Tick.After(base(rec))
	switch is.Reason {
	case schedule.ReasonTrigger:
		told = !is.Tick.After(rec.LastTrigger)
	case schedule.ReasonBackfill:
		p, wanted := rec.Backfill, j.w.object.Spec.Backfill // the progress may be that of the backfill before
		told = p != nil && wanted != nil && p.From.Equal(wanted.From.Time) && p.To.Equal(wanted.To.Time) && (p.Next.IsZero() || is.Tick.Before(p.Next))
	case schedule.ReasonSchedule:
	}
	if !told {
		j.untold[j.key(is.Reason, is.Tick)] = true
		delete(j.w.drivers, r.Name) // nobody could know of it
	}
}

// stored judges a status before it is stored: it must be news, and account for every time of the schedule between the two.
func (j *judge) stored(old, next *v1beta2.ScheduledSparkApplicationStatus) {
	if equality.Semantic.DeepEqual(old, next) {
		j.fail("a status is written that is no news")
	}
	from, to := kubeflow.ScheduleRecord(old), kubeflow.ScheduleRecord(next)
	first := from.State == schedule.New
	if from.Since.IsZero() {
		from.Since, from.Key = to.Since, to.Key
	}
	skips := to.Skips - from.Skips
	givenUp := int64(0) // a trigger may be: that counts as skipped, and is no time of the schedule
	trigger := j.key(schedule.ReasonTrigger, to.LastTrigger)
	if to.LastTrigger.After(from.LastTrigger) && (j.log[trigger] == 0 || j.untold[trigger]) && skips > 0 {
		givenUp = 1
	}
	until := base(to)
	if from.Key != to.Key {
		until = j.w.now.Add(-kubeflow.DesiredSchedule(j.w.object).Delay())
	}
	j.account(from, until, skips, givenUp)
	j.delivers(to)
	if first && !j.begun && ptr.Deref(j.w.object.Spec.Suspend, false) {
		j.asleep = true
	}
	if from.Key == to.Key && base(to).Before(base(from)) {
		j.fail("the schedule goes back from %s to %s", base(from), base(to))
	}
}

// delivers: what a run was stopped for may not be skipped, or nothing runs until the next time. A user may change their mind, and the
// API server may take no run.
func (j *judge) delivers(to schedule.Record) {
	d := kubeflow.DesiredSchedule(j.w.object)
	times, err := d.Timetable(time.UTC)
	if !j.owes || j.refusing || j.raced || err != nil {
		return
	}
	next := times.Next(base(to))
	due := !next.IsZero() && !next.After(j.w.now.Add(-d.Delay()))
	trigger, err := time.Parse(time.RFC3339, d.Trigger)
	if !due && (err != nil || !trigger.After(to.LastTrigger)) {
		j.fail("a run was stopped for another that is skipped (%s)", to.LastSkipReason)
	}
}

// edited is called when a user has changed the schedule.
func (j *judge) edited() {
	j.owes = false
	if j.asleep && !ptr.Deref(j.w.object.Spec.Suspend, false) {
		j.asleep, j.woken = false, j.w.now.Truncate(time.Second)
	}
}

// account compares the times of a schedule with the runs that were started and those that were skipped.
func (j *judge) account(from schedule.Record, until time.Time, skips, givenUp int64) {
	times, err := schedule.Parse(from.Key, "", time.UTC, j.w.object.CreationTimestamp.Time)
	if err != nil {
		if skips > givenUp {
			j.fail("%d runs of an invalid schedule are skipped", skips)
		}
		return
	}
	var due, started, untold int64
	for at := times.Next(base(from)); !at.IsZero() && !at.After(until); at = times.Next(at) {
		due++
		switch k := j.key(schedule.ReasonSchedule, at); {
		case j.untold[k]:
			untold++
		case j.log[k] > 0:
			started++
		case j.backfilled[at.Unix()]:
			untold++ // it counts as started as long as the run exists
		case j.log[j.key(schedule.ReasonTrigger, at)] > 0:
			untold++ // as above
		}
	}
	if missing := due - started - skips; missing < -givenUp || missing > untold {
		j.fail("of %d times after %s and until %s, %d were started and %d skipped", due, base(from).UTC(), until.UTC(), started, skips)
	}
}

func base(r schedule.Record) time.Time {
	if r.LastTick.After(r.Since) {
		return r.LastTick
	}
	return r.Since
}
