/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/offline"
)

func newValidate(streams genericiooptions.IOStreams) *cobra.Command {
	var files filenames
	command := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Say what is wrong with an application, and in which line",
		Long: "Say what is wrong with the SparkApplications of a manifest, and in which line: fields that do not exist, values that cannot be,\n" +
			"and everything that the operator would refuse. Other objects are noted and left alone. The exit code is 1 if there are errors.",
		Example: "  kubectl spark validate -f spark-pi.yaml\n\n" +
			"  # what a chart makes of its values\n" +
			"  helm template my-chart | kubectl spark validate -f -",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return validate(files, streams) },
	}
	files.addTo(command)
	return command
}

func validate(files filenames, streams genericiooptions.IOStreams) error {
	registry, err := plugins.Every()
	if err != nil {
		return err
	}
	found := false
	err = files.read(streams, func(name string, documents []manifest.Document) error {
		errors := 0
		for _, finding := range offline.Validate(documents, offline.Cluster{}, registry) {
			_, _ = fmt.Fprintf(streams.Out, "%s:%d: %s: %s\n", name, finding.Line, finding.Severity, finding.Message)
			if finding.Severity == offline.Error {
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
