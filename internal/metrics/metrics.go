// SPDX-License-Identifier: Apache-2.0

// Package metrics has the operator's Prometheus metrics. Counters and histograms record stored status transitions, together with events. Gauges are computed
// from the cache at each scrape, so that a restart loses none. No label has the name of an application, and values chosen by users are bounded.
package metrics

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// Family describes one metric.
type Family struct {
	// Name excludes the configured prefix.
	Name string
	// Type is counter, gauge, histogram or summary.
	Type string
	// Labels are the metric's own labels.
	Labels []string
	// Operator is set for metrics about the operator. They have none of the configured labels.
	Operator bool
	// Kubeflow is set if the Kubeflow Spark operator has a metric of this name and type.
	Kubeflow bool
	// Help is the help text; When says when the value is updated.
	Help, When string
}

// Metrics are the operator's metrics. A nil pointer records nothing.
type Metrics struct {
	prefix   string
	labels   *limiter
	families []Family
	vectors  []prometheus.Collector
	sources  sources[Source]

	kubeflow kubeflow
	apache   *Apache
	ours     ours
	gauges   gauges
	operator operator
	tenancy  tenancy

	servers         servers
	schedules       schedules
	scheduleSources sources[ScheduleSource]
	lines           lines
	lineSources     sources[LineSource]
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns empty metrics. The configuration must be valid.
func New(c config.Metrics) *Metrics {
	m := &Metrics{prefix: c.NamePrefix(), labels: newLimiter(c.Labels, c.MaxLabelValues)}
	m.labels.evicted = m.forget
	m.kubeflow = m.newKubeflow(c)
	m.apache = NewApache(c)
	m.ours = m.newOurs()
	m.gauges = m.newGauges()
	m.operator = m.newOperator()
	m.tenancy = m.newTenancy()
	m.schedules = m.newSchedules()
	m.servers = m.newServers()
	m.lines = m.newLines()
	return m
}

// forget deletes the series of a label value.
func (m *Metrics) forget(label, value string) {
	for _, v := range m.vectors {
		if deletes, ok := v.(interface {
			DeletePartialMatch(labels prometheus.Labels) int
		}); ok {
			deletes.DeletePartialMatch(prometheus.Labels{label: value})
		}
	}
}

// Families lists all metrics in the order of the documentation.
func (m *Metrics) Families() []Family { return m.families }

// Observe adds a source of gauges.
func (m *Metrics) Observe(s Source) {
	if m != nil {
		m.sources.add(s)
	}
}

// sources are the sources of all kinds. The controller of a late installed kind may add one while metrics are served.
type sources[S any] struct {
	mu  sync.Mutex
	all []S
}

func (s *sources[S]) add(source S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, source)
}

func (s *sources[S]) list() []S {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// Collectors returns the served collectors: the metrics, and the metrics of Apache, whose names are not known in advance.
func (m *Metrics) Collectors() []prometheus.Collector { return []prometheus.Collector{m, m.apache} }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, v := range m.vectors {
		v.Describe(out)
	}
	m.gauges.describe(out)
	out <- m.schedules.states
	out <- m.servers.states
	m.lines.describe(out)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, v := range m.vectors {
		v.Collect(out)
	}
	if all := m.sources.list(); len(all) > 0 {
		m.collectGauges(all, out)
	}
	m.collectSchedules(out)
	m.collectLines(out)
}

// add registers a family, and returns its full name and labels.
func (m *Metrics) add(kind string, f Family) (name string, labels []string) {
	f.Type = kind
	m.families = append(m.families, f)
	if !f.Operator {
		labels = append(labels, m.labels.names...)
	}
	return m.prefix + f.Name, append(labels, f.Labels...)
}

func (m *Metrics) counter(f Family) *prometheus.CounterVec {
	name, labels := m.add("counter", f)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: f.Help}, labels)
	m.vectors = append(m.vectors, v)
	return v
}

func (m *Metrics) histogram(f Family, buckets []float64) *prometheus.HistogramVec {
	name, labels := m.add("histogram", f)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: f.Help, Buckets: buckets}, labels)
	m.vectors = append(m.vectors, v)
	return v
}

func (m *Metrics) summary(f Family) *prometheus.SummaryVec {
	name, labels := m.add("summary", f)
	v := prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: name, Help: f.Help}, labels)
	m.vectors = append(m.vectors, v)
	return v
}

// gaugeVector returns a gauge that code sets. Other gauges are computed at each scrape.
func (m *Metrics) gaugeVector(f Family) *prometheus.GaugeVec {
	name, labels := m.add("gauge", f)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: f.Help}, labels)
	m.vectors = append(m.vectors, v)
	return v
}

func (m *Metrics) gauge(f Family) *prometheus.Desc {
	name, labels := m.add("gauge", f)
	return prometheus.NewDesc(name, f.Help, labels, nil)
}

// Off is the bind address of a disabled endpoint.
const Off = "0"

// ServerOptions returns the options of a process's metrics server. It fails if the configured certificate is missing, because the server would silently create
// its own.
func ServerOptions(c config.Metrics) (metricsserver.Options, error) {
	options := metricsserver.Options{BindAddress: c.BindAddress, SecureServing: c.TLS.Enabled, CertDir: c.TLS.CertDir}
	options.TLSOpts = []func(*tls.Config){func(t *tls.Config) {
		t.MinVersion, t.CipherSuites = c.TLS.Version(), c.TLS.Suites()
		if len(t.CipherSuites) > 0 {
			t.NextProtos = []string{"http/1.1"} // HTTP/2 refuses some of the selectable suites
		}
	}}
	if c.Authentication {
		options.FilterProvider = authenticated
	}
	if c.BindAddress == Off || c.TLS.CertDir == "" {
		return options, nil
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(c.TLS.CertDir, name)); err != nil {
			return options, fmt.Errorf("metrics.tls.certDir: %q: it must hold tls.crt and tls.key: %w", c.TLS.CertDir, err)
		}
	}
	return options, nil
}
