// SPDX-License-Identifier: Apache-2.0

package application

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// refusals remembers which auxiliary objects the API server has refused for what they say, by the hash of that: the same object is not
// sent again. It may be lost at any time.
type refusals struct {
	mu  sync.Mutex
	all map[types.NamespacedName]map[exposure.Ref]refusal
}

type refusal struct {
	hash  string
	cause lifecycle.Cause
}

// of returns what the API server said of an object with the same hash.
func (r *refusals) of(app types.NamespacedName, ref exposure.Ref, hash string) (lifecycle.Cause, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.all[app][ref]
	return last.cause, known && last.hash == hash
}

func (r *refusals) add(app types.NamespacedName, ref exposure.Ref, hash string, cause lifecycle.Cause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[types.NamespacedName]map[exposure.Ref]refusal{}
	}
	if r.all[app] == nil {
		r.all[app] = map[exposure.Ref]refusal{}
	}
	r.all[app][ref] = refusal{hash, cause}
}

// retain drops what is remembered of objects that are not wanted any more.
func (r *refusals) retain(app types.NamespacedName, wanted func(exposure.Ref) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.all[app], func(ref exposure.Ref, _ refusal) bool { return !wanted(ref) })
}

// forget drops what is remembered of an application.
func (r *refusals) forget(app types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, app)
}
