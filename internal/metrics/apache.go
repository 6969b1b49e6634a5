// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Apache has metrics with the names and types that the Apache Spark operator documents. They have no labels. A pair of states, a method or a code is part of
// the name, so a metric exists only after its first value.
type Apache struct {
	prefix string

	mu        sync.Mutex
	counters  map[string]prometheus.Counter
	summaries map[string]prometheus.Summary
}

var _ prometheus.Collector = (*Apache)(nil)

// NewApache returns empty metrics.
func NewApache(c config.Metrics) *Apache {
	return &Apache{prefix: c.NamePrefix(), counters: map[string]prometheus.Counter{}, summaries: map[string]prometheus.Summary{}}
}

// Describe implements prometheus.Collector. It describes nothing, because the metrics are not known in advance.
func (*Apache) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (a *Apache) Collect(out chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.counters {
		out <- c
	}
	for _, s := range a.summaries {
		out <- s
	}
}

// StateChange records how long an application was in a state before the next one. Without From, it records the time until its first state.
func (a *Apache) StateChange(c lifecycle.StateChange) {
	const name, help = "sparkappstatusrecorder_sparkapp_latency_", "Seconds from the creation of an application of spark.apache.org until it was Submitted."
	if c.From == "" {
		a.observe(name+"discover_duration_seconds", help, c.Took)
		return
	}
	a.observe(name+"from_"+strings.ToLower(c.From)+"_to_"+strings.ToLower(c.To)+"_duration_seconds",
		"Seconds that applications of spark.apache.org were "+c.From+" before they became "+c.To+".", c.Took)
}

// Transport counts requests, and measures the time until the headers of the response.
func (a *Apache) Transport(next http.RoundTripper, now clock.PassiveClock) http.RoundTripper {
	const name = "kubernetes_client_http_"
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		a.count(name+"request_total", "Requests to the API server.")
		a.count(name+"request_"+strings.ToLower(r.Method)+"_total", "Requests to the API server by "+r.Method+".")
		began := now.Now()
		response, err := next.RoundTrip(r)
		if err != nil {
			a.count(name+"response_failed_total", "Requests to the API server without a response.")
			return response, err
		}
		code := strconv.Itoa(response.StatusCode)
		a.count(name+"response_total", "Answers of the API server.")
		a.count(name+"response_"+code+"_total", "Answers of the API server with the code "+code+".")
		a.count(name+"response_"+code[:1]+"xx_total", "Answers of the API server with a code that begins with "+code[:1]+".")
		a.observe(name+"response_latency_seconds", "Seconds from a request to the API server to the headers of its answer.", now.Since(began))
		return response, nil
	})
}

func (a *Apache) count(name, help string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counters[name]
	if c == nil {
		c = prometheus.NewCounter(prometheus.CounterOpts{Name: a.prefix + name, Help: help})
		a.counters[name] = c
	}
	c.Inc()
}

// quantiles are the quantiles of Apache's operator, with their permitted errors.
var quantiles = map[float64]float64{0.5: 0.02, 0.75: 0.02, 0.95: 0.005, 0.98: 0.002, 0.99: 0.001, 0.999: 0.0001}

func (a *Apache) observe(name, help string, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.summaries[name]
	if s == nil {
		s = prometheus.NewSummary(prometheus.SummaryOpts{Name: a.prefix + name, Help: help, Objectives: quantiles})
		a.summaries[name] = s
	}
	s.Observe(took.Seconds())
}
