/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package docs checks the pages: what they tell people to write exists.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/markdown"
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
	for _, name := range append(found, "README.md", "CONTRIBUTING.md", "SECURITY.md") {
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

// What kubectl is told to apply as a kustomization is one.
func TestKustomizationsExist(t *testing.T) {
	for name, page := range pages(t) {
		for _, c := range commands(page) {
			if i := slices.Index(c.Words, "-k"); i > 0 && c.Words[0] == "kubectl" && i+1 < len(c.Words) && !isFile(c.Words[i+1], "kustomization.yaml") {
				t.Errorf("%s: kubectl -k %s: there is no kustomization", name, c.Words[i+1])
			}
		}
	}
}

// What a cluster has to run is run from the page by test/e2e, section by section.
func TestClusterRunsTheGuides(t *testing.T) {
	specs := read(t, "test/e2e/docs_test.go")
	seen := 0
	for _, name := range []string{"quick-start.md", "migrate-from-kubeflow.md"} {
		for _, b := range markdown.Blocks(read(t, filepath.Join("docs", name))) {
			if strings.HasPrefix(b.Mark, "not run: ") {
				continue
			}
			for _, c := range b.Commands() {
				if c.Words[0] != "kubectl" && c.Words[0] != "helm" || slices.Equal(c.Words[:2], []string{"kubectl", "spark"}) && slices.Contains(c.Words, "validate") {
					continue
				}
				seen++
				if !strings.Contains(specs, `"`+name+`"`) || !strings.Contains(specs, `"`+b.Section+`"`) {
					t.Errorf("docs/%s:%d: test/e2e/docs_test.go does not run the section %q", name, c.Line, b.Section)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands were found: the test does not see what it should", seen)
	}
}
