// SPDX-License-Identifier: Apache-2.0

package sample

import "testing"

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		pieces int
		member bool
		want   Price
	}{
		{1, true, Price{9, ""}},
		{1, false, Price{9, "guest"}},
		{2, true, Price{13, ""}},
		{2, false, Price{15, "guest"}},
		{10, false, Price{60, "guest"}},
	} {
		if got := Of(tc.pieces, tc.member); got != tc.want {
			t.Errorf("%d, %t: %v", tc.pieces, tc.member, got)
		}
	}
}
