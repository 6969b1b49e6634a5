// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// In a share of the histories the user deletes in fair weather what the history is about, wherever it has come by then. It must go, with all that
// was made for it.

// farewell is when the user deletes an object in fair weather: after so many steps, or where it would stay for ever.
type farewell struct {
	after int
	atEnd bool
}

// leaving are the kinds of the objects that histories are about.
var leaving = []string{kindApp, kindSecond, kindServer}

// drawFarewells decides what is deleted when.
func (h *history) drawFarewells() {
	h.farewells = map[string]*farewell{}
	for _, kind := range leaving {
		f := &farewell{}
		switch h.rng.IntN(6) {
		case 0:
			f.after = 1 + h.rng.IntN(60)
		case 1:
			f.atEnd = true
		}
		h.farewells[kind] = f
	}
}

// takeLeave deletes what it is time for.
func (h *history) takeLeave() {
	for _, kind := range leaving {
		if f := h.farewells[kind]; f != nil && f.after > 0 {
			if f.after--; f.after == 0 {
				h.leave(kind)
			}
		}
	}
}

// stayed puts off to the end what is to be deleted, and has not been.
func (h *history) stayed(kind string) {
	if f := h.farewells[kind]; f != nil && f.after > 0 {
		f.after, f.atEnd = 0, true
	}
}

// leavesAtEnd deletes what has come to where it would stay, if it is time for that.
func (h *history) leavesAtEnd(kind string) bool {
	f := h.farewells[kind]
	if h.broken != "" || f == nil || !f.atEnd && f.after == 0 {
		return false
	}
	*f = farewell{}
	return h.leave(kind)
}

// leave deletes an object in fair weather.
func (h *history) leave(kind string) bool {
	o := h.store.objects[id{kind, appName}]
	if o == nil || o.GetDeletionTimestamp() != nil {
		return false
	}
	h.stats.Farewells++
	h.userDeletes(o)
	return true
}

// userDeletes is a DELETE by the user, who sometimes waits for what belongs to the object.
func (h *history) userDeletes(o client.Object) {
	policy := metav1.DeletePropagationBackground
	if h.rng.IntN(3) == 0 {
		policy = metav1.DeletePropagationForeground
	}
	h.stats.Deletions++
	h.tell("user", "deletes %s, %s", idOf(o), policy)
	h.delete(o, client.PropagationPolicy(policy))
}
