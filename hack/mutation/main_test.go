// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The sample has a place for each kind of mutant. Its test finds all of them but those that are listed here.
func TestTry(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	o, err := try(t.Context(), []string{"hack/mutation/testdata/sample"}, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	var survivors []string
	for _, m := range o.survivors {
		survivors = append(survivors, strings.TrimPrefix(m.key, "sample.go "))
	}
	want := []string{
		"Of: p.Note = notes[true] => nothing",
		"isBulk: pieces > 2*bulk => pieces >= 2*bulk",
	}
	if diff := cmp.Diff(want, survivors); diff != "" {
		t.Errorf("of %d mutants survive (-want +got):\n%s", len(o.mutants), diff)
	}
	for _, kind := range []string{
		"p.Cents = pieces*5 + 3 => nothing", "pieces*5 + 3 => pieces*5 - 3", "pieces >= bulk => pieces > bulk", "pieces >= bulk => pieces < bulk",
		"pieces >= bulk || member && pieces > 1 => pieces >= bulk && member && pieces > 1", "member => !(member)", "!member => member", "continue => nothing",
		"p.Cents => zero", `"guest" => zero`, "p => zero", "p.Cents++ => nothing",
	} {
		if !slices.ContainsFunc(o.mutants, func(m mutant) bool { return m.key == "sample.go Of: "+kind }) {
			t.Errorf("no mutant %s", kind)
		}
	}
}

func TestCompare(t *testing.T) {
	const list = "a.go F: x => nothing -- it is only faster\n\nb.go F: y => zero -- nobody asks\n"
	survives := func(keys ...string) (all []mutant) {
		for _, key := range keys {
			all = append(all, mutant{key: key})
		}
		return all
	}
	cases := map[string]struct {
		reason    string
		list      string
		only      string
		mutants   int
		survivors []mutant
		says      string
	}{
		"Listed":  {reason: "each has its reason", list: list, mutants: 100, survivors: survives("a.go F: x => nothing", "b.go F: y => zero")},
		"None":    {reason: "a list is needed for survivors only", mutants: 100},
		"Unknown": {reason: "a test is missing", list: list, mutants: 100, survivors: survives("a.go F: x => nothing", "b.go F: y => zero", "c.go F: z => zero"), says: "no test finds c.go F: z => zero"},
		"Stale":   {reason: "a test has come since", list: list, mutants: 100, survivors: survives("a.go F: x => nothing"), says: "does not survive any more: b.go F: y => zero"},
		"Only":    {reason: "the other was not tried", list: list, only: `^a\.go `, mutants: 100, survivors: survives("a.go F: x => nothing")},
		"Found":   {reason: "this was tried, and a test has come", list: list, only: `^b\.go `, mutants: 100, says: "does not survive any more: b.go F: y => zero"},
		"Reason":  {reason: "a name alone says nothing", list: "a.go F: x => nothing -- \n", mutants: 100, survivors: survives("a.go F: x => nothing"), says: "no test finds a.go F: x => nothing"},
		"TooMany": {reason: "reasons do not make tests good", list: list, mutants: 10, survivors: survives("a.go F: x => nothing", "b.go F: y => zero"), says: "80.0 % of the mutants are found; needed are 95"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "list.txt")
			if err := os.WriteFile(path, []byte(tc.list), 0o600); err != nil {
				t.Fatal(err)
			}
			err := (&outcome{mutants: make([]mutant, tc.mutants), survivors: tc.survivors}).compare(path, regexp.MustCompile(tc.only))
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.says != "" && (err == nil || err.Error() != tc.says):
				t.Errorf("%s: it says %v, not %s", tc.reason, err, tc.says)
			}
		})
	}
}
