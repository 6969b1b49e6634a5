// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// remembered is the number of UIDs in Deletions. It covers some seconds, the largest delay of a cache.
const remembered = 4096

// Deletions remembers the last deleted objects of schedulers. A cache still has them for a moment, and a scheduler plugin would take a deleted group for one
// that its scheduler has admitted. The memory may be lost at any time.
type Deletions struct {
	mu    sync.Mutex
	known map[types.UID]bool
	// ring has the known UIDs; next is the index of the oldest.
	ring []types.UID
	next int
}

// Has reports whether the object with the UID was recently deleted.
func (d *Deletions) Has(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[uid]
}

func (d *Deletions) add(uid types.UID) {
	if d == nil || uid == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known, d.ring = map[types.UID]bool{}, make([]types.UID, remembered)
	}
	if d.known[uid] {
		return
	}
	delete(d.known, d.ring[d.next])
	d.known[uid], d.ring[d.next] = true, uid
	d.next = (d.next + 1) % remembered
}
