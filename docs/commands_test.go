// SPDX-License-Identifier: Apache-2.0

// Package docs checks the pages: what they tell people to write exists.
package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

const root = ".."

// pages are the texts of all pages by their path from the root of the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	found, err := filepath.Glob("*.md")
	if err != nil || len(found) == 0 {
		t.Fatal("no pages", err)
	}
	for i := range found {
		found[i] = filepath.Join("docs", found[i])
	}
	for _, name := range append(found, "README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "GOVERNANCE.md", "MAINTAINERS.md", "ROADMAP.md") {
		out[name] = read(t, name)
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// commands are those of blocks and of sentences.
func commands(page string) []markdown.Command {
	var out []markdown.Command
	for _, b := range markdown.Blocks(page) {
		out = append(out, b.Commands()...)
	}
	for _, code := range markdown.Inline(page) {
		out = append(out, markdown.Split(code, 0)...)
	}
	return out
}

func isFile(parts ...string) bool {
	found, err := filepath.Glob(filepath.Join(append([]string{root}, parts...)...))
	return err == nil && len(found) > 0
}

func TestLinks(t *testing.T) {
	all := pages(t)
	for name, page := range all {
		for _, link := range markdown.Links(page) {
			if strings.Contains(link, "://") {
				continue
			}
			path, anchor, _ := strings.Cut(link, "#")
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			if !isFile(target) {
				t.Errorf("%s: link to %s: there is no such file", name, link)
			} else if anchor != "" && !slices.Contains(markdown.Anchors(all[target]), anchor) {
				t.Errorf("%s: link to %s: there is no such heading", name, link)
			}
		}
	}
}

// A page that nothing leads to is not read.
func TestEveryPageIsInTheNavigation(t *testing.T) {
	_, nav, _ := strings.Cut(read(t, "mkdocs.yml"), "\nnav:\n")
	for name := range pages(t) {
		if base := filepath.Base(name); filepath.Dir(name) == "docs" && !strings.Contains(nav, ": "+base+"\n") {
			t.Errorf("mkdocs.yml, nav: %s is missing", base)
		}
	}
}

func TestMakeTargetsExist(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9 -]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		for target := range strings.FieldsSeq(m[1]) {
			targets[target] = true
		}
	}
	seen := 0
	for name, page := range pages(t) {
		for _, c := range commands(page) {
			if len(c.Words) < 2 || c.Words[0] != "make" {
				continue
			}
			for _, target := range c.Words[1:] {
				seen++
				if !strings.Contains(target, "=") && !targets[target] {
					t.Errorf("%s: make %s: there is no such target", name, target)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d targets were found: the test does not see what it should", seen)
	}
}

var (
	repositoryPath = regexp.MustCompile(`^(\.ci|api|charts|cmd|config|docs|hack|internal|test)/[A-Za-z0-9_./*-]+$`)
	identifier     = regexp.MustCompile(`\.[A-Z]\w*$`) // internal/spark.Build
)

func TestPathsExist(t *testing.T) {
	seen := 0
	for name, page := range pages(t) {
		for _, c := range commands(page) {
			for _, word := range c.Words {
				if !repositoryPath.MatchString(word) {
					continue
				}
				seen++
				if !isFile(word) && !isFile(identifier.ReplaceAllString(word, "")) {
					t.Errorf("%s: %s does not exist", name, word)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d paths were found: the test does not see what it should", seen)
	}
}

// What kubectl is to apply as a kustomization is one.
func TestKustomizationsExist(t *testing.T) {
	for name, page := range pages(t) {
		for _, c := range commands(page) {
			if i := slices.Index(c.Words, "-k"); i > 0 && c.Words[0] == "kubectl" && i+1 < len(c.Words) && !isFile(c.Words[i+1], "kustomization.yaml") {
				t.Errorf("%s: kubectl -k %s: there is no kustomization", name, c.Words[i+1])
			}
		}
	}
}

// place is a section of a page, or a command in one of its sentences, as the tests that run it name it.
type place struct{ page, where string }

var placed = regexp.MustCompile(`"((?:docs/)?[\w-]+\.md)", "([^"]+)"`)

// places are what test/docs, test/e2e and the specs of the way back run. All name page and place side by side.
func places(t *testing.T) map[place]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "test", "docs", "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no tests", err)
	}
	back, err := filepath.Glob(filepath.Join(root, "test", "integration", "wayback_*_test.go"))
	if err != nil || len(back) == 0 {
		t.Fatal("no tests", err)
	}
	out := map[place]bool{}
	for _, file := range append(append(files, back...), filepath.Join(root, "test", "e2e", "docs_test.go")) {
		for _, m := range placed.FindAllStringSubmatch(read(t, strings.TrimPrefix(file, root+"/")), -1) {
			out[place{m[1], m[2]}] = true
		}
	}
	return out
}

// Every command in a block is run by test/docs, test/integration or test/e2e, or there is a reason above it.
func TestCommandsAreRun(t *testing.T) {
	run, seen, marked := places(t), 0, 0
	for name, page := range pages(t) {
		for _, fault := range notRun(name, page, run, &seen, &marked) {
			t.Error(fault)
		}
	}
	if seen < 60 {
		t.Errorf("only %d commands were found: the test does not see what it should", seen)
	}
	if marked > seen/3 {
		t.Errorf("%d of %d commands are marked as not run", marked, seen)
	}
}

// notRun are the commands of a page that nothing runs.
func notRun(name, page string, run map[place]bool, seen, marked *int) []string {
	var faults []string
	for _, b := range markdown.Blocks(page) {
		for _, line := range b.Lines() {
			*seen++
			why, isMarked := b.NotRun(line.Text)
			switch {
			case isMarked && len(strings.Fields(why)) < 4:
				faults = append(faults, fmt.Sprintf("%s:%d: %s: the mark \"not run\" gives no reason", name, line.Number, line.Text))
			case isMarked:
				*marked++
			case !run[place{name, b.Section}]:
				faults = append(faults, fmt.Sprintf("%s:%d: %s: neither test/docs nor test/e2e/docs_test.go runs the section %q", name, line.Number, line.Text, b.Section))
			}
		}
	}
	return faults
}

// incomplete are commands in sentences that cannot be run as they stand there.
var incomplete = map[string]string{
	"kubectl delete pod --force":                 "which pod is for a person to decide",
	"helm test spark-operator -n spark-operator": "test/e2e/helm_test.go runs it with a release of another name",
}

// A sentence may name a command without all of its arguments. One with arguments is run.
func TestCommandsOfSentencesAreRun(t *testing.T) {
	run, seen := places(t), 0
	for name, page := range pages(t) {
		for _, code := range markdown.Inline(page) {
			words := strings.Fields(code)
			if len(words) < 4 || words[0] != "kubectl" && words[0] != "helm" || incomplete[code] != "" || len(words) == 4 && words[1] == "spark" {
				continue
			}
			if seen++; !run[place{name, code}] {
				t.Errorf("%s: %s: test/docs does not run it", name, code)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands were found: the test does not see what it should", seen)
	}
}

func TestNotRunIsFound(t *testing.T) {
	run := map[place]bool{{"a.md", "Run"}: true}
	for name, test := range map[string]struct{ reason, page, want string }{
		"Run":       {"a section that a test names", "# Run\n\n    kubectl get pods\n", ""},
		"Forgotten": {"a section that none names", "# New\n\nSo:\n\n    # first\n    kubectl get pods\n", `a.md:6: kubectl get pods: neither test/docs nor test/e2e/docs_test.go runs the section "New"`},
		"Fence":     {"a block between fences", "# New\n\n```sh\nhelm list\n```\n", `a.md:4: helm list: neither test/docs nor test/e2e/docs_test.go runs the section "New"`},
		"Marked":    {"a reason", "# New\n\n<!-- not run: it needs a cloud -->\n\n    helm list\n", ""},
		"Half":      {"a reason for one line of two", "# New\n\n<!-- not run: make x: it needs a cloud -->\n\n    make x\n    make y\n", `a.md:6: make y: neither test/docs nor test/e2e/docs_test.go runs the section "New"`},
		"Blanket":   {"no reason", "# New\n\n<!-- not run: slow -->\n\n    make x\n", `a.md:5: make x: the mark "not run" gives no reason`},
	} {
		t.Run(name, func(t *testing.T) {
			var seen, marked int
			if got := strings.Join(notRun("a.md", test.page, run, &seen, &marked), "; "); got != test.want {
				t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
