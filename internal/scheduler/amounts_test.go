// SPDX-License-Identifier: Apache-2.0

package scheduler

import "testing"

// A wait without a comparison still has numbers, always in the same order.
func TestAmountsInWords(t *testing.T) {
	cases := map[string]struct {
		reason string
		got    string
		want   string
	}{
		"Asked":     {reason: "in the order of the names, bytes as people write them", got: Asking(amounts(t, "memory=8589934592,cpu=12")), want: "asked cpu 12, memory 8Gi"},
		"Fraction":  {reason: "less than a core", got: Asking(amounts(t, "cpu=1500m")), want: "asked cpu 1500m"},
		"Allocated": {reason: "what the limit does not name is not limited", got: Allocated(amounts(t, "cpu=4,memory=1Gi,pods=3"), amounts(t, "memory=64Gi,cpu=40")), want: "allocated cpu 4 of 40, memory 1Gi of 64Gi"},
		"Unused":    {reason: "nothing is given away yet", got: Allocated(nil, amounts(t, "cpu=40")), want: "allocated cpu 0 of 40"},
	}
	for name, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s, %s: %q, want %q", name, tc.reason, tc.got, tc.want)
		}
	}
}
