/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Ledger remembers what was promised: attempts that may start whose pods no quota counts yet, and who waits in line. It
// makes of two attempts for the same room one that enters and one that waits.
//
// It is arithmetic over values and has no lock: whoever owns it holds one from Outstanding over Admit to Record, and
// around the other methods. It holds no truth. After a restart each attempt that has a driver is entered again with
// Reserve and Settle, and those that wait take their places when they are next asked.
type Ledger struct {
	reserved map[string]Reservation
	waiting  map[string]map[string]time.Time // namespace, attempt, since when
	places   map[string]string               // attempt, namespace it waits in
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{reserved: map[string]Reservation{}, waiting: map[string]map[string]time.Time{}, places: map[string]string{}}
}

// Outstanding is what the ledger knows that concerns one attempt.
type Outstanding struct {
	// Held says that the attempt itself was admitted before: its room is counted.
	Held bool
	// Others were admitted, and not all of their pods are counted by the quotas yet. They are in the order of their IDs.
	Others []Reservation
	// Ahead is how many attempts of the same namespace wait for its quota longer than this one.
	Ahead int
}

// Reservation is an attempt that may start.
type Reservation struct {
	ID            string
	Namespace     string
	PriorityClass string
	Shapes        spark.Shapes
	Progress      Progress
}

// Progress is how far an attempt's initial pods have come. It never goes back: a pod that ended has been there.
type Progress struct {
	DriverCreated, DriverRunning       bool
	ExecutorsCreated, ExecutorsRunning int32
}

// ProgressOf reads the progress from the pods. Spark numbers its executors, so that the highest number tells how many
// there have been.
func ProgressOf(f Facts) Progress {
	var p Progress
	if f.Driver != nil {
		p.DriverCreated, p.DriverRunning = true, f.Driver.Phase != corev1.PodPending
	}
	for i := range f.Executors {
		e := &f.Executors[i]
		p.ExecutorsCreated = max(p.ExecutorsCreated, int32(min(e.ExecutorID, int64(maxExecutors))), int32(i+1))
		if e.Phase != corev1.PodPending {
			p.ExecutorsRunning++
		}
	}
	return p
}

// maxExecutors bounds executor ids, which are text that anybody could have written.
const maxExecutors = 1 << 20

// Outstanding returns what concerns the attempt. It shares nothing with the ledger.
func (l *Ledger) Outstanding(a Attempt) Outstanding {
	_, held := l.reserved[a.ID]
	o := Outstanding{Held: held}
	for id, r := range l.reserved {
		if id != a.ID {
			o.Others = append(o.Others, r)
		}
	}
	slices.SortFunc(o.Others, func(x, y Reservation) int { return cmp.Compare(x.ID, y.ID) })
	for id, since := range l.waiting[a.App.Namespace] {
		if id != a.ID && (since.Before(a.QueuedAt) || since.Equal(a.QueuedAt) && id < a.ID) {
			o.Ahead++
		}
	}
	return o
}

// Record enters the answer that an attempt got: Go reserves its room, a wait in line keeps its place there, and anything
// else gives both up.
func (l *Ledger) Record(a Attempt, answer Admission) {
	switch {
	case answer.Verdict == Go:
		l.Reserve(a)
	case answer.InLine:
		l.Release(a.ID)
		if l.waiting[a.App.Namespace] == nil {
			l.waiting[a.App.Namespace] = map[string]time.Time{}
		}
		l.waiting[a.App.Namespace][a.ID] = a.QueuedAt
		l.places[a.ID] = a.App.Namespace
	default:
		l.Release(a.ID)
	}
}

// Reserve enters an attempt that may start. One that is entered already keeps its progress.
func (l *Ledger) Reserve(a Attempt) {
	l.leave(a.ID)
	if _, held := l.reserved[a.ID]; !held {
		l.reserved[a.ID] = Reservation{ID: a.ID, Namespace: a.App.Namespace, PriorityClass: a.PriorityClass, Shapes: a.Shapes}
	}
}

// Settle takes off what the quotas count by themselves by now. An attempt of which nothing is left is forgotten.
func (l *Ledger) Settle(id string, p Progress) {
	r, held := l.reserved[id]
	if !held {
		return
	}
	r.Progress = Progress{
		DriverCreated:    r.Progress.DriverCreated || p.DriverCreated,
		DriverRunning:    r.Progress.DriverRunning || p.DriverRunning,
		ExecutorsCreated: max(r.Progress.ExecutorsCreated, p.ExecutorsCreated),
		ExecutorsRunning: max(r.Progress.ExecutorsRunning, p.ExecutorsRunning),
	}
	if r.Progress.DriverRunning && r.Progress.ExecutorsRunning >= r.Shapes.Initial {
		delete(l.reserved, id)
		return
	}
	l.reserved[id] = r
}

// Release forgets an attempt: it is over, or it no longer wants to start. It returns the attempts that wait in line in
// the same namespace, longest first: there may be room for them.
func (l *Ledger) Release(id string) []string {
	namespace := l.places[id]
	if r, held := l.reserved[id]; held {
		namespace = r.Namespace
	}
	delete(l.reserved, id)
	l.leave(id)
	return l.Line(namespace)
}

// Line returns the attempts that wait for the quota of a namespace, longest first.
func (l *Ledger) Line(namespace string) []string {
	line := l.waiting[namespace]
	return slices.SortedFunc(maps.Keys(line), func(x, y string) int {
		return cmp.Or(line[x].Compare(line[y]), cmp.Compare(x, y))
	})
}

// leave takes an attempt out of the line.
func (l *Ledger) leave(id string) {
	namespace, waits := l.places[id]
	if !waits {
		return
	}
	delete(l.places, id)
	delete(l.waiting[namespace], id)
	if len(l.waiting[namespace]) == 0 {
		delete(l.waiting, namespace)
	}
}
