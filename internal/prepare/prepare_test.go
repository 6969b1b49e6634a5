// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// pi is a small application that can run.
func pi() *v1beta2.SparkApplication {
	o := &v1beta2.SparkApplication{}
	o.Namespace, o.Name, o.UID = "jobs", "pi", "7b0f0a52-0000-4000-8000-000000000001"
	o.Spec = v1beta2.SparkApplicationSpec{
		Type: v1beta2.ApplicationTypeScala, SparkVersion: "4.1.4", Image: new("spark:4.1.4"), MainClass: new("Pi"),
		MainApplicationFile: new("local:///pi.jar"),
	}
	return o
}

func TestGateOf(t *testing.T) {
	cases := map[string]struct {
		reason  string
		verdict scheduler.Verdict
		want    lifecycle.Verdict
	}{
		"Go":       {reason: "it may start", verdict: scheduler.Go, want: lifecycle.Admitted},
		"Wait":     {reason: "later", verdict: scheduler.Wait, want: lifecycle.Waiting},
		"NotReady": {reason: "the scheduler may be installed", verdict: scheduler.NotReady, want: lifecycle.Waiting},
		"Never":    {reason: "not with this spec", verdict: scheduler.Never, want: lifecycle.Rejected},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := gateOf(scheduler.Admission{Verdict: tc.verdict, Reason: "R", Message: "words", RetryAfter: time.Minute})
			want := lifecycle.Gate{Verdict: tc.want, Cause: lifecycle.Cause{Reason: "R", Message: "words"}, RetryAfter: time.Minute}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAttemptOf(t *testing.T) {
	o := pi()
	o.Labels = map[string]string{"team": "a"}
	o.Spec.Executor.Instances = new(int32(3))
	o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("root.a"), PriorityClassName: new("high")}
	app, _ := kubeflow.Normalise(o)
	profile, err := spark.ProfileFor(app.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for attempt := int32(1); attempt <= 3; attempt++ {
		a, err := attemptOf(Request{App: app, Attempt: attempt, Identity: spark.NewIdentity(app.UID, attempt, start)}, profile)
		if err != nil {
			t.Fatal(err)
		}
		if a.Number != attempt || a.PriorityClass != "high" || a.Shapes.Initial != 3 {
			t.Errorf("attempt %d is described as %+v", attempt, a)
		}
		want := scheduler.App{Namespace: "jobs", Name: "pi", UID: o.UID, Labels: o.Labels}
		if diff := cmp.Diff(want, a.App); diff != "" {
			t.Errorf("attempt %d (-want +got):\n%s", attempt, diff)
		}
		if ids[a.ID] || len(a.ID) > 63 || strings.ToLower(a.ID) != a.ID {
			t.Errorf("attempt %d has the id %q: want a label that no other attempt has", attempt, a.ID)
		}
		ids[a.ID] = true
	}
	first, err := attemptOf(Request{App: app, Identity: spark.NewIdentity(app.UID, 1, start)}, profile)
	if err != nil || first.Number != 1 {
		t.Errorf("attempt %d, %v: the first one is implied", first.Number, err)
	}
}

// The marks of an attempt are the operator's, and the model that was normalised stays as it is.
func TestLabelled(t *testing.T) {
	o := pi()
	o.Spec.Driver.Labels = map[string]string{lifecycle.LabelSubmission: "hijacked"}
	app, _ := kubeflow.Normalise(o)
	before := len(app.OperatorConf)
	id := spark.NewIdentity(app.UID, 1, start)
	got := labelled(app, Request{Identity: id, SpecHash: "0123"})
	for _, prefix := range []string{spark.ConfDriverLabelPrefix, spark.ConfExecutorLabelPrefix} {
		if got.OperatorConf[prefix+lifecycle.LabelSubmission] != id.SubmissionID {
			t.Errorf("%s: submission label %q", prefix, got.OperatorConf[prefix+lifecycle.LabelSubmission])
		}
	}
	if hash := got.OperatorConf[spark.ConfDriverLabelPrefix+lifecycle.LabelSpecHash]; hash != "0123" {
		t.Errorf("the driver tells that it was made from %q, want 0123", hash)
	}
	if hash, ok := got.OperatorConf[spark.ConfExecutorLabelPrefix+lifecycle.LabelSpecHash]; ok {
		t.Errorf("executors tell %q; nobody asks them", hash)
	}
	if len(app.OperatorConf) != before {
		t.Error("the application given was changed")
	}
}

// The whole way: what stops an application, and what it says.
func TestPrepare(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	class := scheduler.Read{
		GroupVersionKind: schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}, Name: "high", Optional: true,
	}
	urgent := func(o *v1beta2.SparkApplication) {
		o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{PriorityClassName: new("high")}
	}
	cases := map[string]struct {
		reason   string
		change   func(*v1beta2.SparkApplication)
		snapshot scheduler.Snapshot
		want     lifecycle.Verdict
		message  []string
	}{
		"good": {reason: "nothing is wrong", want: lifecycle.Admitted},
		"two problems": {
			reason: "all that is wrong is said at once", want: lifecycle.Rejected,
			change:  func(o *v1beta2.SparkApplication) { o.Spec.SparkVersion = "1.6"; o.Spec.Driver.Memory = new("2gb") },
			message: []string{`spec.sparkVersion: "1.6"`, `spec.driver.memory: "2gb"`, "; "},
		},
		"malformed": {
			reason: "nothing is missing from a spec that cannot be decoded", want: lifecycle.Rejected,
			change: func(o *v1beta2.SparkApplication) {
				o.MalformedSpec = "json: cannot unmarshal"
				o.Spec = v1beta2.SparkApplicationSpec{}
			},
			message: []string{"spec: cannot be decoded"},
		},
		"no shapes": {
			reason: "the size of the pods cannot be computed", want: lifecycle.Rejected,
			change:  func(o *v1beta2.SparkApplication) { o.Spec.Executor.Memory = new("much") },
			message: []string{`spec.executor.memory: "much"`},
		},
		"unknown scheduler": {
			reason: "it may be installed later", want: lifecycle.Waiting,
			change:  func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("nobody") },
			message: []string{`"nobody" is not known`},
		},
		"missing priority class": {
			reason: "the scheduler sees that it does not exist", want: lifecycle.Waiting, change: urgent,
			message: []string{`PriorityClass "high" does not exist`},
		},
		"priority class": {
			reason: "the scheduler sees it", want: lifecycle.Admitted, change: urgent,
			snapshot: scheduler.Snapshot{class: &unstructured.Unstructured{}},
		},
		"refused by Build": {
			reason: "only Spark's own rules know this one", want: lifecycle.Rejected,
			change: func(o *v1beta2.SparkApplication) {
				o.Spec.SparkConf = map[string]string{"spark.driver.bindAddress": "::"}
			},
			message: []string{`spec.sparkConf["spark.driver.bindAddress"]`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := pi()
			if tc.change != nil {
				tc.change(o)
			}
			app, problems := kubeflow.Normalise(o)
			candidate, got := Examine(Request{App: app, Problems: problems, Identity: spark.NewIdentity(o.UID, 1, start)}, registry)
			if candidate != nil {
				got = candidate.Prepare(tc.snapshot)
			}
			if got.Gate.Verdict != tc.want {
				t.Errorf("%s: verdict %v, want %v: %s", tc.reason, got.Gate.Verdict, tc.want, got.Gate.Cause.Message)
			}
			for _, text := range tc.message {
				if !strings.Contains(got.Gate.Cause.Message, text) {
					t.Errorf("%s: the message does not say %q: %s", tc.reason, text, got.Gate.Cause.Message)
				}
			}
			if built := got.Submission.Driver != nil; built != (tc.want == lifecycle.Admitted) {
				t.Errorf("%s: a driver is to be created: %t", tc.reason, built)
			}
		})
	}
}

func TestReads(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	o := pi()
	o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{PriorityClassName: new("high")}
	app, _ := kubeflow.Normalise(o)
	candidate, _ := Examine(Request{App: app, Identity: spark.NewIdentity(o.UID, 1, start)}, registry)
	if candidate == nil || len(candidate.Reads()) != 1 || candidate.Reads()[0].Name != "high" {
		t.Errorf("candidate %+v: the scheduler looks at the PriorityClass", candidate)
	}
}
