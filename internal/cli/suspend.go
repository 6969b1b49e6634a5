// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

func newSuspend(streams genericiooptions.IOStreams) *cobra.Command {
	return newVerb(&cobra.Command{
		Use:   "suspend [TYPE/]NAME...",
		Short: "Suspend applications, schedules, servers or clusters",
		Long: "Set spec.suspend of applications, schedules, Spark Connect servers or standalone clusters.\n\n" +
			"The driver of a running application is deleted; an application without a driver gets none. The same applies to a server,\n" +
			"whose sessions end at once; connect does not wake it. A schedule starts no more runs; running ones continue. The master and the\n" +
			"workers of a cluster are deleted, and its Services stay.\n\n" + withoutType,
		Example: "  kubectl spark suspend spark-pi\n\n" +
			"  kubectl spark suspend scheduledsparkapp/nightly\n\n" +
			"  # all applications of a team; first, what that would be\n" +
			"  kubectl spark suspend sparkapp -l team=a --dry-run=client",
	}, suspending("suspended", true), streams)
}

func newResume(streams genericiooptions.IOStreams) *cobra.Command {
	return newVerb(&cobra.Command{
		Use:   "resume [TYPE/]NAME...",
		Short: "Resume suspended applications, schedules, servers and clusters",
		Long: "Set spec.suspend of applications, schedules, Spark Connect servers or standalone clusters to false.\n\n" +
			"An application or a server begins its next attempt, and a cluster starts again. A schedule starts runs\n" +
			"again; spec.missedRunPolicy decides about those that were due in between.\n\n" + withoutType,
		Example: "  kubectl spark resume spark-pi\n\n" +
			"  kubectl spark resume scheduledsparkapp/nightly scheduledsparkapp/hourly",
	}, suspending("resumed", false), streams)
}

// suspending returns the operation that sets spec.suspend.
func suspending(past string, to bool) verb {
	return verb{
		past: past, kinds: inspect.Types(),
		do: func(ctx context.Context, c *connection, o inspect.Object, dry dryRun, _ time.Time) (bool, []string, error) {
			if suspended(o.Unstructured) == to {
				return false, asleep(o, to), nil
			}
			return true, suspendNotes(o, to), c.setSuspend(ctx, o, to, dry)
		},
	}
}

func suspended(o *unstructured.Unstructured) bool {
	is, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend") // a value that is no boolean counts as false
	return is
}

// suspendNotes lists further effects of the changed spec.suspend.
func suspendNotes(o inspect.Object, to bool) []string {
	switch {
	case o.Type == inspect.Schedules && to:
		if s, err := o.LoadSchedule(o.Object, resolve.Operator{}, time.Time{}); err == nil && len(s.Record.Active) > 0 {
			return []string{fmt.Sprintf("%s still running: %s", isAre(s.Record.Active), listed(s.Record.Active))}
		}
	case slices.Contains(inspect.Families, o.Type):
		if a, err := o.Load(o.Object, resolve.Operator{}, time.Time{}); err == nil && a.Record.State.Final() {
			return []string{fmt.Sprintf("it is %s; the change takes effect when it runs again", a.State)}
		}
	}
	return nil
}

// asleep returns a note on how to start a server that was stopped because it was idle and is not suspended.
func asleep(o inspect.Object, to bool) []string {
	if o.Type != inspect.Servers || to {
		return nil
	}
	if a, err := o.Load(o.Object, resolve.Operator{}, time.Time{}); err != nil || a.Record.Idle.StoppedAt.IsZero() {
		return nil
	}
	return []string{"it was stopped because it was idle: kubectl spark connect " + o.GetName() + " starts it"}
}
