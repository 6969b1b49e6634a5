// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

var quotaRef = scheduler.Ref{GroupVersionKind: resourceQuotaKind, Namespace: "team-a", Name: "compute"}

// named is the n-th application of a namespace, in the order in which they came.
func named(n int) scheduler.Attempt {
	a := attempt()
	a.ID = fmt.Sprintf("app-%d", n)
	a.QueuedAt = a.QueuedAt.Add(time.Duration(n) * time.Second)
	return a
}

// pods of an attempt: the driver runs, and so many executors.
func pods(executors int) scheduler.PodStatuses {
	f := scheduler.PodStatuses{Driver: &scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n"}}
	for i := range executors {
		f.Executors = append(f.Executors, scheduler.PodStatus{ExecutorID: int64(i + 1), Phase: corev1.PodRunning, Node: "n"})
	}
	return f
}

func cluster(t *testing.T, hard string) *schedulertest.Cluster {
	t.Helper()
	return schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", nil), placement{}),
		resourceQuota(t, "compute", "{requests.cpu: "+hard+"}", "{requests.cpu: 0}", ""))
}

// Three applications and room for one at a time: they run in the order in which they came.
func TestStory(t *testing.T) {
	c := cluster(t, "10")
	first, second, third := named(1), named(2), named(3)
	want := func(step string, a scheduler.Attempt, reason scheduler.Reason) {
		t.Helper()
		if got := c.Admit(a); got.Reason != reason {
			t.Errorf("%s: %s: %+v, want %s", step, a.ID, got, reason)
		}
	}
	want("it is empty", first, scheduler.ReasonAdmitted)
	want("the first has no pod yet", second, scheduler.ReasonWaitingForQuota)
	want("nor has anyone else room", third, scheduler.ReasonWaitingForQuota)
	want("what was admitted stays admitted", first, scheduler.ReasonAdmitted)
	c.Status(quotaRef, "7", "used", "requests.cpu")
	c.Observe(first, pods(3))
	want("the quota counts the first now", second, scheduler.ReasonWaitingForQuota)
	c.Status(quotaRef, "0", "used", "requests.cpu")
	c.Release(first)
	want("the third came last", third, scheduler.ReasonBehindOthers)
	want("the second has its turn", second, scheduler.ReasonAdmitted)
	want("and takes the room", third, scheduler.ReasonWaitingForQuota)
	c.Release(second)
	want("all are gone", third, scheduler.ReasonAdmitted)
}

// The quota's report of the first one's pods comes late: no one slips in before, and anyone who could start after asks again
// by themselves.
func TestStoryOfALateReport(t *testing.T) {
	elasticRef := scheduler.Ref{GroupVersionKind: elasticQuotaKind, Namespace: "team-a", Name: "share"}
	for name, tc := range map[string]struct {
		quota *unstructured.Unstructured
		ref   scheduler.Ref
		field string
		lag   time.Duration
	}{
		"ResourceQuota": {quota: resourceQuota(t, "compute", "{requests.cpu: 14}", "{requests.cpu: 0}", ""), ref: quotaRef, field: "requests.cpu", lag: time.Second},
		"ElasticQuota":  {quota: elasticQuota(t, "team-a", "share", "{min: {cpu: 14, memory: 1Ti}}", "{cpu: 0}"), ref: elasticRef, field: "cpu", lag: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", []string{"batch"}), placement{}), tc.quota)
			first, second, third := named(1), named(2), named(3)
			c.Admit(first)
			c.Observe(first, pods(3))
			if got := c.Admit(second); got.Verdict != scheduler.Admit {
				t.Errorf("there is room for two: %+v", got)
			}
			if got := c.Admit(third); got.Verdict != scheduler.Wait {
				t.Errorf("the pods of the first run, and no report reports them: %+v", got)
			}
			c.Release(second)
			c.Status(tc.ref, "7", "used", tc.field) // the report
			got := c.Admit(third)
			if got.Verdict != scheduler.Wait || got.RetryAfter > tc.lag {
				t.Errorf("in doubt it waits, but not for long: %+v", got)
			}
			c.Pass(tc.lag)
			if got := c.Admit(third); got.Verdict != scheduler.Admit {
				t.Errorf("the first is counted once: %+v", got)
			}
		})
	}
}

// Only the first in line asks again in short: those behind it wait for its pods.
func TestStoryOfALateReportToALine(t *testing.T) {
	c := cluster(t, "7")
	first, second, third := named(1), named(2), named(3)
	c.Admit(first)
	c.Observe(first, pods(3))
	for a, want := range map[*scheduler.Attempt]time.Duration{&second: time.Second, &third: retry} {
		c.Admit(second)
		if got := c.Admit(*a); got.RetryAfter != want {
			t.Errorf("%s asks again after %s, want %s", a.ID, got.RetryAfter, want)
		}
	}
}

// Thousands may wait: those with many ahead of them are asked seldom.
func TestStoryOfALongLine(t *testing.T) {
	c := cluster(t, "7")
	c.Admit(named(0))
	for n := 1; n <= few+1; n++ {
		want := retry
		if n > few {
			want = retryBehind
		}
		if got := c.Admit(named(n)); got.RetryAfter != want {
			t.Errorf("with %d ahead it asks again after %s, want %s", n-1, got.RetryAfter, want)
		}
	}
}

// One with many ahead of it in one line may be the first of another: it is asked often, for it is in the way of those behind it until it is asked when
// there is room.
func TestStoryOfTheFirstOfOneLine(t *testing.T) {
	c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", []string{"batch"}), placement{}), resourceQuota(t, "compute", "{requests.cpu: 10}", "{requests.cpu: 9}", ""),
		elasticQuota(t, "team-a", "a", "{min: {cpu: 1, memory: 1Ti}}", "{cpu: 0}"), elasticQuota(t, "team-b", "b", "{min: {cpu: 9, memory: 1Ti}}", "{cpu: 10}"))
	for n := range few + 1 {
		other := named(n)
		other.App.Namespace = "team-b"
		c.Admit(other)
	}
	for n, want := range []time.Duration{retry, retryBehind} {
		if got := c.Admit(named(few + 1 + n)); got.RetryAfter != want {
			t.Errorf("number %d of its namespace asks again after %s, want %s: %+v", n+1, got.RetryAfter, want, got)
		}
	}
}

// Who waits for one quota is in no one's way who is bound by others.
func TestStoryOfTwoQuotas(t *testing.T) {
	class := func(name, used string) *unstructured.Unstructured {
		return resourceQuota(t, "q-"+name, "{requests.cpu: 10}", "{requests.cpu: "+used+"}",
			", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: ["+name+"]}]}")
	}
	classed := func(n int, name string) scheduler.Attempt {
		a := named(n)
		a.PriorityClass = name
		return a
	}
	placed := func(n int, by string) scheduler.Attempt {
		a := named(n)
		a.Scheduler = by
		return a
	}
	const admitted, waits, behind = scheduler.ReasonAdmitted, scheduler.ReasonWaitingForQuota, scheduler.ReasonBehindOthers
	type step struct {
		a    scheduler.Attempt
		want scheduler.Reason
	}
	small, tiny := classed(3, "low"), named(2)
	small.PodSets.Initial, tiny.PodSets.Initial = 0, 0
	cases := map[string]struct {
		reason string
		strict bool
		quotas objects
		steps  []step
	}{
		"Classes": {
			reason: "the quota of its own class is empty", quotas: objects{class("low", "9"), class("high", "0")},
			steps: []step{{classed(1, "low"), waits}, {classed(2, "high"), admitted}, {small, admitted}, {classed(4, "high"), waits}},
		},
		"Elastic": {
			reason: "pods of another scheduler are not bound by the ElasticQuota",
			quotas: objects{elasticQuota(t, "team-a", "e", "{min: {cpu: 10, memory: 1Ti}}", "{cpu: 9}"), resourceQuota(t, "compute", "{requests.cpu: 40}", "{}", "")},
			steps:  []step{{placed(1, "batch"), waits}, {placed(2, "other"), admitted}, {placed(3, "batch"), waits}},
		},
		"Uncounted": {
			reason: "a quota that counts nothing of its pods does not bind it", quotas: objects{class("low", "9"), resourceQuota(t, "maps", "{configmaps: 1}", "{configmaps: 1}", "")},
			steps: []step{{classed(1, "low"), waits}, {named(2), admitted}},
		},
		"Strict": {
			reason: "only those of its own class are in its way, whatever it asks for", strict: true, quotas: objects{class("low", "9"), class("high", "0")},
			steps: []step{{classed(1, "low"), waits}, {classed(2, "high"), admitted}, {small, behind}, {classed(4, "high"), waits}},
		},
		"Both": {
			reason: "who waits for two stands in both lines", strict: true, quotas: objects{class("low", "9"), resourceQuota(t, "all", "{requests.cpu: 20}", "{requests.cpu: 15}", "")},
			steps: []step{{classed(1, "low"), waits}, {tiny, behind}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", []string{"batch"}), placement{}), tc.quotas...)
			c.SetOrder(scheduler.Order{Strict: tc.strict, AgingBound: time.Hour})
			for _, s := range tc.steps {
				if got := c.Admit(s.a); got.Reason != s.want {
					t.Errorf("%s: %s: %+v, want %s", tc.reason, s.a.ID, got, s.want)
				}
			}
		})
	}
}

// An attempt that was admitted, and is edited before a driver is there, is checked again.
func TestStoryOfAnEdit(t *testing.T) {
	c := cluster(t, "8")
	a := named(1)
	for _, step := range []struct {
		executors int32
		want      scheduler.Verdict
	}{{2, scheduler.Admit}, {2, scheduler.Admit}, {400, scheduler.Reject}, {2, scheduler.Admit}, {1, scheduler.Admit}} {
		a.PodSets.Initial = step.executors
		if got := c.Admit(a); got.Verdict != step.want {
			t.Errorf("%d executors: %+v, want %s", step.executors, got, step.want)
		}
	}
	if got := c.Admit(named(2)); got.Message != "waiting for quota in namespace team-a: requests.cpu asked 7, free 8 of 8, reserved 3 for others (ResourceQuota compute)" {
		t.Errorf("what it is now is reserved: %+v", got)
	}
}

// The operator restarts between any two steps: what runs is counted once, what waits takes its place again.
func TestStoryOfARestart(t *testing.T) {
	c := cluster(t, "10")
	first, second := named(1), named(2)
	c.Admit(first)
	c.Status(quotaRef, "3", "used", "requests.cpu") // driver and one executor
	c.Observe(first, pods(1))
	c.Restart(map[*scheduler.Attempt]scheduler.PodStatuses{&first: pods(1)})
	c.Pass(time.Minute)
	got := c.Admit(second)
	if got.Message != "waiting for quota in namespace team-a: requests.cpu asked 7, free 7 of 10, reserved 4 for others (ResourceQuota compute)" {
		t.Errorf("%+v: two executors of the first are still to come", got)
	}
	c.Status(quotaRef, "1", "used", "requests.cpu") // its executors have ended
	gone := pods(0)
	gone.Executors = []scheduler.PodStatus{{ExecutorID: 3, Phase: corev1.PodRunning}}
	c.Restart(map[*scheduler.Attempt]scheduler.PodStatuses{&first: gone})
	c.Pass(time.Minute)
	if got := c.Admit(second); got.Verdict != scheduler.Admit {
		t.Errorf("%+v: the third executor was there, so all of them were", got)
	}
}

// A limit that an administrator raises, or lowers below what runs.
func TestStoryOfALimit(t *testing.T) {
	c := cluster(t, "6")
	a := named(1)
	for hard, want := range map[string]scheduler.Verdict{"6": scheduler.Reject, "7": scheduler.Admit, "0": scheduler.Reject} {
		c.Release(a)
		c.Put(resourceQuota(t, "compute", "{requests.cpu: "+hard+"}", "{requests.cpu: 0}", ""))
		if got := c.Admit(a); got.Verdict != want {
			t.Errorf("limit %s: %+v, want %s", hard, got, want)
		}
	}
	c.Remove(quotaRef)
	if got := c.Admit(a); got.Verdict != scheduler.Admit {
		t.Errorf("no quota: %+v", got)
	}
}

// Pods that name the scheduler of ElasticQuotas themselves wait in the same lines (finding 10).
func TestStoryOfAnotherField(t *testing.T) {
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute}, elasticQuota(t, "team-a", "a", "{min: {cpu: 10, memory: 1Ti}}", "{cpu: 8}"))
	q.want("it names the scheduler plugin", named(1), waits)
	other := named(2)
	other.Scheduler = "none"
	q.want("another scheduler takes its pods", other, admitted)
	q.Release(other)
	other.PlacedBy = []string{"batch"}
	q.want("its pods name the scheduler", other, waits)
}
