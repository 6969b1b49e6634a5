// SPDX-License-Identifier: Apache-2.0

package application

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// An adopted driver that waits for what spark-submit has made gets nothing of the operator's own, and nothing is created before it.
func TestAdoptedDriverLivesOnWhatOthersMade(t *testing.T) {
	app := testutil.Pi()
	app.Annotations = map[string]string{v1beta2.AnnotationAdopts: "spark-driver"}
	w := newHarness(t, app)
	w.reconcile()
	identity := spark.NewIdentity(app.UID, 1, start)
	driver := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "jobs", Name: "spark-driver",
			Labels: map[string]string{
				spark.LabelRole: spark.RoleDriver, v1beta2.LabelAppName: app.Name, v1beta2.LabelLaunchedBy: "true",
				v1beta2.LabelSubmissionID: identity.SubmissionID, v1beta2.LabelSpecHash: kubeflow.SpecHash(w.app()),
			},
			OwnerReferences: []metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(w.app(), identity.SubmissionID).Reference},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: spark.DriverContainerName}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now())},
		}},
	}
	failed := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "failed"}, Type: corev1.EventTypeWarning, Reason: "FailedMount",
		InvolvedObject: corev1.ObjectReference{Name: driver.Name}, Message: "MountVolume.SetUp failed: not found",
	}
	for _, err := range []error{w.c.Create(t.Context(), driver), w.c.Status().Update(t.Context(), driver), w.c.Create(t.Context(), failed)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.pass(10 * time.Second) // events are not asked for before
	w.reconcile()
	w.reconcile()
	if state := w.state(); state != "SUBMITTED" || w.app().Status.DriverInfo.PodName != "spark-driver" {
		t.Fatalf("the driver is not followed: %s, %+v", state, w.app().Status.DriverInfo)
	}
	for call, n := range w.writes {
		if strings.HasPrefix(call, "create ") && call != "create *v1.Pod" && call != "create *v1.Event" || n > 1 && strings.HasPrefix(call, "create ") {
			t.Errorf("%d times %s beside an adopted driver", n, call)
		}
	}
}
