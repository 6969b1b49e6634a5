// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// holder is what a promise names: `folder: TestA, FuzzB`, `test/hostile: AnAttack`, or a file of specs.
var holder = regexp.MustCompile("`([a-z][A-Za-z0-9_/-]*)(?:: ([A-Z][A-Za-z0-9, ]*)|(_test\\.go))`")

// Each promise of SECURITY.md names tests that there are.
func TestPromisesAreHeld(t *testing.T) {
	_, promises, found := strings.Cut(read(t, "SECURITY.md"), "\n## What is promised\n")
	promises, _, ends := strings.Cut(promises, "\n## ")
	if !found || !ends {
		t.Fatal("no section of promises")
	}
	rows := 0
	for line := range strings.Lines(promises) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "Threat" {
			continue
		}
		rows++
		held := holder.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(held) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, h := range held {
			for _, missing := range missingTests(t, h[1], h[2], h[3]) {
				t.Errorf("%q names %s, which there is not", cells[0], missing)
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d promises were found, at least 20 are there", rows)
	}
}

// missingTests are those of a folder that there are not.
func missingTests(t *testing.T, folder, names, file string) []string {
	t.Helper()
	if file != "" {
		if !isFile(folder + file) {
			return []string{folder + file}
		}
		return nil
	}
	sources := testSources(t, folder)
	var missing []string
	for name := range strings.SplitSeq(names, ", ") {
		sought := "func " + name + "("
		if folder == "test/hostile" {
			sought = `"` + name + `"`
		}
		if !strings.Contains(sources, sought) {
			missing = append(missing, folder+": "+name)
		}
	}
	return missing
}

// testSources are the tests of a folder.
func testSources(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// A promise without a test, and a test that there is not, are found.
func TestMissingTestIsFound(t *testing.T) {
	for name, want := range map[string]int{"TestPromisesAreHeld": 0, "TestPromisesAreHeld, TestNoSuch": 1} {
		if got := missingTests(t, "docs", name, ""); len(got) != want {
			t.Errorf("%s: missing %q", name, got)
		}
	}
	if got := missingTests(t, "test/hostile", "NoSuchAttack, Privileged", ""); len(got) != 1 {
		t.Errorf("attacks that there are not: %q", got)
	}
	if got := missingTests(t, "docs/no_such", "", "_test.go"); len(got) != 1 {
		t.Errorf("a file that there is not: %q", got)
	}
}
