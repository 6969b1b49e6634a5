// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

var highRead = scheduler.Read{GroupVersionKind: scheduler.PriorityClassKind, Name: "high", Optional: true}

func TestDescribe(t *testing.T) {
	d := Plugin{}.Describe()
	if d.Name != "kube" || d.SchedulerName != "" || !d.NoBatchScheduler || d.Supports != (scheduler.Support{}) {
		t.Errorf("plain Kubernetes leaves schedulerName alone and guarantees nothing: %+v", d)
	}
}

func TestReads(t *testing.T) {
	if got := (Plugin{}).Reads(scheduler.Attempt{Choice: scheduler.Choice{Queue: "q"}}); len(got) != 0 {
		t.Errorf("nothing to look at, yet it reads %v", got)
	}
	if diff := cmp.Diff([]scheduler.Read{highRead}, Plugin{}.Reads(scheduler.Attempt{PriorityClass: "high"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlan(t *testing.T) {
	class := &unstructured.Unstructured{}
	cases := map[string]struct {
		reason   string
		attempt  scheduler.Attempt
		snapshot scheduler.Snapshot
		verdict  scheduler.Verdict
		code     scheduler.Reason
		says     string
	}{
		"Plain":       {reason: "nothing holds it back", verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "nothing holds the application back"},
		"Class":       {reason: "the class exists", attempt: scheduler.Attempt{PriorityClass: "high"}, snapshot: scheduler.Snapshot{highRead: class}, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "nothing holds"},
		"Missing":     {reason: "looked up and not there", attempt: scheduler.Attempt{PriorityClass: "high"}, snapshot: scheduler.Snapshot{highRead: nil}, verdict: scheduler.Wait, code: scheduler.ReasonPriorityClassNotFound, says: `batchScheduler.priorityClass: PriorityClass "high" does not exist`},
		"NotLookedUp": {reason: "what was not seen is not there", attempt: scheduler.Attempt{PriorityClass: "high"}, verdict: scheduler.Wait, code: scheduler.ReasonPriorityClassNotFound, says: `"high"`},
		"Queue":       {reason: "manifests with a queue have always run, but are told", attempt: scheduler.Attempt{Choice: scheduler.Choice{Queue: "root.a"}}, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: `queue "root.a" is ignored`},
		"Parameters":  {reason: "there are none", attempt: scheduler.Attempt{Choice: scheduler.Choice{Scheduler: "kube"}, Parameters: []byte(`{"gang":1}`)}, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: "parameters.gang: is not a parameter of kube"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := scheduler.AdmitAttempt(Plugin{}, tc.attempt, tc.snapshot)
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.verdict, tc.code, tc.says)
			}
			if (got.RetryAfter > 0) != (tc.verdict == scheduler.Wait) {
				t.Errorf("%s: retry after %s: a wait has a timer, since classes are not watched", tc.reason, got.RetryAfter)
			}
		})
	}
}

func TestDecorate(t *testing.T) {
	app := spark.Application{Executor: spark.Role{Overlay: spark.PodOverlay{PriorityClassName: "low"}}}
	got, err := scheduler.Decorate(Plugin{}, scheduler.Attempt{PriorityClass: "high"}, app)
	if err != nil || got.Driver.Overlay.PriorityClassName != "high" || got.Executor.Overlay.PriorityClassName != "low" {
		t.Errorf("classes %q and %q, %v; want the application's on the driver and the role's own on the executors",
			got.Driver.Overlay.PriorityClassName, got.Executor.Overlay.PriorityClassName, err)
	}
	if app.Driver.Overlay.PriorityClassName != "" {
		t.Error("the application given was changed")
	}
	if got, err = scheduler.Decorate(Plugin{}, scheduler.Attempt{Choice: scheduler.Choice{Queue: "q"}}, app); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app, got); diff != "" {
		t.Errorf("an attempt without a class changes nothing (-want +got):\n%s", diff)
	}
}

func FuzzPlugin(f *testing.F) { schedulertest.Fuzz(f, Plugin{}, nil) }

func BenchmarkAdmit(b *testing.B) {
	a := schedulertest.Attempt(Name)
	a.PriorityClass = "high"
	schedulertest.Bench(b, Plugin{}, a, scheduler.Snapshot{highRead: {}})
}
