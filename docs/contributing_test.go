// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// steps are the paths in the tables of a section of CONTRIBUTING.md, whose placeholders are replaced by those of what exists.
func steps(t *testing.T, heading string, placeholders *strings.Replacer) []string {
	t.Helper()
	_, section, found := strings.Cut(read(t, "CONTRIBUTING.md"), "\n"+heading+"\n")
	if !found {
		t.Fatalf("CONTRIBUTING.md has no section %q", heading)
	}
	if end := regexp.MustCompile(`(?m)^##+ `).FindStringIndex(section); end != nil {
		section = section[:end[0]]
	}
	var out []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(section, -1) {
		for path := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			out = append(out, placeholders.Replace(path))
		}
	}
	if len(out) < 10 {
		t.Fatalf("CONTRIBUTING.md, %s: only %d paths: the test does not see what it should", heading, len(out))
	}
	return out
}

// mentions are the files of the repository, without tests and pages, whose text has the pattern.
func mentions(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	var out []string
	for _, top := range []string{".golangci.yml", "Makefile", "PROJECT", "api", "charts", "cmd", "config", "go.mod", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case !d.Type().IsRegular(), strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, ".md"), strings.HasSuffix(name, ".sum"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil && pattern.Match(text) {
				out = append(out, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The lists of CONTRIBUTING.md name only files that exist, and each file that an existing scheduler and an existing kind needed.
func TestListsOfStepsAreComplete(t *testing.T) {
	for _, list := range []struct {
		heading      string
		placeholders []string
		mentions     string
		// besides are files that mention it for a reason of their own.
		besides []string
	}{
		{heading: "## Add a scheduler", placeholders: []string{"<name>", "yunikorn"}, mentions: `[yY]uni[kK]orn`},
		{
			heading: "### A kind of applications", placeholders: []string{"<name>", "apache", "<group>", "spark"},
			mentions: `convert/apache"|api/spark/v1"|spark\.apache\.org|apache\.enable`,
			besides: []string{
				"internal/cli/list_kinds.go", "internal/inspect", // SparkCluster
				"internal/config/ui.go", "internal/metrics/apache.go", // features of Apache's operator
			},
		},
	} {
		t.Run(list.placeholders[1], func(t *testing.T) {
			paths := steps(t, list.heading, strings.NewReplacer(list.placeholders...))
			for _, path := range slices.Concat(paths, list.besides) {
				if !isFile(path) {
					t.Errorf("CONTRIBUTING.md, %s: %s does not exist", list.heading, path)
				}
			}
			for _, file := range mentions(t, regexp.MustCompile(list.mentions)) {
				if !slices.ContainsFunc(slices.Concat(paths, list.besides), func(p string) bool { return file == p || strings.HasPrefix(file, p+"/") }) {
					t.Errorf("CONTRIBUTING.md, %s: %s is not in the list", list.heading, file)
				}
			}
		})
	}
}
