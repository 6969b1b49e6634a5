// SPDX-License-Identifier: Apache-2.0

package testrun

import "testing"

func TestPick(t *testing.T) {
	for name, tc := range map[string]struct{ reason, run, want string }{
		"Nothing": {reason: "go test by hand is the inner loop", want: "few"},
		"Check":   {reason: "so is make check", run: Check, want: "few"},
		"Landing": {reason: "CI", run: Landing, want: "more"},
		"All":     {reason: "a release", run: All, want: "most"},
		"Typo":    {reason: "a wrong word must not prove less", run: "lading", want: "most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FIRESTEEL_TESTS", tc.run)
			if got := Pick("few", "more", "most"); got != tc.want {
				t.Errorf("%q: %s, want %s: %s", tc.run, got, tc.want, tc.reason)
			}
		})
	}
}
