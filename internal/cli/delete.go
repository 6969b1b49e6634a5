// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

func newDelete(streams genericiooptions.IOStreams) *cobra.Command {
	var keep bool
	command := newVerb(&cobra.Command{
		Use:   "delete [TYPE/]NAME...",
		Short: "Delete applications, schedules, servers or clusters, and list their objects",
		Long: "Delete applications, schedules, Spark Connect servers or standalone clusters, and list what is deleted with them.\n\n" +
			"With an application or a server its driver, its executors and everything else that the operator created for it are deleted; with a\n" +
			"cluster its master and workers; with a schedule its runs, also those that have not finished, unless --keep-runs.\n\n" + withoutType,
		Example: "  kubectl spark delete spark-pi\n\n" +
			"  # show what would be deleted\n" +
			"  kubectl spark delete scheduledsparkapp/nightly --dry-run=client\n\n" +
			"  # the schedule alone\n" +
			"  kubectl spark delete scheduledsparkapp/nightly --keep-runs",
	}, verb{
		past: "deleted", kinds: inspect.Types(), whole: true,
		do: func(ctx context.Context, c *connection, o inspect.Object, dry dryRun, _ time.Time) (bool, []string, error) {
			switch {
			case o.Type != inspect.Schedules && keep:
				return false, nil, fmt.Errorf("--keep-runs: only for a %s", inspect.Schedules.Kind)
			case o.Type == inspect.Servers:
				return true, serverGoes(o), c.remove(ctx, o, false, dry)
			case o.Type == inspect.Clusters:
				return true, clusterGoes(o), c.remove(ctx, o, false, dry)
			case slices.Contains(inspect.Families, o.Type):
				return true, applicationGoes(o), c.remove(ctx, o, false, dry)
			}
			notes := c.scheduleGoes(ctx, o, keep)
			return true, notes, c.remove(ctx, o, keep, dry)
		},
	}, streams)
	command.Flags().BoolVar(&keep, "keep-runs", false, "leave the runs of a schedule, also those that have not finished")
	return command
}

// applicationGoes lists the objects that are deleted with an application.
func applicationGoes(o inspect.Object) []string {
	a, err := o.Load(o.Object, resolve.Operator{}, time.Time{})
	if err != nil || a.Record.State == lifecycle.New || a.Record.State.Final() {
		return nil
	}
	return []string{fmt.Sprintf("it was %s; driver pod %s, its executors and its other objects are deleted with it", a.State, dash(a.Record.DriverName))}
}

// serverGoes lists the objects that are deleted with a server.
func serverGoes(o inspect.Object) []string {
	a, err := o.Load(o.Object, resolve.Operator{}, time.Time{})
	if err != nil || a.State == "" {
		return nil
	}
	return []string{fmt.Sprintf("it was %s; server pod %s and its sessions, its executors and its other objects are deleted with it",
		a.State, dash(a.Endpoint.Pod))}
}

// clusterGoes lists the objects that are deleted with a cluster.
func clusterGoes(o inspect.Object) []string {
	state := clusterState(o.Unstructured)
	if state == "NEW" {
		return nil
	}
	return []string{fmt.Sprintf("it was %s; its master, its workers and its other objects are deleted with it; applications in it fail", state)}
}

// scheduleGoes says whether the runs of a deleted schedule are deleted or kept.
func (c *connection) scheduleGoes(ctx context.Context, o inspect.Object, keep bool) []string {
	s, err := o.LoadSchedule(o.Object, resolve.Operator{}, time.Time{})
	var all []inspect.Application
	if err == nil {
		all, err = c.Runs(ctx, o, s)
	}
	if err != nil {
		return []string{"its runs are unknown: " + inspect.ForPeople(err).Error()}
	}
	var runs, active []string
	for _, run := range all {
		runs = append(runs, run.GetName())
		if !run.Record.State.Final() {
			active = append(active, run.GetName())
		}
	}
	var notes []string
	switch {
	case len(runs) == 0:
	case keep:
		notes = append(notes, fmt.Sprintf("its %s: %s", counted(len(runs), "run stays", "runs stay"), listed(runs)))
	default:
		notes = append(notes, fmt.Sprintf("its %s with it: %s", counted(len(runs), "run goes", "runs go"), listed(runs)))
	}
	if len(active) > 0 {
		notes = append(notes, "not finished: "+listed(active))
	}
	return notes
}

// counted formats a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// listed joins the first names and says how many more there are.
func listed(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

func isAre(names []string) string {
	if len(names) == 1 {
		return "1 run is"
	}
	return fmt.Sprintf("%d runs are", len(names))
}

func hasHave(names []string) string {
	if len(names) == 1 {
		return listed(names) + " has"
	}
	return listed(names) + " have"
}
