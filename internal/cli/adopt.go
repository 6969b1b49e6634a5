// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// adoption holds the flags of adopt.
type adoption struct {
	name string
	dry  dryRun
	out  output
}

func newAdopt(streams genericiooptions.IOStreams) *cobra.Command {
	var a adoption
	var clusters cluster
	command := &cobra.Command{
		Use:   "adopt DRIVER",
		Short: "Let an application follow a driver that spark-submit started",
		Long: "Make a SparkApplication of a driver pod that spark-submit started in cluster mode, and let it follow that driver to its end. The driver\n" +
			"is not restarted.\n\n" +
			"The driver and its executors get the application's labels, and the driver its owner reference: who deletes the application deletes the\n" +
			"driver. spec.restartPolicy is Never. Standard error names what the next driver, after an edit or a rerun, will lack.\n\n" +
			"Repeat the command after an interruption, and later to label new executors.",
		Example: "  kubectl spark adopt etl-7d0f2c9b1a3e4f56-driver && kubectl spark wait etl\n\n" +
			"  # the manifest only\n" +
			"  kubectl spark adopt etl-7d0f2c9b1a3e4f56-driver --dry-run=client -o yaml",
		Args: arguments(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := a.checkName(); err != nil {
				return err
			}
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			return a.run(command.Context(), connected, args[0], streams)
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.Flags().StringVar(&a.name, "name", "", "name of the application; default: spark.app.name of the driver")
	a.out.flags.ShowManagedFields = true
	a.out.addFormat(command, "", "print the application instead: yaml or json", "yaml", "json")
	a.dry.addTo(command)
	return command
}

func (a *adoption) checkName() error {
	if problems := validation.IsDNS1123Label(a.name); a.name != "" && len(problems) > 0 {
		return fmt.Errorf("--name: %q: %s", a.name, problems[0])
	}
	return nil
}

// run finds or creates the driver's application, and labels the pods. Each of its steps can be repeated.
func (a *adoption) run(ctx context.Context, c *connection, name string, streams genericiooptions.IOStreams) error {
	pod, err := c.driverPod(ctx, name)
	if err != nil {
		return err
	}
	app, findings, err := c.follower(ctx, pod, a.name)
	if err != nil {
		return err
	}
	created := app.GetUID() == ""
	if created {
		if app, err = c.createApplication(ctx, app, a.dry); err != nil {
			return err
		}
	}
	var marked int
	if app.GetUID() != "" {
		loaded := inspect.Applications.Read(app, resolve.Operator{}, time.Now()).Application
		if marked, err = c.markExecutors(ctx, pod, loaded, a.dry); err != nil { // executors first: a user who can read the driver can then read its executors, too
			return err
		}
		if err := c.markDriver(ctx, pod, loaded, a.dry); err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, inspect.ForPeople(err))
		}
	}
	if err := a.report(app, pod, created, marked, streams); err != nil {
		return err
	}
	for _, f := range findings {
		if f.Lost {
			say(streams.ErrOut, "not in the application: %s", f)
		}
	}
	return nil
}

// createApplication creates an application without a status, and returns the stored object.
func (c *connection) createApplication(ctx context.Context, app kinds.Object, dry dryRun) (kinds.Object, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
	if err != nil || dry == dryRunClient {
		return app, err
	}
	delete(fields, "status")
	o := &unstructured.Unstructured{Object: fields}
	if err := c.create(ctx, o, dry); err != nil {
		return nil, err
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	stored, _, err := inspect.Applications.Decode(text)
	return stored, err
}

// report prints the changed objects as kubectl does.
func (a *adoption) report(app kinds.Object, pod *corev1.Pod, created bool, marked int, streams genericiooptions.IOStreams) error {
	if a.out.format != "" {
		return a.out.print(streams.Out, app)
	}
	if created {
		say(streams.Out, "%s/%s created%s", inspect.Applications.Qualified(), app.GetName(), a.dry.suffix())
	}
	suffix := a.dry.suffix()
	if metav1.GetControllerOfNoCopy(pod) != nil {
		suffix = " (no change)" + suffix
	}
	say(streams.Out, "pod/%s adopted%s", pod.Name, suffix)
	if a.dry == dryRunNone {
		say(streams.ErrOut, "%s: %s labeled; repeat this command later to count new executors",
			app.GetName(), counted(marked, "executor was", "executors were"))
	}
	return nil
}

// driverPod reads a driver pod, and returns an error if the driver cannot be adopted.
func (c *connection) driverPod(ctx context.Context, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &pod)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no pod %q in namespace %s; kubectl get pods -n %s -l spark-role=driver shows the drivers", name, c.Namespace, c.Namespace)
	}
	if err != nil {
		return nil, err
	}
	properties, _ := sparksubmit.ConfigMapsOf(&pod)
	switch {
	case pod.DeletionTimestamp != nil:
		return nil, fmt.Errorf("pod %s is being deleted", name)
	case !sparksubmit.IsDriver(&pod) || properties == "":
		return nil, fmt.Errorf("pod %s is no driver of spark-submit with --deploy-mode cluster: "+
			"a driver in client mode cannot be adopted, because the cluster does not contain its command line", name)
	case sparksubmit.Ended(&pod):
		return nil, fmt.Errorf("the driver in pod %s has ended: it cannot be adopted", name)
	}
	return &pod, nil
}

// follower returns the application of the driver: the stored one, or else a new one without a UID, which is to be created.
func (c *connection) follower(ctx context.Context, pod *corev1.Pod, name string) (kinds.Object, []sparksubmit.Finding, error) {
	owner, err := ownerOf(pod)
	if err != nil {
		return nil, nil, err
	}
	var made kinds.Object
	var findings []sparksubmit.Finding
	wanted := owner
	if owner == "" {
		if made, findings, err = c.applicationOf(ctx, pod, name); err != nil {
			return nil, nil, err
		}
		wanted = made.GetName()
	}
	stored := inspect.Applications.New()
	err = c.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: wanted}, stored)
	switch {
	case apierrors.IsNotFound(err) && owner == "":
		return made, findings, nil
	case err != nil:
		return nil, nil, err
	}
	found := inspect.Applications.Read(stored, resolve.Operator{}, time.Now())
	follows := found.Desired.Adopts == pod.Name
	switch {
	case owner != "" && (!follows || name != "" && name != owner):
		return nil, nil, fmt.Errorf("pod %s is the driver of SparkApplication %s already", pod.Name, owner)
	case owner == "" && (!follows || !found.Record.NeverRan() || stored.GetDeletionTimestamp() != nil):
		return nil, nil, fmt.Errorf("there is a SparkApplication %s for another driver than pod %s; choose another name with --name", wanted, pod.Name)
	}
	stored.GetObjectKind().SetGroupVersionKind(inspect.Applications.ObjectKind("")) // a typed client drops it
	return stored, findings, nil
}

// ownerOf returns the name of the application that owns a pod; "" if no object owns it. If another object owns it, the error names that object.
func ownerOf(pod *corev1.Pod) (string, error) {
	for _, o := range pod.OwnerReferences {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		switch {
		case o.Controller == nil || !*o.Controller:
		case group == inspect.Applications.Group && o.Kind == inspect.Applications.Kind:
			return o.Name, nil
		default:
			return "", fmt.Errorf("pod %s belongs to %s %s, which controls it", pod.Name, o.Kind, o.Name)
		}
	}
	label := inspect.Applications.Family.Labels.App
	if app := pod.Labels[label]; app != "" {
		return "", fmt.Errorf("pod %s was created by an operator for SparkApplication %s, as its label %s says", pod.Name, app, label)
	}
	return "", nil
}

// applicationOf creates an application for the driver.
func (c *connection) applicationOf(ctx context.Context, pod *corev1.Pod, name string) (kinds.Object, []sparksubmit.Finding, error) {
	d := sparksubmit.Driver{Pod: pod, Name: name}
	properties, template := sparksubmit.ConfigMapsOf(pod)
	for _, m := range []struct {
		name string
		into *map[string]string
	}{{properties, &d.Properties}, {template, &d.Template}} {
		if m.name == "" {
			continue
		}
		var found corev1.ConfigMap
		if err := c.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: m.name}, &found); err != nil {
			return nil, nil, err
		}
		*m.into = found.Data
	}
	app, findings, err := sparksubmit.FromDriver(d)
	if err != nil {
		err = fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	return &app, findings, err
}
