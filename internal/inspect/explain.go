// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/attempt"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Explanation is the result of Explain. It is printed as data or as text.
type Explanation interface{ Text() string }

// Explain reads what the operator would read, and decides as the operator would.
func (c *Cluster) Explain(ctx context.Context, name string, operators Installation, now time.Time) (Explanation, error) {
	o, err := c.Find(ctx, name, Types()...)
	if err != nil {
		return nil, err
	}
	switch o.Type {
	case Clusters:
		return c.explainCluster(ctx, o, operators, now)
	case Schedules:
		return c.explainSchedule(ctx, o, operators, now)
	}
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return nil, err
	}
	in := explain.Input{Object: o, Typed: o.Typed(o.GetName()), Now: now}
	if unread != "" {
		in.Unreadable = append(in.Unreadable, unread)
	}
	application, err := o.Load(o.Object, operator, now)
	if err != nil {
		return nil, err
	}
	in.Conditions, in.Scope = application.Conditions, application.Application
	if o.Type != Applications { // other kinds have more states than the state machine
		in.State = StateName(application.State)
	}
	c.observe(ctx, &in, operator)
	if application.Record.State.Starting() && unread == "" { // without the operator's configuration there are no lines
		lines, missed := c.blockers(ctx, operators, o, application.Record.Cause.Reason, now)
		in.Lines, in.Unreadable = lines, append(in.Unreadable, missed...)
	}
	return explain.Explain(in), nil
}

// observe reads an application's objects as the operator does, and records the objects that it cannot read.
func (c *Cluster) observe(ctx context.Context, in *explain.Input, operator resolve.Operator) {
	s := in.Scope
	var err error
	unreadable := func(what string, err error) { in.Unreadable = append(in.Unreadable, what+": "+ForPeople(err).Error()) }
	pods := observe.Reader{Labels: s.Family.Labels, Cache: c, Live: c, Logs: c.tail}
	in.Observed, err = pods.Observe(ctx, attempt.Target(s, in.Now), s.Record)
	if err != nil {
		in.Observed.Driver = lifecycle.Driver{Presence: lifecycle.Unknown, Name: s.DriverName()}
		unreadable("pods", err)
	}
	if d := in.Observed.Driver; lifecycle.NeedsSessions(s.Desired, s.Record, d, lifecycle.Env{Now: in.Now}) {
		in.Observed.Sessions = c.sessions(ctx, pods, s, d)
	}
	if err := c.ask(ctx, pods, operator.Registry, s, in); err != nil {
		unreadable("the objects that the batch scheduler needs", err)
	}
	if s.Record.State.Starting() {
		var quotas corev1.ResourceQuotaList
		if err := c.List(ctx, &quotas, client.InNamespace(s.App.Namespace)); err != nil {
			unreadable("resource quotas", err)
		}
		in.Quotas = explain.Usage(quotas.Items)
	}
}

// sessions asks a server for its sessions as the operator does. It uses a tunnel, because pod addresses are not reachable here.
func (c *Cluster) sessions(ctx context.Context, pods observe.Reader, s resolve.Application, d lifecycle.Driver) lifecycle.Sessions {
	port := spark.UIPort(s.App)
	if port == 0 {
		return pods.Sessions(ctx, d.PodIP, port, d.StartedAt)
	}
	open, stop := context.WithCancel(ctx)
	defer stop()
	var said lifecycle.Sessions
	err := c.Forward(open, d.Name, port, func(address string) {
		pods.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		said = pods.Sessions(ctx, d.PodIP, port, d.StartedAt)
		stop()
	})
	if said == (lifecycle.Sessions{}) {
		said.Problem = "no tunnel to the server pod"
		if err != nil {
			said.Problem += ": " + ForPeople(err).Error()
		}
	}
	return said
}
