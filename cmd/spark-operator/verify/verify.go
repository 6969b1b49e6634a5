// SPDX-License-Identifier: Apache-2.0

// Package verify implements `helm test`: it creates one application from a manifest, as a user would, and waits for its end.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

const (
	pollPeriod  = time.Second
	cleanupTime = 30 * time.Second
	// logLines is how many lines of the driver's log are shown: the application's output, and the stack traces that Spark may write at its end.
	logLines = 100
)

// Command returns the command that creates the application of a manifest, prints its progress, waits for its end, and deletes it. It fails if the application
// fails.
func Command() *cobra.Command {
	var file string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "verify", Short: "Run one application to its end, as helm test does", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return verify(ctx, file, cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&file, "file", "", "manifest of a SparkApplication")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long it may take")
	return c
}

func verify(ctx context.Context, file string, out io.Writer) error {
	row, app, err := read(file)
	if err != nil {
		return err
	}
	kubeconfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := row.AddToScheme(scheme); err != nil {
		return err
	}
	applications, err := client.New(kubeconfig, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	pods, err := kubernetes.NewForConfig(kubeconfig)
	if err != nil {
		return fmt.Errorf("create client for logs: %w", err)
	}
	log := func(ctx context.Context, driver string) (string, error) {
		return driverLog(ctx, pods, app.GetNamespace(), driver)
	}
	return test{client: applications, row: row, app: app, out: out, poll: pollPeriod, log: log}.run(ctx)
}

// driverLog returns the last lines of the driver's log.
func driverLog(ctx context.Context, pods kubernetes.Interface, namespace, driver string) (string, error) {
	options := &corev1.PodLogOptions{TailLines: ptr.To[int64](logLines)}
	log, err := pods.CoreV1().Pods(namespace).GetLogs(driver, options).DoRaw(ctx)
	return string(log), err
}

// read returns the application of a manifest, and its kind.
func read(file string) (*kinds.Row, kinds.Object, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--file: %w", err)
	}
	var given metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(text, &given); err != nil {
		return nil, nil, fmt.Errorf("--file: %s: %w", file, err)
	}
	if given.Name == "" || given.Namespace == "" {
		return nil, nil, fmt.Errorf("--file: %s: metadata.name %q and metadata.namespace %q must both be given", file, given.Name, given.Namespace)
	}
	row := kinds.Of(given.GroupVersionKind())
	if row == nil || row.Read == nil || row.Family.Endures {
		return nil, nil, fmt.Errorf("--file: %s: apiVersion %q and kind %q are not those of an application", file, given.APIVersion, given.Kind)
	}
	app := row.New()
	if err := yaml.Unmarshal(text, app); err != nil {
		return nil, nil, fmt.Errorf("--file: %s: %w", file, err)
	}
	return row, app, nil
}

// test is one application with the functions to read it.
type test struct {
	client client.Client
	row    *kinds.Row
	app    kinds.Object
	out    io.Writer
	poll   time.Duration
	// log reads the last lines of a driver's log.
	log func(ctx context.Context, driver string) (string, error)
}

func (t test) run(ctx context.Context) error {
	if err := t.clear(ctx); err != nil { // an earlier test may have been interrupted
		return err
	}
	if err := t.client.Create(ctx, t.copy()); err != nil {
		return fmt.Errorf("create %s %s: %w", t.row.Kind, t.name(), err)
	}
	last, err := t.follow(ctx)
	if last.Record.State.Final() {
		if log, logErr := t.log(ctx, last.DriverName()); logErr == nil {
			t.say("the end of the driver's log:\n%s", strings.TrimRight(log, "\n"))
		}
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	return errors.Join(err, t.clear(cleanup))
}

// follow waits for the application's end and prints each new state.
func (t test) follow(ctx context.Context) (kinds.Reading, error) {
	var last kinds.Reading
	seen := "-"
	err := wait.PollUntilContextCancel(ctx, t.poll, true, func(ctx context.Context) (bool, error) {
		app := t.row.New()
		if err := t.client.Get(ctx, client.ObjectKeyFromObject(t.app), app); err != nil {
			return false, fmt.Errorf("get %s: %w", t.name(), err)
		}
		last = t.row.Read(app, resolve.Operator{}, time.Now())
		if seen != last.State {
			seen = last.State
			t.say("%s is %s", t.name(), wordOf(seen))
		}
		return last.Record.State.Final(), nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && seen == "":
		return last, fmt.Errorf("no operator has reconciled %s: is it running, and does it watch namespace %s", t.name(), t.app.GetNamespace())
	case err != nil && !wait.Interrupted(err):
		return last, err
	case err != nil:
		return last, fmt.Errorf("%s is still %s%s: %w", t.name(), wordOf(seen), messages(last.Conditions), err)
	case last.Record.State == lifecycle.Failed:
		return last, fmt.Errorf("%s failed: %s", t.name(), last.Message)
	}
	return last, nil
}

// clear deletes the application and waits until it is gone.
func (t test) clear(ctx context.Context) error {
	err := t.client.Delete(ctx, t.copy())
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", t.row.Kind, t.name(), err)
	}
	err = wait.PollUntilContextCancel(ctx, t.poll, true, func(ctx context.Context) (bool, error) {
		err := t.client.Get(ctx, client.ObjectKeyFromObject(t.app), t.row.New())
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("wait until %s is gone: %w", t.name(), err)
	}
	return nil
}

func (t test) name() string { return t.app.GetNamespace() + "/" + t.app.GetName() }

// copy returns an object that a client may change.
func (t test) copy() client.Object { return t.app.DeepCopyObject().(client.Object) }

func (t test) say(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format+"\n", args...) }

func wordOf(state string) string { return cmp.Or(state, "new") }

// messages returns the messages of conditions that are not true.
func messages(conditions []metav1.Condition) string {
	var text strings.Builder
	for _, c := range conditions {
		if c.Status != "True" && c.Message != "" {
			fmt.Fprintf(&text, "; %s: %s", c.Type, c.Message)
		}
	}
	return text.String()
}
