// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/inspect"
)

// trigger are the flags of the command of that name.
type trigger struct {
	from, to  string
	maxActive int32
}

// backfill is spec.backfill of a schedule.
type backfill struct {
	from, to time.Time
	// maxActive is 0 if the default is meant.
	maxActive int32
}

// fields are a merge patch of spec.backfill.
func (b backfill) fields() map[string]any {
	fields := map[string]any{"from": stamp(b.from), "to": stamp(b.to), "maxActive": nil}
	if b.maxActive != 0 {
		fields["maxActive"] = b.maxActive
	}
	return fields
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
		Short: "Start a run of a schedule now, or those of a past range of dates",
		Long: "Start one run of a schedule now, also while it is suspended. spec.concurrencyPolicy holds, and the runs of the schedule are not moved.\n\n" +
			"The annotation " + v1beta2.AnnotationTriggerAt + " is set to the present time. A later time than the one before starts another\n" +
			"run, so the annotation can be written by kubectl, too, or in Git.\n\n" +
			"With --from and --to, the runs that were due from the one time until before the other are made up for, the oldest first: spec.backfill\n" +
			"is set. A date without a time is the beginning of the day in the schedule's time zone.",
		Example: "  kubectl spark trigger nightly\n\n" +
			"  # the runs of January, two at a time\n" +
			"  kubectl spark trigger nightly --from 2026-01-01 --to 2026-02-01 --max-active 2",
		PreRunE: func(*cobra.Command, []string) error { return t.check() },
	}, v, streams)
	command.Flags().StringVar(&t.from, "from", "", "the first time of a range, such as 2026-01-31 or 2026-01-31T09:00:00Z")
	command.Flags().StringVar(&t.to, "to", "", "the end of the range; a run that was due then is not in it")
	command.Flags().Int32Var(&t.maxActive, "max-active", 0, "how many runs of the range there are at the same time; 1 by default")
	return command
}

func (t *trigger) check() error {
	const most = 100 // as the definition has it
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
	if t.from != "" {
		return t.backfill(ctx, c, o, dry)
	}
	var notes []string
	policy := v1beta2.ConcurrencyPolicy(nested(o.Object, "spec", "concurrencyPolicy"))
	switch runs := activeRuns(o); {
	case len(runs) > 0 && policy == v1beta2.ConcurrencyForbid:
		notes = append(notes, fmt.Sprintf("spec.concurrencyPolicy is Forbid: the run starts when %s finished", hasHave(runs)))
	case len(runs) > 0 && policy == v1beta2.ConcurrencyReplace:
		notes = append(notes, fmt.Sprintf("spec.concurrencyPolicy is Replace: what runs is deleted first, unless a backfill has started it: %s", listed(runs)))
	}
	return true, notes, c.setTime(ctx, o, v1beta2.AnnotationTriggerAt, laterThan(o, v1beta2.AnnotationTriggerAt, now), dry)
}

func (t *trigger) backfill(ctx context.Context, c *connection, o inspect.Object, dry dryRun) (bool, []string, error) {
	zone, err := zoneOf(o)
	if err != nil {
		return false, nil, err
	}
	b := backfill{maxActive: t.maxActive}
	for _, end := range []struct {
		flag, text string
		at         *time.Time
	}{{"--from", t.from, &b.from}, {"--to", t.to, &b.to}} {
		if *end.at, err = parseDate(end.text, zone); err != nil {
			return false, nil, fmt.Errorf("%s: %w", end.flag, err)
		}
	}
	if !b.to.After(b.from) {
		return false, nil, fmt.Errorf("--to: %s is not after --from, which is %s", stamp(b.to), stamp(b.from))
	}
	if b.matches(o) {
		return false, []string{"this range is its backfill already; another range starts a new one"}, nil
	}
	return true, []string{fmt.Sprintf("the runs from %s until before %s", b.from.In(zone).Format(time.RFC3339), b.to.In(zone).Format(time.RFC3339))},
		c.setBackfill(ctx, o, b, dry)
}

// matches reports whether a schedule has the backfill already.
func (b backfill) matches(o inspect.Object) bool {
	stored, _, _ := unstructured.NestedMap(o.Object, "spec", "backfill")
	if stored == nil {
		return false
	}
	var from, to string
	from, _, _ = unstructured.NestedString(stored, "from")
	to, _, _ = unstructured.NestedString(stored, "to")
	active, _, _ := unstructured.NestedInt64(stored, "maxActive")
	return sameTime(from, b.from) && sameTime(to, b.to) && active == int64(b.maxActive)
}

func sameTime(text string, t time.Time) bool {
	stored, err := time.Parse(time.RFC3339, text)
	return err == nil && stored.Equal(t.Truncate(time.Second))
}

// parseDate reads a time, or a date as the beginning of the day.
func parseDate(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a date such as 2026-01-31 nor a time such as 2026-01-31T09:00:00Z", text)
}

// zoneOf is the time zone of a schedule. The operator's, which is its default, is not known here: it is UTC in its image.
func zoneOf(o inspect.Object) (*time.Location, error) {
	name := nested(o.Object, "spec", "timeZone")
	if prefix, _, ok := strings.Cut(nested(o.Object, "spec", "schedule"), " "); ok {
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
