// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Reasons in conditions of clusters that applications do not have.
const (
	// ReasonReplacing : earlier objects with the same names are still being deleted.
	ReasonReplacing lifecycle.Reason = "Replacing"
	// ReasonEdited : the spec was edited.
	ReasonEdited lifecycle.Reason = "SpecEdited"
	// ReasonApplied : the objects match the spec.
	ReasonApplied lifecycle.Reason = "Applied"
	// ReasonNotApplied : some objects are not created yet.
	ReasonNotApplied lifecycle.Reason = "NotApplied"
	// ReasonReady : master and workers are ready.
	ReasonReady lifecycle.Reason = "Ready"
	// ReasonPodsNotReady : some pods are not ready.
	ReasonPodsNotReady lifecycle.Reason = "PodsNotReady"
)

// The conditions that every cluster shows.
const (
	// ConditionApplied : the objects match the spec.
	ConditionApplied = "Applied"
	// ConditionReady : the master and all workers are ready.
	ConditionReady = "Ready"
)

// GoesOn reports whether the next actions are tried. A permanently refused object must not prevent the repair of a running cluster's other objects, nor any
// deletion.
func (p Plan) GoesOn(a Action, result lifecycle.Class) bool {
	return result == lifecycle.ClassDone || result != lifecycle.ClassTransient && (p.Before.State == Running || a.Kind == Delete)
}

// Settle computes the state after the actions of a plan. Results are in the order of the actions; actions that were not tried have none. The first refusal is
// reported.
func Settle(p Plan, results []Result) Outcome {
	o := Outcome{Record: p.Record, Requeue: p.Requeue}
	if p.Cluster.Probe && !p.Cluster.Deleting {
		return o // another controller owns the probe's status
	}
	first := true
	for i, result := range results {
		if result.Class == lifecycle.ClassDone {
			continue
		}
		next := refused(o, p, p.Actions[i], result)
		if first {
			o, first = next, false
			continue
		}
		o.Err, o.Requeue = errors.Join(o.Err, next.Err), min(o.Requeue, next.Requeue)
	}
	o.Record.Cause.Message = lifecycle.Truncate(text.Lines(o.Record.Cause.Message), maxMessage)
	o.Conditions, o.Pods = conditions(p, o.Record), podsOf(p.Observation, o.Record)
	moved := o.Record.State != p.Before.State || o.Record.Scheduling.HeldBy != p.Before.Scheduling.HeldBy
	o.Again = o.Err == nil && moved && o.Record.State != Running && o.Record.State != Released
	return o
}

// maxMessage bounds a message, in bytes.
const maxMessage = 1024

// refused returns the outcome of the first failed action.
func refused(o Outcome, p Plan, a Action, r Result) Outcome {
	o.Record = p.Before
	cause := lifecycle.Cause{Reason: r.Class.Reason(lifecycle.ReasonSubmissionRefused), Message: r.Message}
	lasts := r.Class == lifecycle.ClassRefused || r.Class == lifecycle.ClassPolicy
	switch {
	case a.Kind != Apply && a.Kind != Schedule, r.Class == lifecycle.ClassTransient:
		o.Err = fmt.Errorf("%s %s: %s", a.Kind, a.Ref, r.Message)
	case lasts && a.Kind == Apply && p.Before.State != Running:
		o.Record, o.Requeue = refuse(p, cause).Record, unknownRetry
	case lasts: // a refused edit stops nothing
		o.Record.Cause, o.Requeue = cause, heartbeat
	default:
		o.Record.Cause, o.Requeue = cause, conflictRetry
	}
	return o
}

func conditions(p Plan, r Record) []metav1.Condition {
	return []metav1.Condition{condition(ConditionApplied, applied(r)), condition(ConditionReady, ready(p, r))}
}

// aspect is a condition without its type.
type aspect struct {
	holds bool
	lifecycle.Cause
}

func condition(kind string, a aspect) metav1.Condition {
	status := metav1.ConditionFalse
	if a.holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: string(a.Reason), Message: a.Message}
}

func applied(r Record) aspect {
	switch {
	case r.Cause.Reason != "":
		return aspect{false, r.Cause}
	case r.State == Running:
		return aspect{true, lifecycle.Cause{Reason: ReasonApplied, Message: "the objects of the cluster match the spec"}}
	}
	return aspect{false, lifecycle.Cause{Reason: ReasonNotApplied, Message: "some objects of the cluster are not created yet"}}
}

func podsOf(o Observation, r Record) *Pods {
	if r.State != Running {
		return nil
	}
	return &Pods{Master: Count{o.Master.Ready, o.Master.Wanted}, Workers: Count{o.Workers.Ready, o.Workers.Wanted}}
}

func ready(p Plan, r Record) aspect {
	m, w := p.Observation.Master, p.Observation.Workers
	if r.State != Running {
		return aspect{false, lifecycle.Cause{Reason: ReasonPodsNotReady, Message: "there are no pods, or their number is unknown"}}
	}
	message := fmt.Sprintf("master: %d of %d ready, workers: %d of %d ready", m.Ready, m.Wanted, w.Ready, w.Wanted)
	reason := ReasonPodsNotReady
	if waits := waiting(p.Observation); waits.Reason != "" {
		message, reason = message+"; "+waits.Message, waits.Reason
	}
	message = lifecycle.Truncate(text.Lines(message), maxMessage)
	if m.Wanted > 0 && m.Ready >= m.Wanted && w.Ready >= w.Wanted {
		return aspect{true, lifecycle.Cause{Reason: ReasonReady, Message: message}}
	}
	return aspect{false, lifecycle.Cause{Reason: reason, Message: message}}
}

// waiting returns the wait of a cluster's pods: the scheduler's report, or else the wait of a master or worker pod.
func waiting(o Observation) lifecycle.Cause {
	for _, c := range []lifecycle.Cause{o.Placing, o.Master.Waiting.Detailed(), o.Workers.Waiting.Detailed()} {
		if c.Reason != "" {
			return c
		}
	}
	return lifecycle.Cause{}
}
