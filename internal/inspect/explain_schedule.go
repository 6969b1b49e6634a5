// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// decoded is a schedule, also one whose spec cannot be decoded.
func decoded(o Object) (*v1beta2.ScheduledSparkApplication, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var s v1beta2.ScheduledSparkApplication
	return &s, s.UnmarshalJSON(text)
}

// explainSchedule reads what the operator would read of a schedule, and decides as it would.
func (c *Cluster) explainSchedule(ctx context.Context, o *v1beta2.ScheduledSparkApplication, operators Installation, now time.Time) (Explanation, error) {
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return nil, err
	}
	in := explain.ScheduleInput{
		Object: o, Kind: kubeflow.ScheduleKind, Desired: kubeflow.DesiredSchedule(o), Record: kubeflow.ScheduleRecord(&o.Status),
		Conditions: o.Status.Conditions, States: map[string]string{}, Observed: schedule.Observation{Live: true},
		// the operator's own zone cannot be read; in its image it is UTC
		Env: schedule.Env{Now: now, Local: time.UTC, Precision: operators.precision(ctx, c)},
	}
	if unread != "" {
		in.Unreadable = append(in.Unreadable, unread)
	}
	if err := c.runs(ctx, o, &in); err != nil {
		in.Unreadable = append(in.Unreadable, "runs: "+ForPeople(err).Error())
		in.Observed.Runs = nil
	}
	in.Template = templateErrors(o, in, operator)
	return explain.Schedule(in), nil
}

// runs reads the runs of a schedule, and which of those that are gone still have a driver.
func (c *Cluster) runs(ctx context.Context, o *v1beta2.ScheduledSparkApplication, in *explain.ScheduleInput) error {
	var list v1beta2.SparkApplicationList
	if err := c.List(ctx, &list, client.InNamespace(o.Namespace), client.MatchingLabels(kubeflow.RunLabels(o.Name))); err != nil {
		return err
	}
	for i := range list.Items {
		run := &list.Items[i]
		if owned := slices.ContainsFunc(run.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == o.UID }); !owned {
			continue
		}
		in.Observed.Runs = append(in.Observed.Runs, kubeflow.RunOf(run))
		in.States[run.Name] = StateName(string(run.Status.AppState.State))
	}
	pods := observe.Reader{Labels: kubeflow.SparkApplications{}.Family().Labels, Cache: c, Live: c}
	for _, name := range in.Record.Active {
		if in.States[name] != "" {
			continue
		}
		switch has, err := pods.HasDriver(ctx, o.Namespace, name); {
		case err != nil:
			in.Unreadable = append(in.Unreadable, "pods: "+ForPeople(err).Error())
			return nil
		case has:
			in.Observed.Stopping = append(in.Observed.Stopping, name)
		}
	}
	return nil
}

// templateErrors are what is wrong with the runs, beside what is wrong with the schedule itself.
func templateErrors(o *v1beta2.ScheduledSparkApplication, in explain.ScheduleInput, operator resolve.Operator) []string {
	run := func(s schedule.Start) resolve.Application {
		return resolve.Load(kubeflow.SparkApplications{Template: true}, kubeflow.NewRun(o, s), lifecycle.Record{}, operator, in.Env.Now)
	}
	own := in.Desired.Validate(in.Env.Local)
	if wrong := in.Desired.ValidateTrigger(); wrong != nil {
		own = append(own, wrong)
	}
	known := validation.Sentences(own)
	all := validation.Sentences(admission.DryRunSchedule(in.Desired, run, in.Env, operator.Registry).Errors)
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(known, s) })
}

// precision is the unit in the names of runs, empty if the operator's configuration cannot be read, which has been said already.
func (i Installation) precision(ctx context.Context, c *Cluster) schedule.Precision {
	var found config.OperatorConfiguration
	var err error
	if i.File != "" {
		found, err = config.Load(i.File)
	} else {
		var text string
		if text, err = i.read(ctx, c); err == nil {
			found, err = config.Parse([]byte(text))
		}
	}
	if err != nil {
		return ""
	}
	return found.ScheduledSparkApplication.TimestampPrecision
}
