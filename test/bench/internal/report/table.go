// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Number is a value as a person reads it: three digits or so, thousands apart.
func Number(v float64) string {
	digits := 0
	switch abs := math.Abs(v); {
	case v == math.Trunc(v) || abs >= 100:
	case abs >= 10:
		digits = 1
	default:
		digits = 2
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	whole, rest, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if v < 0 {
		whole = "-" + whole
	}
	return whole
}

// cells are the columns of a row behind its name.
func (r Row) cells(limited bool) []string {
	out := []string{Number(r.Value), r.Unit}
	if !limited {
		return out
	}
	if r.Limit == nil {
		return append(out, "", "")
	}
	ratio := ""
	if times, ok := r.Ratio(); ok {
		ratio = Number(times)
	}
	return append(out, Number(*r.Limit), ratio)
}

func heads(limited bool) []string {
	if limited {
		return []string{"operator", "unit", "limit", "operator ÷ limit"}
	}
	return []string{"operator", "unit"}
}

// Text is the section as a table for a terminal.
func (s Section) Text(limited bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s; took %s s\n", s.Name, s.Title, Number(s.Seconds))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(what string, cells []string) {
		_, _ = fmt.Fprintln(table, "  "+what+"\t"+strings.Join(cells, "\t"))
	}
	line("", heads(limited))
	for _, row := range s.Rows {
		line(row.What, row.cells(limited))
	}
	for _, row := range s.Calls {
		line("API calls: "+row.What, row.cells(limited))
	}
	_ = table.Flush() // a strings.Builder takes everything
	for _, fault := range s.Faults {
		fmt.Fprintf(&b, "  WRONG: %s\n", fault)
	}
	return b.String()
}

// Text is the whole table for a terminal.
func (r Report) Text() string {
	var b strings.Builder
	b.WriteString(r.Head() + "\n")
	for _, s := range r.Sections {
		b.WriteString("\n" + s.Text(r.Limited()))
	}
	return b.String()
}

// Markdown is the table for a page. Calls by verb and resource are left to the JSON.
func (r Report) Markdown() string {
	limited := r.Limited()
	var b strings.Builder
	columns := append([]string{"Scenario", "What"}, heads(limited)...)
	b.WriteString(r.Head() + ":\n\n| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, s := range r.Sections {
		name := "`" + s.Name + "`"
		for _, row := range s.Rows {
			b.WriteString("| " + strings.Join(append([]string{name, row.What}, row.cells(limited)...), " | ") + " |\n")
			name = ""
		}
		for _, fault := range s.Faults {
			b.WriteString("| | WRONG: " + fault + strings.Repeat(" |", len(columns)-1) + "\n")
		}
	}
	return b.String()
}
