// SPDX-License-Identifier: Apache-2.0

package reservations

import (
	"cmp"
	"slices"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// unplaced are the submitted applications whose pods wait for their schedulers, in the order in which they came. After a restart they take
// their places when they are next observed.
type unplaced struct {
	lines  map[string][]unplacedApp // by scheduler
	places map[scheduler.Key]unplacedPlace
}

type unplacedApp struct {
	app   scheduler.Key
	since time.Time
}

type unplacedPlace struct {
	scheduler string
	since     time.Time
}

// find returns the place that an application has in a line, or would have.
func (u *unplaced) find(app scheduler.Key, p unplacedPlace) (int, bool) {
	return slices.BinarySearchFunc(u.lines[p.scheduler], unplacedApp{app, p.since}, func(x, y unplacedApp) int {
		if c := x.since.Compare(y.since); c != 0 {
			return c
		}
		return cmp.Compare(x.app.String(), y.app.String())
	})
}

// leave takes an application out, and returns the one that comes to the front of the line by that, if any does.
func (u *unplaced) leave(app scheduler.Key) (next []scheduler.Key) {
	p, known := u.places[app]
	if !known {
		return nil
	}
	delete(u.places, app)
	i, found := u.find(app, p)
	if !found {
		return nil
	}
	line := slices.Delete(u.lines[p.scheduler], i, i+1)
	if u.lines[p.scheduler] = line; i < scheduler.Front && len(line) >= scheduler.Front {
		next = append(next, line[scheduler.Front-1].app)
	}
	return next
}

func (u *unplaced) join(app scheduler.Key, p unplacedPlace) {
	if u.places[app] == p {
		return
	}
	u.leave(app)
	i, _ := u.find(app, p)
	u.lines[p.scheduler] = slices.Insert(u.lines[p.scheduler], i, unplacedApp{app, p.since})
	u.places[app] = p
}

// SetUnplaced remembers whether a submitted application, queued since a time, has pods for which its scheduler has no node yet.
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

// UnplacedAhead is how many applications with such pods were queued before one, for the same scheduler.
func (m *Manager) UnplacedAhead(app scheduler.Key, name string, since time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := m.unplaced.find(app, unplacedPlace{name, since})
	return i
}
