// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"context"
	"sync"
	"time"
)

// every is the period in which a Meter reads descendants: the last reading is all that is known of killed ones.
const every = 500 * time.Millisecond

// Meter follows a program with its children over restarts.
type Meter struct {
	mu sync.Mutex
	// pid is the process now; 0 while there is none.
	pid int
	// before is the CPU time of earlier processes, last that of this one.
	before, last float64
	now, peak    int64
}

// Follow looks at the program until the context ends.
func (m *Meter) Follow(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.look()
		}
	}
}

// Switch sets the process ID of the program; 0 if it does not run.
func (m *Meter) Switch(pid int) {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.last, m.pid = m.before+m.last, 0, pid
}

// Leave has the process ended by a function. What it uses while it ends counts as far as it is seen.
func (m *Meter) Leave(end func()) {
	m.look()
	end()
	m.Switch(0)
}

func (m *Meter) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pid == 0 {
		return
	}
	var cpu float64
	var now, peak int64
	for _, s := range Tree(m.pid) {
		cpu += s.CPU
		used := memory(s.PID)
		now += used.Now
		peak += used.Now
		if s.PID == m.pid {
			peak += used.Peak - used.Now
		}
	}
	if now > 0 { // it has not just ended
		m.last, m.now, m.peak = max(m.last, cpu), now, max(m.peak, peak)
	}
}

// CPU returns the program's CPU time so far, in seconds.
func (m *Meter) CPU() float64 {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.before + m.last
}

// Memory returns the current memory of the program and its children and the highest observed value, in bytes. The peak of the
// program itself is exact: the kernel records it.
func (m *Meter) Memory() Memory {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	return Memory{Now: m.now, Peak: m.peak}
}
