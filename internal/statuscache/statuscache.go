// SPDX-License-Identifier: Apache-2.0

// Package statuscache remembers written statuses until the cache has them, and statuses whose write is deferred.
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
	// ChurnWindow is the shortest time between two status writes about executors only: it combines the changes of hundreds of
	// executors into one write, and a short job needs none.
	ChurnWindow = 10 * time.Second
)

// Cache remembers the last write of each status. It only saves calls and may be lost at any time; correctness depends on the
// API server's checks.
type Cache struct {
	mu   sync.Mutex
	last map[types.NamespacedName]write
}

type write struct {
	// uid identifies the object: a new one may have its name.
	uid             types.UID
	at              time.Time
	resourceVersion string
	// held is the deferred status, nil for none; heldVersion is the object's version for it.
	held        *lifecycle.Record
	heldVersion string
	// pausedUntil is the time of the next try of a refused driver of this generation.
	pausedUntil time.Time
	generation  int64
	// driver is the UID of the driver that was created for submission.
	driver, submission string
}

// Newer reports whether this operator wrote a later version of the object than the cache holds: a decision about the cached one
// would only cause a conflict.
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

// entry returns the entry of an object, and drops that of an earlier object of the name. The caller holds the lock.
func (w *Cache) entry(o client.Object) write {
	key := client.ObjectKeyFromObject(o)
	last, ok := w.last[key]
	if ok && last.uid != o.GetUID() {
		delete(w.last, key)
		return write{}
	}
	return last
}

// Hold returns the delay of the write from one record to another; 0 for an immediate write.
func (w *Cache) Hold(o client.Object, from, to lifecycle.Record, now time.Time) time.Duration {
	if maps.Equal(from.Executors, to.Executors) && from.Counts == to.Counts {
		return 0
	}
	for _, r := range []*lifecycle.Record{&from, &to} {
		r.Executors, r.Failures, r.Counts, r.Missing.Since = nil, nil, lifecycle.ExecutorCounts{}, time.Time{}
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

// Keep stores a record whose write is deferred: executors may come and go before it is written.
func (w *Cache) Keep(o client.Object, r lifecycle.Record) {
	w.change(o, func(last *write) { last.held, last.heldVersion = &r, o.GetResourceVersion() })
}

// Recall adds known executors to a stored record, if the record's version is the one they were observed for.
func (w *Cache) Recall(o client.Object, stored lifecycle.Record) lifecycle.Record {
	last := w.of(o)
	held := last.held
	if held != nil && last.heldVersion == o.GetResourceVersion() && held.State == stored.State && held.SubmissionID == stored.SubmissionID {
		stored.Executors, stored.Counts, stored.Failures = maps.Clone(held.Executors), held.Counts, held.Failures
	}
	return stored
}

// Created records the driver of a submission.
func (w *Cache) Created(o client.Object, submission, driver string) {
	w.change(o, func(last *write) { last.submission, last.driver = submission, driver })
}

// Driver returns the UID of the driver that was created for a submission; "" if unknown. A cache may have an earlier driver of
// the same submission that was deleted before it was recorded.
func (w *Cache) Driver(o client.Object, submission string) string {
	if last := w.of(o); last.submission == submission {
		return last.driver
	}
	return ""
}

// Pause prevents that the event of this operator's own status write immediately causes the next try of a refused driver.
func (w *Cache) Pause(o client.Object, until time.Time) {
	w.change(o, func(last *write) { last.pausedUntil, last.generation = until, o.GetGeneration() })
}

// Paused returns the remaining wait of a refused driver; 0 for none, or after an edit.
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

// Forget drops the entry of an object.
func (w *Cache) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
}

// Len returns the number of entries.
func (w *Cache) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.last)
}
