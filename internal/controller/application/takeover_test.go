// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const kubeflowID = "6e2e3f1c-0000-4000-8000-000000000001"

// takenOver is an application with the status that the Kubeflow operator left.
func takenOver(state v1beta2.ApplicationStateType, runs int32) *v1beta2.SparkApplication {
	o := testutil.Pi()
	o.Status = v1beta2.SparkApplicationStatus{
		AppState: v1beta2.ApplicationState{State: state}, SubmissionID: kubeflowID, SparkApplicationID: "spark-abc",
		SubmissionAttempts: 1, ExecutionAttempts: runs, LastSubmissionAttemptTime: metav1.NewTime(start.Add(-time.Hour)),
		DriverInfo: v1beta2.DriverInfo{PodName: "pi-driver"},
	}
	return o
}

// kubeflowDriver is a healthy driver of the Kubeflow operator: its owner is the application, its submission id a random
// UUID that stands in status.submissionID.
func kubeflowDriver() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "jobs", Name: "pi-driver", UID: "theirs",
			Labels:          map[string]string{v1beta2.LabelAppName: "pi", v1beta2.LabelLaunchedBy: "true", v1beta2.LabelSubmissionID: kubeflowID, "spark-role": "driver"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "pi", UID: testutil.Pi().UID, Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: running()}}},
	}
}

// A running application of the Kubeflow operator keeps running when Firesteel takes over.
func TestTakeoverOfARunningApplication(t *testing.T) {
	for _, state := range []v1beta2.ApplicationStateType{"SUBMITTED", "RUNNING", "UNKNOWN"} {
		w := newHarness(t, takenOver(state, 1), kubeflowDriver())
		for range 3 {
			w.reconcile()
		}
		if got := w.app().Status; got.AppState.State != "RUNNING" {
			t.Errorf("%s: a healthy driver is declared lost: %+v", state, got.AppState)
		}
		if got := w.app().Status.SubmissionID; got != kubeflowID {
			t.Errorf("%s: status.submissionID became %s; its pods carry %s", state, got, kubeflowID)
		}
	}
}

// A suspended application of the Kubeflow operator stays suspended.
func TestTakeoverOfASuspendedApplication(t *testing.T) {
	for _, state := range []v1beta2.ApplicationStateType{"SUSPENDED", "SUSPENDING", "PENDING_RERUN", "INVALIDATING", "RESUMING"} {
		o := takenOver(state, 1)
		o.Spec.Suspend = new(true)
		w := newHarness(t, o)
		for range 4 {
			w.reconcile()
		}
		if got := w.app().Status.AppState; got.State == "FAILED" || got.State == "FAILING" {
			t.Errorf("%s with spec.suspend became %+v", state, got)
		}
	}
}

// An application that had failed permanently before Firesteel was installed is not run now.
func TestTakeoverDoesNotResurrectFailures(t *testing.T) {
	o := takenOver("FAILED", 0)
	o.Status.AppState.ErrorMessage = "failed to submit spark application: timeout"
	w := newHarness(t, o)
	for range 3 {
		w.reconcile()
	}
	if n := len(w.drivers()); n != 0 || w.state() != "FAILED" {
		t.Errorf("state %q with %d drivers: no one edited the spec", w.state(), n)
	}
}

// The CRD demands a reason in every condition (minLength 1): a status without one would be refused forever.
func TestTakeoverConditionsHaveReasons(t *testing.T) {
	for _, state := range []v1beta2.ApplicationStateType{"FAILED", "FAILING", "COMPLETED", "SUCCEEDING"} {
		w := newHarness(t, takenOver(state, 1))
		for range 2 {
			w.reconcile()
		}
		for _, c := range w.app().Status.Conditions {
			if c.Reason == "" {
				t.Errorf("%s: condition %s=%s has no reason", state, c.Type, c.Status)
			}
		}
	}
}
