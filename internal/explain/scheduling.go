// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Reserved is the state of an attempt in its batch scheduler, without the verdict.
type Reserved struct {
	// Choice is the scheduler and the queue that an unrecorded attempt would get.
	Choice scheduler.Choice
	// Requested is the sum of the requests of the driver and the initial executors.
	Requested corev1.ResourceList
	// Group is the kind and name of the attempt's object in the scheduler. Phase is the object's phase.
	Group, Phase string
	// Made is set if all scheduler objects of the attempt exist.
	Made bool
}

// Scheduling is the state of the application in the batch scheduler.
type Scheduling struct {
	// Scheduler and Queue are the choice. Source is where it comes from.
	Scheduler string `json:"scheduler,omitempty"`
	Source    string `json:"source,omitempty"`
	Queue     string `json:"queue,omitempty"`
	// PodScheduler is the schedulerName of the pods, if no plugin is responsible for it.
	PodScheduler string `json:"podScheduler,omitempty"`
	// Verdict is Admit, Wait, Reject or Unavailable. For a submitted driver it is Wait, Refused, Evicted or Withdrew. It is "" if the scheduler was not asked
	// or did not answer.
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Warning is the scheduler's warning, recorded at admission or given now.
	Warning string `json:"warning,omitempty"`
	// Group is the attempt's object in the scheduler. GroupPhase is "" if the object was not read.
	Group      string `json:"group,omitempty"`
	GroupPhase string `json:"groupPhase,omitempty"`
	// Requested is the sum of the requests of the driver and the initial executors.
	Requested corev1.ResourceList `json:"asked,omitempty"`
	// QueuedAt is when the attempt began to wait for its driver, and AdmittedAt when it was admitted.
	QueuedAt   *metav1.Time `json:"queuedAt,omitempty"`
	AdmittedAt *metav1.Time `json:"admittedAt,omitempty"`
	// Evictions counts the scheduler's evictions of drivers since the last success or edit of the application.
	Evictions int32 `json:"evictions,omitempty"`
}

// operatorOnly are the reasons that only the operator can know, from its configuration, its permissions, and its reservations for other applications.
var operatorOnly = map[lifecycle.Reason]bool{
	scheduler.ReasonWaitingForQuota: true, scheduler.ReasonBehindOthers: true,
	scheduler.ReasonSchedulerUnknown: true, scheduler.ReasonSchedulerDisabled: true,
	scheduler.ReasonSchedulerForbidden: true, scheduler.ReasonSchedulerFailed: true,
}

// Combine merges two answers: here is computed without the operator, and record has the operator's last answer. The record counts only for the same spec. Its
// answer wins if only the operator can know the reason, and its message is used if both reasons agree.
func Combine(here scheduler.Admission, record lifecycle.Record, specHash string) scheduler.Admission {
	said := record.Cause
	if !record.State.Starting() || record.SpecHash != specHash {
		return here
	}
	switch {
	case here.Verdict == scheduler.Admit && operatorOnly[said.Reason]:
		here.Verdict, here.Reason, here.Message = scheduler.Wait, said.Reason, said.Message
	case here.Waits() && here.Reason == said.Reason:
		here.Message = said.Message
	}
	return here
}

func (v view) scheduling() Scheduling {
	r, chosen := v.plan.Record, v.plan.Record.Scheduling.Choice
	s := Scheduling{
		Scheduler: cmp.Or(chosen.Scheduler, v.Reserved.Choice.Scheduler), Source: string(cmp.Or(chosen.Source, v.Reserved.Choice.Source)),
		Queue: cmp.Or(chosen.Queue, v.Reserved.Choice.Queue), PodScheduler: v.Scope.App.Driver.Overlay.SchedulerName,
		Verdict: string(v.Admission.Verdict), Reason: string(v.Admission.Reason), Message: v.Admission.Message,
		Warning: cmp.Or(r.Scheduling.Warning, v.Admission.Warning), AdmittedAt: timeOrNil(r.Scheduling.AdmittedAt), Evictions: r.Retries.Used[lifecycle.Evicted],
	}
	if r.State.Starting() || r.State == lifecycle.Submitted || r.State == lifecycle.Running {
		s.QueuedAt, s.Requested = timeOrNil(r.QueuedAt), v.Reserved.Requested
		s.Group, s.GroupPhase = cmp.Or(v.Reserved.Group, chosen.Group), v.Reserved.Phase
	}
	switch seen := v.Observed.Scheduler; {
	case v.Admission.Verdict != "":
	case seen.Ended(), seen.Waits():
		s.Verdict, s.Reason, s.Message = verdictOf(seen), string(seen.Reason), seen.Message
	}
	return s
}

// verdictOf returns a scheduler's verdict about a submitted driver, as one word.
func verdictOf(o scheduler.Observation) string {
	switch {
	case o.Stage == scheduler.StageRefused:
		return "Refused"
	case o.Eviction != nil:
		return "Evicted"
	case o.StopApp:
		return "Withdrew"
	}
	return string(scheduler.Wait)
}

// ownCluster is the source of a scheduler that the cluster's spec names.
const ownCluster = "SparkCluster"

// sources describes where a choice comes from.
var sources = map[string]string{
	string(scheduler.SourceApplication): "the application's own choice",
	string(scheduler.SourcePolicy):      "the default of an operator's policy",
	string(scheduler.SourceNamespace):   "the namespace's default",
	string(scheduler.SourceCluster):     "the operator's default",
	ownCluster:                          "the cluster's own choice",
}

// text prints the known fields. printed is set if the message is already printed.
func (s Scheduling) text(p *printer, printed bool) {
	if s.Scheduler != "" {
		text := s.Scheduler
		if s.Queue != "" {
			text += ", queue " + s.Queue
		}
		if s.PodScheduler != "" {
			text += ", schedulerName " + s.PodScheduler
		}
		if from := sources[s.Source]; from != "" {
			text += " (" + from + ")"
		}
		p.field("Scheduler", "%s", text)
	}
	switch {
	case s.Verdict == "":
	case printed:
		p.field("Verdict", "%s: %s", s.Verdict, s.Reason)
	default:
		p.field("Verdict", "%s: %s", s.Verdict, s.Message)
	}
	if s.Warning != "" {
		p.field("Warning", "%s", s.Warning)
	}
	if len(s.Requested) > 0 {
		p.field("Asks for", "%s, driver and initial executors together", amounts(s.Requested))
	}
	if s.Group != "" {
		p.field("Group", "%s: %s", s.Group, cmp.Or(s.GroupPhase, "not seen"))
	}
	switch {
	case s.QueuedAt == nil:
	case s.AdmittedAt == nil || s.AdmittedAt.Before(s.QueuedAt):
		p.field("Queued", "for %s", p.since(s.QueuedAt.Time))
	default:
		p.field("Queued", "for %s, admitted %s ago", duration.HumanDuration(s.AdmittedAt.Sub(s.QueuedAt.Time)), p.since(s.AdmittedAt.Time))
	}
	if s.Evictions > 0 {
		p.field("Evictions", "%d", s.Evictions)
	}
}

// amounts formats resources by name: "cpu 4, memory 8Gi".
func amounts(list corev1.ResourceList) string {
	parts := make([]string, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, scheduler.Amount(list[name])))
	}
	return strings.Join(parts, ", ")
}
