/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package conformance

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// numberOfCases is how many there are meant to be.
const numberOfCases = 32

// Report collects what came of every case.
type Report struct {
	mu      sync.Mutex
	columns []string
	results map[string]map[int]string
}

func column(s Subject) string { return fmt.Sprintf("%s/%d", s.Title, s.Tier) }

func (r *Report) note(s Subject, number int, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results == nil {
		r.results = map[string]map[int]string{}
	}
	name := column(s)
	if r.results[name] == nil {
		r.results[name] = map[int]string{}
		r.columns = append(r.columns, name)
	}
	r.results[name][number] = result
}

// Write prints a line for each case and a column for each subject in each tier, and below what does not apply and why.
func (r *Report) Write(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[int]string{16: "1,000 attempts", 18: "admission withdrawn", 26: "scheduled applications"} // not written yet
	for _, c := range cases {
		names[c.Number] = c.Name
	}
	rows := []string{strings.Join(append([]string{"case"}, r.columns...), "\t")}
	for n := 1; n <= numberOfCases; n++ {
		row := []string{fmt.Sprintf("%d %s", n, names[n])}
		for _, name := range r.columns {
			row = append(row, short(r.results[name][n]))
		}
		rows = append(rows, strings.Join(row, "\t"))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(table, strings.Join(rows, "\n")); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	for _, name := range r.columns {
		for _, n := range slices.Sorted(maps.Keys(r.results[name])) {
			if result := r.results[name][n]; short(result) == "n/a" {
				if _, err := fmt.Fprintf(w, "%s, case %d %s\n", name, n, result); err != nil {
					return fmt.Errorf("write the reasons: %w", err)
				}
			}
		}
	}
	return nil
}

func short(result string) string {
	switch result {
	case "":
		return "missing"
	case "passed", "FAILED", "skipped":
		return result
	}
	return "n/a"
}
