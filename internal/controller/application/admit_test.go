// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// staleCache is a cache that shows an old version of the application.
type staleCache struct {
	client.Reader
	app *v1beta2.SparkApplication
}

func (f staleCache) Get(ctx context.Context, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if o, ok := obj.(*v1beta2.SparkApplication); ok {
		f.app.DeepCopyInto(o)
		return nil
	}
	return f.Reader.Get(ctx, k, obj, opts...)
}

// The marks of an attempt are the operator's.
func TestSubmissionLabel(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Driver.Labels = map[string]string{v1beta2.LabelSubmissionID: "hijacked"}
	id := spark.NewIdentity(o.UID, 1, start)
	w := newHarness(t, o)
	w.reconcile()
	if got := w.drivers()[0].Labels[v1beta2.LabelSubmissionID]; got != id.SubmissionID {
		t.Errorf("the driver carries the submission id %q, want %q", got, id.SubmissionID)
	}
}

// All that is wrong is said at once, but an incomplete model is not blamed for what it left out.
func TestProblemsAreSaidAtOnce(t *testing.T) {
	o := testutil.Pi()
	o.Spec.SparkVersion = "1.6"
	o.Spec.Driver.Memory = new("2gb")
	w := newHarness(t, o)
	w.reconcile()
	message := w.app().Status.AppState.ErrorMessage
	for _, text := range []string{`spec.sparkVersion: "1.6"`, `spec.driver.memory: "2gb"`, "; "} {
		if !strings.Contains(message, text) {
			t.Errorf("the message does not say %q: %s", text, message)
		}
	}
	o = testutil.Pi()
	o.MalformedSpec = "json: cannot unmarshal"
	o.Spec = v1beta2.SparkApplicationSpec{}
	w = newHarness(t, testutil.Pi())
	record := w.engine.Kind.FromStatus(o)
	s := w.engine.scope(o, record, start)
	if err := w.engine.admit(t.Context(), s); err != nil || s.admission.Verdict != scheduler.Reject || strings.Contains(s.admission.Message, "sparkVersion") {
		t.Errorf("%+v, %v: the spec is malformed, nothing is missing from it", s.admission.Admission, err)
	}
}

// Conversion and validation speak at once, and what has no effect is reported without stopping anything.
func TestProblemsAndNotes(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Mode, o.Spec.Driver.Memory = v1beta2.DeployModeClient, new("2gb")
	w := newHarness(t, o)
	w.reconcile()
	for _, text := range []string{`spec.mode: "client"`, `spec.driver.memory: "2gb"`} {
		if message := w.app().Status.AppState.ErrorMessage; !strings.Contains(message, text) {
			t.Errorf("the message does not say %q: %s", text, message)
		}
	}
	o = testutil.Pi()
	o.Spec.Executor.MemoryLimit = new("4g")
	w = newHarness(t, o)
	w.reconcile()
	if len(w.drivers()) != 1 {
		t.Fatal("a warning keeps the application from running")
	}
	for _, c := range w.app().Status.Conditions {
		if c.Type == string(lifecycle.ConditionAdmitted) && !strings.Contains(c.Message, `; note: spec.executor.memoryLimit: "4g": has no effect`) {
			t.Errorf("the condition does not say it: %+v", c)
		}
	}
}
