// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/version"
)

func newCheck(streams genericiooptions.IOStreams) *cobra.Command {
	out := output{}
	var clusters cluster
	var operators inspect.Installation
	command := &cobra.Command{
		Use:   "check",
		Short: "Check whether the operator serves a namespace, what is wrong, and who can fix it",
		Long: "Say whether applications of a namespace can run: whether there is an operator, and one that fits this plugin; whether its definitions\n" +
			"are current; whether it works in the namespace; which service account of drivers may create pods; which schedulers are enabled and\n" +
			"installed; what is left of the quotas; which policies hold; and whether the webhook answers.\n\n" +
			"Each line is ok, wrong or unknown. A wrong line says what to do, and who can do it. A line is unknown if you may not read the object: it does not count\n" +
			"as wrong, and the line describes the correct state. Nothing is changed.\n\n" +
			"The exit code is 0 if nothing is wrong, and 1 if something is or the cluster does not answer.",
		Example: "  kubectl spark check -n jobs\n\n" +
			"  # in CI: what is wrong\n" +
			"  kubectl spark check -o json | jq -r '.checks[] | select(.status == \"wrong\") | .message'",
		Args: arguments(0, 0),
		RunE: func(command *cobra.Command, _ []string) error {
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			report, err := connected.Check(command.Context(), operators, version.String())
			if err != nil {
				return err
			}
			if out.format != "" {
				err = out.print(streams.Out, report)
			} else {
				_, err = fmt.Fprint(streams.Out, report.Text())
			}
			if err == nil && report.Wrong() > 0 {
				return errFound
			}
			return err
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	operatorFlags(&operators, command)
	out.addFormat(command, "", "format of the output: json or yaml; lines for people by default", "json", "yaml")
	return command
}
