// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// maxStreams bounds the number of logs that are followed at the same time.
const maxStreams = 50

// driver prints the log of the driver as far as it is available.
func (l *logging) driver(ctx context.Context, c *connection, o inspect.Application) error {
	name := o.DriverName()
	pod, err := c.pod(ctx, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err != nil || driverPod(pod, o) == nil {
		return l.gone(o, name)
	}
	container, err := l.containerOf(pod, observe.SparkContainer(pod))
	if err != nil {
		return err
	}
	if !begun(pod, container) {
		return fmt.Errorf("container %s of driver pod %s does not run yet; kubectl spark explain %s says why, --follow waits for it", container, name, o.GetName())
	}
	return l.copy(ctx, c, pod.Name, container, l.streams.Out)
}

// copy streams one container's log.
func (l *logging) copy(ctx context.Context, c *connection, pod, container string, out io.Writer) error {
	stream, err := c.Pods.Pods(c.Namespace).GetLogs(pod, l.options(container)).Stream(ctx)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, stream)
	return errors.Join(err, stream.Close())
}

// followDriver prints the driver's log until its end, in any state of the application.
func (l *logging) followDriver(ctx context.Context, c *connection, o inspect.Application) error {
	pod, container, err := l.awaitDriver(ctx, c, o)
	if pod == nil || err != nil {
		return err
	}
	if err := l.copy(ctx, c, pod.Name, container, l.streams.Out); err != nil {
		return err
	}
	// The API server also ends long streams before the driver ends.
	now, err := c.pod(ctx, pod.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case now.UID == pod.UID && !ended(now, container) && !l.endsSoon(ctx, c, now, container):
		return fmt.Errorf("the log stream was cut, but container %s of pod %s still runs: call again with --follow --since", container, pod.Name)
	}
	return nil
}

// endsSoon waits until the kubelet reports the end of a container whose log has ended.
func (l *logging) endsSoon(ctx context.Context, c *connection, pod *corev1.Pod, container string) bool {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for seen := range changes(ctx, c, &corev1.PodList{}, client.ObjectKeyFromObject(pod)) {
		now, exists := seen.object.(*corev1.Pod)
		if seen.err == nil && (!exists || now.UID != pod.UID || ended(now, container)) {
			return true
		}
	}
	return false
}

// awaitDriver returns the driver pod once its container has started. If it returns neither a pod nor an error, it has already printed the log.
func (l *logging) awaitDriver(ctx context.Context, c *connection, o inspect.Application) (*corev1.Pod, string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.podTimeout)
	defer cancel()
	name := o.DriverName()
	apps := changes(ctx, c, o.NewList(), client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetName()})
	pods := changes(ctx, c, &corev1.PodList{}, client.ObjectKey{Namespace: o.GetNamespace(), Name: name})
	var pod *corev1.Pod
	looked, said := false, ""
	for {
		var seen change
		var open, isPod bool
		select {
		case seen, open = <-apps:
		case seen, open = <-pods:
			isPod = true
		}
		switch {
		case !open && ctx.Err() == nil || seen.err != nil && !seen.again:
			return nil, "", cmp.Or(seen.err, errors.New("the watch has ended"))
		case !open:
			return nil, "", fmt.Errorf("driver pod %s did not run within %s; kubectl spark explain %s says why", name, l.podTimeout, o.GetName())
		case seen.err != nil:
			continue
		case isPod:
			pod, _ = seen.object.(*corev1.Pod)
			looked = true
		case seen.object == nil:
			return nil, "", fmt.Errorf("%s was deleted", o.Key())
		default:
			now, err := o.LoadWatched(seen.object)
			if err != nil {
				return nil, "", err
			}
			o = now
		}
		if current := driverPod(pod, o); current != nil {
			if container, err := l.containerOf(current, observe.SparkContainer(current)); err != nil || begun(current, container) {
				return current, container, err
			}
		} else if looked && o.Record.State.Final() {
			return nil, "", l.gone(o, name)
		}
		said = l.progress(o, name, said)
	}
}

// progress prints the reason of the wait unless it equals said, and returns what was printed last.
func (l *logging) progress(o inspect.Application, pod, said string) string {
	text := fmt.Sprintf("waiting for driver pod %s: %s", pod, describe(o))
	if text != said {
		say(l.streams.ErrOut, "%s", text)
	}
	return text
}

// executors prints the log of one executor of the current attempt, or the logs of all executors with a prefix on each line.
func (l *logging) executors(ctx context.Context, c *connection, o inspect.Application) error {
	wanted := labels.Set{o.Type.Family.Labels.Submission: o.Identity.SubmissionID, spark.LabelRole: spark.RoleExecutor}
	var list corev1.PodList
	if err := c.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingLabels(wanted)); err != nil {
		return err
	}
	pods := list.Items
	number := func(p corev1.Pod) int {
		n, _ := strconv.Atoi(p.Labels[spark.LabelExecID]) // Spark's ids are numbers
		return n
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(number(a), number(b)) })
	if l.executor == "all" {
		return l.allExecutors(ctx, c, o, pods)
	}
	var known []string
	for i := range pods {
		if pods[i].Labels[spark.LabelExecID] == l.executor {
			container, err := l.containerOf(&pods[i], observe.SparkContainer(&pods[i]))
			if err != nil {
				return err
			}
			return l.copy(ctx, c, pods[i].Name, container, l.streams.Out)
		}
		known = append(known, pods[i].Labels[spark.LabelExecID])
	}
	if len(known) == 0 {
		return noExecutors(o)
	}
	return fmt.Errorf("%s has no executor %s now; it has %s (Spark deletes the pods of executors that have ended)",
		o.Key(), l.executor, strings.Join(known, ", "))
}

func noExecutors(o inspect.Application) error {
	return fmt.Errorf("%s has no executors: it is %s (Spark deletes the pods of executors that have ended)", o.Key(), describe(o))
}

// allExecutors prints the logs one after the other. With follow it prints the lines of all logs as they arrive. An unreadable log does not stop the others.
func (l *logging) allExecutors(ctx context.Context, c *connection, o inspect.Application, pods []corev1.Pod) error {
	if len(pods) == 0 {
		return noExecutors(o)
	}
	if l.follow && len(pods) > maxStreams {
		return fmt.Errorf("there are %d executors; at most %d can be followed at once: name one of them", len(pods), maxStreams)
	}
	var lock sync.Mutex
	var failed bool
	one := func(p *corev1.Pod) {
		out := &prefixed{prefix: "[" + p.Labels[spark.LabelExecID] + "] ", out: l.streams.Out, lock: &lock}
		container, err := l.containerOf(p, observe.SparkContainer(p))
		if err == nil {
			err = l.copy(ctx, c, p.Name, container, out)
		}
		out.flush()
		if err != nil && ctx.Err() == nil {
			lock.Lock()
			defer lock.Unlock()
			failed = true
			say(l.streams.ErrOut, "%s%v", out.prefix, inspect.ForPeople(err))
		}
	}
	var following sync.WaitGroup
	for i := range pods {
		if l.follow {
			following.Go(func() { one(&pods[i]) })
		} else {
			one(&pods[i])
		}
	}
	following.Wait()
	if failed {
		return errFound
	}
	return nil
}

// prefixed adds a prefix to each line and writes whole lines only, so that several writers can share an output.
type prefixed struct {
	prefix string
	out    io.Writer
	lock   *sync.Mutex
	rest   []byte
}

// Write implements io.Writer.
func (p *prefixed) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	for {
		advance, line, _ := bufio.ScanLines(p.rest, false)
		if advance == 0 {
			return len(text), nil
		}
		if err := p.line(line); err != nil {
			return 0, err
		}
		p.rest = p.rest[advance:]
	}
}

func (p *prefixed) line(text []byte) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	_, err := fmt.Fprintf(p.out, "%s%s\n", p.prefix, text)
	return err
}

// flush writes the last, incomplete line.
func (p *prefixed) flush() {
	if len(p.rest) > 0 {
		_ = p.line(p.rest) // the next write also reports a closed output
	}
}
