// SPDX-License-Identifier: Apache-2.0

// Package cli has the commands of kubectl-spark, one in each file. Some commands work without a cluster and print what the operator would report and create.
// The others show and change objects of a cluster. write.go contains all writes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/version"
)

// errFound ends a command that has already printed the errors that it found.
var errFound = errors.New("errors were found")

// codeInterrupted is the conventional exit code of a program ended by SIGINT.
const codeInterrupted = 130

// Run runs a command line, without the program's name, and returns the exit code.
func Run(args []string, streams genericiooptions.IOStreams) int {
	command := newCommand(streams)
	command.SetArgs(behindExec(args))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	called, err := command.ExecuteContextC(ctx)
	err = meant(called, err)
	child, isChild := errors.AsType[childError](err)
	switch exit, own := errors.AsType[*exitError](err); {
	case err == nil:
		return 0
	case isChild:
		return int(child)
	case ctx.Err() != nil:
		return codeInterrupted
	case errors.Is(err, errFound):
		return 1
	case own:
		say(streams.ErrOut, "error: %v", exit)
		return exit.code
	}
	say(streams.ErrOut, "error: %v", inspect.ForPeople(err))
	return 1
}

func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	command := &cobra.Command{
		Use:   "kubectl-spark",
		Short: "Inspect Spark applications the way the operator does",
		Long: "Inspect Spark applications the way the operator does, with the operator's own code:\n\n" +
			"  kubectl spark explain pi    # the state of the application pi, the next step and why\n\n" +
			"convert, render and validate work on manifests and need no cluster. check, explain, list, logs, queue, ui and wait read the cluster that\n" +
			"kubectl would use, and change nothing. suspend, resume, rerun, trigger, delete and adopt change objects, with your own permissions;\n" +
			"connect wakes a Spark Connect server that was stopped because it was idle.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl spark"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(newRender(streams), newValidate(streams), newConvert(streams), newVersion(streams), newCheck(streams),
		newConnect(streams), newExplain(streams), newList(streams), newLogs(streams), newQueue(streams), newUI(streams), newWait(streams),
		newSuspend(streams), newResume(streams), newRerun(streams), newTrigger(streams), newDelete(streams), newAdopt(streams), newOptions(streams))
	command.SetIn(streams.In)
	command.SetOut(streams.Out)
	command.SetErr(streams.ErrOut)
	command.SetUsageFunc(usage)
	command.SetHelpFunc(help)
	answerMistakes(command, streams)
	group(command)
	return command
}

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the supported Spark releases",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(streams.Out, "kubectl-spark %s, for Spark %s\n", version.String(), strings.Join(spark.SupportedVersions(), ", "))
			return err
		},
	}
}

// arguments checks the number of arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		usage := command.Parent().CommandPath() + " " + command.Use
		switch {
		case len(args) < least:
			return fmt.Errorf("an argument is missing; write %s", usage)
		case len(args) > most:
			return fmt.Errorf("%q is an argument too many; write %s", args[most], usage)
		}
		return nil
	}
}

// exitError ends the program with a specific code.
type exitError struct {
	code int
	err  error
}

// Error returns the message of the wrapped error.
func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }
