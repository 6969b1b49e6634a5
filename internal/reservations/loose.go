// SPDX-License-Identifier: Apache-2.0

package reservations

import (
	"slices"

	"github.com/google/btree"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// loose are the waiting applications that are in no line of a quota. They are stored by the kind and the namespace whose changes may help them, the longest
// wait first. Finding the first of thousands takes time that grows only with the number of namespaces.
type loose map[schema.GroupKind]map[string]*btree.BTreeG[arrival]

func (l loose) add(app scheduler.Key, w waiter) {
	for _, kind := range w.kinds {
		places := l[kind.GroupKind()]
		if places == nil {
			places = map[string]*btree.BTreeG[arrival]{}
			l[kind.GroupKind()] = places
		}
		if places[app.Namespace] == nil {
			places[app.Namespace] = newArrivals()
		}
		places[app.Namespace].ReplaceOrInsert(arrival{app, w.since})
	}
}

func (l loose) remove(app scheduler.Key, w waiter) {
	for _, kind := range w.kinds {
		places := l[kind.GroupKind()]
		if place := places[app.Namespace]; place != nil {
			if place.Delete(arrival{app, w.since}); place.Len() == 0 {
				delete(places, app.Namespace)
			}
		}
	}
}

// first returns up to most applications that wait for a kind in a namespace, or in all namespaces for "". The longest wait of each namespace comes first, then
// the second longest of each, and so on.
func (l loose) first(kind schema.GroupKind, namespace string, most int) []scheduler.Key {
	var turns [][]arrival
	for in, place := range l[kind] {
		if in != namespace && namespace != "" {
			continue
		}
		turn := 0
		place.Ascend(func(a arrival) bool {
			if turn == len(turns) {
				turns = append(turns, nil)
			}
			turns[turn] = append(turns[turn], a)
			turn++
			return turn < most
		})
	}
	var apps []scheduler.Key
	for _, turn := range turns {
		slices.SortFunc(turn, arrival.compare)
		for _, a := range turn[:min(len(turn), most-len(apps))] {
			apps = append(apps, a.app)
		}
	}
	return apps
}
