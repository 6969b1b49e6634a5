// SPDX-License-Identifier: Apache-2.0

// Command kubectl-spark is a plugin of kubectl: what the operator would say and create, without a cluster, and how
// applications and schedules of a cluster stand.
package main

import (
	"os"
	_ "time/tzdata" // time zones of schedules, also where the machine has none

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
