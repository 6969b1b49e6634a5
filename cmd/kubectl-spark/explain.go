// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func newExplain(streams genericiooptions.IOStreams) *cobra.Command {
	out := output{}
	var clusters cluster
	var operators installed
	command := &cobra.Command{
		Use:   "explain [TYPE/]NAME",
		Short: "Say what an application, a schedule, a server or a cluster is, what comes next and why",
		Long: "Say what an application, a schedule, a Spark Connect server or a standalone cluster is, what the operator decides about it, on what\n" +
			"evidence, what happens next and when, and what a person can do. " + withoutType + "\n\n" +
			"The decision is made on this machine by the operator's own code from what the cluster shows now, so that it is there also when\n" +
			"the operator does not run, and when the status is behind the spec. Of a cluster, what its scheduler says is read from the status.\n" +
			"Nothing is changed.",
		Example: "  kubectl spark explain spark-pi -n jobs\n\n" +
			"  # when a schedule starts its next run, or why it does not\n" +
			"  kubectl spark explain scheduledsparkapp/nightly\n\n" +
			"  # whether a server drains, or when it is stopped because it is idle\n" +
			"  kubectl spark explain sparkconn/notebooks\n\n" +
			"  # what a cluster waits for, and which of its pods do\n" +
			"  kubectl spark explain sparkcluster/lab\n\n" +
			"  # for a program\n" +
			"  kubectl spark explain spark-pi -o json | jq .decision.sentence",
		Args: cobra.RangeArgs(1, 2), // TYPE NAME, too
		RunE: func(command *cobra.Command, args []string) error {
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			report, err := connected.explain(command.Context(), strings.Join(args, "/"), operators, time.Now())
			if err != nil {
				return err
			}
			if out.format != "" {
				return out.print(streams.Out, report)
			}
			_, err = fmt.Fprint(streams.Out, report.Text())
			return err
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = clusters.completeObjects(allKinds()...)
	operators.addTo(command)
	out.addFormat(command, "", "format of the output: json or yaml; text for people by default", "json", "yaml")
	return command
}

// explanation is printed as values or as text.
type explanation interface{ Text() string }

// explain reads what the operator would read, and decides as it would.
func (c *connection) explain(ctx context.Context, name string, operators installed, now time.Time) (explanation, error) {
	o, err := c.find(ctx, name, allKinds()...)
	if err != nil {
		return nil, err
	}
	switch o.kind {
	case standalones:
		return c.explainCluster(ctx, o, operators, now)
	case schedules:
		decoded, err := decoded(o)
		if err != nil {
			return nil, err
		}
		return c.explainSchedule(ctx, decoded, operators, now)
	}
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return nil, err
	}
	in := explain.Input{Object: o, Now: now}
	if unread != "" {
		in.Unreadable = append(in.Unreadable, unread)
	}
	application, err := o.application(o.Object, operator, now)
	if err != nil {
		return nil, err
	}
	in.Conditions, in.Scope = application.Conditions, application.Application
	if o.kind != applications { // their states have more words than those of the state machine
		in.State = stateName(application.State)
	}
	c.observe(ctx, &in, operator)
	return explain.Explain(in), nil
}

// observe reads what the operator would read of an application. What cannot be read is reported.
func (c *connection) observe(ctx context.Context, in *explain.Input, operator resolve.Operator) {
	s := in.Scope
	var err error
	unreadable := func(what string, err error) { in.Unreadable = append(in.Unreadable, what+": "+forPeople(err).Error()) }
	pods := observe.Reader{Labels: s.Family.Labels, Cache: c, Live: c, Logs: c.tail}
	in.Observed, err = pods.Observe(ctx, targetOf(s), s.Record)
	if err != nil {
		in.Observed.Driver = lifecycle.Driver{Presence: lifecycle.Unknown, Name: s.DriverName()}
		unreadable("pods", err)
	}
	if d := in.Observed.Driver; lifecycle.NeedsSessions(s.Desired, s.Record, d, lifecycle.Env{Now: in.Now}) {
		in.Observed.Sessions = c.sessions(ctx, pods, s, d, tunnel)
	}
	if err := c.ask(ctx, pods, operator.Registry, s, in); err != nil {
		unreadable("what the batch scheduler wants to see", err)
	}
	if s.Record.State.Starting() {
		var quotas corev1.ResourceQuotaList
		if err := c.List(ctx, &quotas, client.InNamespace(s.App.Namespace)); err != nil {
			unreadable("resource quotas", err)
		}
		in.Quotas = explain.Usage(quotas.Items)
	}
}

func targetOf(s resolve.Application) observe.Target {
	return observe.Target{
		Namespace: s.App.Namespace, App: s.App.Name, UID: s.App.UID, DriverName: s.DriverName(), SubmissionID: s.Identity.SubmissionID,
		LogTails: s.Desired.LogTails,
	}
}

// sessions asks a server for its sessions as the operator does, but through a tunnel: pods have no addresses here.
func (c *connection) sessions(ctx context.Context, pods observe.Reader, s resolve.Application, d lifecycle.Driver, forward forwarder) lifecycle.Sessions {
	port := spark.UIPort(s.App)
	if port == 0 {
		return pods.Sessions(ctx, d.PodIP, port, d.StartedAt)
	}
	open, stop := context.WithCancel(ctx)
	defer stop()
	var said lifecycle.Sessions
	err := forward(open, c, d.Name, port, func(address string) {
		pods.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		said = pods.Sessions(ctx, d.PodIP, port, d.StartedAt)
		stop()
	})
	if said == (lifecycle.Sessions{}) {
		said.Problem = "no tunnel to the server pod"
		if err != nil {
			said.Problem += ": " + forPeople(err).Error()
		}
	}
	return said
}
