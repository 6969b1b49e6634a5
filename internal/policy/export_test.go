// SPDX-License-Identifier: Apache-2.0

package policy

// Judged returns the kinds of objects that are judged, by group and name.
func Judged() []string {
	var all []string
	for kind, j := range kinds {
		if j.why == "" {
			all = append(all, kind.String())
		}
	}
	return all
}
