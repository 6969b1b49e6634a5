// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// ForbidLogTails reports whether a policy keeps what drivers print out of what the operator stores. The set must be the one for the
// application's namespace.
func (s Set) ForbidLogTails() bool {
	return slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.ForbidLogTails })
}
