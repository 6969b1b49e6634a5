// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Commands and pages show what is to come, with the names that the runs will have.
func TestForecast(t *testing.T) {
	for name, c := range map[string]struct {
		reason, schedule string
		after            time.Time
		n                int
		want             []Start
	}{
		"Two": {"as many as are wanted", "0 6 * * *", day(4), 2, []Start{
			{Name: "job-29459880", Reason: "Schedule", Tick: day(5), From: day(4), To: day(5)},
			{Name: "job-29461320", Reason: "Schedule", Tick: day(6), From: day(5), To: day(6)},
		}},
		"None":    {"none is wanted", "0 6 * * *", day(4), 0, nil},
		"Invalid": {"it is wrong", "six", day(4), 2, nil},
		"Sparse": {"there are no more within years", "0 0 29 2 *", at(t, "2090-01-01"), 3, []Start{
			{Name: "job-64251360", Reason: "Schedule", Tick: at(t, "2092-02-29"), From: at(t, "2088-02-29"), To: at(t, "2092-02-29")},
			{Name: "job-66355200", Reason: "Schedule", Tick: at(t, "2096-02-29"), From: at(t, "2092-02-29"), To: at(t, "2096-02-29")},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, env := daily()
			d.Schedule = c.schedule
			if diff := cmp.Diff(c.want, d.Forecast(c.after, c.n, env)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// What is due is told by the time that has come, not by when a run may start.
func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change func(*Desired, *Record, *Env)
		want   time.Time
	}{
		"Due":       {"it was not dealt with", func(*Desired, *Record, *Env) {}, day(4)},
		"Now":       {"it has come at this moment", func(_ *Desired, _ *Record, e *Env) { e.Now = day(4) }, day(4)},
		"Soon":      {"it is to come", func(_ *Desired, _ *Record, e *Env) { e.Now = day(4).Add(-time.Second) }, time.Time{}},
		"Jitter":    {"its delay has not passed", func(d *Desired, _ *Record, _ *Env) { d.Jitter = 24 * time.Hour }, time.Time{}},
		"Dealt":     {"it was started", func(_ *Desired, r *Record, _ *Env) { r.LastTick = day(4) }, time.Time{}},
		"Suspended": {"nothing is due", func(d *Desired, _ *Record, _ *Env) { d.Suspend = true }, time.Time{}},
		"Invalid":   {"nothing starts", func(d *Desired, _ *Record, _ *Env) { d.Concurrency = "x" }, time.Time{}},
		"Malformed": {"it has no times", func(d *Desired, _ *Record, _ *Env) { d.Malformed = "bad" }, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			d, r, env := daily()
			c.change(&d, &r, &env)
			if got := Decide(d, r, Observation{Runs: []Run{runOf(3, Active)}}, Env{Now: env.Now, Local: time.UTC, Precision: Minutes, Hold: env.Now.Add(time.Hour)}).Due(env); !got.Equal(c.want) {
				t.Errorf("%s: %s, want %s", c.reason, got, c.want)
			}
		})
	}
}
