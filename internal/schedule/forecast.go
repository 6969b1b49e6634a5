// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// Forecast returns the next runs of the schedule whose times are after another, as if nothing prevented them: none if there is
// something wrong with the schedule.
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

// Due returns the time of the schedule whose run is due and not dealt with yet, as far as the plan goes; zero if none is.
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
