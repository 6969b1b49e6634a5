// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares a text with a file. With the flag -update it writes the file.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.FromSlash(file)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s is out of date; if what is new is right, go test -update rewrites it (-want +got):\n%s", file, diff)
	}
}

// NoStaleGolden fails the test for each file that matches the pattern and belongs to no case.
func NoStaleGolden[T any](t *testing.T, pattern string, cases map[string]T) {
	t.Helper()
	files, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if _, known := cases[name]; !known {
			t.Errorf("%s belongs to no case: delete it", file)
		}
	}
}

// Scrape returns the metrics that are not 0. The value of a histogram or a summary is its count.
func Scrape(tb testing.TB, m prometheus.Collector) map[string]float64 {
	tb.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	all, err := registry.Gather()
	if err != nil {
		tb.Fatal(err)
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
