// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// defaultPodTimeout bounds the wait for the container whose log is followed.
const defaultPodTimeout = 10 * time.Minute

// logging holds the flags of logs.
type logging struct {
	executor   string
	container  string
	follow     bool
	previous   bool
	tail       int64
	since      time.Duration
	podTimeout time.Duration
	streams    genericiooptions.IOStreams
}

func newLogs(streams genericiooptions.IOStreams) *cobra.Command {
	l := logging{streams: streams}
	var clusters cluster
	command := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print the log of an application's driver or executors",
		Long: "Print the log of the driver of an application's current attempt, or of its executors.\n\n" +
			"--follow waits for the driver pod if it does not run yet, and ends with the container. The status keeps the end of the\n" +
			"log of each failed attempt, at most 2 KiB. It is printed if the driver pod is gone. --previous prints that of the\n" +
			"attempt before. Notes go to standard error.",
		Example: "  kubectl spark logs spark-pi --follow\n\n" +
			"  # why did the attempt before fail?\n" +
			"  kubectl spark logs spark-pi --previous\n\n" +
			"  # executor 3, and the last lines of all executors\n" +
			"  kubectl spark logs spark-pi --executor 3\n" +
			"  kubectl spark logs spark-pi --executor all --tail 5",
		Args: arguments(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := l.check(); err != nil {
				return err
			}
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			o, err := connected.FindApplication(command.Context(), args[0], "logs")
			if err != nil {
				return err
			}
			switch {
			case l.previous:
				return l.attemptBefore(o)
			case l.executor != "":
				return l.executors(command.Context(), connected, o)
			case l.follow:
				return l.followDriver(command.Context(), connected, o)
			}
			return l.driver(command.Context(), connected, o)
		},
	}
	clusters = addCluster(command)
	l.addTo(command)
	return command
}

func (l *logging) addTo(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&l.executor, "executor", "", "Spark's number of the executor, or all")
	flags.StringVarP(&l.container, "container", "c", "", "the container; Spark's by default")
	flags.BoolVarP(&l.follow, "follow", "f", false, "follow until the container ends; wait for it if it does not run yet")
	flags.BoolVarP(&l.previous, "previous", "p", false, "print the end of the log of the attempt before")
	flags.Int64Var(&l.tail, "tail", -1, "only this many of the last lines")
	flags.DurationVar(&l.since, "since", 0, "only logs newer than a duration, such as 10m")
	flags.DurationVar(&l.podTimeout, "pod-running-timeout", defaultPodTimeout, "how long --follow waits for the driver to run")
	command.MarkFlagsMutuallyExclusive("previous", "executor")
	command.MarkFlagsMutuallyExclusive("previous", "follow")
	command.MarkFlagsMutuallyExclusive("previous", "since")
	command.MarkFlagsMutuallyExclusive("previous", "container")
	_ = command.RegisterFlagCompletionFunc("executor", cobra.FixedCompletions([]string{"all"}, cobra.ShellCompDirectiveNoFileComp))
}

func (l *logging) check() error {
	_, err := strconv.ParseUint(l.executor, 10, 0)
	switch {
	case l.executor != "" && l.executor != "all" && err != nil:
		return fmt.Errorf("--executor: %q: neither a number nor all; write for example 3", l.executor)
	case l.tail < -1:
		return errors.New("--tail: must not be negative")
	case l.since < 0:
		return errors.New("--since: must not be negative")
	case l.podTimeout <= 0:
		return errors.New("--pod-running-timeout: must be more than 0")
	}
	return nil
}

// options returns the API server's options for one container's log.
func (l *logging) options(container string) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{Container: container, Follow: l.follow}
	if l.tail >= 0 {
		o.TailLines = &l.tail
	}
	if l.since > 0 {
		o.SinceSeconds = ptr.To(max(1, int64(l.since.Round(time.Second)/time.Second)))
	}
	return o
}

// attemptBefore prints the stored log of the attempt before the current one.
func (l *logging) attemptBefore(o inspect.Application) error {
	for _, a := range slices.Backward(o.Record.Attempts) {
		if a.Number < o.Record.Attempt {
			return l.kept(o, a, "")
		}
	}
	return fmt.Errorf("%s has no attempt before attempt %d", o.Key(), o.Record.Attempt)
}

// kept prints the stored log of an attempt, below a header that begins with why.
func (l *logging) kept(o inspect.Application, a lifecycle.Attempt, why string) error {
	if a.LogTail == "" {
		return fmt.Errorf("%s%s of %s has no kept log: the status keeps only the end of failed attempts' logs", why, ending(a), o.Key())
	}
	say(l.streams.ErrOut, "%s%s. The last lines of its log, from the status:", why, ending(a))
	say(l.streams.Out, "%s", strings.TrimRight(lastLines(a.LogTail, l.tail), "\n"))
	return nil
}

// ending returns a description of the end of an attempt.
func ending(a lifecycle.Attempt) string {
	text := fmt.Sprintf("attempt %d", a.Number)
	if !a.EndedAt.IsZero() {
		text += " ended at " + a.EndedAt.UTC().Format(time.RFC3339)
	}
	if a.Cause.Reason != "" {
		text += " (" + string(a.Cause.Reason) + ": " + firstLine(a.Cause.Message) + ")"
	}
	return text
}

// lastLines returns the last n lines, or all lines if n is negative.
func lastLines(text string, n int64) string {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	if n < 0 || int64(len(lines)) <= n {
		return text
	}
	return strings.Join(lines[int64(len(lines))-n:], "")
}

// gone handles a missing driver pod by printing the stored log of the current attempt.
func (l *logging) gone(o inspect.Application, pod string) error {
	r := o.Record
	if a := r.Current(); a != nil {
		return l.kept(o, *a, "driver pod "+pod+" is gone; ")
	}
	yet := " yet"
	if r.State.Final() {
		yet = ""
	}
	text := fmt.Sprintf("driver pod %s of attempt %d does not exist%s: %s is %s", pod, max(1, r.Attempt), yet, o.Key(), inspect.StateName(o.State))
	if r.Cause.Message != "" {
		text += " (" + firstLine(r.Cause.Message) + ")"
	}
	if len(r.Attempts) > 0 {
		text += "; --previous prints the end of the log of the attempt before"
	}
	return errors.New(text)
}

// driverPod returns the pod if it is the driver of the application's current attempt; nil otherwise.
func driverPod(pod *corev1.Pod, o inspect.Application) *corev1.Pod {
	if pod == nil || o.Owner.Of(pod) != lifecycle.Current {
		return nil
	}
	return pod
}

// begun reports whether a container has started, so that it has a log.
func begun(pod *corev1.Pod, container string) bool {
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if s.Name == container && (s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil) {
			return true
		}
	}
	return false
}

// ended reports whether a container has finished.
func ended(pod *corev1.Pod, container string) bool {
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if s.Name == container {
			return s.State.Terminated != nil
		}
	}
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// containerOf returns the name of the container whose log is read.
func (l *logging) containerOf(pod *corev1.Pod, usual string) (string, error) {
	if l.container == "" {
		return usual, nil
	}
	var names []string
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		names = append(names, c.Name)
		if c.Name == l.container {
			return c.Name, nil
		}
	}
	return "", fmt.Errorf("--container: pod %s has no container %q; it has %s", pod.Name, l.container, strings.Join(names, ", "))
}

// pod reads one pod.
func (c *connection) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	return c.Pods.Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
}
