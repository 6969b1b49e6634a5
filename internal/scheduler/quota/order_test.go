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

// A large one waits while a stream holds most of the quota. Small ones pass it until it has waited for as long as the bound. Then what becomes free is kept
// for it, and what was free and is too little for it is not (finding 3: it blocked its line, with 40 of 100 cores idle, for as long as the stream ran).
func TestStoryOfALargeOne(t *testing.T) {
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute}, resourceQuota(t, "compute", "{requests.cpu: 100}", "{requests.cpu: 60}", ""))
	large, small, second, third := sized(1, 51), sized(2, 11), sized(3, 11), sized(4, 21)
	stream := sized(9, 61)
	for _, a := range []*scheduler.Attempt{&large, &small, &second, &third, &stream} {
		a.App.Name = a.ID
	}
	q.want("there is no room for it", large, waits)
	q.want("it fits, and the large one does not", small, admitted)
	q.Pass(10*time.Minute + time.Second)
	q.Status(quotaRef, "71", "used", "requests.cpu")
	q.want("there is still no room for it", large, waits)
	q.want("29 were free", second, admitted)
	q.Status(quotaRef, "82", "used", "requests.cpu")
	q.Observe(second, pods(5))
	q.Pass(time.Minute)
	q.Status(quotaRef, "60", "used", "requests.cpu")
	q.want("18 are left of them, and what became free is kept", third, behind)
	if got, want := q.Admit(third).Message, "waiting for quota in namespace team-a: there is room, but others come first: 1 for requests.cpu (ResourceQuota compute); "+
		"requests.cpu of ResourceQuota compute is kept until 09:20 UTC for app-1, which has waited longer"; got != want {
		t.Errorf("it says for whom:\n%s\nwant\n%s", got, want)
	}
	if got, want := q.Admit(large).Message, "waiting for quota in namespace team-a: requests.cpu asked 51, free 40 of 100 (ResourceQuota compute); "+
		"what becomes free until 09:20 UTC is kept for it; most of the rest is used by app-2, app-3"; got != want {
		t.Errorf("it says what is kept and who has the rest:\n%s\nwant\n%s", got, want)
	}
	q.Restart(map[*scheduler.Attempt]scheduler.PodStatuses{&stream: pods(30)}, large, third)
	q.Pass(5 * time.Second)
	q.want("nor does it pass after a restart when it is asked first", third, behind)
	q.want("it waits still", large, waits)
	q.want("nor does it pass when all were asked", third, behind)
	q.Status(quotaRef, "49", "used", "requests.cpu")
	q.want("it is the turn of the large one", third, behind)
	q.want("it starts at last", large, admitted)
	q.want("there is no room beside it", third, waits)
}

// One that can never start beside a stream keeps nothing for ever: others start at the latest when its hold is over, and it holds again later, for longer.
func TestStoryOfOneThatNeverFits(t *testing.T) {
	q := newQueue(t, scheduler.Order{AgingBound: 10 * time.Minute}, resourceQuota(t, "compute", "{requests.cpu: 100}", "{requests.cpu: 90}", ""))
	large := sized(1, 51)
	q.want("there is no room for it", large, waits)
	q.Pass(10 * time.Minute)
	q.want("its hold begins", large, waits)
	q.Status(quotaRef, "60", "used", "requests.cpu")
	var idle []int // minutes without a start
	last := 0
	for minute := range 8 * 60 {
		q.Admit(large)
		small := sized(1000+minute, 31) // of which one fits
		small.QueuedAt = large.QueuedAt.Add(time.Duration(10+minute) * time.Minute)
		if q.Admit(small).Verdict == scheduler.Admit {
			if n := minute - last; n > 1 {
				idle = append(idle, n)
			}
			last = minute
		}
		q.Release(small)
		q.Pass(time.Minute)
	}
	if diff := cmp.Diff([]int{10, 20, 40, 80, 80}, idle); diff != "" {
		t.Errorf("how long others waited for it, in minutes (-want +got):\n%s", diff)
	}
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

// Those who wait for one resource are not in the way of those who ask for another. Who has waited for longer than the bound collects both: else each of two
// resources would be taken by others while it waits for the other one.
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
	q.want("its hold begins", both, waits)
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
	q.want("its hold begins", large, waits)
	q.Status(scheduler.Ref{GroupVersionKind: elasticQuotaKind, Namespace: "team-c", Name: "c"}, "6", "used", "cpu")
	q.want("what is within the min of its own namespace waits in no line", of("team-c", 4, 3), admitted)
	if got := q.Admit(later); got.Message != "waiting for quota in namespace team-b: there is room, but others come first: 1 for cpu (the min of all ElasticQuotas together); "+
		"cpu of the min of all ElasticQuotas together is kept until 09:21 UTC for an application of another namespace, which has waited longer" {
		t.Errorf("it says how many of all namespaces are ahead: %q", got.Message)
	}
}

// Those within the min of their namespace wait in no line for the sum, but a large one of the same namespace, which is within it alone, is not passed for
// ever.
func TestStoryOfALargeOneWithinItsMin(t *testing.T) {
	elasticRef := scheduler.Ref{GroupVersionKind: elasticQuotaKind, Namespace: "team-a", Name: "a"}
	cases := map[string]struct {
		reason string
		order  scheduler.Order
		cores  int
		passed time.Duration
		want   scheduler.Reason
	}{
		"Early":    {reason: "it does not fit, and has not waited for long", order: scheduler.Order{AgingBound: 10 * time.Minute}, cores: 9, passed: time.Minute, want: admitted},
		"Overdue":  {reason: "what became free of its min is kept, and 2 were free before", order: scheduler.Order{AgingBound: 10 * time.Minute}, cores: 9, passed: 11 * time.Minute, want: waits},
		"Strict":   {reason: "none is passed ever", order: scheduler.Order{Strict: true, AgingBound: 10 * time.Minute}, cores: 9, passed: time.Minute, want: waits},
		"Borrower": {reason: "who must borrow in any case holds up no guarantee", order: scheduler.Order{AgingBound: 10 * time.Minute}, cores: 13, passed: 11 * time.Minute, want: admitted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t, tc.order, elasticQuota(t, "team-a", "a", "{min: {cpu: 10, memory: 1Ti}}", "{cpu: 8}"), elasticQuota(t, "team-b", "b", "{min: {cpu: 10, memory: 1Ti}}", "{cpu: 12}"))
			large, small := sized(1, tc.cores), sized(2, 3)
			q.want("others have borrowed, and its own namespace uses a part", large, waits)
			q.Pass(tc.passed)
			q.want("it waits still", large, waits)
			q.Status(elasticRef, "3", "used", "cpu")
			q.Put(elasticQuota(t, "team-b", "b", "{min: {cpu: 10, memory: 1Ti}}", "{cpu: 17}"))
			q.want(tc.reason, small, tc.want)
			if tc.want == admitted {
				return
			}
			q.Restart(nil, large, small)
			q.want("nor does it pass after a restart", small, waits)
			q.Status(elasticRef, "0", "used", "cpu")
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
	q.want("6 were free, too little for it", sized(3, 3), admitted)
	q.Status(scheduler.Ref{GroupVersionKind: elasticQuotaKind, Namespace: "team-a", Name: "a"}, "0", "used", "cpu")
	q.want("what becomes free of them is kept", sized(4, 5), behind)
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
		"Priority": {reason: "priority counts within a namespace, which may choose it", order: fair, many: 8, it: 4, class: "high", want: behind},
		"Overdue":  {reason: "age counts within a namespace, and shares between them (finding 11: a thousand of one namespace came first)", order: fair, many: 8, it: 4, passed: 11 * time.Minute, want: behind},
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

// An application that has room in its quota and none in its scheduler's queue takes nothing of the quota, at any age (finding 4: its namespace stood still
// for as long as the queue was full).
func TestStoryOfTwoWaits(t *testing.T) {
	cases := map[string]struct {
		reason string
		order  scheduler.Order
		waits  scheduler.Reason
		passed time.Duration
	}{
		"Early":   {reason: "it has not waited for long", order: scheduler.Order{AgingBound: 10 * time.Minute}, waits: scheduler.ReasonWaitingForCapacity, passed: time.Minute},
		"Overdue": {reason: "its queue is the reason", order: scheduler.Order{AgingBound: 10 * time.Minute}, waits: scheduler.ReasonWaitingForCapacity, passed: 11 * time.Minute},
		"Strict":  {reason: "it is in no line of the quota", order: scheduler.Order{Strict: true, AgingBound: 10 * time.Minute}, waits: scheduler.ReasonBehindOthers, passed: time.Minute},
		"Missing": {reason: "its queue does not exist", order: scheduler.Order{AgingBound: 10 * time.Minute}, waits: scheduler.ReasonQueueNotFound, passed: 11 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			says := tc.waits
			c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", nil), elsewhere{reason: &says}), resourceQuota(t, "compute", "{requests.cpu: 10}", "{requests.cpu: 0}", ""))
			c.SetOrder(tc.order)
			first, second := named(1), named(2)
			c.Admit(first)
			c.Pass(tc.passed)
			if got := c.Admit(first); got.Reason != tc.waits {
				t.Fatalf("%s: %+v", tc.reason, got)
			}
			says = scheduler.ReasonAdmitted
			second.QueuedAt = second.QueuedAt.Add(tc.passed)
			if got := c.Admit(second); got.Reason != scheduler.ReasonAdmitted {
				t.Errorf("%s: %+v", tc.reason, got)
			}
			if got := c.Admit(first); got.Reason != scheduler.ReasonWaitingForQuota {
				t.Errorf("its queue has room now, and the quota has none: %+v", got)
			}
		})
	}
}
