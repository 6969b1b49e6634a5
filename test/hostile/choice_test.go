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

// choose returns the attacks of a run, all or those of a landing, and says what it leaves out. A landing attacks the hardened chart with a part of
// them, in turn by the seed: attacks of one file follow each other, so that each file has its part.
func choose(hardened, all bool, seed uint64) ([]attack, string) {
	var made []attack
	of := candidates(hardened)
	at := 0
	for _, x := range of {
		if !all && (x.held != "" || hardened && x.bomb) {
			continue
		}
		at++
		if all || !hardened || uint64(at)%parts == seed%parts {
			made = append(made, x)
		}
	}
	what := fmt.Sprintf("%d are left to other runs", len(of)-len(made))
	if hardened && !all {
		what += fmt.Sprintf("; chosen by FIRESTEEL_SEED=%d: %s", seed, strings.Join(namesOf(made), " "))
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
	made, _ := choose(false, false, 0)
	for _, name := range names {
		if !slices.Contains(namesOf(made), name) {
			t.Errorf("SECURITY.md names %s, and a landing does not make it", name)
		}
	}
	for seed := range uint64(parts) {
		if made, _ := choose(true, false, seed); len(made) < 40 {
			t.Errorf("a landing makes %d attacks on the hardened chart, at least 40 are there", len(made))
		}
	}
}

// So many landings with seeds that follow each other make every attack on the hardened chart, but for bombs, and each once.
func TestLandingsMakeEveryAttack(t *testing.T) {
	made := map[string]int{}
	for seed := range uint64(parts) {
		some, _ := choose(true, false, seed)
		for _, name := range namesOf(some) {
			made[name]++
		}
	}
	for _, x := range candidates(true) {
		if x.held == "" && !x.bomb && made[x.name] != 1 {
			t.Errorf("%s is made by %d of %d landings, want 1", x.name, made[x.name], parts)
		}
	}
	for _, hardened := range []bool{false, true} {
		if all, _ := choose(hardened, true, 0); len(all) != len(candidates(hardened)) {
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
