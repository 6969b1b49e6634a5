// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func TestPercentile(t *testing.T) {
	cases := map[string]struct {
		reason string
		values []float64
		p      float64
		want   float64
	}{
		"Nothing": {reason: "no values", p: 50},
		"One":     {reason: "the only one", values: []float64{7}, p: 95, want: 7},
		"Median":  {reason: "the lower of the two in the middle", values: []float64{4, 1, 3, 2}, p: 50, want: 2},
		"Odd":     {reason: "the one in the middle", values: []float64{9, 1, 5}, p: 50, want: 5},
		"Most":    {reason: "95 of 20 are 19", values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, p: 95, want: 19},
		"All":     {reason: "the largest", values: []float64{3, 1, 2}, p: 100, want: 3},
		"None":    {reason: "the smallest", values: []float64{3, 1, 2}, p: 0, want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := append([]float64{}, tc.values...)
			if got := Percentile(tc.values, tc.p); got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
			if diff := cmp.Diff(before, append([]float64{}, tc.values...)); diff != "" {
				t.Errorf("it changed its argument:\n%s", diff)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  float64
	}{
		"0": {"nothing", 0}, "40": {"a whole number", 40}, "1,000,000": {"thousands", 1e6}, "2,227": {"thousands", 2227}, "1,437": {"no digits behind large ones", 1437.4},
		"14.3": {"three digits", 14.26}, "3.42": {"three digits", 3.42}, "0.05": {"two behind the point", 0.049}, "-1,234": {"negative", -1234.4}, "123": {"three digits", 123.4},
	}
	for want, tc := range cases {
		if got := Number(tc.value); got != want {
			t.Errorf("%s: %v is %s, want %s", tc.reason, tc.value, got, want)
		}
	}
}

// example has everything that a report may have.
func example(limited bool) Report {
	r := Report{Date: "2026-11-22", Commit: "0123abc", Operator: "Firesteel", CPUs: 2, Seconds: 612.3}
	burst := Section{Name: "burst:1000", Title: "1,000 applications at once", Seconds: 75.5, Calls: []Row{{What: "create pods", Value: 1000}, {What: "get pods", Value: 3}}}
	burst.AddChart("applications a minute", "", 1437)
	burst.AddSpread("created → driver pod", []float64{0.014, 0.013, 0.022})
	burst.AddSpread("never seen", nil)
	burst.Add("memory of the operator, most", "MiB", 56)
	burst.Add("applications FAILED", "", 0)
	if limited {
		limit := Section{Seconds: 30, Calls: []Row{{What: "create pods", Value: 1000}}, Faults: []string{"applications FAILED: 1"}}
		limit.AddChart("applications a minute", "", 2874)
		limit.AddSpread("created → driver pod", []float64{0.007})
		limit.Add("memory of the operator, most", "GiB", 1)
		limit.Add("applications FAILED", "", 0)
		burst.Against(limit)
	}
	if err := burst.Judge([]Goal{{What: "applications a minute", Value: 0.9, AtLeast: true, OfLimit: true}, {What: "memory of the operator, most", Value: 300}, {What: "applications FAILED"}}); err != nil {
		panic(err)
	}
	crash := Section{Name: "crash:200", Title: "killed & started <again>", Seconds: 30}
	crash.AddChart("killed → the next driver", "s", 4.48)
	crash.Faults = []string{"applications with two drivers: 1"}
	r.Sections = []Section{burst, crash}
	return r
}

func TestGolden(t *testing.T) {
	for name, limited := range map[string]bool{"operator": false, "limit": true} {
		r := example(limited)
		svg, err := r.SVG()
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for ending, got := range map[string]string{".txt": r.Text(), ".md": r.Markdown(), ".svg": svg, ".json": string(text)} {
			testutil.Golden(t, "testdata/"+name+ending, got)
		}
	}
}

// A browser draws nothing of a chart that is not well-formed.
func TestSVGIsXML(t *testing.T) {
	svg, err := example(true).SVG()
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRatio(t *testing.T) {
	two, zero := 2.0, 0.0
	cases := map[string]struct {
		reason string
		row    Row
		want   float64
		ok     bool
	}{
		"Limit":   {reason: "there is a limit", row: Row{Value: 5, Limit: &two}, want: 2.5, ok: true},
		"Nothing": {reason: "nothing to divide by", row: Row{Value: 5, Limit: &zero}},
		"None":    {reason: "there is no limit", row: Row{Value: 5}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := tc.row.Ratio(); got != tc.want || ok != tc.ok {
				t.Errorf("%s: %v, %v; want %v, %v", tc.reason, got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	ten := 10.0
	cases := map[string]struct {
		reason string
		row    Row
		goal   Goal
		want   string
	}{
		"Most":       {reason: "as much as there may be", row: Row{Value: 2}, goal: Goal{Value: 2}, want: "≤ 2: met"},
		"More":       {reason: "more than there may be", row: Row{Value: 2.5}, goal: Goal{Value: 2}, want: "≤ 2: not met"},
		"Nothing":    {reason: "there may be none", row: Row{Value: 1}, want: "≤ 0: not met"},
		"Least":      {reason: "as much as there is to be", row: Row{Value: 9, Limit: &ten}, goal: Goal{Value: 0.9, AtLeast: true, OfLimit: true}, want: "≥ 0.90 × limit: met"},
		"Less":       {reason: "less than there is to be", row: Row{Value: 8, Limit: &ten}, goal: Goal{Value: 0.9, AtLeast: true, OfLimit: true}, want: "≥ 0.90 × limit: not met"},
		"No limit":   {reason: "the limit was not measured", row: Row{Value: 9}, goal: Goal{Value: 0.9, AtLeast: true, OfLimit: true}},
		"Zero limit": {reason: "nothing to compare with", row: Row{Value: 9, Limit: new(float64)}, goal: Goal{Value: 1, OfLimit: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.row.What, tc.goal.What = "a number", "a number"
			s := Section{Rows: []Row{{What: "another"}, tc.row}}
			if err := s.Judge([]Goal{tc.goal}); err != nil {
				t.Fatal(err)
			}
			if got := s.Rows[1].Goal.String(); got != tc.want || s.Rows[0].Goal != nil {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	if err := (&Section{Name: "burst:1"}).Judge([]Goal{{What: "a number"}}); err == nil || !strings.Contains(err.Error(), `burst:1: goal for "a number"`) {
		t.Errorf("a goal for nothing: %v", err)
	}
}

// JSON is for programs: what they read is what was measured.
func TestJSONIsReadable(t *testing.T) {
	text, err := example(true).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if row := got.Sections[0].Rows[0]; row.Value != 1437 || *row.Limit != 2874 {
		t.Errorf("%+v", row)
	}
}
