// SPDX-License-Identifier: Apache-2.0

// Package report turns what was measured into numbers with a name and a unit, and these into a table, JSON and a chart.
package report

import (
	"math"
	"slices"
)

// Percentile is the smallest value that at least p of 100 values do not exceed; 0 of no values.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
