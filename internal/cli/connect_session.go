// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// forwarder opens a tunnel to a port of a pod. It calls opened with the local address, and returns when the tunnel ends.
type forwarder func(ctx context.Context, c *connection, pod string, port int32, opened func(address string)) error

// session keeps a relay connected to the pod of a server.
type session struct {
	*connection
	name    string
	streams genericiooptions.IOStreams
	forward forwarder
	relay   *relay
	// recheck is the interval of reading a pod until it is ready, because a change of its readiness does not change the server's status. It is also the shortest
	// time between two tunnels, which prevents a busy loop if tunnels end immediately.
	recheck time.Duration

	// opened is set once the first tunnel has opened.
	opened bool
	// woken is the time of the stop after which this session started the server again.
	woken time.Time
	// said is the last progress message.
	said string
	// secret names the Secret that has the clients' token.
	secret string
}

func newSession(c *connection, name string, streams genericiooptions.IOStreams, forward forwarder) *session {
	return &session{connection: c, name: name, streams: streams, forward: forward, relay: newRelay(), recheck: 2 * time.Second}
}

// hasServer checks that a server exists. If it does not exist, the error suggests similar names.
func (c *connection) hasServer(ctx context.Context, name string) error {
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, inspect.Servers.New())
	if inspect.IsMissing(err, inspect.Servers) {
		return c.NotFound(ctx, name, inspect.Servers)
	}
	return err
}

// follow keeps a tunnel to the server's current pod, until the context ends or a tunnel is no longer possible. It sends the server to opened after the first
// tunnel opened.
func (s *session) follow(ctx context.Context, opened chan<- inspect.Application) error {
	for {
		rest := time.NewTimer(s.recheck)
		server, pod, err := s.await(ctx)
		if err != nil {
			return err
		}
		ended, err := s.tunnel(ctx, server, pod, opened)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case lasting(err):
			return err
		case ended:
			s.progress("server pod %s has ended; waiting for the next one", pod.Name)
		case err != nil:
			s.progress("no tunnel to server pod %s: %v; trying again", pod.Name, inspect.ForPeople(err))
		default:
			s.progress("the tunnel to server pod %s was lost; opening another", pod.Name)
		}
		select {
		case <-rest.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tunnel forwards to a pod until the pod, the tunnel or the context ends.
func (s *session) tunnel(ctx context.Context, o inspect.Application, pod *corev1.Pod, opened chan<- inspect.Application) (ended bool, err error) {
	// The library would log each connection that the server closes. This function reports the relevant errors instead.
	open, stop := context.WithCancel(logr.NewContext(ctx, logr.Discard()))
	defer stop()
	go func() {
		s.awaitEnd(open, pod) // a tunnel does not notice the end of its pod
		stop()
	}()
	err = s.forward(open, s.connection, pod.Name, connectPort(o.App, pod), func(address string) {
		s.relay.point(address)
		if !s.opened {
			s.opened, s.secret = true, o.Endpoint.TokenSecret
			opened <- o
			return
		}
		s.progress("connected to server pod %s", pod.Name)
		if o.Endpoint.TokenSecret != s.secret {
			s.progress("spec.authentication was changed, so clients need another URL: run kubectl spark connect again")
		}
	})
	s.relay.point("")
	return open.Err() != nil, err
}

// connectPort returns the server's port from the pod, or else from the spec.
func connectPort(app spark.Application, pod *corev1.Pod) int32 {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == spark.PortConnect {
				return p.ContainerPort
			}
		}
	}
	return spark.ServerPortsOf(app).Connect
}

// progress prints a message unless it equals the last one.
func (s *session) progress(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != s.said {
		s.said = text
		say(s.streams.ErrOut, "%s", text)
	}
}

// await returns the server and its pod when the pod is ready. It starts an idle server if a client needs it.
func (s *session) await(ctx context.Context) (inspect.Application, *corev1.Pod, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	key := client.ObjectKey{Namespace: s.Namespace, Name: s.name}
	seen := changes(watching, s, inspect.Servers.NewList(), key)
	again := time.NewTicker(s.recheck)
	defer again.Stop()
	var o inspect.Application
	for {
		select {
		case one, open := <-seen:
			switch {
			case !open:
				return o, nil, cmp.Or(ctx.Err(), errors.New("the watch has ended"))
			case one.err != nil && !one.again:
				return o, nil, one.err
			case one.err != nil:
				say(s.streams.ErrOut, "cluster error, retrying: %v", one.err)
				continue
			case one.object == nil:
				return o, nil, fmt.Errorf("%s/%s was deleted", s.Namespace, s.name)
			}
			var err error
			if o, err = inspect.Servers.LoadWatched(one.object); err != nil {
				return o, nil, err
			}
		case <-again.C:
		case <-s.relay.demand:
		}
		if o.Object == nil { // the server has not been read yet
			continue
		}
		if pod, err := s.step(ctx, o); pod != nil || err != nil {
			return o, pod, err
		}
	}
}

// step acts on the server's status. It returns the server's pod if the pod is ready.
func (s *session) step(ctx context.Context, o inspect.Application) (*corev1.Pod, error) {
	if err := unavailable(o); err != nil {
		return nil, err
	}
	if at := o.Record.Idle.StoppedAt; !at.IsZero() {
		return nil, s.wake(ctx, o, at)
	}
	if name := o.Endpoint.Pod; name != "" {
		pod, err := s.pod(ctx, name)
		switch {
		case err == nil && takesClients(o, pod):
			return pod, nil
		case apierrors.IsNotFound(err): // the next pod does not exist yet
		case err != nil:
			return nil, s.unless(err)
		}
	}
	s.progress("waiting for server %s: %s", o.Key(), describeServer(o))
	return nil, nil
}

// wake starts a server that was stopped because it was idle. It does so at the beginning, and when a client waits for the server. It does not do so at other
// times, because an open session would then prevent every stop.
func (s *session) wake(ctx context.Context, o inspect.Application, stopped time.Time) error {
	switch {
	case s.woken.Equal(stopped):
		s.progress("waiting for server %s to start again", o.Key())
		return nil
	case s.opened && !s.relay.wanted():
		s.progress("server %s was stopped because it was idle; the next connection wakes it", o.Key())
		return nil
	}
	s.progress("server %s was stopped at %s because it was idle; waking it", o.Key(), stamp(stopped))
	if err := s.setWake(ctx, o, stopped); err != nil {
		return s.unless(err)
	}
	s.woken = stopped
	return nil
}

// unless returns the error if it is permanent. It prints any other error and returns nil, and the caller tries again.
func (s *session) unless(err error) error {
	if lasting(err) {
		return err
	}
	s.progress("cluster error, retrying: %v", err)
	return nil
}

// unavailable returns an error if a server will not become ready.
func unavailable(o inspect.Application) error {
	switch typed := o.Typed(o.GetName()); {
	case o.GetDeletionTimestamp() != nil:
		return fmt.Errorf("server %s is being deleted", o.Key())
	case o.Desired.Suspend:
		return fmt.Errorf("server %s is suspended; kubectl spark resume %s starts it", o.Key(), typed)
	case o.State == o.Type.Family.States[lifecycle.Failed] && o.ObservedGeneration == o.GetGeneration():
		return fmt.Errorf("server %s has failed%s; kubectl spark explain %s says more", o.Key(), serverTrouble(o.Conditions, ": "), typed)
	}
	return nil
}

// takesClients reports whether a pod belongs to the server and is ready.
func takesClients(o metav1.Object, pod *corev1.Pod) bool {
	if !metav1.IsControlledBy(pod, o) || pod.DeletionTimestamp != nil || ended(pod, observe.SparkContainer(pod)) {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// describeServer returns the state of a server and the reason of the state.
func describeServer(o inspect.Application) string {
	text := inspect.StateName(o.State)
	if trouble := serverTrouble(o.Conditions, ""); trouble != "" {
		text += " (" + trouble + ")"
	}
	return text
}

// serverTrouble returns the message of the first condition that explains why the server is not ready; "" if there is none.
func serverTrouble(conditions []metav1.Condition, before string) string {
	for _, kind := range []lifecycle.ConditionType{lifecycle.ConditionStalled, lifecycle.ConditionAdmitted,
		lifecycle.ConditionSubmitted, lifecycle.ConditionDriverReady} {
		good := metav1.ConditionTrue
		if kind == lifecycle.ConditionStalled {
			good = metav1.ConditionFalse
		}
		if c := meta.FindStatusCondition(conditions, string(kind)); c != nil && c.Status != good {
			return before + c.Reason + ": " + firstLine(c.Message)
		}
	}
	return ""
}
