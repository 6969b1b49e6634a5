// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// reread is a status as it comes back from the API server.
func reread(t *testing.T, s v1beta2.SparkApplicationStatus) v1beta2.SparkApplicationStatus {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back v1beta2.SparkApplicationStatus
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestProjectStates(t *testing.T) {
	refused := lifecycle.Cause{Reason: lifecycle.ReasonSubmissionRefused, Message: "service account not found"}
	failed := lifecycle.Cause{Reason: lifecycle.ReasonDriverFailed, Message: "exit code 1"}
	quota := lifecycle.Cause{Reason: lifecycle.ReasonQuotaExceeded, Message: "no room"}
	cases := map[string]struct {
		reason  string
		state   lifecycle.State
		cause   lifecycle.Cause
		want    v1beta2.ApplicationStateType
		message string
	}{
		"New":              {reason: "nothing is known", state: lifecycle.New, want: ""},
		"Queued":           {reason: "tools poll for SUBMITTED as 'no driver yet'; waiting is no error", state: lifecycle.Queued, cause: quota, want: "SUBMITTED"},
		"Submitted":        {reason: "as the Kubeflow operator", state: lifecycle.Submitted, want: "SUBMITTED"},
		"Running":          {reason: "as the Kubeflow operator", state: lifecycle.Running, want: "RUNNING"},
		"Succeeding":       {reason: "as the Kubeflow operator", state: lifecycle.Succeeding, want: "SUCCEEDING"},
		"Failing":          {reason: "tools read the error message", state: lifecycle.Failing, cause: failed, want: "FAILING", message: "exit code 1"},
		"Succeeded":        {reason: "as the Kubeflow operator", state: lifecycle.Succeeded, want: "COMPLETED"},
		"Failed":           {reason: "tools read the error message", state: lifecycle.Failed, cause: failed, want: "FAILED", message: "exit code 1"},
		"SubmissionFailed": {reason: "with the Kubeflow operator's prefix", state: lifecycle.SubmissionFailed, cause: refused, want: "SUBMISSION_FAILED", message: "failed to submit spark application: failed to run spark-submit: service account not found"},
		"Refused":          {reason: "tools read the Kubeflow operator's words", state: lifecycle.Failed, cause: refused, want: "FAILED", message: "failed to submit spark application: failed to run spark-submit: service account not found"},
		"Rerunning":        {reason: "visible between attempts", state: lifecycle.Rerunning, cause: quota, want: "PENDING_RERUN"},
		"Invalidating":     {reason: "as the Kubeflow operator", state: lifecycle.Invalidating, want: "INVALIDATING"},
		"Suspending":       {reason: "as the Kubeflow operator", state: lifecycle.Suspending, want: "SUSPENDING"},
		"Suspended":        {reason: "as the Kubeflow operator", state: lifecycle.Suspended, want: "SUSPENDED"},
		"Resuming":         {reason: "as the Kubeflow operator", state: lifecycle.Resuming, want: "RESUMING"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ToStatus(&v1beta2.SparkApplicationStatus{}, lifecycle.Outcome{Record: lifecycle.Record{State: tc.state, Cause: tc.cause}}, now).AppState
			if want := (v1beta2.ApplicationState{State: tc.want, ErrorMessage: tc.message}); got != want {
				t.Errorf("%s: %+v, want %+v", tc.reason, got, want)
			}
		})
	}
	for _, state := range lifecycle.States() {
		if word := states[state]; word == v1beta2.ApplicationStateUnknown || word == "" && state != lifecycle.New {
			t.Errorf("%s is shown as %q: UNKNOWN never stands for a doubt, and tools take an empty word for a start", state, word)
		}
	}
	if len(cases) != len(lifecycle.States())+1 {
		t.Errorf("%d cases for %d states", len(cases), len(lifecycle.States()))
	}
}

func TestProjectFields(t *testing.T) {
	r := lifecycle.Record{
		State: lifecycle.Running, Generation: 4, SpecHash: "a", Attempt: 1, Submissions: 2, Executions: 1,
		SubmittedAt: now.Add(123 * time.Millisecond), TerminatedAt: now.Add(time.Minute), SparkAppID: "spark-1", SubmissionID: "uuid", DriverName: "pi-driver",
		Executors: map[string]lifecycle.ExecutorState{
			"e-1": lifecycle.ExecutorPending, "e-2": lifecycle.ExecutorRunning, "e-3": lifecycle.ExecutorSucceeded, "e-4": lifecycle.ExecutorFailed, "e-5": lifecycle.ExecutorLost,
		},
		Exposure: lifecycle.Exposure{Service: "pi-ui-svc"},
	}
	old := v1beta2.SparkApplicationStatus{DriverInfo: v1beta2.DriverInfo{WebUIIngressName: "pi-ui-ingress"}}
	got := ToStatus(&old, lifecycle.Outcome{Record: r}, now)
	want := v1beta2.SparkApplicationStatus{
		AppState: v1beta2.ApplicationState{State: "RUNNING"}, ObservedGeneration: 4, SpecHash: "a", Attempt: 1,
		SubmissionAttempts: 2, ExecutionAttempts: 1,
		LastSubmissionAttemptTime: metav1.NewTime(now), TerminationTime: metav1.NewTime(now.Add(time.Minute)),
		SparkApplicationID: "spark-1", SubmissionID: "uuid",
		DriverInfo:    v1beta2.DriverInfo{PodName: "pi-driver", WebUIServiceName: "pi-ui-svc"},
		ExecutorState: map[string]v1beta2.ExecutorState{"e-1": "PENDING", "e-2": "RUNNING", "e-3": "COMPLETED", "e-4": "FAILED", "e-5": "UNKNOWN"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Before a driver was asked for there is no submission that an id could mean; between two drivers it means the last one.
func TestSubmissionIDWithoutADriver(t *testing.T) {
	cases := map[string]struct {
		reason string
		old    string
		state  lifecycle.State
		want   string
	}{
		"First": {reason: "there was none", state: lifecycle.Queued},
		"Rerun": {reason: "users who look for the last attempt's log need it", old: "s-1", state: lifecycle.Rerunning, want: "s-1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			old := v1beta2.SparkApplicationStatus{SubmissionID: tc.old}
			if got := ToStatus(&old, lifecycle.Outcome{Record: lifecycle.Record{State: tc.state}}, now).SubmissionID; got != tc.want {
				t.Errorf("%s: submission id %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestProjectDoesNotChangeTheOldStatus(t *testing.T) {
	old := ToStatus(&v1beta2.SparkApplicationStatus{}, settled(lifecycle.Record{State: lifecycle.Running, Executions: 1, Executors: map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorRunning}}), now)
	before := *old.DeepCopy()
	ToStatus(&old, settled(lifecycle.Record{State: lifecycle.Succeeded, Executions: 1, Executors: map[string]lifecycle.ExecutorState{"e-1": lifecycle.ExecutorSucceeded}}), now.Add(time.Hour))
	if diff := cmp.Diff(before, old); diff != "" {
		t.Errorf("the old status was changed (-before +after):\n%s", diff)
	}
}

// settled is the outcome of a reconcile that did nothing.
func settled(r lifecycle.Record) lifecycle.Outcome {
	return lifecycle.Settle(lifecycle.Plan{Record: r}, nil, lifecycle.Env{Now: now})
}

// A user who measures how long an application was running reads lastTransitionTime.
func TestTransitionTimesMoveWithTheirCondition(t *testing.T) {
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	var status v1beta2.SparkApplicationStatus
	steps := []struct {
		state lifecycle.State
		// moved are the conditions that change their status in this step.
		moved []string
	}{
		{state: lifecycle.Submitted, moved: []string{"Admitted", "DriverReady", "ExecutorsReady", "Reconciling", "Stalled", "Submitted", "Succeeded", "Suspended"}},
		{state: lifecycle.Submitted},
		{state: lifecycle.Running, moved: []string{"DriverReady", "ExecutorsReady", "Reconciling"}},
		{state: lifecycle.Running},
		{state: lifecycle.Succeeding, moved: []string{"DriverReady", "ExecutorsReady", "Reconciling", "Succeeded"}},
		{state: lifecycle.Succeeded, moved: []string{"Reconciling"}},
	}
	for i, step := range steps {
		before := status
		status = reread(t, ToStatus(&before, settled(lifecycle.Record{State: step.state, Attempt: 1, Submissions: 1, Executions: 1, Generation: int64(i), Attempts: []lifecycle.Attempt{{Number: 1}}}), at(i)))
		var moved []string
		for _, c := range status.Conditions {
			old := meta.FindStatusCondition(before.Conditions, c.Type)
			if old == nil || !old.LastTransitionTime.Equal(&c.LastTransitionTime) {
				moved = append(moved, c.Type)
				if !c.LastTransitionTime.Time.Equal(at(i)) {
					t.Errorf("step %d: %s moved at %s, want the time of the change", i, c.Type, c.LastTransitionTime)
				}
			}
			if c.ObservedGeneration != int64(i) {
				t.Errorf("step %d: %s is about generation %d", i, c.Type, c.ObservedGeneration)
			}
		}
		slices.Sort(moved)
		if diff := cmp.Diff(step.moved, moved); diff != "" {
			t.Errorf("step %d (%s): conditions that moved (-want +got):\n%s", i, step.state, diff)
		}
	}
}

// A sentence that changes is no transition.
func TestNewSentenceKeepsTransitionTime(t *testing.T) {
	waiting := func(message string) lifecycle.Outcome {
		return settled(lifecycle.Record{State: lifecycle.Queued, Cause: lifecycle.Cause{Reason: "Wait", Message: message}})
	}
	first := ToStatus(&v1beta2.SparkApplicationStatus{}, waiting("3 ahead"), now)
	second := ToStatus(&first, waiting("2 ahead"), now.Add(time.Hour))
	for _, c := range second.Conditions {
		if !c.LastTransitionTime.Time.Equal(now) {
			t.Errorf("%s moved with its sentence", c.Type)
		}
	}
	c := meta.FindStatusCondition(second.Conditions, "Succeeded")
	if c == nil || c.Message != "waiting: 2 ahead" {
		t.Errorf("the sentence is not the latest: %+v", c)
	}
}

// Nobody bounds the names that users think of.
func TestSchedulerIsBounded(t *testing.T) {
	var r lifecycle.Record
	r.State, r.Scheduling.Scheduler = lifecycle.Queued, strings.Repeat("v", 1<<16)
	if got := ToStatus(&v1beta2.SparkApplicationStatus{}, settled(r), now).Scheduling.Scheduler; len(got) != maxScheduler {
		t.Errorf("the status has %d bytes of it", len(got))
	}
}

// Whatever is in a name that a user thought of, terminals and logs get characters that can be printed.
func TestSchedulingIsPrintable(t *testing.T) {
	var r lifecycle.Record
	r.State, r.Scheduling.Scheduler, r.Scheduling.Queue = lifecycle.Queued, "vol\x1b[2Jcano", "root.\ndefault"
	got := ToStatus(&v1beta2.SparkApplicationStatus{}, settled(r), now).Scheduling
	if strings.ContainsFunc(got.Scheduler+got.Queue, unicode.IsControl) {
		t.Errorf("scheduler %q, queue %q", got.Scheduler, got.Queue)
	}
}

// Two reconciles that see the same write the same, whatever the time: otherwise each would wake the next.
func TestProjectIsStable(t *testing.T) {
	for _, r := range producedRecords() {
		o := settled(r)
		once := reread(t, ToStatus(&v1beta2.SparkApplicationStatus{}, o, now.Add(999*time.Millisecond)))
		again := ToStatus(&once, o, now.Add(time.Hour))
		if diff := cmp.Diff(once, reread(t, again)); diff != "" {
			t.Fatalf("%s: a second projection differs (-first +second):\n%s", r.State, diff)
		}
	}
}

// An executor that is in the record no more (the sample is bounded) is in the status no more.
func TestProjectDropsExecutors(t *testing.T) {
	old := v1beta2.SparkApplicationStatus{ExecutorState: map[string]v1beta2.ExecutorState{"e-1": "COMPLETED", "e-2": "RUNNING"}}
	record := lifecycle.Record{State: lifecycle.Running, Executors: map[string]lifecycle.ExecutorState{"e-2": lifecycle.ExecutorFailed}}
	got := ToStatus(&old, lifecycle.Outcome{Record: record}, now).ExecutorState
	if diff := cmp.Diff(map[string]v1beta2.ExecutorState{"e-2": "FAILED"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An application that is suspended before its second attempt has a driver shows the mark of the first, which must not
// be treated as that of the second.
func TestMarkOfTheFormerAttemptIsNotTheNextOnes(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{
		AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSuspending}, SubmissionID: "s-1", Attempt: 2,
		SubmissionAttempts: 1, ExecutionAttempts: 1, Attempts: []v1beta2.AttemptStatus{{Attempt: 1, SubmissionID: "s-1"}},
	}
	if got := FromStatus(&s).SubmissionID; got != "" {
		t.Errorf("submission %q: the second attempt's driver would not be found", got)
	}
	s.Attempts = append(s.Attempts, v1beta2.AttemptStatus{Attempt: 2, SubmissionID: "s-2"})
	if got := FromStatus(&s).SubmissionID; got != "s-2" {
		t.Errorf("submission %q, want the attempt's own", got)
	}
	s.Attempt, s.Attempts = 0, nil
	if got := FromStatus(&s).SubmissionID; got != "s-1" {
		t.Errorf("submission %q of a previous operator, want s-1", got)
	}
}
