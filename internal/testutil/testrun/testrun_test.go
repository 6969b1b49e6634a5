// SPDX-License-Identifier: Apache-2.0

package testrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

func TestProgram(t *testing.T) {
	made := t.TempDir()
	program := filepath.Join(made, KubectlSpark)
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(envPrograms, made)
	if got, err := Program(t.Context(), "nowhere", t.TempDir(), KubectlSpark); err != nil || got != program {
		t.Errorf("%q, %v: want the program that the run has made", got, err)
	}
	if got, err := Program(t.Context(), "nowhere", t.TempDir(), Operator); err == nil || !strings.Contains(err.Error(), "unset the variable") {
		t.Errorf("%q, %v: want the words for a program that the run has not made", got, err)
	}
	t.Setenv(envPrograms, "")
	if got, err := Program(t.Context(), "nowhere", t.TempDir(), Operator); err == nil || !strings.Contains(err.Error(), "build "+Operator) {
		t.Errorf("%q, %v: want the words for a program that does not build", got, err)
	}
}
