// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// View is the input of gauges from one application.
type View struct {
	State lifecycle.State
	// Reason is the reason of a wait for a running driver; "" for no wait.
	Reason string
	// Scheduler and Queue are where the application waits; "" if unknown.
	Scheduler, Queue string
	// Waiting is the length of the wait.
	Waiting time.Duration
	// Pending and Running count its executors.
	Pending, Running int32
	// Ready, Draining and Idle describe a server. A draining server is ready until its sessions have ended, and an idle one is stopped.
	Ready, Draining, Idle bool
}

// Source calls each for every cached application, and returns whether this replica leads. On a standby replica it calls each for no application, because a sum
// over two replicas would count everything twice.
type Source func(each func(Subject, View)) (leads bool)

type gauges struct {
	running, executorsRunning                *prometheus.Desc
	states, waiting, longest, executorStates *prometheus.Desc
	leading                                  *prometheus.Desc
}

func (m *Metrics) newGauges() gauges {
	const scrape = "computed from the cache at each scrape, by the replica that leads"
	return gauges{
		running:          m.gauge(Family{Name: "spark_application_running_count", Kubeflow: true, Help: "Applications whose driver runs.", When: scrape}),
		executorsRunning: m.gauge(Family{Name: "spark_executor_running_count", Kubeflow: true, Help: "Executors that run.", When: scrape}),
		states: m.gauge(Family{
			Name: "spark_applications", Labels: []string{"state"}, Help: "Applications by state.", When: scrape,
		}),
		waiting: m.gauge(Family{
			Name: "spark_applications_waiting", Labels: []string{"scheduler", "queue", "reason"},
			Help: "Applications whose driver does not run yet, by scheduler, queue and reason.", When: scrape,
		}),
		longest: m.gauge(Family{
			Name: "spark_applications_longest_wait_seconds", Labels: []string{"reason"},
			Help: "Seconds of the longest wait of an application, by reason.", When: scrape,
		}),
		executorStates: m.gauge(Family{
			Name: "spark_executors", Labels: []string{"state"}, Help: "Executors that have not ended, by state.", When: scrape,
		}),
		leading: m.gauge(Family{
			Name: "spark_operator_leading", Operator: true,
			Help: "1 if this replica of the operator is the leader, 0 if it is a standby or cannot renew its Lease in time.", When: "asked at each scrape",
		}),
	}
}

func (g gauges) describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.running, g.executorsRunning, g.states, g.waiting, g.longest, g.executorStates, g.leading} {
		out <- d
	}
}

// tally has the counts of applications with the same labels.
type tally struct {
	labels           []string
	states           map[string]int
	servers          map[string]int
	waiting          map[place]int
	longest          map[string]time.Duration
	pending, running int
}

// place is where and why an application waits.
type place struct{ scheduler, queue, reason string }

func newTally(labels []string) *tally {
	return &tally{labels: labels, states: map[string]int{}, servers: map[string]int{}, waiting: map[place]int{}, longest: map[string]time.Duration{}}
}

// separator occurs in no label value. Kubernetes' label values have letters, digits, and the signs - _ and .
const separator = "\x00"

// collectGauges counts the applications. Without configured labels there is one row of counts, and it is also reported if all counts are 0.
func (m *Metrics) collectGauges(sources []Source, out chan<- prometheus.Metric) {
	all := map[string]*tally{}
	if len(m.labels.keys) == 0 {
		all[""] = newTally(nil)
	}
	leads := false
	for _, source := range sources {
		leads = source(func(s Subject, v View) {
			labels := m.labels.values(s)
			key := strings.Join(labels, separator)
			if all[key] == nil {
				all[key] = newTally(labels)
			}
			all[key].add(s, v, m.labels)
		})
	}
	if !leads {
		out <- prometheus.MustNewConstMetric(m.gauges.leading, prometheus.GaugeValue, 0)
		return
	}
	out <- prometheus.MustNewConstMetric(m.gauges.leading, prometheus.GaugeValue, 1)
	for _, t := range all {
		m.gauges.collect(t, out)
		for state, n := range t.servers {
			out <- prometheus.MustNewConstMetric(m.servers.states, prometheus.GaugeValue, float64(n), slices.Concat(t.labels, []string{state})...)
		}
	}
}

func (t *tally) add(s Subject, v View, l *limiter) {
	if s.Server {
		t.servers[serverState(v)]++
	} else {
		t.states[StateName(v.State)]++
	}
	if v.Reason != "" {
		reason := l.reason(v.Reason)
		t.waiting[place{l.scheduler(s.Namespace, v.Scheduler), l.queue(s.Namespace, v.Queue), reason}]++
		t.longest[reason] = max(t.longest[reason], v.Waiting)
	}
	t.pending += int(v.Pending)
	t.running += int(v.Running)
}

func (g gauges) collect(t *tally, out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, value float64, own ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, slices.Concat(t.labels, own)...)
	}
	send(g.running, float64(t.states[string(lifecycle.Running)]))
	send(g.executorsRunning, float64(t.running))
	send(g.executorStates, float64(t.pending), string(lifecycle.ExecutorPending))
	send(g.executorStates, float64(t.running), string(lifecycle.ExecutorRunning))
	for state, n := range t.states {
		send(g.states, float64(n), state)
	}
	for p, n := range t.waiting {
		send(g.waiting, float64(n), p.scheduler, p.queue, p.reason)
	}
	for reason, longest := range t.longest {
		send(g.longest, longest.Seconds(), reason)
	}
}

// StateName is the value of the label state.
func StateName(s lifecycle.State) string {
	if s == lifecycle.New {
		return "New"
	}
	return string(s)
}
