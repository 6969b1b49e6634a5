package controller

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
	// churnWindow is how long a change of nothing but executors waits after the last write of a status: hundreds of
	// executors that come and go are then one write now and then, and a short job needs none.
	churnWindow = 10 * time.Second
	// staleRetry looks again at an object whose event was lost.
	staleRetry = 5 * time.Second
)

// written remembers our last write of each status. It only saves calls: it may be lost at any time, and correctness
// rests on the API server's checks.
type written struct {
	mu   sync.Mutex
	last map[types.NamespacedName]write
}

type write struct {
	at              time.Time
	resourceVersion string
}

// newer reports whether we have written a later version of the object than the cache holds: a decision about this one
// would only meet a conflict.
func (w *written) newer(o client.Object) bool {
	w.mu.Lock()
	last, ok := w.last[client.ObjectKeyFromObject(o)]
	w.mu.Unlock()
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(last.resourceVersion, o.GetResourceVersion())
	return err == nil && order > 0
}

// hold returns how long the write from one record to another has to wait; 0 if it may be done now.
func (w *written) hold(key types.NamespacedName, from, to lifecycle.Record, now time.Time) time.Duration {
	if maps.Equal(from.Executors, to.Executors) {
		return 0
	}
	from.Executors, to.Executors = nil, nil
	if !reflect.DeepEqual(from, to) {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[key].at.Add(churnWindow).Sub(now)
}

func (w *written) add(o client.Object, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[types.NamespacedName]write{}
	}
	w.last[client.ObjectKeyFromObject(o)] = write{at: now, resourceVersion: o.GetResourceVersion()}
}

func (w *written) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
}
