// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Desired)
		want   []string
	}{
		"Good":       {func(*Desired) {}, nil},
		"Schedule":   {func(d *Desired) { d.Schedule = "six" }, []string{"spec.schedule: Invalid value: \"six\"", "write five fields"}},
		"Zone":       {func(d *Desired) { d.TimeZone = "Atlantis" }, []string{"spec.timeZone: Invalid value: \"Atlantis\"", "Europe/Berlin"}},
		"ZonePrefix": {func(d *Desired) { d.Schedule = "TZ=Atlantis @daily" }, []string{"spec.schedule: Invalid value", "unknown time zone"}},
		"Never":      {func(d *Desired) { d.Schedule = "0 0 31 4 *" }, []string{"spec.schedule", "no date matches"}},
		"Name":       {func(d *Desired) { d.Name = "1st.job" }, []string{"metadata.name", "1st.job"}},
		"LongName":   {func(d *Desired) { d.Name = strings.Repeat("x", 64) }, []string{"metadata.name"}},
		"Policy":     {func(d *Desired) { d.Concurrency = "allow" }, []string{"spec.concurrencyPolicy", "write Allow, Forbid or Replace"}},
		"Missed":     {func(d *Desired) { d.Missed = "All" }, []string{"spec.missedRunPolicy", "write RunLatest, RunAll or Skip"}},
		"Succeeded":  {func(d *Desired) { d.KeepSucceeded = -1 }, []string{"spec.successfulRunHistoryLimit: Invalid value: -1", "0 or more"}},
		"Failed":     {func(d *Desired) { d.KeepFailed = -2 }, []string{"spec.failedRunHistoryLimit: Invalid value: -2"}},
		"Deadline":   {func(d *Desired) { d.Deadline = new(-time.Second) }, []string{"spec.startingDeadlineSeconds: Invalid value: -1"}},
		"Far":        {func(d *Desired) { d.Deadline = new(100 * 366 * 24 * time.Hour) }, []string{"spec.startingDeadlineSeconds"}},
		"Jitter":     {func(d *Desired) { d.Jitter = 25 * time.Hour }, []string{"spec.jitterSeconds: Invalid value: 90000", "86400"}},
		"Range":      {func(d *Desired) { d.Backfill = &Backfill{From: day(2), To: day(2)} }, []string{"spec.backfill.to", "later than from"}},
		"Ancient": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: time.Time{}, To: time.Time{}.AddDate(2, 0, 0)}
		}, []string{"spec.backfill.from: Invalid value: \"0001-01-01T00:00:00Z\"", "from 1700 to 2199"}},
		"BeforeNames": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(1710, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, []string{"spec.backfill.from: Invalid value: \"1677"}},
		"AfterNames": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: day(1), To: time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, []string{"spec.backfill.to: Invalid value: \"2263"}},
		"Historical": {func(d *Desired) {
			d.Schedule, d.Backfill = "@yearly", &Backfill{From: time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, nil},
		"MaxActive": {func(d *Desired) { d.Backfill = &Backfill{From: day(2), To: day(3), MaxActive: -1} }, []string{"spec.backfill.maxActive"}},
		"Thousand": {func(d *Desired) {
			d.Schedule, d.Backfill = "@every 1h", &Backfill{From: day(1), To: day(1).Add(1000 * time.Hour)}
		}, nil},
		"TooMany": {func(d *Desired) {
			d.Schedule, d.Backfill = "@every 1h", &Backfill{From: day(1), To: day(1).Add(1001 * time.Hour)}
		}, []string{"spec.backfill", "1001", "1000"}},
		"FarTooMany": {func(d *Desired) {
			d.Schedule, d.Backfill = "* * * * *", &Backfill{From: day(1), To: day(1).AddDate(50, 0, 0)}
		}, []string{"more than 10000", "1000"}},
		"Variable":  {func(d *Desired) { d.Texts = []Text{{"spec.template.arguments[1]", "--day=$(SCHEDULED_DAY)"}} }, []string{"spec.template.arguments[1]", "$(SCHEDULED_DAY)", "SCHEDULED_TIME_DATE"}},
		"Malformed": {func(d *Desired) { *d = Desired{Malformed: "a list is a text"} }, []string{"spec", "a list is a text"}},
		"All":       {func(d *Desired) { d.Schedule, d.Concurrency, d.KeepFailed = "", "x", -1 }, []string{"spec.schedule", "spec.concurrencyPolicy", "spec.failedRunHistoryLimit"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := daily()
			c.change(&d)
			text := ""
			if all := d.Validate(time.UTC); len(all) > 0 {
				text = all.ToAggregate().Error()
			}
			if len(c.want) == 0 && text != "" {
				t.Error(text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
		})
	}
}

func TestValidateTrigger(t *testing.T) {
	for text, good := range map[string]bool{"": true, "2026-01-31T08:30:00Z": true, "2026-01-31T08:30:00.5+01:00": true, "now": false, "2026-01-31": false, "1677-01-01T00:00:00Z": false, "2263-01-01T00:00:00Z": false, "0001-01-01T00:00:00Z": false} {
		if err := (Desired{Trigger: text}).ValidateTrigger(); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
