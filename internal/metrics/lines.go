// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// maxLines bounds the lines with separate rows, because there may be many namespaces and quotas.
const maxLines = 300

// allNamespaces is the namespace label of the shared row.
const allNamespaces = "*"

// LineSource returns the lines of quotas with waiting applications; none on a standby replica.
type LineSource func() []scheduler.LineState

// lines are metrics of quota lines.
type lines struct {
	waiting, longest, asked           *prometheus.Desc
	used, limit, guaranteed, borrowed *prometheus.Desc
}

func (m *Metrics) newLines() lines {
	const (
		scrape   = "computed from the lines at each scrape, by the replica that leads; an empty line has no row"
		reported = "as reported by the quota when an object in the line was last checked; an empty line has no row"
	)
	gauge := func(name, help, when string) *prometheus.Desc {
		return m.gauge(Family{Name: "spark_operator_quota_" + name, Labels: []string{"namespace", "quota", "resource"}, Operator: true, Help: help, When: when})
	}
	return lines{
		waiting: gauge("waiting", "Applications and clusters that wait in the line for a resource of a quota; "+
			"the namespace * stands for a quota that namespaces share.", scrape),
		longest:    gauge("longest_wait_seconds", "Seconds of the longest wait in the line for a resource of a quota.", scrape),
		asked:      gauge("asked", "Sum of the requests in the line for a resource of a quota, in cores, bytes or pieces.", scrape),
		used:       gauge("used", "Usage of a resource of a quota.", reported),
		limit:      gauge("limit", "Limit of a resource of a quota.", reported),
		guaranteed: gauge("guaranteed", "Guaranteed amount of a resource of a quota: hard of a ResourceQuota, min of an ElasticQuota.", reported),
		borrowed:   gauge("borrowed", "Usage of a resource of a quota beyond the guarantee.", reported),
	}
}

func (l lines) describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.waiting, l.longest, l.asked, l.used, l.limit, l.guaranteed, l.borrowed} {
		out <- d
	}
}

// ObserveLines adds a source of the gauges of lines.
func (m *Metrics) ObserveLines(s LineSource) {
	if m != nil {
		m.lineSources.add(s)
	}
}

// collectLines reports the lines with the most waiting objects. The other lines share one row without amounts, because amounts of different resources cannot be
// added.
func (m *Metrics) collectLines(out chan<- prometheus.Metric) {
	var all []scheduler.LineState
	for _, source := range m.lineSources.list() {
		all = append(all, source()...)
	}
	slices.SortStableFunc(all, func(x, y scheduler.LineState) int { return cmp.Compare(y.Waiting, x.Waiting) })
	own := min(len(all), maxLines)
	for _, l := range all[:own] {
		m.lines.collect(l, out)
	}
	if own == len(all) {
		return
	}
	waiting, longest := 0, time.Duration(0)
	for _, l := range all[own:] {
		waiting, longest = waiting+l.Waiting, max(longest, l.Longest)
	}
	m.lines.collectWait(waiting, longest, out, other, other, other)
}

func (l lines) collect(s scheduler.LineState, out chan<- prometheus.Metric) {
	labels := []string{cmp.Or(s.Namespace, allNamespaces), s.Quota, string(s.Resource)}
	l.collectWait(s.Waiting, s.Longest, out, labels...)
	for desc, amount := range map[*prometheus.Desc]float64{
		l.asked: s.Asked.AsApproximateFloat64(), l.used: s.Used.AsApproximateFloat64(), l.limit: s.Limit.AsApproximateFloat64(),
		l.guaranteed: s.Guaranteed.AsApproximateFloat64(), l.borrowed: s.Borrowed.AsApproximateFloat64(),
	} {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, amount, labels...)
	}
}

func (l lines) collectWait(waiting int, longest time.Duration, out chan<- prometheus.Metric, labels ...string) {
	out <- prometheus.MustNewConstMetric(l.waiting, prometheus.GaugeValue, float64(waiting), labels...)
	out <- prometheus.MustNewConstMetric(l.longest, prometheus.GaugeValue, longest.Seconds(), labels...)
}
