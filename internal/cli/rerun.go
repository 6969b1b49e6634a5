// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
)

func newRerun(streams genericiooptions.IOStreams) *cobra.Command {
	return newVerb(&cobra.Command{
		Use:   "rerun [TYPE/]NAME...",
		Short: "Run applications again, or replace servers",
		Long: "Run applications again, as an edit does: a running driver is stopped, and a new attempt begins with full retry budgets.\n" +
			"A Spark Connect server is replaced at once, without waiting for its sessions; an idle one that was stopped starts.\n\n" +
			"The annotation " + inspect.Applications.Family.RerunAt + " is set to the present time. A later time runs it again,\n" +
			"so the annotation can be written by kubectl, too, or in Git.\n\n" + withoutType,
		Example: "  kubectl spark rerun spark-pi && kubectl spark wait spark-pi\n\n" +
			"  # the same without this program\n" +
			"  kubectl annotate sparkapplications.sparkoperator.k8s.io spark-pi --overwrite \\\n" +
			"      " + inspect.Applications.Family.RerunAt + "=$(date -u +%Y-%m-%dT%H:%M:%SZ)",
	}, verb{
		past: "rerun", kinds: []inspect.Type{inspect.Applications, inspect.Servers},
		wrong: func(k inspect.Type) string {
			switch k {
			case inspect.ApacheApplications:
				return appliedAgain
			case inspect.Clusters:
				return startedAgain
			}
			return "kubectl spark trigger NAME starts a run of it"
		},
		do: func(ctx context.Context, c *connection, o inspect.Object, dry dryRun, now time.Time) (bool, []string, error) {
			var notes []string
			if suspended(o.Unstructured) {
				notes = append(notes, "it is suspended, and runs after kubectl spark resume "+o.Plain())
			}
			return true, notes, c.setTime(ctx, o, o.Family.RerunAt, laterThan(o, o.Family.RerunAt, now), dry)
		},
	}, streams)
}

// appliedAgain says how to run an application again in a family that does not support rerun.
const appliedAgain = "it runs again when it is deleted and applied again"

// startedAgain says how to start a cluster again.
const startedAgain = "it starts again after kubectl spark suspend NAME and kubectl spark resume NAME"

// laterThan returns the current time, or one second after the annotation's time if that is later. Clocks of machines differ, and two requests within one
// second need different times.
func laterThan(o inspect.Object, annotation string, now time.Time) time.Time {
	now = now.Truncate(time.Second)
	before, err := time.Parse(time.RFC3339, o.GetAnnotations()[annotation])
	if err == nil && !now.After(before) {
		return before.Truncate(time.Second).Add(time.Second)
	}
	return now
}
