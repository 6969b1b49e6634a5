// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// seat is an attempt's place in one line.
type seat struct {
	id       string
	app      Key
	priority int32
	since    time.Time
	// turn sorts attempts past the aging bound. It is since, or later after a hold that did not suffice.
	turn  time.Time
	asked resource.Quantity
}

func byAge(x, y seat) int { return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.id, y.id)) }

func byTurn(x, y seat) int { return cmp.Or(x.turn.Compare(y.turn), cmp.Compare(x.id, y.id)) }

func byPriority(x, y seat) int { return cmp.Or(cmp.Compare(y.priority, x.priority), byAge(x, y)) }

// tree holds seats in sorted order. It is a treap, whose operations take logarithmic time, because a line may be long.
type tree struct {
	root  *node
	order func(x, y seat) int
}

// node is a seat with sums over the seats of its subtree.
type node struct {
	seat
	weight      uint64
	left, right *node
	size        int
	least       resource.Quantity
	oldest      time.Time
}

// weightOf replaces a treap's random weight: weights that are equal after a restart are easier to debug.
func weightOf(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	const spread = 0x9e3779b97f4a7c15 // ids differ in their last letters, which FNV keeps in the low bits
	x := h.Sum64() * spread
	return (x ^ x>>32) * spread
}

// summed updates a node's sums.
func (n *node) summed() *node {
	n.size, n.least, n.oldest = 1, n.asked, n.since
	for _, below := range []*node{n.left, n.right} {
		if below == nil {
			continue
		}
		n.size += below.size
		if below.least.Cmp(n.least) < 0 {
			n.least = below.least
		}
		if below.oldest.Before(n.oldest) {
			n.oldest = below.oldest
		}
	}
	return n
}

// split divides the seats into those before a seat and the rest.
func (t *tree) split(n *node, s seat) (ahead, rest *node) {
	if n == nil {
		return nil, nil
	}
	if t.order(n.seat, s) < 0 {
		n.right, rest = t.split(n.right, s)
		return n.summed(), rest
	}
	ahead, n.left = t.split(n.left, s)
	return ahead, n.summed()
}

// merge joins two trees; all seats of the first come before the seats of the second.
func merge(x, y *node) *node {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	case x.weight > y.weight:
		x.right = merge(x.right, y)
		return x.summed()
	default:
		y.left = merge(x, y.left)
		return y.summed()
	}
}

func (t *tree) add(s seat) {
	ahead, rest := t.split(t.root, s)
	own := (&node{seat: s, weight: weightOf(s.id)}).summed()
	t.root = merge(merge(ahead, own), rest)
}

// remove deletes a seat if it exists.
func (t *tree) remove(s seat) { t.root = t.without(t.root, s) }

func (t *tree) without(n *node, s seat) *node {
	if n == nil {
		return nil
	}
	switch c := t.order(s, n.seat); {
	case c < 0:
		n.left = t.without(n.left, s)
	case c > 0:
		n.right = t.without(n.right, s)
	default:
		return merge(n.left, n.right)
	}
	return n.summed()
}

// ahead returns the number of seats before a seat, and the smallest request among them.
func (t *tree) ahead(s seat) (count int, least resource.Quantity) {
	note := func(n int, asked resource.Quantity) {
		if n > 0 && (count == 0 || asked.Cmp(least) < 0) {
			least = asked
		}
		count += n
	}
	for n := t.root; n != nil; {
		if t.order(n.seat, s) >= 0 {
			n = n.left
			continue
		}
		note(1, n.asked)
		if n.left != nil {
			note(n.left.size, n.left.least)
		}
		n = n.right
	}
	return count, least
}

// first returns the first seat whose request fits. fits must be monotonic: if a request fits, all smaller ones fit.
func (t *tree) first(fits func(resource.Quantity) bool) (seat, bool) {
	n := t.root
	for n != nil && fits(n.least) {
		switch {
		case n.left != nil && fits(n.left.least):
			n = n.left
		case fits(n.asked):
			return n.seat, true
		default:
			n = n.right
		}
	}
	return seat{}, false
}

// waitingSince returns a seat that was queued at the limit or earlier.
func (t *tree) waitingSince(limit time.Time) (seat, bool) {
	n := t.root
	for n != nil && !n.oldest.After(limit) {
		switch {
		case !n.since.After(limit):
			return n.seat, true
		case n.left != nil && !n.left.oldest.After(limit):
			n = n.left
		default:
			n = n.right
		}
	}
	return seat{}, false
}

func anything(resource.Quantity) bool { return true }
