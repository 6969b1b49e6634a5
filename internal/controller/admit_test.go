// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// frozen is a cache that shows an old version of the application.
type frozen struct {
	client.Reader
	app *v1beta2.SparkApplication
}

func (f frozen) Get(ctx context.Context, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
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

func TestAppsOf(t *testing.T) {
	other := lifecycle.Family{Group: "example.org", Kind: "Job", Labels: lifecycle.Labels{App: "example.org/name"}}
	families := []lifecycle.Family{kubeflow.SparkApplications{}.Family(), other}
	p := &corev1.Pod{}
	p.Namespace, p.Name = "jobs", "pi-exec-1"
	if got := appsOf(families, p); got != nil {
		t.Errorf("a pod of nobody wakes %v", got)
	}
	p.Labels = map[string]string{v1beta2.LabelAppName: "pi"}
	want := []scheduler.Key{{Kind: families[0].GroupKind(), Namespace: "jobs", Name: "pi"}}
	if diff := cmp.Diff(want, appsOf(families, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.Labels["example.org/name"] = "pi"
	want = append(want, scheduler.Key{Kind: other.GroupKind(), Namespace: "jobs", Name: "pi"})
	if diff := cmp.Diff(want, appsOf(families, p)); diff != "" {
		t.Errorf("a label of each family, which anybody can set (-want +got):\n%s", diff)
	}
}

func TestCacheOptions(t *testing.T) {
	own := kubeflow.SparkApplications{}.Family()
	other := lifecycle.Family{Labels: lifecycle.Labels{LaunchedBy: "example.org/launched"}}
	ours, theirs, users := labels.Set{v1beta2.LabelLaunchedBy: "true"}, labels.Set{"example.org/launched": "true", "spark-role": "driver"}, labels.Set{"app": "web"}
	cases := map[string]struct {
		reason   string
		families []lifecycle.Family
		has      []labels.Set
		hasNot   []labels.Set
	}{
		"One": {"the pod cache holds our own pods only", []lifecycle.Family{own}, []labels.Set{ours}, []labels.Set{theirs, users}},
		"Two": {"what they have in common is Spark's label", []lifecycle.Family{own, other}, []labels.Set{theirs}, []labels.Set{users}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := cacheOptions(tc.families)
			if err != nil || all.DefaultNamespaces != nil || len(all.ByObject) != 1 {
				t.Fatalf("%v, %v, %v: a rule for pods, and none for namespaces, which come and go", all.ByObject, all.DefaultNamespaces, err)
			}
			for obj, options := range all.ByObject {
				if _, isPod := obj.(*corev1.Pod); !isPod || options.Transform == nil {
					t.Errorf("%s: a rule for %T", tc.reason, obj)
				}
				for _, set := range tc.has {
					if !options.Label.Matches(set) {
						t.Errorf("%s: not %v", tc.reason, set)
					}
				}
				for _, set := range tc.hasNot {
					if options.Label.Matches(set) {
						t.Errorf("%s: %v", tc.reason, set)
					}
				}
			}
		})
	}
}

// Conversion and validation speak at once, and what has no effect is told without stopping anything.
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
			t.Errorf("the condition does not tell it: %+v", c)
		}
	}
}
