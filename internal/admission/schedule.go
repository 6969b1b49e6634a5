// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// ScheduleResult is the result of checks of a schedule without access to the cluster.
type ScheduleResult struct {
	// DryRunResult covers the schedule itself and its next run. It names the fields of the schedule.
	DryRunResult
	// Next are the next runs; empty if the schedule has an error.
	Next []schedule.Start
}

// forecast is the number of runs in Next.
const forecast = 3

// DryRunSchedule checks a schedule and its next run as the operator would. run returns the next run as an application. Messages about it name the fields of
// the template.
func DryRunSchedule(d schedule.Desired, run func(schedule.Start) resolve.Application, env schedule.Env, registry *scheduler.Registry) ScheduleResult {
	r := ScheduleResult{Next: d.Forecast(env.Now, forecast, env)}
	own := d.Validate(env.Local)
	if wrong := d.ValidateTrigger(); wrong != nil && d.Malformed == "" {
		own = append(own, wrong)
	}
	if d.Malformed != "" {
		r.Errors = own
		return r
	}
	// Errors in the template are reported even if the schedule has errors.
	first := schedule.Start{
		Name: schedule.Name(d.Name, env.Now.Truncate(time.Second), env.Precision), Reason: schedule.ReasonSchedule, Tick: env.Now, From: env.Now, To: env.Now,
	}
	if len(r.Next) > 0 {
		first = r.Next[0]
	}
	r.DryRunResult = DryRun(run(first), registry)
	named := slices.ContainsFunc(own, func(e *field.Error) bool { return e.Field == nameField })
	if named { // the name of the run has the same error
		r.Errors = slices.DeleteFunc(r.Errors, func(e *field.Error) bool { return e.Field == nameField })
	}
	r.Errors = append(own, r.Errors...)
	if d.Suspend {
		r.assume("spec.suspend", "no run is started while it is true")
	}
	return r
}

const nameField = "metadata.name"
