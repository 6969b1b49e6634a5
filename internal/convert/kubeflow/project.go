// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// states maps the neutral states to the states of the API. Tools read SUBMITTED as "no driver yet", so a queued application is SUBMITTED, too. Conditions
// explain its wait.
var states = map[lifecycle.State]v1beta2.ApplicationStateType{
	lifecycle.New:              v1beta2.ApplicationStateNew,
	lifecycle.Queued:           v1beta2.ApplicationStateSubmitted,
	lifecycle.Submitted:        v1beta2.ApplicationStateSubmitted,
	lifecycle.Running:          v1beta2.ApplicationStateRunning,
	lifecycle.Succeeding:       v1beta2.ApplicationStateSucceeding,
	lifecycle.Failing:          v1beta2.ApplicationStateFailing,
	lifecycle.Succeeded:        v1beta2.ApplicationStateCompleted,
	lifecycle.Failed:           v1beta2.ApplicationStateFailed,
	lifecycle.SubmissionFailed: v1beta2.ApplicationStateSubmissionFailed,
	lifecycle.Rerunning:        v1beta2.ApplicationStatePendingRerun,
	lifecycle.Invalidating:     v1beta2.ApplicationStateInvalidating,
	lifecycle.Suspending:       v1beta2.ApplicationStateSuspending,
	lifecycle.Suspended:        v1beta2.ApplicationStateSuspended,
	lifecycle.Resuming:         v1beta2.ApplicationStateResuming,
}

var executorStates = map[lifecycle.ExecutorState]v1beta2.ExecutorState{
	lifecycle.ExecutorPending:   v1beta2.ExecutorStatePending,
	lifecycle.ExecutorRunning:   v1beta2.ExecutorStateRunning,
	lifecycle.ExecutorSucceeded: v1beta2.ExecutorStateCompleted,
	lifecycle.ExecutorFailed:    v1beta2.ExecutorStateFailed,
	lifecycle.ExecutorLost:      v1beta2.ExecutorStateUnknown,
}

// submissionPrefix begins the error message of a refused submission. Tools search for its second half, so it stays although this operator does not run
// spark-submit.
const submissionPrefix = "failed to submit spark application: failed to run spark-submit: "

// Values of status.released.
const (
	releasedDriverPod = "driverPod"
	releasedResources = "resources"
)

// ToStatus returns the status for an outcome. Unchanged conditions keep their transition time; changed conditions get now.
func ToStatus(old *v1beta2.SparkApplicationStatus, o lifecycle.Outcome, now time.Time) v1beta2.SparkApplicationStatus {
	s := *old.DeepCopy()
	r := o.Record
	s.AppState = v1beta2.ApplicationState{State: states[r.State], ErrorMessage: errorMessage(r)}
	s.ObservedGeneration = r.Generation
	s.SubmissionAttempts, s.ExecutionAttempts = r.Submissions, r.Executions
	s.LastSubmissionAttemptTime, s.TerminationTime = seconds(r.SubmittedAt), seconds(r.TerminatedAt)
	s.SpecHash, s.Attempt = r.SpecHash, r.Attempt
	s.SparkApplicationID = r.SparkAppID
	s.DriverInfo = projectDriver(r)
	if r.SubmissionID != "" {
		s.SubmissionID = r.SubmissionID // while the next attempt waits, the status shows the id of the last one
	}
	s.Attempts, s.Retries, s.Executors = projectAttempts(r.Attempts), projectRetries(r.Retries), projectExecutors(r)
	s.ExecutorPlacement, s.MissingExecutors = projectPlacement(r.Placement), projectMissing(r.Missing)
	s.Scheduling, s.Rerun = projectScheduling(r), projectRerun(r.Rerun)
	keep := keepsMessage(old, &s, r, now)
	if keep {
		s.Scheduling.Message, r.Cause.Message = old.Scheduling.Message, old.Scheduling.Message
	}
	if s.Scheduling != nil {
		s.Scheduling.MessageTime = messageTime(old.Scheduling, s.Scheduling.Message, now)
	}
	s.Cause = projectCause(old, r.Cause, now)
	s.Submitter = projectSubmitter(r.Submitter)
	s.Released = nil
	if r.Released.DriverPod {
		s.Released = append(s.Released, releasedDriverPod)
	}
	if r.Released.Resources {
		s.Released = append(s.Released, releasedResources)
	}
	s.ExecutorState = nil
	for name, state := range r.Executors {
		if s.ExecutorState == nil {
			s.ExecutorState = make(map[string]v1beta2.ExecutorState, len(r.Executors))
		}
		s.ExecutorState[name] = executorStates[state]
	}
	for _, c := range o.Conditions {
		next := metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: string(c.Reason), Message: c.Message,
			ObservedGeneration: r.Generation, LastTransitionTime: seconds(now),
		}
		if last := meta.FindStatusCondition(s.Conditions, next.Type); last != nil && last.Status == next.Status && last.Reason == next.Reason {
			if keep && next.Reason == s.Scheduling.Reason || onlyReworded(*last, c) && !countsChanged(old, r, c) {
				next.Message = last.Message
			}
		}
		meta.SetStatusCondition(&s.Conditions, next)
	}
	projectTrouble(&s, r, now)
	return s
}

// projectCause keeps the time of an unchanged reason. If an earlier release stored the reason, its time stays unknown.
func projectCause(old *v1beta2.SparkApplicationStatus, c lifecycle.Cause, now time.Time) *v1beta2.CauseStatus {
	if c.Reason == "" {
		return nil
	}
	s := &v1beta2.CauseStatus{Reason: string(c.Reason), Message: c.Message, Time: secondsOrNil(now)}
	if causeOf(old).Reason == c.Reason {
		if s.Time = nil; old.Cause != nil {
			s.Time = old.Cause.Time
		}
	}
	return s
}

func projectAttempts(all []lifecycle.Attempt) []v1beta2.AttemptStatus {
	var out []v1beta2.AttemptStatus
	for _, a := range all {
		out = append(out, v1beta2.AttemptStatus{
			Attempt: a.Number, SubmissionID: a.SubmissionID, StartTime: secondsOrNil(a.StartedAt), EndTime: secondsOrNil(a.EndedAt), ExitCode: a.ExitCode,
			FailureClass: string(a.Class), Reason: string(a.Cause.Reason), Message: lifecycle.Truncate(a.Cause.Message, maxAttemptMessage), LogTail: a.LogTail,
			Withdrawn: a.Withdrawn,
		})
	}
	boundLogs(out)
	return out
}

func projectRetries(r lifecycle.Retries) *v1beta2.RetryStatus {
	s := v1beta2.RetryStatus{
		Infrastructure: r.Used[lifecycle.Infrastructure], Submission: r.Used[lifecycle.Submission],
		OutOfMemory: r.Used[lifecycle.OutOfMemory], Application: r.Used[lifecycle.ApplicationExit], MemoryRaises: r.MemoryRaises,
	}
	if s == (v1beta2.RetryStatus{}) {
		return nil
	}
	return &s
}

func projectRerun(r lifecycle.Rerun) *v1beta2.RerunStatus {
	if r == (lifecycle.Rerun{}) {
		return nil
	}
	return &v1beta2.RerunStatus{At: secondsOrNil(r.At), Ignored: r.Ignored}
}

func projectExecutors(r lifecycle.Record) *v1beta2.ExecutorSummary {
	c := r.Counts
	if c == (lifecycle.ExecutorCounts{}) {
		return nil
	}
	s := &v1beta2.ExecutorSummary{Pending: c.Pending, Running: c.Running, Completed: c.Succeeded, Failed: c.Failed, Unknown: c.Unknown()}
	for _, f := range r.Failures {
		s.Failures = append(s.Failures, v1beta2.ExecutorFailure{PodName: f.Name, ExitCode: f.ExitCode, Reason: f.Reason})
	}
	return s
}

func projectPlacement(p lifecycle.Placement) *v1beta2.ExecutorPlacementStatus {
	if p == (lifecycle.Placement{}) {
		return nil
	}
	return &v1beta2.ExecutorPlacementStatus{RestHash: p.Rest, Hash: p.Made, Outdated: p.Outdated, Problem: p.Problem}
}

func projectMissing(m lifecycle.Missing) *v1beta2.MissingExecutorsStatus {
	if m == (lifecycle.Missing{}) {
		return nil
	}
	return &v1beta2.MissingExecutorsStatus{Since: secondsOrNil(m.Since), AskTime: secondsOrNil(m.AskedAt), Refusal: m.Refusal}
}

func projectScheduling(r lifecycle.Record) *v1beta2.SchedulingStatus {
	c := r.Scheduling
	c.Choice = lifecycle.Stored(c.Choice)
	s := v1beta2.SchedulingStatus{
		Scheduler: lifecycle.Truncate(c.Scheduler, maxScheduler), Source: string(c.Source), Queue: c.Queue,
		Parameters: c.Parameters, Group: c.Group, Warning: c.Warning,
		HeldAttempt: c.HeldAttempt, HeldBy: c.HeldBy,
		QueuedAt: secondsOrNil(r.QueuedAt), AdmittedAt: secondsOrNil(c.AdmittedAt), Evictions: r.Retries.Used[lifecycle.Evicted],
	}
	if r.State.Starting() {
		s.Reason, s.Message = string(r.Cause.Reason), r.Cause.Message
	}
	if s == (v1beta2.SchedulingStatus{}) {
		return nil
	}
	return &s
}

// errorMessage is the failure message that tools show.
func errorMessage(r lifecycle.Record) string {
	switch {
	case r.State == lifecycle.SubmissionFailed,
		r.State == lifecycle.Failed && (r.Cause.Reason == lifecycle.ReasonSubmissionRefused || r.Cause.Reason == lifecycle.ReasonAdmissionRefused):
		return submissionPrefix + r.Cause.Message
	case r.State == lifecycle.Failing, r.State == lifecycle.Failed:
		return r.Cause.Message
	}
	return ""
}

func secondsOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return ptr.To(seconds(t))
}

// seconds truncates a time to the resolution of the API. Otherwise the time would differ after it is stored and read.
func seconds(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.Truncate(time.Second))
}

// messageHold is how long the message of a wait is kept although numbers in it changed. The free amount of a queue or a quota changes with every pod, and
// each change enqueues all waiting applications.
const messageHold = time.Minute

// keepsMessage reports whether the stored message of a wait can stay. It can if it is recent and the attempt still waits for the same reason in the same
// queue; the texts are not compared. After an edit of the spec, the message is updated immediately.
func keepsMessage(old, next *v1beta2.SparkApplicationStatus, r lifecycle.Record, now time.Time) bool {
	was, is := old.Scheduling, next.Scheduling
	if was == nil || is == nil || was.MessageTime == nil || !now.Before(was.MessageTime.Add(messageHold)) {
		return false
	}
	return r.State.Starting() && r.State != lifecycle.SubmissionFailed && !lifecycle.NeedsUserAction(r.Cause.Reason) &&
		next.AppState.State == old.AppState.State &&
		next.Attempt == old.Attempt && next.ObservedGeneration == old.ObservedGeneration && was.Reason == is.Reason &&
		was.Scheduler == is.Scheduler && was.Source == is.Source && was.Queue == is.Queue && was.Group == is.Group
}

// onlyReworded reports whether only the details in a message about a waiting pod changed. Schedulers and kubelets change the details often, e.g. with every
// new node, and each change would cause a status write. Status and reason are unchanged.
func onlyReworded(last metav1.Condition, next lifecycle.Condition) bool {
	return next.Wait.Details != "" && strings.HasPrefix(last.Message, next.Wait.Prefix())
}

// countsChanged reports whether the executor counts changed. A message about waiting executors contains them.
func countsChanged(old *v1beta2.SparkApplicationStatus, r lifecycle.Record, next lifecycle.Condition) bool {
	var was lifecycle.Record
	executorsOf(&was, old.Executors)
	return next.Type == lifecycle.ConditionExecutorsReady && was.Counts != r.Counts
}

// messageTime returns when the stored message was written.
func messageTime(old *v1beta2.SchedulingStatus, message string, now time.Time) *metav1.Time {
	switch {
	case message == "":
		return nil
	case old != nil && old.Message == message:
		return old.MessageTime
	}
	return secondsOrNil(now)
}

// Bounds of a status, in stored bytes (lifecycle.StoredSize). Without its live executors, the object stays below 20 KiB. executorState is an atomic map, so
// managedFields does not repeat its names.
const (
	maxAttemptMessage = 200
	// maxScheduler bounds the name of a scheduler, because users may write any name.
	maxScheduler = 100
	// maxLogTails bounds the log tails of all attempts together, and maxLogTail bounds each. The newest attempt gets room first.
	maxLogTails = 3 << 10
	maxLogTail  = 1536
)

// lastLines returns the last lines of a log that fit into n bytes. If the last line alone is longer, it returns the end of that line.
func lastLines(log string, n int) string {
	start := len(log)
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(log[:start])
		if n -= lifecycle.StoredSize(r); n < 0 {
			break
		}
		start -= size
	}
	if start == 0 || log[start-1] == '\n' {
		return log[start:]
	}
	if _, rest, ok := strings.Cut(log[start:], "\n"); ok {
		return rest
	}
	return log[start:]
}

// boundLogs keeps as much of the attempts' logs as fits, the newest first.
func boundLogs(all []v1beta2.AttemptStatus) {
	room := maxLogTails
	for i := len(all) - 1; i >= 0; i-- {
		all[i].LogTail = lastLines(all[i].LogTail, min(maxLogTail, room))
		for _, r := range all[i].LogTail {
			room -= lifecycle.StoredSize(r)
		}
	}
}
