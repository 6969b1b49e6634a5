// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	_ "time/tzdata"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

var seed = flag.Uint64("seed", 0, "tell the history of this seed only")

// garbage is how much of it may pile up, in bytes, before it is collected: histories are short and small.
const garbage = 256 << 20

func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(garbage)
	os.Exit(m.Run())
}

// TestHistories runs very many histories. A failing one prints its seed and its story.
func TestHistories(t *testing.T) {
	if *seed > 0 {
		h := newHistory(*seed, nil)
		verdict := h.play()
		t.Logf("seed %d:\n%s", *seed, strings.Join(h.story, "\n"))
		if verdict != "" {
			t.Error(verdict)
		}
		return
	}
	var total stats
	for _, run := range []struct{ first, histories uint64 }{{1, 1_500}, {testrun.Seed(), testrun.Pick[uint64](0, 2_000, 20_000)}} {
		if failed := search(run.first, run.histories, nil, &total); failed != nil {
			t.Errorf("seed %d: %s\n%s\nto replay: go test ./test/simulation/schedules -run TestHistories -v -args -seed %d", failed.seed, failed.verdict, tail(failed.story, 60), failed.seed)
		}
	}
	t.Log(total)
	testrun.Publish(t, "schedules", total.String())
}

type failure struct {
	seed    uint64
	verdict string
	story   []string
}

// search plays n histories from a first seed until one fails.
func search(first, n uint64, broken mutation, total *stats) *failure {
	var next atomic.Uint64
	var mu sync.Mutex
	var found *failure
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				s := first + i
				mu.Lock()
				done := found != nil || i >= n
				mu.Unlock()
				if done {
					return
				}
				h := newHistory(s, broken)
				verdict := h.play()
				mu.Lock()
				if total.add(h.stats); verdict != "" {
					found = &failure{s, verdict, h.story}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return found
}

func tail(story []string, n int) string {
	return strings.Join(story[max(0, len(story)-n):], "\n")
}
