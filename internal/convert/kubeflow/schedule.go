// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/hints"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// ScheduleKind is the kind of schedules.
const ScheduleKind = "ScheduledSparkApplication"

// Schedules translates ScheduledSparkApplications and their runs.
type Schedules struct{}

// GroupVersionKind returns the kind of schedules.
func (Schedules) GroupVersionKind() schema.GroupVersionKind {
	return v1beta2.SchemeGroupVersion.WithKind(ScheduleKind)
}

// Family describes runs to the core.
func (Schedules) Family() lifecycle.Family { return sparkApplications }

// New returns an empty schedule.
func (Schedules) New() *v1beta2.ScheduledSparkApplication {
	return &v1beta2.ScheduledSparkApplication{}
}

// EmptyRun returns an empty run.
func (Schedules) EmptyRun() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} }

// Load returns the desired state of a schedule, and its record.
func (Schedules) Load(o *v1beta2.ScheduledSparkApplication) (schedule.Desired, schedule.Record) {
	return DesiredSchedule(o), ScheduleRecord(&o.Status)
}

// State returns the state of a schedule in metrics.
func (Schedules) State(o *v1beta2.ScheduledSparkApplication) string {
	switch {
	case o.Status.ScheduleState == v1beta2.ScheduleStateNew:
		return "New"
	case o.Status.ScheduleState == v1beta2.ScheduleStateScheduled && ptr.Deref(o.Spec.Suspend, false):
		return "Suspended"
	}
	return string(o.Status.ScheduleState)
}

// DesiredSchedule returns the desired state of a schedule.
func DesiredSchedule(o *v1beta2.ScheduledSparkApplication) schedule.Desired {
	spec := &o.Spec
	d := schedule.Desired{
		Name: o.Name, UID: string(o.UID), Generation: o.Generation, Created: o.CreationTimestamp.Time, Malformed: o.MalformedSpec,
		Schedule: spec.Schedule, TimeZone: spec.TimeZone, Suspend: ptr.Deref(spec.Suspend, false),
		Concurrency: string(spec.ConcurrencyPolicy), Missed: string(spec.MissedRunPolicy),
		KeepSucceeded: ptr.Deref(spec.SuccessfulRunHistoryLimit, 1), KeepFailed: ptr.Deref(spec.FailedRunHistoryLimit, 1),
		Jitter: secondsLong(ptr.Deref(spec.JitterSeconds, 0)), Trigger: o.Annotations[v1beta2.AnnotationTriggerAt], Texts: textsOf(&spec.Template),
		Unknown: meant(o.UnknownFields),
	}
	if s := spec.StartingDeadlineSeconds; s != nil {
		d.Deadline = ptr.To(secondsLong(*s))
	}
	if b := spec.Backfill; b != nil {
		d.Backfill = &schedule.Backfill{From: seconds(b.From.Time).Time, To: seconds(b.To.Time).Time, MaxActive: ptr.Deref(b.MaxActive, 0)}
	}
	return d
}

// secondsLong converts seconds to a duration. Too many seconds become the longest duration.
func secondsLong(n int64) time.Duration {
	const limit = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(n, -limit), limit)) * time.Second
}

// textsOf returns the texts of a template in which variables are replaced.
func textsOf(t *v1beta2.SparkApplicationSpec) []schedule.Text {
	var all []schedule.Text
	for i, argument := range t.Arguments {
		all = append(all, schedule.Text{Path: fmt.Sprintf("spec.template.arguments[%d]", i), Value: argument})
	}
	for _, conf := range []struct {
		field  string
		values map[string]string
	}{{"sparkConf", t.SparkConf}, {"hadoopConf", t.HadoopConf}} {
		for _, key := range slices.Sorted(maps.Keys(conf.values)) {
			all = append(all, schedule.Text{Path: fmt.Sprintf("spec.template.%s[%q]", conf.field, key), Value: conf.values[key]})
		}
	}
	return all
}

// RunLabels returns the labels that select the runs of a schedule.
func (Schedules) RunLabels(name string) map[string]string {
	return map[string]string{v1beta2.LabelScheduledAppName: name}
}

// NewRun returns the application of a run, with the submitter of its schedule. Admission accepts a submitter that the operator sets.
func (Schedules) NewRun(o *v1beta2.ScheduledSparkApplication, s schedule.Start, recorded lifecycle.Submitters) *v1beta2.SparkApplication {
	run, submitter := NewRun(o, s), scheduleSubmitter(o, recorded)
	if submitter == nil {
		return run
	}
	run.Annotations[v1beta2.AnnotationSubmitter] = submitter.User
	if len(submitter.Groups) > 0 {
		run.Annotations[v1beta2.AnnotationSubmitterGroups] = strings.Join(submitter.Groups, "\n")
	}
	return run
}

// scheduleSubmitter returns the user who created a schedule, as recorded at its first reconcile.
func scheduleSubmitter(o *v1beta2.ScheduledSparkApplication, recorded lifecycle.Submitters) *v1beta2.SubmitterStatus {
	if o.Status.ObservedGeneration != 0 || o.Status.ScheduleState != v1beta2.ScheduleStateNew {
		return o.Status.Submitter
	}
	return projectSubmitter(recorded.Of(o, submitterKeys))
}

// NewRun returns the application of a run.
func NewRun(o *v1beta2.ScheduledSparkApplication, s schedule.Start) *v1beta2.SparkApplication {
	labels := maps.Clone(o.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, Schedules{}.RunLabels(o.Name))
	run := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: s.Name, Labels: labels,
			Annotations: map[string]string{
				v1beta2.AnnotationScheduledTime: s.Tick.Format(time.RFC3339), v1beta2.AnnotationRunReason: string(s.Reason),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1beta2.SchemeGroupVersion.String(), Kind: ScheduleKind, Name: o.Name, UID: o.UID, BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: *o.Spec.Template.DeepCopy(),
	}
	for _, field := range o.UnknownFields { // a dry run reports unknown fields; the API server does not receive them
		if rest, ok := strings.CutPrefix(field, "spec.template."); ok {
			run.UnknownFields = append(run.UnknownFields, "spec."+rest)
		}
	}
	for i, argument := range run.Spec.Arguments {
		run.Spec.Arguments[i] = s.Expand(argument)
	}
	for _, conf := range []map[string]string{run.Spec.SparkConf, run.Spec.HadoopConf} {
		for key, value := range conf {
			conf[key] = s.Expand(value)
		}
	}
	return run
}

// ScheduleOf returns the name and UID of the schedule that a run belongs to.
func (Schedules) ScheduleOf(app metav1.Object) (name, uid string, isRun bool) {
	for _, owner := range app.GetOwnerReferences() {
		if owner.Kind == ScheduleKind {
			return owner.Name, string(owner.UID), true
		}
	}
	return "", "", false
}

// RunOf returns the part of a run that its schedule needs.
func (Schedules) RunOf(app *v1beta2.SparkApplication) schedule.Run { return RunOf(app) }

// RunOf returns the part of a run that its schedule needs.
func RunOf(app *v1beta2.SparkApplication) schedule.Run {
	run := schedule.Run{
		Name: app.Name, UID: string(app.UID), Version: app.ResourceVersion, Created: app.CreationTimestamp.Time,
		Deleting: !app.DeletionTimestamp.IsZero(), Phase: phaseOf(app),
	}
	if at, err := time.Parse(time.RFC3339, app.Annotations[v1beta2.AnnotationScheduledTime]); err == nil {
		run.Tick, run.Reason = at, schedule.RunReason(app.Annotations[v1beta2.AnnotationRunReason])
	}
	return run
}

// phaseOf returns the phase of a run.
func phaseOf(app *v1beta2.SparkApplication) schedule.Phase {
	switch app.Status.AppState.State {
	case v1beta2.ApplicationStateCompleted:
		return schedule.Succeeded
	case v1beta2.ApplicationStateFailed:
		return schedule.Failed
	default:
		return schedule.Active
	}
}

// ScheduleRecord reads the record from the status that ToStatus or the Kubeflow operator wrote.
func ScheduleRecord(s *v1beta2.ScheduledSparkApplicationStatus) schedule.Record {
	r := schedule.Record{
		State: schedule.State(s.ScheduleState), Error: s.Reason, Generation: s.ObservedGeneration,
		Key: s.Scheduled, Since: timeOf(s.ScheduledSince), LastTick: timeOf(s.LastScheduledTime), Replacing: timeOf(s.ReplacingFor),
		LastRun: s.LastRun.Time, NextRun: s.NextRun.Time, LastRunName: s.LastRunName,
		Active: s.Active, Succeeded: s.PastSuccessfulRunNames, Failed: s.PastFailedRunNames,
		Skips: s.SkippedRuns, LastSkipped: timeOf(s.LastSkipped), LastSkipReason: schedule.SkipReason(s.LastSkippedReason),
		LastTrigger: timeOf(s.LastTrigger),
	}
	if b := s.Backfill; b != nil {
		r.Backfill = &schedule.Progress{From: b.From.Time, To: b.To.Time, Next: timeOf(b.Next), Started: b.Started, Failed: b.Failed}
	}
	if c := meta.FindStatusCondition(s.Conditions, schedule.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		r.StalledBy = schedule.Reason(c.Reason)
		if r.StalledBy == schedule.ReasonNameConflict || r.StalledBy == schedule.ReasonRunRefused {
			r.Trouble = schedule.Trouble{Reason: r.StalledBy, Message: c.Message, Since: c.LastTransitionTime.Time}
		}
	}
	return r
}

// ToStatus returns a copy of the schedule with the status for the outcome; changed is false if the status stays the same.
func (Schedules) ToStatus(o *v1beta2.ScheduledSparkApplication, outcome schedule.Outcome, recorded lifecycle.Submitters,
	now time.Time) (next *v1beta2.ScheduledSparkApplication, changed bool) {
	status := scheduleStatus(&o.Status, outcome, now)
	status.Submitter = scheduleSubmitter(o, recorded)
	if equality.Semantic.DeepEqual(&o.Status, &status) {
		return o, false
	}
	next = o.DeepCopy()
	next.Status = status
	return next, true
}

// scheduleStatus returns the status for an outcome. Changed conditions get now as their transition time.
func scheduleStatus(old *v1beta2.ScheduledSparkApplicationStatus, o schedule.Outcome, now time.Time) v1beta2.ScheduledSparkApplicationStatus {
	s := *old.DeepCopy()
	r := o.Record
	s.ScheduleState, s.Reason, s.ObservedGeneration = v1beta2.ScheduleState(r.State), r.Error, r.Generation
	s.LastRun, s.NextRun, s.LastRunName = seconds(r.LastRun), seconds(r.NextRun), r.LastRunName
	s.Active, s.PastSuccessfulRunNames, s.PastFailedRunNames = r.Active, r.Succeeded, r.Failed
	s.Scheduled, s.ScheduledSince, s.LastScheduledTime = r.Key, secondsOrNil(r.Since), secondsOrNil(r.LastTick)
	s.ReplacingFor = secondsOrNil(r.Replacing)
	s.SkippedRuns, s.LastSkipped, s.LastSkippedReason = r.Skips, secondsOrNil(r.LastSkipped), string(r.LastSkipReason)
	s.LastTrigger = secondsOrNil(r.LastTrigger)
	s.Backfill = nil
	if b := r.Backfill; b != nil {
		s.Backfill = &v1beta2.ScheduleBackfillStatus{From: seconds(b.From), To: seconds(b.To), Next: secondsOrNil(b.Next), Started: b.Started, Failed: b.Failed}
	}
	for _, c := range o.Conditions {
		next := metav1.Condition{
			Type: c.Type, Status: metav1.ConditionFalse, Reason: string(c.Reason), Message: c.Message,
			ObservedGeneration: r.Generation, LastTransitionTime: seconds(now),
		}
		if c.True {
			next.Status = metav1.ConditionTrue
		}
		// The age of the reason decides when a failing run is given up, so a new reason gets a new time.
		if last := meta.FindStatusCondition(s.Conditions, c.Type); last != nil && last.Reason != next.Reason && c.Type == schedule.ConditionStalled {
			last.LastTransitionTime = next.LastTransitionTime
		}
		meta.SetStatusCondition(&s.Conditions, next)
	}
	return s
}

// meant returns the unknown fields of a schedule, each with a suggestion.
func meant(fields []string) []string {
	var all []string
	for _, path := range fields {
		if question := hints.Field(reflect.TypeFor[v1beta2.ScheduledSparkApplication](), path, nil); question != "" {
			path += " (" + question + ")"
		}
		all = append(all, path)
	}
	return all
}
