// SPDX-License-Identifier: Apache-2.0

// Package testrun has the settings of a test run: how much it proves, and where its numbers and programs are. hack/test.sh sets the environment.
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

// Values of FIRESTEEL_TESTS, which selects how much a run proves.
const (
	// Check is for development, the default of `go test`: fixed seeds, a few seconds.
	Check = "check"
	// Landing is required before each landing. It adds fresh seeds to the fixed ones.
	Landing = "landing"
	// All runs everything, once a day and before a release.
	All = "all"
)

// Pick returns the value for the current run. An unknown value of FIRESTEEL_TESTS counts as All.
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

// freshSeeds is the lowest fresh seed, above all fixed seeds.
const freshSeeds = 1 << 32

// Seed returns the first fresh seed of this run: FIRESTEEL_SEED, or a random number above 1<<32.
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

// Publish writes a line to the folder FIRESTEEL_NUMBERS. hack/test.sh prints these lines at the end of a run. Without the variable it writes nothing, because a
// test that writes outside of its own folder is not cached by Go.
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
