// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
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
		Use:   "explain [TYPE/]NAME",
		Short: "Say what an application or a schedule is, what comes next and why",
		Long: "Say what an application or a schedule is, what the operator decides about it, on what evidence, what happens next and when, and what\n" +
			"a person can do. A name without a type is that of an application, or else of a schedule.\n\n" +
			"The decision is made on this machine by the operator's own code from what the cluster shows now, so that it is there also when\n" +
			"the operator does not run, and when the status is behind the spec. Nothing is changed.",
		Example: "  kubectl spark explain spark-pi -n jobs\n\n" +
			"  # when a schedule starts its next run, or why it does not\n" +
			"  kubectl spark explain scheduledsparkapp/nightly\n\n" +
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
	command.ValidArgsFunction = clusters.completeObjects(applications, schedules)
	operators.addTo(command)
	out.addFormat(command, "", "format of the output: json or yaml; text for people by default", "json", "yaml")
	return command
}

// explanation is printed as values or as text.
type explanation interface{ Text() string }

// explain reads what the operator would read, and decides as it would.
func (c *connection) explain(ctx context.Context, name string, operators installed, now time.Time) (explanation, error) {
	o, err := c.find(ctx, name, applications, schedules)
	if err != nil {
		return nil, err
	}
	if o.kind == schedules {
		decoded, err := decoded(o)
		if err != nil {
			return nil, err
		}
		return c.explainSchedule(ctx, decoded, operators, now)
	}
	application, err := typed(o.Object)
	if err != nil {
		return nil, err
	}
	return c.explainApplication(ctx, application, operators, now)
}

func (c *connection) explainApplication(ctx context.Context, o *v1beta2.SparkApplication, operators installed, now time.Time) (explanation, error) {
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return nil, err
	}
	s := load(o, operator, now)
	in := explain.Input{
		Object: o, Conditions: o.Status.Conditions, Scope: s, Now: now,
	}
	unreadable := func(what string, err error) { in.Unreadable = append(in.Unreadable, what+": "+forPeople(err).Error()) }
	if unread != "" {
		in.Unreadable = append(in.Unreadable, unread)
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
