// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// ScheduleInput is the observed state of one schedule.
type ScheduleInput struct {
	Object   metav1.Object
	Kind     string
	Desired  schedule.Desired
	Record   schedule.Record
	Observed schedule.Observation
	// States are the family's names of the runs' states.
	States map[string]string
	// Conditions are the conditions in the status.
	Conditions []metav1.Condition
	// Template lists the errors in the spec of the runs, as sentences. Runs with such errors fail.
	Template   []string
	Unreadable []string
	Env        schedule.Env
}

// ScheduleReport is the explanation of a schedule.
type ScheduleReport struct {
	Kind               string      `json:"kind"`
	Namespace          string      `json:"namespace"`
	Name               string      `json:"name"`
	State              string      `json:"state"`
	Generation         int64       `json:"generation"`
	ObservedGeneration int64       `json:"observedGeneration"`
	Behind             string      `json:"behind,omitempty"`
	Created            metav1.Time `json:"created"`
	Schedule           string      `json:"schedule"`
	TimeZone           string      `json:"timeZone"`
	Suspended          bool        `json:"suspended,omitempty"`
	ConcurrencyPolicy  string      `json:"concurrencyPolicy"`
	MissedRunPolicy    string      `json:"missedRunPolicy"`
	// Summary describes the schedule in one sentence.
	Summary  string           `json:"summary"`
	Reason   string           `json:"reason,omitempty"`
	Message  string           `json:"message,omitempty"`
	Decision ScheduleDecision `json:"decision"`
	// Next are the next runs, up to the end of the schedule.
	Next []NextRun `json:"next,omitempty"`
	// Last is the most recent run. Runs are the existing runs, the newest first.
	Last       *Run               `json:"last,omitempty"`
	Runs       []Run              `json:"runs,omitempty"`
	Skipped    *Skipped           `json:"skipped,omitempty"`
	Backfill   *Backfill          `json:"backfill,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Advice     []string           `json:"advice,omitempty"`
	Unreadable []string           `json:"doubts,omitempty"`

	now  time.Time
	zone *time.Location
}

// ScheduleDecision is the operator's next step for a schedule.
type ScheduleDecision struct {
	Sentence string   `json:"sentence"`
	Actions  []string `json:"actions,omitempty"`
}

// NextRun is an expected run. Scheduled is its time in the schedule, and At its start, which jitter may delay.
type NextRun struct {
	Scheduled metav1.Time `json:"scheduled"`
	At        metav1.Time `json:"at"`
	// Name is "" if the operator's configuration is unknown.
	Name string `json:"name,omitempty"`
}

// Run is a run that exists or was deleted.
type Run struct {
	Name      string       `json:"name"`
	State     string       `json:"state,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Scheduled *metav1.Time `json:"scheduled,omitempty"`
	Started   *metav1.Time `json:"started,omitempty"`
	Active    bool         `json:"active,omitempty"`
	Failed    bool         `json:"failed,omitempty"`
}

// Skipped counts the runs that were due and not started.
type Skipped struct {
	Runs   int64       `json:"runs"`
	Last   metav1.Time `json:"last"`
	Reason string      `json:"reason"`
	Why    string      `json:"why"`
}

// Backfill is the progress of a backfill.
type Backfill struct {
	From      metav1.Time  `json:"from"`
	To        metav1.Time  `json:"to"`
	Started   int32        `json:"started"`
	Total     int          `json:"total"`
	MaxActive int32        `json:"maxActive"`
	Next      *metav1.Time `json:"next,omitempty"`
	Finished  bool         `json:"finished,omitempty"`
	// Failed names the failed runs, including deleted ones.
	Failed []string `json:"failed,omitempty"`
}

// Schedule decides as the operator would, and reports the decision.
func Schedule(in ScheduleInput) ScheduleReport {
	d, env := in.Desired, in.Env
	v := scheduleView{ScheduleInput: in, plan: schedule.Decide(d, in.Record, in.Observed, env), zone: env.Local}
	v.outcome = schedule.Settle(v.plan, schedule.Result{}, env)
	v.times, _ = d.Timetable(env.Local) // the plan's errors include this error
	if v.times != nil {
		v.zone = v.times.Location
	}
	reason, message := v.cause()
	r := ScheduleReport{
		Kind: in.Kind, Namespace: in.Object.GetNamespace(), Name: d.Name, State: cmp.Or(string(in.Record.State), "NEW"),
		Generation: d.Generation, ObservedGeneration: in.Record.Generation, Behind: v.behind(), Created: in.Object.GetCreationTimestamp(),
		Schedule: d.Schedule, TimeZone: v.zone.String(), Suspended: d.Suspend,
		ConcurrencyPolicy: cmp.Or(d.Concurrency, schedule.Allow), MissedRunPolicy: cmp.Or(d.Missed, schedule.RunLatest),
		Reason: string(reason), Message: message, Next: v.next(), Runs: v.runs(), Skipped: v.skipped(), Backfill: v.backfill(),
		Conditions: in.Conditions, Unreadable: in.Unreadable, now: env.Now, zone: v.zone,
	}
	r.Last = v.last(r.Runs)
	r.Summary, r.Decision, r.Advice = v.summary(r), v.decision(r), v.advice(r)
	return r
}

// scheduleView is the input for the parts of a report.
type scheduleView struct {
	ScheduleInput
	plan    schedule.Plan
	outcome schedule.Outcome
	// times is nil if the schedule is invalid.
	times *schedule.Timetable
	zone  *time.Location
}

func (v scheduleView) behind() string {
	switch {
	case v.Record.State == schedule.New && v.Record.Since.IsZero():
		return "the operator has not reconciled the schedule yet"
	case v.Record.Generation == 0:
		return "the status was written by another operator; this one takes over the schedule unchanged"
	case v.Record.Generation != v.Desired.Generation:
		return "the spec was changed after the last reconcile"
	}
	return ""
}

// condition returns the condition that the operator would write.
func (v scheduleView) condition(kind string) schedule.Condition {
	i := slices.IndexFunc(v.outcome.Conditions, func(c schedule.Condition) bool { return c.Type == kind })
	if i < 0 {
		return schedule.Condition{}
	}
	return v.outcome.Conditions[i]
}

// waits returns the reason why a due run is not started; "" for none.
func (v scheduleView) waits() schedule.Reason {
	c := v.condition(schedule.ConditionRunActive)
	if c.Reason == schedule.ReasonWaitingForActive || c.Reason == schedule.ReasonReplacing {
		return c.Reason
	}
	return ""
}

// trouble returns the recorded obstacle of a run. Only the next try shows whether the obstacle still exists.
func (v scheduleView) trouble() schedule.Trouble {
	if v.plan.Start != nil || v.Env.Hold.After(v.Env.Now) {
		return v.Record.Trouble
	}
	return schedule.Trouble{}
}

// cause explains why an expected run does not or will not start; empty if every run starts.
func (v scheduleView) cause() (schedule.Reason, string) {
	stalled, scheduled := v.condition(schedule.ConditionStalled), v.condition(schedule.ConditionScheduled)
	switch {
	case len(v.plan.Errors) > 0:
		return stalled.Reason, stalled.Message
	case v.trouble().Reason != "":
		return v.trouble().Reason, v.trouble().Message
	case v.waits() != "":
		return v.waits(), v.condition(schedule.ConditionRunActive).Message
	case stalled.True:
		return stalled.Reason, stalled.Message
	case !scheduled.True:
		return scheduled.Reason, scheduled.Message
	}
	return "", ""
}

func (v scheduleView) next() []NextRun {
	const shown = 3
	if v.Desired.Suspend || len(v.plan.Errors) > 0 {
		return nil
	}
	var all []NextRun
	for _, s := range v.Desired.Forecast(v.Env.Now.Add(-v.Desired.Delay()), shown, v.Env) {
		next := NextRun{Scheduled: metav1.NewTime(s.Tick), At: metav1.NewTime(s.Tick.Add(v.Desired.Delay()))}
		if v.Env.Precision != "" {
			next.Name = s.Name
		}
		all = append(all, next)
	}
	return all
}

func (v scheduleView) runs() []Run {
	observed := slices.Clone(v.Observed.Runs)
	slices.SortFunc(observed, func(a, b schedule.Run) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.Name, b.Name))
	})
	all := make([]Run, 0, len(observed))
	for _, o := range observed {
		run := Run{
			Name: o.Name, State: v.States[o.Name], Reason: string(o.Reason), Active: o.Phase == schedule.Active, Failed: o.Phase == schedule.Failed,
			Started: &metav1.Time{Time: o.Created},
		}
		if !o.Tick.IsZero() {
			run.Scheduled = &metav1.Time{Time: o.Tick.In(v.zone)}
		}
		all = append(all, run)
	}
	return all
}

// last returns the most recent run, even if it was deleted.
func (v scheduleView) last(runs []Run) *Run {
	name := v.Record.LastRunName
	if name == "" {
		return nil
	}
	if i := slices.IndexFunc(runs, func(r Run) bool { return r.Name == name }); i >= 0 {
		return &runs[i]
	}
	return &Run{Name: name, State: "deleted", Started: &metav1.Time{Time: v.Record.LastRun}}
}

// whySkipped maps the reasons of skipped runs to sentences.
var whySkipped = map[schedule.SkipReason]string{
	schedule.SkipMissed:   "a later run was due before this one could start (spec.missedRunPolicy)",
	schedule.SkipActive:   "the previous run was still active when this one was due (spec.concurrencyPolicy is Forbid)",
	schedule.SkipDeadline: "it could not be started in time (spec.startingDeadlineSeconds)",
	schedule.SkipTooMany:  fmt.Sprintf("more runs were missed than the limit of %d", schedule.MaxOutstanding),
	schedule.SkipChanged:  "the schedule was changed before it was started",
	schedule.SkipConflict: "another object had its name until the next was due",
	schedule.SkipRefused:  "the API server refused it until the next was due",
}

func (v scheduleView) skipped() *Skipped {
	r := v.Record
	if r.Skips == 0 {
		return nil
	}
	return &Skipped{
		Runs: r.Skips, Last: metav1.NewTime(r.LastSkipped.In(v.zone)), Reason: string(r.LastSkipReason),
		Why: cmp.Or(whySkipped[r.LastSkipReason], string(r.LastSkipReason)),
	}
}

func (v scheduleView) backfill() *Backfill {
	wanted, p := v.Desired.Backfill, v.outcome.Record.Backfill
	if wanted == nil || p == nil || v.times == nil {
		return nil
	}
	end := wanted.To
	if v.Env.Now.Before(end) {
		end = v.Env.Now.Add(time.Second)
	}
	total, _ := v.times.Count(wanted.From.Add(-time.Second), end.Add(-time.Second), schedule.MaxBackfill)
	b := &Backfill{
		From: metav1.NewTime(wanted.From.In(v.zone)), To: metav1.NewTime(wanted.To.In(v.zone)), Started: p.Started, Total: total,
		MaxActive: max(1, wanted.MaxActive), Finished: p.Next.IsZero(), Failed: p.Failed,
	}
	if !p.Next.IsZero() {
		b.Next = &metav1.Time{Time: p.Next.In(v.zone)}
	}
	return b
}
