// SPDX-License-Identifier: Apache-2.0

// Package fairqueue has the work queues of the controllers: namespaces take turns; within a namespace, priorities decide.
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

// Priorities within a namespace; higher ones go first. The end of a driver frees its room, and behind a thousand new
// submissions it would be shown only after all of them. 0 is for any other change; lower values are for listed objects
// (handler.LowPriority).
const (
	PriorityStarted = 10 // a driver runs
	PriorityEnded   = 20 // a driver has ended, or is gone
)

// oldestEvery ages low priorities: every fourth item of a namespace is the one that has waited longest, whatever its priority.
const oldestEvery = 4

// Delays of retries: retryFirst, doubled with each error up to retryLast, so that no item waits longer after an outage. An API
// server ends a request after a minute, and a reconcile has a few requests.
const (
	retryFirst, retryLast = 100 * time.Millisecond, 30 * time.Second
	reconcileTimeout      = 3 * time.Minute
)

// Options returns the options of all controllers. A standby watches, too, so that it need not list anything when it becomes the
// leader.
func Options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers, EnableWarmup: ptr.To(true), NewQueue: New(workers), ReconciliationTimeout: reconcileTimeout,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast),
	}
}

// New creates queues in which namespaces take turns: one with thousands of applications delays the only application of another
// by one turn. Within a namespace, priorities decide. At most half of the workers serve the same namespace, because its
// applications may be slow on purpose.
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

// fairQueue is a work queue over turns with the priorities of controller-runtime.
type fairQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*fairQueue)(nil)

// Add adds a changed item.
func (q *fairQueue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddWithPriority adds an item to a queue, with a priority if the queue supports it.
func AddWithPriority(q workqueue.TypedRateLimitingInterface[reconcile.Request], item reconcile.Request, priority int) {
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, item)
		return
	}
	q.Add(item)
}

// AddWithOpts adds items. A delayed or retried item has no priority: that of the earlier event is dropped.
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

// Done returns an item. The same worker asks for the next one, possibly of the same namespace, so no worker has to be woken.
func (q *fairQueue) Done(item reconcile.Request) {
	q.turns.done(item)
	q.TypedRateLimitingInterface.Done(item)
}

// GetWithPriority returns the next item. A queue that shuts down returns none: the rest is for the next leader. A retry keeps
// no priority.
func (q *fairQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, shutdown = q.Get()
	if !shutdown && q.ShuttingDown() {
		q.Done(item)
		shutdown = true
	}
	return item, 0, shutdown
}

// turns is the storage of a work queue, which calls Touch, Push, Len and Pop one at a time. Each namespace has a line, and the
// lines take turns.
type turns struct {
	// most bounds the items of one namespace that are with workers.
	most int

	mu    sync.Mutex
	lines map[string]*line
	order *list.List // the *line values with items, in order of their turns
	// out counts the items of each namespace that are with workers; ready counts the items that could be taken now.
	out   map[string]int
	ready int
	// classes are the highest classes with which each item was added since it was last taken.
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
	// taken counts the items taken from it.
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

// note records the priority of an item that is about to be added.
func (t *turns) note(item reconcile.Request, priority int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, known := t.classes[item]; !known || classOf(priority) > last {
		t.classes[item] = classOf(priority)
	}
}

// classOf returns the class of a pushed item; one without a note comes from a timer.
func (t *turns) classOf(item reconcile.Request) class {
	if c, known := t.classes[item]; known {
		return c
	}
	return changed
}

// available returns the number of a namespace's items that could be taken now.
func (t *turns) available(namespace string) int {
	if l := t.lines[namespace]; l != nil {
		return max(0, min(len(l.places), t.most-t.out[namespace]))
	}
	return 0
}

// change changes a namespace and updates ready. The caller holds the lock.
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

// Touch moves an item forward that was added again with a higher priority.
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

// Len returns the number of items that can be taken. At 0 a worker waits, even if items wait for others of their namespace.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}

// Pop returns the first item of the namespace whose turn it is, and moves the namespace to the end. A namespace with its
// maximum of items out keeps its place.
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

// take takes the first item of the line whose turn it is.
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

// next takes the first item of the highest class, and regularly the one that has waited longest.
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
