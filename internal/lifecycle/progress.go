// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "time"

// Tracking configures start timeouts and capacity, for families that report them.
type Tracking struct {
	// Initial is the number of ready executors that an application needs to have started, and Min the number that it needs afterwards. Max is its full
	// capacity. 0 means no requirement.
	Initial, Min, Max int32
	// Elastic is set if the number of executors follows the load. Max is then not required.
	Elastic bool
	// Start bounds the time until the driver's Spark container is ready. Ready bounds the time from there until its pod is ready, and Executors the time from
	// there to Initial executors. 0 means no bound.
	Start, Ready, Executors time.Duration
}

// Capacity compares the ready executors of a run with the required numbers.
type Capacity string

// The capacities. A run with CapacityUnknown or CapacityBelowInitial has not started.
const (
	// CapacityUnknown : no executor has been ready yet.
	CapacityUnknown Capacity = ""
	// CapacityBelowInitial : some executors are ready, but fewer than Tracking.Initial.
	CapacityBelowInitial Capacity = "BelowInitial"
	// CapacityFull : all required executors are ready.
	CapacityFull Capacity = "Full"
	// CapacityPartial : enough executors are ready, but fewer than Tracking.Max.
	CapacityPartial Capacity = "Partial"
	// CapacityBelowMin : fewer executors than Tracking.Min are ready.
	CapacityBelowMin Capacity = "BelowMin"
)

func (c Capacity) started() bool { return c != CapacityUnknown && c != CapacityBelowInitial }

// Progress is the progress of a run. Only families with a Tracking record it.
type Progress struct {
	// StartedAt is when the driver's Spark container became ready, and ReadyAt when its pod did; zero before.
	StartedAt, ReadyAt time.Time
	Capacity           Capacity
	// CapacityAt is the time of the last change of Capacity.
	CapacityAt time.Time
}

// next returns the progress after an observation of a live driver and its executors.
func (t *Tracking) next(p Progress, obs Observation, now time.Time) Progress {
	d := obs.Driver
	if p.StartedAt.IsZero() && (d.SparkReady || d.Ready) {
		p.StartedAt = now
	}
	if p.ReadyAt.IsZero() && !p.StartedAt.IsZero() && d.Ready && d.Phase == DriverRunning {
		p.ReadyAt = now
	}
	if p.ReadyAt.IsZero() {
		return p
	}
	if c := t.capacity(p.Capacity, readyExecutors(obs)); c != p.Capacity {
		p.Capacity, p.CapacityAt = c, now
	}
	return p
}

func readyExecutors(obs Observation) int32 {
	ready := int32(0)
	for i := range obs.Executors {
		if obs.Executors[i].Ready && obs.Executors[i].State == ExecutorRunning {
			ready++
		}
	}
	return ready
}

// capacity returns the capacity for a number of ready executors. A started run stays started.
func (t *Tracking) capacity(before Capacity, ready int32) Capacity {
	enough, few := t.Min, CapacityBelowMin
	if !before.started() {
		enough, few = t.Initial, CapacityBelowInitial
	}
	switch {
	case t.Initial <= 0, before.started() && t.Min <= 0:
		return CapacityFull
	case ready >= enough && !t.Elastic && ready < t.Max:
		return CapacityPartial
	case ready >= enough:
		return CapacityFull
	case ready == 0 && !before.started():
		return before
	}
	return few
}

// stages returns the current stages of a tracked run.
func (t *Tracking) stages(rec Record) []stage {
	p := rec.Progress
	switch {
	case p.StartedAt.IsZero():
		return []stage{{rec.SubmittedAt, t.Start, ReasonStartTimeout, StartTimeout, "the driver did not start within %s ({deadlines.driverStart})"}}
	case p.ReadyAt.IsZero():
		return []stage{{p.StartedAt, t.Ready, ReasonNotReadyTimeout, Deadline,
			"the driver pod was not ready within %s after its container had started ({deadlines.driverPodReady})"}}
	case p.Capacity.started():
		return nil
	}
	since := p.ReadyAt
	if !p.CapacityAt.IsZero() {
		since = p.CapacityAt // each change of capacity begins a new timeout
	}
	return []stage{{since, t.Executors, ReasonExecutorsTimeout, StartTimeout, "the initial executors were not ready within %s ({deadlines.initialExecutors})"}}
}
