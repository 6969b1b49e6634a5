// SPDX-License-Identifier: Apache-2.0

package reservations

import (
	"cmp"
	"time"

	"github.com/google/btree"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// unplaced are the submitted applications whose pods wait for their schedulers, the earliest first. After a restart they are added again by their next
// observation. B-trees make joining and leaving cheap.
type unplaced struct {
	lines  map[string]*btree.BTreeG[arrival] // by scheduler
	places map[scheduler.Key]unplacedPlace
}

// arrival is a waiting application and the start of its wait. The longest wait comes first.
type arrival struct {
	app   scheduler.Key
	since time.Time
}

func (x arrival) compare(y arrival) int {
	return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.app.String(), y.app.String()))
}

func (x arrival) before(y arrival) bool { return x.compare(y) < 0 }

// newArrivals returns an empty tree.
func newArrivals() *btree.BTreeG[arrival] {
	const degree = 32 // an item has 88 bytes, and thousands arrive in a row
	return btree.NewG(degree, arrival.before)
}

type unplacedPlace struct {
	scheduler string
	since     time.Time
}

func newUnplaced() unplaced {
	return unplaced{lines: map[string]*btree.BTreeG[arrival]{}, places: map[scheduler.Key]unplacedPlace{}}
}

// front returns the first applications of a line, at most scheduler.Front.
func (u *unplaced) front(name string) []arrival {
	line, known := u.lines[name]
	if !known {
		return nil
	}
	first := make([]arrival, 0, scheduler.Front)
	line.Ascend(func(x arrival) bool {
		first = append(first, x)
		return len(first) < scheduler.Front
	})
	return first
}

// leave removes an application, and returns the application that reaches the front as a result, if any.
func (u *unplaced) leave(app scheduler.Key) (next []scheduler.Key) {
	p, known := u.places[app]
	if !known {
		return nil
	}
	delete(u.places, app)
	left := arrival{app, p.since}
	u.lines[p.scheduler].Delete(left)
	if first := u.front(p.scheduler); len(first) == scheduler.Front && left.before(first[scheduler.Front-1]) {
		next = append(next, first[scheduler.Front-1].app)
	}
	return next
}

func (u *unplaced) join(app scheduler.Key, p unplacedPlace) {
	if u.places[app] == p {
		return
	}
	u.leave(app)
	if u.lines[p.scheduler] == nil {
		u.lines[p.scheduler] = newArrivals()
	}
	u.lines[p.scheduler].ReplaceOrInsert(arrival{app, p.since})
	u.places[app] = p
}

// SetUnplaced records whether a submitted application has pods without a node. since is when the application was queued.
func (m *Manager) SetUnplaced(app scheduler.Key, name string, since time.Time, o scheduler.Observation) {
	m.mu.Lock()
	var next []scheduler.Key
	switch o.Stage {
	case scheduler.StageQueued, scheduler.StageReserving, scheduler.StageShort:
		m.unplaced.join(app, unplacedPlace{name, since})
	case scheduler.StagePlaced, scheduler.StageEvicted, scheduler.StageRefused, scheduler.StageGone:
		next = m.unplaced.leave(app)
	}
	m.mu.Unlock()
	m.enqueue(next)
}

// UnplacedAhead counts the applications with pods without a node that were queued earlier for the same scheduler, up to scheduler.Front.
func (m *Manager) UnplacedAhead(app scheduler.Key, name string, since time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	ahead := 0
	for _, x := range m.unplaced.front(name) {
		if x.app != app && x.before(arrival{app, since}) {
			ahead++
		}
	}
	return ahead
}
