// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/manifest"
)

func newValidate(streams genericiooptions.IOStreams) *cobra.Command {
	var files filenames
	var config inspect.Configuration
	var namespace string
	command := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check manifests, and print errors with their lines",
		Long: "Check the SparkApplications, ScheduledSparkApplications, SparkConnects and SparkClusters of a\n" +
			"manifest, and print each error with its line: unknown fields, invalid values, and everything that the operator would\n" +
			"refuse; with --config also violations of its policies. The next runs of a valid schedule are noted. Other objects are\n" +
			"noted and left alone. The exit code is 1 if there are errors.",
		Example: "  kubectl spark validate -f spark-pi.yaml\n\n" +
			"  # with the policies of the operator, whose configuration is in operator.yaml\n" +
			"  kubectl spark validate -f spark-pi.yaml -n team-a --config operator.yaml\n\n" +
			"  # the manifests that a chart renders\n" +
			"  helm template my-chart | kubectl spark validate -f -",
		RunE: func(*cobra.Command, []string) error { return validate(files, config, namespace, streams) },
	}
	files.addTo(command)
	configurationFlag(&config, command)
	command.Flags().StringVarP(&namespace, "namespace", "n", kinds.DefaultNamespace, "namespace of manifests that name none")
	return command
}

func validate(files filenames, config inspect.Configuration, namespace string, streams genericiooptions.IOStreams) error {
	operator, known, err := config.Operator()
	if err != nil {
		return err
	}
	if !known {
		say(streams.ErrOut, "without --config, %s", inspect.NotConsidered)
	}
	found, all := false, 0
	err = files.read(streams, func(name string, documents []manifest.Document) error {
		errors := 0
		for _, finding := range manifest.Check(documents, kinds.Assumed{Namespace: namespace, Now: time.Now()}, operator) {
			say(streams.Out, "%s:%d: %s: %s", name, finding.Line, finding.Severity, finding.Message)
			if finding.Severity == manifest.Error {
				errors++
			}
		}
		checked, n := countChecked(documents)
		say(streams.Out, "%s: %s, errors: %d", name, checked, errors)
		found, all = found || errors > 0, all+n
		return nil
	})
	switch {
	case err == nil && found:
		return errFound
	case err == nil && all == 0:
		return fmt.Errorf("%s: nothing was checked: there is no %s", strings.Join(files, ", "), kindNames(" or "))
	}
	return err
}

// countChecked returns a text with the number of checked documents of each kind, and their total.
func countChecked(documents []manifest.Document) (said string, all int) {
	var counts []string
	for _, row := range kinds.All() {
		n := 0
		for j := range documents {
			if documents[j].Row == row {
				n++
			}
		}
		if all += n; n > 0 {
			counts = append(counts, fmt.Sprintf("%s checked: %d", row.Many, n))
		}
	}
	if all == 0 {
		counts = []string{kinds.All()[0].Many + " checked: 0"}
	}
	return strings.Join(counts, ", "), all
}

// kindNames lists the operator's kinds with their groups, because other groups have kinds of the same names.
func kindNames(separator string) string {
	var said, names []string
	all := kinds.All()
	for i, row := range all {
		names = append(names, row.Kind)
		if i+1 == len(all) || all[i+1].Group != row.Group {
			said, names = append(said, strings.Join(names, separator)+" of "+row.Group), nil
		}
	}
	return strings.Join(said, separator)
}
