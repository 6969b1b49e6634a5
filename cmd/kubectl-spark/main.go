// SPDX-License-Identifier: Apache-2.0

// Command kubectl-spark is a plugin of kubectl. It shows what the operator would report and create, without a cluster, and the
// state of applications and schedules in a cluster.
package main

import (
	"os"
	_ "time/tzdata" // time zones of schedules, for machines without them

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
