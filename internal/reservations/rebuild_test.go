// SPDX-License-Identifier: Apache-2.0

package reservations

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What comes while the ledger is rebuilt, or after, is entered with the next rebuild, and there is none without need.
func TestRebuild(t *testing.T) {
	m := New(clock.RealClock{}, nil, scheduler.Order{})
	arrives, fails, count := false, error(nil), 0
	m.Rebuild(func(context.Context) error {
		count++
		if arrives {
			m.RebuildAgain() // after the list
		}
		return fails
	})
	ask := func() (int, error) {
		count = 0
		err := m.rebuildOnce(t.Context())
		return count, err
	}
	for _, step := range []struct {
		reason  string
		before  bool
		arrives bool
		fails   error
		want    int
	}{
		{reason: "an error of the list", fails: errors.New("boom"), want: 1},
		{reason: "nothing is entered yet, and a namespace comes meanwhile", arrives: true, want: 1},
		{reason: "that one is not entered yet", want: 1},
		{reason: "all are"},
		{reason: "another one comes", before: true, want: 1},
		{reason: "all are again"},
	} {
		if arrives, fails = step.arrives, step.fails; step.before {
			m.RebuildAgain()
		}
		if got, err := ask(); got != step.want || !errors.Is(err, step.fails) {
			t.Errorf("%s: rebuilt %d times, %v; want %d", step.reason, got, err, step.want)
		}
	}
}

// Workers that ask at once, after a start, rebuild the ledger once: a rebuild reads every application.
func TestOneRebuildAtATime(t *testing.T) {
	const workers = 16
	cases := map[string]struct {
		reason string
		// fails are the errors of the first rebuilds, and meanwhile happens while the first one runs.
		fails     []error
		meanwhile func(m *Manager, impatient context.CancelFunc)
		// rebuilds run in all, one after the other; refused is how many workers are told of an error.
		rebuilds, refused int
	}{
		"All":       {reason: "the others wait for the first", rebuilds: 1},
		"Fails":     {reason: "the next one tries again", fails: []error{errors.New("boom")}, rebuilds: 2, refused: 1},
		"Namespace": {reason: "what came meanwhile is entered, too", meanwhile: func(m *Manager, _ context.CancelFunc) { m.RebuildAgain() }, rebuilds: 2},
		"Impatient": {reason: "none waits longer than it may", meanwhile: func(_ *Manager, impatient context.CancelFunc) { impatient() }, rebuilds: 1, refused: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New(clock.RealClock{}, nil, scheduler.Order{})
				proceed := make(chan struct{})
				var running, most, rebuilds, refused atomic.Int32
				m.Rebuild(func(context.Context) error {
					n := rebuilds.Add(1)
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					<-proceed
					if int(n) <= len(tc.fails) {
						return tc.fails[n-1]
					}
					return nil
				})
				ask := func(ctx context.Context) {
					if err := m.rebuildOnce(ctx); err != nil {
						refused.Add(1)
					}
				}
				for range workers - 1 {
					go ask(t.Context())
				}
				synctest.Wait()
				limited, impatient := context.WithCancel(t.Context())
				defer impatient()
				go ask(limited)
				synctest.Wait()
				if tc.meanwhile != nil {
					tc.meanwhile(m, impatient)
					synctest.Wait()
				}
				close(proceed)
				synctest.Wait()
				got := []int{int(most.Load()), int(rebuilds.Load()), int(refused.Load())}
				if diff := cmp.Diff([]int{1, tc.rebuilds, tc.refused}, got); diff != "" {
					t.Errorf("%s: at once, in all, refused (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}
