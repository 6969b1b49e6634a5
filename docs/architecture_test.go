// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	architecture = "docs/architecture.md"
	module       = "github.com/firesteel-dev/firesteel/"
)

// imports are the packages of the product, each with those of ours that it imports outside of its tests. The test reads them itself instead of
// running go list, so that Go's cache of test results sees a new import.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, top := range []string{"api", "cmd", "config", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" || d.Name() == "testutil" {
				return filepath.SkipDir
			}
			p, err := build.ImportDir(path, 0)
			var none *build.NoGoError
			if errors.As(err, &none) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read the imports of %s: %w", path, err)
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
			out[name] = []string{}
			for _, i := range p.Imports {
				if own, ok := strings.CutPrefix(i, module); ok {
					out[name] = append(out[name], own)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

var floorRow = regexp.MustCompile("(?m)^\\| (\\d+) \\| ((?:`[^`]+`(?:, )?)+) \\| (.*) \\|$")

// floors are those of the page's table, and its pure packages.
func floors(page string) (floor map[string]int, pure []string, faults []string) {
	floor = map[string]int{}
	for _, row := range floorRow.FindAllStringSubmatch(page, -1) {
		n, _ := strconv.Atoi(row[1])
		for name := range strings.SplitSeq(strings.ReplaceAll(row[2], "`", ""), ", ") {
			if floor[name] != 0 {
				faults = append(faults, name+" is listed twice")
			}
			floor[name] = n
			if strings.HasPrefix(row[3], "**pure**: ") {
				pure = append(pure, name)
			}
		}
	}
	return floor, pure, faults
}

// misplaced says what is wrong with a table of floors.
func misplaced(floor map[string]int, imports map[string][]string) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(floor)) {
		if _, exists := imports[name]; !exists {
			faults = append(faults, name+" is listed and does not exist")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if floor[name] == 0 {
			faults = append(faults, name+" is missing")
			continue
		}
		right := 1
		for _, other := range imports[name] {
			if floor[other] >= floor[name] {
				faults = append(faults, fmt.Sprintf("%s (floor %d) imports %s (floor %d)", name, floor[name], other, floor[other]))
			}
			right = max(right, floor[other]+1)
		}
		if right < floor[name] {
			faults = append(faults, fmt.Sprintf("%s is on floor %d; its imports allow floor %d", name, floor[name], right))
		}
	}
	return faults
}

func TestFloorsAreThoseOfTheImports(t *testing.T) {
	floor, pure, faults := floors(read(t, architecture))
	if len(floor) < 30 || len(pure) < 10 {
		t.Fatalf("%d packages, %d of them pure: the test does not see the table", len(floor), len(pure))
	}
	for _, fault := range append(faults, misplaced(floor, imports(t))...) {
		t.Errorf("%s, section 2: %s", architecture, fault)
	}
}

func TestMisplacedPackagesAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		page   string
		want   []string
	}{
		"Right":   {reason: "each floor is one more than the highest below", page: "| 1 | `a`, `b` | **pure**: x |\n| 2 | `c` | y |"},
		"Upward":  {reason: "an import of the same floor", page: "| 1 | `a`, `b`, `c` | x |", want: []string{"c (floor 1) imports a (floor 1)"}},
		"High":    {reason: "a floor that nothing below needs", page: "| 1 | `a` | x |\n| 2 | `b`, `c` | x |", want: []string{"b is on floor 2; its imports allow floor 1"}},
		"Missing": {reason: "a new package", page: "| 1 | `a` | x |\n| 2 | `c` | x |", want: []string{"b is missing"}},
		"Gone":    {reason: "a package that was deleted", page: "| 1 | `a`, `b`, `d` | x |\n| 2 | `c` | x |", want: []string{"d is listed and does not exist"}},
		"Twice":   {reason: "two rows for one package", page: "| 1 | `a`, `b` | x |\n| 2 | `c`, `c` | x |", want: []string{"c is listed twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			floor, _, faults := floors(test.page)
			got := append(faults, misplaced(floor, map[string][]string{"a": nil, "b": nil, "c": {"a"}})...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The linter refuses what a pure package must not import. The page calls no package pure for which the linter has no such rule.
func TestPurePackagesAreLinted(t *testing.T) {
	rules := regexp.MustCompile(`(?m)^        \w[\w-]*:(?: #.*)?\n((?:          .*\n)+)`).FindAllStringSubmatch(read(t, ".golangci.yml"), -1)
	var linted []string
	for _, rule := range rules {
		if strings.Contains(rule[1], "deny: *impure") || strings.Contains(rule[1], "deny: &impure") {
			for _, m := range regexp.MustCompile(`"\*\*/(internal/[\w/]+)/\*+\.go"`).FindAllStringSubmatch(rule[1], -1) {
				linted = append(linted, m[1])
			}
		}
	}
	_, pure, _ := floors(read(t, architecture))
	for _, name := range pure {
		if !slices.ContainsFunc(linted, func(l string) bool { return name == l || strings.HasPrefix(name, l+"/") }) {
			t.Errorf("%s calls %s pure; .golangci.yml has no rule with \"deny: *impure\" for it", architecture, name)
		}
	}
}

// folders of the packages that are not in internal/ under the name that section 5 has for them.
var folders = map[string]string{
	"application": "internal/controller/application", "kubeflow": "internal/convert/kubeflow", "volcano": "internal/scheduler/volcano",
}

// source is the text of a package without its tests.
func source(t *testing.T, name string) string {
	t.Helper()
	folder, known := folders[name]
	if !known {
		folder = "internal/" + name
	}
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s, section 5: %s: no package (%v)", architecture, name, err)
	}
	var text strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text.WriteString(read(t, strings.TrimPrefix(file, root+"/")))
		}
	}
	return text.String()
}

// Each call that the page counts exists: the callee declares it, the caller names it. The sums are those of the tables.
func TestCallsOfTheWaysExist(t *testing.T) {
	_, section, _ := strings.Cut(read(t, architecture), "\n## 5.")
	section, _, _ = strings.Cut(section, "\n## 6.")
	sources := map[string]string{}
	text := func(name string) string {
		if sources[name] == "" {
			sources[name] = source(t, name)
		}
		return sources[name]
	}
	ways := strings.Split(section, "\n**`spec.")[1:]
	for _, way := range ways {
		counted, carried := 0, 0
		seen := map[string]int{}
		for _, m := range regexp.MustCompile("(?m)^\\| (\\w+) \\| (`.*`) \\|$").FindAllStringSubmatch(way, -1) {
			for call := range strings.SplitSeq(strings.ReplaceAll(m[2], "`", ""), ", ") {
				caller, callee, ok := strings.Cut(call, " → ")
				name, function, okToo := strings.Cut(callee, ".")
				if !ok || !okToo {
					t.Errorf("%s: %q: not a call; write `caller → callee.Function`", architecture, call)
					continue
				}
				if m[1] == "carry" {
					carried++
				} else {
					counted++
				}
				seen[call]++
				if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + function + `[\[(]`).MatchString(text(name)) {
					t.Errorf("%s: %s: %s declares no function %s", architecture, call, name, function)
				}
				if !regexp.MustCompile(`\.` + function + `\b`).MatchString(text(caller)) {
					t.Errorf("%s: %s: %s does not name %s", architecture, call, caller, function)
				}
			}
		}
		for call, n := range seen {
			if n > 1 && call != "admission → spark.Build" { // once more with the scheduler's decoration
				t.Errorf("%s: %s is counted %d times", architecture, call, n)
			}
		}
		if counted < 10 || !strings.Contains(way, fmt.Sprintf(": %d calls", counted)) || carried > 0 && !strings.Contains(way, fmt.Sprintf("and %d that only carry it", carried)) {
			t.Errorf("%s: %.40q: the tables have %d calls, and %d that only carry the value", architecture, way, counted, carried)
		}
	}
	if len(ways) != 2 {
		t.Errorf("%d ways: the test does not see what it should", len(ways))
	}
}

// The page stays one that is read from start to end.
func TestArchitectureIsShort(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(read(t, architecture), "\n"), "\n")
	if len(lines) > 150 {
		t.Errorf("%s has %d lines; 150 are allowed, details belong to docs/decisions.md", architecture, len(lines))
	}
	for i, line := range lines {
		if n := len([]rune(line)); n > 160 {
			t.Errorf("%s:%d has %d columns; 160 are allowed", architecture, i+1, n)
		}
	}
}
