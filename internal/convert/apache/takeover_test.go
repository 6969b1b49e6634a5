// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// own is one that a recording begins with.
func own(change func(*v1.SparkApplicationSpec)) recording {
	o := &v1.SparkApplication{
		TypeMeta:   metav1.TypeMeta{APIVersion: "spark.apache.org/v1", Kind: "SparkApplication"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "demo"},
		Spec: v1.SparkApplicationSpec{
			RuntimeVersions: v1.RuntimeVersions{SparkVersion: "4.1.4"}, MainClass: "org.example.Job", Jars: "local:///job.jar",
			SparkConf: map[string]string{"spark.kubernetes.container.image": "spark:4.1.4"},
		},
	}
	if change != nil {
		change(&o.Spec)
	}
	return recording{dir: "own", namespace: "jobs", app: o}
}

func (w *world) suspend(on string) {
	w.t.Helper()
	w.play(recordedStep{Do: "patch", Object: []byte(`{"spec":{"suspend":` + on + `}}`)})
}

func (w *world) expect(states string) {
	w.t.Helper()
	if diff := cmp.Diff(strings.Fields(states), w.sequence()); diff != "" {
		w.t.Errorf("states (-want +got):\n%s", diff)
	}
}

// An edit may take away the attempt that an application waits for: it ends as the one before it did, and tools see that.
func TestEditWhileTheNextAttemptWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, ends string
		policy       v1.RestartPolicy
		edit         string
	}{
		"Never":     {reason: "fault 3: the failure is the last", policy: v1.RestartOnFailure, ends: "failed", edit: `"restartPolicy":"Never"`},
		"Fewer":     {reason: "fault 3: no restart is left", policy: v1.RestartOnFailure, ends: "failed", edit: `"maxRestartAttempts":0`},
		"Completed": {reason: "fault 3: so is a success", policy: v1.RestartAlways, ends: "succeeded", edit: `"restartPolicy":"OnFailure"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, own(func(s *v1.SparkApplicationSpec) {
				restarting(s)
				s.ApplicationTolerations.RestartConfig.RestartPolicy, s.ApplicationTolerations.RestartConfig.RestartBackoffMillis = tc.policy, new(int64(60000))
			}))
			w.pass(time.Second)
			w.play(driverIs(tc.ends))
			w.pass(2 * time.Second)
			w.play(recordedStep{Do: "patch", Object: []byte(`{"metadata":{"generation":2},"spec":{"applicationTolerations":{"restartConfig":{` + tc.edit + `}}}}`)})
			w.pass(time.Minute)
			end := map[string]string{"failed": "Failed", "succeeded": "Succeeded"}[tc.ends]
			w.expect("Submitted DriverRequested " + end + " ScheduledToRestart " + end + " ResourceReleased")
		})
	}
}

// A driver that was stopped is not kept, whatever the policy says: its pod is gone. The wait before the next attempt is exact.
func TestStoppedDriverIsNotKept(t *testing.T) {
	w := newWorld(t, own(func(s *v1.SparkApplicationSpec) {
		s.ApplicationTolerations = &v1.ApplicationTolerations{
			ResourceRetainPolicy: v1.RetainAlways, ApplicationTimeoutConfig: &v1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: new(int64(1500))},
		}
	}))
	w.clock.SetTime(began.Add(700 * time.Millisecond))
	w.pass(1499 * time.Millisecond)
	w.expect("Submitted DriverRequested")
	w.pass(10 * time.Second)
	w.expect("Submitted DriverRequested DriverStartTimedOut ResourceReleased")
	if names := w.names(); len(names) > 0 {
		t.Errorf("there are %v", names)
	}
}

// One that had ended by itself when it was to be stopped is there, and kept.
func TestDriverThatEndedBeforeItWasStopped(t *testing.T) {
	retains := own(func(s *v1.SparkApplicationSpec) {
		s.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainAlways}
	}).app
	for name, c := range map[string]struct {
		driver lifecycle.Driver
		want   v1.ApplicationStateSummary
	}{
		"gone":  {lifecycle.Driver{Presence: lifecycle.Absent}, v1.StateResourceReleased},
		"going": {lifecycle.Driver{Presence: lifecycle.Present, Deleting: true, Phase: lifecycle.DriverFailed}, v1.StateResourceReleased},
		"ended": {lifecycle.Driver{Presence: lifecycle.Present, Phase: lifecycle.DriverFailed}, v1.StateTerminatedWithoutReleaseResources},
	} {
		record := lifecycle.Record{
			State: lifecycle.Failed, Attempt: 1, Submissions: 1, Executions: 1, Cause: lifecycle.Cause{Reason: lifecycle.ReasonStartTimeout},
			Attempts: []lifecycle.Attempt{{Number: 1, Class: lifecycle.StartTimeout}},
		}
		o, _ := SparkApplications{}.ToStatus(retains, lifecycle.Outcome{Record: record, Driver: c.driver}, began)
		if got := o.Status.CurrentState.CurrentStateSummary; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func driverIs(status string) recordedStep { return recordedStep{Do: "driver", Status: status} }

func TestSuspension(t *testing.T) {
	const ran = "Submitted DriverRequested DriverStarted DriverReady RunningHealthy "
	t.Run("what is held back has no state", func(t *testing.T) {
		w := newWorld(t, own(func(s *v1.SparkApplicationSpec) { s.Suspend = true }))
		w.pass(time.Minute)
		w.expect("")
		if w.last.CurrentState != nil || len(w.names()) > 0 {
			t.Errorf("%+v, %v", w.last.CurrentState, w.names())
		}
		w.suspend("false")
		w.pass(time.Second)
		w.expect("Submitted DriverRequested")
	})
	t.Run("a run is stopped, and resumed as a new attempt", func(t *testing.T) {
		w := newWorld(t, own(nil))
		w.pass(time.Second)
		w.play(driverIs("ready"))
		w.pass(time.Second)
		w.suspend("true")
		w.pass(10 * time.Second)
		w.expect(ran + "Suspended")
		if s := w.last.CurrentState; s.SuspendReason != v1.SuspendedBySpec || len(w.names()) > 0 {
			t.Errorf("%+v, %v", s, w.names())
		}
		w.suspend("false")
		w.pass(10 * time.Second)
		w.expect(ran + "Suspended Submitted DriverRequested")
		if diff := cmp.Diff(&v1.AttemptInfo{ID: 1}, attemptOf(w.last.CurrentAttemptSummary)); diff != "" || w.driver().Name != "demo-1-driver" {
			t.Errorf("%s, driver %s", diff, w.driver().Name)
		}
		if len(w.last.StateTransitionHistory) != 2 || len(w.last.PreviousAttemptSummary.StateTransitionHistory) != 6 {
			t.Errorf("%+v", w.last)
		}
	})
	t.Run("between two attempts it stays there", func(t *testing.T) {
		w := newWorld(t, own(func(s *v1.SparkApplicationSpec) {
			s.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{RestartPolicy: v1.RestartAlways}}
		}))
		w.pass(time.Second)
		w.play(driverIs("ready"))
		w.pass(time.Second)
		w.suspend("true")
		w.play(driverIs("failed"))
		w.pass(time.Minute)
		w.suspend("false")
		w.pass(time.Minute)
		if got := strings.Join(w.sequence(), " "); got != ran+"Suspended Submitted DriverRequested" && got != ran+"Failed ScheduledToRestart DriverRequested" {
			t.Error(got)
		}
	})
}

// An application that Apache's operator left in a state goes on from there, and no driver is created that there is already.
func TestTakeOver(t *testing.T) {
	at := func(after time.Duration) string { return instant(began.Add(after - 3*time.Minute)) }
	history := func(states ...v1.ApplicationStateSummary) v1.SparkApplicationStatus {
		s := v1.SparkApplicationStatus{
			StateTransitionHistory: map[string]v1.ApplicationState{}, CurrentAttemptSummary: &v1.AttemptSummary{AttemptInfo: &v1.AttemptInfo{}},
		}
		for i, state := range states {
			entry := v1.ApplicationState{CurrentStateSummary: state, LastTransitionTime: at(time.Duration(i) * 10 * time.Second), Message: "said\n\tat java"}
			s.StateTransitionHistory[string(rune('0'+i))] = entry
			s.CurrentState = &entry
		}
		return s
	}
	run := []v1.ApplicationStateSummary{v1.StateSubmitted, v1.StateDriverRequested, v1.StateDriverStarted, v1.StateDriverReady, v1.StateRunningHealthy}
	cases := map[string]struct {
		reason string
		states []v1.ApplicationStateSummary
		change func(*v1.SparkApplicationSpec)
		driver string // its status; "" for none
		state  lifecycle.State
		then   string
	}{
		"New":       {reason: "nothing was done", state: lifecycle.New, then: "Submitted DriverRequested"},
		"Requested": {reason: "the driver is there", states: run[:2], driver: "pending", state: lifecycle.Submitted, then: "Submitted DriverRequested"},
		"Running":   {reason: "it runs on", states: run, driver: "ready", state: lifecycle.Running, then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy"},
		"RanMeanwhile": {reason: "it has ended while nobody looked", states: run, driver: "succeeded", state: lifecycle.Running,
			then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy Succeeded ResourceReleased"},
		"Succeeded": {reason: "what is left to do is done", states: append(run[:5:5], v1.StateSucceeded), driver: "succeeded", state: lifecycle.Succeeding,
			then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy Succeeded ResourceReleased"},
		"Failed": {reason: "the restart that is due comes", states: append(run[:5:5], v1.StateFailed), driver: "failed", state: lifecycle.Failing,
			change: func(s *v1.SparkApplicationSpec) {
				s.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{RestartPolicy: v1.RestartOnFailure}}
			},
			then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed ScheduledToRestart DriverRequested"},
		"Scheduled": {reason: "the next attempt starts", states: append(run[:5:5], v1.StateFailed, v1.StateScheduledToRestart), state: lifecycle.Rerunning,
			then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed ScheduledToRestart DriverRequested"},
		"Refused":  {reason: "no policy tries it again", states: []v1.ApplicationStateSummary{v1.StateSubmitted, v1.StateSchedulingFailure}, state: lifecycle.SubmissionFailed, then: "Submitted SchedulingFailure ResourceReleased"},
		"Released": {reason: "it is over", states: append(run[:5:5], v1.StateSucceeded, v1.StateResourceReleased), state: lifecycle.Succeeded, then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy Succeeded ResourceReleased"},
		"Retained": {reason: "it is over, and its driver is kept", states: append(run[:5:5], v1.StateFailed, v1.StateTerminatedWithoutReleaseResources), driver: "failed", state: lifecycle.Failed,
			change: func(s *v1.SparkApplicationSpec) {
				s.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainAlways}
			},
			then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed TerminatedWithoutReleaseResources"},
		"Suspended": {reason: "it is released once more, and resumed", states: append(run[:5:5], v1.StateSuspended), state: lifecycle.Suspending,
			then: "Submitted DriverRequested DriverStarted DriverReady RunningHealthy Suspended Submitted DriverRequested"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := own(tc.change)
			if len(tc.states) > 0 {
				r.app.Status = history(tc.states...)
			}
			if got := FromStatus(r.app).State; got != tc.state {
				t.Errorf("%s: read as %q, want %q", tc.reason, got, tc.state)
			}
			w := newWorld(t, r)
			if tc.driver != "" {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: "jobs", Name: "demo-0-driver",
						Labels:          map[string]string{v1.LabelOperator: OperatorName, v1.LabelAppName: "demo", "spark-app-selector": "demo-0", "spark-role": "driver"},
						OwnerReferences: []metav1.OwnerReference{{APIVersion: "spark.apache.org/v1", Kind: "SparkApplication", Name: "demo", UID: "app"}},
					},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-driver"}}},
				}
				if err := w.client.Create(t.Context(), pod); err != nil {
					t.Fatal(err)
				}
				w.say(pod, w.status(pod, driverIs(tc.driver)))
			}
			created := w.uids
			w.pass(2 * time.Minute)
			w.expect(tc.then)
			if strings.HasSuffix(tc.then, "RunningHealthy") && w.uids != created {
				t.Errorf("%s: objects were created: %v", tc.reason, w.names())
			}
		})
	}
}

// A driver may still run where its node does not answer: only a user who says so has it deleted by force.
func TestForceIsTheUsers(t *testing.T) {
	force := func(millis *int64) *time.Duration {
		r := own(func(s *v1.SparkApplicationSpec) {
			s.ApplicationTolerations = &v1.ApplicationTolerations{ApplicationTimeoutConfig: &v1.ApplicationTimeoutConfig{ForceTerminationGracePeriodMillis: millis}}
		})
		return SparkApplications{}.Desired(r.app, lifecycle.Record{}).ForceAfter
	}
	want := []*time.Duration{nil, new(1500 * time.Millisecond), nil}
	if diff := cmp.Diff(want, []*time.Duration{force(nil), force(new(int64(1500))), force(new(int64(-1)))}); diff != "" {
		t.Errorf("unsaid, said, negative (-want +got):\n%s", diff)
	}
}

// Whoever suspends what Kueue has evicted is told so by one more state, once.
func TestSuspensionOfAnEvictedApplication(t *testing.T) {
	r := own(func(s *v1.SparkApplicationSpec) { s.Suspend = true })
	state := v1.ApplicationState{CurrentStateSummary: v1.StateSuspended, SuspendReason: v1.SuspendedByKueue, LastTransitionTime: instant(began)}
	r.app.Status = v1.SparkApplicationStatus{
		CurrentState: &state, StateTransitionHistory: map[string]v1.ApplicationState{"0": state}, CurrentAttemptSummary: &v1.AttemptSummary{AttemptInfo: &v1.AttemptInfo{}},
	}
	w := newWorld(t, r)
	w.pass(time.Minute)
	w.expect("Suspended Suspended")
	if reason := w.last.CurrentState.SuspendReason; reason != v1.SuspendedBySpec {
		t.Errorf("the reason is %q", reason)
	}
}

// The finalizer of Apache's operator holds a deleted application until its driver is gone, and no longer.
func TestFinalizerOfThePreviousOperator(t *testing.T) {
	for name, running := range map[string]bool{"running": true, "over": false} {
		t.Run(name, func(t *testing.T) {
			r := own(nil)
			r.app.Finalizers = []string{v1.Finalizer, "example.org/other"}
			w := newWorld(t, r)
			w.pass(time.Second)
			if running {
				w.play(driverIs("ready"))
			} else {
				w.play(driverIs("succeeded"))
			}
			w.pass(10 * time.Second)
			w.play(recordedStep{Do: "delete"})
			w.pass(10 * time.Second)
			o := &v1.SparkApplication{}
			if err := w.client.Get(t.Context(), w.key(), o); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"example.org/other"}, o.Finalizers); diff != "" || len(w.names()) > 0 {
				t.Errorf("others' finalizers stay (-want +got):\n%s%v", diff, w.names())
			}
		})
	}
}

// What is read back is what was stored: a status that is written again without a change would be written for ever.
func TestStatusIsStable(t *testing.T) {
	for _, r := range recordings(t) {
		if r.conf == "default" || !strings.Contains(r.dir, "restart-") && !strings.Contains(r.dir, "exec-") {
			continue
		}
		t.Run(r.dir, func(t *testing.T) {
			w := newWorld(t, r)
			for _, s := range r.steps {
				w.play(s)
				w.reconcile()
				o := &v1.SparkApplication{}
				if err := w.client.Get(t.Context(), w.key(), o); err != nil {
					return // it is gone
				}
				version := o.ResourceVersion
				w.restart()
				w.reconcile()
				if err := w.client.Get(t.Context(), w.key(), o); err != nil {
					return
				}
				if o.ResourceVersion != version {
					w.reconcile()
					again := o.ResourceVersion
					if err := w.client.Get(t.Context(), w.key(), o); err == nil && o.ResourceVersion != again {
						t.Errorf("after %+v the status is written with each look: %s", s, w.sequence())
					}
				}
			}
		})
	}
}
