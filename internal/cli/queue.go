// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/firesteel-dev/firesteel/internal/inspect"
)

// queueing holds the flags of queue.
type queueing struct {
	genericiooptions.IOStreams
	all       bool
	queue     string
	out       output
	operators inspect.Installation
}

func newQueue(streams genericiooptions.IOStreams) *cobra.Command {
	q := queueing{IOStreams: streams}
	var clusters cluster
	command := &cobra.Command{
		Use:   "queue",
		Short: "List waiting applications and clusters, longest wait first",
		Long: "List the applications and the standalone clusters that wait for the creation of their driver pod or their master, or for a\n" +
			"node.\n\n" +
			"SCHEDULER and QUEUE are the choice, SINCE is the waiting time, REASON and WHY are the explanation of the\n" +
			"operator and the scheduler. POSITION is the place in the line for a quota, from 1; of several lines the worst place,\n" +
			"and ? if it could not be computed, which -o json explains.\n\n" +
			"A second table has the lines: the number of waiting objects, the sum of their requests, and the quota's usage, guarantee and loans. It also has\n" +
			"schedulers' own queues, if the scheduler reports them and you may read them. Positions are computed on this machine by the operator's\n" +
			"own code. -o json has the position in each line.",
		Example: "  kubectl spark queue\n\n  # one queue, everywhere\n  kubectl spark queue -A --queue root.team-a\n\n" +
			"  # who is first in a line\n  kubectl spark queue -o json | jq '.items[] | select(.positions[]?.position == 1) | .name'",
		Args: arguments(0, 0),
		RunE: func(command *cobra.Command, _ []string) error {
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			return q.run(command.Context(), connected, time.Now())
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.Flags().BoolVarP(&q.all, "all-namespaces", "A", false, "list those of all namespaces")
	command.Flags().StringVar(&q.queue, "queue", "", "only those in this queue")
	operatorFlags(&q.operators, command)
	q.out.addFormat(command, "", "format of the output: json or yaml; tables by default", "json", "yaml")
	return command
}

func (q *queueing) run(ctx context.Context, c *connection, now time.Time) error {
	found, err := c.Queue(ctx, q.operators, q.all, q.queue, now)
	if err != nil {
		return err
	}
	if q.out.format != "" {
		for _, doubt := range found.Doubts { // tables show marks and gaps instead: most tenants lack some permissions, and run the command often
			say(q.ErrOut, "%s", doubt)
		}
		return q.out.print(q.Out, queueReportOf(found))
	}
	if len(found.Waiting) == 0 {
		say(q.ErrOut, "No application and no cluster waits.")
		return nil
	}
	lines := slices.Concat(found.Lines, found.Queues)
	if err := printWaiting(q.Out, found.Waiting, now); err != nil || len(lines) == 0 {
		return err
	}
	say(q.Out, "")
	return printLines(q.Out, lines)
}

func printWaiting(out io.Writer, line []inspect.Waiting, now time.Time) error {
	w := printers.GetNewTabWriter(out)
	say(w, "NAMESPACE\tNAME\tSCHEDULER\tQUEUE\tPOSITION\tSINCE\tREASON\tWHY")
	for _, x := range line {
		cells := []string{
			x.Namespace, x.Name, cmp.Or(x.Scheduler, "-"), cmp.Or(x.Queue, "-"), x.Position(),
			duration.HumanDuration(max(0, now.Sub(x.Since))), cmp.Or(string(x.Why.Reason), "-"), oneLine(x.Why.Message),
		}
		say(w, "%s", tableRow(cells))
	}
	return w.Flush()
}

// oneLine joins the lines of a message, because line breaks would break the table.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
