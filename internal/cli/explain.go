// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
)

func newExplain(streams genericiooptions.IOStreams) *cobra.Command {
	out := output{}
	var clusters cluster
	var operators inspect.Installation
	command := &cobra.Command{
		Use:   "explain [TYPE/]NAME",
		Short: "Explain the state and the next step of an application, schedule, server or cluster",
		Long: "Explain an application, a schedule, a Spark Connect server or a standalone cluster: its state, the operator's decision and its\n" +
			"evidence, the next events with their times, and what you can do. " + withoutType + "\n\n" +
			"The operator's code runs on this machine and reads the current state of the cluster, so the answer does not depend on\n" +
			"a running operator or a current status. The answer of a cluster's scheduler is read from the status.\n" +
			"Nothing is changed.",
		Example: "  kubectl spark explain spark-pi -n jobs\n\n" +
			"  # when a schedule starts its next run, or why it does not\n" +
			"  kubectl spark explain scheduledsparkapp/nightly\n\n" +
			"  # whether a server drains, or when it is stopped because it is idle\n" +
			"  kubectl spark explain sparkconn/notebooks\n\n" +
			"  # what a cluster waits for, and which of its pods do\n" +
			"  kubectl spark explain sparkcluster/lab\n\n" +
			"  # for a program\n" +
			"  kubectl spark explain spark-pi -o json | jq .decision.sentence",
		Args: arguments(1, 2), // also accepts TYPE NAME
		RunE: func(command *cobra.Command, args []string) error {
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			report, err := connected.Explain(command.Context(), strings.Join(args, "/"), operators, time.Now())
			if err != nil {
				return err
			}
			if out.format != "" {
				return out.print(streams.Out, report)
			}
			_, err = fmt.Fprint(streams.Out, report.Text())
			return err
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = clusters.completeObjects(inspect.Types()...)
	operatorFlags(&operators, command)
	out.addFormat(command, "", "format of the output: json or yaml; text for people by default", "json", "yaml")
	return command
}
