// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operator has the metrics about the operator itself.
type operator struct {
	decide, perReconcile prometheus.Observer
	writes               *prometheus.HistogramVec
	largeSpecs           prometheus.Counter
}

func (m *Metrics) newOperator() operator {
	decide := m.histogram(Family{
		Name: "spark_operator_decide_seconds", Operator: true,
		Help: "Seconds from reading an application's pods to the decision about it.", When: "each decision, including the reads for the scheduler's plugin",
	}, []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1})
	writes := m.histogram(Family{
		Name: "spark_operator_api_write_duration_seconds", Labels: []string{"verb", "resource", "result"}, Operator: true,
		Help: "Seconds that a write to the API server took, by verb, resource and result; its count is the number of writes.",
		When: "each write but events and leases; the result is `OK` or the API server's reason",
	}, []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10})
	perReconcile := m.histogram(Family{
		Name: "spark_operator_reconcile_api_writes", Operator: true,
		Help: "Writes to the API server in one reconcile of an application that is not at rest.", When: "each reconcile that came to a decision",
	}, []float64{0, 1, 2, 3, 4, 5, 6, 8, 12})
	large := m.counter(Family{
		Name: "spark_operator_large_specs_read_total", Operator: true,
		Help: "Reads of objects whose spec takes more than 32 KiB of memory and is not cached.", When: "each reconcile of such an object",
	})
	return operator{largeSpecs: large.WithLabelValues(), decide: decide.WithLabelValues(), perReconcile: perReconcile.WithLabelValues(), writes: writes}
}

// Decided records how long a decision took.
func (m *Metrics) Decided(took time.Duration) {
	if m != nil {
		m.operator.decide.Observe(took.Seconds())
	}
}

// LargeSpecRead records the live read of an object whose spec is too large for the cache.
func (m *Metrics) LargeSpecRead() {
	if m != nil {
		m.operator.largeSpecs.Inc()
	}
}

type writesKey struct{}

// Reconcile begins to count the writes made with the returned context; done ends it.
func (m *Metrics) Reconcile(ctx context.Context) (counting context.Context, done func()) {
	if m == nil {
		return ctx, func() {}
	}
	n := &atomic.Int32{}
	return context.WithValue(ctx, writesKey{}, n), func() { m.operator.perReconcile.Observe(float64(n.Load())) }
}

// Write records a write to the API server and its result.
func (m *Metrics) Write(ctx context.Context, verb, resource string, took time.Duration, err error) {
	if m == nil {
		return
	}
	if n, ok := ctx.Value(writesKey{}).(*atomic.Int32); ok {
		n.Add(1)
	}
	m.operator.writes.WithLabelValues(verb, resource, result(err)).Observe(took.Seconds())
}

// results are the counted reasons. All others share a value, because a webhook may respond with any text.
var results = []metav1.StatusReason{
	metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists, metav1.StatusReasonNotFound, metav1.StatusReasonForbidden,
	metav1.StatusReasonInvalid, metav1.StatusReasonUnauthorized, metav1.StatusReasonTooManyRequests, metav1.StatusReasonTimeout,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonServiceUnavailable, metav1.StatusReasonInternalError,
}

func result(err error) string {
	if err == nil {
		return "OK"
	}
	if reason := apierrors.ReasonForError(err); slices.Contains(results, reason) {
		return string(reason)
	}
	return other
}
