// SPDX-License-Identifier: Apache-2.0

// Package testrun says how much a run of the tests is to prove, where it leaves its numbers and where its programs are. hack/test.sh sets the
// environment.
package testrun

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// FIRESTEEL_TESTS selects the purpose of a run.
const (
	// Check is the inner loop, the default of `go test`: fixed seeds, a few seconds.
	Check = "check"
	// Landing is required before each landing: fresh seeds in addition to the fixed ones.
	Landing = "landing"
	// All runs everything, once a day and before a release.
	All = "all"
)

// Pick returns the value for the current run. An unknown kind of run is one that proves most.
func Pick[T any](check, landing, all T) T {
	switch os.Getenv("FIRESTEEL_TESTS") {
	case Check, "":
		return check
	case Landing:
		return landing
	default:
		return all
	}
}

// freshSeeds begin above the fixed seeds.
const freshSeeds = 1 << 32

// Seed is where the fresh seeds of this run begin: FIRESTEEL_SEED, or a random number above 1<<32.
var Seed = sync.OnceValue(func() uint64 {
	if text := os.Getenv("FIRESTEEL_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("FIRESTEEL_SEED: %q: not a seed; write a whole number", text))
		}
		return seed
	}
	return freshSeeds + rand.Uint64N(freshSeeds) //nolint:gosec // it picks tests, not secrets
})

// Publish leaves a line in the folder FIRESTEEL_NUMBERS, which hack/test.sh prints at the end of a run. Without one it does nothing: what a test
// writes outside of its own folder would keep Go from caching its result.
func Publish(tb testing.TB, name, line string) {
	tb.Helper()
	dir := os.Getenv("FIRESTEEL_NUMBERS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(line+"\n"), 0o600); err != nil {
		tb.Error(err)
	}
}
