// SPDX-License-Identifier: Apache-2.0

// Package fairqueue has the work queues of the controllers: namespaces take turns, and within a namespace priorities do.
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

// Priorities of what is added. Higher ones go first within their namespace: the end of a driver gives its room back, and an end that waits
// behind a thousand new submissions is shown when they are all made. 0 is everything else that changed, and below it is what was merely
// listed (handler.LowPriority).
const (
	PriorityStarted = 10 // a driver runs
	PriorityEnded   = 20 // a driver has ended, or is gone
)

// oldestEvery is the aging of what has a low priority: each fourth item of a namespace is the one that waits longest, whatever its
// priority.
const oldestEvery = 4

// An error is tried again after retryFirst, and each further time twice as late, up to retryLast: after an outage nothing waits for longer.
// An API server ends a request after a minute, and a reconcile makes a few.
const (
	retryFirst, retryLast = 100 * time.Millisecond, 30 * time.Second
	reconcileTimeout      = 3 * time.Minute
)

// Options are those of all controllers. A standby watches too, so that it need not list anything when its turn comes.
func Options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers, EnableWarmup: ptr.To(true), NewQueue: New(workers), ReconciliationTimeout: reconcileTimeout,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast),
	}
}

// New makes queues in which namespaces take turns: one with thousands of applications delays another one's
// single application by one turn. Within a namespace the order is that of the priorities. Of the workers at most half are
// with one namespace at a time: its applications may be slow on purpose.
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

// fairQueue is a work queue over turns that takes priorities as controller-runtime gives them.
type fairQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*fairQueue)(nil)

// Add adds what has changed.
func (q *fairQueue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddWithPriority adds an item to a queue, which takes priorities if it is one of ours.
func AddWithPriority(q workqueue.TypedRateLimitingInterface[reconcile.Request], item reconcile.Request, priority int) {
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, item)
		return
	}
	q.Add(item)
}

// AddWithOpts adds items. What is added later, or tried again, has no priority: that of the event before is dropped.
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

// Done gives an item back. The worker that does so asks for the next one, which may be of the same namespace: no worker has to be
// woken.
func (q *fairQueue) Done(item reconcile.Request) {
	q.turns.done(item)
	q.TypedRateLimitingInterface.Done(item)
}

// GetWithPriority returns the next item. A queue that shuts down gives out nothing any more: what is left in it is for
// the next leader. No priority is kept for the retry.
func (q *fairQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, shutdown = q.Get()
	if !shutdown && q.ShuttingDown() {
		q.Done(item)
		shutdown = true
	}
	return item, 0, shutdown
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
	// classes are the highest of those with which each item was added since it was taken last.
	classes map[reconcile.Request]class
	// added counts items that were pushed.
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

// line are the items of one namespace, by class.
type line struct {
	namespace string
	waiting   [classes]*list.List // of entries
	places    map[reconcile.Request]place
	// taken counts the items that left it.
	taken uint64
}

// entry is an item that waits, with its number in the order of their arrival.
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

// note remembers the priority of an item that is about to be added.
func (t *turns) note(item reconcile.Request, priority int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, known := t.classes[item]; !known || classOf(priority) > last {
		t.classes[item] = classOf(priority)
	}
}

// classOf is the class of an item that is pushed; one without a note comes from a timer.
func (t *turns) classOf(item reconcile.Request) class {
	if c, known := t.classes[item]; known {
		return c
	}
	return changed
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
			l = newLine(item.Namespace)
			t.lines[item.Namespace] = l
			t.order.PushBack(l)
		}
		t.added++
		l.push(entry{item, t.added}, t.classOf(item))
	})
}

func (l *line) push(e entry, c class) { l.places[e.item] = place{c, l.waiting[c].PushBack(e)} }

// Touch moves an item forward that is added once more with a higher priority.
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

// next takes the first item of the highest class, and now and then the one that waits longest.
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
