// SPDX-License-Identifier: Apache-2.0

package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed chart.svg.tmpl
var chartText string

var chart = template.Must(template.New("chart").Parse(chartText))

const (
	chartTop, headHeight, rowHeight = 72, 26, 30

	barX, barRoom = 430, 400
)

type bar struct {
	Y, TextX, TextY int
	Width           int
	Color, Text     string
}

type chartLine struct {
	Y          int
	Head, What string
	Bars       []bar
}

// SVG draws the numbers that matter most: a pair of bars for each.
func (r Report) SVG() (string, error) {
	var lines []chartLine
	y := chartTop
	for _, s := range r.Sections {
		lines = append(lines, chartLine{Y: y + 14, Head: s.Name + ": " + s.Title})
		y += headHeight
		for _, row := range s.Rows {
			if row.Chart {
				lines = append(lines, chartLine{Y: y + 14, What: row.What, Bars: row.bars(y)})
				y += rowHeight
			}
		}
	}
	var b strings.Builder
	data := struct {
		Title   string
		Height  int
		Limited bool
		Lines   []chartLine
	}{r.Head(), y + 10, r.Limited(), lines}
	if err := chart.Execute(&b, data); err != nil {
		return "", fmt.Errorf("draw the chart: %w", err)
	}
	return b.String(), nil
}

func (r Row) bars(y int) []bar {
	most := r.Value
	if r.Limit != nil {
		most = max(most, *r.Limit)
	}
	draw := func(y int, value float64, color string) bar {
		width := 1
		if most > 0 {
			width = max(width, int(barRoom*value/most))
		}
		return bar{Y: y, TextX: barX + width + 6, TextY: y + 9, Width: width, Color: color, Text: Number(value) + " " + r.Unit}
	}
	bars := []bar{draw(y, r.Value, "#c2410c")}
	if r.Limit != nil {
		bars = append(bars, draw(y+12, *r.Limit, "#94a3b8"))
	}
	return bars
}
