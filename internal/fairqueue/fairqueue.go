// SPDX-License-Identifier: Apache-2.0

// Package fairqueue has the work queue of the controllers. Namespaces take turns, and within a namespace priorities decide.
package fairqueue

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Priorities within a namespace; higher ones go first. The end of a driver frees room, and would otherwise be shown only after a thousand new submissions. 0 is
// for any other change, and lower values are for listed objects (handler.LowPriority).
const (
	PriorityStarted = 10 // a driver runs
	PriorityEnded   = 20 // a driver has ended, or is gone
)

// oldestEvery ages low priorities: every fourth item of a namespace is the oldest one, whatever its priority.
const oldestEvery = 4

// Delays of retries: retryFirst is doubled with each error up to retryLast, which bounds the wait after an outage. reconcileTimeout covers a few requests, each
// of which an API server ends after a minute.
const (
	retryFirst, retryLast = 100 * time.Millisecond, 30 * time.Second
	reconcileTimeout      = 3 * time.Minute
)

// Options returns the options of all controllers. A standby replica watches, too, so that it need not list objects when it becomes the leader.
func Options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers, EnableWarmup: ptr.To(true), NewQueue: New(workers), ReconciliationTimeout: reconcileTimeout,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast),
	}
}

// New returns a constructor of queues in which namespaces take turns. A namespace with thousands of applications thus delays the only application of another
// one by one turn. Within a namespace, priorities decide. At most half of the workers serve one namespace, because its applications may be slow on purpose.
func New(workers int) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		turns := newTurns(max(1, workers/2))
		plain := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: turns})
		delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: plain})
		limited := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})
		return &fairQueue{TypedRateLimitingInterface: limited, turns: turns}
	}
}

// fairQueue is a work queue over turns, with the priorities of controller-runtime.
type fairQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*fairQueue)(nil)

// Add adds a changed item.
func (q *fairQueue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddWithPriority adds an item to a queue, with a priority if the queue supports priorities.
func AddWithPriority(q workqueue.TypedRateLimitingInterface[reconcile.Request], item reconcile.Request, priority int) {
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, item)
		return
	}
	q.Add(item)
}

// AddWithOpts adds items. A delayed or retried item loses the priority of the earlier event.
func (q *fairQueue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		switch {
		case o.RateLimited:
			q.AddRateLimited(item)
		case o.After > 0:
			q.AddAfter(item, o.After)
		default:
			q.turns.note(item, ptr.Deref(o.Priority, 0))
			q.TypedRateLimitingInterface.Add(item)
		}
	}
}

// Done returns an item. It wakes no worker, because the same worker asks for the next item, which may be of the same namespace.
func (q *fairQueue) Done(item reconcile.Request) {
	q.turns.done(item)
	q.TypedRateLimitingInterface.Done(item)
}

// GetWithPriority returns the next item. A queue that shuts down returns none, because the rest is for the next leader. The priority is always 0, so a retry
// keeps none.
func (q *fairQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, shutdown = q.Get()
	if !shutdown && q.ShuttingDown() {
		q.Done(item)
		shutdown = true
	}
	return item, 0, shutdown
}

// turns is the storage of a work queue. The queue calls Touch, Push, Len and Pop one at a time. Each namespace has a line, and the lines take turns.
type turns struct {
	// most bounds the number of a namespace's items that workers have.
	most int

	mu    sync.Mutex
	lines map[string]*line
	order *list.List // the *line values with items, in the order of their turns
	// out counts the items of each namespace that workers have. ready counts the items that workers could take now.
	out   map[string]int
	ready int
	// classes has the highest class of each item since the item was last taken.
	classes map[reconcile.Request]class
	// added counts pushed items.
	added uint64
}

// class is a range of priorities.
type class int

const (
	listed class = iota
	changed
	started
	ended
	classes
)

func classOf(priority int) class {
	switch {
	case priority >= PriorityEnded:
		return ended
	case priority >= PriorityStarted:
		return started
	case priority >= 0:
		return changed
	}
	return listed
}

// line holds the items of one namespace, by class.
type line struct {
	namespace string
	waiting   [classes]*list.List // of entries
	places    map[reconcile.Request]place
	// taken counts the items taken from the line.
	taken uint64
}

// entry is a waiting item with its arrival number.
type entry struct {
	item   reconcile.Request
	number uint64
}

type place struct {
	class class
	at    *list.Element
}

func newLine(namespace string) *line {
	l := &line{namespace: namespace, places: map[reconcile.Request]place{}}
	for c := range l.waiting {
		l.waiting[c] = list.New()
	}
	return l
}

func newTurns(most int) *turns {
	return &turns{most: most, lines: map[string]*line{}, order: list.New(), out: map[string]int{}, classes: map[reconcile.Request]class{}}
}

// note records the priority of an item before the item is added.
func (t *turns) note(item reconcile.Request, priority int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, known := t.classes[item]; !known || classOf(priority) > last {
		t.classes[item] = classOf(priority)
	}
}

// classOf returns the class of a pushed item. An item without a note comes from a timer.
func (t *turns) classOf(item reconcile.Request) class {
	if c, known := t.classes[item]; known {
		return c
	}
	return changed
}

// available returns how many of a namespace's items could be taken now.
func (t *turns) available(namespace string) int {
	if l := t.lines[namespace]; l != nil {
		return max(0, min(len(l.places), t.most-t.out[namespace]))
	}
	return 0
}

// change applies a change to a namespace and updates ready. The caller holds the lock.
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
			l = newLine(item.Namespace)
			t.lines[item.Namespace] = l
			t.order.PushBack(l)
		}
		t.added++
		l.push(entry{item, t.added}, t.classOf(item))
	})
}

func (l *line) push(e entry, c class) { l.places[e.item] = place{c, l.waiting[c].PushBack(e)} }

// Touch moves an item forward if it was added again with a higher priority.
func (t *turns) Touch(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil {
		return
	}
	if p, waits := l.places[item]; waits && t.classOf(item) > p.class {
		e, _ := l.waiting[p.class].Remove(p.at).(entry)
		l.push(e, t.classOf(item))
	}
}

// Len returns the number of items that can be taken. At 0 a worker waits, even if there are items, because their namespaces have reached their maximum.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}

// Pop returns the first item of the namespace whose turn it is, and moves that namespace to the end. A namespace that has reached its maximum is skipped and
// keeps its place.
func (t *turns) Pop() reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	for turn := t.order.Front(); turn != nil; turn = turn.Next() {
		if l, _ := turn.Value.(*line); t.available(l.namespace) > 0 {
			return t.take(turn, l)
		}
	}
	return reconcile.Request{} // unreachable: Len was above 0, and only Pop takes items
}

// take takes the first item of the line at this turn.
func (t *turns) take(turn *list.Element, l *line) (item reconcile.Request) {
	t.change(l.namespace, func() {
		item = l.next()
		delete(t.classes, item)
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

// next takes the first item of the highest class, and regularly the oldest item of all.
func (l *line) next() reconcile.Request {
	var from *list.List
	var oldest uint64
	l.taken++
	for c := range l.waiting {
		first := l.waiting[c].Front()
		if first == nil {
			continue
		}
		e, _ := first.Value.(entry)
		if from == nil || l.taken%oldestEvery != 0 || e.number < oldest {
			from, oldest = l.waiting[c], e.number
		}
	}
	e, _ := from.Remove(from.Front()).(entry)
	delete(l.places, e.item)
	return e.item
}

// done returns an item.
func (t *turns) done(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(item.Namespace, func() {
		if t.out[item.Namespace]--; t.out[item.Namespace] <= 0 {
			delete(t.out, item.Namespace)
		}
	})
}
