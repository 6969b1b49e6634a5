// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// ScheduleDryRun is what is certain about a schedule, and the run that its next time would create.
type ScheduleDryRun struct {
	admission.ScheduleResult
	// Run is nil if the spec cannot be decoded.
	Run *v1beta2.SparkApplication
}

// DryRunSchedule judges a schedule as the operator would at a time. A schedule that is in no cluster yet is created then.
func DryRunSchedule(o *v1beta2.ScheduledSparkApplication, a Assumed, operator resolve.Operator) ScheduleDryRun {
	o = o.DeepCopy()
	o.UID = cmp.Or(o.UID, DefaultUID)
	o.Namespace = cmp.Or(o.Namespace, a.Namespace, DefaultNamespace)
	if a.Now.IsZero() {
		a.Now = DefaultSubmitTime
	}
	if a.Local == nil {
		a.Local = time.UTC
	}
	if o.CreationTimestamp.IsZero() {
		o.CreationTimestamp = metav1.NewTime(a.Now)
	}
	var result ScheduleDryRun
	run := func(s schedule.Start) resolve.Application {
		result.Run = kubeflow.NewRun(o, s)
		result.Run.SetGroupVersionKind(v1beta2.GroupVersion.WithKind("SparkApplication"))
		result.Run.UID = cmp.Or(a.UID, DefaultUID)
		return resolve.Load(kubeflow.SparkApplications{}, result.Run, lifecycle.Record{}, operator, s.Tick)
	}
	env := schedule.Env{Now: a.Now, Local: a.Local, Precision: schedule.Nanos}
	result.ScheduleResult = admission.DryRunSchedule(kubeflow.DesiredSchedule(o), run, env, operator.Registry)
	return result
}

func checkSchedule(d *Document, a Assumed, operator resolve.Operator) []Finding {
	findings, enough := d.reported(d.Schedule.MalformedSpec, "a schedule needs a name")
	if enough {
		return findings
	}
	forecast := DryRunSchedule(d.Schedule, a, operator)
	findings = append(findings, d.findings(forecast.DryRunResult)...)
	if len(forecast.Errors) == 0 {
		findings = append(findings, Finding{d.LineOf("spec.schedule"), Note, "spec.schedule: " + forecast.Times()})
	}
	return findings
}

// Times says when the next runs are due.
func (f ScheduleDryRun) Times() string {
	times := make([]string, 0, len(f.Next))
	for _, s := range f.Next {
		times = append(times, s.Tick.Format(time.RFC3339))
	}
	text := "the next runs are due at " + strings.Join(times, ", ")
	if len(f.Next) > 0 {
		text += fmt.Sprintf(" (%s)", f.Next[0].Tick.Location())
	}
	return text
}
