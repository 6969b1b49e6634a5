// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// ClusterInput is the observed state of one standalone cluster.
type ClusterInput struct {
	Object metav1.Object
	Family lifecycle.Family
	// Lines are the lines of quotas in which the cluster waits.
	Lines []Line
	// State is the stored state, with its message and its time. All are empty for a new cluster.
	State, StateMessage string
	Since               time.Time
	// Word returns the family's name of a state; "" for none.
	Word     func(standalone.State) string
	Desired  standalone.Cluster
	Record   standalone.Record
	Observed standalone.Observation
	// Pods are the cluster's pods, by name.
	Pods       []lifecycle.Driver
	Conditions []metav1.Condition
	// QueuedAt is when the cluster began to wait for its start.
	QueuedAt  time.Time
	Submitter lifecycle.Submitter
	// Unreadable lists the objects that could not be read.
	Unreadable []string
	Now        time.Time
}

// ClusterReport is the explanation of a standalone cluster. Programs read its JSON form, and users its Text.
type ClusterReport struct {
	Kind               string       `json:"kind"`
	Namespace          string       `json:"namespace"`
	Name               string       `json:"name"`
	State              string       `json:"state"`
	Since              *metav1.Time `json:"since,omitempty"`
	Generation         int64        `json:"generation"`
	ObservedGeneration int64        `json:"observedGeneration"`
	// Behind explains why the status is older than the spec; "" if it is current.
	Behind    string      `json:"behind,omitempty"`
	Created   metav1.Time `json:"created"`
	Submitter *Submitter  `json:"submitter,omitempty"`
	// Summary describes the cluster in one sentence.
	Summary string `json:"summary"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Decision is the operator's next step, assuming that the scheduler gives the same answer as at the last reconcile.
	Decision Decision `json:"decision"`
	// Start counts the starts of the cluster; 0 if unknown.
	Start int32 `json:"start,omitempty"`
	// Master and Workers are nil if the StatefulSet is missing or unknown.
	Master  *ClusterRole `json:"master,omitempty"`
	Workers *ClusterRole `json:"workers,omitempty"`
	// Pods are the existing pods.
	Pods       []Driver           `json:"pods,omitempty"`
	Scheduling Scheduling         `json:"scheduling"`
	Lines      []Line             `json:"lines,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Advice lists the user's possible actions.
	Advice []string `json:"advice,omitempty"`
	// Unreadable lists the objects that could not be read.
	Unreadable []string `json:"doubts,omitempty"`

	// unknown is set if the objects of the cluster could not be read.
	unknown bool
	now     time.Time
}

// ClusterRole counts a role's pods, by its StatefulSet.
type ClusterRole struct {
	Wanted int32 `json:"wanted"`
	Ready  int32 `json:"ready"`
	// Updated counts the pods of the present spec.
	Updated int32 `json:"updated"`
}

// Cluster decides as the operator would, and reports the decision.
func Cluster(in ClusterInput) ClusterReport {
	in.Observed.Admission = answered(in.Record)
	v := clusterView{ClusterInput: in, plan: standalone.Decide(in.Desired, in.Record, in.Observed)}
	cause := v.cause()
	r := ClusterReport{
		Kind: in.Family.Kind, Namespace: in.Object.GetNamespace(), Name: in.Object.GetName(), State: cmp.Or(in.State, "NEW"), Since: timeOrNil(in.Since),
		Generation: in.Object.GetGeneration(), ObservedGeneration: in.Record.Generation, Behind: v.behind(), Created: in.Object.GetCreationTimestamp(),
		Submitter: submitterOf(in.Submitter), Summary: v.summary(), Reason: string(cause.Reason), Message: cause.Message, Decision: v.decision(),
		Start: in.Record.Scheduling.Start, Scheduling: v.scheduling(), Lines: in.Lines, Conditions: in.Conditions, Advice: v.advice(), Unreadable: in.Unreadable,
		unknown: in.Observed.Unknown, now: in.Now,
	}
	r.Master, r.Workers = v.roles()
	for _, pod := range in.Pods {
		d := view{Input: Input{Observed: lifecycle.Observation{Driver: pod}}}.driver()
		d.Exit = strings.TrimPrefix(d.Exit, "driver ")
		r.Pods = append(r.Pods, d)
	}
	return r
}

// roles counts the pods of the existing StatefulSets. The first StatefulSet is the master's.
func (v clusterView) roles() (master, workers *ClusterRole) {
	all := []struct {
		of standalone.Role
		to **ClusterRole
	}{{v.Observed.Master, &master}, {v.Observed.Workers, &workers}}
	for _, part := range v.Desired.Parts {
		if part.Kind != "StatefulSet" || len(all) == 0 {
			continue
		}
		if f := v.Observed.Found[part.Ref]; f.Presence == lifecycle.Present && f.Ours {
			*all[0].to = &ClusterRole{Wanted: all[0].of.Wanted, Ready: all[0].of.Ready, Updated: all[0].of.Updated}
		}
		all = all[1:]
	}
	return master, workers
}

// answered returns the scheduler's recorded answer for a starting cluster: a wait, or an admission.
func answered(r standalone.Record) scheduler.Admission {
	a := scheduler.Admission{Verdict: scheduler.Admit, Choice: r.Scheduling.Choice}
	if waitsForScheduler(r) {
		a.Verdict, a.Reason, a.Message = scheduler.Wait, r.Cause.Reason, r.Cause.Message
	}
	return a
}

// waitsForScheduler reports whether the cluster waits for its scheduler.
func waitsForScheduler(r standalone.Record) bool {
	switch r.Cause.Reason {
	case "", lifecycle.ReasonQuotaExceeded, lifecycle.ReasonAdmissionRefused, lifecycle.ReasonNamespaceTerminating, lifecycle.ReasonOperatorForbidden,
		lifecycle.ReasonSchedulerObjects:
		return false
	}
	return r.State == standalone.Submitted && !passed(r.Cause)
}

// passed reports whether the decision repeats a recorded cause as long as it holds.
func passed(c lifecycle.Cause) bool {
	switch c.Reason {
	case lifecycle.ReasonNameConflict, standalone.ReasonReplacing, lifecycle.ReasonResumed, standalone.ReasonEdited, lifecycle.ReasonSuspended:
		return true
	}
	return false
}

// clusterView is the input for the parts of a report.
type clusterView struct {
	ClusterInput
	plan standalone.Plan
}

// cause explains why the cluster is not in its desired state, by the decision's cause, the pods' or the recorded one.
func (v clusterView) cause() lifecycle.Cause {
	r := v.plan.Record
	switch {
	case v.Desired.Deleting || v.Desired.Probe:
		return lifecycle.Cause{}
	case r.Cause.Reason != "" && r.Cause.Reason != standalone.ReasonEdited:
		return r.Cause
	case v.Record.State == standalone.Running && r.State == standalone.Running:
		return cmp.Or(v.Record.Cause, v.unready())
	case v.Record.State.Starts() && passed(v.Record.Cause):
		return lifecycle.Cause{}
	case v.Record.State == standalone.Running || v.Record.State.Starts():
		return v.Record.Cause
	}
	return cmp.Or(v.Record.Cause, lifecycle.Cause{Message: v.StateMessage})
}

// unready explains why a running cluster is not ready; empty if it is ready or if the reason is unknown. An unscheduled pod has the scheduler's report, which
// has more detail than the pod.
func (v clusterView) unready() lifecycle.Cause {
	m, w := v.Observed.Master, v.Observed.Workers
	if v.Observed.Unknown || m.Wanted > 0 && m.Ready >= m.Wanted && w.Ready >= w.Wanted {
		return lifecycle.Cause{}
	}
	waits := cmp.Or(m.Waiting.Detailed(), w.Waiting.Detailed())
	said := meta.FindStatusCondition(v.Conditions, standalone.ConditionReady)
	switch placing := waits.Reason == lifecycle.ReasonUnschedulable || waits.Reason == lifecycle.ReasonSchedulingGated; {
	case placing && said != nil && said.Status != metav1.ConditionTrue && said.Reason != string(standalone.ReasonPodsNotReady):
		if _, words, ok := strings.Cut(said.Message, "; "); ok {
			return lifecycle.Cause{Reason: lifecycle.Reason(said.Reason), Message: words}
		}
		return waits
	case waits.Reason != "":
		return waits
	}
	return lifecycle.Cause{Reason: standalone.ReasonPodsNotReady, Message: "not all of its pods are ready"}
}

// behind explains why the status is older than the spec. A suspended cluster or an invalid edit keeps the earlier generation in the status.
func (v clusterView) behind() string {
	r := v.Record
	switch {
	case v.Desired.Probe || v.Desired.Deleting:
		return ""
	case v.State == "" && len(v.Conditions) == 0:
		return "the operator has not reconciled the cluster yet"
	case len(v.Conditions) == 0:
		return "the status was written by another operator; this one takes over the cluster unchanged"
	case r.State == standalone.Running && r.Generation != v.Desired.Generation && r.Cause.Reason == "":
		return "the spec was changed after the last reconcile"
	}
	return ""
}

func (v clusterView) scheduling() Scheduling {
	r := v.Record
	s := Scheduling{Scheduler: r.Scheduling.Scheduler, Source: string(r.Scheduling.Source), Queue: r.Scheduling.Queue, Group: r.Scheduling.Group}
	if !r.State.Starts() || v.Desired.Suspend || v.Desired.Deleting || v.Desired.Probe || v.Desired.Problem.Reason != "" {
		return s
	}
	s.QueuedAt = timeOrNil(v.QueuedAt)
	if waitsForScheduler(r) {
		s.Verdict, s.Reason, s.Message = string(scheduler.Wait), string(r.Cause.Reason), r.Cause.Message
	}
	return s
}

// ClusterCause explains why a standalone cluster is not in its desired state, by its status alone. It is empty if the cluster is in that state or if the status
// does not say why.
func ClusterCause(conditions []metav1.Condition) lifecycle.Cause {
	for _, aspect := range []string{standalone.ConditionApplied, standalone.ConditionReady} {
		if c := meta.FindStatusCondition(conditions, aspect); c != nil && c.Status != metav1.ConditionTrue {
			return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
		}
	}
	return lifecycle.Cause{}
}
