// SPDX-License-Identifier: Apache-2.0

package application

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const multiKueue = "kueue.x-k8s.io/multikueue"

// It is said once whose the application is; then nothing more happens, also when the other controller writes its status.
func TestAnotherControllersApplicationIsLeftAlone(t *testing.T) {
	o := testutil.Pi()
	o.Spec.ManagedBy = ptr.To(multiKueue)
	w := newHarness(t, o)
	for range 3 {
		if r := w.reconcile(); r.RequeueAfter != 0 {
			t.Errorf("checked again after %s", r.RequeueAfter)
		}
		w.pass(time.Hour)
	}
	if diff := cmp.Diff(map[string]int{"status": 1}, w.writes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c := conditionOf(w, "Admitted")
	want := `spec.managedBy is "kueue.x-k8s.io/multikueue": that controller runs the application, and this operator leaves it alone`
	if c.Status != "False" || c.Reason != "ManagedByAnother" || c.Message != want || len(w.app().Status.Conditions) != 1 {
		t.Errorf("conditions %+v, want %q", w.app().Status.Conditions, want)
	}
	if s := w.app().Status; s.AppState.State != "" || s.DriverInfo.PodName != "pi-driver" || s.ExecutionAttempts != 0 {
		t.Errorf("status %+v", s)
	}
	for _, state := range []v1beta2.ApplicationStateType{"SUBMITTED", "RUNNING", "COMPLETED", "FAILED", "SUSPENDED"} {
		w.edit(func(o *v1beta2.SparkApplication) {
			o.Spec.TimeToLiveSeconds, o.Spec.Suspend = ptr.To(int64(1)), ptr.To(state == "RUNNING")
		})
		mirrored := w.app()
		mirrored.Status = v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: state}, DriverInfo: v1beta2.DriverInfo{PodName: "pi-driver", WebUIServiceName: "pi-ui-svc"}}
		if err := w.c.Status().Update(t.Context(), mirrored); err != nil || w.state() != string(state) {
			t.Fatalf("%s: %v", w.state(), err)
		}
		clear(w.writes)
		for range 3 {
			w.reconcile()
			w.pass(time.Hour)
		}
		if len(w.writes) > 0 {
			t.Errorf("%s: written: %v", state, w.writes)
		}
	}
	if got := w.events(); len(got) > 0 {
		t.Errorf("events %q", got)
	}
}

// This operator's own name means itself.
func TestManagedByThisOperator(t *testing.T) {
	o := testutil.Pi()
	o.Spec.ManagedBy = ptr.To(v1beta2.ManagedByThisOperator)
	w := newHarness(t, o)
	w.reconcile()
	if len(w.drivers()) != 1 {
		t.Errorf("%d drivers: %+v", len(w.drivers()), w.app().Status)
	}
}

// What is wrong with another controller's application is its business.
func TestMalformedApplicationOfAnotherController(t *testing.T) {
	o := &v1beta2.SparkApplication{}
	if err := json.Unmarshal([]byte(`{"spec": {"managedBy": "kueue.x-k8s.io/multikueue", "driver": {"template": "text"}}}`), o); err != nil || o.MalformedSpec == "" || ptr.Deref(o.Spec.ManagedBy, "") != multiKueue {
		t.Fatalf("%v, %q, %+v", err, o.MalformedSpec, o.Spec)
	}
	if by := kubeflow.Desired(o, lifecycle.Record{}).ManagedBy; by != multiKueue {
		t.Errorf("managed by %q", by)
	}
}
