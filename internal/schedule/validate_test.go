// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Desired)
		want   []string
	}{
		"Good":       {func(*Desired) {}, nil},
		"Schedule":   {func(d *Desired) { d.Schedule = "six" }, []string{`spec.schedule: Invalid value: "six": expected exactly 5 fields, found 1: [six]; write five fields such as "30 2 * * *", or @yearly, @monthly, @weekly, @daily, @hourly, "@every 2h"`}},
		"Zone":       {func(d *Desired) { d.TimeZone = "Atlantis" }, []string{`spec.timeZone: Invalid value: "Atlantis": unknown time zone: "Atlantis"; write a name of the IANA database such as Europe/Berlin`}},
		"ZonePrefix": {func(d *Desired) { d.Schedule = "TZ=Atlantis @daily" }, []string{`spec.schedule: Invalid value: "TZ=Atlantis @daily": unknown time zone: "Atlantis"; write a name of the IANA database such as Europe/Berlin`}},
		"Never":      {func(d *Desired) { d.Schedule = "0 0 31 4 *" }, []string{`spec.schedule: Invalid value: "0 0 31 4 *": no date matches it; choose a day that exists in its month`}},
		"Name":       {func(d *Desired) { d.Name = "1st.job" }, []string{`metadata.name: Invalid value: "1st.job": it begins the names of the runs: must not contain dots`}},
		"LongName":   {func(d *Desired) { d.Name = strings.Repeat("x", 64) }, []string{`metadata.name: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": it begins the names of the runs: must be no more than 63 characters`}},
		"Policy":     {func(d *Desired) { d.Concurrency = "allow" }, []string{`spec.concurrencyPolicy: Invalid value: "allow": write Allow, Forbid or Replace`}},
		"Missed":     {func(d *Desired) { d.Missed = "All" }, []string{`spec.missedRunPolicy: Invalid value: "All": write RunLatest, RunAll or Skip`}},
		"Succeeded":  {func(d *Desired) { d.KeepSucceeded = -1 }, []string{"spec.successfulRunHistoryLimit: Invalid value: -1: must be 0 or more; 0 keeps none"}},
		"Failed":     {func(d *Desired) { d.KeepFailed = -2 }, []string{"spec.failedRunHistoryLimit: Invalid value: -2: must be 0 or more; 0 keeps none"}},
		"Deadline":   {func(d *Desired) { d.Deadline = new(-time.Second) }, []string{"spec.startingDeadlineSeconds: Invalid value: -1: must be between 0 and 316224000"}},
		"Far":        {func(d *Desired) { d.Deadline = new(100 * 366 * 24 * time.Hour) }, []string{"spec.startingDeadlineSeconds: Invalid value: 3162240000: must be between 0 and 316224000"}},
		"Longest":    {func(d *Desired) { d.Deadline, d.Jitter = new(10*366*24*time.Hour), 24*time.Hour }, nil},
		"Text":       {func(d *Desired) { d.Schedule += strings.Repeat(" ", 1024-len(d.Schedule)-3); d.TimeZone = "UTC" }, nil},
		"LongText":   {func(d *Desired) { d.Schedule += strings.Repeat(" ", 1022-len(d.Schedule)); d.TimeZone = "UTC" }, []string{`spec.schedule: Invalid value: "0 6 * * *                                                                                                            ...": schedule and time zone have 1025 bytes; write 1024 at most`}},
		"Texts": {func(d *Desired) {
			d.Texts = []Text{{"a", "$(SCHEDULED_TIME)"}, {"b", "$(SCHEDULED_B)"}, {"c", "$(SCHEDULED_C)"}}
		}, []string{
			`b: Invalid value: "$(SCHEDULED_B)": unknown variable $(SCHEDULED_B); variables are SCHEDULED_TIME, SCHEDULED_TIME_DATE, SCHEDULED_TIME_UNIX, DATA_INTERVAL_START, DATA_INTERVAL_START_DATE, DATA_INTERVAL_START_UNIX, DATA_INTERVAL_END, DATA_INTERVAL_END_DATE, DATA_INTERVAL_END_UNIX, and $$(NAME) is a literal $(NAME)`,
			`c: Invalid value: "$(SCHEDULED_C)": unknown variable $(SCHEDULED_C); variables are SCHEDULED_TIME, SCHEDULED_TIME_DATE, SCHEDULED_TIME_UNIX, DATA_INTERVAL_START, DATA_INTERVAL_START_DATE, DATA_INTERVAL_START_UNIX, DATA_INTERVAL_END, DATA_INTERVAL_END_DATE, DATA_INTERVAL_END_UNIX, and $$(NAME) is a literal $(NAME)`,
		}},
		"Jitter": {func(d *Desired) { d.Jitter = 25 * time.Hour }, []string{"spec.jitterSeconds: Invalid value: 90000: must be between 0 and 86400"}},
		"Range":  {func(d *Desired) { d.Backfill = &Backfill{From: day(2), To: day(2)} }, []string{`spec.backfill.to: Invalid value: "2026-01-02T06:00:00Z": must be later than from, 2026-01-02T06:00:00Z`}},
		"Ancient": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: time.Time{}, To: time.Time{}.AddDate(2, 0, 0)}
		}, []string{`spec.backfill.from: Invalid value: "0001-01-01T00:00:00Z": must be in one of the years from 1700 to 2199`}},
		"BeforeNames": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(1710, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, []string{`spec.backfill.from: Invalid value: "1677-01-01T00:00:00Z": must be in one of the years from 1700 to 2199`}},
		"AfterNames": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: day(1), To: time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, []string{`spec.backfill.to: Invalid value: "2263-01-01T00:00:00Z": must be in one of the years from 1700 to 2199`}},
		"Historical": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, nil},
		"MaxActive": {func(d *Desired) { d.Backfill = &Backfill{From: day(2), To: day(3), MaxActive: -1} }, []string{"spec.backfill.maxActive: Invalid value: -1: must be at least 1"}},
		"Thousand": {func(d *Desired) {
			d.Schedule, d.Backfill = "@every 1h", &Backfill{From: day(1), To: day(1).Add(1000 * time.Hour)}
		}, nil},
		"TooMany": {func(d *Desired) {
			d.Schedule, d.Backfill = "@every 1h", &Backfill{From: day(1), To: day(1).Add(1001 * time.Hour)}
		}, []string{`spec.backfill: Invalid value: "2026-01-01T06:00:00Z to 2026-02-11T23:00:00Z": the range has 1001 times of the schedule; a backfill may have 1000: choose a shorter range`}},
		"FarTooMany": {func(d *Desired) {
			d.Schedule, d.Backfill = "* * * * *", &Backfill{From: day(1), To: day(1).AddDate(50, 0, 0)}
		}, []string{`spec.backfill: Invalid value: "2026-01-01T06:00:00Z to 2076-01-01T06:00:00Z": the range has more than 10000 times of the schedule; a backfill may have 1000: choose a shorter range`}},
		"Variable":  {func(d *Desired) { d.Texts = []Text{{"spec.template.arguments[1]", "--day=$(SCHEDULED_DAY)"}} }, []string{`spec.template.arguments[1]: Invalid value: "--day=$(SCHEDULED_DAY)": unknown variable $(SCHEDULED_DAY); variables are SCHEDULED_TIME, SCHEDULED_TIME_DATE, SCHEDULED_TIME_UNIX, DATA_INTERVAL_START, DATA_INTERVAL_START_DATE, DATA_INTERVAL_START_UNIX, DATA_INTERVAL_END, DATA_INTERVAL_END_DATE, DATA_INTERVAL_END_UNIX, and $$(NAME) is a literal $(NAME)`}},
		"Malformed": {func(d *Desired) { *d = Desired{Malformed: "a list is a text"} }, []string{"spec: Invalid value: a list is a text"}},
		"All": {func(d *Desired) { d.Schedule, d.Concurrency, d.KeepFailed = "", "x", -1 }, []string{
			`spec.schedule: Invalid value: "": empty spec string; write five fields such as "30 2 * * *", or @yearly, @monthly, @weekly, @daily, @hourly, "@every 2h"`,
			`spec.concurrencyPolicy: Invalid value: "x": write Allow, Forbid or Replace`,
			"spec.failedRunHistoryLimit: Invalid value: -1: must be 0 or more; 0 keeps none",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := daily()
			c.change(&d)
			var got []string
			for _, e := range d.Validate(time.UTC) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A template may have thousands of wrong texts: ten are named.
func TestTenTextsAreNamed(t *testing.T) {
	d, _, _ := daily()
	for range 11 {
		d.Texts = append(d.Texts, Text{"a", "$(SCHEDULED_X)"})
	}
	if n := len(d.Validate(time.UTC)); n != 10 {
		t.Errorf("%d are named", n)
	}
}

func TestValidateTrigger(t *testing.T) {
	for text, good := range map[string]bool{"": true, "2026-01-31T08:30:00Z": true, "2026-01-31T08:30:00.5+01:00": true, "now": false, "2026-01-31": false, "1677-01-01T00:00:00Z": false, "2263-01-01T00:00:00Z": false, "0001-01-01T00:00:00Z": false} {
		if err := (Desired{Trigger: text}).ValidateTrigger(); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
