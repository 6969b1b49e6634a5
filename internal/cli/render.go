// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// render is the command that prints the objects that the operator would create.
type render struct {
	genericiooptions.IOStreams
	files      filenames
	output     output
	config     inspect.Configuration
	namespace  string
	uid        string
	submitTime string
}

func newRender(streams genericiooptions.IOStreams) *cobra.Command {
	r := &render{IOStreams: streams}
	command := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Print the objects that the operator would create",
		Long: "Print the objects that the operator would create for the first attempt of each SparkApplication and SparkConnect, in its order, and for\n" +
			"each ScheduledSparkApplication its next run with its objects. --submit-time sets the present time.\n\n" +
			"Their names depend on the application's UID, which only a cluster gives. Without --uid, and without a UID in the manifest,\n" +
			"it is " + string(kinds.DefaultUID) + ". What would not run is refused with the operator's message and exit code 1.\n\n" +
			"The objects also depend on the operator's configuration: its policies, its default scheduler and the URLs of\n" +
			"Spark's UI. --config applies it.",
		Example: "  # all objects that spark-pi.yaml creates\n" +
			"  kubectl spark render -f spark-pi.yaml\n\n" +
			"  # the size of the driver of an application in the cluster\n" +
			"  kubectl get sparkapplications.sparkoperator.k8s.io pi -o yaml |\n" +
			"      kubectl spark render -f - -o json |\n" +
			"      jq '.items[] | select(.kind == \"Pod\") | .spec.containers[].resources'",
		RunE: func(command *cobra.Command, _ []string) error { return r.run(command.Flags().Changed("submit-time")) },
	}
	r.files.addTo(command)
	r.output.addTo(command)
	configurationFlag(&r.config, command)
	command.Flags().StringVarP(&r.namespace, "namespace", "n", kinds.DefaultNamespace, "namespace of manifests that name none")
	command.Flags().StringVar(&r.uid, "uid", "", "UID of the application")
	command.Flags().StringVar(&r.submitTime, "submit-time", kinds.DefaultSubmitTime.Format(time.RFC3339), "time of the submission")
	return command
}

func (r *render) run(timed bool) error {
	at, err := time.Parse(time.RFC3339, r.submitTime)
	if err != nil {
		return fmt.Errorf("--submit-time: %q: not a time; write it as 2006-01-02T15:04:05Z", r.submitTime)
	}
	operator, known, err := r.config.Operator()
	if err != nil {
		return err
	}
	if !known {
		r.say("without --config, %s", inspect.NotConsidered)
	}
	assumed := kinds.Assumed{Namespace: r.namespace, UID: types.UID(r.uid), SubmitTime: at, Now: at}
	if !timed {
		assumed.Now = time.Now()
	}
	var objects []any
	err = r.files.read(r.IOStreams, func(name string, documents []manifest.Document) error {
		for i := range documents {
			created, err := r.document(name, &documents[i], assumed, operator)
			if err != nil {
				return err
			}
			objects = append(objects, created...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.output.print(r.Out, objects...)
}

// document returns the objects of one document. It reports the same errors and warnings as validate.
func (r *render) document(name string, d *manifest.Document, assumed kinds.Assumed, operator resolve.Operator) ([]any, error) {
	errors := 0
	for _, finding := range manifest.Check([]manifest.Document{*d}, assumed, operator) {
		if d.Row == nil && finding.Severity == manifest.Note {
			r.say("%s:%d: %s: not rendered, it is neither a %s", name, d.Line, d.Title(), kindNames(" nor a "))
			return nil, nil
		}
		r.say("%s:%d: %s: %s", name, finding.Line, finding.Severity, finding.Message)
		if finding.Severity == manifest.Error {
			errors++
		}
	}
	if errors > 0 {
		return nil, fmt.Errorf("%s:%d: %s is not rendered: errors: %d", name, d.Line, d.Title(), errors)
	}
	var objects []any
	forecast := d.DryRun(assumed, operator)
	if forecast.Creates != nil {
		objects = append(objects, forecast.Creates)
	}
	created, err := forecast.Objects()
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, d.Line, err)
	}
	for _, object := range created {
		objects = append(objects, object)
	}
	return objects, nil
}

// say writes to standard error, so that the output can be piped.
func (r *render) say(format string, args ...any) {
	say(r.ErrOut, format, args...)
}
