// SPDX-License-Identifier: Apache-2.0

package admission

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
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// load resolves an application under no policies.
func load(o *v1beta2.SparkApplication, record lifecycle.Record) resolve.Application {
	return resolve.Load(kubeflow.SparkApplications{}, o, record, resolve.Operator{}, start)
}

// The pods are built once to be judged, and once more as the scheduler has decorated them.
func TestBuiltOnceAndOnceMore(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	wrong := testutil.Pi()
	wrong.Spec.Driver.Memory = new("2gb")
	all := policy.Set{{Name: "all", Namespaces: []string{"*"}, Limits: policy.Limits{Images: []string{"*"}, ForbidHostAccess: true, Executors: new(int32(9))}}}
	cases := map[string]struct {
		reason string
		o      *v1beta2.SparkApplication
		ask    func(resolve.Application)
		want   int
	}{
		"Validate": {"everything is judged on what is built", testutil.Pi(), func(a resolve.Application) { Validate(a) }, 1},
		"Wrong":    {"what is wrong is not built again", wrong, func(a resolve.Application) { NewCandidate(a, registry, nil) }, 1},
		"Waits":    {"a wait needs no submission", testutil.Pi(), func(a resolve.Application) { NewCandidate(a, registry, nil) }, 1},
		"Admits":   {"decorated", testutil.Pi(), func(a resolve.Application) { c, _ := NewCandidate(a, registry, nil); c.Admit(nil) }, 2},
		"DryRun":   {"admission shows nothing", testutil.Pi(), func(a resolve.Application) { DryRun(a, registry) }, 1},
		"Rendered": {"decorated", testutil.Pi(), func(a resolve.Application) { _, _ = DryRun(a, registry).Objects() }, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			built := 0
			build = func(app spark.Application, id spark.Identity, p spark.Profile) (spark.Submission, error) {
				built++
				return spark.Build(app, id, p)
			}
			t.Cleanup(func() { build = spark.Build })
			tc.ask(resolve.Load(kubeflow.SparkApplications{}, tc.o, lifecycle.Record{}, resolve.Operator{Registry: registry, Policies: all}, start))
			if built != tc.want {
				t.Errorf("%s: built %d times, want %d", tc.reason, built, tc.want)
			}
		})
	}
}

func TestAttemptOf(t *testing.T) {
	o := testutil.Pi()
	o.Labels = map[string]string{"team": "a"}
	o.Spec.Executor.Instances = new(int32(3))
	o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("root.a"), PriorityClassName: new("high")}
	ids := map[string]bool{}
	for attempt := int32(1); attempt <= 3; attempt++ {
		a := Validate(load(o, lifecycle.Record{Attempt: attempt})).attempt()
		if a.Number != attempt || a.PriorityClass != "high" || a.PodSets.Initial != 3 {
			t.Errorf("attempt %d is described as %+v", attempt, a)
		}
		want := scheduler.App{Kind: kubeflow.SparkApplications{}.Family().GroupKind(), Namespace: "jobs", Name: "pi", UID: o.UID, Labels: o.Labels}
		if diff := cmp.Diff(want, a.App); diff != "" {
			t.Errorf("attempt %d (-want +got):\n%s", attempt, diff)
		}
		if ids[a.ID] || len(a.ID) > 63 || strings.ToLower(a.ID) != a.ID {
			t.Errorf("attempt %d has the id %q: want a label that no other attempt has", attempt, a.ID)
		}
		ids[a.ID] = true
	}
	if first := Validate(load(o, lifecycle.Record{})).attempt(); first.Number != 1 {
		t.Errorf("attempt %d: the first one is implied", first.Number)
	}
}

// The whole way: what stops an application, and what it says.
func TestAdmit(t *testing.T) {
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
		want     scheduler.Verdict
		message  []string
	}{
		"good": {reason: "nothing is wrong", want: scheduler.Admit},
		"two problems": {
			reason: "all that is wrong is said at once", want: scheduler.Reject,
			change:  func(o *v1beta2.SparkApplication) { o.Spec.SparkVersion = "1.6"; o.Spec.Driver.Memory = new("2gb") },
			message: []string{`spec.sparkVersion: "1.6"`, `spec.driver.memory: "2gb"`, "; "},
		},
		"malformed": {
			reason: "nothing is missing from a spec that cannot be decoded", want: scheduler.Reject,
			change: func(o *v1beta2.SparkApplication) {
				o.MalformedSpec = "json: cannot unmarshal"
				o.Spec = v1beta2.SparkApplicationSpec{}
			},
			message: []string{"spec: cannot be decoded"},
		},
		"no shapes": {
			reason: "the size of the pods cannot be computed", want: scheduler.Reject,
			change:  func(o *v1beta2.SparkApplication) { o.Spec.Executor.Memory = new("much") },
			message: []string{`spec.executor.memory: "much"`},
		},
		"unknown scheduler": {
			reason: "it may be installed later", want: scheduler.Unavailable,
			change:  func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = new("nobody") },
			message: []string{`"nobody" is not known`},
		},
		"missing priority class": {
			reason: "the scheduler sees that it does not exist", want: scheduler.Wait, change: urgent,
			message: []string{`PriorityClass "high" does not exist`},
		},
		"priority class": {
			reason: "the scheduler sees it", want: scheduler.Admit, change: urgent,
			snapshot: scheduler.Snapshot{class: &unstructured.Unstructured{}},
		},
		"refused by Build": {
			reason: "only Spark's own rules know this one", want: scheduler.Reject,
			change: func(o *v1beta2.SparkApplication) {
				o.Spec.SparkConf = map[string]string{"spark.driver.bindAddress": "::"}
			},
			message: []string{`spec.sparkConf["spark.driver.bindAddress"]`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			if tc.change != nil {
				tc.change(o)
			}
			candidate, got := NewCandidate(load(o, lifecycle.Record{}), registry, nil)
			if candidate != nil {
				got = candidate.Admit(tc.snapshot)
			}
			if got.Verdict != tc.want {
				t.Errorf("%s: verdict %v, want %v: %s", tc.reason, got.Verdict, tc.want, got.Message)
			}
			for _, text := range tc.message {
				if !strings.Contains(got.Message, text) {
					t.Errorf("%s: the message does not say %q: %s", tc.reason, text, got.Message)
				}
			}
			if built := got.Submission.Driver != nil; built != (tc.want == scheduler.Admit) {
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
	o := testutil.Pi()
	o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{PriorityClassName: new("high")}
	candidate, _ := NewCandidate(load(o, lifecycle.Record{}), registry, nil)
	if candidate == nil || len(candidate.Reads) != 1 || candidate.Reads[0].Name != "high" {
		t.Errorf("candidate %+v: the scheduler looks at the PriorityClass", candidate)
	}
}

// Of a name that is refused nothing more is said: nobody has written what is made of it (finding 21).
func TestNameIsRefusedOnce(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 64), "Spark_Pi", "pi.1"} {
		o := testutil.Pi()
		o.Name = name
		c := Validate(load(o, lifecycle.Record{Attempt: 1}))
		if len(c.Objections) != 1 || c.Objections[0].Field != "metadata.name" {
			t.Errorf("%s: %v", name, c.Objections)
		}
	}
}
