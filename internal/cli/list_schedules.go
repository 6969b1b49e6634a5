// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// scheduleStates are the states of the table: a schedule that is suspended is not one that starts runs.
var scheduleStates = []string{"NEW", string(v1beta2.ScheduleStateScheduled), "Suspended", string(v1beta2.ScheduleStateFailedValidation)}

var (
	scheduleHeader = []string{"NAME", "SCHEDULE", "TIMEZONE", "STATE", "ACTIVE", "LAST", "NEXT", "REASON", "AGE"}
	scheduleMore   = []string{"LASTRUN", "SKIPPED", "MESSAGE"}
)

// scheduleState is the state of a schedule as it is stored.
func scheduleState(o *unstructured.Unstructured) string {
	state := inspect.StateName(nested(o.Object, "status", "scheduleState"))
	if suspended(o) && state == string(v1beta2.ScheduleStateScheduled) {
		return "Suspended"
	}
	return state
}

// scheduleRow is the line of a schedule.
func scheduleRow(stored inspect.Object, now time.Time, wide bool) ([]string, error) {
	decoded, err := stored.Decoded(stored.Object)
	if err != nil {
		return nil, err
	}
	o := decoded.(*v1beta2.ScheduledSparkApplication)
	state := inspect.StateName(string(o.Status.ScheduleState))
	stopped := o.Spec.Suspend != nil && *o.Spec.Suspend
	if stopped && o.Status.ScheduleState == v1beta2.ScheduleStateScheduled {
		state = "Suspended"
	}
	last, next := "-", "-"
	if at := o.Status.LastRun.Time; !at.IsZero() {
		last = duration.HumanDuration(max(0, now.Sub(at))) + " ago"
	}
	if at := o.Status.NextRun.Time; !at.IsZero() && !stopped {
		next = "in " + duration.HumanDuration(max(0, at.Sub(now)))
	}
	reason, message := scheduleCause(o.Status.Conditions)
	cells := []string{
		o.Name, dash(o.Spec.Schedule), dash(o.Spec.TimeZone), state, strconv.Itoa(len(o.Status.Active)), last, next, dash(reason),
		duration.HumanDuration(now.Sub(o.CreationTimestamp.Time)),
	}
	if !wide {
		return cells, nil
	}
	return append(cells, dash(o.Status.LastRunName), strconv.FormatInt(o.Status.SkippedRuns, 10), dash(firstLine(cmp.Or(message, o.Status.Reason)))), nil
}

// scheduleCause is why no run starts that should, from the conditions; empty if all is well.
func scheduleCause(all []metav1.Condition) (reason, message string) {
	if c := meta.FindStatusCondition(all, schedule.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason, c.Message
	}
	if c := meta.FindStatusCondition(all, schedule.ConditionScheduled); c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason, c.Message
	}
	if c := meta.FindStatusCondition(all, schedule.ConditionRunActive); c != nil && c.Status == metav1.ConditionTrue && c.Reason != string(schedule.ReasonRunsActive) {
		return c.Reason, c.Message
	}
	return "", ""
}
