// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// scheduleCase is a schedule and its runs, at a time.
type scheduleCase struct {
	*v1beta2.ScheduledSparkApplication
	in ScheduleInput
}

// atNoon is a schedule of the nights of Berlin, looked at on a noon, as the operator has left it in the morning.
func atNoon(changes ...func(*scheduleCase)) ScheduleInput {
	now := time.Date(2026, 3, 10, 11, 0, 0, 0, time.UTC)
	tick := metav1.NewTime(time.Date(2026, 3, 10, 1, 30, 0, 0, time.UTC))
	o := &v1beta2.ScheduledSparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "nightly", UID: "u", Generation: 2, CreationTimestamp: metav1.NewTime(now.Add(-72 * time.Hour))},
		Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: "30 2 * * *", TimeZone: "Europe/Berlin", Template: testutil.Pi().Spec},
		Status: v1beta2.ScheduledSparkApplicationStatus{
			ScheduleState: v1beta2.ScheduleStateScheduled, ObservedGeneration: 2, Scheduled: schedule.Key("30 2 * * *", "Europe/Berlin"),
			ScheduledSince: ptr.To(metav1.NewTime(now.Add(-72 * time.Hour))), LastScheduledTime: &tick,
			LastRun: metav1.NewTime(tick.Add(2 * time.Second)), LastRunName: "nightly-1",
		},
	}
	c := &scheduleCase{o, ScheduleInput{
		Kind: kubeflow.ScheduleKind, States: map[string]string{}, Observed: schedule.Observation{Live: true},
		Env: schedule.Env{Now: now, Local: time.UTC, Precision: schedule.Minutes},
	}}
	c.run("nightly-1", tick.Time, schedule.ReasonSchedule, "COMPLETED")
	for _, change := range changes {
		change(c)
	}
	in := c.in
	in.Object, in.Desired, in.Record, in.Conditions = o, kubeflow.DesiredSchedule(o), kubeflow.ScheduleRecord(&o.Status), o.Status.Conditions
	return in
}

// run adds a run that was started at its time.
func (c *scheduleCase) run(name string, tick time.Time, reason schedule.RunReason, state v1beta2.ApplicationStateType) {
	app := &v1beta2.SparkApplication{}
	app.Status.AppState.State = state
	c.in.Observed.Runs = append(c.in.Observed.Runs, schedule.Run{
		Name: name, UID: name, Reason: reason, Tick: tick, Created: tick.Add(2 * time.Second), Phase: kubeflow.RunOf(app).Phase,
	})
	c.in.States[name] = string(state)
	if c.in.Observed.Runs[len(c.in.Observed.Runs)-1].Phase == schedule.Active {
		c.Status.Active = append(c.Status.Active, name)
	}
}

// behindBy leaves some nights to be dealt with: the last run is that of an earlier one, and goes on.
func behindBy(nights int) func(*scheduleCase) {
	return func(c *scheduleCase) {
		tick := c.Status.LastScheduledTime.AddDate(0, 0, -nights)
		c.Status.LastScheduledTime = ptr.To(metav1.NewTime(tick))
		c.Status.LastRun, c.in.Observed.Runs = metav1.NewTime(tick.Add(2*time.Second)), nil
		c.run("nightly-1", tick, schedule.ReasonSchedule, v1beta2.ApplicationStateRunning)
	}
}

func stalled(reason, message string) func(*scheduleCase) {
	return func(c *scheduleCase) {
		c.Status.Conditions = []metav1.Condition{{
			Type: schedule.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(c.in.Env.Now.Add(-time.Minute)),
		}}
	}
}

// scheduleSituations are what a user may ask about. Each is a golden text of its name.
func scheduleSituations() map[string]ScheduleInput {
	return map[string]ScheduleInput{
		"waits-for-its-time": atNoon(),
		"new": atNoon(func(c *scheduleCase) {
			c.Status, c.in.Observed.Runs, c.CreationTimestamp = v1beta2.ScheduledSparkApplicationStatus{}, nil, metav1.NewTime(c.in.Env.Now.Add(-time.Second))
		}),
		"changed-and-failed": atNoon(func(c *scheduleCase) {
			c.Generation, c.Spec.Schedule, c.in.Observed.Runs = 3, "0 * * * *", nil
			c.run("nightly-1", c.Status.LastScheduledTime.Time, schedule.ReasonSchedule, v1beta2.ApplicationStateFailed)
		}),
		"suspended-with-skips": atNoon(func(c *scheduleCase) {
			c.Spec.Suspend, c.Status.SkippedRuns, c.Status.LastSkippedReason = ptr.To(true), 12, string(schedule.SkipDeadline)
			c.Status.LastSkipped = c.Status.LastScheduledTime
		}),
		"forbid": atNoon(behindBy(1), func(c *scheduleCase) { c.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyForbid }),
		"replace": atNoon(behindBy(1), func(c *scheduleCase) {
			c.Spec.ConcurrencyPolicy, c.Status.ReplacingFor = v1beta2.ConcurrencyReplace, &metav1.Time{Time: time.Date(2026, 3, 10, 1, 30, 0, 0, time.UTC)}
		}),
		"replace-gone": atNoon(behindBy(1), func(c *scheduleCase) {
			c.Spec.ConcurrencyPolicy, c.in.Observed.Runs, c.in.Observed.Stopping = v1beta2.ConcurrencyReplace, nil, []string{"nightly-1"}
		}),
		"due-after-an-absence": atNoon(behindBy(2), func(c *scheduleCase) { c.Spec.MissedRunPolicy = v1beta2.MissedRunLatest }),
		"invalid": atNoon(func(c *scheduleCase) {
			c.Spec.Schedule, c.Spec.ConcurrencyPolicy, c.Status.ScheduleState = "30 25 * * *", "Never", v1beta2.ScheduleStateFailedValidation
		}),
		"malformed": atNoon(func(c *scheduleCase) {
			c.MalformedSpec, c.Spec = "cannot be decoded", v1beta2.ScheduledSparkApplicationSpec{}
		}),
		"name-conflict":   atNoon(behindBy(1), stalled("NameConflict", "SparkApplication nightly-29553690 already exists and is not the run of 2026-03-10T01:30:00Z; delete or rename it")),
		"refused":         atNoon(behindBy(1), stalled("RunRefused", `the API server refuses run nightly-29553690: admission webhook "x" denied the request: no`)),
		"invalid-trigger": atNoon(func(c *scheduleCase) { c.Annotations = map[string]string{v1beta2.AnnotationTriggerAt: "now"} }),
		"triggered": atNoon(func(c *scheduleCase) {
			c.Annotations = map[string]string{v1beta2.AnnotationTriggerAt: "2026-03-10T10:59:59Z"}
		}),
		"backfill": atNoon(func(c *scheduleCase) {
			from, to := metav1.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), metav1.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			c.Spec.Backfill = &v1beta2.ScheduleBackfill{From: from, To: to, MaxActive: ptr.To[int32](1)}
			c.Status.Backfill = &v1beta2.ScheduleBackfillStatus{From: from, To: to, Started: 3, Next: ptr.To(metav1.Date(2026, 2, 4, 1, 30, 0, 0, time.UTC))}
			c.run("nightly-3", time.Date(2026, 2, 3, 1, 30, 0, 0, time.UTC), schedule.ReasonBackfill, v1beta2.ApplicationStateRunning)
		}),
		"with-jitter": atNoon(func(c *scheduleCase) { c.Spec.JitterSeconds, c.in.Env.Precision = ptr.To[int64](3600), "" }),
		"template-is-wrong": atNoon(func(c *scheduleCase) {
			c.in.Template, c.in.Unreadable = []string{`spec.template.driver.memory: "2gb": not a heap size`}, []string{"runs: you may not"}
		}),
	}
}

func TestExplainSchedule(t *testing.T) {
	for name, in := range scheduleSituations() {
		t.Run(name, func(t *testing.T) {
			report := Schedule(in)
			testutil.Golden(t, "testdata/schedules/"+name+".txt", report.Text())
			text, err := json.Marshal(report)
			if err != nil || !strings.Contains(string(text), report.Decision.Sentence[:5]) {
				t.Errorf("JSON %s, %v", text, err)
			}
		})
	}
}

// Every reason for which a run is skipped is said in a sentence.
func TestEverySkipIsExplained(t *testing.T) {
	for _, reason := range schedule.SkipReasons() {
		if whySkipped[reason] == "" {
			t.Errorf("%s has no words", reason)
		}
	}
}
