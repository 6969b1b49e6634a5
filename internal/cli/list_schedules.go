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

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// scheduleStates are the states of the table. A suspended schedule has a state of its own there.
var scheduleStates = []string{"NEW", string(schedule.Scheduled), "Suspended", string(schedule.FailedValidation)}

var (
	scheduleHeader = []string{"NAME", "SCHEDULE", "TIMEZONE", "STATE", "ACTIVE", "LAST", "NEXT", "REASON", "AGE"}
	scheduleMore   = []string{"LASTRUN", "SKIPPED", "MESSAGE"}
)

// scheduleState reads the stored state of a schedule.
func scheduleState(o *unstructured.Unstructured) string {
	return scheduleWord(schedule.State(nested(o.Object, "status", "scheduleState")), suspended(o))
}

func scheduleWord(state schedule.State, suspended bool) string {
	if suspended && state == schedule.Scheduled {
		return "Suspended"
	}
	return inspect.StateName(string(state))
}

// scheduleRow returns the line of a schedule.
func scheduleRow(o inspect.Object, now time.Time, wide bool) ([]string, error) {
	s, err := o.LoadSchedule(o.Object, resolve.Operator{}, now)
	if err != nil {
		return nil, err
	}
	desired, record := s.Desired, s.Record
	last, next := "-", "-"
	if at := record.LastRun; !at.IsZero() {
		last = duration.HumanDuration(max(0, now.Sub(at))) + " ago"
	}
	if at := record.NextRun; !at.IsZero() && !desired.Suspend {
		next = "in " + duration.HumanDuration(max(0, at.Sub(now)))
	}
	reason, message := scheduleCause(s.Conditions)
	cells := []string{
		o.GetName(), dash(desired.Schedule), dash(desired.TimeZone), scheduleWord(record.State, desired.Suspend), strconv.Itoa(len(record.Active)),
		last, next, dash(reason), duration.HumanDuration(now.Sub(o.GetCreationTimestamp().Time)),
	}
	if !wide {
		return cells, nil
	}
	return append(cells, dash(record.LastRunName), strconv.FormatInt(record.Skips, 10), dash(firstLine(cmp.Or(message, record.Error)))), nil
}

// scheduleCause returns the reason and message of the condition that explains a missing run; both are "" if all runs start.
func scheduleCause(all []metav1.Condition) (reason, message string) {
	if c := meta.FindStatusCondition(all, schedule.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason, c.Message
	}
	if c := meta.FindStatusCondition(all, schedule.ConditionScheduled); c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason, c.Message
	}
	if c := meta.FindStatusCondition(all, schedule.ConditionRunActive); c != nil && c.Status == metav1.ConditionTrue &&
		c.Reason != string(schedule.ReasonRunsActive) {
		return c.Reason, c.Message
	}
	return "", ""
}
