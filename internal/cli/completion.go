// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// completer is the program that kubectl runs to complete the arguments of a plugin.
const completer = `#!/bin/sh
# kubectl 1.26 and newer complete "kubectl spark" with this, if it is executable and on the PATH as kubectl_complete-spark.
exec kubectl spark __complete "$@"
`

// newCompleter returns the command that prints completer. Cobra's completion commands complete only the program name kubectl-spark.
func newCompleter(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl",
		Short: "Print the completion program of kubectl spark, for every shell",
		Long: "Print the completion program of kubectl spark. Save it on the PATH as the executable kubectl_complete-spark; the " +
			"completion of kubectl itself must be enabled. It works in every shell, with kubectl 1.26 and newer.",
		Example: "  kubectl spark completion kubectl > ~/.local/bin/kubectl_complete-spark\n" +
			"  chmod +x ~/.local/bin/kubectl_complete-spark",
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(streams.Out, completer)
			return err
		},
	}
}
