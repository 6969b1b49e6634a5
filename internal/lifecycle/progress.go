// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "time"

// Tracking says how the start and the capacity of a run are followed, in families that report more of a run than that its driver runs.
type Tracking struct {
	// Initial is with how many ready executors the application has started, Min with how many it is healthy afterwards, and Max with how many it
	// has its full capacity; 0 is any number.
	Initial, Min, Max int32
	// Elastic says that the number of executors follows the load, so that Max is not what is wanted.
	Elastic bool
	// Start bounds the time from the driver's creation to its ready Spark container, Ready that from there to its ready pod, and Executors that
	// from there to Initial executors; 0 is no bound.
	Start, Ready, Executors time.Duration
}

// Capacity compares the ready executors of a run with what is wanted.
type Capacity string

// The capacities. Those before CapacityFull are of a run that has not started.
const (
	// CapacityUnknown : no executor was ready yet.
	CapacityUnknown Capacity = ""
	// CapacityBelowInitial : some executors are ready, and fewer than Tracking.Initial.
	CapacityBelowInitial Capacity = "BelowInitial"
	// CapacityFull : as many as are wanted.
	CapacityFull Capacity = "Full"
	// CapacityPartial : enough, and fewer than Tracking.Max.
	CapacityPartial Capacity = "Partial"
	// CapacityBelowMin : fewer than Tracking.Min.
	CapacityBelowMin Capacity = "BelowMin"
)

func (c Capacity) started() bool { return c != CapacityUnknown && c != CapacityBelowInitial }

// Progress is how far a run has come. It is recorded in families with a Tracking only.
type Progress struct {
	// StartedAt is when the driver's Spark container was seen ready, and ReadyAt when its pod was; zero before.
	StartedAt, ReadyAt time.Time
	Capacity           Capacity
	// CapacityAt is since when.
	CapacityAt time.Time
}

// next is the progress after an observation of a driver that lives and of its executors.
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

// capacity is that of a number of ready executors. A run that has started never has not started again.
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

// stages are those of a run that is followed.
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
		since = p.CapacityAt // each step forward has its time
	}
	return []stage{{since, t.Executors, ReasonExecutorsTimeout, StartTimeout, "the initial executors were not ready within %s ({deadlines.initialExecutors})"}}
}
