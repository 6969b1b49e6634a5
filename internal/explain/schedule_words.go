// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// at formats a time in the schedule's time zone.
func (r ScheduleReport) at(t time.Time) string { return t.In(r.zone).Format(time.RFC3339) }

// active names the unfinished runs.
func (r ScheduleReport) active() []string {
	var names []string
	for _, run := range r.Runs {
		if run.Active {
			names = append(names, run.Name)
		}
	}
	return names
}

func (v scheduleView) summary(r ScheduleReport) string {
	due := "a run is due"
	if at := v.plan.Due(v.Env); !at.IsZero() {
		due = "the run of " + r.at(at) + " is due"
	}
	switch reason := schedule.Reason(r.Reason); {
	case len(v.plan.Errors) > 0:
		return "starts no run, because its spec is invalid: " + r.Message
	case reason == schedule.ReasonNameConflict || reason == schedule.ReasonRunRefused:
		return "cannot start a run: " + r.Message
	case reason == schedule.ReasonWaitingForActive:
		return fmt.Sprintf("waits: %s, and %s, and spec.concurrencyPolicy is Forbid", due, unfinished(r.active()))
	case reason == schedule.ReasonReplacing:
		return fmt.Sprintf("replaces a run: %s, and starts when %s is gone, because spec.concurrencyPolicy is Replace", due, some(r.active(), v.Observed.Stopping))
	case v.plan.Start != nil:
		return "starts a run now: " + v.words(r, v.plan.Start)
	case r.Suspended:
		return "is suspended"
	case len(r.Next) > 0:
		return fmt.Sprintf("starts its next run in %s, at %s", duration.HumanDuration(r.Next[0].At.Sub(r.now)), r.at(r.Next[0].At.Time))
	}
	return "has no run to start"
}

func unfinished(names []string) string {
	switch len(names) {
	case 0:
		return "an earlier one has not finished"
	case 1:
		return names[0] + " has not finished"
	}
	return some(names, nil) + " have not finished"
}

// some joins the first names of two lists.
func some(names, more []string) string {
	const shown = 3
	all := append(names[:len(names):len(names)], more...)
	if len(all) == 0 {
		return "an earlier one"
	}
	if len(all) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
	}
	return strings.Join(all, ", ")
}

// words describes a run that would be started.
func (v scheduleView) words(r ScheduleReport, s *schedule.Start) string {
	name := s.Name
	if v.Env.Precision == "" {
		name = "the run"
	}
	return fmt.Sprintf("%s of %s (%s)", name, r.at(s.Tick), s.Reason)
}

func (v scheduleView) decision(r ScheduleReport) ScheduleDecision {
	var d ScheduleDecision
	for _, run := range v.plan.Stop {
		d.Actions = append(d.Actions, "delete "+run.Name+", which has not finished")
	}
	if v.plan.Start != nil {
		d.Actions = append(d.Actions, "create "+v.words(r, v.plan.Start))
	}
	for _, run := range v.plan.Remove {
		d.Actions = append(d.Actions, "delete "+run.Name+", which has finished and is not kept")
	}
	switch {
	case len(d.Actions) > 0:
		d.Sentence = strings.Join(d.Actions, ", then ")
	case len(v.plan.Errors) > 0:
		d.Sentence = "nothing until the spec is corrected"
	case v.waits() != "":
		d.Sentence = "wait until " + some(r.active(), v.Observed.Stopping) + " has finished"
		if v.waits() == schedule.ReasonReplacing {
			d.Sentence = "wait until " + some(r.active(), v.Observed.Stopping) + " is gone"
		}
	case r.Suspended:
		d.Sentence = "nothing until spec.suspend is false"
	case r.Backfill != nil && !r.Backfill.Finished:
		d.Sentence = "wait until a run of the backfill has finished"
	default:
		d.Sentence = "wait for the next time of the schedule"
	}
	return d
}

func (v scheduleView) advice(r ScheduleReport) []string {
	ns := " -n " + r.Namespace
	var all []string
	switch reason := schedule.Reason(r.Reason); {
	case len(v.plan.Errors) > 0:
		all = append(all, "correct "+v.plan.Errors[0].Field+" and apply it again; kubectl spark validate -f FILE says what is wrong, with the line")
	case reason == schedule.ReasonNameConflict:
		all = append(all, "delete or rename the object that has the name; the run is tried again every 30 s, and skipped when the next one is due")
	case reason == schedule.ReasonRunRefused:
		all = append(all, "fix what the API server reports; the run is tried again every 30 s, and skipped when the next one is due")
	case reason == schedule.ReasonInvalidTrigger:
		all = append(all, "set the annotation to a time, which kubectl spark trigger "+r.Name+ns+" does")
	case reason == schedule.ReasonWaitingForActive:
		for _, name := range r.active()[:min(1, len(r.active()))] {
			all = append(all, "why that run goes on: kubectl spark explain "+name+ns, "stop it: kubectl spark delete "+name+ns)
		}
	case r.Suspended:
		all = append(all, "resume it: kubectl spark resume scheduledsparkapp/"+r.Name+ns, "one run now, although it is suspended: kubectl spark trigger "+r.Name+ns)
	}
	for _, wrong := range v.Template {
		all = append(all, "correct the template, or its runs fail: "+wrong)
	}
	if r.Last != nil && r.Last.Failed {
		all = append(all, "why the last run failed: kubectl spark explain "+r.Last.Name+ns)
	}
	return all
}

// Text returns the report for users.
func (r ScheduleReport) Text() string {
	p := printer{now: r.now}
	p.line("%s %s/%s %s", r.Kind, r.Namespace, r.Name, r.Summary)
	p.section("")
	p.field("State", "%s, created %s ago", r.State, p.since(r.Created.Time))
	if r.Behind != "" {
		p.field("Status", "generation %d of %d: %s", r.ObservedGeneration, r.Generation, r.Behind)
	}
	p.field("Schedule", "%s, in time zone %s", r.Schedule, r.TimeZone)
	switch {
	case r.Reason == "":
	case strings.Contains(r.Summary, r.Message):
		p.field("Reason", "%s", r.Reason)
	default:
		p.field("Reason", "%s: %s", r.Reason, r.Message)
	}
	p.field("Decision", "%s", r.Decision.Sentence)
	for _, next := range r.Next {
		p.field("Next", "%s", r.nextText(&p, next))
	}
	if r.Last != nil {
		p.field("Last", "%s", r.Last.text(&p, r))
	}
	p.field("Policies", "concurrencyPolicy %s, missedRunPolicy %s", r.ConcurrencyPolicy, r.MissedRunPolicy)
	if s := r.Skipped; s != nil {
		runs := "1 run, of"
		if s.Runs != 1 {
			runs = fmt.Sprintf("%d runs, the last of", s.Runs)
		}
		p.field("Skipped", "%s %s: %s", runs, r.at(s.Last.Time), s.Why)
	}
	if r.Backfill != nil {
		p.field("Backfill", "%s", r.backfillText())
	}
	p.list("What you can do", r.Advice)
	if len(r.Runs) > 0 {
		p.section("Runs")
	}
	for i := range r.Runs {
		p.line("  %s", r.Runs[i].text(&p, r))
	}
	if len(r.Conditions) > 0 {
		p.section("Conditions")
	}
	for _, c := range r.Conditions {
		p.line("  %-16s %-8s %s: %s", c.Type, c.Status, c.Reason, oneLine(c.Message))
	}
	p.list("Could not be read", r.Unreadable)
	return p.String()
}

func (r ScheduleReport) nextText(p *printer, next NextRun) string {
	text := fmt.Sprintf("%s: %s", p.in(next.At.Time), r.at(next.At.Time))
	if !next.At.Equal(&next.Scheduled) {
		text += ", for " + r.at(next.Scheduled.Time)
	}
	if next.Name != "" {
		text += ", " + next.Name
	}
	return text
}

func (run Run) text(p *printer, r ScheduleReport) string {
	parts := []string{run.Name}
	if run.State != "" {
		parts[0] += ": " + run.State
	}
	if run.Reason != "" {
		parts = append(parts, run.Reason)
	}
	if run.Scheduled != nil {
		parts = append(parts, "for "+r.at(run.Scheduled.Time))
	}
	if run.Started != nil {
		parts = append(parts, "started "+p.since(run.Started.Time)+" ago")
	}
	return strings.Join(parts, ", ")
}

func (r ScheduleReport) backfillText() string {
	b := r.Backfill
	text := fmt.Sprintf("%s to before %s: %d of %d runs started", r.at(b.From.Time), r.at(b.To.Time), b.Started, b.Total)
	if n := len(b.Failed); n > 0 {
		text += fmt.Sprintf(", %d failed (%s)", n, some(b.Failed, nil))
	}
	if b.Finished {
		return text + ", finished"
	}
	return fmt.Sprintf("%s, at most %d at a time, next run: %s", text, b.MaxActive, r.at(b.Next.Time))
}
