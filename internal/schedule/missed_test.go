// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"
)

func TestTimesThatWereMissedOrEdited(t *testing.T) {
	decides(t, map[string]decided{
		"AheadRun": {"the clock went back: what is to come is not dealt with", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{runOf(5, Active)}
		}, `nothing; LastRun 05 06:00, NextRun 05 06:00, LastRunName "job-29459880", Active [job-29459880], again in 1h0m0s`},
		"MissedExists": {"the last that is skipped is one that has no run", func(_ *Desired, _ *Record, o *Observation, e *Env) {
			o.Runs, e.Now = []Run{runOf(8, Active)}, day(9)
		}, `live, start Schedule 09 06:00 about 08 06:00 to 09 06:00, skip 4 Missed; LastTick 09 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29464200 job-29465640], Skips 4, LastSkipped 07 06:00, LastSkipReason "Missed", late 0s, again in 1s`},
		"SkipRefused": {"why it was not started in time", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Missed, r.Trouble, e.Now = Skip, Trouble{Reason: ReasonRunRefused, Since: day(4)}, day(4).Add(11*time.Second)
		}, `live, skip 1 RunRefused; LastTick 04 06:00, NextRun 05 06:00, Skips 1, LastSkipped 04 06:00, LastSkipReason "RunRefused", Trouble none, again in 1h0m0s`},
		"SkipConflict": {"why it was not started in time", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Missed, r.Trouble, e.Now = Skip, Trouble{Reason: ReasonNameConflict, Since: day(4)}, day(4).Add(11*time.Second)
		}, `live, skip 1 NameConflict; LastTick 04 06:00, NextRun 05 06:00, Skips 1, LastSkipped 04 06:00, LastSkipReason "NameConflict", Trouble none, again in 1h0m0s`},
		"ForbidIdle": {"nothing was active", func(d *Desired, _ *Record, _ *Observation, e *Env) { d.Concurrency, e.Now = Forbid, day(9) }, `live, start Schedule 09 06:00 about 08 06:00 to 09 06:00, skip 5 Missed; LastTick 09 06:00, LastRun 09 06:00, NextRun 10 06:00, LastRunName "job-29465640", Active [job-29465640], Skips 5, LastSkipped 08 06:00, LastSkipReason "Missed", late 0s, again in 1s`},
		"ReplaceDeleting": {"what is deleted already is not deleted again", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Replacing = Replace, day(4)
			active(r, o, 3)
			o.Runs[0].Deleting = true
		}, `nothing; LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", ReplacingRun, again in 1s`},
		"ReplaceStored": {"finding 1: what is stored is for an earlier time", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Replacing = Replace, day(3)
			active(r, o, 3)
		}, `nothing; Replacing 04 06:00, LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", ReplacingRun, again in 1ms`},
		"ReplaceSlowBoth": {"finding 1: a later time that is too late, too, takes nothing from it", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Concurrency, d.Missed, r.Replacing, e.Now = Replace, Skip, day(4), day(5).Add(time.Minute)
		}, `live, start Schedule 04 06:00 about 03 06:00 to 04 06:00; LastTick 04 06:00, Replacing none, LastRun 05 06:01, NextRun 06 06:00, LastRunName "job-29458440", Active [job-29458440], late 24h1m0s, again in 1s`},
		"ReplaceUnknown": {"that it was started is stored before it is deleted", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Concurrency, r.Replacing, o.Runs = Replace, day(4), []Run{runOf(3, Active)}
		}, `nothing; LastRun 03 06:00, NextRun 05 06:00, LastRunName "job-29457000", Active [job-29457000], ReplacingRun, again in 1ms`},
		"ReplaceDealt": {"nothing has to be stopped for a time that was dealt with", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Concurrency, r.LastTick, r.Replacing = Replace, day(4), day(4)
		}, "nothing; Replacing none, NextRun 05 06:00, again in 1h0m0s"},
		"ForeignNewer": {"of the Kubeflow operator's runs and others, the newest is kept", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{{Name: "a", Created: day(3), Phase: Succeeded}, runOf(2, Succeeded)}
		}, `remove 02; LastRun 03 06:00, NextRun 05 06:00, LastRunName "a", Succeeded [a], again in 1h0m0s`},
		"EditedRefused": {"what was refused is no more", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Schedule, r.LastTick, r.Trouble = "0 5 * * *", day(4), Trouble{Reason: ReasonRunRefused, Since: day(4)}
			e.Hold = e.Now.Add(time.Second)
		}, `nothing; Key "0 5 * * *", Since 04 06:00:01, LastTick none, NextRun 05 05:00, Trouble none, again in 1h0m0s`},
		"TakeOverSuspended": {"suspended, it has run and counts from its last run", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Suspend, *r = true, Record{State: Scheduled, LastRun: day(3)}
		}, `nothing; Generation 1, Key "0 6 * * *", Since 03 06:00, again in 1h0m0s`},
		"TakeOverSuspendedNext": {"or before its next", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			d.Suspend, *r = true, Record{State: Scheduled, NextRun: day(4)}
		}, `nothing; Generation 1, Key "0 6 * * *", Since 04 05:59:59, NextRun none, again in 1h0m0s`},
		"TakeOverSuspendedRun": {"or the Kubeflow operator's run is there", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Suspend, *r, o.Runs = true, Record{}, []Run{{Name: "a", Created: day(3), Phase: Succeeded}}
		}, `nothing; State "Scheduled", Generation 1, Key "0 6 * * *", Since 03 06:00, LastRun 03 06:00, LastRunName "a", Succeeded [a], again in 1h0m0s`},
	})
}

// A run that cannot be started is given up when the next one is due.
func TestGivingUp(t *testing.T) {
	refused := func(since time.Time) Trouble { return Trouble{Reason: ReasonRunRefused, Since: since} }
	decides(t, map[string]decided{
		"Latest": {"of several that were missed, all but the last", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			r.Trouble, e.Now = refused(day(4)), day(6)
		}, `live, skip 2 RunRefused; LastTick 05 06:00, NextRun 07 06:00, Skips 2, LastSkipped 05 06:00, LastSkipReason "RunRefused", Trouble none, again in 1ms`},
		"Suspended": {"it need not start while it is suspended", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Suspend, r.Trouble, e.Now = true, refused(day(4)), day(5)
		}, "nothing; Trouble none, again in 1h0m0s"},
		"SuspendedTrigger": {"what somebody asks for starts all the same", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Suspend, d.Trigger, r.Trouble, e.Now = true, "2026-01-04T07:00:00Z", refused(day(4)), day(5)
		}, `start Trigger 04 07:00 about 03 06:00 to 04 06:00; LastRun 05 06:00, LastRunName "job-29458500", Active [job-29458500], LastTrigger 04 07:00, Trouble none, again in 1s`},
		"TriggerStarted": {"the trigger has a run by now", func(d *Desired, r *Record, o *Observation, e *Env) {
			d.Trigger, r.LastTick, r.Trouble, e.Now = "2026-01-04T05:00:00Z", day(4), refused(day(4)), day(5)
			o.Runs = []Run{{Name: "a", Reason: ReasonSchedule, Tick: day(4).Add(-time.Hour), Created: day(4), Phase: Active}}
		}, `start Schedule 05 06:00 about 04 06:00 to 05 06:00; LastTick 05 06:00, LastRun 05 06:00, NextRun 06 06:00, LastRunName "job-29459880", Active [a job-29459880], LastTrigger 04 05:00, Trouble none, late 0s, again in 1s`},
		"TriggerLater": {"a trigger after the trouble began is not to blame", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Trigger, r.Trouble, e.Now = "2026-01-04T07:00:00Z", refused(day(4)), day(5)
		}, `live, skip 1 RunRefused; LastTick 04 06:00, NextRun 06 06:00, Skips 1, LastSkipped 04 06:00, LastSkipReason "RunRefused", Trouble none, again in 1ms`},
		"BackfillStarted": {"the run of the backfill is there by now", func(d *Desired, r *Record, o *Observation, e *Env) {
			d.Backfill, r.Backfill = &Backfill{From: day(1), To: day(4)}, &Progress{From: day(1), To: day(4), Next: day(2)}
			r.LastTick, r.Trouble, e.Now, o.Runs = day(4), refused(day(4)), day(5), []Run{runOf(2, Active)}
		}, `start Schedule 05 06:00 about 04 06:00 to 05 06:00; LastTick 05 06:00, LastRun 05 06:00, NextRun 06 06:00, LastRunName "job-29459880", Active [job-29455560 job-29459880], Backfill {01 06:00 to 04 06:00, next 03 06:00, started 1, failed []}, Trouble none, late 0s, again in 1s`},
		"NoBackfill": {"what was refused is not wanted any more", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			r.LastTick, r.Trouble, e.Now = day(4), refused(day(4)), day(5)
		}, "nothing; NextRun 06 06:00, Trouble none, again in 1ms"},
		"BackfillDone": {"nor is anything left of the backfill", func(d *Desired, r *Record, _ *Observation, e *Env) {
			d.Backfill, r.Backfill = &Backfill{From: day(1), To: day(4)}, &Progress{From: day(1), To: day(4)}
			r.LastTick, r.Trouble, e.Now = day(4), refused(day(4)), day(5)
		}, "nothing; NextRun 06 06:00, Trouble none, again in 1ms"},
		"Other": {"trouble of another kind is none of a run", func(_ *Desired, r *Record, _ *Observation, e *Env) {
			r.Trouble, e.Now = Trouble{Reason: ReasonInvalidTrigger, Since: day(4)}, day(5)
		}, `live, start Schedule 05 06:00 about 04 06:00 to 05 06:00, skip 1 Missed; LastTick 05 06:00, LastRun 05 06:00, NextRun 06 06:00, LastRunName "job-29459880", Active [job-29459880], Skips 1, LastSkipped 04 06:00, LastSkipReason "Missed", Trouble none, late 0s, again in 1s`},
	})
}
