// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	// horizon is the maximum time between two times of a schedule. The extreme case is 29 February, which most turns of a century lack.
	horizon = 9 * 366 * 24 * time.Hour
	// allHours are the bits of all hours in cron's hour field.
	allHours = 1<<24 - 1
)

// errTimeZone is the error for an unknown time zone.
var errTimeZone = errors.New("unknown time zone")

// errNever is the error for a valid schedule that has no time.
var errNever = errors.New("no date matches it")

// Timetable has the times of a schedule. They depend only on the schedule, its time zone and, for @every, the object's creation.
//
// The five fields of cron describe a wall clock. When the clock is put forward, a skipped time moves by the change: 02:30 becomes 03:30. If 03:30 is also a
// time of the schedule, it counts once. When the clock is put back, a repeated time counts once, unless the schedule runs in every hour.
type Timetable struct {
	// Location is the schedule's time zone.
	Location *time.Location

	wall      cron.Schedule // in UTC, without a time zone
	everyHour bool
	every     time.Duration
	anchor    time.Time
}

// Parse returns the times of a schedule: five fields of cron or a descriptor, optionally after CRON_TZ= or TZ=. That prefix overrides zone, and zone overrides
// local. The times of @every count from created.
func Parse(text, zone string, local *time.Location, created time.Time) (*Timetable, error) {
	zone, fields, err := split(text, zone)
	if err != nil {
		return nil, err
	}
	t := &Timetable{Location: local, anchor: created.Truncate(time.Second)}
	if zone != "" && zone != "Local" {
		if t.Location, err = location(zone); err != nil {
			return nil, fmt.Errorf("%w: %q; write a name of the IANA database such as Europe/Berlin", errTimeZone, zone)
		}
	}
	if rest, ok := strings.CutPrefix(fields, "@every "); ok {
		t.every, err = interval(rest)
		return t, err
	}
	if t.wall, err = cron.ParseStandard(fields); err != nil {
		return nil, fmt.Errorf("%w; write five fields such as \"30 2 * * *\", or @yearly, @monthly, @weekly, @daily, @hourly, \"@every 2h\"", err)
	}
	if spec, ok := t.wall.(*cron.SpecSchedule); ok {
		t.everyHour = spec.Hour&allHours == allHours
	}
	if t.Next(created).IsZero() {
		return nil, fmt.Errorf("%w; choose a day that exists in its month", errNever)
	}
	return t, nil
}

// locations caches time zones, because each reconcile parses the schedule.
var locations sync.Map

func location(zone string) (*time.Location, error) {
	if known, ok := locations.Load(zone); ok {
		return known.(*time.Location), nil
	}
	l, err := time.LoadLocation(zone)
	if err == nil {
		locations.Store(zone, l)
	}
	return l, err
}

// split separates the time zone of a schedule from its fields.
func split(text, zone string) (effective, fields string, err error) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		rest, found := strings.CutPrefix(text, prefix)
		if !found {
			continue
		}
		if zone, text, found = strings.Cut(rest, " "); !found {
			return "", "", fmt.Errorf("there is nothing behind the time zone; write %s%s 30 2 * * *", prefix, zone)
		}
		if zone == "" {
			zone = "UTC" // as in cron's parser
		}
		break
	}
	fields = strings.Join(strings.Fields(text), " ")
	if strings.HasPrefix(fields, "TZ=") || strings.HasPrefix(fields, "CRON_TZ=") {
		return "", "", errors.New("it has two time zones; write one")
	}
	return zone, fields, nil
}

// interval parses the duration of @every, in whole seconds.
func interval(text string) (time.Duration, error) {
	every, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write one such as 90s or 2h30m", text)
	}
	if every = every.Truncate(time.Second); every < time.Second || every > horizon/2 {
		return 0, fmt.Errorf("%q is out of range; write at least 1s and at most %s", text, horizon/2)
	}
	return every, nil
}

// Key joins a schedule and its time zone to one string that Parse accepts. Equivalent schedules may have different keys. The key of an invalid schedule is safe
// to display.
func Key(text, zone string) string {
	effective, fields, err := split(text, zone)
	switch {
	case err != nil:
		fields = text
	case effective != "":
		fields = "CRON_TZ=" + effective + " " + fields
	}
	return head(fields, maxSchedule+len("CRON_TZ= "))
}

// Next returns the first time after the given one; zero if there is none within the horizon.
func (t *Timetable) Next(after time.Time) time.Time {
	if t.every > 0 {
		next := t.anchor.Add(after.Sub(t.anchor) / t.every * t.every)
		for !next.After(after) {
			next = next.Add(t.every)
		}
		return next.In(t.Location)
	}
	limit := after.Add(horizon)
	for at := after; at.Before(limit); {
		p := t.periodAt(at)
		if next := p.next(t, after); !next.IsZero() {
			return next
		}
		if p.end.IsZero() {
			break
		}
		if at = t.leap(p.end); at.IsZero() {
			break
		}
	}
	return time.Time{}
}

// leap moves ahead to the next time of a sparse schedule, so that clock changes before it are not visited.
func (t *Timetable) leap(at time.Time) time.Time {
	const margin = 36 * time.Hour // exceeds any clock change and any difference of two zones
	wall := t.wall.Next(at.UTC().Add(-margin))
	if wall.IsZero() {
		return time.Time{}
	}
	if early := wall.Add(-margin); early.After(at) {
		return early
	}
	return at
}

// period is a time range with a constant offset from UTC.
type period struct {
	start, end       time.Time // zero for none
	offset, previous time.Duration
}

func (t *Timetable) periodAt(at time.Time) period {
	at = at.In(t.Location)
	_, offset := at.Zone()
	p := period{offset: time.Duration(offset) * time.Second}
	p.start, p.end = at.ZoneBounds()
	p.previous = p.offset
	if !p.start.IsZero() {
		_, previous := p.start.Add(-time.Second).Zone()
		p.previous = time.Duration(previous) * time.Second
	}
	return p
}

// next returns the first time of the period after the given one; zero if there is none.
func (p period) next(t *Timetable, after time.Time) time.Time {
	from := after.UTC()
	if !p.start.IsZero() && from.Before(p.start) {
		from = p.start.UTC().Add(-time.Second)
	}
	wall := from.Add(p.offset)
	if repeated := p.start.UTC().Add(p.previous); p.offset < p.previous && !t.everyHour && wall.Before(repeated) {
		wall = repeated.Add(-time.Second)
	}
	best := t.wall.Next(wall)
	if !best.IsZero() {
		best = best.Add(-p.offset)
	}
	if skipped := p.offset - p.previous; skipped > 0 && from.Before(p.start.Add(skipped)) {
		// These times are in the hour that the clock skipped at the start of the period.
		lost := t.wall.Next(from.Add(p.previous))
		if at := lost.Add(-p.previous); !lost.IsZero() && at.Before(p.start.Add(skipped)) && (best.IsZero() || at.Before(best)) {
			best = at
		}
	}
	if best.IsZero() || !p.end.IsZero() && !best.Before(p.end) {
		return time.Time{}
	}
	return best.In(t.Location)
}

// Latest returns the last time after one time and not after another; zero if there is none. It finds that time without visiting all others.
func (t *Timetable) Latest(after, until time.Time) time.Time {
	latest := t.Next(after)
	if latest.IsZero() || latest.After(until) {
		return time.Time{}
	}
	if next := t.Next(latest); next.IsZero() || next.After(until) {
		return latest // the usual case
	}
	for end := until; end.Sub(latest) >= time.Second; {
		middle := latest.Add(end.Sub(latest) / 2)
		if next := t.Next(middle); !next.IsZero() && !next.After(until) {
			latest = next
		} else {
			end = middle
		}
	}
	return latest
}

// Previous returns the last time before the given one; zero if there is none within the horizon.
func (t *Timetable) Previous(before time.Time) time.Time {
	until := before.Add(-time.Nanosecond)
	for back := time.Minute; back < horizon; back *= 4 {
		if latest := t.Latest(before.Add(-back), until); !latest.IsZero() {
			return latest
		}
	}
	return t.Latest(before.Add(-horizon), until)
}

// has reports whether a time belongs to the timetable.
func (t *Timetable) has(at time.Time) bool { return t.Next(at.Add(-time.Second)).Equal(at) }

// Count counts the times after one time and not after another, up to a limit. more is set if there are more.
func (t *Timetable) Count(after, until time.Time, limit int) (n int, more bool) {
	for at := t.Next(after); !at.IsZero() && !at.After(until); at = t.Next(at) {
		if n == limit {
			return n, true
		}
		n++
	}
	return n, false
}

// Interval returns the data interval of a run, from the previous time to the run's time.
func (t *Timetable) Interval(at time.Time) (start, end time.Time) {
	return t.Previous(at), at
}

// LastInterval returns the last complete interval before the given time; zero if there is none.
func (t *Timetable) LastInterval(at time.Time) (start, end time.Time) {
	end = t.Previous(at.Add(time.Nanosecond))
	if end.IsZero() {
		return time.Time{}, time.Time{}
	}
	return t.Previous(end), end
}

// Forecast returns the next n runs after a time, assuming that nothing prevents them; none for an invalid schedule.
func (d Desired) Forecast(after time.Time, n int, env Env) []Start {
	times, err := d.Timetable(env.Local)
	if err != nil {
		return nil
	}
	c := decision{Plan: &Plan{desired: d, times: times}, env: env}
	var next []Start
	for at := times.Next(after); !at.IsZero() && len(next) < n; at = times.Next(at) {
		next = append(next, c.start(at, ReasonSchedule))
	}
	return next
}

// Due returns the scheduled time of a due run that the plan does not handle; zero if there is none.
func (p Plan) Due(env Env) time.Time {
	if p.times == nil || p.desired.Suspend || len(p.Errors) > 0 {
		return time.Time{}
	}
	at := p.times.Next(p.record.base())
	if at.After(env.Now.Add(-p.desired.Delay())) {
		return time.Time{}
	}
	return at
}
