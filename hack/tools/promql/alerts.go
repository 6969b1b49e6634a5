// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"go.yaml.in/yaml/v3"
)

// step is the time between two samples of a history, and between two evaluations of a rule.
const step = time.Minute

// rule is an alert of a rule file.
type rule struct {
	Alert, Expr string
	For         string
}

type groups []struct{ Rules []rule }

// histories are samples that Prometheus may have scraped, and the alerts that they must cause.
type histories struct {
	// Always are the series that belong to every history, unless its Without names them.
	Always    []string
	Histories map[string]history
}

type history struct {
	Reason string
	// Series are in the notation of promtool's rule tests, with one sample per minute: metric{label="value"} 0+1x60
	Series []string
	// Without are the names of series in Always that this history lacks.
	Without []string
	// At is the time of the evaluation, since the first sample.
	At string
	// Fire are exactly the alerts that must fire at that time. Silent are the alerts whose silence this history tests.
	Fire, Silent []string
}

// try evaluates the rules of a file with the histories of another file, and returns the differences from the expectations. Each alert must fire in one history,
// and must be listed as silent in another.
func try(rulesFile, historiesFile string) ([]string, error) {
	var file struct {
		Groups groups
		Spec   struct{ Groups groups } // the format of a PrometheusRule
	}
	var all histories
	if err := load(rulesFile, &file); err != nil {
		return nil, err
	}
	if err := load(historiesFile, &all); err != nil {
		return nil, err
	}
	var problems []string
	fired, silent := map[string]bool{}, map[string]bool{}
	var rules []rule
	for _, g := range append(file.Groups, file.Spec.Groups...) {
		rules = append(rules, g.Rules...)
	}
	for _, name := range slices.Sorted(maps.Keys(all.Histories)) {
		h := all.Histories[name]
		got, err := firing(rules, all.Always, h)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", historiesFile, name, err)
		}
		slices.Sort(h.Fire)
		if !slices.Equal(got, h.Fire) {
			problems = append(problems, fmt.Sprintf("%s (%s): %v fire, want %v", name, h.Reason, got, h.Fire))
		}
		for _, alert := range h.Fire {
			fired[alert] = true
		}
		for _, alert := range h.Silent {
			silent[alert] = true
		}
	}
	for _, r := range rules {
		if !fired[r.Alert] || !silent[r.Alert] {
			problems = append(problems, r.Alert+": one history has to make it fire, and one that is about it must not")
		}
		delete(silent, r.Alert)
	}
	for alert := range silent {
		problems = append(problems, alert+": no such alert")
	}
	return problems, nil
}

func load(path string, into any) error {
	text, err := os.Open(path)
	if err != nil {
		return err
	}
	defer text.Close()
	if err := yaml.NewDecoder(text).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// firing returns the alerts that fire at the end of a history, sorted by name.
func firing(rules []rule, always []string, h history) ([]string, error) {
	at, err := model.ParseDuration(h.At)
	if err != nil {
		return nil, fmt.Errorf("at: %w", err)
	}
	db := &memory{}
	for _, text := range slices.Concat(always, h.Series) {
		name, _, _ := strings.Cut(strings.ReplaceAll(text, "{", " "), " ")
		if slices.Contains(h.Without, name) && slices.Contains(always, text) {
			continue
		}
		if err := db.add(text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	var names []string
	for _, r := range rules {
		fires, err := r.fires(engine, db, time.Unix(0, 0).Add(time.Duration(at)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Alert, err)
		}
		if fires {
			names = append(names, r.Alert)
		}
	}
	slices.Sort(names)
	return names, nil
}

// fires reports whether the same row has been in the expression's result for as long as the rule requires.
func (r rule) fires(engine *promql.Engine, db *memory, at time.Time) (bool, error) {
	var held model.Duration
	if r.For != "" {
		var err error
		if held, err = model.ParseDuration(r.For); err != nil {
			return false, err
		}
	}
	query, err := engine.NewRangeQuery(context.Background(), &storage.MockQueryable{MockQuerier: db}, nil, r.Expr, at.Add(-time.Duration(held)), at, step)
	if err != nil {
		return false, err
	}
	defer query.Close()
	rows, err := query.Exec(context.Background()).Matrix()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(rows, func(row promql.Series) bool {
		return len(row.Floats) == 1+int(time.Duration(held)/step)
	}), nil
}

// memory is a storage of series.
type memory struct {
	storage.MockQuerier
	series []storage.Series
}

func (m *memory) add(text string) error {
	lset, values, err := parser.ParseSeriesDesc(text)
	if err != nil {
		return err
	}
	var samples []chunks.Sample
	for i, v := range values {
		if !v.Omitted {
			samples = append(samples, sample{t: int64(i) * step.Milliseconds(), v: v.Value})
		}
	}
	m.series = append(m.series, storage.NewListSeries(lset, samples))
	return nil
}

// sample is a number at a time.
type sample struct {
	chunks.Sample
	t int64
	v float64
}

func (s sample) T() int64                 { return s.t }
func (s sample) F() float64               { return s.v }
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample      { return s }

// Select returns the series that match.
func (m *memory) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{at: -1}
	for _, s := range m.series {
		if !slices.ContainsFunc(matchers, func(want *labels.Matcher) bool { return !want.Matches(s.Labels().Get(want.Name)) }) {
			found.series = append(found.series, s)
		}
	}
	return found
}

type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series                { return s.series[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }
