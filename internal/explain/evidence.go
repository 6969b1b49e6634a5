// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

func timeOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

func (v view) driver() Driver {
	d := v.Observed.Driver
	out := Driver{Name: d.Name, Presence: string(d.Presence)}
	if d.Presence != lifecycle.Present {
		return out
	}
	out.Ownership, out.Phase, out.Waiting = string(d.Ownership), string(d.Phase), sentence(d.Waiting.Detailed())
	out.Created, out.Scheduled, out.Started = timeOrNil(d.CreatedAt), timeOrNil(d.ScheduledAt), timeOrNil(d.StartedAt)
	out.Disruption = sentence(d.Disruption)
	if d.Deleting {
		out.DeletionDue = timeOrNil(d.GoneAt)
	}
	if d.Phase == lifecycle.DriverFailed {
		out.Exit = d.Exit.String()
	}
	return out
}

// sentence joins a cause's reason and message.
func sentence(c lifecycle.Cause) string {
	if c.Reason == "" || c.Message == "" {
		return string(c.Reason) + c.Message
	}
	return string(c.Reason) + ": " + c.Message
}

// executors returns the counts as the decision would record them: the recorded executors merged with the observed ones.
func (v view) executors() Executors {
	c := v.plan.Record.Counts
	out := Executors{
		Wanted: v.Scope.Desired.Executors, Pending: c.Pending, Running: c.Running, Completed: c.Succeeded, Failed: c.Failed, Unknown: c.Unknown(),
	}
	for _, f := range v.plan.Record.Failures {
		text := f.Name
		if f.ExitCode != nil {
			text += fmt.Sprintf(": exit code %d", *f.ExitCode)
		}
		if f.Reason != "" {
			text += ", " + f.Reason
		}
		out.Failures = append(out.Failures, text)
	}
	return out
}

func (v view) budgets() []Budget {
	var out []Budget
	for _, b := range v.Scope.Desired.Policies.Restart.Budgets(v.before.Retries.Used) {
		if b.Retries == 0 && !b.Unlimited {
			continue
		}
		budget := Budget{Retries: b.Retries, Used: b.Used, Left: b.Left(), Unlimited: b.Unlimited}
		for _, class := range b.Classes {
			budget.Classes = append(budget.Classes, string(class))
		}
		out = append(out, budget)
	}
	return out
}

// fields maps the reasons of deadlines to the deadlines' fields.
var fields = map[lifecycle.Reason]string{
	lifecycle.ReasonQueueTimeout:      "deadlines.queued",
	lifecycle.ReasonSchedulingTimeout: "deadlines.driverScheduled",
	lifecycle.ReasonStartTimeout:      "deadlines.driverStart",
	lifecycle.ReasonNotReadyTimeout:   "deadlines.driverPodReady",
	lifecycle.ReasonReadyTimeout:      "deadlines.driverReady",
	lifecycle.ReasonExecutorsTimeout:  "deadlines.firstExecutors",
	lifecycle.ReasonRunTimeout:        "deadlines.run",
}

func (v view) deadlines() []Deadline {
	var out []Deadline
	for _, t := range lifecycle.Timers(v.Scope.Desired, v.plan.Record, v.Observed.Driver) {
		out = append(out, Deadline{Field: v.field(fields[t.Reason]), Limit: duration.HumanDuration(t.Limit), At: metav1.Time{Time: t.Since.Add(t.Limit)}})
	}
	slices.SortStableFunc(out, func(a, b Deadline) int { return a.At.Compare(b.At.Time) })
	return out
}

// unbounded returns the field that could bound the present wait.
func (v view) unbounded() string {
	reason := lifecycle.WaitsUnbounded(v.Scope.Desired, v.plan.Record, v.Observed.Driver)
	if reason == "" || v.Scope.Desired.NotRun() {
		return ""
	}
	return v.field(fields[reason])
}

// attempts returns the recorded attempts. If the last one has just ended, it has the log that is not recorded yet.
func (v view) attempts() []Attempt {
	var out []Attempt
	ended := v.plan.Record.Current()
	for _, a := range v.before.Attempts {
		if ended != nil && ended.Number == a.Number {
			a.LogTail = ended.LogTail
		}
		if a.Number == v.before.Attempt && a.StartedAt.IsZero() && a.EndedAt.IsZero() && v.Observed.Driver.Phase == lifecycle.DriverRunning {
			a.StartedAt = v.Observed.Driver.StartedAt // the status does not have the time yet
		}
		out = append(out, Attempt{
			Number: a.Number, Started: timeOrNil(a.StartedAt), Ended: timeOrNil(a.EndedAt), ExitCode: a.ExitCode,
			Class: string(a.Class), Reason: string(a.Cause.Reason), Message: a.Cause.Message, LogTail: a.LogTail,
		})
	}
	return out
}

// Usage lists the limits of ResourceQuotas, exhausted ones first.
func Usage(quotas []corev1.ResourceQuota) []Quota {
	var out []Quota
	for _, q := range quotas {
		for name, hard := range q.Status.Hard {
			used := q.Status.Used[name]
			out = append(out, Quota{
				Name: q.Name, Resource: string(name), Used: used.String(), Hard: hard.String(), Exhausted: used.Cmp(hard) >= 0,
			})
		}
	}
	slices.SortFunc(out, func(a, b Quota) int {
		if a.Exhausted != b.Exhausted {
			if a.Exhausted {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Resource, b.Resource))
	})
	return out
}
