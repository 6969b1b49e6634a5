// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Ledger holds the reservations (admitted attempts whose pods no quota counts yet) and the attempts that wait in line. It ensures that only one of two
// attempts for the same room starts.
//
// It is arithmetic over values and has no lock. Its owner holds a lock from Outstanding over Admit to Record, and around the other methods. It can be rebuilt
// after a restart: Reserve and Settle add each attempt with a driver, and Expect announces each attempt that waited. An announced attempt takes its place at
// its next Record, and no attempt starts before.
//
// A pod is observed before the quotas report it: the report takes another path, and a controller may be in between. So a reservation stays for a while after
// its pods are observed; see Settle.
type Ledger struct {
	order    Order
	reserved map[string]*entry
	waiting  map[string]waiter         // by attempt
	lines    map[string]map[Line]*line // by namespace
	aged     time.Time                 // attempts that were queued by then are past the aging bound
	shares   Shares                    // from the last call of OutstandingBy
	holds    map[Line]hold
	phases   map[string]*phase    // by namespace
	failed   map[string]time.Time // by attempt: the end of its last hold that did not suffice
	turns    map[string]time.Time // by namespace: the same in shared lines
	moved    []Line               // lines in which holds have ended
	started  map[string]Started   // by attempt
	expected map[string]bool      // by attempt
	// expectedUntil is the time after which the ledger no longer waits for announced attempts.
	expectedUntil time.Time
}

// NewLedger returns an empty ledger.
func NewLedger(o Order) *Ledger {
	return &Ledger{
		order: o, reserved: map[string]*entry{}, waiting: map[string]waiter{}, lines: map[string]map[Line]*line{}, expected: map[string]bool{},
		holds: map[Line]hold{}, phases: map[string]*phase{}, failed: map[string]time.Time{}, turns: map[string]time.Time{}, started: map[string]Started{},
	}
}

// Outstanding is the part of the ledger that concerns one attempt.
type Outstanding struct {
	// Held is set if the attempt, as it is now, was already admitted. Its room is then reserved.
	Held bool
	// Others were admitted, and the quotas do not count all of their pods yet. They are sorted by ID.
	Others []Reservation
	// Recheck is the time until Others shrinks without an event; 0 if it does not.
	Recheck time.Duration
	// Ahead counts the attempts ahead in each line, of the namespace and of all namespaces. A line with no attempt ahead is omitted. (JSON cannot encode its
	// keys.)
	Ahead map[Line]Ahead `json:"-"`
	// AgesIn is the time until the attempt is past the aging bound; 0 if it is now.
	AgesIn time.Duration
	// Started are the admitted attempts of the namespace that are not over, for an attempt with a hold.
	Started []Started
	// HoldEnds is the time until a hold of the attempt ends; 0 without one.
	HoldEnds time.Duration
	// Expected is set if other attempts waited before a restart of the operator and have not been entered again: the lines may lack them.
	Expected bool
}

// Started is an attempt that was admitted and is not over.
type Started struct {
	App     Key
	PodSets spark.PodSets
}

// Reservation is an admitted attempt.
type Reservation struct {
	ID            string
	Namespace     string
	PriorityClass string
	PodSets       spark.PodSets
	Placeholders  []Placeholder
	// Progress counts the attempt's pods that the quotas certainly report.
	Progress Progress
}

// Progress is the progress of an attempt's initial pods. It never decreases: a pod that has ended still counts.
type Progress struct {
	DriverCreated, DriverRunning       bool
	ExecutorsCreated, ExecutorsRunning int32
	// ExecutorsPending exist and have not run yet. This is the latest observation only and is not remembered.
	ExecutorsPending int32
}

// ProgressOf reads the progress from the pods. Spark numbers its executors, so the highest number counts all executors ever created.
func ProgressOf(f PodStatuses) Progress {
	p := Progress{ExecutorsCreated: min(f.ExecutorsEver, maxExecutors)}
	if f.Driver != nil {
		p.DriverCreated, p.DriverRunning = true, f.Driver.Phase != corev1.PodPending
	}
	for i := range f.Executors {
		e := &f.Executors[i]
		p.ExecutorsCreated = max(p.ExecutorsCreated, int32(min(e.ExecutorID, int64(maxExecutors))), int32(i+1))
		if e.Phase == corev1.PodPending {
			p.ExecutorsPending++
		} else {
			p.ExecutorsRunning++
		}
	}
	return p
}

// with adds an observation. An executor that was created and is not pending has run, or never will. The executors need not all run at the same moment.
func (p Progress) with(seen Progress, initial int32) Progress {
	created := max(p.ExecutorsCreated, seen.ExecutorsCreated)
	toRun := min(initial, max(0, initial-created)+seen.ExecutorsPending)
	return Progress{
		DriverCreated:    p.DriverCreated || seen.DriverCreated,
		DriverRunning:    p.DriverRunning || seen.DriverRunning,
		ExecutorsCreated: created,
		ExecutorsRunning: max(p.ExecutorsRunning, seen.ExecutorsRunning, initial-toRun),
	}
}

// maxExecutors bounds the executor id, because any user can write that label.
const maxExecutors = 1 << 20

// Delays between a change of pods and its report by the quotas.
const (
	// createdLag is the delay of the API server's count of existing pods. The count is stored before the pod, but another watch delivers it.
	createdLag = time.Second
	// runningLag is the delay of a controller's count of running pods. The count of an ElasticQuota follows within a second.
	runningLag = 3 * time.Second
)

// Patience is how long a reservation without progress is kept. It is longer than the creation of a pod takes. A reservation may never progress further,
// because dynamic allocation stops creating executors when it needs fewer.
const Patience = 5 * time.Minute

// entry is a reservation with the observed progress of its pods. Reservation.Progress is the part that the quotas certainly report.
type entry struct {
	Reservation
	seen      []sight   // recent observations, oldest first
	changedAt time.Time // time of the last progress
}

// sight is the progress of an attempt's pods at some time.
type sight struct {
	at       time.Time
	progress Progress
}

// matches reports whether the reservation is for the attempt as it is now, not before an edit.
func (e *entry) matches(a Attempt) bool {
	return e.PriorityClass == a.PriorityClass && equality.Semantic.DeepEqual(e.PodSets, a.PodSets) && equality.Semantic.DeepEqual(e.Placeholders, a.Placeholders)
}

// latest returns the last observed progress.
func (e *entry) latest() Progress {
	if n := len(e.seen); n > 0 {
		return e.seen[n-1].progress
	}
	return e.Progress
}

// advance assumes that the quotas report the progress that was observed long enough ago. It returns the time until more progress counts as reported; 0 if all
// of it does.
func (e *entry) advance(now time.Time) time.Duration {
	var next time.Duration
	later := func(left time.Duration) bool {
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
		return left > 0
	}
	old := 0
	for i, s := range e.seen {
		age := now.Sub(s.at)
		if !later(createdLag - age) {
			e.Progress.DriverCreated, e.Progress.ExecutorsCreated = s.progress.DriverCreated, s.progress.ExecutorsCreated
		}
		if !later(runningLag - age) {
			e.Progress.DriverRunning, e.Progress.ExecutorsRunning = s.progress.DriverRunning, s.progress.ExecutorsRunning
			old = i + 1
		}
	}
	e.seen = slices.Delete(e.seen, 0, old)
	e.expire(now)
	return next
}

// expire drops pods that did not appear within Patience. While the driver waits for its node, executors are not dropped, because they are created later.
func (e *entry) expire(now time.Time) {
	if e.changedAt.IsZero() {
		e.changedAt = now
	}
	waits := e.Progress.DriverCreated && !e.Progress.DriverRunning
	missing := e.PodSets.Initial - e.Progress.ExecutorsCreated
	if now.Sub(e.changedAt) < Patience || waits || e.Progress.DriverRunning && missing <= 0 {
		return
	}
	e.Progress.DriverCreated, e.Progress.DriverRunning = true, true
	e.Progress.ExecutorsCreated += max(0, missing)
	e.Progress.ExecutorsRunning += max(0, missing)
}

// over reports whether the quotas report everything that was reserved.
func (e *entry) over() bool {
	return len(e.seen) == 0 && e.Progress.DriverRunning && e.Progress.ExecutorsRunning >= e.PodSets.Initial
}

// Outstanding returns a copy of the part of the ledger that concerns the attempt.
func (l *Ledger) Outstanding(a Attempt, now time.Time) Outstanding {
	var o Outstanding
	others := make([]*entry, 0, len(l.reserved))
	for id, r := range l.reserved {
		left := r.advance(now)
		switch {
		case r.over():
			delete(l.reserved, id)
		case id == a.ID:
			o.Held = r.matches(a)
		default:
			others = append(others, r)
			if left > 0 && (o.Recheck == 0 || left < o.Recheck) {
				o.Recheck = left
			}
		}
	}
	slices.SortFunc(others, func(x, y *entry) int { return cmp.Compare(x.ID, y.ID) })
	o.Others = slices.Grow(o.Others, len(others))
	for _, r := range others {
		o.Others = append(o.Others, r.Reservation)
	}
	o.Ahead, o.Expected = l.ahead(a, now), l.expects(a.ID, now)
	o.AgesIn = max(0, a.QueuedAt.Sub(l.limit(now)))
	if o.HoldEnds = holdEnds(o.Ahead, now); o.HoldEnds > 0 {
		for _, s := range l.started {
			if s.App.Namespace == a.App.Namespace {
				o.Started = append(o.Started, s)
			}
		}
	}
	return o
}

// Record enters the answer for an attempt: Admit reserves its room, a wait in line keeps its place, and any other answer gives up both. Record returns the
// applications that may be next to start in the lines that the attempt has left, and in those where a hold has ended.
func (l *Ledger) Record(a Attempt, answer Admission, now time.Time) []Key {
	before := l.waiting[a.ID]
	switch {
	case answer.Verdict == Admit:
		if r, held := l.reserved[a.ID]; held && !r.matches(a) {
			l.drop(a.ID) // its spec changed before it had a driver
		}
		l.take(answer.Takes)
		l.Reserve(a)
	case len(answer.Lines) > 0:
		l.drop(a.ID)
		l.join(l.waiterOf(a, answer.Lines))
		l.note(answer.Usage)
		l.begin(a, now)
	default:
		l.drop(a.ID)
	}
	moved := append(l.left(before), l.moved...)
	l.moved = nil
	l.tidy(before)
	if l.order.Fair && answer.Reason == ReasonBehindOthers { // shares change without a start or an end, so the new head of the line must be enqueued
		for _, p := range answer.Lines {
			moved = append(moved, p.Line)
		}
	}
	return slices.DeleteFunc(l.heads(moved, now), func(k Key) bool { return k == a.App.Key() })
}

// Reserve enters an admitted attempt. An attempt that is already entered keeps its progress.
func (l *Ledger) Reserve(a Attempt) {
	before := l.waiting[a.ID]
	l.leave(a.ID)
	l.tidy(before)
	l.started[a.ID] = Started{App: a.App.Key(), PodSets: a.PodSets}
	delete(l.expected, a.ID)
	if _, held := l.reserved[a.ID]; !held {
		l.reserved[a.ID] = &entry{Reservation: Reservation{
			ID: a.ID, Namespace: a.App.Namespace, PriorityClass: a.PriorityClass, PodSets: a.PodSets, Placeholders: a.Placeholders,
		}}
	}
}

// Settle records the observed progress of an attempt's pods. It reduces the reservation by the pods that the quotas report: created pods after one second,
// running pods after three. Pods that did not appear within five minutes are dropped, too. A reservation without remaining pods is deleted. After a change,
// Settle returns the applications that may be next to start.
func (l *Ledger) Settle(id string, p Progress, now time.Time) []Key {
	r, held := l.reserved[id]
	if !held {
		return nil
	}
	last := r.latest()
	next := last.with(p, r.PodSets.Initial)
	if next != last {
		r.seen, r.changedAt = append(r.seen, sight{at: now, progress: next}), now
	}
	if r.advance(now); r.over() {
		delete(l.reserved, id)
	}
	if next == last {
		return nil
	}
	return l.Heads(r.Namespace, now)
}

// Release forgets an attempt that is over or no longer wants to start. It returns the applications that may be next to start.
func (l *Ledger) Release(id string, now time.Time) []Key {
	before, waits := l.waiting[id]
	r, held := l.reserved[id]
	l.drop(id)
	l.tidy(before)
	switch {
	case held:
		return l.Heads(r.Namespace, now)
	case waits:
		return l.heads(l.left(before), now)
	default:
		return nil
	}
}

// drop removes an attempt from reservations and lines.
func (l *Ledger) drop(id string) {
	delete(l.reserved, id)
	delete(l.expected, id)
	l.leave(id)
	delete(l.started, id)
}
