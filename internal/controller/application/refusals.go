// SPDX-License-Identifier: Apache-2.0

package application

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// maxRefusals is how often an auxiliary object that the API server refuses for what it says is sent to it: what it says may be in the way of
// something that goes, such as a port that is taken. After that it has to say something else.
const maxRefusals = 5

// refusals remembers which auxiliary objects the API server has refused for what they say, by the hash of that. It may be lost at any
// time.
type refusals struct {
	mu  sync.Mutex
	all map[types.NamespacedName]map[exposure.Ref]refusal
}

type refusal struct {
	hash  string
	cause lifecycle.Cause
	times int
}

// of returns what the API server said of an object with the same hash, if it need not be asked again.
func (r *refusals) of(app types.NamespacedName, ref exposure.Ref, hash string) (lifecycle.Cause, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.all[app][ref]
	return last.cause, known && last.hash == hash && last.times >= maxRefusals
}

// add counts a refusal, and reports whether another try is worth it.
func (r *refusals) add(app types.NamespacedName, ref exposure.Ref, hash string, cause lifecycle.Cause) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[types.NamespacedName]map[exposure.Ref]refusal{}
	}
	if r.all[app] == nil {
		r.all[app] = map[exposure.Ref]refusal{}
	}
	times := 1
	if last := r.all[app][ref]; last.hash == hash {
		times = last.times + 1
	}
	r.all[app][ref] = refusal{hash, cause, times}
	return times < maxRefusals
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
