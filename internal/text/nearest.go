// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean asks whether the known name that is nearest to the last one of a path is meant: "did you mean cores?". It is "" if none is near.
func DidYouMean(path string, known []string) string {
	const most = 2 // letters that are added, left out or others
	name := path[strings.LastIndex(path, ".")+1:]
	best, distance := "", most+1
	for _, k := range known {
		if n := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(k)); n < distance && n < len(k) {
			best, distance = k, n
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}
