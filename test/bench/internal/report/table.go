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

// columns selects the optional columns of tables.
type columns struct{ limited, judged bool }

// cells are the columns of a row behind its name.
func (r Row) cells(c columns) []string {
	out := []string{Number(r.Value), r.Unit}
	if c.limited {
		limit, ratio := "", ""
		if r.Limit != nil {
			limit = Number(*r.Limit)
		}
		if times, ok := r.Ratio(); ok {
			ratio = Number(times)
		}
		out = append(out, limit, ratio)
	}
	if c.judged {
		out = append(out, r.Goal.String())
	}
	return out
}

func (c columns) heads() []string {
	out := []string{"operator", "unit"}
	if c.limited {
		out = append(out, "limit", "operator ÷ limit")
	}
	if c.judged {
		out = append(out, "goal")
	}
	return out
}

// Text is the section as a table for a terminal.
func (s Section) Text(limited bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s; took %s s\n", s.Name, s.Title, Number(s.Seconds))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(what string, cells []string) {
		_, _ = fmt.Fprintln(table, "  "+what+"\t"+strings.Join(cells, "\t"))
	}
	c := columns{limited, s.judged()}
	line("", c.heads())
	for _, row := range s.Rows {
		line(row.What, row.cells(c))
	}
	for _, row := range s.Calls {
		line("API calls: "+row.What, row.cells(c))
	}
	_ = table.Flush() // a strings.Builder never fails
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
	c := columns{r.Limited(), r.Judged()}
	var b strings.Builder
	heads := append([]string{"Scenario", "What"}, c.heads()...)
	b.WriteString(r.Head() + ":\n\n| " + strings.Join(heads, " | ") + " |\n|" + strings.Repeat("---|", len(heads)) + "\n")
	for _, s := range r.Sections {
		name := "`" + s.Name + "`"
		for _, row := range s.Rows {
			b.WriteString("| " + strings.Join(append([]string{name, row.What}, row.cells(c)...), " | ") + " |\n")
			name = ""
		}
		for _, fault := range s.Faults {
			b.WriteString("| | WRONG: " + fault + strings.Repeat(" |", len(heads)-1) + "\n")
		}
	}
	return b.String()
}
