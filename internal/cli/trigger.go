// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// trigger holds the flags of the command trigger.
type trigger struct {
	from, to  string
	maxActive int32
}

func newTrigger(streams genericiooptions.IOStreams) *cobra.Command {
	var t trigger
	v := verb{
		past: "triggered", kinds: []inspect.Type{inspect.Schedules}, do: t.do,
		wrong: func(k inspect.Type) string {
			switch k {
			case inspect.ApacheApplications:
				return appliedAgain
			case inspect.Clusters:
				return "only schedules have runs to start; " + startedAgain
			}
			return "kubectl spark rerun NAME runs it again"
		},
	}
	command := newVerb(&cobra.Command{
		Use:   "trigger NAME...",
		Short: "Start a run of a schedule now, or the runs of a past range",
		Long: "Start one run of a schedule now, also while it is suspended. spec.concurrencyPolicy applies, and the scheduled runs do not move.\n\n" +
			"The annotation " + inspect.Schedules.TriggerAt + " is set to the present time. A later time starts another\n" +
			"run, so the annotation can be written by kubectl, too, or in Git.\n\n" +
			"With --from and --to, the runs that were due in that range are started, the oldest first: spec.backfill\n" +
			"is set. --to itself is excluded. A date without a time is the start of the day in the schedule's time zone.",
		Example: "  kubectl spark trigger nightly\n\n" +
			"  # the runs of January, two at a time\n" +
			"  kubectl spark trigger nightly --from 2026-01-01 --to 2026-02-01 --max-active 2",
		PreRunE: func(*cobra.Command, []string) error { return t.check() },
	}, v, streams)
	command.Flags().StringVar(&t.from, "from", "", "the first time of a range, such as 2026-01-31 or 2026-01-31T09:00:00Z")
	command.Flags().StringVar(&t.to, "to", "", "the end of the range, which is excluded")
	command.Flags().Int32Var(&t.maxActive, "max-active", 0, "the number of concurrent runs of the range; 1 by default")
	return command
}

func (t *trigger) check() error {
	const most = 100 // the limit in the definition
	switch {
	case (t.from == "") != (t.to == ""):
		return errors.New("--from and --to: write both")
	case t.maxActive != 0 && t.from == "":
		return errors.New("--max-active: only with --from and --to")
	case t.maxActive < 0 || t.maxActive > most:
		return fmt.Errorf("--max-active: %d is not within 1 and %d", t.maxActive, most)
	}
	return nil
}

func (t *trigger) do(ctx context.Context, c *connection, o inspect.Object, dry dryRun, now time.Time) (bool, []string, error) {
	s, err := o.LoadSchedule(o.Object, resolve.Operator{}, now)
	if err != nil {
		return false, nil, err
	}
	if t.from != "" {
		return t.backfill(ctx, c, o, s.Desired, dry)
	}
	var notes []string
	switch runs := s.Record.Active; {
	case len(runs) > 0 && s.Desired.Concurrency == schedule.Forbid:
		notes = append(notes, fmt.Sprintf("spec.concurrencyPolicy is Forbid: the run starts when %s finished", hasHave(runs)))
	case len(runs) > 0 && s.Desired.Concurrency == schedule.Replace:
		notes = append(notes, fmt.Sprintf("spec.concurrencyPolicy is Replace: running ones are deleted first, unless a backfill started them: %s", listed(runs)))
	}
	return true, notes, c.setTime(ctx, o, o.TriggerAt, laterThan(o, o.TriggerAt, now), dry)
}

func (t *trigger) backfill(ctx context.Context, c *connection, o inspect.Object, desired schedule.Desired, dry dryRun) (bool, []string, error) {
	zone, err := zoneOf(desired)
	if err != nil {
		return false, nil, err
	}
	b := schedule.Backfill{MaxActive: t.maxActive}
	for _, end := range []struct {
		flag, text string
		at         *time.Time
	}{{"--from", t.from, &b.From}, {"--to", t.to, &b.To}} {
		if *end.at, err = parseDate(end.text, zone); err != nil {
			return false, nil, fmt.Errorf("%s: %w", end.flag, err)
		}
	}
	if !b.To.After(b.From) {
		return false, nil, fmt.Errorf("--to: %s is not after --from, which is %s", stamp(b.To), stamp(b.From))
	}
	if stored := desired.Backfill; stored != nil && sameTime(stored.From, b.From) && sameTime(stored.To, b.To) && stored.MaxActive == b.MaxActive {
		return false, []string{"this range is its backfill already; another range starts a new one"}, nil
	}
	return true, []string{fmt.Sprintf("the runs from %s until before %s", b.From.In(zone).Format(time.RFC3339), b.To.In(zone).Format(time.RFC3339))},
		c.setBackfill(ctx, o, b, dry)
}

// sameTime reports whether a stored time equals t. Times are stored in whole seconds.
func sameTime(stored, t time.Time) bool { return stored.Equal(t.Truncate(time.Second)) }

// parseDate reads a time, or a date that means the start of that day.
func parseDate(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a date such as 2026-01-31 nor a time such as 2026-01-31T09:00:00Z", text)
}

// zoneOf returns the time zone of a schedule. The default is the operator's zone, which is unknown here; it is UTC in the operator's image.
func zoneOf(d schedule.Desired) (*time.Location, error) {
	if d.Malformed != "" { // the zone is unknown
		return nil, errors.New(d.Malformed)
	}
	name := d.TimeZone
	if prefix, _, ok := strings.Cut(d.Schedule, " "); ok {
		for _, key := range []string{"CRON_TZ=", "TZ="} {
			if zone, is := strings.CutPrefix(prefix, key); is {
				name = zone
			}
		}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("spec.timeZone: %q is no time zone; write --from and --to as times such as 2026-01-31T09:00:00Z", name)
	}
	return zone, nil
}
