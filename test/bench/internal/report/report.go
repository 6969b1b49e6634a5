// SPDX-License-Identifier: Apache-2.0

// Package report turns what was measured into numbers with a name and a unit, and these into a table, JSON and a chart.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Row is one number.
type Row struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// Limit is the number of the limit program.
	Limit *float64 `json:"limit,omitempty"`
	// Goal is the required value; nil if there is none, or if it depends on a limit that was not measured.
	Goal *Goal `json:"goal,omitempty"`
	// Chart is set if the number is drawn.
	Chart bool `json:"-"`
}

// Ratio returns the value as a multiple of the limit.
func (r Row) Ratio() (float64, bool) {
	if r.Limit == nil || *r.Limit == 0 {
		return 0, false
	}
	return r.Value / *r.Limit, true
}

// Section is the result of one scenario.
type Section struct {
	// Name is the scenario with its size; Title describes it.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Seconds is the duration, with the start of all processes.
	Seconds float64 `json:"seconds"`
	Rows    []Row   `json:"rows"`
	// Calls are the operator's API calls by verb and resource.
	Calls []Row `json:"calls,omitempty"`
	// Faults lists errors of the operator or of the measurement.
	Faults []string `json:"faults,omitempty"`
}

// Add adds a number.
func (s *Section) Add(what, unit string, value float64) {
	s.Rows = append(s.Rows, Row{What: what, Unit: unit, Value: value})
}

// AddChart adds a number that is drawn, too.
func (s *Section) AddChart(what, unit string, value float64) {
	s.Rows = append(s.Rows, Row{What: what, Unit: unit, Value: value, Chart: true})
}

// AddSpread adds the median and the 95th percentile of times in seconds, as milliseconds.
func (s *Section) AddSpread(what string, seconds []float64) {
	if len(seconds) > 0 {
		s.AddChart(what+", median", "ms", 1000*Percentile(seconds, 50))
		s.Add(what+", 95 of 100 within", "ms", 1000*Percentile(seconds, 95))
	}
}

// Against puts the numbers of the limit beside those of the same name.
func (s *Section) Against(limit Section) {
	s.Rows, s.Calls = against(s.Rows, limit.Rows), against(s.Calls, limit.Calls)
	s.Seconds += limit.Seconds
	for _, fault := range limit.Faults {
		s.Faults = append(s.Faults, "limit: "+fault)
	}
}

func against(rows, limit []Row) []Row {
	for i := range rows {
		for _, other := range limit {
			if other.What == rows[i].What && other.Unit == rows[i].Unit {
				rows[i].Limit = &other.Value
			}
		}
	}
	return rows
}

// Judge puts goals beside the numbers that they are for. It is an error if there is none.
func (s *Section) Judge(goals []Goal) error {
	for _, goal := range goals {
		i := slices.IndexFunc(s.Rows, func(r Row) bool { return r.What == goal.What })
		if i < 0 {
			return fmt.Errorf("%s: goal for %q: no such number was measured", s.Name, goal.What)
		}
		if goal.judge(s.Rows[i]) {
			s.Rows[i].Goal = &goal
		}
	}
	return nil
}

// Report is a run.
type Report struct {
	Date     string `json:"date"`
	Commit   string `json:"commit"`
	Operator string `json:"operator"`
	// CPUs is the number of the machine's CPUs.
	CPUs     int       `json:"cpus"`
	Seconds  float64   `json:"seconds"`
	Sections []Section `json:"sections"`
}

// Limited reports whether some number has a limit.
func (r Report) Limited() bool {
	for _, s := range r.Sections {
		for _, row := range s.Rows {
			if row.Limit != nil {
				return true
			}
		}
	}
	return false
}

// Judged reports whether some number has a goal.
func (r Report) Judged() bool {
	return slices.ContainsFunc(r.Sections, Section.judged)
}

func (s Section) judged() bool {
	return slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Goal != nil })
}

// Head describes the measured program in one line.
func (r Report) Head() string {
	return fmt.Sprintf("%s, commit %s, %d CPUs, %s, %s s", r.Operator, cmp.Or(r.Commit, "unknown"), r.CPUs, r.Date, Number(r.Seconds))
}

// JSON is the whole of it.
func (r Report) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the report as JSON: %w", err)
	}
	return append(text, '\n'), nil
}

// Goal is the required value of a number.
type Goal struct {
	// What is the number's name.
	What string `json:"-"`
	// Value is the maximum, or the minimum with AtLeast, in the number's unit, or as a multiple of the run's limit with OfLimit.
	Value   float64 `json:"value"`
	AtLeast bool    `json:"atLeast,omitempty"`
	OfLimit bool    `json:"ofLimit,omitempty"`
	// Met is set if the number meets the goal.
	Met bool `json:"met"`
}

// judge decides whether the number meets the goal, if both are known.
func (g *Goal) judge(r Row) bool {
	value := r.Value
	if g.OfLimit {
		ratio, there := r.Ratio()
		if !there {
			return false
		}
		value = ratio
	}
	g.Met = value <= g.Value
	if g.AtLeast {
		g.Met = value >= g.Value
	}
	return true
}

// String is the goal as a person reads it: "≤ 1.15 × limit: met".
func (g *Goal) String() string {
	if g == nil {
		return ""
	}
	text := "≤ " + Number(g.Value)
	if g.AtLeast {
		text = "≥ " + Number(g.Value)
	}
	if g.OfLimit {
		text += " × limit"
	}
	if g.Met {
		return text + ": met"
	}
	return text + ": not met"
}

// Percentile is the smallest value that at least p of 100 values do not exceed; 0 of no values.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
