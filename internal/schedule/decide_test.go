// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// daily runs at six and is looked at on 5 January, when the runs until the third are dealt with.
func daily() (Desired, Record, Env) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := Desired{Name: "job", UID: "u", Generation: 1, Created: created, Schedule: "0 6 * * *", KeepSucceeded: 1, KeepFailed: 1}
	r := Record{State: Scheduled, Generation: 1, Key: "0 6 * * *", Since: created, LastTick: day(3)}
	return d, r, Env{Now: day(4).Add(time.Second), Local: time.UTC, Precision: Minutes}
}

// day is six o'clock of a day.
func day(n int) time.Time { return time.Date(2026, 1, n, 6, 0, 0, 0, time.UTC) }

// runOf is a run of a day.
func runOf(n int, phase Phase) Run {
	at := day(n)
	return Run{Name: Name("job", at, Minutes), UID: fmt.Sprint(n), Reason: ReasonSchedule, Tick: at, Created: at, Phase: phase}
}

// decided is what becomes of the daily schedule after a change.
type decided struct {
	reason string
	change func(*Desired, *Record, *Observation, *Env)
	want   string
}

func decides(t *testing.T, cases map[string]decided) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d, r, env := daily()
			var o Observation
			c.change(&d, &r, &o, &env)
			again, before, env2 := daily()
			c.change(&again, &before, new(Observation), &env2)
			p := Decide(d, r, o, env)
			if got := words(before, p, env); got != c.want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.reason, got, c.want)
			}
			if diff := cmp.Diff(before, r); diff != "" {
				t.Errorf("the record that was handed in is changed:\n%s", diff)
			}
			settled(t, d, p, o, env)
		})
	}
}

func TestDecide(t *testing.T) {
	minute, hour := time.Minute, time.Hour
	decides(t, map[string]decided{
		"Due":          {"a run is due", func(*Desired, *Record, *Observation, *Env) {}, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1s, again in 1s`},
		"NotDue":       {"a second too early", func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Now = day(4).Add(-time.Second) }, "nothing; NextRun 04 06:00, again in 1s"},
		"Dealt":        {"it was started", func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick = day(4) }, "nothing; NextRun 05 06:00, again in 1h0m0s"},
		"Ahead":        {"the clock went back", func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick = day(9) }, "nothing; NextRun 10 06:00, again in 1h0m0s"},
		"New":          {"a new object does not run at once", func(_ *Desired, r *Record, _ *Observation, e *Env) { *r, e.Now = Record{}, day(1).Add(-hour) }, `nothing; State "Scheduled", Generation 1, Key "0 6 * * *", Since 01 00:00, NextRun 01 06:00, again in 1h0m0s`},
		"NewFirst":     {"its first time is after its creation", func(_ *Desired, r *Record, _ *Observation, e *Env) { *r, e.Now = Record{}, day(1) }, `start Schedule 01 06:00 about 2025-12-31 06:00 to 01 06:00; State "Scheduled", Generation 1, Key "0 6 * * *", Since 01 00:00, LastTick 01 06:00, LastRun 01 06:00, NextRun 02 06:00, LastRunName "job-29454120", Active [job-29454120], late 0s, again in 1s`},
		"Suspended":    {"no runs", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Suspend = true }, "nothing; again in 1h0m0s"},
		"Crashed":      {"the run was created, and no status was written", func(_ *Desired, _ *Record, o *Observation, _ *Env) { o.Runs = []Run{runOf(4, Active)} }, `nothing; LastTick 04 06:00, LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], again in 1h0m0s`},
		"CrashedLater": {"as above, and the next is due", func(_ *Desired, _ *Record, o *Observation, e *Env) { o.Runs, e.Now = []Run{runOf(4, Active)}, day(5) }, `start Schedule 05 06:00 about 04 06:00 to 05 06:00; LastTick 05 06:00, LastRun 05 06:00, NextRun 06 06:00, LastRunName "job-29459880", Active [job-29458440 job-29459880], late 0s, again in 1s`},

		"Missed": {"the latest runs, the others are counted", func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Now = day(9) }, `live, start Schedule 09 06:00 about 08 06:00 to 09 06:00, skip 5 Missed; LastTick 09 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29465640], Skips 5, LastSkipped 08 06:00, LastSkipReason "Missed", late 0s, again in 1s`},
		"MissedCrashed": {"what was started is not missed", func(_ *Desired, _ *Record, o *Observation, e *Env) {
			o.Runs, e.Now = []Run{runOf(6, Succeeded)}, day(9)
		}, `live, start Schedule 09 06:00 about 08 06:00 to 09 06:00, skip 4 Missed; LastTick 09 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29465640], Succeeded [job-29461320], Skips 4, LastSkipped 08 06:00, LastSkipReason "Missed", late 0s, again in 1s`},
		"MissedLast": {"nor is the last", func(_ *Desired, _ *Record, o *Observation, e *Env) { o.Runs, e.Now = []Run{runOf(9, Active)}, day(9) }, `live, skip 5 Missed; LastTick 09 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29465640], Skips 5, LastSkipped 08 06:00, LastSkipReason "Missed", again in 1h0m0s`},
		"MissedLive": {"the list is the API server's", func(_ *Desired, _ *Record, o *Observation, e *Env) { o.Live, e.Now = true, day(9) }, `start Schedule 09 06:00 about 08 06:00 to 09 06:00, skip 5 Missed; LastTick 09 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29465640], Skips 5, LastSkipped 08 06:00, LastSkipReason "Missed", late 0s, again in 1s`},
		"RunAll":     {"the oldest first", func(d *Desired, _ *Record, _ *Observation, e *Env) { d.Missed, e.Now = RunAll, day(9) }, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29458440", Active [job-29458440], late 120h0m0s, again in 1s`},
		"RunAllMany": {"at most a hundred", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Missed, e.Now = RunAll, day(3).AddDate(0, 0, 130)
		},
			`live, start Schedule 2026-02-03 06:00 about 2026-02-02 06:00 to 2026-02-03 06:00, skip 30 TooManyMissed; LastTick 2026-02-03 06:00, LastRun 2026-05-13 06:00, NextRun 2026-05-14 06:00, LastRunName "job-29501640", Active [job-29501640], Skips 30, LastSkipped 2026-02-02 06:00, LastSkipReason "TooManyMissed", late 2376h0m0s, again in 1s`},
		"RunAllDeadline": {"those that are not too late", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Missed, d.Deadline, e.Now = RunAll, new(50*time.Hour), day(9)
		}, `live, start Schedule 07 06:00 about 06 06:00 to 07 06:00, skip 3 DeadlineExceeded; LastTick 07 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29462760", Active [job-29462760], Skips 3, LastSkipped 06 06:00, LastSkipReason "DeadlineExceeded", late 48h0m0s, again in 1s`},
		"Skip": {"in time", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Missed, e.Now = Skip, day(4).Add(10*time.Second)
		}, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:00:10, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 10s, again in 1s`},
		"SkipLate": {"too late", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Missed, e.Now = Skip, day(4).Add(11*time.Second)
		}, `live, skip 1 Missed; LastTick 04 06:00, NextRun 05 06:00, Skips 1, LastSkipped 04 06:00, LastSkipReason "Missed", again in 1h0m0s`},
		"SkipMany": {"only what is due now", func(d *Desired, _ *Record, _ *Observation, e *Env) { d.Missed, e.Now = Skip, day(9).Add(time.Second) }, `live, start Schedule 09 06:00 about 08 06:00 to 09 06:00, skip 5 Missed; LastTick 09 06:00, LastRun 09 06:00:01, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29465640], Skips 5, LastSkipped 08 06:00, LastSkipReason "Missed", late 1s, again in 1s`},
		"SkipBound": {"with a deadline", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Missed, d.Deadline, e.Now = Skip, &hour, day(4).Add(time.Minute)
		}, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1m0s, again in 1s`},
		"Deadline": {"the last moment", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Deadline, e.Now = &minute, day(4).Add(minute+time.Second/2)
		}, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:01:00.5, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1m0.5s, again in 1s`},
		"DeadlineOver": {"a second later", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Deadline, e.Now = &minute, day(4).Add(minute+time.Second)
		}, `live, skip 1 DeadlineExceeded; LastTick 04 06:00, NextRun 05 06:00, Skips 1, LastSkipped 04 06:00, LastSkipReason "DeadlineExceeded", again in 1h0m0s`},
		"DeadlineZero": {"within its second", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Deadline, e.Now = new(time.Duration), day(4).Add(time.Second/2)
		}, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:00:00.5, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 500ms, again in 1s`},

		"Allow":  {"beside another", func(d *Desired, r *Record, o *Observation, _ *Env) { active(r, o, 3) }, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29457000 job-29458440], late 1s, again in 1s`},
		"Forbid": {"nothing starts beside another", func(d *Desired, r *Record, o *Observation, _ *Env) { d.Concurrency = Forbid; active(r, o, 3) }, `nothing; LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", WaitingForActiveRun, again in 1h0m0s`},
		"ForbidGo": {"the other has finished", func(d *Desired, _ *Record, o *Observation, _ *Env) {
			d.Concurrency, o.Runs = Forbid, []Run{runOf(3, Failed)}
		}, `live, start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], Failed [job-29457000], late 1s, again in 1s`},
		"ForbidStopping": {"the other's driver still runs", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Active, o.Stopping = Forbid, []string{"x"}, []string{"x"}
		}, "nothing; NextRun 05 06:00, WaitingForActiveRun, again in 1h0m0s"},
		"ForbidMissed": {"those that wait are superseded", func(d *Desired, r *Record, o *Observation, e *Env) {
			d.Concurrency, e.Now = Forbid, day(6)
			active(r, o, 3)
		}, `live, skip 2 RunStillActive; LastTick 05 06:00, LastRun 03 06:00, NextRun 07 06:00, LastRunName "job-29457000", Skips 2, LastSkipped 05 06:00, LastSkipReason "RunStillActive", WaitingForActiveRun, again in 1h0m0s`},
		"ForbidBackfill": {"Forbid holds over everything", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency = Forbid
			active(r, o, 3)
			o.Runs[0].Reason = ReasonBackfill
		}, `nothing; LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", WaitingForActiveRun, again in 1h0m0s`},
		"Replace": {"the other has to go", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Replacing = Replace, day(4)
			active(r, o, 3)
		}, `live, stop 03; LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", ReplacingRun, again in 1s`},
		"ReplaceUntold": {"finding 1: for what it goes is stored first", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency = Replace
			active(r, o, 3)
		}, `nothing; Replacing 04 06:00, LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", ReplacingRun, again in 1ms`},
		"ReplaceSlow": {"finding 1: a run was stopped for it, however long that took", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Concurrency, d.Missed, r.Replacing, e.Now = Replace, Skip, day(4), day(4).Add(time.Minute)
		}, `live, start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, Replacing none, LastRun 04 06:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1m0s, again in 1s`},
		"ReplaceSlowDeadline": {"finding 1: also with a deadline", func(d *Desired, r *Record, o *Observation, e *Env) {
			d.Concurrency, d.Deadline, r.Replacing, e.Now = Replace, new(20*time.Second), day(4), day(4).Add(time.Minute)
			r.Active, o.Stopping = []string{"x"}, []string{"x"}
		}, "nothing; NextRun 05 06:00, ReplacingRun, again in 1s"},
		"ReplaceSlowAll": {"finding 1: what is too late before it is skipped", func(d *Desired, r *Record, o *Observation, e *Env) {
			d.Concurrency, d.Missed, d.Deadline, r.Replacing, e.Now = Replace, RunAll, new(20*time.Second), day(5), day(5).Add(time.Minute)
		}, `live, start Schedule 05 06:00 about 04 06:00 to 05 06:00, skip 1 DeadlineExceeded; LastTick 05 06:00, Replacing none, LastRun 05 06:01, NextRun 06 06:00, LastRunName "job-29459880", Active [job-29459880], Skips 1, LastSkipped 04 06:00, LastSkipReason "DeadlineExceeded", late 1m0s, again in 1s`},
		"ReplaceLater": {"a later one that is in time supersedes it", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Concurrency, d.Missed, r.Replacing, e.Now = Replace, Skip, day(4), day(5).Add(time.Second)
		}, `live, start Schedule 05 06:00 about 04 06:00 to 05 06:00, skip 1 Missed; LastTick 05 06:00, Replacing none, LastRun 05 06:00:01, NextRun 06 06:00, LastRunName "job-29459880", Active [job-29459880], Skips 1, LastSkipped 04 06:00, LastSkipReason "Missed", late 1s, again in 1s`},
		"ReplaceNew": {"which is stored first", func(d *Desired, _ *Record, o *Observation, _ *Env) {
			d.Concurrency, o.Runs = Replace, []Run{runOf(3, Active)}
		}, `nothing; Replacing 04 06:00, LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", Active [job-29457000], ReplacingRun, again in 1ms`},
		"ReplaceUnstored": {"it is stored as active, and not that its time was dealt with", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, d.Trigger = Replace, "2026-01-04T05:00:00Z"
			active(r, o, 4)
		}, `nothing; LastTick 04 06:00, LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", ReplacingRun, again in 1s`},
		"ReplaceWaits": {"until it is gone", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency = Replace
			active(r, o, 3)
			o.Runs[0].Deleting = true
		}, `nothing; Replacing 04 06:00, LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", ReplacingRun, again in 1ms`},
		"ReplaceStopping": {"with its driver", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Active, o.Stopping = Replace, []string{"x"}, []string{"x"}
		}, "nothing; Replacing 04 06:00, NextRun 05 06:00, ReplacingRun, again in 1ms"},
		"ReplaceBackfill": {"the runs of a backfill stay", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency = Replace
			active(r, o, 2)
			o.Runs[0].Reason = ReasonBackfill
		}, `live, start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29455560 job-29458440], late 1s, again in 1s`},
		"Asleep": {"finding 9: created suspended, it counts from when it is resumed", func(d *Desired, r *Record, o *Observation, e *Env) {
			*r = asleep(d, e)
		}, `nothing; Key "0 6 * * *", Since 04 06:00:01, NextRun 05 06:00, again in 1h0m0s`},
		"AsleepTriggered": {"finding 9: also if a trigger has started a run", func(d *Desired, r *Record, o *Observation, e *Env) {
			*r = asleep(d, e)
			r.LastTrigger, r.LastRun = day(2), day(2)
		}, `nothing; Key "0 6 * * *", Since 04 06:00:01, NextRun 05 06:00, again in 1h0m0s`},
		"AsleepHistory": {"finding 9: runs that triggers have started are kept as any", func(d *Desired, r *Record, o *Observation, e *Env) {
			*r = asleep(d, e)
			d.Suspend, r.LastTrigger, r.LastRun = true, day(2), day(2)
			o.Runs = []Run{runOf(1, Failed), runOf(2, Failed)}
			o.Runs[0].Reason, o.Runs[1].Reason = ReasonTrigger, ReasonTrigger
		}, "remove 01; Failed [job-29455560], again in 1h0m0s"},
		"Held": {"a refused run is not tried at once", func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Hold = e.Now.Add(time.Second) }, "nothing; NextRun 05 06:00, again in 1s"},

		"Jitter": {"not before its delay", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Jitter = 24 * hour }, "nothing; NextRun 04 18:13:56, again in 1h0m0s"},
		"Edited": {"a changed schedule counts from now", func(d *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, d.Schedule = day(4), "0 5 * * *" }, `nothing; Key "0 5 * * *", Since 04 06:00:01, LastTick none, NextRun 05 05:00, again in 1h0m0s`},
		"EditedMissed": {"what was due before is skipped", func(d *Desired, _ *Record, _ *Observation, e *Env) {
			d.Schedule, e.Now = "0 5 * * *", day(5).Add(minute)
		}, `live, skip 2 ScheduleChanged; Key "0 5 * * *", Since 05 06:01, LastTick none, NextRun 06 05:00, Skips 2, LastSkipped 05 06:00, LastSkipReason "ScheduleChanged", again in 1h0m0s`},
		"Zone":   {"so does a changed zone", func(d *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, d.TimeZone = day(4), "Asia/Tokyo" }, `nothing; Key "CRON_TZ=Asia/Tokyo 0 6 * * *", Since 04 06:00:01, LastTick none, NextRun 05 06:00, again in 1h0m0s`},
		"Policy": {"an unknown policy", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Concurrency = "Sometimes" }, `nothing; State "FailedValidation", Error "spec.concurrencyPolicy: \"Sometimes\": write Allow, Forbid or Replace", again in 1h0m0s`},
		"Malformed": {"nothing is deleted", func(d *Desired, r *Record, o *Observation, _ *Env) {
			*d = Desired{Name: "job", Malformed: "bad"}
			o.Runs = []Run{runOf(1, Succeeded), runOf(2, Succeeded)}
		}, `nothing; State "FailedValidation", Error "spec: bad", Generation 0, LastRun 02 06:00, LastRunName "job-29455560", again in 1h0m0s`},

		"Trigger": {"a run beside the schedule", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Trigger = day(4), "2026-01-04T05:00:00Z"
		}, `start Trigger 04 05:00 about 02 06:00 to 03 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458380", Active [job-29458380], LastTrigger 04 05:00, again in 1s`},
		"TriggerSuspended": {"also while it is suspended", func(d *Desired, _ *Record, _ *Observation, _ *Env) {
			d.Suspend, d.Trigger = true, "2026-01-04T05:00:00Z"
		}, `start Trigger 04 05:00 about 02 06:00 to 03 06:00; LastRun 04 06:00:01, LastRunName "job-29458380", Active [job-29458380], LastTrigger 04 05:00, again in 1s`},
		"TriggerOld": {"it was started", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, r.LastTrigger, d.Trigger = day(4), day(4), "2026-01-04T05:00:00Z"
		}, "nothing; NextRun 05 06:00, again in 1h0m0s"},
		"TriggerCrashed": {"a later one was started, and no status was written", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, d.Trigger = day(4), "2026-01-04T05:00:00Z"
			o.Runs = []Run{{Name: "later", Reason: ReasonTrigger, Tick: day(4).Add(-time.Minute), Created: day(4), Phase: Active}}
		}, `nothing; LastRun 04 06:00, NextRun 05 06:00, LastRunName "later", Active [later], LastTrigger 04 05:59, again in 1h0m0s`},
		"TriggerSoon": {"not before its time", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Trigger = day(4), "2026-01-05T05:00:00Z"
		}, "nothing; NextRun 05 06:00, again in 1h0m0s"},
		"TriggerWord": {"no half of it", func(d *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, d.Trigger = day(4), "now" }, "nothing; NextRun 05 06:00, again in 1h0m0s"},
		"TriggerForbid": {"Forbid holds", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, d.Trigger = Forbid, "2026-01-04T05:00:00Z"
			active(r, o, 3)
		}, `nothing; LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", WaitingForActiveRun, again in 1h0m0s`},
		"TriggerTick": {"the run of that time exists", func(d *Desired, r *Record, o *Observation, _ *Env) {
			active(r, o, 4)
			r.LastTick, d.Trigger = day(4), "2026-01-04T06:00:00Z"
		}, `nothing; LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", LastTrigger 04 06:00, again in 1h0m0s`},

		"Backfill": {"the oldest first", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Backfill = day(4), &Backfill{From: day(1), To: day(4)}
		}, `start Backfill 01 06:00 about 2025-12-31 06:00 to 01 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29454120", Active [job-29454120], Backfill {01 06:00 to 04 06:00, next 02 06:00, started 1, failed []}, again in 1s`},
		"BackfillNext": {"one at a time", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, d.Backfill = day(4), &Backfill{From: day(1), To: day(4)}
			o.Runs = []Run{runOf(1, Active)}
			o.Runs[0].Reason = ReasonBackfill
		}, `nothing; LastRun 01 06:00, NextRun 05 06:00, LastRunName "job-29454120", Active [job-29454120], Backfill {01 06:00 to 04 06:00, next 02 06:00, started 1, failed []}, again in 1h0m0s`},
		"BackfillMore": {"as many as are wanted", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, d.Backfill = day(4), &Backfill{From: day(1), To: day(4), MaxActive: 2}
			o.Runs = []Run{runOf(1, Active)}
			o.Runs[0].Reason = ReasonBackfill
		}, `start Backfill 02 06:00 about 01 06:00 to 02 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29455560", Active [job-29454120 job-29455560], Backfill {01 06:00 to 04 06:00, next 03 06:00, started 2, failed []}, again in 1s`},
		"BackfillExists": {"a run that exists counts", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, d.Backfill, o.Runs = day(4), &Backfill{From: day(2), To: day(4)}, []Run{runOf(2, Succeeded)}
		}, `start Backfill 03 06:00 about 02 06:00 to 03 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29457000", Active [job-29457000], Succeeded [job-29455560], Backfill {02 06:00 to 04 06:00, next none, started 2, failed []}, again in 1s`},
		"BackfillDone": {"it is stored that there is nothing left", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Backfill, r.Backfill = day(4), &Backfill{From: day(1), To: day(4)}, &Progress{From: day(1), To: day(4), Started: 3}
		}, "nothing; NextRun 05 06:00, again in 1h0m0s"},
		"BackfillAgain": {"a changed range is a new one", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Backfill, r.Backfill = day(4), &Backfill{From: day(1), To: day(3)}, &Progress{From: day(1), To: day(4), Started: 3}
		}, `start Backfill 01 06:00 about 2025-12-31 06:00 to 01 06:00; LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29454120", Active [job-29454120], Backfill {01 06:00 to 03 06:00, next 02 06:00, started 1, failed []}, again in 1s`},
		"BackfillFuture": {"the schedule itself runs what is to come", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Backfill = day(4), &Backfill{From: day(5), To: day(9)}
		}, "nothing; NextRun 05 06:00, Backfill {05 06:00 to 09 06:00, next none, started 0, failed []}, again in 1h0m0s"},
		"BackfillWaits": {"what is due comes first", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Backfill = &Backfill{From: day(1), To: day(4)} }, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], Backfill {01 06:00 to 04 06:00, next 01 06:00, started 0, failed []}, late 1s, again in 1s`},
		"BackfillSuspended": {"no runs", func(d *Desired, _ *Record, _ *Observation, _ *Env) {
			d.Suspend, d.Backfill = true, &Backfill{From: day(1), To: day(4)}
		}, "nothing; Backfill {01 06:00 to 04 06:00, next 01 06:00, started 0, failed []}, again in 1h0m0s"},
		"BackfillLong": {"more than a thousand times", func(d *Desired, _ *Record, _ *Observation, _ *Env) {
			d.Backfill = &Backfill{From: day(1), To: day(1).AddDate(4, 0, 0)}
		}, `nothing; State "FailedValidation", Error "spec.backfill: \"2026-01-01T06:00:00Z to 2030-01-01T06:00:00Z\": the range has 1461 times of the schedule; a backfill may have 1000: choose a shorter range", again in 1h0m0s`},

		"History": {"the newest of each kind is kept", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{runOf(1, Succeeded), runOf(2, Failed), runOf(3, Succeeded), runOf(4, Failed)}
		}, `remove 01, remove 02; LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Succeeded [job-29457000], Failed [job-29458440], again in 1h0m0s`},
		"HistoryBackfill": {"finding 7: a backfill has a history of its own", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Backfill, r.Backfill = &Backfill{From: day(1), To: day(3)}, &Progress{From: day(1), To: day(3), Failed: []string{Name("job", day(1), Minutes)}}
			r.LastTick, o.Runs = day(4), []Run{runOf(1, Failed), runOf(2, Failed), runOf(3, Failed), runOf(4, Failed)}
			o.Runs[0].Reason, o.Runs[1].Reason = ReasonBackfill, ReasonBackfill
		}, `remove 03, remove 01; LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Failed [job-29458440 job-29455560], Backfill {01 06:00 to 03 06:00, next none, started 0, failed [job-29454120 job-29455560]}, again in 1h0m0s`},
		"HistoryBackfillUnstored": {"finding 7: that it has failed is stored before it is deleted", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.KeepFailed, d.Backfill, r.Backfill = 0, &Backfill{From: day(1), To: day(3)}, &Progress{From: day(1), To: day(3)}
			r.LastTick, o.Runs = day(4), []Run{runOf(1, Failed)}
			o.Runs[0].Reason = ReasonBackfill
		}, `nothing; LastRun 01 06:00, NextRun 05 06:00, LastRunName "job-29454120", Backfill {01 06:00 to 03 06:00, next none, started 0, failed [job-29454120]}, again in 1h0m0s`},
		"HistoryNone": {"none is kept", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.KeepSucceeded, r.LastTick, o.Runs = 0, day(4), []Run{runOf(4, Succeeded)}
		}, `remove 04; LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", again in 1h0m0s`},
		"HistoryUnstored": {"it says that it was started", func(d *Desired, _ *Record, o *Observation, _ *Env) {
			d.KeepSucceeded, o.Runs = 0, []Run{runOf(4, Succeeded)}
		}, `nothing; LastTick 04 06:00, LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", again in 1h0m0s`},
		"HistoryEdited": {"also of a schedule that is no more", func(d *Desired, _ *Record, o *Observation, _ *Env) {
			d.KeepSucceeded, d.Schedule, o.Runs = 0, "0 7 * * *", []Run{runOf(4, Succeeded)}
		}, `nothing; Key "0 7 * * *", Since 04 06:00:01, LastTick none, LastRun 04 06:00, NextRun 04 07:00, LastRunName "job-29458440", again in 59m59s`},
		"HistoryNegative": {"it is no panic", func(d *Desired, _ *Record, o *Observation, _ *Env) {
			d.KeepFailed, o.Runs = -1, []Run{runOf(1, Failed)}
		}, `nothing; State "FailedValidation", Error "spec.failedRunHistoryLimit: must be 0 or more; 0 keeps none", LastRun 01 06:00, LastRunName "job-29454120", again in 1h0m0s`},
		"HistoryDeleting": {"it is on its way", func(d *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{runOf(1, Succeeded), runOf(2, Succeeded)}
			o.Runs[0].Deleting = true
		}, `nothing; LastRun 02 06:00, NextRun 05 06:00, LastRunName "job-29455560", Succeeded [job-29455560], again in 1h0m0s`},
		"HistoryForeign": {"runs of the Kubeflow operator, by their creation", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{{Name: "a", Created: day(1), Phase: Succeeded}, runOf(2, Succeeded)}
		}, `remove 01; LastRun 02 06:00, NextRun 05 06:00, LastRunName "job-29455560", Succeeded [job-29455560], again in 1h0m0s`},
		"HistoryNew": {"nothing is deleted before a status is stored", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			*r, o.Runs = Record{LastRun: day(4)}, []Run{{Name: "a", Created: day(1), Phase: Succeeded}, {Name: "b", Created: day(2), Phase: Succeeded}}
		}, `nothing; State "Scheduled", Generation 1, Key "0 6 * * *", Since 04 06:00, NextRun 05 06:00, Succeeded [b], again in 1h0m0s`},

		"TakeOver":     {"counted from the last run", func(_ *Desired, r *Record, _ *Observation, _ *Env) { *r = Record{State: Scheduled, LastRun: day(3)} }, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; Generation 1, Key "0 6 * * *", Since 03 06:00, LastTick 04 06:00, LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1s, again in 1s`},
		"TakeOverNext": {"or from the next, if none has run", func(_ *Desired, r *Record, _ *Observation, _ *Env) { *r = Record{State: Scheduled, NextRun: day(4)} }, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; Generation 1, Key "0 6 * * *", Since 04 05:59:59, LastTick 04 06:00, LastRun 04 06:00:01, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1s, again in 1s`},
		"TakeOverFuture": {"which is to come", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			*r, e.Now = Record{State: Scheduled, NextRun: day(5)}, day(4).Add(hour)
		}, `nothing; Generation 1, Key "0 6 * * *", Since 04 07:00, again in 1h0m0s`},
		"TakeOverCrash": {"the newest run counts", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			*r, o.Runs = Record{State: Scheduled, LastRun: day(3)}, []Run{{Name: "a", Created: day(4), Phase: Active}}
		}, `nothing; Generation 1, Key "0 6 * * *", Since 04 06:00, LastRun 04 06:00, NextRun 05 06:00, LastRunName "a", Active [a], again in 1h0m0s`},

		"GivesUp": {"a run that was refused until the next was due", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			r.Trouble, e.Now = Trouble{Reason: ReasonRunRefused, Since: day(4)}, day(5)
		}, `live, skip 1 RunRefused; LastTick 04 06:00, NextRun 06 06:00, Skips 1, LastSkipped 04 06:00, LastSkipReason "RunRefused", Trouble none, again in 1ms`},
		"GivesUpOne": {"of all that are wanted, the one", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Missed, r.Trouble, e.Now = RunAll, Trouble{Reason: ReasonNameConflict, Since: day(6)}, day(7)
		}, `live, skip 1 NameConflict; LastTick 04 06:00, NextRun 08 06:00, Skips 1, LastSkipped 04 06:00, LastSkipReason "NameConflict", Trouble none, again in 1ms`},
		"GivesUpTrigger": {"a trigger", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Trigger, r.LastTick, r.Trouble, e.Now = "2026-01-04T05:00:00Z", day(4), Trouble{Reason: ReasonRunRefused, Since: day(4)}, day(5)
		}, `live, skip 1 RunRefused; NextRun 06 06:00, Skips 1, LastSkipped 04 05:00, LastSkipReason "RunRefused", LastTrigger 04 05:00, Trouble none, again in 1ms`},
		"GivesUpBackfill": {"a run of a backfill", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Backfill, r.Backfill = &Backfill{From: day(1), To: day(4)}, &Progress{From: day(1), To: day(4), Next: day(2)}
			r.LastTick, r.Trouble, e.Now = day(4), Trouble{Reason: ReasonRunRefused, Since: day(4)}, day(5)
		}, `live, skip 1 RunRefused; NextRun 06 06:00, Skips 1, LastSkipped 02 06:00, LastSkipReason "RunRefused", Backfill {01 06:00 to 04 06:00, next 02 06:00:01, started 0, failed []}, Trouble none, again in 1ms`},
		"Persists": {"the next is not due", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			r.Trouble, e.Now = Trouble{Reason: ReasonRunRefused, Since: day(4)}, day(4).Add(hour)
		}, `start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, LastRun 04 07:00, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], Trouble none, late 1h0m0s, again in 1s`},
	})
}

// asleep is the record of a schedule that was created suspended, as the operator stores it.
func asleep(d *Desired, env *Env) Record {
	suspended := *d
	suspended.Suspend = true
	return Settle(Decide(suspended, Record{}, Observation{}, *env), Result{}, *env).Record
}

// active makes a run of a day be active and stored.
func active(r *Record, o *Observation, n int) {
	run := runOf(n, Active)
	r.Active, o.Runs = []string{run.Name}, []Run{run}
}

// settled checks what is true of every outcome: it has a timer, all conditions with reasons of the list, and asking again about what
// was just stored starts nothing more of the same.
func settled(t *testing.T, d Desired, p Plan, o Observation, env Env) {
	t.Helper()
	result := Result{}
	if p.Start != nil {
		result = Result{Class: ClassStarted, Created: env.Now}
		o.Runs = append(slices.Clone(o.Runs), Run{Name: p.Start.Name, Reason: p.Start.Reason, Tick: p.Start.Tick, Created: env.Now})
	}
	out := Settle(p, result, env)
	if out.Requeue <= 0 || out.Requeue > maxWait {
		t.Errorf("the timer ends after %s", out.Requeue)
	}
	if len(out.Conditions) != 3 {
		t.Errorf("conditions %+v", out.Conditions)
	}
	for _, c := range out.Conditions {
		if !slices.Contains(Reasons(), c.Reason) || c.Message == "" {
			t.Errorf("condition %+v", c)
		}
	}
	o.Live = true
	again := Decide(d, out.Record, o, env)
	if again.Start != nil && p.Start != nil && again.Start.Name == p.Start.Name {
		t.Errorf("%s is started again", again.Start.Name)
	}
	if len(again.skipped) > 0 && len(p.skipped) > 0 {
		t.Errorf("skipped again: %+v", again.skipped)
	}
}
