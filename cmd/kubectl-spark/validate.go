// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/manifest"
)

func newValidate(streams genericiooptions.IOStreams) *cobra.Command {
	var files filenames
	var config configured
	var namespace string
	command := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Say what is wrong with an application, and in which line",
		Long: "Say what is wrong with the SparkApplications of a manifest, and in which line: fields that do not exist, invalid values,\n" +
			"and everything that the operator would refuse; with --config also what its policies forbid. Other objects are noted and left alone. The exit code is 1 if there are errors.",
		Example: "  kubectl spark validate -f spark-pi.yaml\n\n" +
			"  # with the policies of the operator, whose configuration is in operator.yaml\n" +
			"  kubectl spark validate -f spark-pi.yaml -n team-a --config operator.yaml\n\n" +
			"  # what a chart makes of its values\n" +
			"  helm template my-chart | kubectl spark validate -f -",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return validate(files, config, namespace, streams) },
	}
	files.addTo(command)
	config.addTo(command)
	command.Flags().StringVarP(&namespace, "namespace", "n", manifest.DefaultNamespace, "namespace of manifests that name none")
	return command
}

func validate(files filenames, config configured, namespace string, streams genericiooptions.IOStreams) error {
	operator, known, err := config.operator()
	if err != nil {
		return err
	}
	if !known {
		say(streams.ErrOut, "without --config, %s", notConsidered)
	}
	found := false
	err = files.read(streams, func(name string, documents []manifest.Document) error {
		errors := 0
		for _, finding := range manifest.Judge(documents, manifest.Assumed{Namespace: namespace}, operator) {
			_, _ = fmt.Fprintf(streams.Out, "%s:%d: %s: %s\n", name, finding.Line, finding.Severity, finding.Message)
			if finding.Severity == manifest.Error {
				errors++
			}
		}
		applications := 0
		for _, document := range documents {
			if document.Application != nil {
				applications++
			}
		}
		_, _ = fmt.Fprintf(streams.Out, "%s: applications checked: %d, errors: %d\n", name, applications, errors)
		found = found || errors > 0
		return nil
	})
	if err == nil && found {
		err = errFound
	}
	return err
}
