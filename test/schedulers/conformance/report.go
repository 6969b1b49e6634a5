// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// What may come of a case.
const (
	passed       = "passed"
	failed       = "FAILED"
	missing      = "missing"
	leftOut      = "-"
	doesNotApply = "n/a"
)

// Report collects what came of every case.
type Report struct {
	// Titles are the titles of the subjects, in the order of the columns.
	Titles []string

	mu      sync.Mutex
	results map[result]string
	reasons map[result]string
	left    map[column]bool
}

// column is a subject in one tier.
type column struct {
	title string
	tier  Tier
}

// LeaveOut records that other runs test a subject, in one tier.
func (r *Report) LeaveOut(title string, tier Tier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == nil {
		r.left = map[column]bool{}
	}
	r.left[column{title, tier}] = true
}

// result is the result of one case in one tier.
type result struct {
	title  string
	tier   Tier
	number int
}

func (r *Report) note(s Subject, number int, what, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results == nil {
		r.results, r.reasons = map[result]string{}, map[result]string{}
	}
	at := result{s.Title, s.Tier, number}
	r.results[at], r.reasons[at] = what, reason
}

// Write prints a line for each case and a column for each subject, and below what does not apply and why. It fits into
// 120 columns if titles are short.
func (r *Report) Write(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	fmt.Fprintln(&text, "stand-in/real scheduler, or one word for both; - is left to other runs")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	rows := [][]string{append([]string{"case"}, r.Titles...)}
	for _, c := range inOrder() {
		row := []string{fmt.Sprintf("%d %s", c.Number, c.Name)}
		for _, title := range r.Titles {
			row = append(row, r.both(title, c.Number))
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	r.explain(&text)
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// Missing returns the fields of which nothing came: neither was the case run, nor does anyone say why not, nor is the subject left to other runs.
func (r *Report) Missing() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, title := range r.Titles {
		for _, c := range inOrder() {
			if words := r.both(title, c.Number); strings.Contains(words, missing) {
				all = append(all, fmt.Sprintf("%s %d: %s", title, c.Number, words))
			}
		}
	}
	return all
}

// both is the field for both tiers.
func (r *Report) both(title string, number int) string {
	var words []string
	for _, tier := range []Tier{StandIn, Real} {
		word := r.results[result{title, tier, number}]
		if word == "" {
			word = missing
			if r.left[column{title, tier}] {
				word = leftOut
			}
		}
		words = append(words, word)
	}
	return strings.Join(slices.Compact(words), "/")
}

// explain lists the reasons why cases do not apply, each once.
func (r *Report) explain(text *strings.Builder) {
	for _, c := range inOrder() {
		var reasons []string
		of := map[string][]string{}
		for _, title := range r.Titles {
			for _, tier := range []Tier{StandIn, Real} {
				at := result{title, tier, c.Number}
				why := r.reasons[at]
				if why == "" || slices.Contains(of[why], title) {
					continue
				}
				if of[why] == nil {
					reasons = append(reasons, why)
				}
				of[why] = append(of[why], title)
			}
		}
		for _, why := range reasons {
			who := strings.Join(of[why], ", ")
			if len(of[why]) == len(r.Titles) {
				who = "all"
			}
			fmt.Fprintf(text, "%d does not apply to %s: %s\n", c.Number, who, why)
		}
	}
}

func inOrder() []Case {
	return slices.SortedFunc(slices.Values(cases), func(a, b Case) int { return a.Number - b.Number })
}
