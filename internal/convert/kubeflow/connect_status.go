// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// connectStateNames returns the default names of states. The name of a starting server depends on whether it was ready before; see connectState.
func connectStateNames() map[lifecycle.State]string {
	names := map[lifecycle.State]string{}
	for _, s := range lifecycle.States() {
		names[s] = string(v1alpha1.SparkConnectStateNotReady)
	}
	delete(names, lifecycle.New)
	names[lifecycle.Queued] = string(v1alpha1.SparkConnectStateProvisioning)
	names[lifecycle.Submitted] = string(v1alpha1.SparkConnectStateProvisioning)
	names[lifecycle.Running] = string(v1alpha1.SparkConnectStateReady)
	names[lifecycle.Failed] = string(v1alpha1.SparkConnectStateFailed)
	return names
}

// connectState returns the state of a server. It is Provisioning until the server is first ready or its first attempt fails.
func connectState(before v1alpha1.SparkConnectState, s lifecycle.State, ready bool) v1alpha1.SparkConnectState {
	began := before == v1alpha1.SparkConnectStateReady || before == v1alpha1.SparkConnectStateNotReady
	switch {
	case s == lifecycle.New:
		return v1alpha1.SparkConnectStateNew
	case s == lifecycle.Failed:
		return v1alpha1.SparkConnectStateFailed
	case s == lifecycle.Running && ready:
		return v1alpha1.SparkConnectStateReady
	case s == lifecycle.Queued, s.HasDriver() && !began:
		return v1alpha1.SparkConnectStateProvisioning
	}
	return v1alpha1.SparkConnectStateNotReady
}

// ToStatus returns a copy of the object with the status for the outcome; changed is false if the status stays the same.
func (SparkConnects) ToStatus(o *v1alpha1.SparkConnect, outcome lifecycle.Outcome, now time.Time) (next *v1alpha1.SparkConnect, changed bool) {
	status := ConnectStatus(o, outcome, now)
	if equality.Semantic.DeepEqual(&o.Status, &status) {
		return o, false
	}
	next = o.DeepCopy()
	next.Status = status
	next.Status.LastUpdateTime = seconds(now)
	return next, true
}

// ConnectStatus returns the status of a server for an outcome. It keeps the stored time of the last update.
func ConnectStatus(o *v1alpha1.SparkConnect, outcome lifecycle.Outcome, now time.Time) v1alpha1.SparkConnectStatus {
	s := *o.Status.DeepCopy()
	r := outcome.Record
	before := runOf(&s)
	run := ToStatus(&before, outcome, now)
	s.Conditions, run.Conditions = run.Conditions, nil
	s.Submitter, run.Submitter = run.Submitter, nil
	s.Run = &run
	ready := r.State == lifecycle.Running && meta.IsStatusConditionTrue(s.Conditions, string(lifecycle.ConditionDriverReady))
	s.State = connectState(s.State, r.State, ready)
	s.Server = serverStatus(o, FromStatus(&before), outcome)
	s.Executors = executorPhases(r.Counts)
	if s.StartTime.IsZero() {
		s.StartTime = seconds(now)
	}
	s.ObservedGeneration, s.DrainSince, s.Idle = r.Generation, secondsOrNil(r.DrainSince), nil
	if r.Idle != (lifecycle.Idle{}) {
		s.Idle = &v1alpha1.IdleStatus{Since: secondsOrNil(r.Idle.Since), StoppedAt: secondsOrNil(r.Idle.StoppedAt),
			Streaming: r.Idle.Streaming, Problem: r.Idle.Problem}
	}
	meta.SetStatusCondition(&s.Conditions, serverPodReady(s.Conditions, ready, r.Generation, now))
	return s
}

// serverPodReady returns the condition that other clients of this API use. It has this operator's message.
func serverPodReady(conditions []metav1.Condition, ready bool, generation int64, now time.Time) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionServerPodReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServerPodReady, Message: "the server accepts clients",
		ObservedGeneration: generation, LastTransitionTime: seconds(now),
	}
	if ready {
		return c
	}
	c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonServerPodNotReady, "the server accepts no clients"
	if why := meta.FindStatusCondition(conditions, string(lifecycle.ConditionDriverReady)); why != nil && why.Message != "" {
		c.Message += ": " + why.Message
	}
	return c
}

// serverStatus describes the server pod and the access to it. It names the Service once the Service exists. A server that keeps running after an edit keeps
// its token and its Service until another pod replaces it.
func serverStatus(o *v1alpha1.SparkConnect, before lifecycle.Record, outcome lifecycle.Outcome) v1alpha1.ServerStatus {
	r, stored := outcome.Record, o.Status.Server
	s := v1alpha1.ServerStatus{PodName: r.DriverName, PodIP: outcome.PodIP, TokenSecretName: outcome.TokenSecret}
	runsOn := r.State.HasDriver() && before.State.HasDriver() && before.Attempt == r.Attempt
	if s.TokenSecretName == "" && (runsOn || asksForToken(o)) {
		s.TokenSecretName = stored.TokenSecretName
	}
	switch has := r.Exposure.Objects; {
	case slices.Contains(has, serviceObject+ServiceName(o)):
		s.ServiceName = ServiceName(o)
	case runsOn && slices.Contains(has, serviceObject+stored.ServiceName):
		s.ServiceName = stored.ServiceName
	}
	return s
}

// serviceObject begins the reference of a Service in the list of recorded auxiliary objects (exposure.Ref).
const serviceObject = "service/"

// executorPhases counts executors by pod phase, in lower case.
func executorPhases(c lifecycle.ExecutorCounts) map[string]int {
	var phases map[string]int
	for phase, n := range map[string]int32{"pending": c.Pending, "running": c.Running, "succeeded": c.Succeeded, "failed": c.Failed} {
		if n == 0 {
			continue
		}
		if phases == nil {
			phases = map[string]int{}
		}
		phases[phase] = int(n)
	}
	return phases
}

// runOf returns the run part of the status with the conditions and the submitter of the whole status, in the form for FromStatus.
func runOf(s *v1alpha1.SparkConnectStatus) v1beta2.SparkApplicationStatus {
	var run v1beta2.SparkApplicationStatus
	if s.Run != nil {
		run = *s.Run
	}
	run.Conditions, run.Submitter = slices.Clone(s.Conditions), s.Submitter
	return run
}

// Identity returns the ids of an attempt.
func (SparkConnects) Identity(o *v1alpha1.SparkConnect, attempt int32, submitTime time.Time) spark.Identity {
	return spark.NewIdentity(o.UID, attempt, submitTime)
}

// FromStatus reads the record from the status that ToStatus or the Kubeflow operator wrote.
func (SparkConnects) FromStatus(o *v1alpha1.SparkConnect) lifecycle.Record {
	s := &o.Status
	if s.Run == nil && (s.State != v1alpha1.SparkConnectStateNew || s.Server.PodName != "" || !s.StartTime.IsZero()) {
		return takenOver(o)
	}
	run := runOf(s)
	r := FromStatus(&run)
	r.DrainSince = timeOf(s.DrainSince)
	if s.Idle != nil {
		r.Idle = lifecycle.Idle{Since: timeOf(s.Idle.Since), StoppedAt: timeOf(s.Idle.StoppedAt), Streaming: s.Idle.Streaming, Problem: s.Idle.Problem}
	}
	return r
}

// takenOver returns the record of a server that the Kubeflow operator created. That operator creates one pod and never replaces it. So the server counts as
// running, whatever its state says, and keeps running unchanged. Its pod has no submission id.
func takenOver(o *v1alpha1.SparkConnect) lifecycle.Record {
	s := &o.Status
	r := lifecycle.Record{
		State: lifecycle.Running, Attempt: 1, Submissions: 1, Executions: 1, SubmittedAt: s.StartTime.Time, DriverName: ServerName(o),
		Attempts: []lifecycle.Attempt{{Number: 1}},
	}
	if s.Server.PodName != "" {
		r.DriverName = s.Server.PodName
	}
	if s.Server.ServiceName != "" {
		r.Exposure.Objects = []string{serviceObject + s.Server.ServiceName}
	}
	return r
}

// DriverWaits returns the reason of the condition for a submitted server that does not run yet.
func (SparkConnects) DriverWaits(o *v1alpha1.SparkConnect) string {
	return driverWaits(o.Status.Conditions)
}
