// SPDX-License-Identifier: Apache-2.0

// Package verify is what `helm test` runs: one application from its manifest to its end, in the way of a user.
package verify

import (
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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const (
	pollPeriod  = time.Second
	cleanupTime = 30 * time.Second
	// logLines of the driver are shown: enough for what the application says and the stack traces with which Spark may stop after it.
	logLines = 100
)

// Command creates the application of a manifest, waits for its end, prints what it sees, and deletes it. It fails if the
// application does.
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
	app, err := read(file)
	if err != nil {
		return err
	}
	kubeconfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
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
	t := test{client: applications, app: app, out: out, poll: pollPeriod, log: func(ctx context.Context) (string, error) { return driverLog(ctx, pods, app) }}
	return t.run(ctx)
}

// driverLog returns the last lines of the driver's log.
func driverLog(ctx context.Context, pods kubernetes.Interface, app *v1beta2.SparkApplication) (string, error) {
	options := &corev1.PodLogOptions{TailLines: ptr.To[int64](logLines)}
	log, err := pods.CoreV1().Pods(app.Namespace).GetLogs(app.Name+"-driver", options).DoRaw(ctx)
	return string(log), err
}

func read(file string) (*v1beta2.SparkApplication, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	var app v1beta2.SparkApplication
	if err := yaml.Unmarshal(text, &app); err != nil {
		return nil, fmt.Errorf("--file: %s: %w", file, err)
	}
	if app.Name == "" || app.Namespace == "" {
		return nil, fmt.Errorf("--file: %s: metadata.name %q and metadata.namespace %q must both be given", file, app.Name, app.Namespace)
	}
	return &app, nil
}

// test is one application and how to read it.
type test struct {
	client client.Client
	app    *v1beta2.SparkApplication
	out    io.Writer
	poll   time.Duration
	log    func(context.Context) (string, error)
}

func (t test) run(ctx context.Context) error {
	if err := t.clear(ctx); err != nil { // an earlier test may have been stopped
		return err
	}
	if err := t.client.Create(ctx, t.app.DeepCopy()); err != nil {
		return fmt.Errorf("create SparkApplication %s: %w", t.name(), err)
	}
	last, err := t.follow(ctx)
	if ended(last) {
		if log, logErr := t.log(ctx); logErr == nil {
			t.say("the end of the driver's log:\n%s", strings.TrimRight(log, "\n"))
		}
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	return errors.Join(err, t.clear(cleanup))
}

// follow waits for the application's end and says each new state.
func (t test) follow(ctx context.Context) (v1beta2.SparkApplicationStatus, error) {
	var last v1beta2.SparkApplicationStatus
	seen := v1beta2.ApplicationStateType("-")
	err := wait.PollUntilContextCancel(ctx, t.poll, true, func(ctx context.Context) (bool, error) {
		var app v1beta2.SparkApplication
		if err := t.client.Get(ctx, client.ObjectKeyFromObject(t.app), &app); err != nil {
			return false, fmt.Errorf("get %s: %w", t.name(), err)
		}
		last = app.Status
		if seen != last.AppState.State {
			seen = last.AppState.State
			t.say("%s is %s", t.name(), wordOf(seen))
		}
		return ended(last), nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && seen == v1beta2.ApplicationStateNew:
		return last, fmt.Errorf("no operator has reconciled %s: is it running, and does it watch namespace %s", t.name(), t.app.Namespace)
	case err != nil && !wait.Interrupted(err):
		return last, err
	case err != nil:
		return last, fmt.Errorf("%s is still %s%s: %w", t.name(), wordOf(seen), conditions(last), err)
	case seen == v1beta2.ApplicationStateFailed:
		return last, fmt.Errorf("%s failed: %s", t.name(), last.AppState.ErrorMessage)
	}
	return last, nil
}

// clear deletes the application and waits until it is gone.
func (t test) clear(ctx context.Context) error {
	err := t.client.Delete(ctx, t.app.DeepCopy())
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete SparkApplication %s: %w", t.name(), err)
	}
	err = wait.PollUntilContextCancel(ctx, t.poll, true, func(ctx context.Context) (bool, error) {
		var app v1beta2.SparkApplication
		err := t.client.Get(ctx, client.ObjectKeyFromObject(t.app), &app)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("wait until %s is gone: %w", t.name(), err)
	}
	return nil
}

func (t test) name() string { return t.app.Namespace + "/" + t.app.Name }

func (t test) say(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format+"\n", args...) }

func ended(s v1beta2.SparkApplicationStatus) bool {
	return s.AppState.State == v1beta2.ApplicationStateCompleted || s.AppState.State == v1beta2.ApplicationStateFailed
}

func wordOf(state v1beta2.ApplicationStateType) string {
	if state == v1beta2.ApplicationStateNew {
		return "new"
	}
	return string(state)
}

// conditions are what the application waits for, in its own words.
func conditions(s v1beta2.SparkApplicationStatus) string {
	var text strings.Builder
	for _, c := range s.Conditions {
		if c.Status != "True" && c.Message != "" {
			fmt.Fprintf(&text, "; %s: %s", c.Type, c.Message)
		}
	}
	return text.String()
}
