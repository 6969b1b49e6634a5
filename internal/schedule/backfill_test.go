// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBackfills(t *testing.T) {
	decides(t, map[string]decided{
		"Gone": {"it is not wanted any more", func(_ *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, r.Backfill = day(4), &Progress{From: day(1), To: day(3), Started: 1}
		}, "nothing; NextRun 05 06:00, Backfill none, again in 1h0m0s"},
		"OtherBegin": {"a changed range is a new one", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Backfill, r.Backfill = day(4), &Backfill{From: day(1), To: day(3)}, &Progress{From: day(2), To: day(3), Started: 1}
		}, `start Backfill 01 06:00 about 2025-12-31 06:00 to 01 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29454120", Active [job-29454120], Backfill {01 06:00 to 03 06:00, next 02 06:00, started 1, failed []}, again in 1s`},
		"Last": {"the end of the range is not a part of it", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, d.Backfill, o.Runs = day(4), &Backfill{From: day(2), To: day(3)}, []Run{runOf(2, Succeeded)}
		}, `nothing; LastRun 02 06:00, NextRun 05 06:00, LastRunName "job-29455560", Succeeded [job-29455560], Backfill {02 06:00 to 03 06:00, next none, started 1, failed []}, again in 1h0m0s`},
		"Now": {"a time that has come at this moment is none of those to come", func(d *Desired, r *Record, _ *Observation, e *Env) {
			r.LastTick, d.Backfill, e.Now = day(4), &Backfill{From: day(4), To: day(5)}, day(4)
		}, `start Backfill 04 06:00 about 03 06:00 to 04 06:00; LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], Backfill {04 06:00 to 05 06:00, next none, started 1, failed []}, again in 1s`},
		"UpToNow": {"after the last that has come, there is none left", func(d *Desired, r *Record, _ *Observation, e *Env) {
			r.LastTick, d.Backfill = day(4), &Backfill{From: day(4), To: day(9)}
		}, `start Backfill 04 06:00 about 03 06:00 to 04 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], Backfill {04 06:00 to 09 06:00, next none, started 1, failed []}, again in 1s`},
		"LastNow": {"the next one has come at this moment", func(d *Desired, r *Record, _ *Observation, e *Env) {
			r.LastTick, d.Backfill, e.Now = day(4), &Backfill{From: day(3), To: day(9)}, day(4)
		}, `start Backfill 03 06:00 about 02 06:00 to 03 06:00; LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29457000", Active [job-29457000], Backfill {03 06:00 to 09 06:00, next 04 06:00, started 1, failed []}, again in 1s`},
		"Never": {"there is no such day in years", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Schedule, r.Key, r.LastTick = "0 0 29 2 *", "0 0 29 2 *", day(4)
			d.Backfill = &Backfill{From: time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2098, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, "nothing; NextRun 2028-02-29 00:00, Backfill {2096-03-01 00:00 to 2098-01-01 00:00, next none, started 0, failed []}, again in 1h0m0s"},
		"OthersActive": {"only its own runs are counted", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, d.Backfill = day(4), &Backfill{From: day(1), To: day(3)}
			active(r, o, 4)
		}, `start Backfill 01 06:00 about 2025-12-31 06:00 to 01 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29454120", Active [job-29454120 job-29458440], Backfill {01 06:00 to 03 06:00, next 02 06:00, started 1, failed []}, again in 1s`},
		"OwnFinished": {"only those that have not finished are counted", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, d.Backfill, o.Runs = day(4), &Backfill{From: day(1), To: day(3)}, []Run{runOf(1, Succeeded)}
			o.Runs[0].Reason = ReasonBackfill
		}, `start Backfill 02 06:00 about 01 06:00 to 02 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29455560", Active [job-29455560], Succeeded [job-29454120], Backfill {01 06:00 to 03 06:00, next none, started 2, failed []}, again in 1s`},
	})
}

// Which runs of a backfill have failed is stored, for they are deleted before anybody asks.
func TestFailuresOfABackfill(t *testing.T) {
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("gone-%03d", i)
	}
	for name, c := range map[string]struct {
		reason string
		run    Run
		stored []string
		want   []string
	}{
		"Failed":   {"finding 7: it is named", runOf(1, Failed), []string{"gone"}, []string{"gone", "job-29454120"}},
		"Sorted":   {"in the order of the names", runOf(1, Failed), []string{"zone"}, []string{"job-29454120", "zone"}},
		"Known":    {"once", runOf(1, Failed), []string{"job-29454120"}, []string{"job-29454120"}},
		"RunAgain": {"finding 7: it was run again", runOf(1, Succeeded), []string{"gone", "job-29454120"}, []string{"gone"}},
		"First":    {"it was run again, and its name is the first", runOf(1, Active), []string{"job-29454120", "zone"}, []string{"zone"}},
		"Runs":     {"it has not failed", runOf(1, Active), []string{"gone"}, []string{"gone"}},
		"Last":     {"the last one of the range", runOf(2, Failed), nil, []string{"job-29455560"}},
		"End":      {"the end of the range is not a part of it", runOf(3, Failed), nil, nil},
		"Before":   {"nor is what was before", runOf(0, Failed), nil, nil},
		"Many":     {"at most a hundred are named", runOf(1, Failed), many, many},
		"Room":     {"up to a hundred", runOf(1, Failed), many[:99], append(slices.Clone(many[:99]), "job-29454120")},
	} {
		t.Run(name, func(t *testing.T) {
			d, r, env := daily()
			d.Backfill, r.LastTick = &Backfill{From: day(1), To: day(3)}, day(4)
			r.Backfill = &Progress{From: day(1), To: day(3), Failed: c.stored}
			c.run.Reason = ReasonBackfill
			stored := slices.Clone(c.stored)
			got := Settle(Decide(d, r, Observation{Runs: []Run{c.run}}, env), Result{}, env).Record.Backfill.Failed
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(stored, c.stored); diff != "" {
				t.Errorf("the record that was handed in is changed:\n%s", diff)
			}
			c.run.Reason = ReasonSchedule
			got = Settle(Decide(d, r, Observation{Runs: []Run{c.run}}, env), Result{}, env).Record.Backfill.Failed
			if diff := cmp.Diff(c.stored, got); diff != "" {
				t.Errorf("a run of the schedule changes it (-want +got):\n%s", diff)
			}
		})
	}
}

// A finished run that is not kept is deleted when the status has what a backfill needs to know of it.
func TestRunsAreDeletedWhenABackfillKnowsThem(t *testing.T) {
	done := Progress{From: day(1), To: day(4)}
	with := func(change func(*Progress)) *Progress { p := done; change(&p); return &p }
	full := make([]string, 100)
	for name, c := range map[string]struct {
		reason   string
		from, to time.Time
		progress *Progress
		phase    Phase
		of       RunReason
		deleted  bool
	}{
		"Done":        {"all of them were started", day(1), day(4), &done, Succeeded, ReasonBackfill, true},
		"Passed":      {"a later one is next", day(1), day(4), with(func(p *Progress) { p.Next = day(3) }), Succeeded, ReasonBackfill, true},
		"Next":        {"it would be started again", day(1), day(4), with(func(p *Progress) { p.Next = day(2) }), Succeeded, ReasonBackfill, false},
		"Later":       {"it would be started again, later", day(1), day(4), with(func(p *Progress) { p.Next = day(1) }), Succeeded, ReasonBackfill, false},
		"ScheduleToo": {"a run of the schedule stands for that of the backfill", day(1), day(4), with(func(p *Progress) { p.Next = day(2) }), Succeeded, ReasonSchedule, false},
		"New":         {"nothing is stored yet", day(1), day(4), nil, Succeeded, ReasonBackfill, false},
		"OtherBegin":  {"another range is stored", day(2), day(4), &done, Succeeded, ReasonBackfill, false},
		"OtherEnd":    {"another range is stored", day(1), day(3), &done, Succeeded, ReasonBackfill, false},
		"First":       {"the begin of the range is a part of it", day(2), day(4), nil, Succeeded, ReasonBackfill, false},
		"End":         {"its end is not", day(1), day(2), nil, Succeeded, ReasonBackfill, true},
		"Before":      {"it is none of the range", day(3), day(4), nil, Succeeded, ReasonBackfill, true},
		"Failed":      {"finding 7: that it has failed is not stored", day(1), day(4), &done, Failed, ReasonBackfill, false},
		"FailedKnown": {"it is stored", day(1), day(4), with(func(p *Progress) { p.Failed = []string{"job-29455560"} }), Failed, ReasonBackfill, true},
		"FailedFull":  {"it never will be", day(1), day(4), with(func(p *Progress) { p.Failed = full }), Failed, ReasonBackfill, true},
		"FailedRoom":  {"it will be", day(1), day(4), with(func(p *Progress) { p.Failed = full[:99] }), Failed, ReasonBackfill, false},
		"FailedOther": {"it is none of the backfill's", day(1), day(4), &done, Failed, ReasonSchedule, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, r, env := daily()
			d.Backfill, d.KeepSucceeded, d.KeepFailed = &Backfill{From: c.from, To: c.to}, 0, 0
			r.LastTick, r.Backfill = day(4), c.progress
			run := runOf(2, c.phase)
			run.Reason = c.of
			var want []Run
			if c.deleted {
				want = []Run{run}
			}
			if diff := cmp.Diff(want, Decide(d, r, Observation{Runs: []Run{run}}, env).Remove); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
