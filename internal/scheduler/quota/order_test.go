// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// sized is the n-th application, which asks for so many cores: a driver with one, and executors with two each.
func sized(n, cores int) scheduler.Attempt {
	a := named(n)
	a.PodSets.Initial = int32((cores - 1) / 2)
	return a
}

func priorityClass(tb testing.TB, name string, value int) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, fmt.Sprintf("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: %s}\nvalue: %d", name, value))
}

// queue is a cluster in which attempts wait for quotas.
type queue struct {
	*testing.T
	*schedulertest.Cluster
}

func newQueue(t *testing.T, o scheduler.Order, objects ...*unstructured.Unstructured) queue {
	t.Helper()
	c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", []string{"batch"}), placement{}), objects...)
	c.SetOrder(o)
	return queue{t, c}
}

func (q queue) want(step string, a scheduler.Attempt, reason scheduler.Reason) {
	q.Helper()
	if got := q.Admit(a); got.Reason != reason {
		q.Errorf("%s: %s: %s %q, want %s", step, a.ID, got.Reason, got.Message, reason)
	}
}

const (
	admitted = scheduler.ReasonAdmitted
	waits    = scheduler.ReasonWaitingForQuota
	behind   = scheduler.ReasonBehindOthers
)

// A large one waits while a stream holds most of the quota. Small ones pass it until it has waited for as long as the bound.
func TestStoryOfALargeOne(t *testing.T) {
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute}, resourceQuota(t, "compute", "{requests.cpu: 100}", "{requests.cpu: 60}", ""))
	large, small, second, third := sized(1, 51), sized(2, 11), sized(3, 11), sized(4, 11)
	q.want("there is no room for it", large, waits)
	q.want("it fits, and the large one does not", small, admitted)
	q.Pass(10*time.Minute + time.Second)
	q.want("none passes the large one any more", second, behind)
	q.want("there is still no room for it", large, waits)
	q.Status(quotaRef, "71", "used", "requests.cpu")
	q.Restart(nil, large, second)
	q.want("nor does any after a restart that is asked before it", third, behind)
	q.want("it waits still", large, waits)
	q.want("nor does any when all were asked", second, behind)
	q.want("nor does any when all were asked", third, behind)
	q.Status(quotaRef, "11", "used", "requests.cpu")
	q.want("it is the turn of the large one", second, behind)
	q.want("it starts at last", large, admitted)
	q.want("and the others do", second, admitted)
}

func TestStoryOfAStrictOrder(t *testing.T) {
	q := newQueue(t, scheduler.Order{Strict: true, AgingBound: 10 * time.Minute}, resourceQuota(t, "compute", "{requests.cpu: 100}", "{requests.cpu: 60}", ""),
		priorityClass(t, "high", 1000))
	large, small, urgent := sized(1, 51), sized(2, 11), sized(3, 11)
	urgent.PriorityClass = "high"
	q.want("there is no room for it", large, waits)
	q.want("none passes", small, behind)
	q.want("but by its priority", urgent, admitted)
	large.PodSets.Initial = 500
	if got := q.Admit(large); got.Verdict != scheduler.Reject {
		t.Errorf("it does not fit at all now: %+v", got)
	}
	q.want("what can never start is not ahead", small, admitted)
}

// Who comes first where there is room for either.
func TestStoryOfPriorities(t *testing.T) {
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute}, resourceQuota(t, "compute", "{requests.cpu: 20}", "{requests.cpu: 20}", ""),
		priorityClass(t, "high", 1000), priorityClass(t, "low", -5))
	low, none, high, missing := sized(1, 7), sized(2, 7), sized(3, 7), sized(4, 7)
	low.PriorityClass, high.PriorityClass, missing.PriorityClass = "low", "high", "absent"
	all := []scheduler.Attempt{low, none, high, missing}
	order := func(step string, want ...string) {
		t.Helper()
		q.Restart(nil)
		q.Status(quotaRef, "20", "used", "requests.cpu")
		for _, a := range all {
			q.want(step, a, waits)
		}
		q.Status(quotaRef, "12", "used", "requests.cpu")
		var got []string
		for len(got) < len(all) {
			before := len(got)
			for _, a := range all {
				if !slices.Contains(got, a.ID) && q.Admit(a).Verdict == scheduler.Admit {
					got = append(got, a.ID)
					q.Release(a)
				}
			}
			if len(got) == before {
				t.Fatalf("%s: %v start, and no other does", step, got)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	order("by priority, then by age", "app-3", "app-2", "app-4", "app-1")
	q.Pass(11 * time.Minute)
	order("after the bound by age", "app-1", "app-2", "app-3", "app-4")
}

// with is an application whose three executors have devices.
func with(n int, devices ...corev1.ResourceName) scheduler.Attempt {
	a := named(n)
	for _, name := range devices {
		a.PodSets.Executor.Requests[name] = resource.MustParse("1")
	}
	return a
}

// Those who wait for one resource are not in the way of those who ask for another, but keep what they have waited for longer than the
// bound: else each of two resources would be taken by others while they wait for the other one.
func TestStoryOfTwoResources(t *testing.T) {
	const gpu, fpga = "nvidia.com/gpu", "example.com/fpga"
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute},
		resourceQuota(t, "compute", "{requests.nvidia.com/gpu: 4, requests.example.com/fpga: 4, requests.cpu: 100}", "{requests.nvidia.com/gpu: 4}", ""))
	used := func(gpus, fpgas string) {
		q.Status(quotaRef, gpus, "used", "requests."+gpu)
		q.Status(quotaRef, fpgas, "used", "requests."+fpga)
	}
	both := with(1, gpu, fpga)
	q.want("no GPU is free", both, waits)
	q.want("it asks for cores alone", with(2), admitted)
	q.Pass(11 * time.Minute)
	other := with(3, fpga)
	q.want("it asks for no GPU, and the first is short of nothing else", other, admitted)
	q.Observe(other, pods(3))
	q.Pass(5 * time.Second)
	used("0", "3")
	q.want("the others have the FPGAs now", both, waits)
	q.want("the GPUs are kept", with(4, gpu), behind)
	used("4", "0")
	q.want("others have taken the GPUs again, outside of the line", both, waits)
	q.want("the FPGAs are kept, too", with(5, fpga), behind)
	q.want("cores are not", with(6), admitted)
	used("0", "0")
	q.want("it has both", both, admitted)
}

// What the mins leave is common to all namespaces, and so is the line for it.
func TestStoryOfTheSumOfMins(t *testing.T) {
	quotas := objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 2, memory: 1Ti}}", "{cpu: 0}"), elasticQuota(t, "team-b", "b", "{min: {cpu: 2, memory: 1Ti}}", "{cpu: 0}"), elasticQuota(t, "team-c", "c", "{min: {cpu: 16, memory: 1Ti}}", "{cpu: 12}")}
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute}, quotas...)
	of := func(namespace string, n, cores int) scheduler.Attempt {
		a := sized(n, cores)
		a.App.Namespace = namespace
		return a
	}
	large, small, later := of("team-a", 1, 15), of("team-b", 2, 3), of("team-b", 3, 5)
	q.want("it wants to borrow more than is free", large, waits)
	q.want("a small one of another namespace passes it", small, admitted)
	q.Pass(11 * time.Minute)
	q.want("but not for ever", later, behind)
	q.want("what is within the min of its own namespace waits in no line", of("team-c", 4, 3), admitted)
	if got := q.Admit(later); got.Message != "waiting for quota in namespace team-b: cpu asked 5, free 8 of 20, reserved 6 for others (the min of all ElasticQuotas together); ahead in line: 1 for cpu (the min of all ElasticQuotas together)" {
		t.Errorf("it says how many of all namespaces are ahead: %q", got.Message)
	}
}

// Those within the min of their namespace wait in no line for the sum, but a large one of the same namespace, which is within it alone, is not passed for
// ever.
func TestStoryOfALargeOneWithinItsMin(t *testing.T) {
	cases := map[string]struct {
		reason string
		order  scheduler.Order
		cores  int
		passed time.Duration
		want   scheduler.Reason
	}{
		"Early":    {reason: "it does not fit, and has not waited for long", order: scheduler.Order{AgingBound: 10 * time.Minute}, cores: 9, passed: time.Minute, want: admitted},
		"Overdue":  {reason: "its namespace has given it nothing of what it is guaranteed", order: scheduler.Order{AgingBound: 10 * time.Minute}, cores: 9, passed: 11 * time.Minute, want: waits},
		"Strict":   {reason: "none is passed ever", order: scheduler.Order{Strict: true, AgingBound: 10 * time.Minute}, cores: 9, passed: time.Minute, want: waits},
		"Borrower": {reason: "who must borrow in any case holds up no guarantee", order: scheduler.Order{AgingBound: 10 * time.Minute}, cores: 13, passed: 11 * time.Minute, want: admitted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t, tc.order, elasticQuota(t, "team-a", "a", "{min: {cpu: 10, memory: 1Ti}}", "{cpu: 3}"), elasticQuota(t, "team-b", "b", "{min: {cpu: 10, memory: 1Ti}}", "{cpu: 17}"))
			large, small := sized(1, tc.cores), sized(2, 3)
			q.want("others have borrowed, and its own namespace uses a part", large, waits)
			q.Pass(tc.passed)
			q.want(tc.reason, small, tc.want)
			if tc.want == admitted {
				return
			}
			q.Restart(nil, large, small)
			q.want("nor does it pass after a restart", small, waits)
			q.Status(scheduler.Ref{GroupVersionKind: elasticQuotaKind, Namespace: "team-a", Name: "a"}, "0", "used", "cpu")
			q.want("the large one is asked first", small, behind)
			q.want("although others have borrowed still", large, admitted)
			q.want("the sum is used up, and so is the min", small, waits)
		})
	}
}

// The line for the min holds up none for which there is room in the sum, as long as the one ahead is not short of that.
func TestStoryOfRoomBesideTheMin(t *testing.T) {
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute},
		elasticQuota(t, "team-a", "a", "{min: {cpu: 8, memory: 1Ti, nvidia.com/gpu: 4}}", "{cpu: 3}"),
		elasticQuota(t, "team-b", "b", "{min: {cpu: 4, memory: 1Ti, nvidia.com/gpu: 4}}", "{nvidia.com/gpu: 8}"))
	large := with(1, "nvidia.com/gpu")
	q.want("others have its GPUs, and its own namespace a part of its cores", large, waits)
	q.Pass(11 * time.Minute)
	q.want("it borrows cores that the large one could borrow, too", sized(2, 3), admitted)
	q.want("now the large one is short of these as well", large, waits)
	q.want("and is not passed any more", sized(3, 3), behind)
}

// Many of one namespace and one of another wait for what a third one gives back, which is enough for one of them.
func TestStoryOfFairShares(t *testing.T) {
	fair := scheduler.Order{Fair: true, AgingBound: 10 * time.Minute}
	cases := map[string]struct {
		reason   string
		order    scheduler.Order
		many, it int    // what the two namespaces use, of 4 and of 8
		class    string // of the many
		passed   time.Duration
		want     scheduler.Reason // for the first of the many
	}{
		"Fair":     {reason: "its namespace has twice what it is guaranteed, the other one half of it", order: fair, many: 8, it: 4, want: behind},
		"Relative": {reason: "3 of 4 are more than 4 of 8", order: fair, many: 3, it: 4, want: behind},
		"Less":     {reason: "1 of 4 is less than 4 of 8", order: fair, many: 1, it: 4, want: admitted},
		"Same":     {reason: "of equal shares the one comes first that came first", order: fair, many: 2, it: 4, want: admitted},
		"Priority": {reason: "shares count among those of the same priority", order: fair, many: 8, it: 4, class: "high", want: admitted},
		"Overdue":  {reason: "age alone counts beyond the bound", order: fair, many: 8, it: 4, passed: 11 * time.Minute, want: admitted},
		"Age":      {reason: "no other order looks at shares", order: scheduler.Order{AgingBound: 10 * time.Minute}, many: 8, it: 4, want: admitted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			share := func(namespace string, least, used int) *unstructured.Unstructured {
				return elasticQuota(t, namespace, "share", fmt.Sprintf("{min: {cpu: %d, memory: 1Ti}}", least), fmt.Sprintf("{cpu: %d}", used))
			}
			left := 40 - tc.many - tc.it
			q := newQueue(t, tc.order, share("team-a", 4, tc.many), share("team-b", 8, tc.it), share("team-c", 28, left), priorityClass(t, "high", 1000))
			many, it := []scheduler.Attempt{sized(1, 11), sized(2, 11), sized(3, 11)}, sized(4, 11)
			it.App.Namespace = "team-b"
			for i := range many {
				many[i].PriorityClass = tc.class
				q.want("nothing is left", many[i], waits)
			}
			q.want("nothing is left", it, waits)
			q.Pass(tc.passed)
			q.Put(share("team-c", 28, left-12))
			q.want(tc.reason, many[0], tc.want)
			if tc.want == behind {
				q.want("it starts first", it, admitted)
			} else {
				q.want("it is later", it, waits)
			}
			q.want("there was room for one", many[1], waits)
		})
	}
}

func TestAbout(t *testing.T) {
	for n, want := range map[int]string{1: "1", 9: "9", 10: "at least 10", 99: "at least 10", 100: "at least 100", 5000: "at least 1000"} {
		if got := about(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// elsewhere is a placement that has no room of its own.
type elsewhere struct {
	placement
	reason *scheduler.Reason
}

func (p elsewhere) Admit(scheduler.Attempt, scheduler.Snapshot) (scheduler.Admission, error) {
	if *p.reason == scheduler.ReasonAdmitted {
		return scheduler.Admission{Verdict: scheduler.Admit, Reason: *p.reason}, nil
	}
	return scheduler.Admission{Verdict: scheduler.Wait, Reason: *p.reason, Message: "wait"}, nil
}

// An application that has room in its quota and none in its scheduler's queue lets others pass for a while. Then its room is kept: else smaller ones
// would take it each time, and its place in the queue would be given up for that.
func TestStoryOfTwoWaits(t *testing.T) {
	cases := map[string]struct {
		reason string
		order  scheduler.Order
		waits  scheduler.Reason
		passed time.Duration
		want   scheduler.Reason
	}{
		"Early":   {reason: "others use the room meanwhile", order: scheduler.Order{AgingBound: 10 * time.Minute}, waits: scheduler.ReasonWaitingForCapacity, passed: time.Minute, want: scheduler.ReasonAdmitted},
		"Overdue": {reason: "it may not be passed any more", order: scheduler.Order{AgingBound: 10 * time.Minute}, waits: scheduler.ReasonWaitingForCapacity, passed: 11 * time.Minute, want: scheduler.ReasonWaitingForQuota},
		"Strict":  {reason: "none is passed ever", order: scheduler.Order{Strict: true, AgingBound: 10 * time.Minute}, waits: scheduler.ReasonBehindOthers, passed: time.Minute, want: scheduler.ReasonWaitingForQuota},
		"Missing": {reason: "a queue that does not exist holds nothing", order: scheduler.Order{AgingBound: 10 * time.Minute}, waits: scheduler.ReasonQueueNotFound, passed: 11 * time.Minute, want: scheduler.ReasonAdmitted},
		"Silent":  {reason: "nor does a scheduler that does not run", order: scheduler.Order{AgingBound: 10 * time.Minute}, waits: scheduler.ReasonWaitingForScheduler, passed: 11 * time.Minute, want: scheduler.ReasonAdmitted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			says := tc.waits
			c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", nil), elsewhere{reason: &says}), resourceQuota(t, "compute", "{requests.cpu: 10}", "{requests.cpu: 0}", ""))
			c.SetOrder(tc.order)
			first, second := named(1), named(2)
			c.Admit(first)
			c.Pass(tc.passed)
			for range 3 { // each time that it is asked, for longer than a reservation without pods lasts
				c.Pass(4 * time.Minute * min(1, tc.passed/(10*time.Minute)))
				if got := c.Admit(first); got.Reason != tc.waits {
					t.Fatalf("%s: %+v", tc.reason, got)
				}
			}
			says = scheduler.ReasonAdmitted
			second.QueuedAt = second.QueuedAt.Add(tc.passed)
			if got := c.Admit(second); got.Reason != tc.want {
				t.Errorf("%s: %+v, want %s", tc.reason, got, tc.want)
			}
			if tc.want == scheduler.ReasonAdmitted {
				return
			}
			if got := c.Admit(first); got.Reason != scheduler.ReasonAdmitted {
				t.Errorf("it starts in the room that was kept: %+v", got)
			}
		})
	}
}
