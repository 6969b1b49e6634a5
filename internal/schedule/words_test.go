// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// words says what a plan does, and what the record says then if the run is started: all that has changed in it, and when the next look is.
func words(r Record, p Plan, env Env) string {
	var all []string
	if p.NeedsLive {
		all = append(all, "live")
	}
	result := Result{}
	if p.Start != nil {
		all = append(all, fmt.Sprintf("start %s %s about %s to %s", p.Start.Reason, show(p.Start.Tick), show(p.Start.From), show(p.Start.To)))
		result = Result{Class: ClassStarted, Created: env.Now}
	}
	for _, run := range p.Stop {
		all = append(all, "stop "+run.Tick.Format("02"))
	}
	for _, run := range p.Remove {
		all = append(all, "remove "+run.about().Format("02"))
	}
	o := Settle(p, result, env)
	for _, reason := range SkipReasons() {
		if n := o.Skipped[reason]; n > 0 {
			all = append(all, fmt.Sprintf("skip %d %s", n, reason))
		}
	}
	if len(all) == 0 {
		all = append(all, "nothing")
	}
	return strings.Join(all, ", ") + "; " + became(r, o)
}

// became is what an outcome says, and what has changed in the record. LastRunName and Active of a run that was started are left out: they are its name.
func became(r Record, o Outcome) string {
	var all []string
	before, after := reflect.ValueOf(r), reflect.ValueOf(o.Record)
	for i := range before.NumField() {
		from, to := show(before.Field(i).Interface()), show(after.Field(i).Interface())
		if from != to {
			all = append(all, before.Type().Field(i).Name+" "+to)
		}
	}
	if o.Delay >= 0 {
		all = append(all, "late "+o.Delay.String())
	}
	if !o.Hold.IsZero() {
		all = append(all, "hold "+show(o.Hold))
	}
	for _, c := range o.Conditions {
		if c.Reason == ReasonWaitingForActive || c.Reason == ReasonReplacing {
			all = append(all, string(c.Reason))
		}
	}
	return strings.Join(append(all, "again in "+o.Requeue.String()), ", ")
}

// show is a value of a record in short: times in January 2026 without it.
func show(v any) string {
	switch v := v.(type) {
	case time.Time:
		layout := "02 15:04"
		switch {
		case v.IsZero():
			return "none"
		case v.Year() != 2026 || v.Month() != time.January:
			layout = "2006-01-02 15:04"
		}
		if v.Second() != 0 || v.Nanosecond() != 0 {
			layout += ":05.999999999"
		}
		return v.Format(layout)
	case *Progress:
		if v == nil {
			return "none"
		}
		return fmt.Sprintf("{%s to %s, next %s, started %d, failed %v}", show(v.From), show(v.To), show(v.Next), v.Started, v.Failed)
	case Trouble:
		if v == (Trouble{}) {
			return "none"
		}
		return fmt.Sprintf("{%s %q since %s}", v.Reason, v.Message, show(v.Since))
	case string, State, Reason, SkipReason:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}
