// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

func newExplain(streams genericiooptions.IOStreams) *cobra.Command {
	out := output{}
	var clusters cluster
	var operators installed
	command := &cobra.Command{
		Use:   "explain NAME",
		Short: "Say what an application is, what comes next and why",
		Long: "Say what an application is, what the operator decides about it, on what evidence, what happens next and when, and what a person\n" +
			"can do.\n\n" +
			"The decision is made on this machine by the operator's own code from what the cluster shows now, so that it is there also when\n" +
			"the operator does not run, and when the status is behind the spec. Nothing is changed.",
		Example: "  kubectl spark explain spark-pi -n jobs\n\n" +
			"  # for a program\n" +
			"  kubectl spark explain spark-pi -o json | jq .decision.sentence",
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			report, err := connected.explain(command.Context(), args[0], operators, time.Now())
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
	operators.addTo(command)
	out.addFormat(command, "", "format of the output: json or yaml; text for people by default", "json", "yaml")
	return command
}

// explain reads what the operator would read, and decides as it would.
func (c *connection) explain(ctx context.Context, name string, operators installed, now time.Time) (explain.Report, error) {
	o, err := c.application(ctx, name)
	if err != nil {
		return explain.Report{}, err
	}
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return explain.Report{}, err
	}
	s := load(o, operator, now)
	in := explain.Input{
		Object: o, Conditions: o.Status.Conditions, Scope: s, Now: now,
	}
	unreadable := func(what string, err error) { in.Doubts = append(in.Doubts, what+": "+forPeople(err).Error()) }
	if unread != "" {
		in.Doubts = append(in.Doubts, unread)
	}
	pods := observe.Reader{Labels: s.Family.Labels, Cache: c, Live: c, Unindexed: true, Logs: c.tail}
	in.Observed, err = pods.Observe(ctx, targetOf(s), s.Record)
	if err != nil {
		in.Observed.Driver = lifecycle.Driver{Presence: lifecycle.Unknown, Name: s.DriverName()}
		unreadable("pods", err)
	}
	if err := c.ask(ctx, pods, operator.Registry, s, &in); err != nil {
		unreadable("what the batch scheduler wants to see", err)
	}
	if s.Record.State.Starting() {
		var quotas corev1.ResourceQuotaList
		if err := c.List(ctx, &quotas, client.InNamespace(o.Namespace)); err != nil {
			unreadable("resource quotas", err)
		}
		in.Quotas = explain.Usage(quotas.Items)
	}
	return explain.Explain(in), nil
}

func targetOf(s resolve.Application) observe.Target {
	return observe.Target{
		Namespace: s.App.Namespace, App: s.App.Name, UID: s.App.UID, DriverName: s.DriverName(), SubmissionID: s.Identity.SubmissionID,
	}
}

// load resolves an application as it is stored.
func load(o *v1beta2.SparkApplication, operator resolve.Operator, now time.Time) resolve.Application {
	return resolve.Load(kubeflow.SparkApplications{}, o, kubeflow.FromStatus(&o.Status), operator, now)
}
