// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares a text with a file, or writes the file if the flag -update is given.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.FromSlash(file)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s is out of date; if what is new is right, go test -update rewrites it (-want +got):\n%s", file, diff)
	}
}

// NoStaleGolden fails the test for each file of the pattern that belongs to no case.
func NoStaleGolden[T any](t *testing.T, pattern string, cases map[string]T) {
	t.Helper()
	files, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if _, known := cases[name]; !known {
			t.Errorf("%s belongs to no case: delete it", file)
		}
	}
}
