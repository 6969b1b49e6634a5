// SPDX-License-Identifier: Apache-2.0

// Package reservations keeps the scheduler state that all applications share: waiting applications, their order, and the reservations of attempts whose pods no
// quota counts yet.
package reservations

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/informers"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Manager is the memory of reservations and waits. Losing it is harmless: reservations are rebuilt from running attempts, and waiting applications are checked
// again.
type Manager struct {
	clock clock.PassiveClock
	kinds Kinds

	mu     sync.Mutex
	ledger *scheduler.Ledger
	// generation counts the reasons for a rebuild. built is the generation of the last rebuild.
	built, generation int
	// rebuilds are functions that enter the running attempts of each kind. Only one caller may run them, which holds rebuilding, because each reads all objects
	// of its kind.
	rebuilds   []func(context.Context) error
	rebuilding *semaphore.Weighted
	waiting    map[scheduler.Key]waiter
	loose      loose
	// entered has the last attempt of each application that entered the ledger.
	entered  map[scheduler.Key]string
	room     time.Time
	unplaced unplaced
}

// Kinds enqueues applications (informers.SchedulerKinds).
type Kinds interface {
	Enqueue(apps []scheduler.Key)
}

// waiter is an application that waits for its scheduler.
type waiter struct {
	since time.Time
	kinds []schema.GroupVersionKind
}

// New returns an empty memory. Without kinds nothing is enqueued. RoomMadeAt begins with the present time, because pods may have ended while no operator ran.
func New(now clock.PassiveClock, kinds Kinds, order scheduler.Order) *Manager {
	return &Manager{clock: now, kinds: kinds, generation: 1, ledger: scheduler.NewLedger(order), waiting: map[scheduler.Key]waiter{},
		loose: loose{}, entered: map[scheduler.Key]string{}, room: now.Now(),
		rebuilding: semaphore.NewWeighted(1), unplaced: newUnplaced()}
}

// Admit asks the scheduler of a candidate under the quotas. If two candidates want the same room, the second is asked after the first one's answer was entered.
func (m *Manager) Admit(ctx context.Context, c *admission.Candidate, seen scheduler.Snapshot) (admission.Result, error) {
	if err := m.rebuildOnce(ctx); err != nil {
		return admission.Result{}, err
	}
	c.SetPriority(seen)
	asked, next := m.ask(c, seen)
	m.enqueue(next)
	r := c.Build(asked) // built after the lock, so that other candidates are asked concurrently
	if r.Verdict != asked.Verdict {
		m.enqueue(m.record(c, r))
	}
	return r, nil
}

// ask asks the scheduler and enters the answer before another candidate is asked. It returns the applications that may start after this one has left its line.
func (m *Manager) ask(c *admission.Candidate, seen scheduler.Snapshot) (admission.Result, []scheduler.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	c.SetQuota(m.ledger.OutstandingBy(c.Attempt(), now, func(o scheduler.Outstanding) scheduler.Shares { return c.Shares(o, seen) }))
	r := c.Ask(seen)
	next := m.ledger.Record(c.Attempt(), r.Admission, now)
	m.entered[c.Attempt().App.Key()] = c.Attempt().ID
	return r, m.firstWaiting(next)
}

// record enters a different answer.
func (m *Manager) record(c *admission.Candidate, r admission.Result) []scheduler.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.firstWaiting(m.ledger.Record(c.Attempt(), r.Admission, m.clock.Now()))
}

// Outstanding returns the room that other attempts have yet to take from the attempt's quotas.
func (m *Manager) Outstanding(a scheduler.Attempt) scheduler.Outstanding {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Outstanding(a, m.clock.Now())
}

// Lines returns the lines of quotas with waiting attempts.
func (m *Manager) Lines() []scheduler.LineState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Lines(m.clock.Now())
}

// Rebuild adds a function that enters the running attempts of one kind. No attempt is admitted before all these functions have run.
func (m *Manager) Rebuild(enter func(context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rebuilds = append(m.rebuilds, enter)
	m.generation++
}

// rebuildOnce rebuilds the ledger if there is a reason. One caller rebuilds while others wait; if it fails, the next one tries again.
func (m *Manager) rebuildOnce(ctx context.Context) error {
	if _, _, due := m.rebuildDue(); !due {
		return nil
	}
	if err := m.rebuilding.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait until running attempts are entered: %w", err)
	}
	defer m.rebuilding.Release(1)
	generation, rebuilds, due := m.rebuildDue()
	if !due {
		return nil
	}
	for _, enter := range rebuilds {
		if err := enter(ctx); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.built = generation
	return nil
}

// rebuildDue reports whether there is a reason for a rebuild, with the generation and the functions to run.
func (m *Manager) rebuildDue() (generation int, rebuilds []func(context.Context) error, due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generation, slices.Clone(m.rebuilds), m.built != m.generation
}

// RebuildAgain makes the ledger enter running attempts again. It is for namespaces that appeared after or during the last rebuild.
func (m *Manager) RebuildAgain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
}

// Enter enters a running attempt.
func (m *Manager) Enter(a scheduler.Attempt, p scheduler.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.Reserve(a)
	m.ledger.Settle(a.ID, p, m.clock.Now())
	m.entered[a.App.Key()] = a.ID
}

// Expect announces an attempt that waited before the operator started, so that others are admitted only after it was asked. Knows does not report an announced
// attempt, because a driver that an earlier operator created and did not record must still be entered.
func (m *Manager) Expect(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.Expect(id, m.clock.Now())
}

// Knows reports whether an attempt was entered, even if its reservation is over.
func (m *Manager) Knows(app scheduler.Key, attempt string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entered[app] == attempt
}

// Settle records the progress of an attempt's pods. It enqueues the attempts that may be next to start. Their room may be counted twice for a while, in the
// quota and in the reservation, and no event marks the end of that.
func (m *Manager) Settle(id string, p scheduler.Progress) {
	m.mu.Lock()
	next := m.firstWaiting(m.ledger.Settle(id, p, m.clock.Now()))
	m.mu.Unlock()
	m.enqueue(next)
}

// Release drops the reservation of an attempt, and enqueues the attempts that may be next to start.
func (m *Manager) Release(id string) {
	m.mu.Lock()
	next := m.firstWaiting(m.ledger.Release(id, m.clock.Now()))
	m.mu.Unlock()
	m.enqueue(next)
}

// firstWaiting returns the first few applications that wait.
func (m *Manager) firstWaiting(apps []scheduler.Key) []scheduler.Key {
	waiting := slices.DeleteFunc(apps, func(app scheduler.Key) bool { _, waits := m.waiting[app]; return !waits })
	return waiting[:min(len(waiting), informers.FirstInLine)]
}

func (m *Manager) enqueue(apps []scheduler.Key) {
	if m.kinds != nil {
		m.kinds.Enqueue(apps)
	}
}

// SetWaiting records the wait of an application, so that a change of the kinds that its scheduler reads enqueues it.
func (m *Manager) SetWaiting(app scheduler.Key, c *admission.Candidate, a scheduler.Admission) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !a.Waits() && !a.Reversible { // a refused application may continue to wait
		m.stopWaiting(app)
		return
	}
	d := c.Plugin().Describe()
	m.startWaiting(app, waiter{since: c.Attempt().QueuedAt, kinds: slices.Concat(d.Reads, d.Owns)})
}

func (m *Manager) startWaiting(app scheduler.Key, w waiter) {
	m.stopWaiting(app)
	m.waiting[app] = w
	if m.ledger.InLine(m.entered[app]) {
		return
	}
	m.loose.add(app, w)
}

func (m *Manager) stopWaiting(app scheduler.Key) {
	m.loose.remove(app, m.waiting[app])
	delete(m.waiting, app)
}

// Forget drops the reservation, the queue position and the wait of an application that was deleted or does not start.
func (m *Manager) Forget(app scheduler.Key) {
	m.mu.Lock()
	m.stopWaiting(app)
	next := m.unplaced.leave(app)
	attempt, known := m.entered[app]
	delete(m.entered, app)
	m.mu.Unlock()
	m.enqueue(next)
	if known {
		m.Release(attempt)
	}
}

// Reserve applies a change to an application's reservation.
func (m *Manager) Reserve(app scheduler.Key, attempt string, r lifecycle.Reservation) {
	switch r {
	case lifecycle.ReservationDropped:
		m.Forget(app)
		m.Release(attempt)
	case lifecycle.ReservationReleased:
		m.mu.Lock()
		next := m.unplaced.leave(app)
		m.mu.Unlock()
		m.enqueue(next)
		m.Release(attempt)
	case lifecycle.ReservationKept:
	}
}

// WaitersFor returns the applications that a change of the kind in a namespace may help; "" for a kind without namespaces. Heads of lines come first.
// Applications behind them are omitted, because each is enqueued when those ahead start, and there may be thousands. Then follow up to most applications that
// are in no line: namespaces take turns, and within a namespace the longest wait comes first.
func (m *Manager) WaitersFor(kind schema.GroupVersionKind, namespace string, everywhere bool, most int) []scheduler.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := slices.DeleteFunc(m.ledger.Heads(namespace, m.clock.Now()), func(app scheduler.Key) bool {
		return !slices.ContainsFunc(m.waiting[app].kinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind.GroupKind() })
	})
	if everywhere {
		namespace = ""
	}
	return append(next, m.loose.first(kind.GroupKind(), namespace, most)...)
}

// MadeRoom records that a pod ended or was deleted now.
func (m *Manager) MadeRoom() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = m.clock.Now()
}

// RoomMadeAt returns when a pod last ended or was deleted.
func (m *Manager) RoomMadeAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.room
}
