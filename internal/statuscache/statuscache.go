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
	// ChurnWindow is the minimum time between two status writes about executors only. It combines the changes of hundreds of executors into one write, and a
	// short job needs none.
	ChurnWindow = 10 * time.Second
)

// Cache remembers the last write of each status. It only saves calls and may be lost at any time, because correctness depends on the API server's checks.
type Cache struct {
	mu   sync.Mutex
	last map[types.NamespacedName]write
}

type write struct {
	// uid identifies the object, because a new object may have its name.
	uid             types.UID
	at              time.Time
	resourceVersion string
	// held is the deferred status, nil for none. heldVersion is the version of the object that it belongs to.
	held        *lifecycle.Record
	heldVersion string
	// pausedUntil is when a refused driver is tried again, for this generation.
	pausedUntil time.Time
	generation  int64
	// driver is the UID of the driver that was created for the submission.
	driver, submission string
}

// Newer reports whether this operator wrote a later version of the object than the cache holds. A decision about the cached version would only cause a
// conflict.
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

// entry returns the entry of an object, and drops the entry of an earlier object of the same name. The caller holds the lock.
func (w *Cache) entry(o client.Object) write {
	key := client.ObjectKeyFromObject(o)
	last, ok := w.last[key]
	if ok && last.uid != o.GetUID() {
		delete(w.last, key)
		return write{}
	}
	return last
}

// Hold returns how long to delay the write of a record; 0 for an immediate write.
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

// Keep stores a record whose write is deferred. Executors may come and go before the write.
func (w *Cache) Keep(o client.Object, r lifecycle.Record) {
	w.change(o, func(last *write) { last.held, last.heldVersion = &r, o.GetResourceVersion() })
}

// Recall adds the executors of a deferred record to the stored record, if both belong to the same version of the object.
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

// Driver returns the UID of the driver that was created for a submission; "" if unknown. A stale cache may have an earlier driver of the same submission, which
// was deleted before it was recorded.
func (w *Cache) Driver(o client.Object, submission string) string {
	if last := w.of(o); last.submission == submission {
		return last.driver
	}
	return ""
}

// Pause delays the next try of a refused driver. Otherwise the event of this operator's own status write would cause the try immediately.
func (w *Cache) Pause(o client.Object, until time.Time) {
	w.change(o, func(last *write) { last.pausedUntil, last.generation = until, o.GetGeneration() })
}

// Paused returns the remaining delay of a refused driver; 0 if there is none or after an edit.
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
