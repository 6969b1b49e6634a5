// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	harmless "github.com/firesteel-dev/firesteel/internal/text"
)

// listing holds the flags of list.
type listing struct {
	kinds  []inspect.Type
	all    bool
	states []string
	out    output
}

func newList(streams genericiooptions.IOStreams) *cobra.Command {
	var l listing
	var clusters cluster
	command := &cobra.Command{
		Use:     "list [TYPE]",
		Aliases: []string{"ls"},
		Short:   "List applications with the reasons of their waits, or schedules, servers or clusters",
		Long: "List the applications of a namespace, or of all, by name; with the type schedules (or scheduledsparkapp) the schedules, with servers (or\n" +
			"sparkconn) the Spark Connect servers, and with clusters (or sparkcluster) the standalone clusters.\n\n" +
			"EXECUTORS is the number of running and of initial executors; REASON is the reason of a wait or a failure; DURATION is the time\n" +
			"that the last attempt's driver has run.\n\n" +
			"For a schedule, ACTIVE is the number of unfinished runs, LAST the time since the last run's start, and NEXT the time until the next.\n\n" +
			"For a cluster, MASTER and WORKERS are the numbers of ready and of desired pods, as last seen by the operator.",
		Example: "  kubectl spark list\n\n" +
			"  # what is not running yet, everywhere, and why\n" +
			"  kubectl spark list -A --state submitted,pending_rerun -o wide\n\n" +
			"  kubectl spark list schedules\n\n" +
			"  kubectl spark list servers -A\n\n" +
			"  kubectl spark list clusters -o wide\n\n" +
			"  # for a program\n" +
			"  kubectl spark list --state failed -o name | xargs kubectl delete",
		Args: arguments(0, 1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := l.check(args); err != nil {
				return err
			}
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			return l.run(command.Context(), connected, streams, time.Now())
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = cobra.FixedCompletions([]string{"applications", "schedules", "servers", "clusters"}, cobra.ShellCompDirectiveNoFileComp)
	command.Flags().BoolVarP(&l.all, "all-namespaces", "A", false, "list those of all namespaces")
	command.Flags().StringSliceVar(&l.states, "state", nil, "only those in these states, such as running,failed")
	l.out.addFormat(command, "", "format of the output: wide, name, json or yaml; a table by default", "wide", "name", "json", "yaml")
	_ = command.RegisterFlagCompletionFunc("state",
		cobra.FixedCompletions(slices.Concat(statesOf(inspect.Applications), statesOf(inspect.ApacheApplications)), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// statesOf returns the names of a kind's states in the table.
func statesOf(k inspect.Type) []string {
	var names []string
	for _, s := range append([]string{""}, k.States...) {
		names = append(names, inspect.StateName(s))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// known returns the states of the listed kinds. Two families share some state names.
func (l *listing) known() []string {
	if len(l.kinds) == 1 {
		return tables[l.kinds[0]].states
	}
	var all []string
	for _, k := range l.kinds {
		all = append(all, tables[k].states...)
	}
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.CompactFunc(all, strings.EqualFold)
}

// check checks arguments and flags.
func (l *listing) check(args []string) error {
	l.kinds = inspect.Families
	if len(args) > 0 && args[0] != inspect.Applications.Many {
		k, err := inspect.TypeOf(args[0])
		if err != nil {
			at := slices.IndexFunc(inspect.Types(), func(k inspect.Type) bool { return k.Many == args[0] })
			if at < 0 {
				return unlisted(args[0], err)
			}
			k = inspect.Types()[at]
		}
		l.kinds = []inspect.Type{k}
	}
	known := l.known()
	for _, state := range l.states {
		if !slices.ContainsFunc(known, func(s string) bool { return strings.EqualFold(s, state) }) {
			hint := "; the"
			if meant := harmless.DidYouMean(state, known); meant != "" {
				hint = ": " + meant + " The"
			}
			return fmt.Errorf("--state: there is no state %q%s states are %s", state, hint, strings.Join(known, ", "))
		}
	}
	return nil
}

// unlisted returns the error for a type that list does not support. words are additional names of the type.
func unlisted(word string, err error) error {
	var names []string
	for _, k := range inspect.Types() {
		names = append(names, k.Many)
	}
	if hint := harmless.DidYouMean(word, names); hint != "" {
		return fmt.Errorf("there is no type %q here: %s", word, hint)
	}
	return fmt.Errorf("%w; write applications, schedules, servers or clusters", err)
}

func (l *listing) run(ctx context.Context, c *connection, streams genericiooptions.IOStreams, now time.Time) error {
	items, err := l.read(ctx, c)
	if err != nil {
		return err
	}
	switch l.out.format {
	case "json", "yaml":
		objects := make([]map[string]any, 0, len(items))
		for _, o := range items {
			objects = append(objects, o.Object)
		}
		return l.out.print(streams.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	case "name":
		for _, o := range items {
			say(streams.Out, "%s/%s", o.Qualified(), o.GetName())
		}
		return nil
	}
	if len(items) == 0 {
		where := "in namespace " + c.Namespace
		if l.all {
			where = "in any namespace"
		}
		say(streams.ErrOut, "No %s found %s.", l.kinds[0].Many, where)
		return nil
	}
	return l.table(streams.Out, items, now)
}

// wants reports whether objects in this state are listed.
func (l *listing) wants(state string) bool {
	return len(l.states) == 0 || slices.ContainsFunc(l.states, func(s string) bool { return strings.EqualFold(s, state) })
}

// read lists the objects selected by the flags.
func (l *listing) read(ctx context.Context, c *connection) ([]inspect.Object, error) {
	return c.ListObjects(ctx, l.kinds, l.all, func(o inspect.Object) bool { return l.wants(tables[o.Type].state(o.Unstructured)) })
}

// table formats the objects of one kind.
type table struct {
	// header has the columns of the table, and more the additional columns of the wide table.
	header, more []string
	// states lists all states, and state returns the state of an object.
	states []string
	state  func(*unstructured.Unstructured) string
	row    func(o inspect.Object, now time.Time, wide bool) ([]string, error)
}

var (
	header = []string{"NAME", "STATE", "ATTEMPT", "DRIVER", "EXECUTORS", "REASON", "AGE", "DURATION"}
	more   = []string{"SPARK", "SCHEDULER", "QUEUE", "MESSAGE"}
)

var tables = map[inspect.Type]table{
	inspect.Applications: {header: header, more: more, states: statesOf(inspect.Applications),
		state: stateAt("status", "applicationState", "state"), row: row},
	inspect.ApacheApplications: {header: header, more: more, states: statesOf(inspect.ApacheApplications),
		state: stateAt("status", "currentState", "currentStateSummary"), row: row},
	inspect.Schedules: {header: scheduleHeader, more: scheduleMore, states: scheduleStates, state: scheduleState, row: scheduleRow},
	inspect.Servers: {header: serverHeader, more: serverMore, states: append([]string{"NEW"}, inspect.Servers.States...),
		state: stateAt("status", "state"), row: serverRow},
	inspect.Clusters: {header: clusterHeader, more: clusterMore, states: append([]string{"NEW"}, inspect.Clusters.States...),
		state: clusterState, row: clusterRow},
}

func stateAt(path ...string) func(*unstructured.Unstructured) string {
	return func(o *unstructured.Unstructured) string { return inspect.StateName(nested(o.Object, path...)) }
}

func nested(o map[string]any, path ...string) string {
	text, _, _ := unstructured.NestedString(o, path...) // a value that is no string counts as missing
	return text
}

// table prints one line for each object.
func (l *listing) table(out io.Writer, items []inspect.Object, now time.Time) error {
	w := printers.GetNewTabWriter(out)
	wide := l.out.format == "wide"
	columns := tables[l.kinds[0]].header
	if wide {
		columns = slices.Concat(columns, tables[l.kinds[0]].more)
	}
	if l.all {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	say(w, "%s", strings.Join(columns, "\t"))
	for _, item := range items {
		cells, err := tables[item.Type].row(item, now, wide)
		if err != nil {
			return err
		}
		if l.all {
			cells = append([]string{item.GetNamespace()}, cells...)
		}
		say(w, "%s", tableRow(cells))
	}
	return w.Flush()
}

// row returns the line of an application.
func row(o inspect.Object, now time.Time, wide bool) ([]string, error) {
	a, err := o.Load(o.Object, resolve.Operator{}, now)
	if err != nil {
		return nil, err
	}
	record := a.Record
	cause := explain.Cause(record, a.Conditions)
	executors := fmt.Sprintf("%d/%d", record.Counts.Running, a.Desired.Executors)
	if record.State.Final() {
		executors = "-"
	}
	cells := []string{
		a.GetName(), inspect.StateName(a.State), strconv.Itoa(int(record.Attempt)), dash(record.DriverName), executors,
		dash(string(cause.Reason)), duration.HumanDuration(now.Sub(a.GetCreationTimestamp().Time)), dash(ran(record, now)),
	}
	if !wide {
		return cells, nil
	}
	return append(cells, dash(a.App.SparkVersion), dash(a.App.Scheduling.Scheduler), dash(a.App.Scheduling.Queue), dash(firstLine(cause.Message))), nil
}

// ran returns the run time of the last attempt's driver; "" if it did not start.
func ran(r lifecycle.Record, now time.Time) string {
	if len(r.Attempts) == 0 {
		return ""
	}
	a := r.Attempts[len(r.Attempts)-1]
	switch {
	case a.StartedAt.IsZero():
		return ""
	case !a.EndedAt.IsZero():
		now = a.EndedAt
	}
	return duration.HumanDuration(max(0, now.Sub(a.StartedAt)))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
