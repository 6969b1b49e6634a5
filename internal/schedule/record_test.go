// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSuspended(t *testing.T) {
	d, r, env := daily()
	d.Suspend = true
	for name, c := range map[string]struct {
		reason string
		record Record
	}{
		"Ran":     {"finding 13: it has no next run that would move with each time of the schedule", r},
		"Created": {"finding 9 and 13", Record{}},
	} {
		t.Run(name, func(t *testing.T) {
			first := Settle(Decide(d, c.record, Observation{}, env), Result{}, env).Record
			later := env
			later.Now = env.Now.AddDate(0, 0, 9)
			if diff := cmp.Diff(first, Settle(Decide(d, first, Observation{}, later), Result{}, later).Record); diff != "" || !first.NextRun.IsZero() {
				t.Errorf("%s: next run %s, and nine days later it has changed: %s", c.reason, first.NextRun, diff)
			}
		})
	}
}

// The run of the fourth was started, and an edit came before that was stored.
func TestSuspendedAfterAStart(t *testing.T) {
	d, r, env := daily()
	d.Suspend = true
	p := Decide(d, r, Observation{Runs: []Run{runOf(4, Active)}}, env)
	if got := Settle(p, Result{}, env).Record.LastTick; !got.Equal(day(4)) || p.Start != nil {
		t.Errorf("the last time of the schedule that was dealt with is %s, want %s", got, day(4))
	}
}

func TestFailuresOfABackfill(t *testing.T) {
	d, r, env := daily()
	d.Backfill, r.LastTick = &Backfill{From: day(1), To: day(3)}, day(4)
	failed, again := runOf(1, Failed), runOf(2, Succeeded)
	failed.Reason, again.Reason = ReasonBackfill, ReasonBackfill
	r.Backfill = &Progress{From: day(1), To: day(3), Failed: []string{again.Name, "gone"}}
	got := Settle(Decide(d, r, Observation{Runs: []Run{failed, again, runOf(3, Failed)}}, env), Result{}, env).Record.Backfill.Failed
	if diff := cmp.Diff([]string{"gone", failed.Name}, got); diff != "" {
		t.Errorf("finding 7: it names what has failed, unless it was run again (-want +got):\n%s", diff)
	}
}

func TestRequestedTimes(t *testing.T) {
	for name, c := range map[string]struct{ reason, trigger, want string }{
		"Old":    {"finding 14: a clock that is behind", "2026-01-04T04:00:00Z", "2026-01-04T04:00:00Z is not later than the last one, 2026-01-04T05:00:00Z"},
		"Future": {"finding 14: it waits for a year", "2027-01-04T04:00:00Z", "2027-01-04T04:00:00Z is to come"},
		"Done":   {"it has started its run", "2026-01-04T05:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, r, env := daily()
			d.Trigger, r.LastTick, r.LastTrigger = c.trigger, day(4), day(4).Add(-time.Hour)
			said := Settle(Decide(d, r, Observation{}, env), Result{}, env).Conditions[0].Message
			if !strings.Contains(said, c.want) || strings.Contains(said, "trigger-at") != (c.want != "") {
				t.Errorf("%s: %s", c.reason, said)
			}
		})
	}
}
