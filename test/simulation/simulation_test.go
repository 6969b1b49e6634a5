// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

var (
	histories = flag.Int("histories", 100_000, "how many histories to live")
	first     = flag.Uint64("first", 1, "the seed of the first history")
	seed      = flag.Uint64("seed", 0, "live one history and print its story")
)

// live lives one history of a seed.
func lived(seed uint64, tell bool, change func(*history)) *history {
	h := newHistory(seed)
	if tell {
		h.told = &strings.Builder{}
	}
	if change != nil {
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
	if *seed != 0 {
		h := lived(*seed, true, nil)
		t.Logf("the story of seed %d:\n%s", *seed, h.told)
		if h.broken != "" {
			t.Error(h.broken)
		}
		return
	}
	start := time.Now()
	total, failed := many(*first, *histories, shown, nil)
	took := time.Since(start)
	for _, s := range failed {
		h := lived(s, true, nil)
		t.Errorf("seed %d: %s\n%s\nto replay: go test ./test/simulation -run TestHistories -v -args -seed %d", s, h.broken, h.told, s)
	}
	line := fmt.Sprintf("simulation: %d histories (%d with two leaders, %d with a Service beside the driver), %d reconciles, %d API calls, %d crashes (%d within a reconcile), %d faults injected, %d drivers, %d violations, %.0f s",
		total.Histories, total.TwoLeaders, total.Exposed, total.Reconciles, total.Calls, total.Crashes, total.MidReconcile, total.Faults, total.Drivers, len(failed), took.Seconds())
	t.Log(line)
	publish(t, "simulation", line)
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

// publish leaves the numbers where the test runner prints them from.
func publish(t *testing.T, name, line string) {
	t.Helper()
	root, err := os.Getwd()
	for err == nil && root != "/" {
		if _, missing := os.Stat(filepath.Join(root, "go.mod")); missing == nil {
			break
		}
		root = filepath.Dir(root)
	}
	dir := filepath.Join(root, "dist", "numbers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(line+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
