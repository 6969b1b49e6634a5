// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
)

func newConvert(streams genericiooptions.IOStreams) *cobra.Command {
	var out output
	var version string
	command := &cobra.Command{
		Use:   "convert -- spark-submit ARGUMENTS",
		Short: "Convert a command line of spark-submit to a manifest",
		Long: "Convert a command line of spark-submit to a SparkApplication.\n\n" +
			"Properties files, pod templates and variables are read on this machine, as spark-submit would. Standard error names\n" +
			"what a manifest cannot express, such as files of this machine.",
		Example: "  kubectl spark convert -- spark-submit --master k8s://https://example:6443 --deploy-mode cluster \\\n" +
			"      --class org.apache.spark.examples.SparkPi \\\n" +
			"      --conf spark.kubernetes.container.image=apache/spark:4.1.0 \\\n" +
			"      local:///opt/spark/examples/jars/spark-examples.jar 1000 > spark-pi.yaml",
		Args: arguments(1, math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error {
			if name := filepath.Base(args[0]); name == "spark-submit" || name == "spark-submit.cmd" {
				args = args[1:]
			}
			return convert(args, version, &out, streams)
		},
	}
	// All arguments after the first belong to spark-submit, even without a "--".
	command.Flags().SetInterspersed(false)
	out.addTo(command)
	command.Flags().StringVar(&version, "spark-version", "", "Spark version in the image, if the image's tag does not name it")
	return command
}

func convert(argv []string, version string, out *output, streams genericiooptions.IOStreams) error {
	machine, err := thisMachine()
	if err != nil {
		return err
	}
	input := sparksubmit.Input{Argv: argv, Machine: machine, SparkVersion: version}
	if err := readWanted(input); err != nil {
		return err
	}
	app, findings, err := sparksubmit.Convert(input)
	if err != nil {
		return err
	}
	for _, finding := range findings {
		kind := "note"
		if finding.Lost {
			kind = "not carried over"
		}
		say(streams.ErrOut, "%s: %s", kind, finding)
	}
	return out.print(streams.Out, app)
}

// thisMachine returns the environment that spark-submit would have on this machine.
func thisMachine() (commandline.Machine, error) {
	dir, err := os.Getwd()
	if err != nil {
		return commandline.Machine{}, err
	}
	machine := commandline.Machine{Env: map[string]string{}, Files: map[string][]byte{}, Dir: dir}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		machine.Env[name] = value
	}
	return machine, nil
}

// readWanted reads the files that the conversion needs. A properties file may name further files, so it repeats until it has all.
func readWanted(input sparksubmit.Input) error {
	for _, dir := range sparksubmit.Directories(input.Machine) {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			if entry.Type().IsRegular() {
				if err := readInto(input.Machine, filepath.Join(dir, entry.Name())); err != nil {
					return err
				}
			}
		}
	}
	for read := -1; read != len(input.Machine.Files); {
		read = len(input.Machine.Files)
		wanted, err := sparksubmit.Wanted(input)
		if err != nil {
			return err
		}
		for _, name := range wanted {
			if err := readInto(input.Machine, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readInto reads a file if it exists.
func readInto(machine commandline.Machine, name string) error {
	if _, known := machine.Files[name]; known {
		return nil
	}
	content, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the conversion reports which argument names the missing file
	}
	if err != nil {
		return err
	}
	machine.Files[name] = content
	return nil
}
