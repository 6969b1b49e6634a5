// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// play decides and settles with a result, and returns the record and what happened.
func play(t *testing.T, change func(*Desired, *Record, *Observation, *Env), result Result) (Record, Outcome, []Event) {
	t.Helper()
	d, r, env := daily()
	o := Observation{Live: true}
	change(&d, &r, &o, &env)
	p := Decide(d, r, o, env)
	out := Settle(p, result, env)
	return r, out, Events(d, r, out)
}

// unusual are the conditions that do not say that all is well and no run active.
func unusual(all []Condition) (said []string) {
	usual := []Condition{
		{Type: "Scheduled", True: true, Reason: "OnSchedule", Message: "runs are started at the times of the schedule; status.nextRun is the next"},
		{Type: "RunActive", Reason: "NoActiveRuns", Message: "all runs have finished"},
		{Type: "Stalled", Reason: "NoTrouble", Message: "no action required"},
	}
	for i, c := range all {
		if i >= len(usual) || c != usual[i] {
			said = append(said, fmt.Sprintf("%s %t, %s: %s", c.Type, c.True, c.Reason, c.Message))
		}
	}
	return said
}

func TestSettle(t *testing.T) {
	nothing := func(*Desired, *Record, *Observation, *Env) {}
	for name, c := range map[string]struct {
		reason string
		change func(*Desired, *Record, *Observation, *Env)
		result Result
		want   []string
	}{
		"Started": {"a run is created", nothing, Result{Class: ClassStarted, Created: day(4)}, []string{
			`LastTick 04 06:00, LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1s, again in 1s`,
			"RunActive true, RunsActive: not finished: job-29458440",
			"started job-29458440 created 04 06:00",
			"warning false, RunStarted, Run: run job-29458440 was started (Schedule) for 2026-01-04T06:00:00Z",
		}},
		"Quiet": {"nothing happens", func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick = day(4) }, Result{}, []string{
			"NextRun 05 06:00, again in 1h0m0s",
		}},
		"Conflict": {"its name is taken", nothing, Result{Class: ClassConflict, Message: "taken"}, []string{
			`NextRun 05 06:00, Trouble {NameConflict "taken" since 04 06:00:01}, hold 04 06:00:31, again in 30s`,
			"Stalled true, NameConflict: taken",
			"warning true, NameConflict, Run: taken",
		}},
		"Refused": {"it is refused", nothing, Result{Class: ClassRefused, Message: "no"}, []string{
			`NextRun 05 06:00, Trouble {RunRefused "no" since 04 06:00:01}, hold 04 06:00:31, again in 30s`,
			"Stalled true, RunRefused: no",
			"warning true, RunRefused, Run: no",
		}},
		"RefusedStill": {"as before: no news", func(_ *Desired, r *Record, _ *Observation, _ *Env) {
			r.Trouble.Reason = ReasonRunRefused
			r.Trouble.Since = day(4)
		},
			Result{Class: ClassRefused, Message: "no"}, []string{
				`NextRun 05 06:00, Trouble {RunRefused "no" since 04 06:00}, hold 04 06:00:31, again in 30s`,
				"Stalled true, RunRefused: no",
			}},
		"Unknown": {"the API server is away", nothing, Result{Class: ClassFailed, Err: errors.New("away")}, []string{
			"NextRun 05 06:00, again in 1h0m0s",
			"error away",
		}},
		"TriggerConflict": {"a trigger whose name is taken is given up", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Trigger = day(4), "2026-01-04T05:00:00Z"
		},
			Result{Class: ClassConflict, Message: "taken"}, []string{
				`NextRun 05 06:00, Skips 1, LastSkipped 04 05:00, LastSkipReason "NameConflict", LastTrigger 04 05:00, again in 1s`,
				"skipped 1 NameConflict",
				"warning true, RunSkipped, Skip: the run of 2026-01-04T05:00:00Z was skipped: NameConflict",
			}},
		"Suspended": {"suspended", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Suspend = true }, Result{}, []string{
			"again in 1h0m0s",
			"Scheduled false, Suspended: spec.suspend is true",
		}},
		"Invalid": {"invalid", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Concurrency = "x" }, Result{}, []string{
			`State "FailedValidation", Error "spec.concurrencyPolicy: \"x\": write Allow, Forbid or Replace", again in 1h0m0s`,
			`Scheduled false, InvalidSchedule: spec.concurrencyPolicy: "x": write Allow, Forbid or Replace`,
			`Stalled true, InvalidSchedule: spec.concurrencyPolicy: "x": write Allow, Forbid or Replace`,
			`warning true, ScheduleInvalid, Validate: no run starts: spec.concurrencyPolicy: "x": write Allow, Forbid or Replace`,
		}},
		"Word": {"a trigger that is no time", func(d *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, d.Trigger = day(4), "now" }, Result{}, []string{
			"NextRun 05 06:00, again in 1h0m0s",
			`Stalled true, InvalidTrigger: metadata.annotations[sparkoperator.k8s.io/trigger-at]: Invalid value: "now": write a time in RFC 3339, such as 2026-01-31T08:30:00Z`,
			`warning true, InvalidTrigger, Run: metadata.annotations[sparkoperator.k8s.io/trigger-at]: Invalid value: "now": write a time in RFC 3339, such as 2026-01-31T08:30:00Z`,
		}},
		"WordStill": {"as before", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Trigger, r.StalledBy = day(4), "now", ReasonInvalidTrigger
		}, Result{}, []string{
			"NextRun 05 06:00, again in 1h0m0s",
			`Stalled true, InvalidTrigger: metadata.annotations[sparkoperator.k8s.io/trigger-at]: Invalid value: "now": write a time in RFC 3339, such as 2026-01-31T08:30:00Z`,
		}},
		"Forbid": {"a run waits", func(d *Desired, r *Record, o *Observation, _ *Env) { d.Concurrency = Forbid; active(r, o, 3) }, Result{}, []string{
			`LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", WaitingForActiveRun, again in 1h0m0s`,
			"RunActive true, WaitingForActiveRun: a due run waits, because spec.concurrencyPolicy is Forbid; not finished: job-29457000",
		}},
		"Replace": {"a run is replaced", func(d *Desired, r *Record, o *Observation, _ *Env) { d.Concurrency = Replace; active(r, o, 3) }, Result{}, []string{
			`Replacing 04 06:00, LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", ReplacingRun, again in 1ms`,
			"RunActive true, ReplacingRun: a due run waits until earlier ones are deleted, because spec.concurrencyPolicy is Replace; not finished: job-29457000",
		}},
		"Replaced": {"it is gone", func(d *Desired, r *Record, _ *Observation, _ *Env) { d.Concurrency, r.Active = Replace, []string{"a"} },
			Result{Class: ClassStarted, Created: day(4)}, []string{
				`LastTick 04 06:00, LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], late 1s, again in 1s`,
				"RunActive true, RunsActive: not finished: job-29458440",
				"started job-29458440 created 04 06:00",
				"warning false, RunReplaced, Run: run a was deleted before it had finished",
				"warning false, RunStarted, Run: run job-29458440 was started (Schedule) for 2026-01-04T06:00:00Z",
			}},
		"Deleted": {"somebody deleted it", func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, r.Active = day(4), []string{"a"} }, Result{}, []string{
			"NextRun 05 06:00, Active [], again in 1h0m0s",
			"warning true, RunDeleted, Run: run a was deleted before it had finished, by another client",
		}},
		"Finished": {"a success and a failure", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{runOf(3, Succeeded), runOf(4, Failed)}
			r.Active = []string{o.Runs[0].Name, o.Runs[1].Name}
		}, Result{}, []string{
			`LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Active [], Succeeded [job-29457000], Failed [job-29458440], again in 1h0m0s`,
			"warning false, RunSucceeded, Run: run job-29457000 succeeded",
			"warning true, RunFailed, Run: run job-29458440 failed",
		}},
		"Skipped": {"several", func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Now = day(9) }, Result{Class: ClassStarted, Created: day(9)}, []string{
			`LastTick 09 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29465640], Skips 5, LastSkipped 08 06:00, LastSkipReason "Missed", late 0s, again in 1s`,
			"RunActive true, RunsActive: not finished: job-29465640",
			"started job-29465640 created 09 06:00",
			"skipped 5 Missed",
			"warning false, RunStarted, Run: run job-29465640 was started (Schedule) for 2026-01-09T06:00:00Z",
			"warning true, RunsSkipped, Skip: 5 runs were skipped, the last of 2026-01-08T06:00:00Z: Missed",
		}},
		"Changed": {"another schedule", func(d *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, d.Schedule = day(4), "@weekly" }, Result{}, []string{
			`Key "@weekly", Since 04 06:00:01, LastTick none, NextRun 11 00:00, again in 1h0m0s`,
			`warning false, ScheduleChanged, Schedule: the schedule is now "@weekly"; it counts from 2026-01-04T06:00:01Z`,
		}},
		"Backfill": {"the last of them", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Backfill, r.Backfill = &Backfill{From: day(1), To: day(2)}, &Progress{From: day(1), To: day(2), Next: day(1)}
			r.LastTick = day(4)
		}, Result{Class: ClassStarted, Created: day(4)}, []string{
			`LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29454120", Active [job-29454120], Backfill {01 06:00 to 02 06:00, next none, started 1, failed []}, again in 1s`,
			"RunActive true, RunsActive: not finished: job-29454120",
			"started job-29454120 created 04 06:00",
			"warning false, RunStarted, Run: run job-29454120 was started (Backfill) for 2026-01-01T06:00:00Z",
			"warning false, BackfillFinished, Backfill: the runs from 2026-01-01T06:00:00Z to before 2026-01-02T06:00:00Z were started: 1",
		}},
		"Crashed": {"an earlier operator's run is found", func(_ *Desired, _ *Record, o *Observation, _ *Env) { o.Runs = []Run{runOf(4, Active)} }, Result{}, []string{
			`LastTick 04 06:00, LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29458440], again in 1h0m0s`,
			"RunActive true, RunsActive: not finished: job-29458440",
			"started job-29458440 created 04 06:00",
			"warning false, RunStarted, Run: run job-29458440 was started (Schedule) for 2026-01-04T06:00:00Z",
		}},
		"RefusedSoon": {"its deadline ends before it is tried again", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Deadline = new(10 * time.Second) },
			Result{Class: ClassRefused, Message: "no"}, []string{
				`NextRun 05 06:00, Trouble {RunRefused "no" since 04 06:00:01}, hold 04 06:00:31, again in 10s`,
				"Stalled true, RunRefused: no",
				"warning true, RunRefused, Run: no",
			}},
		"RefusedOther": {"it was another trouble before", func(_ *Desired, r *Record, _ *Observation, _ *Env) {
			r.Trouble = Trouble{Reason: ReasonNameConflict, Message: "taken", Since: day(4)}
		}, Result{Class: ClassRefused, Message: "no"}, []string{
			`NextRun 05 06:00, Trouble {RunRefused "no" since 04 06:00:01}, hold 04 06:00:31, again in 30s`,
			"Stalled true, RunRefused: no",
			"warning true, RunRefused, Run: no",
		}},
		"RetryConfigured": {"the operator is told when to try again", func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Retry = time.Minute }, Result{Class: ClassRefused, Message: "no"}, []string{
			`NextRun 05 06:00, Trouble {RunRefused "no" since 04 06:00:01}, hold 04 06:01:01, again in 1m0s`,
			"Stalled true, RunRefused: no",
			"warning true, RunRefused, Run: no",
		}},
		"TriggerRefused": {"a trigger that is refused is tried again", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Trigger = day(4), "2026-01-04T05:00:00Z"
		}, Result{Class: ClassRefused, Message: "no"}, []string{
			`NextRun 05 06:00, Trouble {RunRefused "no" since 04 06:00:01}, hold 04 06:00:31, again in 30s`,
			"Stalled true, RunRefused: no",
			"warning true, RunRefused, Run: no",
		}},
		"TroubleHeld": {"it is not tried yet: no news", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			r.Trouble, e.Hold = Trouble{Reason: ReasonRunRefused, Message: "no", Since: day(4)}, e.Now.Add(time.Second)
		}, Result{}, []string{
			"NextRun 05 06:00, again in 1s",
			"Stalled true, RunRefused: no",
		}},
		"TroubleTried": {"the time to try again has come, and nothing is due", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			r.LastTick, r.Trouble, e.Hold = day(4), Trouble{Reason: ReasonRunRefused, Message: "no", Since: day(4)}, e.Now
		}, Result{}, []string{
			"NextRun 05 06:00, Trouble none, again in 1h0m0s",
		}},
		"TroubleWaits": {"it waits for another run", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Trouble = Forbid, Trouble{Reason: ReasonRunRefused, Message: "no", Since: day(4)}
			active(r, o, 3)
		}, Result{}, []string{
			`LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", WaitingForActiveRun, again in 1h0m0s`,
			"RunActive true, WaitingForActiveRun: a due run waits, because spec.concurrencyPolicy is Forbid; not finished: job-29457000",
			"Stalled true, RunRefused: no",
		}},
		"Removal": {"a run to be removed has changed", func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick = day(4) }, Result{Changed: true}, []string{
			"NextRun 05 06:00, again in 1s",
		}},
		"Unknowns": {"fields that do not exist", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Unknown = day(4), []string{"spec.scedule"}
		}, Result{}, []string{
			"NextRun 05 06:00, again in 1h0m0s",
			"Scheduled true, OnSchedule: runs are started at the times of the schedule; status.nextRun is the next; unknown fields, which have no effect: spec.scedule",
		}},
		"InvalidStill": {"as before: no news", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Concurrency, d.Unknown, r.State = "x", []string{"spec.scedule"}, FailedValidation
			r.Error = `spec.concurrencyPolicy: "x": write Allow, Forbid or Replace`
		}, Result{}, []string{
			"again in 1h0m0s",
			`Scheduled false, InvalidSchedule: spec.concurrencyPolicy: "x": write Allow, Forbid or Replace`,
			`Stalled true, InvalidSchedule: spec.concurrencyPolicy: "x": write Allow, Forbid or Replace`,
		}},
		"SkippedAgain": {"one more than are stored", func(_ *Desired, r *Record, _ *Observation, e *Env) { r.Skips, e.Now = 7, day(5) }, Result{Class: ClassStarted, Created: day(5)}, []string{
			`LastTick 05 06:00, LastRun 05 06:00, NextRun 06 06:00, LastRunName "job-29459880", Active [job-29459880], Skips 8, LastSkipped 04 06:00, LastSkipReason "Missed", late 0s, again in 1s`,
			"RunActive true, RunsActive: not finished: job-29459880",
			"started job-29459880 created 05 06:00",
			"skipped 1 Missed",
			"warning false, RunStarted, Run: run job-29459880 was started (Schedule) for 2026-01-05T06:00:00Z",
			"warning true, RunSkipped, Skip: the run of 2026-01-04T06:00:00Z was skipped: Missed",
		}},
		"BackfillStill": {"that it has ended is no news", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Backfill, r.Backfill, r.LastTick = &Backfill{From: day(1), To: day(2)}, &Progress{From: day(1), To: day(2), Started: 1}, day(4)
		}, Result{}, []string{
			"NextRun 05 06:00, again in 1h0m0s",
		}},
		"BackfillEmpty": {"one that has nothing to start ends at once", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Backfill, r.LastTick = &Backfill{From: day(1).Add(time.Hour), To: day(2)}, day(4)
		}, Result{}, []string{
			"NextRun 05 06:00, Backfill {01 07:00 to 02 06:00, next none, started 0, failed []}, again in 1h0m0s",
			"warning false, BackfillFinished, Backfill: the runs from 2026-01-01T07:00:00Z to before 2026-01-02T06:00:00Z were started: 0",
		}},
		"BackfillOther": {"after another that has ended", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Backfill, r.Backfill, r.LastTick = &Backfill{From: day(1).Add(time.Hour), To: day(2)}, &Progress{From: day(1), To: day(2), Started: 1}, day(4)
		}, Result{}, []string{
			"NextRun 05 06:00, Backfill {01 07:00 to 02 06:00, next none, started 0, failed []}, again in 1h0m0s",
			"warning false, BackfillFinished, Backfill: the runs from 2026-01-01T07:00:00Z to before 2026-01-02T06:00:00Z were started: 0",
		}},
		"BackfillShorter": {"after a longer one that has ended", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Backfill, r.Backfill, r.LastTick = &Backfill{From: day(1).Add(time.Hour), To: day(2)}, &Progress{From: day(1).Add(time.Hour), To: day(3), Started: 1}, day(4)
		}, Result{}, []string{
			"NextRun 05 06:00, Backfill {01 07:00 to 02 06:00, next none, started 0, failed []}, again in 1h0m0s",
			"warning false, BackfillFinished, Backfill: the runs from 2026-01-01T07:00:00Z to before 2026-01-02T06:00:00Z were started: 0",
		}},
		"CrashedOthers": {"of several that are found, the new ones are told", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{runOf(4, Active), runOf(3, Active), runOf(2, Succeeded)}
			r.Active = []string{o.Runs[1].Name}
		}, Result{}, []string{
			`LastRun 04 06:00, NextRun 05 06:00, LastRunName "job-29458440", Active [job-29457000 job-29458440], Succeeded [job-29455560], again in 1h0m0s`,
			"RunActive true, RunsActive: not finished: job-29457000, job-29458440",
			"started job-29458440 created 04 06:00",
			"warning false, RunStarted, Run: run job-29458440 was started (Schedule) for 2026-01-04T06:00:00Z",
		}},
		"CrashedLater": {"and so is one that is found while another is started", func(_ *Desired, _ *Record, o *Observation, e *Env) {
			o.Runs, e.Now = []Run{runOf(4, Active)}, day(5)
		}, Result{Class: ClassStarted, Created: day(5)}, []string{
			`LastTick 05 06:00, LastRun 05 06:00, NextRun 06 06:00, LastRunName "job-29459880", Active [job-29458440 job-29459880], late 0s, again in 1s`,
			"RunActive true, RunsActive: not finished: job-29458440, job-29459880",
			"started job-29459880 created 05 06:00",
			"started job-29458440 created 04 06:00",
			"warning false, RunStarted, Run: run job-29459880 was started (Schedule) for 2026-01-05T06:00:00Z",
			"warning false, RunStarted, Run: run job-29458440 was started (Schedule) for 2026-01-04T06:00:00Z",
		}},
		"TakenOver": {"the Kubeflow operator's run is no news", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			*r, o.Runs = Record{LastRun: day(4), State: Scheduled}, []Run{{Name: "a", Created: day(4), Phase: Active}}
		}, Result{}, []string{
			`Generation 1, Key "0 6 * * *", Since 04 06:00, NextRun 05 06:00, Active [a], again in 1h0m0s`,
			"RunActive true, RunsActive: not finished: a",
			"started a created 04 06:00",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, o, events := play(t, c.change, c.result)
			got := append([]string{became(r, o)}, unusual(o.Conditions)...)
			for _, run := range o.Started {
				got = append(got, fmt.Sprintf("started %s created %s", run.Name, show(run.Created)))
			}
			for _, reason := range SkipReasons() {
				if n := o.Skipped[reason]; n > 0 {
					got = append(got, fmt.Sprintf("skipped %d %s", n, reason))
				}
			}
			if o.Err != nil {
				got = append(got, "error "+o.Err.Error())
			}
			for _, e := range events {
				got = append(got, fmt.Sprintf("warning %t, %s, %s: %s", e.Warning, e.Reason, e.Action, e.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s:\n%s", c.reason, diff)
			}
		})
	}
}

// Counting takes time, so that of a long gap only a part is counted (finding 23).
func TestManySkippedAreAtLeastSoMany(t *testing.T) {
	for skips, want := range map[int64]string{2: "2 runs were skipped", maxCounted - 1: "99999 runs were skipped", maxCounted: "at least 100000 runs were skipped"} {
		events := Events(Desired{}, Record{}, Outcome{Record: Record{State: Scheduled, Skips: skips, LastSkipReason: SkipMissed}})
		if len(events) != 1 || !strings.HasPrefix(events[0].Message, want) {
			t.Errorf("%d: %+v, want %q", skips, events, want)
		}
	}
}

func TestStarted(t *testing.T) {
	_, o, _ := play(t, func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Now = day(4).Add(3 * time.Second) }, Result{Class: ClassStarted, Created: day(4).Add(2 * time.Second)})
	r := o.Record
	if !r.LastTick.Equal(day(4)) || !r.LastRun.Equal(day(4).Add(2*time.Second)) || r.LastRunName != "job-29458440" || !r.NextRun.Equal(day(5)) || o.Delay != 3*time.Second {
		t.Errorf("%+v, delay %s", r, o.Delay)
	}
	if diff := cmp.Diff([]string{"job-29458440"}, r.Active); diff != "" {
		t.Error(diff)
	}
}

func TestTroubleIsRetried(t *testing.T) {
	_, o, _ := play(t, func(*Desired, *Record, *Observation, *Env) {}, Result{Class: ClassRefused, Message: "no"})
	if o.Requeue != retryPeriod || !o.Hold.Equal(day(4).Add(time.Second).Add(retryPeriod)) || !o.Record.LastTick.Equal(day(3)) {
		t.Errorf("requeue %s, hold %s, last %s", o.Requeue, o.Hold, o.Record.LastTick)
	}
}

func TestTimers(t *testing.T) {
	minute := time.Minute
	for name, c := range map[string]struct {
		change func(*Desired, *Record, *Observation, *Env)
		want   time.Duration
	}{
		"Next": {func(_ *Desired, r *Record, _ *Observation, e *Env) { r.LastTick, e.Now = day(3), day(4).Add(-minute) }, minute},
		"Far":  {func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick = day(4) }, maxWait},
		"Deadline": {func(d *Desired, r *Record, o *Observation, e *Env) {
			d.Deadline, d.Concurrency, e.Now = &minute, Forbid, day(4)
			active(r, o, 3)
		}, minute + time.Second},
		"Replace": {func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Replacing = Replace, day(4)
			active(r, o, 3)
		}, gonePeriod},
		"Trigger": {func(d *Desired, r *Record, _ *Observation, e *Env) {
			r.LastTick, e.Now, d.Trigger = day(4), day(4), "2026-01-04T06:05:00Z"
		}, 5 * minute},
		"Hold": {func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Hold = e.Now.Add(7 * time.Second) }, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if _, o, _ := play(t, c.change, Result{}); o.Requeue != c.want {
				t.Errorf("the timer ends after %s, want %s", o.Requeue, c.want)
			}
		})
	}
}

func TestZoneIsNamedFirst(t *testing.T) {
	_, o, _ := play(t, func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.TimeZone = "Atlantis" }, Result{})
	if !strings.HasPrefix(o.Record.Error, "Invalid timezone: ") || !o.Record.NextRun.IsZero() {
		t.Errorf("%q, next %s", o.Record.Error, o.Record.NextRun)
	}
}
