// SPDX-License-Identifier: Apache-2.0

// Command kubectl-spark is a plugin of kubectl. Without a cluster it shows what the operator would report and create. In a cluster it shows the state of
// applications and schedules.
package main

import (
	"os"
	_ "time/tzdata" // the machine may have no time zones

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
