// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/config"
)

const apacheConfiguration = "docs/apache-configuration.md"

var code = regexp.MustCompile("`([^`]+)`")

// apacheRows are the rows of a table of the page, by its section: the cells without their margins.
func apacheRows(page, section string) [][]string {
	_, text, _ := strings.Cut(page, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var rows [][]string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

func codeIn(cell string) []string {
	var all []string
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// listed are the lines of a file without comments.
func listed(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(read(t, path)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// checkRow says what is wrong with a row whose cells are names of theirs, names of ours by what knows them, and a remark.
func checkRow(cells []string, known ...func(string) bool) (problems []string) {
	if len(cells) != len(known)+2 {
		return []string{fmt.Sprintf("%d cells, want %d", len(cells), len(known)+2)}
	}
	remark, ours := cells[len(cells)-1], false
	for i, knows := range known {
		cell := cells[i+1]
		names := codeIn(cell)
		ours = ours || len(names) > 0
		for _, name := range names {
			if !knows(name) {
				problems = append(problems, fmt.Sprintf("%s does not exist here", name))
			}
		}
		if rest := strings.Trim(code.ReplaceAllString(cell, ""), ", "); rest != "" && (i > 0 || len(names) > 0 || rest != "always" && rest != "no effect") {
			problems = append(problems, fmt.Sprintf("%q is neither names nor always or no effect", cell))
		}
	}
	if !ours && (cells[1] == "" || remark == "") {
		problems = append(problems, "no name of ours, and no word with a reason")
	}
	return problems
}

// fieldOfConfiguration reports whether the configuration file has a field, by its path.
func fieldOfConfiguration(path string) bool {
	of := reflect.TypeFor[config.OperatorConfiguration]()
	for name := range strings.SplitSeq(path, ".") {
		if of.Kind() != reflect.Struct {
			return false
		}
		i := slices.IndexFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tag == name && name != "-"
		})
		if i < 0 {
			return false
		}
		of = reflect.VisibleFields(of)[i].Type
	}
	return true
}

// valueOfChart returns whether the chart has a value.
func valueOfChart(t *testing.T) func(string) bool {
	t.Helper()
	return func(path string) bool { return values(t, nested(path)) == nil }
}

// Each property and value of Apache's operator is in one row of the page, no other is, and what does the same here exists.
func TestApacheConfiguration(t *testing.T) {
	page := read(t, apacheConfiguration)
	chart := valueOfChart(t)
	for section, tc := range map[string]struct {
		names string
		known []func(string) bool
	}{
		"Properties":          {"docs/testdata/apache-properties.txt", []func(string) bool{fieldOfConfiguration, chart}},
		"Values of the chart": {"docs/testdata/apache-values.txt", []func(string) bool{chart}},
	} {
		var found []string
		for _, cells := range apacheRows(page, section) {
			found = append(found, codeIn(cells[0])...)
			for _, problem := range checkRow(cells, tc.known...) {
				t.Errorf("%s, %s: %s", apacheConfiguration, cells[0], problem)
			}
		}
		want := listed(t, tc.names)
		slices.Sort(want)
		slices.Sort(found)
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s, %s (-there +on the page):\n%s", apacheConfiguration, section, diff)
		}
	}
}

// The test above finds what is wrong.
func TestApacheConfigurationCanFail(t *testing.T) {
	chart := valueOfChart(t)
	for name, tc := range map[string]struct {
		reason string
		row    string
		want   int
	}{
		"Same":      {"a field and a value", "| `a` | `workers` | `controller.workers` | |", 0},
		"Deep":      {"a field of a part that two sections share", "| `a` | `metrics.bindAddress` | | |", 0},
		"Always":    {"a word with its reason", "| `a` | always | | true |", 0},
		"NoReason":  {"a word alone", "| `a` | no effect | | |", 1},
		"Nothing":   {"no answer", "| `a` | | | for some reason |", 1},
		"Word":      {"another word", "| `a` | sometimes | | true |", 1},
		"Both":      {"a name and a word", "| `a` | always `workers` | | |", 1},
		"NoField":   {"a field that does not exist", "| `a` | `worker` | | |", 1},
		"BelowLeaf": {"a field of a number", "| `a` | `workers.count` | | |", 1},
		"NoValue":   {"a value that does not exist", "| `a` | `workers` | `controller.worker` | |", 1},
		"Cells":     {"a cell that is missing", "| `a` | `workers` | |", 1},
	} {
		cells := apacheRows("\n## X\n"+tc.row+"\n", "X")[0]
		if got := checkRow(cells, fieldOfConfiguration, chart); len(got) != tc.want {
			t.Errorf("%s: %s: got %v", name, tc.reason, got)
		}
	}
}
