// SPDX-License-Identifier: Apache-2.0

package heaptest

import (
	"testing"
)

// recorded remembers whether a test would have failed.
type recorded struct {
	testing.TB
	failed bool
}

// Errorf remembers the failure.
func (r *recorded) Errorf(string, ...any) { r.failed = true }

var sink []byte

func TestBound(t *testing.T) {
	cases := map[string]struct {
		reason      string
		input, size int
		want        bool
	}{
		"Small":     {reason: "what any test takes", size: 1 << 20},
		"Much":      {reason: "more than any input of no bytes may take", size: allowed + 1<<20, want: true},
		"Justified": {reason: "a large input takes more", input: 1 << 20, size: allowed + 1<<20},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &recorded{TB: t}
			end := Bound(r, tc.input)
			sink = make([]byte, tc.size)
			sink = nil // collected or not: it was taken
			if end(); r.failed != tc.want {
				t.Errorf("%s: failed %t, want %t", tc.reason, r.failed, tc.want)
			}
		})
	}
}
