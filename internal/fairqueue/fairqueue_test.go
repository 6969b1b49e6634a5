// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func item(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// workers is how many there are as a rule.
const workers = 10

func newTestQueue(tb testing.TB) *fairQueue {
	tb.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, time.Second)
	q, ok := New(workers)("", limiter).(*fairQueue)
	if !ok {
		tb.Fatal("not a fair queue")
	}
	tb.Cleanup(q.ShutDown)
	return q
}

// drain takes what is in a queue, as one worker does.
func drain(q *fairQueue) []string {
	var order []string
	for q.Len() > 0 {
		next, _, _ := q.GetWithPriority()
		order = append(order, next.String())
		q.Done(next)
	}
	return order
}

var low = priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}

func TestFairQueueOrder(t *testing.T) {
	cases := map[string]struct {
		reason string
		add    func(q *fairQueue)
		want   []string
	}{
		"First": {
			reason: "within a namespace the order is that of the arrival",
			add: func(q *fairQueue) {
				q.Add(item("a", "1"))
				q.Add(item("a", "2"))
				q.Add(item("a", "1"))
			},
			want: []string{"a/1", "a/2"},
		},
		"Turns": {
			reason: "namespaces take turns",
			add: func(q *fairQueue) {
				for _, i := range []string{"1", "2", "3"} {
					q.Add(item("a", i))
				}
				q.Add(item("b", "1"))
				q.Add(item("c", "1"))
				q.Add(item("c", "2"))
			},
			want: []string{"a/1", "b/1", "c/1", "a/2", "c/2", "a/3"},
		},
		"Low": {
			reason: "what was merely listed comes after what changed, in the same namespace only",
			add: func(q *fairQueue) {
				q.AddWithOpts(low, item("a", "old-1"), item("a", "old-2"))
				q.Add(item("a", "new"))
				q.AddWithOpts(low, item("b", "old"))
			},
			want: []string{"a/new", "b/old", "a/old-1", "a/old-2"},
		},
		"Raised": {
			reason: "what changes while it waits as listed moves forward",
			add: func(q *fairQueue) {
				q.AddWithOpts(low, item("a", "old-1"), item("a", "old-2"), item("a", "old-3"))
				q.Add(item("a", "new"))
				q.Add(item("a", "old-2"))
			},
			want: []string{"a/new", "a/old-2", "a/old-1", "a/old-3"},
		},
		"NotLowered": {
			reason: "what changed stays where it is when it is listed, too",
			add: func(q *fairQueue) {
				q.Add(item("a", "1"))
				q.AddWithOpts(low, item("a", "1"))
				q.Add(item("a", "2"))
			},
			want: []string{"a/1", "a/2"},
		},
		"Ends": {
			reason: "what has ended comes before what starts, that before what changed, and all of them before what was listed",
			add: func(q *fairQueue) {
				q.AddWithOpts(low, item("a", "listed"))
				q.Add(item("a", "new"))
				AddWithPriority(q, item("a", "starts"), PriorityStarted)
				AddWithPriority(q, item("a", "ends"), PriorityEnded)
			},
			want: []string{"a/ends", "a/starts", "a/new", "a/listed"},
		},
		"EndsWhileItWaits": {
			reason: "what ends while it waits moves forward, and stays there whatever else becomes of it",
			add: func(q *fairQueue) {
				for _, i := range []string{"1", "2", "3"} {
					q.Add(item("a", i))
				}
				AddWithPriority(q, item("a", "3"), PriorityEnded)
				q.Add(item("a", "3"))
			},
			want: []string{"a/3", "a/1", "a/2"},
		},
		"Aged": {
			reason: "each fourth is the one that waits longest, so that those that end starve nobody",
			add: func(q *fairQueue) {
				q.AddWithOpts(low, item("a", "listed"))
				q.Add(item("a", "new"))
				for i := range 6 {
					AddWithPriority(q, item("a", fmt.Sprint(i)), PriorityEnded)
				}
			},
			want: []string{"a/0", "a/1", "a/2", "a/listed", "a/3", "a/4", "a/5", "a/new"},
		},
		"Limited": {
			reason: "what is tried again comes back",
			add:    func(q *fairQueue) { q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item("a", "1")) },
			want:   []string{"a/1"},
		},
		"Later": {
			reason: "a timer brings its item",
			add:    func(q *fairQueue) { q.AddWithOpts(priorityqueue.AddOpts{After: time.Millisecond}, item("a", "1")) },
			want:   []string{"a/1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(t)
			tc.add(q)
			first, _, _ := q.GetWithPriority() // waits for what comes later
			q.Done(first)
			if diff := cmp.Diff(tc.want, append([]string{first.String()}, drain(q)...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if n := len(q.turns.lines) + len(q.turns.classes) + len(q.turns.out) + q.turns.order.Len() + q.turns.ready; n != 0 {
				t.Errorf("%d entries are left of an empty queue", n)
			}
		})
	}
}

// One namespace with thousands of applications delays another one's single application by one turn.
func TestFairQueueStarvesNobody(t *testing.T) {
	q := newTestQueue(t)
	const many = 5000
	for i := range many {
		q.Add(item("a", fmt.Sprint(i)))
	}
	q.Add(item("b", "only"))
	order := drain(q)
	if at := slices.Index(order, "b/only"); at != 1 {
		t.Errorf("the only application of b is number %d of %d, want 2", at+1, len(order))
	}
	if len(order) != many+1 {
		t.Errorf("%d items came out, want %d", len(order), many+1)
	}
}

// Of a namespace with a thousand new applications, those whose drivers end are taken within a few turns, and nobody waits for ever: one of
// four is the oldest.
func TestFairQueueEndsFirst(t *testing.T) {
	q := newTestQueue(t)
	const many = 1000
	for i := range many {
		q.Add(item("a", fmt.Sprint(i)))
	}
	taken := map[string]int{}
	for turn := range 2 * many {
		name := fmt.Sprintf("ends-%d", turn)
		AddWithPriority(q, item("a", name), PriorityEnded)
		next, _, _ := q.GetWithPriority()
		q.Done(next)
		taken[next.Name] = turn
	}
	for turn := range 1000 {
		name := fmt.Sprintf("ends-%d", turn)
		if at, done := taken[name]; !done || at-turn > turn/(oldestEvery-1)+oldestEvery {
			t.Fatalf("%s was taken in turn %d (%t): only one of four turns is somebody else's", name, at, done)
		}
	}
	if at, done := taken["200"]; !done || at > 201*oldestEvery {
		t.Errorf("number 200 of those that wait was taken in turn %d (%t), want one in %d", at, done, oldestEvery)
	}
}

// A retry has no priority: one of what was listed would wait behind all that changes, one of what has ended would go before all that starts.
func TestFairQueueRetries(t *testing.T) {
	q := newTestQueue(t)
	q.AddWithOpts(low, item("a", "listed"))
	if _, priority, _ := q.GetWithPriority(); priority != 0 {
		t.Errorf("priority %d for the retry of what was listed, want 0", priority)
	}
	q.AddWithOpts(priorityqueue.AddOpts{After: time.Millisecond, Priority: ptr.To(PriorityEnded)}, item("a", "later"))
	q.Add(item("a", "new"))
	AddWithPriority(q, item("a", "ends"), PriorityEnded)
	q.Done(item("a", "listed"))
	if diff := cmp.Diff([]string{"a/ends", "a/new", "a/later"}, take(q, 3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A replica that stops works nothing off that the next leader does as well.
func TestFairQueueStops(t *testing.T) {
	q := newTestQueue(t)
	q.Add(item("a", "1"))
	q.Add(item("a", "2"))
	q.ShutDown()
	for range 3 {
		if next, _, shutdown := q.GetWithPriority(); !shutdown {
			t.Errorf("gave out %s", next)
		}
	}
}

// An item that is added while it is worked on is worked on once more, and not by two at the same time.
func TestFairQueueWhileWorking(t *testing.T) {
	q := newTestQueue(t)
	q.Add(item("a", "1"))
	working, _, _ := q.GetWithPriority()
	q.Add(item("a", "1"))
	if q.Len() != 0 {
		t.Error("the item is given out twice")
	}
	q.Done(working)
	if diff := cmp.Diff([]string{"a/1"}, drain(q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// take returns the names of so many items, each taken by a worker that does not give it back.
func take(q *fairQueue, n int) []string {
	var names []string
	for range n {
		next, _, _ := q.GetWithPriority()
		names = append(names, next.String())
	}
	return names
}

// However many applications of one namespace are slow, half of the workers are left for others.
func TestFairQueueSharesWorkers(t *testing.T) {
	for workers, most := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 10: 5} {
		turns := newTurns(0)
		if q, ok := New(workers)("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()).(*fairQueue); ok {
			q.ShutDown()
			turns = q.turns
		}
		if turns.most != most {
			t.Errorf("of %d workers %d may be with one namespace, want %d", workers, turns.most, most)
		}
	}
	q := newTestQueue(t)
	for i := range 7 {
		q.Add(item("a", fmt.Sprint(i)))
	}
	if diff := cmp.Diff([]string{"a/0", "a/1", "a/2", "a/3", "a/4"}, take(q, 5)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := q.Len(); n != 0 {
		t.Errorf("%d items can be taken although five are out, want none", n)
	}
	q.Add(item("b", "1"))
	if diff := cmp.Diff([]string{"b/1"}, take(q, 1)); diff != "" {
		t.Errorf("another namespace goes on (-want +got):\n%s", diff)
	}
	q.Add(item("a", "2")) // while it is out
	q.Done(item("a", "2"))
	if diff := cmp.Diff([]string{"a/5"}, take(q, 1)); diff != "" {
		t.Errorf("what is done makes room for what waits (-want +got):\n%s", diff)
	}
	for _, name := range []string{"0", "1", "3", "4", "5"} {
		q.Done(item("a", name))
	}
	if diff := cmp.Diff([]string{"a/6", "a/2"}, take(q, 2)); diff != "" {
		t.Errorf("what was added meanwhile comes last (-want +got):\n%s", diff)
	}
}

// With workers that come and go everything is worked on, and never too much of a namespace at a time.
func TestFairQueueUnderLoad(t *testing.T) {
	q := newTestQueue(t)
	const namespaces, each = 3, 400
	var (
		mu      sync.Mutex
		out     = map[string]int{}
		left    atomic.Int64
		working sync.WaitGroup
	)
	left.Store(namespaces * each)
	for range workers {
		working.Go(func() {
			for {
				next, _, shutdown := q.GetWithPriority()
				if shutdown {
					return
				}
				mu.Lock()
				if out[next.Namespace]++; out[next.Namespace] > workers/2 {
					t.Errorf("%d of namespace %s are out", out[next.Namespace], next.Namespace)
				}
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				out[next.Namespace]--
				mu.Unlock()
				if q.Done(next); left.Add(-1) == 0 {
					q.ShutDown()
				}
			}
		})
	}
	for i := range each {
		for n := range namespaces {
			q.Add(item(fmt.Sprint(n), fmt.Sprint(i)))
		}
	}
	working.Wait() // a worker that sleeps although there is work would not end
}

// BenchmarkFairQueue is what an application costs on its way through the queue, beside controller-runtime's queue, and how
// many of one namespace go before the only one of another that comes after them.
func BenchmarkFairQueue(b *testing.B) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	for name, queue := range map[string]func() workqueue.TypedRateLimitingInterface[reconcile.Request]{
		"ours": func() workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return New(workers)("", limiter)
		},
		"controller-runtime": func() workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return priorityqueue.New("", func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
		},
	} {
		for _, namespaces := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/namespaces=%d", name, namespaces), func(b *testing.B) {
				q := queue()
				b.Cleanup(q.ShutDown)
				const applications = 5000
				all := make([]reconcile.Request, 0, applications+1)
				for i := range applications {
					all = append(all, item(fmt.Sprint(i%namespaces), fmt.Sprint(i)))
				}
				all = append(all, item("another", "only"))
				before := 0
				b.ReportAllocs()
				for b.Loop() {
					for _, i := range all {
						q.Add(i)
					}
					for i := range all {
						next, _ := q.Get()
						if q.Done(next); next.Namespace == "another" {
							before = i
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all)), "ns/application")
				b.ReportMetric(float64(before), "before-the-other")
			})
		}
	}
}
