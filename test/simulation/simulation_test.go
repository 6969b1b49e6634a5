// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

var seed = flag.Uint64("seed", 0, "live one history and print its story")

// live lives one history of a seed.
func lived(seed uint64, tell bool, change func(*history)) *history {
	h := newHistory(seed)
	if tell {
		h.told = &strings.Builder{}
	}
	if h.change = change; change != nil {
		change(h)
	}
	h.run()
	return h
}

// garbage is how much of it may pile up, in bytes, before it is collected: histories are short and small.
const garbage = 256 << 20

func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(garbage)
	logf.SetLogger(logr.Discard()) // stories tell what operators do
	os.Exit(m.Run())
}

func TestHistories(t *testing.T) {
	fresh := testrun.Pick(0, 5_000, 100_000)
	simulate(t, "simulation", testrun.Pick(4_000, 5_000, 5_000), fresh, nil, func(total Stats) string {
		return fmt.Sprintf("simulation: %d histories (%d with two leaders, %d with a Service beside the driver), %d reconciles, %d API calls, %d crashes (%d within a reconcile), %d faults injected, %d drivers, %d of which were started again in their pods",
			total.Histories, total.TwoLeaders, total.Exposed, total.Reconciles, total.Calls, total.Crashes, total.MidReconcile, total.Faults, total.Drivers, total.Restarts)
	})
}

// simulate lives histories: fixed ones from seed 1, which are the same in each run, and fresh ones from the run's seed. With -seed it prints the
// story of one.
func simulate(t *testing.T, name string, fixed, fresh int, change func(*history), describe func(Stats) string) Stats {
	t.Helper()
	if *seed != 0 {
		h := lived(*seed, true, change)
		t.Logf("the story of seed %d:\n%s", *seed, h.told)
		if h.broken != "" {
			t.Error(h.broken)
		}
		return h.stats
	}
	start := time.Now()
	total, failed := many(1, fixed, shown, change)
	if fresh > 0 {
		more, found := many(testrun.Seed(), fresh, shown, change)
		total.add(more)
		failed = append(failed, found...)
	}
	for _, s := range failed {
		h := lived(s, true, change)
		t.Errorf("seed %d: %s\n%s\nto replay: go test ./test/simulation -run '^%s$' -v -args -seed %d", s, h.broken, h.told, t.Name(), s)
	}
	line := fmt.Sprintf("%s, %s, %d violations, %.0f s", describe(total), total.classes, len(failed), time.Since(start).Seconds())
	if fresh > 0 {
		line += fmt.Sprintf("; %d are fresh, from seed %d", fresh, testrun.Seed())
	}
	t.Log(line)
	testrun.Publish(t, name, line)
	return total
}

// shown is how many failing seeds are worth their stories.
const shown = 3

// many lives n histories on all processors until some have failed, and returns the seeds of these.
func many(first uint64, n, stop int, change func(*history)) (Stats, []uint64) {
	var (
		total  Stats
		failed []uint64
		mu     sync.Mutex
		wg     sync.WaitGroup
		next   atomic.Uint64
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var mine Stats
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				total.add(mine)
			}()
			for {
				i := next.Add(1) - 1
				mu.Lock()
				enough := len(failed) >= stop
				mu.Unlock()
				if i >= uint64(n) || enough {
					return
				}
				h := lived(first+i, false, change)
				mine.add(h.stats)
				if h.broken != "" {
					mu.Lock()
					failed = append(failed, first+i)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return total, failed
}
