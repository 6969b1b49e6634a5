// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// explainSchedule reads a schedule as the operator does, and decides as the operator would.
func (c *Cluster) explainSchedule(ctx context.Context, o Object, operators Installation, now time.Time) (Explanation, error) {
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := o.LoadSchedule(o.Object, operator, now)
	if err != nil {
		return nil, err
	}
	in := explain.ScheduleInput{
		Object: o, Kind: o.Kind, Desired: s.Desired, Record: s.Record, Conditions: s.Conditions,
		States: map[string]string{}, Observed: schedule.Observation{Live: true},
		// the operator's time zone is unknown; it is UTC in the operator's image
		Env: schedule.Env{Now: now, Local: time.UTC, Precision: operators.precision(ctx, c)},
	}
	if unread != "" {
		in.Unreadable = append(in.Unreadable, unread)
	}
	if err := c.observeRuns(ctx, o, s, &in); err != nil {
		in.Unreadable = append(in.Unreadable, "runs: "+ForPeople(err).Error())
		in.Observed.Runs = nil
	}
	in.Template = templateErrors(s, in, operator)
	return explain.Schedule(in), nil
}

// observeRuns reads the runs of a schedule, and the drivers of deleted runs.
func (c *Cluster) observeRuns(ctx context.Context, o Object, s kinds.ScheduleReading, in *explain.ScheduleInput) error {
	runs, err := c.Runs(ctx, o, s)
	if err != nil {
		return err
	}
	for _, run := range runs {
		in.Observed.Runs = append(in.Observed.Runs, s.RunOf(run.Object))
		in.States[run.GetName()] = StateName(run.State)
	}
	pods := observe.Reader{Labels: o.Family.Labels, Cache: c, Live: c}
	for _, name := range in.Record.Active {
		if in.States[name] != "" {
			continue
		}
		switch has, err := pods.HasDriver(ctx, o.GetNamespace(), name); {
		case err != nil:
			in.Unreadable = append(in.Unreadable, "pods: "+ForPeople(err).Error())
			return nil
		case has:
			in.Observed.Stopping = append(in.Observed.Stopping, name)
		}
	}
	return nil
}

// Runs lists the existing runs of a schedule.
func (c *Cluster) Runs(ctx context.Context, o Object, s kinds.ScheduleReading) ([]Application, error) {
	all, err := c.Select(ctx, Type{kinds.Of(o.Family.GroupVersionKind())}, labels.SelectorFromSet(s.RunLabels))
	if err != nil {
		return nil, err
	}
	var runs []Application
	for _, run := range all {
		if owned := slices.ContainsFunc(run.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == o.GetUID() }); !owned {
			continue
		}
		application, err := run.Load(run.Object, resolve.Operator{}, time.Time{})
		if err != nil {
			return nil, err
		}
		runs = append(runs, application)
	}
	return runs, nil
}

// templateErrors returns the errors of the next run without the errors of the schedule itself.
func templateErrors(s kinds.ScheduleReading, in explain.ScheduleInput, operator resolve.Operator) []string {
	own := s.Desired.Validate(in.Env.Local)
	if wrong := s.Desired.ValidateTrigger(); wrong != nil {
		own = append(own, wrong)
	}
	known := validation.Sentences(own)
	all := validation.Sentences(admission.DryRunSchedule(s.Desired, s.Run, in.Env, operator.Registry).Errors)
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(known, s) })
}

// precision returns the time unit in the names of runs. It is empty if the operator's configuration is unreadable; this was reported before.
func (i Installation) precision(ctx context.Context, c *Cluster) schedule.Precision {
	found, err := i.configuration(ctx, c)
	if err != nil {
		return ""
	}
	return found.ScheduledSparkApplication.TimestampPrecision
}
