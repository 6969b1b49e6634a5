// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// attempt is one in the queue team-a: 7 CPU and 14 GiB.
func attempt() scheduler.Attempt {
	a := schedulertest.Attempt(Name)
	a.Queue = "team-a"
	return a
}

// queue is a Queue: name, parent ("" for none), state, capability and what is allocated, in CPU (0 for none).
func queue(tb testing.TB, name, parent, state string, capability, allocated int) *unstructured.Unstructured {
	tb.Helper()
	q := schedulertest.Object(tb, fmt.Sprintf("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: {weight: 1}\nstatus: {}", name))
	set := func(value any, fields ...string) {
		if err := unstructured.SetNestedField(q.Object, value, fields...); err != nil {
			tb.Fatal(err)
		}
	}
	if parent != "" {
		set(parent, "spec", "parent")
	}
	if state != "" {
		set(state, "status", "state")
	}
	if capability > 0 {
		set(fmt.Sprint(capability), "spec", "capability", "cpu")
	}
	set(fmt.Sprint(allocated), "status", "allocated", "cpu")
	return q
}

// podGroup is the attempt's group in a phase.
func podGroup(tb testing.TB, phase string) *unstructured.Unstructured {
	tb.Helper()
	g := schedulertest.Object(tb, "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: spark-0123456789abcdef-1, namespace: team-a}")
	if phase != "" {
		g.Object["status"] = map[string]any{"phase": phase}
	}
	return g
}

func event(tb testing.TB, kind, reason, at, message string) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, fmt.Sprintf("{type: %s, reason: %s, lastTimestamp: %q, message: %q, involvedObject: {name: spark-0123456789abcdef-1}}", kind, reason, at, message))
}

// snapshot is a cluster with a group (nil for none), events about it and queues.
func snapshot(a scheduler.Attempt, group *unstructured.Unstructured, events []*unstructured.Unstructured, all ...*unstructured.Unstructured) scheduler.Snapshot {
	return scheduler.Snapshot{
		groupOf(a).Read(): group, groupEvents(a): scheduler.NewList(events...), allQueues: scheduler.NewList(all...),
	}
}

func TestPlanByQueue(t *testing.T) {
	open := func(capability, allocated int) *unstructured.Unstructured {
		return queue(t, "team-a", "", "Open", capability, allocated)
	}
	const wait, never = scheduler.Wait, scheduler.Reject
	cases := map[string]struct {
		reason  string
		change  func(*scheduler.Attempt)
		queues  []*unstructured.Unstructured
		verdict scheduler.Verdict
		code    scheduler.Reason
		says    string
		group   bool
	}{
		"New":         {reason: "the group is there before any pod", queues: []*unstructured.Unstructured{open(0, 0)}, verdict: wait, code: scheduler.ReasonWaitingForScheduler, says: "waiting for Volcano to process PodGroup spark-0123456789abcdef-1", group: true},
		"NoState":     {reason: "no one has checked the queue yet", queues: []*unstructured.Unstructured{queue(t, "team-a", "", "", 0, 0)}, verdict: wait, code: scheduler.ReasonWaitingForScheduler, group: true},
		"Missing":     {reason: "Volcano would never say a word", queues: []*unstructured.Unstructured{queue(t, "default", "root", "Open", 0, 0), queue(t, "root", "", "Open", 0, 0)}, verdict: wait, code: scheduler.ReasonQueueNotFound, says: `queue "team-a" does not exist; queues you may use: default`},
		"Theirs":      {reason: "only queues that the namespace may use are offered", change: func(a *scheduler.Attempt) { a.UsableQueues = []string{"team-*"} }, queues: []*unstructured.Unstructured{queue(t, "default", "", "Open", 0, 0), queue(t, "team-x", "", "Open", 0, 0)}, verdict: wait, code: scheduler.ReasonQueueNotFound, says: "queues you may use: team-x"},
		"Closed":      {reason: "an administrator closed it", queues: []*unstructured.Unstructured{queue(t, "team-a", "", "Closed", 0, 0)}, verdict: wait, code: scheduler.ReasonQueueClosed, says: "queue team-a is Closed"},
		"Closing":     {reason: "it takes nothing more", queues: []*unstructured.Unstructured{queue(t, "team-a", "", "Closing", 0, 0)}, verdict: wait, code: scheduler.ReasonQueueClosed, says: "Closing"},
		"Inner":       {reason: "a group there stops the whole cluster", queues: []*unstructured.Unstructured{open(0, 0), queue(t, "a1", "team-a", "Open", 0, 0)}, verdict: never, code: scheduler.ReasonQueueNotLeaf, says: `queue "team-a" has child queues and accepts no applications; queues you may use: a1`},
		"Root":        {reason: "the root is no leaf, even alone", change: func(a *scheduler.Attempt) { a.Queue = "root" }, queues: []*unstructured.Unstructured{queue(t, "root", "", "Open", 0, 0)}, verdict: never, code: scheduler.ReasonQueueNotLeaf, says: `"root"`},
		"TooBig":      {reason: "it can never fit, with numbers", queues: []*unstructured.Unstructured{open(6, 0)}, verdict: never, code: scheduler.ReasonExceedsQueueCapacity, says: "the request exceeds queue team-a: cpu asked 7, limit 6"},
		"TooBigAbove": {reason: "a queue above is smaller", queues: []*unstructured.Unstructured{queue(t, "team-a", "dept", "Open", 40, 0), queue(t, "dept", "root", "Open", 5, 0)}, verdict: never, code: scheduler.ReasonExceedsQueueCapacity, says: "exceeds queue dept: cpu asked 7, limit 5"},
		"Override":    {reason: "the user's own number counts", change: func(a *scheduler.Attempt) { a.Resources = schedulertest.PodResources("9", "1Gi").Requests }, queues: []*unstructured.Unstructured{open(8, 0)}, verdict: never, code: scheduler.ReasonExceedsQueueCapacity, says: "cpu asked 9, limit 8"},
		"Loop":        {reason: "queues that are above each other end the walk", queues: []*unstructured.Unstructured{queue(t, "team-a", "b", "Open", 0, 0), queue(t, "b", "team-a", "Open", 0, 0)}, verdict: never, code: scheduler.ReasonQueueNotLeaf},
		"Class":       {reason: "the pods would be refused", change: func(a *scheduler.Attempt) { a.PriorityClass = "high" }, queues: []*unstructured.Unstructured{open(0, 0)}, verdict: wait, code: scheduler.ReasonPriorityClassNotFound, says: `"high"`},
		"Parameter":   {reason: "a mistake in the options", change: func(a *scheduler.Attempt) { a.Parameters = []byte(`{"afterStart":"Drop"}`) }, verdict: never, code: scheduler.ReasonInvalidParameters, says: `batchScheduler.parameters.afterStart: "Drop": must be KeepReservation or DriverOnly`},
		"Preemptable": {reason: "an annotation takes text, a parameter does not", change: func(a *scheduler.Attempt) { a.Parameters = []byte(`{"driverPreemptable":"true"}`) }, verdict: never, code: scheduler.ReasonInvalidParameters, says: `batchScheduler.parameters.driverPreemptable: "true": must be true or false`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			if tc.change != nil {
				tc.change(&a)
			}
			got, err := scheduler.AdmitAttempt(New(""), a, snapshot(a, nil, nil, tc.queues...))
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || got.Reversible != (tc.verdict == scheduler.Reject && tc.code != scheduler.ReasonInvalidParameters) || !strings.Contains(got.Message, tc.says) {
				t.Fatalf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.verdict, tc.code, tc.says)
			}
			if applied := len(got.Apply) == 1; applied != tc.group {
				t.Errorf("%s: the group is applied: %t", tc.reason, applied)
			}
			if len(got.Delete) != 0 {
				t.Errorf("%s: nothing exists, yet it deletes %v", tc.reason, got.Delete)
			}
			if (got.RetryAfter > 0) != (tc.verdict == wait) {
				t.Errorf("%s: retry after %s", tc.reason, got.RetryAfter)
			}
			if tc.verdict == wait || tc.group {
				schedulertest.Keeps(t, New(""), a, snapshot(a, nil, nil, tc.queues...), scheduler.PodStatuses{})
			}
		})
	}
}

// What Volcano makes of the group decides; texts and phases are those of Volcano 1.14.
func TestPlanByGroup(t *testing.T) {
	const overused = "resource in cluster is overused: overused cpu"
	noise := event(t, "Warning", "Unschedulable", "2026-11-21T10:00:00Z", "0/0 tasks in gang unschedulable: pod group is not ready, 1 minAvailable")
	cases := map[string]struct {
		reason                string
		phase                 string
		capability, allocated int
		events                []*unstructured.Unstructured
		verdict               scheduler.Verdict
		code                  scheduler.Reason
		message               string
	}{
		"Unseen":    {reason: "no status is its normal state at first", verdict: scheduler.Wait, code: scheduler.ReasonWaitingForScheduler, message: "waiting for Volcano to process PodGroup spark-0123456789abcdef-1; if this lasts, check that its scheduler is running"},
		"Full":      {reason: "the numbers of the queue", phase: "Pending", capability: 40, allocated: 36, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in queue team-a: cpu asked 7, free 4 of 40"},
		"Promised":  {reason: "room that is reserved for others shows nowhere", phase: "Pending", capability: 40, allocated: 4, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForCapacity, message: "waiting for capacity in queue team-a: asked cpu 7, memory 14Gi; the queue has allocated cpu 4 of 40"},
		"Noise":     {reason: "every group without pods has this warning, admitted ones, too", phase: "Pending", events: []*unstructured.Unstructured{noise}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForCapacity, message: "waiting for capacity in queue team-a: asked cpu 7, memory 14Gi"},
		"Words":     {reason: "the scheduler's own words, the newest", phase: "Pending", events: []*unstructured.Unstructured{noise, event(t, "Normal", "Unschedulable", "2026-11-21T10:00:00Z", overused), event(t, "Normal", "Unschedulable", "2026-11-21T09:00:00Z", "old")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForCapacity, message: "waiting for capacity in queue team-a: asked cpu 7, memory 14Gi; " + overused},
		"Raw":       {reason: "Go values are not for people", phase: "Pending", events: []*unstructured.Unstructured{event(t, "Normal", "Unschedulable", "", "resource quota insufficient, requested: map[requests.cpu:{{4 0} {<nil>} 4 DecimalSI}]")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForCapacity, message: "waiting for capacity in queue team-a: asked cpu 7, memory 14Gi"},
		"Inqueue":   {reason: "the room is held", phase: "Inqueue", verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, message: "queue team-a has reserved capacity for the whole application"},
		"InqueueUp": {reason: "who is let in is let in, whatever the queue counts", phase: "Inqueue", capability: 40, allocated: 40, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, message: "queue team-a has reserved capacity for the whole application"},
		"Running":   {reason: "the driver exists already", phase: "Running", verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, message: "queue team-a has reserved capacity for the whole application"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			s := snapshot(a, podGroup(t, tc.phase), tc.events, queue(t, "team-a", "", "Open", tc.capability, tc.allocated))
			got, err := scheduler.AdmitAttempt(New(""), a, s)
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || got.Message != tc.message {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.verdict, tc.code, tc.message)
			}
			ref := groupOf(a)
			if diff := cmp.Diff(&ref, got.Group); diff != "" || len(got.Apply) != 1 {
				t.Errorf("%s: the group stays what it is (-want +got):\n%s", tc.reason, diff)
			}
			schedulertest.Keeps(t, New(""), a, s, scheduler.PodStatuses{})
		})
	}
}

// Room is held for the initial executors. That more of them will never come is said at once.
// All applications of a namespace that wait ask for the same events, which are read once for all of them: a read of each one's own
// would be a LIST of the namespace's events at the API server, too.
func TestEventsAreShared(t *testing.T) {
	one, other := attempt(), attempt()
	other.ID, other.App.Name = "spark-fedcba9876543210-1", "other"
	lists := map[scheduler.Read]bool{}
	for _, a := range []scheduler.Attempt{one, other} {
		for _, read := range New("").Reads(a) {
			if read.Kind == "Event" {
				lists[read] = true
			}
		}
	}
	if len(lists) != 1 {
		t.Errorf("%d lists of events, want one: %v", len(lists), lists)
	}
	words := []*unstructured.Unstructured{event(t, "Normal", "Unschedulable", "2026-11-21T10:00:00Z", "resource in cluster is overused: overused cpu")}
	group := podGroup(t, "Pending")
	group.SetName(other.ID)
	got, err := scheduler.AdmitAttempt(New(""), other, snapshot(other, group, words, queue(t, "team-a", "", "Open", 0, 0)))
	if want := "waiting for capacity in queue team-a: asked cpu 7, memory 14Gi"; err != nil || got.Message != want {
		t.Errorf("%q, %v; the words about another group are not its own; want %q", got.Message, err, want)
	}
}

func TestGrowth(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		max     int32
		parent  int
		warning string
	}{
		"Fits":   {reason: "there is room for all", max: 10, parent: 40},
		"Parent": {reason: "the limit of the queue above binds, too", max: 20, parent: 40, warning: "dynamic allocation cannot grow to 20 executors: they exceed queue org: cpu asked 41, limit 40"},
		"Static": {reason: "it does not grow", max: 3, parent: 7},
	} {
		a := attempt()
		a.PodSets.Max = tc.max
		got, err := scheduler.AdmitAttempt(New(""), a, snapshot(a, podGroup(t, "Inqueue"), nil, queue(t, "org", "", "Open", tc.parent, 0), queue(t, "team-a", "org", "Open", 100, 0)))
		if err != nil || got.Verdict != scheduler.Admit || got.Warning != tc.warning {
			t.Errorf("%s: %s: %+v, %v; want %q", name, tc.reason, got, err, tc.warning)
		}
	}
}

// A group that must not be is deleted as soon as that is known: in an inner queue it stops the whole cluster.
func TestPlanDeletes(t *testing.T) {
	inner := []*unstructured.Unstructured{queue(t, "team-a", "", "Open", 0, 0), queue(t, "a1", "team-a", "Open", 0, 0)}
	cases := map[string][]*unstructured.Unstructured{
		"the queue got children": inner, "the queue is gone": nil, "the queue was closed": {queue(t, "team-a", "", "Closed", 0, 0)},
		"the queue shrank": {queue(t, "team-a", "", "Open", 1, 0)},
	}
	for reason, queues := range cases {
		a := attempt()
		got, err := scheduler.AdmitAttempt(New(""), a, snapshot(a, podGroup(t, "Pending"), nil, queues...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]scheduler.Ref{groupOf(a)}, got.Delete); diff != "" || len(got.Apply) != 0 {
			t.Errorf("%s: applies %d objects (-want +got):\n%s", reason, len(got.Apply), diff)
		}
	}
}

func TestGroup(t *testing.T) {
	a := attempt()
	a.PriorityClass = "high"
	a.PodSets.Executor.Limits["nvidia.com/gpu"] = resource.MustParse("1")
	a.PodSets.Executor.Requests["nvidia.com/gpu"] = resource.MustParse("1")
	got, err := group(a, wholeDemand(a), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := schedulertest.Object(t, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: spark-0123456789abcdef-1, namespace: team-a}
spec:
  minMember: 1
  queue: team-a
  priorityClassName: high
  minResources:
    cpu: "7"
    memory: 14Gi
    nvidia.com/gpu: "3"
    requests.cpu: "7"
    requests.memory: 14Gi
    requests.nvidia.com/gpu: "3"
    limits.memory: 14Gi
`)
	if diff := cmp.Diff(schedulertest.Numbers(want.Object), schedulertest.Numbers(got.Object)); diff != "" {
		t.Errorf("one member, the room of all, in both kinds of names (-want +got):\n%s", diff)
	}
	a.Resources = schedulertest.PodResources("9", "1Gi").Requests
	if got, err = group(a, wholeDemand(a), 0); err != nil {
		t.Fatal(err)
	}
	room, _, _ := unstructured.NestedMap(got.Object, "spec", "minResources")
	if room["cpu"] != "9" || room["requests.cpu"] != "9" || room["memory"] != "14Gi" {
		t.Errorf("the user's own number where it is more than that of the pods, got %v", room)
	}
}

// Volcano orders and preempts whole applications by the priority of their groups.
func TestPriorityOfGroup(t *testing.T) {
	cases := map[string]struct{ reason, own, driver, executor, want string }{
		"None":     {reason: "Volcano's default"},
		"Own":      {reason: "the application's", own: "nightly", want: "nightly"},
		"Driver":   {reason: "the driver's alone would place the application behind others in its queue", driver: "high", executor: "low", want: "high"},
		"Both":     {reason: "the field for the group wins", own: "nightly", driver: "high", want: "nightly"},
		"Executor": {reason: "the class of executors is that of pods that may be preempted", executor: "low"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.PriorityClass = tc.own
			a.PodSets.DriverAttributes.PriorityClassName, a.PodSets.ExecutorAttributes.PriorityClassName = tc.driver, tc.executor
			got, err := group(a, wholeDemand(a), 0)
			if err != nil {
				t.Fatal(err)
			}
			if class, _, _ := unstructured.NestedString(got.Object, "spec", "priorityClassName"); class != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, class, tc.want)
			}
		})
	}
}

func TestDecorate(t *testing.T) {
	marks := func(role, preemptable string) spark.PodOverlay {
		return spark.PodOverlay{
			SchedulerName: "vc", PriorityClassName: "high",
			Annotations: map[string]string{"scheduling.k8s.io/group-name": "spark-0123456789abcdef-1", "volcano.sh/task-spec": role, "volcano.sh/preemptable": preemptable},
		}
	}
	cases := map[string]struct{ reason, parameters, driver, executors string }{
		"Default":   {reason: "a driver takes its executors with it", driver: "false", executors: "true"},
		"Protected": {reason: "executors whose work is too dear to lose", parameters: `{"executorsPreemptable":false}`, driver: "false", executors: "false"},
		"All":       {reason: "what is borrowed is given back", parameters: `{"driverPreemptable":true}`, driver: "true", executors: "true"},
		"Reverse":   {reason: "each parameter is about its role", parameters: `{"driverPreemptable":true,"executorsPreemptable":false}`, driver: "true", executors: "false"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.PriorityClass, a.Parameters = "high", []byte(tc.parameters)
			got, err := scheduler.Decorate(New("vc"), a, spark.Application{})
			if err != nil {
				t.Fatal(err)
			}
			want := spark.Application{
				OperatorConf: map[string]string{},
				Driver:       spark.Role{Overlay: marks("driver", tc.driver)}, Executor: spark.Role{Overlay: marks("executor", tc.executors)},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			schedulertest.Keeps(t, New("vc"), a, snapshot(a, nil, nil, queue(t, "team-a", "", "Open", 0, 0)), scheduler.PodStatuses{})
		})
	}
}

func TestDescribe(t *testing.T) {
	d := New("").Describe()
	if d.SchedulerName != "volcano" || d.DefaultQueue != "default" || !d.Supports.Queues || !d.Supports.WaitsBeforePods || !d.Supports.Reserves {
		t.Errorf("%+v", d)
	}
	for _, rule := range d.Rules {
		for _, name := range rule.Resources {
			if strings.HasSuffix(name, "/status") {
				t.Errorf("a status is Volcano's own: %v", rule)
			}
		}
	}
	if diff := cmp.Diff([]scheduler.Ref{groupOf(attempt())}, New("").Release(attempt())); diff != "" {
		t.Errorf("the group goes with its attempt (-want +got):\n%s", diff)
	}
}

func FuzzPlugin(f *testing.F) {
	all := scheduler.NewList(queue(f, "default", "", "Open", 9, 0), queue(f, "x", "other", "", 0, 0))
	pending := podGroup(f, "Pending")
	schedulertest.Fuzz(f, New(""), func(r scheduler.Read) *unstructured.Unstructured {
		if r == allQueues {
			return all
		}
		if r.Kind == "PodGroup" {
			return pending
		}
		return nil
	})
}

// A hundred queues are many.
func BenchmarkAdmit(b *testing.B) {
	all := []*unstructured.Unstructured{queue(b, "team-a", "dept", "Open", 40, 36), queue(b, "dept", "root", "Open", 100, 50)}
	for i := range 100 {
		all = append(all, queue(b, fmt.Sprintf("q%d", i), "dept", "Open", 40, 36))
	}
	a := attempt()
	schedulertest.Bench(b, New(""), a, snapshot(a, podGroup(b, "Pending"), nil, all...))
}
