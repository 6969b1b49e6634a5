// SPDX-License-Identifier: Apache-2.0

package main

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// chunk is how many applications are read at once.
const chunk = 500

// listing is what the flags of list say.
type listing struct {
	kind   kind
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
		Short:   "List applications, with what each of them waits for, or schedules, or servers",
		Long: "List the applications of a namespace, or of all, by name; with the type schedules (or scheduledsparkapp) the schedules, and with servers\n" +
			"(or sparkconn) the Spark Connect servers.\n\n" +
			"EXECUTORS is how many run and how many the application starts with; REASON is why it waits or how it failed; DURATION is how long\n" +
			"the driver of the last attempt has run.\n\n" +
			"Of a schedule, ACTIVE is how many runs have not finished, LAST how long ago the last run was started, and NEXT when the next will be.",
		Example: "  kubectl spark list\n\n" +
			"  # what is not running yet, everywhere, and why\n" +
			"  kubectl spark list -A --state submitted,pending_rerun -o wide\n\n" +
			"  kubectl spark list schedules\n\n" +
			"  kubectl spark list servers -A\n\n" +
			"  # for a program\n" +
			"  kubectl spark list --state failed -o name | xargs kubectl delete",
		Args: cobra.MaximumNArgs(1),
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
	command.ValidArgsFunction = cobra.FixedCompletions([]string{"applications", "schedules", "servers"}, cobra.ShellCompDirectiveNoFileComp)
	command.Flags().BoolVarP(&l.all, "all-namespaces", "A", false, "list those of all namespaces")
	command.Flags().StringSliceVar(&l.states, "state", nil, "only those in these states, such as running,failed")
	l.out.addFormat(command, "", "format of the output: wide, name, json or yaml; a table by default", "wide", "name", "json", "yaml")
	_ = command.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateNames(), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// stateNames are the states as the API and the table call them.
func stateNames() []string {
	var names []string
	for _, s := range lifecycle.States() {
		names = append(names, stateName(kubeflow.SparkApplications{}.Family().States[s]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// stateName makes the state of a new application visible.
func stateName(s string) string {
	if s == "" {
		return "NEW"
	}
	return s
}

// check checks arguments and flags, and brings the states into the form that they are stored in.
func (l *listing) check(args []string) error {
	l.kind = applications
	if len(args) > 0 {
		var err error
		if l.kind, err = kindOf(args[0]); err != nil {
			at := slices.IndexFunc(allKinds(), func(k kind) bool { return k.Many == args[0] })
			if at < 0 {
				return fmt.Errorf("%w; write applications, schedules or servers", err)
			}
			l.kind = allKinds()[at]
		}
	}
	known := tables[l.kind].states
	for i, state := range l.states {
		at := slices.IndexFunc(known, func(s string) bool { return strings.EqualFold(s, state) })
		if at < 0 {
			return fmt.Errorf("--state: there is no state %q; the states are %s", state, strings.Join(known, ", "))
		}
		l.states[i] = known[at]
	}
	if formats := []string{"", "wide", "name", "json", "yaml"}; !slices.Contains(formats, l.out.format) {
		return fmt.Errorf("--output: invalid value %q: must be one of wide, name, json, yaml", l.out.format)
	}
	return nil
}

func (l *listing) run(ctx context.Context, c *connection, streams genericiooptions.IOStreams, now time.Time) error {
	items, err := l.read(ctx, c)
	if err != nil {
		return err
	}
	switch l.out.format {
	case "json", "yaml":
		return l.out.print(streams.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	case "name":
		for _, o := range items {
			say(streams.Out, "%s/%s", l.kind.qualified(), nested(o, "metadata", "name"))
		}
		return nil
	}
	if len(items) == 0 {
		where := "in namespace " + c.namespace
		if l.all {
			where = "in any namespace"
		}
		say(streams.ErrOut, "No %s found %s.", l.kind.Many, where)
		return nil
	}
	return l.table(streams.Out, items, now)
}

// read lists the objects as they are stored, so that programs get all of it, in the order of the API server: by name.
func (l *listing) read(ctx context.Context, c *connection) ([]map[string]any, error) {
	options := &client.ListOptions{Namespace: c.namespace, Limit: chunk}
	if l.all {
		options.Namespace = ""
	}
	items := []map[string]any{}
	for {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(l.kind.object("List"))
		if err := c.List(ctx, &list, options); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			state := tables[l.kind].state(&o)
			if len(l.states) == 0 || slices.Contains(l.states, state) {
				items = append(items, o.Object)
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			break
		}
	}
	slices.SortStableFunc(items, func(a, b map[string]any) int {
		return strings.Compare(nested(a, "metadata", "namespace")+"/"+nested(a, "metadata", "name"), nested(b, "metadata", "namespace")+"/"+nested(b, "metadata", "name"))
	})
	return items, nil
}

// table is how the objects of a kind are listed.
type table struct {
	// header is that of the table, and more what it has in addition when it is wide.
	header, more []string
	// states are all that there are, and state is that of an object.
	states []string
	state  func(*unstructured.Unstructured) string
	row    func(o kinds.Object, now time.Time, wide bool) []string
}

var tables = map[kind]table{
	applications: {
		header: []string{"NAME", "STATE", "ATTEMPT", "DRIVER", "EXECUTORS", "REASON", "AGE", "DURATION"},
		more:   []string{"SPARK", "SCHEDULER", "QUEUE", "MESSAGE"},
		states: stateNames(), state: stateAt("status", "applicationState", "state"), row: rowOf(row),
	},
	schedules: {header: scheduleHeader, more: scheduleMore, states: scheduleStates, state: scheduleState, row: rowOf(scheduleRow)},
	servers:   {header: serverHeader, more: serverMore, states: serverStates, state: stateAt("status", "state"), row: rowOf(serverRow)},
}

func stateAt(path ...string) func(*unstructured.Unstructured) string {
	return func(o *unstructured.Unstructured) string { return stateName(nested(o.Object, path...)) }
}

func rowOf[T kinds.Object](row func(T, time.Time, bool) []string) func(kinds.Object, time.Time, bool) []string {
	return func(o kinds.Object, now time.Time, wide bool) []string { return row(o.(T), now, wide) }
}

func nested(o map[string]any, path ...string) string {
	text, _, _ := unstructured.NestedString(o, path...) // what is no text is not there
	return text
}

// table prints one line for each object.
func (l *listing) table(out io.Writer, items []map[string]any, now time.Time) error {
	w := printers.GetNewTabWriter(out)
	wide := l.out.format == "wide"
	header, more := tables[l.kind].header, tables[l.kind].more
	if wide {
		header = slices.Concat(header, more)
	}
	if l.all {
		header = append([]string{"NAMESPACE"}, header...)
	}
	say(w, "%s", strings.Join(header, "\t"))
	for _, item := range items {
		cells, err := l.cells(item, now, wide)
		if err != nil {
			return err
		}
		if l.all {
			cells = append([]string{nested(item, "metadata", "namespace")}, cells...)
		}
		say(w, "%s", tableRow(cells))
	}
	return w.Flush()
}

// cells are the line of an object.
func (l *listing) cells(item map[string]any, now time.Time, wide bool) ([]string, error) {
	text, err := (&unstructured.Unstructured{Object: item}).MarshalJSON()
	if err != nil {
		return nil, err
	}
	o, _, err := l.kind.Decode(text) // also one whose spec cannot be decoded
	if err != nil {
		return nil, err
	}
	return tables[l.kind].row(o, now, wide), nil
}

// typed decodes an application, also one whose spec cannot be decoded.
func typed(item map[string]any) (*v1beta2.SparkApplication, error) {
	text, err := (&unstructured.Unstructured{Object: item}).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var o v1beta2.SparkApplication
	return &o, o.UnmarshalJSON(text)
}

func row(o *v1beta2.SparkApplication, now time.Time, wide bool) []string {
	app := load(o, resolve.Operator{}, now)
	record := app.Record
	cause := explain.Cause(record, o.Status.Conditions)
	executors := fmt.Sprintf("%d/%d", record.Counts.Running, app.Desired.Executors)
	if record.State.Final() {
		executors = "-"
	}
	cells := []string{
		o.Name, stateName(string(o.Status.AppState.State)), strconv.Itoa(int(record.Attempt)), dash(record.DriverName), executors,
		dash(string(cause.Reason)), duration.HumanDuration(now.Sub(o.CreationTimestamp.Time)), dash(ran(record, now)),
	}
	if !wide {
		return cells
	}
	return append(cells, dash(o.Spec.SparkVersion), dash(app.App.Scheduling.Scheduler), dash(app.App.Scheduling.Queue), dash(firstLine(cause.Message)))
}

// ran is how long the driver of the last attempt has run, or the empty string.
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
