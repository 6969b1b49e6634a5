// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

func newQueue(streams genericiooptions.IOStreams) *cobra.Command {
	var clusters cluster
	var all bool
	var queue string
	command := &cobra.Command{
		Use:   "queue",
		Short: "List the applications that wait for their driver pod or for a node, longest wait first",
		Long: "List the applications that wait: for their driver pod to be created, or for the driver pod's place on a node.\n\n" +
			"SCHEDULER and QUEUE are what was chosen for the application, SINCE is how long it has waited, REASON and WHY are what the\n" +
			"operator and the scheduler say about it.",
		Example: "  kubectl spark queue\n\n  # one queue, everywhere\n  kubectl spark queue -A --queue root.team-a",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			return printQueue(command.Context(), connected, streams, all, queue, time.Now())
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the applications of all namespaces")
	command.Flags().StringVar(&queue, "queue", "", "only applications in this queue")
	return command
}

// inLine is an application that waits.
type inLine struct {
	app              application
	scheduler, queue string
	since            time.Time
	why              lifecycle.Cause
}

func printQueue(ctx context.Context, c *connection, streams genericiooptions.IOStreams, all bool, queue string, now time.Time) error {
	items, err := (&listing{kinds: families, all: all}).read(ctx, c)
	if err != nil {
		return err
	}
	var line []inLine
	for _, item := range items {
		a, err := item.application(item.Object, resolve.Operator{}, time.Time{})
		if err != nil {
			return err
		}
		if w, waits := waitingOf(a); waits && (queue == "" || w.queue == queue) {
			line = append(line, w)
		}
	}
	if len(line) == 0 {
		say(streams.ErrOut, "No application waits.")
		return nil
	}
	slices.SortStableFunc(line, func(a, b inLine) int { return a.since.Compare(b.since) })
	w := printers.GetNewTabWriter(streams.Out)
	say(w, "NAMESPACE\tNAME\tSCHEDULER\tQUEUE\tSINCE\tREASON\tWHY")
	for _, x := range line {
		cells := []string{
			x.app.GetNamespace(), x.app.GetName(), cmp.Or(x.scheduler, "-"), cmp.Or(x.queue, "-"),
			duration.HumanDuration(max(0, now.Sub(x.since))), cmp.Or(string(x.why.Reason), "-"), oneLine(x.why.Message),
		}
		say(w, "%s", tableRow(cells))
	}
	return w.Flush()
}

// oneLine keeps a message of several lines from breaking the table.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// waitingOf says since when an application waits and why. One that was never reconciled waits for the operator.
func waitingOf(a application) (inLine, bool) {
	r, wanted := a.Record, a.App
	w := inLine{
		app: a, since: a.GetCreationTimestamp().Time, why: explain.Cause(r, a.Conditions),
		scheduler: cmp.Or(r.Scheduling.Scheduler, wanted.Scheduling.Scheduler), queue: cmp.Or(r.Scheduling.Queue, wanted.Scheduling.Queue),
	}
	switch {
	case r.State == lifecycle.New:
		w.why.Message = "the operator has not reconciled it yet"
	case r.State.Starting():
		if !r.QueuedAt.IsZero() {
			w.since = r.QueuedAt
		}
	case r.State == lifecycle.Submitted:
		w.since = r.SubmittedAt
	default:
		return w, false
	}
	return w, true
}
