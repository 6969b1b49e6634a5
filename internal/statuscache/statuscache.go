// SPDX-License-Identifier: Apache-2.0

// Package statuscache remembers what was written of an object's status, until the cache has it, and the statuses whose write is deferred.
package statuscache

import (
	"maps"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const (
	// ChurnWindow is how long a change of nothing but executors waits after the last write of a status: hundreds of
	// executors that come and go are then one write now and then, and a short job needs none.
	ChurnWindow = 10 * time.Second
)

// Cache remembers our last write of each status. It only saves calls: it may be lost at any time, and correctness
// rests on the API server's checks.
type Cache struct {
	mu   sync.Mutex
	last map[types.NamespacedName]write
}

type write struct {
	// uid is the object's: another one may have got its name.
	uid             types.UID
	at              time.Time
	resourceVersion string
	// held is the status whose write is deferred, nil for none; heldVersion is the object's version for it.
	held        *lifecycle.Record
	heldVersion string
	// pausedUntil is when a refused driver of this generation is worth another try.
	pausedUntil time.Time
	generation  int64
	// driver is the UID of the driver that was created for a submission.
	driver, submission string
}

// Newer reports whether we have written a later version of the object than the cache holds: a decision about this one
// would only meet a conflict.
func (w *Cache) Newer(o client.Object) bool {
	last := w.of(o)
	if last.resourceVersion == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(last.resourceVersion, o.GetResourceVersion())
	return err == nil && order > 0
}

func (w *Cache) of(o client.Object) write {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entry(o)
}

// entry is what is remembered of an object. What is left of an earlier one with its name is dropped. The caller has the lock.
func (w *Cache) entry(o client.Object) write {
	key := client.ObjectKeyFromObject(o)
	last, ok := w.last[key]
	if ok && last.uid != o.GetUID() {
		delete(w.last, key)
		return write{}
	}
	return last
}

// Hold returns how long the write from one record to another has to wait; 0 if it may be done now.
func (w *Cache) Hold(o client.Object, from, to lifecycle.Record, now time.Time) time.Duration {
	if maps.Equal(from.Executors, to.Executors) && from.Counts == to.Counts {
		return 0
	}
	for _, r := range []*lifecycle.Record{&from, &to} {
		r.Executors, r.Failures, r.Counts = nil, nil, lifecycle.ExecutorCounts{}
	}
	if !reflect.DeepEqual(from, to) {
		return 0
	}
	return w.of(o).at.Add(ChurnWindow).Sub(now)
}

// Add remembers a write.
func (w *Cache) Add(o client.Object, now time.Time) {
	w.change(o, func(last *write) { last.at, last.resourceVersion, last.held = now, o.GetResourceVersion(), nil })
}

// Keep remembers a record whose write waits: executors may come and go before it is written.
func (w *Cache) Keep(o client.Object, r lifecycle.Record) {
	w.change(o, func(last *write) { last.held, last.heldVersion = &r, o.GetResourceVersion() })
}

// Recall adds to what is stored what is known of the executors beyond that. It is only known of the version that it was
// found out for: what was stored since knows more.
func (w *Cache) Recall(o client.Object, stored lifecycle.Record) lifecycle.Record {
	last := w.of(o)
	held := last.held
	if held != nil && last.heldVersion == o.GetResourceVersion() && held.State == stored.State && held.SubmissionID == stored.SubmissionID {
		stored.Executors, stored.Counts, stored.Failures = maps.Clone(held.Executors), held.Counts, held.Failures
	}
	return stored
}

// Created remembers the driver of a submission.
func (w *Cache) Created(o client.Object, submission, driver string) {
	w.change(o, func(last *write) { last.submission, last.driver = submission, driver })
}

// Driver is the UID of the driver that was created for a submission; "" if that is not known. A cache may have an earlier one of the same
// submission, which was deleted before it was recorded.
func (w *Cache) Driver(o client.Object, submission string) string {
	if last := w.of(o); last.submission == submission {
		return last.driver
	}
	return ""
}

// Pause keeps the next try of a refused driver from following at once on the event of our own status write.
func (w *Cache) Pause(o client.Object, until time.Time) {
	w.change(o, func(last *write) { last.pausedUntil, last.generation = until, o.GetGeneration() })
}

// Paused returns how long a refused driver still has to wait; 0 when it has not, or the spec has changed.
func (w *Cache) Paused(o client.Object, now time.Time) time.Duration {
	last := w.of(o)
	if last.generation != o.GetGeneration() {
		return 0
	}
	return max(0, last.pausedUntil.Sub(now))
}

func (w *Cache) change(o client.Object, f func(*write)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.entry(o)
	last.uid = o.GetUID()
	f(&last)
	if w.last == nil {
		w.last = map[types.NamespacedName]write{}
	}
	w.last[client.ObjectKeyFromObject(o)] = last
}

// Forget drops what is remembered of an object.
func (w *Cache) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
}

// Len is the number of objects that are remembered.
func (w *Cache) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.last)
}
