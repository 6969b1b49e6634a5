// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Scrape returns what of the metrics is not 0. Of histograms and summaries it tells the number.
func Scrape(t testing.TB, m prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range all {
		for _, s := range family.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			value := s.GetCounter().GetValue() + s.GetGauge().GetValue() + float64(s.GetHistogram().GetSampleCount()+s.GetSummary().GetSampleCount())
			if value != 0 {
				out[strings.TrimSpace(family.GetName()+" "+strings.Join(labels, " "))] = value
			}
		}
	}
	return out
}
