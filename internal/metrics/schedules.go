// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// schedules has the metrics about schedules.
type schedules struct {
	started, skipped *prometheus.CounterVec
	delay            *prometheus.HistogramVec
	states           *prometheus.Desc
}

// ScheduleSource calls each for every cached schedule, with its state. On a standby replica it calls each for none.
type ScheduleSource func(each func(s Subject, state string))

func (m *Metrics) newSchedules() schedules {
	return schedules{
		started: m.counter(Family{
			Name: "spark_schedule_runs_started_total", Labels: []string{"reason"},
			Help: "Runs of schedules that were started, by reason: Schedule, Trigger or Backfill.", When: "a status with the run is stored",
		}),
		skipped: m.counter(Family{
			Name: "spark_schedule_runs_skipped_total", Labels: []string{"reason"},
			Help: "Runs of schedules that were due and not started, by reason.", When: "a status that counts them is stored",
		}),
		delay: m.histogram(Family{
			Name: "spark_schedule_run_delay_seconds",
			Help: "Seconds from the time of the schedule until its run was created, jitter included.", When: "a run of a schedule's time is started",
		}, []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600}),
		states: m.gauge(Family{
			Name: "spark_schedules", Labels: []string{"state"}, Help: "Schedules by state: New, Scheduled, Suspended or FailedValidation.",
			When: "computed from the cache at each scrape, by the replica that leads",
		}),
	}
}

// RunStarted records a run of a schedule.
func (m *Metrics) RunStarted(s Subject, reason string) {
	if m != nil {
		m.schedules.started.WithLabelValues(append(m.labels.values(s), reason)...).Inc()
	}
}

// RunsSkipped records skipped runs of a schedule.
func (m *Metrics) RunsSkipped(s Subject, reason string, n int64) {
	if m != nil {
		m.schedules.skipped.WithLabelValues(append(m.labels.values(s), reason)...).Add(float64(n))
	}
}

// RunDelayed records the delay of a run's start.
func (m *Metrics) RunDelayed(s Subject, delay time.Duration) {
	if m != nil {
		m.schedules.delay.WithLabelValues(m.labels.values(s)...).Observe(delay.Seconds())
	}
}

// ObserveSchedules adds a source of the gauge of schedules.
func (m *Metrics) ObserveSchedules(s ScheduleSource) {
	if m != nil {
		m.scheduleSources.add(s)
	}
}

// collectSchedules counts the schedules.
func (m *Metrics) collectSchedules(out chan<- prometheus.Metric) {
	counts := map[string]int{}
	for _, source := range m.scheduleSources.list() {
		source(func(s Subject, state string) {
			counts[strings.Join(append(slices.Clip(m.labels.values(s)), state), separator)]++
		})
	}
	for key, n := range counts {
		out <- prometheus.MustNewConstMetric(m.schedules.states, prometheus.GaugeValue, float64(n), strings.Split(key, separator)...)
	}
}
