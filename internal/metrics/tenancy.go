// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/prometheus/client_golang/prometheus"

// tenancy has the metrics about configuration changes at run time.
type tenancy struct {
	watched           *prometheus.GaugeVec
	failures, reloads *prometheus.CounterVec
	dropped           *prometheus.CounterVec
	restart           prometheus.Gauge
}

// Results of a changed configuration, as values of the label result.
const (
	applied = "applied"
	refused = "refused"
)

func (m *Metrics) newTenancy() tenancy {
	t := tenancy{
		watched: m.gaugeVector(Family{
			Name: "spark_operator_namespace_watched", Labels: []string{"namespace"}, Operator: true,
			Help: "1 if a namespace of the operator's configuration can be watched, 0 if not; * stands for all namespaces.",
			When: "a watch begins, fails or recovers; a namespace removed from the list has no row",
		}),
		failures: m.counter(Family{
			Name: "spark_operator_namespace_trouble_total", Labels: []string{"namespace"}, Operator: true,
			Help: "Times that a watch in a namespace of the operator's configuration failed; * stands for all namespaces.", When: "each failure",
		}),
		reloads: m.counter(Family{
			Name: "spark_operator_configuration_reloads_total", Labels: []string{"result"}, Operator: true,
			Help: "Times that the configuration file had changed, by whether it was applied or refused.", When: "a change of the file is noticed",
		}),
	}
	t.restart = m.gaugeVector(Family{
		Name: "spark_operator_configuration_restart_needed", Operator: true,
		Help: "1 if the configuration file has changes that need a restart of the operator, else 0.",
		When: "a change of the file is noticed",
	}).WithLabelValues()
	t.dropped = m.counter(Family{
		Name: "spark_operator_events_dropped_total", Labels: []string{"limit"}, Operator: true,
		Help: "Events that were not stored, by the exceeded limit (object, namespace or queue), or refused for those that the API server refused.",
		When: "an event is dropped",
	})
	for _, limit := range EventLimits() {
		t.dropped.WithLabelValues(string(limit))
	}
	for _, result := range []string{applied, refused} {
		t.reloads.WithLabelValues(result) // a counter that begins at 1 shows no increase
	}
	return t
}

// EventLimit is the reason why an event was not stored.
type EventLimit string

// Limits for events about one object, for events in a namespace, and for waiting events; and refusals by the API server.
const (
	EventsOfObject    EventLimit = "object"
	EventsOfNamespace EventLimit = "namespace"
	EventsWaiting     EventLimit = "queue"
	EventsRefused     EventLimit = "refused"
)

// EventLimits lists all of them.
func EventLimits() []EventLimit {
	return []EventLimit{EventsOfObject, EventsOfNamespace, EventsWaiting, EventsRefused}
}

// EventsDropped records events that were not stored.
func (m *Metrics) EventsDropped(limit EventLimit, n int64) {
	if m != nil {
		m.tenancy.dropped.WithLabelValues(string(limit)).Add(float64(n))
	}
}

// NamespaceWatched records whether a namespace can be watched.
func (m *Metrics) NamespaceWatched(namespace string, watched bool) {
	if m != nil {
		m.tenancy.watched.WithLabelValues(namespace).Set(truth(watched))
	}
}

// NamespaceDropped forgets a namespace that is no longer watched.
func (m *Metrics) NamespaceDropped(namespace string) {
	if m != nil {
		m.tenancy.watched.DeleteLabelValues(namespace)
	}
}

// NamespaceTrouble records a failed watch.
func (m *Metrics) NamespaceTrouble(namespace string) {
	if m != nil {
		m.tenancy.failures.WithLabelValues(namespace).Inc()
	}
}

// Reloaded records the result of a changed configuration file.
func (m *Metrics) Reloaded(taken bool) {
	if m == nil {
		return
	}
	result := refused
	if taken {
		result = applied
	}
	m.tenancy.reloads.WithLabelValues(result).Inc()
}

// RestartNeeded records whether the file has changes that need a restart.
func (m *Metrics) RestartNeeded(needed bool) {
	if m != nil {
		m.tenancy.restart.Set(truth(needed))
	}
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
