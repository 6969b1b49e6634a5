// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"container/list"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// NewFairQueue makes queues in which namespaces take turns: one with thousands of applications delays another one's
// single application by one turn. Within a namespace what changed comes before what was merely listed. Of the workers at most half are
// with one namespace at a time: its applications may be slow on purpose.
func NewFairQueue(workers int) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		turns := newTurns(max(1, workers/2))
		plain := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: turns})
		delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: plain})
		limited := workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})
		return &fairQueue{TypedRateLimitingInterface: limited, turns: turns}
	}
}

// fairQueue is a work queue over turns that takes priorities as controller-runtime gives them.
type fairQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*fairQueue)(nil)

// Add adds what has changed.
func (q *fairQueue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddWithOpts adds items. A priority below zero puts them behind the others of their namespace; there are no other
// differences.
func (q *fairQueue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		q.turns.note(item, o.Priority != nil && *o.Priority < 0)
		switch {
		case o.RateLimited:
			q.AddRateLimited(item)
		case o.After > 0:
			q.AddAfter(item, o.After)
		default:
			q.TypedRateLimitingInterface.Add(item)
		}
	}
}

// Done gives an item back. The worker that does so asks for the next one, which may be of the same namespace: nobody has to be
// woken.
func (q *fairQueue) Done(item reconcile.Request) {
	q.turns.done(item)
	q.TypedRateLimitingInterface.Done(item)
}

// GetWithPriority returns the next item. A queue that shuts down gives out nothing any more: what is left in it is for
// the next leader.
func (q *fairQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, shutdown = q.Get()
	if !shutdown && q.ShuttingDown() {
		q.Done(item)
		shutdown = true
	}
	if q.turns.taken(item) {
		priority = handler.LowPriority
	}
	return item, priority, shutdown
}

// turns is the storage of a work queue, which calls Touch, Push, Len and Pop one at a time. Each namespace has a line;
// the first of each line goes in turn.
type turns struct {
	// most is how many items of one namespace may be out at a time.
	most int

	mu    sync.Mutex
	lines map[string]*line
	order *list.List // of the *line that have items, the next turn's first
	// out is how many items of each namespace are with workers, ready how many could be taken now.
	out   map[string]int
	ready int
	// low are items that were added with a low priority, and not with another one since.
	low map[reconcile.Request]bool
}

// line are the items of one namespace: high before low.
type line struct {
	namespace string
	high, low *list.List
	places    map[reconcile.Request]*list.Element
}

func newTurns(most int) *turns {
	return &turns{most: most, lines: map[string]*line{}, order: list.New(), out: map[string]int{}, low: map[reconcile.Request]bool{}}
}

// note remembers the priority of an item that is about to be added.
func (t *turns) note(item reconcile.Request, low bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !low {
		delete(t.low, item)
	} else if _, known := t.low[item]; !known {
		t.low[item] = true
	}
}

// taken forgets the priority of an item, and returns it.
func (t *turns) taken(item reconcile.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	low := t.low[item]
	delete(t.low, item)
	return low
}

// available is how many items of a namespace could be taken now.
func (t *turns) available(namespace string) int {
	if l := t.lines[namespace]; l != nil {
		return max(0, min(len(l.places), t.most-t.out[namespace]))
	}
	return 0
}

// change changes a namespace, and counts what can be taken. The caller has the lock.
func (t *turns) change(namespace string, f func()) {
	before := t.available(namespace)
	f()
	t.ready += t.available(namespace) - before
}

// Push adds an item at the end of its namespace's line.
func (t *turns) Push(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(item.Namespace, func() {
		l := t.lines[item.Namespace]
		if l == nil {
			l = &line{namespace: item.Namespace, high: list.New(), low: list.New(), places: map[reconcile.Request]*list.Element{}}
			t.lines[item.Namespace] = l
			t.order.PushBack(l)
		}
		l.push(item, t.low[item])
	})
}

func (l *line) push(item reconcile.Request, low bool) {
	if low {
		l.places[item] = l.low.PushBack(item)
		return
	}
	l.places[item] = l.high.PushBack(item)
}

// Touch moves an item forward that is added once more with a higher priority.
func (t *turns) Touch(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil || l.places[item] == nil || t.low[item] {
		return
	}
	if l.low.Remove(l.places[item]); l.low.Len()+l.high.Len() < len(l.places) {
		l.push(item, false)
	}
}

// Len is the number of items that can be taken: a worker waits while there are none, also if some wait for others of their
// namespace.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}

// Pop returns the first item of the namespace whose turn it is. Its next turn comes after everybody else's. A namespace of which
// enough is out keeps its place.
func (t *turns) Pop() reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	for turn := t.order.Front(); turn != nil; turn = turn.Next() {
		if l, _ := turn.Value.(*line); t.available(l.namespace) > 0 {
			return t.take(turn, l)
		}
	}
	return reconcile.Request{} // never: Len was above 0, and what is out only grows here
}

// take takes the first item of a line, whose turn it is.
func (t *turns) take(turn *list.Element, l *line) (item reconcile.Request) {
	t.change(l.namespace, func() {
		from := l.high
		if from.Len() == 0 {
			from = l.low
		}
		item, _ = from.Remove(from.Front()).(reconcile.Request)
		delete(l.places, item)
		t.out[l.namespace]++
		if len(l.places) > 0 {
			t.order.MoveToBack(turn)
			return
		}
		t.order.Remove(turn)
		delete(t.lines, l.namespace)
	})
	return item
}

// done gives an item back.
func (t *turns) done(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(item.Namespace, func() {
		if t.out[item.Namespace]--; t.out[item.Namespace] <= 0 {
			delete(t.out, item.Namespace)
		}
	})
}
