// SPDX-License-Identifier: Apache-2.0

// Package sample has a place for each kind of mutant.
package sample

type Price struct {
	Cents int
	Note  string
}

const bulk = 10

var notes = map[bool]string{true: "bulk"}

// Of returns the price of some pieces.
func Of(pieces int, member bool) (p Price) {
	p.Cents = pieces*5 + 3
	if pieces >= bulk || member && pieces > 1 {
		p.Cents -= 2
	}
	for pieces > 0 {
		if pieces--; pieces == bulk-1 {
			continue
		}
		p.Cents++
	}
	switch {
	case !member:
		return Price{Cents: p.Cents, Note: "guest"}
	case isBulk(pieces):
		p.Note = notes[true]
	}
	return p
}

func isBulk(pieces int) bool { return pieces > 2*bulk }
