/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Command kubectl-spark is a plugin of kubectl: what the operator would say and create, without a cluster.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

func main() {
	os.Exit(run(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}

// errFound ends a command that has said everything already.
var errFound = errors.New("errors were found")

// run returns the exit code.
func run(args []string, streams genericiooptions.IOStreams) int {
	command := newCommand(streams)
	command.SetArgs(args)
	command.SetIn(streams.In)
	command.SetOut(streams.Out)
	command.SetErr(streams.ErrOut)
	if err := command.Execute(); err != nil {
		if !errors.Is(err, errFound) {
			_, _ = fmt.Fprintln(streams.ErrOut, "error:", err)
		}
		return 1
	}
	return 0
}

func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	command := &cobra.Command{
		Use:   "kubectl-spark",
		Short: "Look at Spark applications the way the operator does, without a cluster",
		Long: "Look at Spark applications the way the operator does, without a cluster.\n\n" +
			"All of it runs on this machine with the operator's own code; nothing is sent anywhere.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl spark"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	command.AddCommand(newRender(streams), newValidate(streams), newConvert(streams), newVersion(streams))
	return command
}

// schedulers is the list of plugins whose word can be had without a cluster.
func schedulers() (*scheduler.Registry, error) {
	return scheduler.NewRegistry(kube.Name, kube.Plugin{})
}
