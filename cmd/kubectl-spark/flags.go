// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/inspect"
)

const operatorDeployment = "spark-operator/spark-operator-controller"

// configurationFlag is the flag for the operator's configuration file.
func configurationFlag(c *inspect.Configuration, command *cobra.Command) {
	c.Plugins = inspect.Plugins{Every: plugins.Every, Configured: plugins.Registry}
	command.Flags().StringVar(&c.File, "config", "", "the operator's configuration file: its policies, schedulers and URL formats")
	_ = command.MarkFlagFilename("config", "yaml", "yml")
}

// operatorFlags are the flags for the operator of a cluster.
func operatorFlags(i *inspect.Installation, command *cobra.Command) {
	configurationFlag(&i.Configuration, command)
	command.Flags().StringVar(&i.Deployment, "operator", operatorDeployment,
		"namespace/name of the operator's Deployment, whose configuration is read if --config names none")
}
