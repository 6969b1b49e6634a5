// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

func nightly() *v1beta2.ScheduledSparkApplication {
	return &v1beta2.ScheduledSparkApplication{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "jobs", Name: "nightly", UID: "u", Generation: 3, CreationTimestamp: metav1.NewTime(noon),
			Labels: map[string]string{"team": "a"}, Annotations: map[string]string{v1beta2.AnnotationTriggerAt: "2026-01-01T00:00:00Z", "note": "x"},
		},
		Spec: v1beta2.ScheduledSparkApplicationSpec{
			Schedule: "0 6 * * *", TimeZone: "Europe/Berlin", ConcurrencyPolicy: v1beta2.ConcurrencyForbid,
			Template: v1beta2.SparkApplicationSpec{
				Arguments:  []string{"--day", "$(SCHEDULED_TIME_DATE)"},
				SparkConf:  map[string]string{"spark.x": "$(DATA_INTERVAL_START_UNIX)"},
				HadoopConf: map[string]string{"y": "$$(SCHEDULED_TIME)"},
			},
		},
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestDesiredSchedule(t *testing.T) {
	o := nightly()
	want := schedule.Desired{
		Name: "nightly", UID: "u", Generation: 3, Created: noon, Schedule: "0 6 * * *", TimeZone: "Europe/Berlin", Concurrency: schedule.Forbid,
		KeepSucceeded: 1, KeepFailed: 1, Trigger: "2026-01-01T00:00:00Z", Texts: []schedule.Text{
			{Path: "spec.template.arguments[0]", Value: "--day"}, {Path: "spec.template.arguments[1]", Value: "$(SCHEDULED_TIME_DATE)"},
			{Path: `spec.template.sparkConf["spark.x"]`, Value: "$(DATA_INTERVAL_START_UNIX)"}, {Path: `spec.template.hadoopConf["y"]`, Value: "$$(SCHEDULED_TIME)"},
		},
	}
	if diff := cmp.Diff(want, DesiredSchedule(o)); diff != "" {
		t.Errorf("the usual (-want +got):\n%s", diff)
	}
	o.MalformedSpec = "bad"
	o.Spec.Template = v1beta2.SparkApplicationSpec{}
	o.Spec.Suspend, o.Spec.SuccessfulRunHistoryLimit, o.Spec.FailedRunHistoryLimit = new(true), new(int32(0)), new(int32(7))
	o.Spec.StartingDeadlineSeconds, o.Spec.JitterSeconds, o.Spec.MissedRunPolicy = new(int64(90)), new(int64(1)<<62), v1beta2.MissedRunSkip
	o.Spec.Backfill = &v1beta2.ScheduleBackfill{From: metav1.NewTime(noon), To: metav1.NewTime(noon.Add(time.Hour)), MaxActive: new(int32(4))}
	want.Malformed, want.Texts, want.Suspend, want.KeepSucceeded, want.KeepFailed = "bad", nil, true, 0, 7
	want.Deadline, want.Missed = new(90*time.Second), schedule.Skip
	want.Backfill = &schedule.Backfill{From: noon, To: noon.Add(time.Hour), MaxActive: 4}
	got := DesiredSchedule(o)
	if got.Jitter < 24*time.Hour {
		t.Errorf("more seconds than there are: %s", got.Jitter)
	}
	got.Jitter = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("everything (-want +got):\n%s", diff)
	}
}

func TestNewRun(t *testing.T) {
	o := nightly()
	berlin, _ := time.LoadLocation("Europe/Berlin")
	s := schedule.Start{Name: "nightly-1", Reason: schedule.ReasonSchedule, Tick: noon.In(berlin), From: noon.Add(-time.Hour), To: noon}
	run := NewRun(o, s)
	want := metav1.ObjectMeta{
		Namespace: "jobs", Name: "nightly-1", Labels: map[string]string{"team": "a", v1beta2.LabelScheduledAppName: "nightly"},
		Annotations: map[string]string{v1beta2.AnnotationScheduledTime: "2026-01-01T13:00:00+01:00", v1beta2.AnnotationRunReason: "Schedule"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "ScheduledSparkApplication", Name: "nightly", UID: "u", BlockOwnerDeletion: new(true),
		}},
	}
	if diff := cmp.Diff(want, run.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	spec := v1beta2.SparkApplicationSpec{
		Arguments: []string{"--day", "2026-01-01"}, SparkConf: map[string]string{"spark.x": "1767265200"}, HadoopConf: map[string]string{"y": "$(SCHEDULED_TIME)"},
	}
	if diff := cmp.Diff(spec, run.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if o.Spec.Template.Arguments[1] != "$(SCHEDULED_TIME_DATE)" || len(o.Labels) != 1 {
		t.Error("the schedule is changed")
	}
	back := RunOf(run)
	if !s.Is(back) || back.Reason != schedule.ReasonSchedule {
		t.Errorf("the run is not recognized: %+v", back)
	}
	if name, uid, is := (Schedules{}).ScheduleOf(run); name != "nightly" || uid != "u" || !is {
		t.Errorf("the run is of %s %s", name, uid)
	}
	if _, _, is := (Schedules{}).ScheduleOf(&v1beta2.SparkApplication{}); is {
		t.Error("an application without owner is a run")
	}
}

func TestRunOf(t *testing.T) {
	for state, want := range map[v1beta2.ApplicationStateType]schedule.Phase{
		v1beta2.ApplicationStateNew: schedule.Active, v1beta2.ApplicationStateSubmitted: schedule.Active, v1beta2.ApplicationStateRunning: schedule.Active,
		v1beta2.ApplicationStatePendingRerun: schedule.Active, v1beta2.ApplicationStateInvalidating: schedule.Active, v1beta2.ApplicationStateSuspended: schedule.Active,
		v1beta2.ApplicationStateSucceeding: schedule.Active, v1beta2.ApplicationStateFailing: schedule.Active, v1beta2.ApplicationStateSubmissionFailed: schedule.Active,
		v1beta2.ApplicationStateCompleted: schedule.Succeeded, v1beta2.ApplicationStateFailed: schedule.Failed,
	} {
		o := &v1beta2.SparkApplication{Status: v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: state}}}
		if got := RunOf(o); got.Phase != want || got.Reason != "" || !got.Tick.IsZero() {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

func TestScheduleStatusRoundTrip(t *testing.T) {
	record := schedule.Record{
		State: schedule.Scheduled, Generation: 3, Key: "CRON_TZ=Europe/Berlin 0 6 * * *", Since: noon, LastTick: noon.Add(time.Hour), LastRun: noon.Add(2 * time.Hour),
		NextRun: noon.Add(3 * time.Hour), LastRunName: "a", Active: []string{"a"}, Succeeded: []string{"b"}, Failed: []string{"c"},
		Skips: 4, LastSkipped: noon, LastSkipReason: schedule.SkipMissed, LastTrigger: noon.Add(time.Minute),
		Backfill: &schedule.Progress{From: noon, To: noon.Add(time.Hour), Next: noon.Add(time.Minute), Started: 2},
		Trouble:  schedule.Trouble{Reason: schedule.ReasonRunRefused, Message: "no", Since: noon}, StalledBy: schedule.ReasonRunRefused,
	}
	o := schedule.Outcome{Record: record, Conditions: []schedule.Condition{
		{Type: schedule.ConditionScheduled, True: true, Reason: schedule.ReasonOnSchedule, Message: "x"},
		{Type: schedule.ConditionStalled, True: true, Reason: schedule.ReasonRunRefused, Message: "no"},
	}}
	status := scheduleStatus(&v1beta2.ScheduledSparkApplicationStatus{}, o, noon)
	if diff := cmp.Diff(record, ScheduleRecord(&status)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := scheduleStatus(&status, o, noon.Add(time.Hour))
	if diff := cmp.Diff(status, again); diff != "" {
		t.Errorf("the same later is another status:\n%s", diff)
	}

	o.Conditions[1].Reason = schedule.ReasonNameConflict
	changed := scheduleStatus(&status, o, noon.Add(time.Hour))
	if got := ScheduleRecord(&changed).Trouble.Since; !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("another trouble is there since %s", got)
	}
	o.Record.Backfill, o.Record.State, o.Record.Error = nil, schedule.FailedValidation, "wrong"
	o.Conditions[1] = schedule.Condition{Type: schedule.ConditionStalled, True: true, Reason: schedule.ReasonInvalidSchedule, Message: "wrong"}
	wrong := scheduleStatus(&status, o, noon)
	got := ScheduleRecord(&wrong)
	if wrong.Backfill != nil || wrong.ScheduleState != v1beta2.ScheduleStateFailedValidation || !strings.Contains(wrong.Reason, "wrong") || got.Trouble.Reason != "" || got.StalledBy != schedule.ReasonInvalidSchedule {
		t.Errorf("%+v", wrong)
	}
}

// What the Kubeflow operator has stored.
func TestScheduleRecordOfKubeflow(t *testing.T) {
	got := ScheduleRecord(&v1beta2.ScheduledSparkApplicationStatus{
		LastRun: metav1.NewTime(noon), NextRun: metav1.NewTime(noon.Add(time.Hour)), LastRunName: "a", PastSuccessfulRunNames: []string{"b"}, ScheduleState: v1beta2.ScheduleStateScheduled,
	})
	want := schedule.Record{State: schedule.Scheduled, LastRun: noon, NextRun: noon.Add(time.Hour), LastRunName: "a", Succeeded: []string{"b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A backfill is what its status says of it: times of statuses are whole seconds, and one that differs begins again.
func TestBackfillOfFractionsOfSeconds(t *testing.T) {
	o := &v1beta2.ScheduledSparkApplication{}
	from := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 500_000_000, time.UTC))
	o.Spec.Backfill = &v1beta2.ScheduleBackfill{From: from, To: metav1.NewTime(from.Add(time.Hour))}
	d := DesiredSchedule(o)
	record := schedule.Record{Backfill: &schedule.Progress{From: d.Backfill.From, To: d.Backfill.To}}
	status := scheduleStatus(&o.Status, schedule.Outcome{Record: record}, time.Unix(0, 0))
	if b := ScheduleRecord(&status).Backfill; !b.From.Equal(d.Backfill.From) || !b.To.Equal(d.Backfill.To) {
		t.Errorf("the status says %v to %v, want %v to %v", b.From, b.To, d.Backfill.From, d.Backfill.To)
	}
}
