// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean asks whether the known name that is nearest to the last one of a path is meant: "did you mean cores?". It is "" if none is near.
func DidYouMean(path string, known []string) string {
	name := path[strings.LastIndex(path, ".")+1:]
	most := max(1, min(2, len(name)/3)) // of longer names more may be wrong
	best, distance := "", most+1
	for _, k := range known {
		if n := slips(strings.ToLower(name), strings.ToLower(k)); n < distance && n < len(name) {
			best, distance = k, n
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// slips is how many letters of two names differ. Letters that are swapped are one slip.
func slips(a, b string) int {
	n := levenshtein.ComputeDistance(a, b)
	if n == 2 && string(slices.Sorted(slices.Values([]byte(a)))) == string(slices.Sorted(slices.Values([]byte(b)))) {
		return 1
	}
	return n
}
