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

// Ledger holds reservations (attempts that may start whose pods no quota counts yet) and the attempts that wait in line.
// Of two attempts for the same room one starts and one waits.
//
// It is arithmetic over values and has no lock: its owner holds one from Outstanding over Admit to Record, and
// around the other methods. It can be rebuilt: after a restart each attempt that has a driver is entered again with
// Reserve and Settle, and those that waited are announced with Expect: they take their places when they are next asked, and none
// starts before.
//
// Pods are seen before the quotas' reports of them: the two come by different ways, and a controller may stand between
// them. So a reservation stays for a while after the pods were seen; see Settle.
type Ledger struct {
	order    Order
	reserved map[string]*entry
	waiting  map[string]waiter         // by attempt
	lines    map[string]map[Line]*line // by namespace
	aged     time.Time                 // those who have waited since then are at the front
	shares   Shares                    // as of the last question
	expected map[string]bool           // by attempt
	// expectedUntil is when those who have not been asked yet are not waited for any more.
	expectedUntil time.Time
}

// NewLedger returns an empty ledger.
func NewLedger(o Order) *Ledger {
	return &Ledger{order: o, reserved: map[string]*entry{}, waiting: map[string]waiter{}, lines: map[string]map[Line]*line{}, expected: map[string]bool{}}
}

// Outstanding is what the ledger knows that concerns one attempt.
type Outstanding struct {
	// Held says that the attempt itself was admitted before, as it is now: its room is counted.
	Held bool
	// Others were admitted, and not all of their pods are counted by the quotas yet. They are in the order of their IDs.
	Others []Reservation
	// Recheck is how long it takes until less of Others counts although nothing happens; 0 if nothing of it will.
	Recheck time.Duration
	// Ahead says who waits ahead of the attempt in the lines of its namespace, and in those of all namespaces. A line in which
	// none is ahead is left out. (Its keys cannot be written in JSON.)
	Ahead map[Line]Ahead `json:"-"`
	// AgesIn is how long it takes until the attempt may not be passed any more; 0 if none may pass it.
	AgesIn time.Duration
	// Expected says that others have waited when the operator was stopped, and have not been asked yet: the lines may lack any of
	// them.
	Expected bool
}

// Reservation is an attempt that may start.
type Reservation struct {
	ID            string
	Namespace     string
	PriorityClass string
	PodSets       spark.PodSets
	Placeholders  []Placeholder
	// Progress is how many of its pods the quotas certainly report.
	Progress Progress
}

// Progress is how far an attempt's initial pods have come. It never goes back: a pod that ended has been there.
type Progress struct {
	DriverCreated, DriverRunning       bool
	ExecutorsCreated, ExecutorsRunning int32
	// ExecutorsPending exist and have not run yet. It is what is seen now, and no part of what is remembered.
	ExecutorsPending int32
}

// ProgressOf reads the progress from the pods. Spark numbers its executors, so that the highest number says how many
// there have been.
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

// with adds what is seen now. Executors that were created and are not pending any more have run, or never will: they
// need not all run at one moment.
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

// maxExecutors bounds executor ids, which are text that anyone could have written.
const maxExecutors = 1 << 20

// How much later than the pods themselves the quotas' reports of them may arrive.
const (
	// createdLag is for the API server's own count of pods that exist: it is stored before the pod, but another watch
	// brings it.
	createdLag = time.Second
	// runningLag is for a controller's count of pods that run. That of ElasticQuotas follows within a second.
	runningLag = 3 * time.Second
)

// Patience is how long a reservation without progress is kept: longer than it takes to create one pod. Dynamic
// allocation may want fewer executors than it began with before all of them were created.
const Patience = 5 * time.Minute

// entry is a reservation with what was seen of its pods. Its own progress is what the quotas report for certain.
type entry struct {
	Reservation
	seen      []sight   // of late, oldest first
	changedAt time.Time // since when nothing more has come
}

// sight is how far an attempt's pods had come at some time.
type sight struct {
	at       time.Time
	progress Progress
}

// matches is whether the reservation is for the attempt as it is, and not as it was before an edit.
func (e *entry) matches(a Attempt) bool {
	return e.PriorityClass == a.PriorityClass && equality.Semantic.DeepEqual(e.PodSets, a.PodSets) && equality.Semantic.DeepEqual(e.Placeholders, a.Placeholders)
}

// latest is how far the pods have come.
func (e *entry) latest() Progress {
	if n := len(e.seen); n > 0 {
		return e.seen[n-1].progress
	}
	return e.Progress
}

// advance trusts the quotas to report what was seen long enough ago. It returns how long it takes until more of it can
// be trusted; 0 if nothing is left.
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

// expire drops what has not come for long. A driver that waits for its node is no reason to: its executors come after.
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

// over is whether the quotas report everything that was reserved.
func (e *entry) over() bool {
	return len(e.seen) == 0 && e.Progress.DriverRunning && e.Progress.ExecutorsRunning >= e.PodSets.Initial
}

// Outstanding returns what concerns the attempt at a time. It shares nothing with the ledger.
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
	return o
}

// Record enters the answer that an attempt got: Admit reserves its room, a wait in line keeps its place there, and anything
// else gives both up. One that has room here, waits for room elsewhere, and may not be passed any more keeps its room: else smaller ones
// would take it each time. It returns the applications that may be the next to start in the lines that the attempt has left.
func (l *Ledger) Record(a Attempt, answer Admission, now time.Time) []Key {
	before := l.waiting[a.ID]
	switch {
	case answer.Verdict == Admit:
		if r, held := l.reserved[a.ID]; held && !r.matches(a) {
			l.drop(a.ID) // its specification has changed before it had a driver
		}
		l.Reserve(a)
	case len(answer.Lines) > 0:
		l.drop(a.ID)
		l.join(waiterOf(a, answer.Lines))
		l.note(answer.Usage)
	case answer.HasQuota && answer.waitsForRoom() && (l.order.Strict || !a.QueuedAt.After(l.limit(now))):
		l.drop(a.ID) // as it is now, and since now
		l.Reserve(a)
	default:
		l.drop(a.ID)
	}
	moved := l.left(before)
	if l.order.Fair && answer.Reason == ReasonBehindOthers { // shares change without a start or an end: who is first now may not know it
		for _, p := range answer.Lines {
			moved = append(moved, p.Line)
		}
	}
	return slices.DeleteFunc(l.heads(moved, now), func(k Key) bool { return k == a.App.Key() })
}

// Reserve enters an attempt that may start. One that is entered already keeps its progress.
func (l *Ledger) Reserve(a Attempt) {
	l.leave(a.ID)
	delete(l.expected, a.ID)
	if _, held := l.reserved[a.ID]; !held {
		l.reserved[a.ID] = &entry{Reservation: Reservation{
			ID: a.ID, Namespace: a.App.Namespace, PriorityClass: a.PriorityClass, PodSets: a.PodSets, Placeholders: a.Placeholders,
		}}
	}
}

// Settle notes how far an attempt's pods have been seen to come. What of them the quotas report is taken off the
// reservation: created pods a second later, running ones three. What has not come for five minutes is taken off, too. An
// attempt of which nothing is left is forgotten. If there was anything new, Settle returns the applications that may be the next to start:
// there may be room soon.
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

// Release forgets an attempt: it is over, or it no longer wants to start. It returns the applications that may be the next to start
// instead.
func (l *Ledger) Release(id string, now time.Time) []Key {
	before, waits := l.waiting[id]
	r, held := l.reserved[id]
	l.drop(id)
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
}
