// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A finished run that is not kept is deleted when the status says that it was started: it would be started again, else.
func TestRunsAreDeletedWhenTheyAreStored(t *testing.T) {
	plain := func(*Desired, *Record, *Run) {}
	trigger := func(change func(*Desired, *Record, *Run)) func(*Desired, *Record, *Run) {
		return func(d *Desired, r *Record, run *Run) { run.Reason = ReasonTrigger; change(d, r, run) }
	}
	for name, c := range map[string]struct {
		reason  string
		change  func(*Desired, *Record, *Run)
		deleted bool
	}{
		"Dealt":    {"its time was dealt with", plain, true},
		"NotDealt": {"its time was not", func(_ *Desired, r *Record, _ *Run) { r.LastTick = day(1) }, false},
		"Other":    {"there is no such time of the schedule", func(_ *Desired, r *Record, run *Run) { r.LastTick, run.Tick = day(1), day(2).Add(time.Minute) }, true},
		"Edited": {"nor in the schedule that it replaces", func(d *Desired, r *Record, run *Run) {
			d.Schedule, r.LastTick, run.Tick = "0 5 * * *", day(1), day(2).Add(time.Minute)
		}, true},
		"Previous":     {"there was in the schedule that it replaces", func(d *Desired, r *Record, _ *Run) { d.Schedule, r.LastTick = "0 5 * * *", day(1) }, false},
		"Foreign":      {"the Kubeflow operator's", func(_ *Desired, r *Record, run *Run) { r.LastTick, run.Reason, run.Tick = day(1), "", time.Time{} }, true},
		"Trigger":      {"its trigger was dealt with", trigger(func(_ *Desired, r *Record, _ *Run) { r.LastTrigger = day(2) }), true},
		"TriggerLater": {"its trigger was not", trigger(func(_ *Desired, r *Record, _ *Run) { r.LastTrigger = day(1) }), false},
		"Triggered":    {"a trigger asks for the time of the schedule", func(d *Desired, r *Record, _ *Run) { d.Trigger, r.LastTrigger = "2026-01-02T06:00:00Z", day(1) }, false},
		"TriggeredOld": {"it was dealt with", func(d *Desired, r *Record, _ *Run) { d.Trigger, r.LastTrigger = "2026-01-02T06:00:00Z", day(2) }, true},
		"Asleep":       {"only triggers start runs of one that was created suspended", func(_ *Desired, r *Record, _ *Run) { *r = Record{State: Scheduled, LastTrigger: day(3)} }, false},
		"AsleepStored": {"and this trigger was dealt with", trigger(func(_ *Desired, r *Record, _ *Run) { *r = Record{State: Scheduled, LastTrigger: day(2)} }), true},
		"AsleepLater":  {"this one was not", trigger(func(_ *Desired, r *Record, _ *Run) { *r = Record{State: Scheduled, LastTrigger: day(1)} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			d, r, env := daily()
			d.KeepSucceeded, r.LastTick = 0, day(4)
			run := runOf(2, Succeeded)
			c.change(&d, &r, &run)
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

// The newest are kept, in their order: by the time that they are for, then by their creation, then by their names.
func TestTheNewestAreKept(t *testing.T) {
	d, r, env := daily()
	d.KeepSucceeded, r.LastTick, r.Succeeded, r.Failed = 3, day(4), []string{"gone"}, []string{"gone"}
	first, second, again, other := runOf(1, Succeeded), runOf(2, Succeeded), runOf(2, Succeeded), runOf(2, Succeeded)
	first.Created = day(4)
	again.Name, again.Created = "again", day(3)
	other.Name = "other"
	p := Decide(d, r, Observation{Runs: []Run{first, second, again, other}}, env)
	record := Settle(p, Result{}, env).Record
	if diff := cmp.Diff([]string{"again", "other", "job-29455560"}, record.Succeeded); diff != "" || record.Failed != nil {
		t.Errorf("kept are the failed %v, which are gone, and (-want +got):\n%s", record.Failed, diff)
	}
	if diff := cmp.Diff([]Run{first}, p.Remove); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// Of the runs that are active, each is named once, in the order of the names, and 500 at most.
func TestActiveRunsAreNamedOnce(t *testing.T) {
	d, r, env := daily()
	r.LastTick = day(4)
	o := Observation{Runs: []Run{runOf(4, Active), runOf(3, Active)}, Stopping: []string{"job-29458440", "a"}}
	if diff := cmp.Diff([]string{"a", "job-29457000", "job-29458440"}, Decide(d, r, o, env).record.Active); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var want []string
	for i := range 501 {
		want = append(want, fmt.Sprintf("x-%03d", i))
	}
	o.Stopping = slices.Clone(want)
	slices.Reverse(o.Stopping)
	o.Runs = nil
	if diff := cmp.Diff(want[:500], Decide(d, r, o, env).record.Active); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
