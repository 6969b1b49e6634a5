// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const (
	// codeTimeout is the exit code that distinguishes a timeout from a failure.
	codeTimeout = 2
	// defaultTimeout bounds a wait without --timeout.
	defaultTimeout = time.Hour
)

func newWait(streams genericiooptions.IOStreams) *cobra.Command {
	var wanted string
	var timeout time.Duration
	var clusters cluster
	command := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until an application has completed or reached a state",
		Long: "Wait until an application has completed, and print each change of its state.\n\n" +
			"--for names another goal: submitted (there is a driver pod), running (the driver runs, or has run), or a condition of the status such\n" +
			"as ExecutorsReady or ExecutorsReady=False. A status that is older than the spec does not count.\n\n" +
			"Exit codes: 0 the goal is reached; 1 the application has failed, or ended without reaching the goal, or was deleted (and any\n" +
			"other error); 2 timeout.",
		Example: "  kubectl apply -f spark-pi.yaml && kubectl spark wait spark-pi --timeout 30m && echo done\n\n" +
			"  # until all initial executors are running\n" +
			"  kubectl spark wait spark-pi --for ExecutorsReady",
		Args: arguments(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			target, err := goalOf(wanted)
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return errors.New("--timeout: must be more than 0")
			}
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			return connected.wait(command.Context(), args[0], target, timeout, streams)
		},
	}
	clusters = addCluster(command)
	command.Flags().StringVar(&wanted, "for", "completed", "what to wait for: completed, running, submitted, or a condition as TYPE or TYPE=STATUS")
	command.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "how long to wait")
	_ = command.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]string{"completed", "running", "submitted",
		string(lifecycle.ConditionExecutorsReady), string(lifecycle.ConditionDriverReady), string(lifecycle.ConditionAdmitted)}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// goal reports whether an application has reached the state that the user waits for.
type goal func(inspect.Application) bool

// on returns a goal that any of the states reaches.
func on(states ...lifecycle.State) goal {
	return func(o inspect.Application) bool { return slices.Contains(states, o.Record.State) }
}

func goalOf(text string) (goal, error) {
	switch strings.ToLower(text) {
	case "completed":
		return on(lifecycle.Succeeded), nil
	case "running":
		return on(lifecycle.Running, lifecycle.Succeeding, lifecycle.Succeeded), nil
	case "submitted":
		return on(lifecycle.Submitted, lifecycle.Running, lifecycle.Succeeding, lifecycle.Succeeded), nil
	case "":
		return nil, errors.New("--for: say what to wait for")
	}
	kind, status, given := strings.Cut(strings.TrimPrefix(text, "condition="), "=")
	if !given {
		status = string(metav1.ConditionTrue)
	}
	var types []string
	for _, t := range lifecycle.ConditionTypes() {
		types = append(types, string(t))
	}
	i := slices.IndexFunc(types, func(known string) bool { return strings.EqualFold(known, kind) })
	if i < 0 {
		return nil, fmt.Errorf("--for: %w", notOneOf(kind, append([]string{"completed", "running", "submitted"}, types...)))
	}
	return func(o inspect.Application) bool {
		c := meta.FindStatusCondition(o.Conditions, types[i])
		return c != nil && strings.EqualFold(string(c.Status), status)
	}, nil
}

// wait watches the application until it ends, reaches the goal, or the timeout has passed.
func (c *connection) wait(ctx context.Context, name string, target goal, timeout time.Duration, streams genericiooptions.IOStreams) error {
	first, err := c.FindApplication(ctx, name, "wait")
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	last := ""
	for seen := range changes(timed, c, first.NewList(), client.ObjectKey{Namespace: c.Namespace, Name: first.GetName()}) {
		if seen.err != nil {
			if !seen.again {
				return seen.err
			}
			say(streams.ErrOut, "cluster error, retrying: %v", seen.err)
			continue
		}
		if seen.object == nil {
			return fmt.Errorf("%s was deleted", first.Key())
		}
		o, err := first.LoadWatched(seen.object)
		if err != nil {
			return err
		}
		last = report(streams.Out, o, last)
		if done, err := evaluate(o, target); done {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &exitError{codeTimeout, fmt.Errorf("timed out after %s: %s is %s", timeout, first.Key(), last)}
}

// report prints the state and its reason if they differ from last, and returns them.
func report(w io.Writer, o inspect.Application, last string) string {
	text := describe(o)
	if text != last {
		say(w, "%s  %s", time.Now().UTC().Format(time.RFC3339), text)
	}
	return text
}

// evaluate reports whether the wait is over. The error is set if the application failed.
func evaluate(o inspect.Application, target goal) (bool, error) {
	if g := o.ObservedGeneration; g != 0 && g != o.GetGeneration() {
		return false, nil // the status belongs to an earlier spec
	}
	switch {
	case target(o):
		return true, nil
	case o.Record.State == lifecycle.Failed:
		return true, fmt.Errorf("%s failed: %s", o.Key(), dash(o.Record.Cause.Message))
	case o.Record.State == lifecycle.Succeeded:
		return true, fmt.Errorf("%s has completed without reaching the goal", o.Key())
	}
	return false, nil
}

// describe returns the state and its reason.
func describe(a inspect.Application) string {
	text := inspect.StateName(a.State)
	if c := explain.Cause(a.Record, a.Conditions); c.Reason != "" {
		text += " (" + string(c.Reason) + ": " + firstLine(c.Message) + ")"
	}
	return text
}
