// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// servers has the metrics that only Spark Connect servers have. Attempts, retries, evictions, waits and executors are counted in the metrics of applications.
type servers struct {
	drains, idleStops, wakeUps *prometheus.CounterVec
	states                     *prometheus.Desc
}

// The outcomes of drains.
const (
	drainEnded       = "Ended"
	drainExpired     = "Expired"
	drainInterrupted = "Interrupted"
)

// States of servers that their records do not have.
const (
	serverReady    = "Ready"
	serverNotReady = "NotReady"
	serverDraining = "Draining"
	serverIdle     = "Idle"
)

func (m *Metrics) newServers() servers {
	return servers{
		drains: m.counter(Family{
			Name: "spark_connect_drains_total", Labels: []string{"outcome"},
			Help: "Drains of servers whose spec was changed, by outcome: Ended (their sessions ended), " +
				"Expired (the drain timeout was over) or Interrupted (by anything else).",
			When: "a status without the drain is stored",
		}),
		idleStops: m.counter(Family{
			Name: "spark_connect_idle_stops_total", Help: "Servers that were stopped as idle.", When: "the stop is stored, before anything is deleted",
		}),
		wakeUps: m.counter(Family{
			Name: "spark_connect_wake_ups_total", Help: "Servers that were started again for a client.",
			When: "into `Resuming` with the reason `Woken`",
		}),
		states: m.gauge(Family{
			Name: "spark_connect_servers", Labels: []string{"state"},
			Help: "Servers by state: those of applications, with Ready, NotReady and Draining instead of Running, " +
				"and Idle for those that were stopped as idle.",
			When: "computed from the cache at each scrape, by the replica that leads",
		}),
	}
}

// transition records events that only servers have.
func (v servers) transition(s Subject, labels []string, from, to lifecycle.Record, now time.Time) {
	if !from.DrainSince.IsZero() && to.DrainSince.IsZero() {
		v.drains.WithLabelValues(append(labels, drainOutcome(s, from, to, now))...).Inc()
	}
	if from.Idle.StoppedAt.IsZero() && !to.Idle.StoppedAt.IsZero() {
		v.idleStops.WithLabelValues(labels...).Inc()
	}
	if from.Cause.Reason != lifecycle.ReasonWoken && to.Cause.Reason == lifecycle.ReasonWoken {
		v.wakeUps.WithLabelValues(labels...).Inc()
	}
}

// drainOutcome returns why a drain ended: the sessions ended or the timeout passed, or it was interrupted, e.g. by an edit back to the old spec.
func drainOutcome(s Subject, from, to lifecycle.Record, now time.Time) string {
	switch {
	case to.Cause.Reason != lifecycle.ReasonSpecChanged:
		return drainInterrupted
	case now.Before(from.DrainSince.Add(s.Drain)):
		return drainEnded
	}
	return drainExpired
}

// serverState returns the value of the label state.
func serverState(v View) string {
	switch {
	case v.Idle:
		return serverIdle
	case v.State != lifecycle.Running:
		return StateName(v.State)
	case v.Draining:
		return serverDraining
	case v.Ready:
		return serverReady
	}
	return serverNotReady
}
