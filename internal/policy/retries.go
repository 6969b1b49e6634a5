// SPDX-License-Identifier: Apache-2.0

package policy

// RetriesPerHour is how often an application may run again within an hour: the least of what the policies say, nil if none says
// anything. The set must be the one for the application's namespace.
func (s Set) RetriesPerHour() *int32 {
	var least *int32
	for i := range s {
		if limit := s[i].Limits.RetriesPerHour; limit != nil && (least == nil || *limit < *least) {
			least = limit
		}
	}
	return least
}
