// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Paths of the fields, for messages.
var (
	pathName      = field.NewPath("metadata", "name")
	pathTrigger   = field.NewPath("metadata", "annotations").Key("sparkoperator.k8s.io/trigger-at")
	pathSpec      = field.NewPath("spec")
	pathSchedule  = pathSpec.Child("schedule")
	pathTimeZone  = pathSpec.Child("timeZone")
	pathPolicy    = pathSpec.Child("concurrencyPolicy")
	pathMissed    = pathSpec.Child("missedRunPolicy")
	pathSucceeded = pathSpec.Child("successfulRunHistoryLimit")
	pathFailed    = pathSpec.Child("failedRunHistoryLimit")
	pathDeadline  = pathSpec.Child("startingDeadlineSeconds")
	pathJitter    = pathSpec.Child("jitterSeconds")
	pathBackfill  = pathSpec.Child("backfill")
)

// Limits of durations.
const (
	maxJitter   = 24 * time.Hour
	maxDeadline = 10 * 366 * 24 * time.Hour
)

const (
	// maxSchedule bounds a schedule with its time zone, in bytes. The status stores both.
	maxSchedule = 1024
	// maxShown bounds a value or a path in a message, in bytes. maxTexts bounds how many strings are named.
	maxShown = 120
	maxTexts = 10
)

// The permitted years. Names of runs contain the nanoseconds since 1970 as a 64-bit number.
const firstYear, lastYear = 1700, 2199

var yearsSay = fmt.Sprintf("must be in one of the years from %d to %d", firstYear, lastYear)

// Validate returns the errors of a schedule by field. They prevent all runs. ValidateTrigger checks the trigger.
func (d Desired) Validate(local *time.Location) field.ErrorList {
	_, all := d.validate(local)
	return all
}

// validate returns the times of the schedule and its errors. The errors are short and safe to display, because they appear in statuses, events, logs and
// responses.
func (d Desired) validate(local *time.Location) (*Timetable, field.ErrorList) {
	times, all := d.check(local)
	for _, e := range all {
		e.Field, e.Detail = head(e.Field, maxShown), head(e.Detail, maxMessage)
		if value, ok := e.BadValue.(string); ok {
			e.BadValue = head(value, maxShown)
		}
	}
	return times, all
}

func (d Desired) check(local *time.Location) (*Timetable, field.ErrorList) {
	if d.Malformed != "" {
		return nil, field.ErrorList{field.Invalid(pathSpec, field.OmitValueType{}, d.Malformed)}
	}
	var all field.ErrorList
	times, err := d.Timetable(local)
	if err != nil {
		all = append(all, d.unreadable(err))
	}
	if problems := validation.IsDNS1123Label(d.Name); len(problems) > 0 {
		all = append(all, field.Invalid(pathName, d.Name, "it begins the names of the runs: "+problems[0]))
	}
	switch d.Concurrency {
	case "", Allow, Forbid, Replace:
	default:
		all = append(all, field.Invalid(pathPolicy, d.Concurrency, fmt.Sprintf("write %s, %s or %s", Allow, Forbid, Replace)))
	}
	switch d.Missed {
	case "", RunLatest, RunAll, Skip:
	default:
		all = append(all, field.Invalid(pathMissed, d.Missed, fmt.Sprintf("write %s, %s or %s", RunLatest, RunAll, Skip)))
	}
	for _, limit := range []struct {
		path  *field.Path
		value int32
	}{{pathSucceeded, d.KeepSucceeded}, {pathFailed, d.KeepFailed}} {
		if limit.value < 0 {
			all = append(all, field.Invalid(limit.path, limit.value, "must be 0 or more; 0 keeps none"))
		}
	}
	if d.Deadline != nil && (*d.Deadline < 0 || *d.Deadline > maxDeadline) {
		all = append(all, field.Invalid(pathDeadline, int64(*d.Deadline/time.Second), fmt.Sprintf("must be between 0 and %d", maxDeadline/time.Second)))
	}
	if d.Jitter < 0 || d.Jitter > maxJitter {
		all = append(all, field.Invalid(pathJitter, int64(d.Jitter/time.Second), fmt.Sprintf("must be between 0 and %d", maxJitter/time.Second)))
	}
	all = append(all, d.validateBackfill(times)...)
	return times, append(all, d.validateTexts()...)
}

// validateTexts reports one unknown variable of each string. It reports at most maxTexts strings, because there may be thousands.
func (d Desired) validateTexts() (all field.ErrorList) {
	for _, text := range d.Texts {
		unknown := UnknownVariables(text.Value)
		if len(unknown) == 0 {
			continue
		}
		if all = append(all, field.Invalid(field.NewPath(text.Path), text.Value, unknownVariable(unknown[0]))); len(all) == maxTexts {
			break
		}
	}
	return all
}

// Timetable returns the times of the schedule.
func (d Desired) Timetable(local *time.Location) (*Timetable, error) {
	if n := len(d.Schedule) + len(d.TimeZone); n > maxSchedule {
		return nil, fmt.Errorf("schedule and time zone have %d bytes; write %d at most", n, maxSchedule)
	}
	return Parse(d.Schedule, d.TimeZone, local, d.Created)
}

// unreadable returns the error of the schedule or of its time zone.
func (d Desired) unreadable(err error) *field.Error {
	if errors.Is(err, errTimeZone) && !strings.Contains(d.Schedule, "TZ=") {
		return field.Invalid(pathTimeZone, d.TimeZone, err.Error())
	}
	return field.Invalid(pathSchedule, d.Schedule, err.Error())
}

func (d Desired) validateBackfill(times *Timetable) field.ErrorList {
	b := d.Backfill
	switch {
	case b == nil:
		return nil
	case !known(b.From):
		return field.ErrorList{field.Invalid(pathBackfill.Child("from"), b.From.UTC().Format(time.RFC3339), yearsSay)}
	case !known(b.To):
		return field.ErrorList{field.Invalid(pathBackfill.Child("to"), b.To.UTC().Format(time.RFC3339), yearsSay)}
	case !b.From.Before(b.To):
		return field.ErrorList{field.Invalid(pathBackfill.Child("to"), b.To.UTC().Format(time.RFC3339),
			"must be later than from, "+b.From.UTC().Format(time.RFC3339))}
	case b.MaxActive < 0:
		return field.ErrorList{field.Invalid(pathBackfill.Child("maxActive"), b.MaxActive, "must be at least 1")}
	case times == nil:
		return nil
	}
	// The range includes its start and excludes its end.
	n, more := times.Count(b.From.Add(-time.Second), b.To.Add(-time.Second), 10*MaxBackfill)
	if n <= MaxBackfill {
		return nil
	}
	has := fmt.Sprint(n)
	if more {
		has = "more than " + has
	}
	return field.ErrorList{field.Invalid(pathBackfill, b.From.UTC().Format(time.RFC3339)+" to "+b.To.UTC().Format(time.RFC3339),
		fmt.Sprintf("the range has %s times of the schedule; a backfill may have %d: choose a shorter range", has, MaxBackfill))}
}

// known reports whether a time is in a permitted year.
func known(at time.Time) bool { return at.UTC().Year() >= firstYear && at.UTC().Year() <= lastYear }

// ValidateTrigger returns the error of a trigger.
func (d Desired) ValidateTrigger() *field.Error {
	if _, err := d.trigger(); err != nil {
		return field.Invalid(pathTrigger, head(d.Trigger, maxShown), err.Error())
	}
	return nil
}

// trigger returns the time of the trigger, in whole seconds; zero for none.
func (d Desired) trigger() (time.Time, error) {
	if d.Trigger == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, d.Trigger)
	switch {
	case err != nil:
		err = errors.New("write a time in RFC 3339, such as 2026-01-31T08:30:00Z")
	case !known(at):
		err = errors.New(yearsSay)
	}
	return at.Truncate(time.Second), err
}

// invalid returns the status message of an invalid schedule. For a time zone it begins as the Kubeflow operator's message, because tools search for that.
func invalid(all field.ErrorList) string {
	prefix, sentences := "", make([]string, 0, len(all))
	for _, e := range all {
		if strings.Contains(e.Detail, errTimeZone.Error()) {
			prefix = "Invalid timezone: "
		}
		sentence := e.Field + ": " + e.Detail
		if value, ok := e.BadValue.(string); ok {
			sentence = fmt.Sprintf("%s: %q: %s", e.Field, value, e.Detail)
		}
		sentences = append(sentences, sentence)
	}
	return prefix + strings.Join(sentences, "; ")
}
