// SPDX-License-Identifier: Apache-2.0

// Package heaptest fails a test that allocates too much memory. A memory limit of the runtime would only cause more garbage collections.
package heaptest

import (
	"runtime"
	"strings"
	"testing"
)

// A test may allocate allowed bytes, and perByte more for each byte of its input.
const (
	allowed = 64 << 20
	perByte = 32
)

// Bound returns a function to call at the end of a test. It fails the test if more was allocated in between than an input of this size justifies. Memory that
// was freed again counts, too, so that the result does not depend on the garbage collector.
func Bound(tb testing.TB, input int) func() {
	tb.Helper()
	before := total()
	return func() {
		tb.Helper()
		if took, limit := total()-before, uint64(allowed+perByte*input); took > limit {
			tb.Errorf("%d bytes of input took %d MiB of memory, want %d MiB at most", input, took>>20, limit>>20)
		}
	}
}

// Taken returns the bytes that a function allocates, including those that are freed again.
func Taken(run func()) uint64 {
	before := total()
	run()
	return total() - before
}

// total returns the bytes that the process has allocated.
func total() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// Bombs are Spark properties that are small enough to be decoded and expand to a large value, by their structure. Each has the key Trigger, which Spark reads
// as a size.
func Bombs() map[string]map[string]string {
	wide := map[string]string{"spark.a": strings.Repeat("a", 400_000), Trigger: strings.Repeat("${spark.a}", 500)}
	deep := map[string]string{"spark.z": "zzzzzzzzzz", Trigger: "${spark.a}"}
	for c := 'a'; c < 'z'; c++ {
		deep["spark."+string(c)] = strings.Repeat("${spark."+string(c+1)+"}", 10)
	}
	nested := map[string]string{"spark.d": strings.Repeat("d", 400_000), Trigger: strings.Repeat("${spark.b}", 9)}
	for c := 'b'; c < 'd'; c++ {
		nested["spark."+string(c)] = strings.Repeat("${spark."+string(c+1)+"}", 9)
	}
	return map[string]map[string]string{"Wide": wide, "Deep": deep, "Nested": nested}
}

// Trigger is the key of the property that expands to a large value.
const Trigger = "spark.executor.memoryOverhead"
