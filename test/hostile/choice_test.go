// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parts are the landings that make, in expectation, all attacks on the hardened chart.
const parts = 3

// choose returns the attacks of a run, all or those of a landing, and says what it leaves out. A landing attacks the hardened chart with what SECURITY.md
// names and with a part of the others, in turn by the seed: attacks of one file follow each other, so that each file has its part.
func choose(hardened, all bool, promised []string, seed uint64) ([]attack, string) {
	var made []attack
	others, elsewhere := 0, 0
	var some []string
	for _, x := range candidates(hardened) {
		switch {
		case all:
		case x.held != "":
			elsewhere++
			continue
		case hardened && (x.bomb || !slices.Contains(promised, x.name)):
			others++
			if uint64(others)%parts != seed%parts {
				elsewhere++
				continue
			}
			some = append(some, x.name)
		}
		made = append(made, x)
	}
	what := fmt.Sprintf("%d are left to other runs", elsewhere)
	if len(some) > 0 {
		what += fmt.Sprintf("; what SECURITY.md does not promise there is chosen by FIRESTEEL_SEED=%d: %s", seed, strings.Join(some, " "))
	}
	return made, what
}

// candidates are the attacks that may be made on an installation. Attacks on single limits are not made on the hardened chart: its policy
// is made of the same ones.
func candidates(hardened bool) []attack {
	return slices.DeleteFunc(slices.Clone(attacks), func(x attack) bool {
		return hardened && (x.weak != "" || x.underPolicy() != open && x.underPolicy() != limited)
	})
}

// promise is where SECURITY.md names attacks.
var promise = regexp.MustCompile("`test/hostile: ([A-Za-z0-9, ]+)`")

// promised are the attacks that SECURITY.md names.
func promised(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, found := range promise.FindAllStringSubmatch(string(text), -1) {
		names = append(names, strings.Split(found[1], ", ")...)
	}
	return names
}

// Each landing makes the attacks that SECURITY.md names: nobody moves one to FIRESTEEL_TESTS=all unseen.
func TestPromisedAttacksAreMade(t *testing.T) {
	names := promised(t)
	if len(names) < 110 {
		t.Errorf("SECURITY.md names %d attacks, at least 110 are there", len(names))
	}
	for _, hardened := range []bool{false, true} {
		may := namesOf(slices.DeleteFunc(candidates(hardened), func(x attack) bool { return hardened && x.bomb }))
		for seed := range uint64(parts) {
			made, _ := choose(hardened, false, names, seed)
			chosen := namesOf(made)
			for _, name := range names {
				if slices.Contains(chosen, name) || hardened && !slices.Contains(may, name) {
					continue
				}
				t.Errorf("SECURITY.md names %s, and a landing does not make it (hardened: %t)", name, hardened)
			}
		}
	}
	if made, _ := choose(true, false, names, 0); len(made) < 75 {
		t.Errorf("a landing makes %d attacks on the hardened chart, at least 75 are there", len(made))
	}
}

// So many landings with seeds that follow each other make every attack on the hardened chart, and each of them a part of the others.
func TestLandingsMakeEveryAttack(t *testing.T) {
	promised, made := promised(t), map[string]int{}
	for seed := range uint64(parts) {
		some, _ := choose(true, false, promised, seed)
		for _, name := range namesOf(some) {
			made[name]++
		}
	}
	for _, x := range candidates(true) {
		want := 1
		if slices.Contains(promised, x.name) && !x.bomb {
			want = parts
		}
		if x.held == "" && made[x.name] != want {
			t.Errorf("%s is made by %d of %d landings, want %d", x.name, made[x.name], parts, want)
		}
	}
	for _, hardened := range []bool{false, true} {
		if all, _ := choose(hardened, true, promised, 0); len(all) != len(candidates(hardened)) {
			t.Errorf("FIRESTEEL_TESTS=all makes %d attacks of %d (hardened: %t)", len(all), len(candidates(hardened)), hardened)
		}
	}
}

func namesOf(attacks []attack) []string {
	var names []string
	for _, x := range attacks {
		names = append(names, x.name)
	}
	return names
}
