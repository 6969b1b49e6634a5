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

func TestRequestedTimes(t *testing.T) {
	for name, c := range map[string]struct{ reason, trigger, want string }{
		"Old":    {"finding 14: a clock that is behind", "2026-01-04T04:00:00Z", "2026-01-04T04:00:00Z is not later than the last one, 2026-01-04T05:00:00Z"},
		"Future": {"finding 14: it waits for a year", "2027-01-04T04:00:00Z", "2027-01-04T04:00:00Z is in the future"},
		"None":   {"nothing is asked for", "", ""},
		"Word":   {"it is no time, which the condition Stalled says", "now", ""},
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

// Outcomes are values: whoever settles a plan changes nothing of it.
func TestSettlingTwiceIsTheSame(t *testing.T) {
	d, r, env := daily()
	var o Observation
	for _, name := range []string{"x", "y", "z"} {
		o.Runs = append(o.Runs, Run{Name: name, Reason: ReasonTrigger, Tick: day(2), Created: day(2)})
	}
	p := Decide(d, r, o, env)
	failed := Settle(p, Result{Class: ClassFailed}, env)
	if diff := cmp.Diff([]string{"job-29458440", "x", "y", "z"}, Settle(p, Result{Class: ClassStarted, Created: env.Now}, env).Record.Active); diff != "" {
		t.Errorf("the run is among those that are active (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(failed, Settle(p, Result{Class: ClassFailed}, env)); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestMessagesAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		reason, text, want string
		limit              int
	}{
		"Short":  {"it fits", "0123456789", "0123456789", 10},
		"Long":   {"an ellipsis says that there is more", "0123456789x", "0123456...", 10},
		"Letter": {"no half of a letter", "012345\u00e489x", "012345...", 10},
		"Whole":  {"a whole letter fits", "01234\u00e489xy", "01234\u00e4...", 10},
		"Wide":   {"a letter of four bytes", "0123\U0001F60089x", "0123...", 10},
	} {
		if got := head(c.text, c.limit); got != c.want {
			t.Errorf("%s: %s: got %q, want %q", name, c.reason, got, c.want)
		}
	}
}
