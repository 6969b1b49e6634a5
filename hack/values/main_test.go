// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const chart = "../../charts/spark-operator/"

func TestPage(t *testing.T) {
	for _, tc := range []struct {
		reason, values, want string
	}{
		{reason: "a comment of two lines", values: "# a is\n# <b>|c\na: 1\n", want: "| `a` | `1` | a is &lt;b>\\|c |\n"},
		{reason: "a map has a row for its comment, and its keys have theirs", values: "# of all\nm:\n  # of one\n  k: \"\"\n  l: true\n", want: "| `m` | | of all |\n| `m.k` | `\"\"` | of one |\n| `m.l` | `true` | |\n"},
		{reason: "a map in one line is a default", values: "m: {a: [1]}\nn: {}\n", want: "| `m` | `{\"a\":[1]}` | |\n| `n` | `{}` | |\n"},
		{reason: "the comment of the file is not that of its first key", values: "# file\n\n# key\na: [x|y]\n", want: "| `a` | `[\"x\\|y\"]` | key |\n"},
		{reason: "the comment stands at the key that follows", values: "m:\n  a: 1\n  # b is\n  b: 2\n\n# c is\nc: 3\n", want: "| `m.a` | `1` | |\n| `m.b` | `2` | b is |\n| `c` | `3` | c is |\n"},
	} {
		got, err := page([]byte("# Head\n"+begin+"what was there"), []byte(tc.values))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("# Head\n"+begin+"\n| Key | Default | |\n|---|---|---|\n"+tc.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestPageRefuses(t *testing.T) {
	for _, tc := range []struct{ reason, readme, values, want string }{
		{"no place for the table", "# Head\n", "a: 1", "does not have the line"},
		{"no map", begin, "[a]", "no map"},
		{"no YAML", begin, "a: [", "yaml"},
	} {
		if _, err := page([]byte(tc.readme), []byte(tc.values)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
		}
	}
}

// The README of the chart says what values.yaml says.
func TestREADMEIsUpToDate(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(chart + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	readme := read("README.md")
	want, err := page(readme, read("values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(readme)); diff != "" {
		t.Errorf("run make generate (-want +got):\n%s", diff)
	}
}
