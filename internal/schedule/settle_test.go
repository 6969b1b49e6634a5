// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// play decides and settles with a result, and returns the record and what happened.
func play(t *testing.T, change func(*Desired, *Record, *Observation, *Env), result Result) (Record, Outcome, []string) {
	t.Helper()
	d, r, env := daily()
	o := Observation{Live: true}
	change(&d, &r, &o, &env)
	p := Decide(d, r, o, env)
	out := Settle(p, result, env)
	var events []string
	for _, e := range Events(d, r, out) {
		if len(e.Message) > maxNote || e.Message == "" || e.Action == "" {
			t.Errorf("event %+v", e)
		}
		events = append(events, e.Reason)
	}
	return r, out, events
}

func reasons(o Outcome) []string {
	var all []string
	for _, c := range o.Conditions {
		all = append(all, string(c.Reason))
	}
	return all
}

func TestSettle(t *testing.T) {
	nothing := func(*Desired, *Record, *Observation, *Env) {}
	for name, c := range map[string]struct {
		reason     string
		change     func(*Desired, *Record, *Observation, *Env)
		result     Result
		conditions []string
		events     []string
	}{
		"Started":  {"a run is created", nothing, Result{Class: ClassStarted, Created: day(4)}, []string{"OnSchedule", "RunsActive", "NoTrouble"}, []string{"RunStarted"}},
		"Quiet":    {"nothing happens", func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick = day(4) }, Result{}, []string{"OnSchedule", "NoActiveRuns", "NoTrouble"}, nil},
		"Conflict": {"its name is taken", nothing, Result{Class: ClassConflict, Message: "taken"}, []string{"OnSchedule", "NoActiveRuns", "NameConflict"}, []string{"NameConflict"}},
		"Refused":  {"it is refused", nothing, Result{Class: ClassRefused, Message: strings.Repeat("no ", 1000)}, []string{"OnSchedule", "NoActiveRuns", "RunRefused"}, []string{"RunRefused"}},
		"RefusedStill": {"as before: no news", func(_ *Desired, r *Record, _ *Observation, _ *Env) {
			r.Trouble.Reason = ReasonRunRefused
			r.Trouble.Since = day(4)
		},
			Result{Class: ClassRefused, Message: "no"}, []string{"OnSchedule", "NoActiveRuns", "RunRefused"}, nil},
		"Unknown": {"the API server is away", nothing, Result{Class: ClassFailed, Err: errors.New("away")}, []string{"OnSchedule", "NoActiveRuns", "NoTrouble"}, nil},
		"TriggerConflict": {"a trigger whose name is taken is given up", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Trigger = day(4), "2026-01-04T05:00:00Z"
		},
			Result{Class: ClassConflict, Message: "taken"}, []string{"OnSchedule", "NoActiveRuns", "NoTrouble"}, []string{"RunSkipped"}},
		"Suspended": {"suspended", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Suspend = true }, Result{}, []string{"Suspended", "NoActiveRuns", "NoTrouble"}, nil},
		"Invalid":   {"invalid", func(d *Desired, _ *Record, _ *Observation, _ *Env) { d.Concurrency = "x" }, Result{}, []string{"InvalidSchedule", "NoActiveRuns", "InvalidSchedule"}, []string{"ScheduleInvalid"}},
		"Word":      {"a trigger that is no time", func(d *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, d.Trigger = day(4), "now" }, Result{}, []string{"OnSchedule", "NoActiveRuns", "InvalidTrigger"}, []string{"InvalidTrigger"}},
		"WordStill": {"as before", func(d *Desired, r *Record, _ *Observation, _ *Env) {
			r.LastTick, d.Trigger, r.StalledBy = day(4), "now", ReasonInvalidTrigger
		}, Result{}, []string{"OnSchedule", "NoActiveRuns", "InvalidTrigger"}, nil},
		"Forbid":  {"a run waits", func(d *Desired, r *Record, o *Observation, _ *Env) { d.Concurrency = Forbid; active(r, o, 3) }, Result{}, []string{"OnSchedule", "WaitingForActiveRun", "NoTrouble"}, nil},
		"Replace": {"a run is replaced", func(d *Desired, r *Record, o *Observation, _ *Env) { d.Concurrency = Replace; active(r, o, 3) }, Result{}, []string{"OnSchedule", "ReplacingRun", "NoTrouble"}, nil},
		"Replaced": {"it is gone", func(d *Desired, r *Record, _ *Observation, _ *Env) { d.Concurrency, r.Active = Replace, []string{"a"} },
			Result{Class: ClassStarted, Created: day(4)}, []string{"OnSchedule", "RunsActive", "NoTrouble"}, []string{"RunReplaced", "RunStarted"}},
		"Deleted": {"somebody deleted it", func(_ *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, r.Active = day(4), []string{"a"} }, Result{}, []string{"OnSchedule", "NoActiveRuns", "NoTrouble"}, []string{"RunDeleted"}},
		"Finished": {"a success and a failure", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			r.LastTick, o.Runs = day(4), []Run{runOf(3, Succeeded), runOf(4, Failed)}
			r.Active = []string{o.Runs[0].Name, o.Runs[1].Name}
		}, Result{}, []string{"OnSchedule", "NoActiveRuns", "NoTrouble"}, []string{"RunSucceeded", "RunFailed"}},
		"Skipped": {"several", func(_ *Desired, _ *Record, _ *Observation, e *Env) { e.Now = day(9) }, Result{Class: ClassStarted, Created: day(9)}, []string{"OnSchedule", "RunsActive", "NoTrouble"}, []string{"RunStarted", "RunsSkipped"}},
		"Changed": {"another schedule", func(d *Desired, r *Record, _ *Observation, _ *Env) { r.LastTick, d.Schedule = day(4), "@weekly" }, Result{}, []string{"OnSchedule", "NoActiveRuns", "NoTrouble"}, []string{"ScheduleChanged"}},
		"Backfill": {"the last of them", func(d *Desired, r *Record, o *Observation, _ *Env) {
			d.Backfill, r.Backfill = &Backfill{From: day(1), To: day(2)}, &Progress{From: day(1), To: day(2), Next: day(1)}
			r.LastTick = day(4)
		}, Result{Class: ClassStarted, Created: day(4)}, []string{"OnSchedule", "RunsActive", "NoTrouble"}, []string{"RunStarted", "BackfillFinished"}},
		"Crashed": {"an earlier operator's run is found", func(_ *Desired, _ *Record, o *Observation, _ *Env) { o.Runs = []Run{runOf(4, Active)} }, Result{}, []string{"OnSchedule", "RunsActive", "NoTrouble"}, []string{"RunStarted"}},
		"TakenOver": {"the Kubeflow operator's run is no news", func(_ *Desired, r *Record, o *Observation, _ *Env) {
			*r, o.Runs = Record{LastRun: day(4), State: Scheduled}, []Run{{Name: "a", Created: day(4), Phase: Active}}
		}, Result{}, []string{"OnSchedule", "RunsActive", "NoTrouble"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, o, events := play(t, c.change, c.result)
			if diff := cmp.Diff(c.conditions, reasons(o)); diff != "" {
				t.Errorf("%s: conditions:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.events, events); diff != "" {
				t.Errorf("%s: events:\n%s", c.reason, diff)
			}
			for _, condition := range o.Conditions {
				if len(condition.Message) > maxMessage {
					t.Errorf("the message of %s has %d bytes", condition.Type, len(condition.Message))
				}
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

// documented are the first cells of a table of a page, below a heading.
func documented(t *testing.T, page, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/%s has no heading %q", page, heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	var all []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|").FindAllStringSubmatch(part, -1) {
		all = append(all, row[1])
	}
	slices.Sort(all)
	return all
}

func TestReasonsAreDocumented(t *testing.T) {
	want := []string{ConditionScheduled, ConditionRunActive, ConditionStalled}
	for _, r := range Reasons() {
		want = append(want, string(r))
	}
	for _, r := range SkipReasons() {
		if !slices.Contains(want, string(r)) {
			want = append(want, string(r))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, documented(t, "conditions.md", "## Schedules")); diff != "" {
		t.Errorf("docs/conditions.md (-want +got):\n%s", diff)
	}
}

// Who filters events by their reasons finds all of them in the page, and none that is never sent.
func TestEventsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("events.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	sent := []string{string(ReasonNameConflict), string(ReasonRunRefused), string(ReasonInvalidTrigger)}
	for _, match := range regexp.MustCompile(`add\((?:true|false), "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		sent = append(sent, match[1])
	}
	_, section, _ := strings.Cut(string(page), "\n## Events\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for line := range strings.Lines(section) {
		for _, match := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(strings.SplitN(line+"||", "|", 3)[1], -1) {
			documented = append(documented, match[1])
		}
	}
	slices.Sort(sent)
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Compact(sent), documented); diff != "" {
		t.Errorf("events that are sent (-) and that docs/schedules.md has (+):\n%s", diff)
	}
}
