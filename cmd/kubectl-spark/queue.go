// SPDX-License-Identifier: Apache-2.0

package main

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

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	family "github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// queueing is what the flags of queue say.
type queueing struct {
	genericiooptions.IOStreams
	all       bool
	queue     string
	out       output
	operators installed
}

func newQueue(streams genericiooptions.IOStreams) *cobra.Command {
	q := queueing{IOStreams: streams}
	var clusters cluster
	command := &cobra.Command{
		Use:   "queue",
		Short: "List the applications and clusters that wait for their first pod or for a node, longest wait first",
		Long: "List the applications and the standalone clusters that wait: for their driver pod, or their master, to be created, or for its place on\n" +
			"a node.\n\n" +
			"SCHEDULER and QUEUE are what was chosen, SINCE is how long it has waited, REASON and WHY are what the\n" +
			"operator and the scheduler say about it. POSITION is the place in the line for a quota, from 1; of several lines that in which most are ahead,\n" +
			"and ? if it could not be computed, which -o json explains.\n\n" +
			"A second table has the lines: how many wait, what they ask for together, and what the quota uses, guarantees and has lent. Positions are\n" +
			"computed on this machine by the operator's own code. With -o json there is the position in each line.",
		Example: "  kubectl spark queue\n\n  # one queue, everywhere\n  kubectl spark queue -A --queue root.team-a\n\n" +
			"  # who is first in a line\n  kubectl spark queue -o json | jq '.items[] | select(.positions[]?.position == 1) | .name'",
		Args: cobra.NoArgs,
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
	q.operators.addTo(command)
	q.out.addFormat(command, "", "format of the output: json or yaml; tables by default", "json", "yaml")
	return command
}

// inLine is an application or a cluster that waits.
type inLine struct {
	namespace, name  string
	scheduler, queue string
	since            time.Time
	why              lifecycle.Cause
	object           found
	positions        []scheduler.Position
	// unknown says that it may have positions that could not be computed.
	unknown bool
}

// inLines are the kinds whose objects wait in the lines of quotas.
var inLines = append(slices.Clone(families), standalones, servers)

func (q *queueing) run(ctx context.Context, c *connection, now time.Time) error {
	items, err := (&listing{kinds: inLines, all: q.all}).read(ctx, c)
	if err != nil {
		return err
	}
	var line []inLine
	quotas := false
	for _, item := range items {
		if item.kind == servers { // they are listed elsewhere, and count only for the positions of others
			continue
		}
		w, waits, err := inLineOf(item)
		if err != nil {
			return err
		}
		if waits && (q.queue == "" || w.queue == q.queue) {
			w.object = item
			line = append(line, w)
			quotas = quotas || slices.Contains(quotaReasons, w.why.Reason)
		}
	}
	var lines quotaLines
	if quotas {
		var doubt string
		lines, doubt = c.linesOf(ctx, q.operators, items, q.all, now)
		if lines.enter(line, doubt != ""); doubt != "" && q.out.format != "" {
			say(q.ErrOut, "%s", doubt) // the table has a mark instead: most tenants may not read what it takes, and look often
		}
	}
	slices.SortStableFunc(line, func(a, b inLine) int { return a.since.Compare(b.since) })
	if q.out.format != "" {
		return q.out.print(q.Out, queueReportOf(line, lines.lines))
	}
	if len(line) == 0 {
		say(q.ErrOut, "No application and no cluster waits.")
		return nil
	}
	if err := printWaiting(q.Out, line, now); err != nil || len(lines.lines) == 0 {
		return err
	}
	say(q.Out, "")
	return printLines(q.Out, lines.lines)
}

func printWaiting(out io.Writer, line []inLine, now time.Time) error {
	w := printers.GetNewTabWriter(out)
	say(w, "NAMESPACE\tNAME\tSCHEDULER\tQUEUE\tPOSITION\tSINCE\tREASON\tWHY")
	for _, x := range line {
		cells := []string{
			x.namespace, x.name, cmp.Or(x.scheduler, "-"), cmp.Or(x.queue, "-"), x.position(),
			duration.HumanDuration(max(0, now.Sub(x.since))), cmp.Or(string(x.why.Reason), "-"), oneLine(x.why.Message),
		}
		say(w, "%s", tableRow(cells))
	}
	return w.Flush()
}

// oneLine keeps a message of several lines from breaking the table.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// inLineOf says since when an object waits and why; waits is false if it does not.
func inLineOf(o found) (w inLine, waits bool, err error) {
	if o.kind == standalones {
		decoded, err := o.decoded(o.Object)
		if err != nil {
			return w, false, err
		}
		w, waits = waitingCluster(decoded.(*v1.SparkCluster))
		return w, waits, nil
	}
	a, err := o.application(o.Object, resolve.Operator{}, time.Time{})
	if err != nil {
		return w, false, err
	}
	w, waits = waitingOf(a)
	return w, waits, nil
}

// waitingCluster says since when a cluster waits and why: for its start, or for its master to run.
func waitingCluster(o *v1.SparkCluster) (inLine, bool) {
	r := family.ClusterRecord(o)
	w := inLine{
		namespace: o.Namespace, name: standalones.typed(o.Name), since: family.ClusterQueuedAt(o), why: explain.ClusterCause(o.Status.Conditions),
		scheduler: r.Scheduling.Scheduler, queue: r.Scheduling.Queue,
	}
	master, _ := explain.ClusterReady(o.Status.Conditions)
	switch {
	case family.ClusterProbe(o) || o.Spec.Suspend:
		return w, false
	case r.State == standalone.New && len(o.Status.Conditions) == 0:
		w.why.Message = "the operator has not reconciled it yet"
	case r.State.Starts():
	case r.State == standalone.Running && strings.HasPrefix(master, "0/") && w.why.Reason != standalone.ReasonPodsNotReady:
		w.since = family.ClusterSince(o)
	default:
		return w, false
	}
	return w, true
}

// waitingOf says since when an application waits and why. One that was never reconciled waits for the operator.
func waitingOf(a application) (inLine, bool) {
	r, wanted := a.Record, a.App
	w := inLine{
		namespace: a.GetNamespace(), name: a.GetName(), since: a.GetCreationTimestamp().Time, why: explain.Cause(r, a.Conditions),
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
