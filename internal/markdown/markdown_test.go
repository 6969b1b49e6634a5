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

package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/markdown"
)

const page = "# One page\n\nSee [this](a.md#b), `make x` and `[no](link)`.\n\n    make y    # why\n    echo\n\n    helm a \\\n      --set 'b\\.c=d e'\n\n" +
	"## It's 2 things, and why\n\n<!-- not run: why -->\n\n    kubectl a | kubectl b > c\n\nText\n    that goes on\n\n```yaml\na: 1\n\nb: 2\n```\n\n" +
	"    $ kubectl get x\n    kubectl says this\n\n<!-- lost -->\n\nText\n\n```\n# no heading\n```\n"

func TestBlocks(t *testing.T) {
	want := []markdown.Block{
		{Line: 5, Section: "One page", Text: "make y    # why\necho\n\nhelm a \\\n  --set 'b\\.c=d e'\n\n"},
		{Line: 15, Section: "It's 2 things, and why", Mark: "not run: why", Text: "kubectl a | kubectl b > c\n\n"},
		{Line: 21, Section: "It's 2 things, and why", Language: "yaml", Text: "a: 1\n\nb: 2\n"},
		{Line: 26, Section: "It's 2 things, and why", Text: "$ kubectl get x\nkubectl says this\n\n"},
		{Line: 34, Section: "It's 2 things, and why", Language: "text", Text: "# no heading\n"},
	}
	if diff := cmp.Diff(want, markdown.Blocks(page)); diff != "" {
		t.Error(diff)
	}
}

func TestCommands(t *testing.T) {
	var got []markdown.Command
	for _, b := range markdown.Blocks(page) {
		got = append(got, b.Commands()...)
	}
	want := []markdown.Command{
		{Line: 5, Words: []string{"make", "y"}},
		{Line: 8, Words: []string{"helm", "a", "--set", `b\.c=d e`}},
		{Line: 15, Words: []string{"kubectl", "a"}},
		{Line: 15, Words: []string{"kubectl", "b"}},
		{Line: 26, Words: []string{"kubectl", "get", "x"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSplit(t *testing.T) {
	for name, test := range map[string]struct {
		reason, line string
		want         []string
	}{
		"Assignment": {"variables before the program are none of its words", "GOLDEN=/path go test", []string{"go", "test"}},
		"Later":      {"what has the form of a variable may be an argument", "make release VERSION=v1", []string{"make", "release", "VERSION=v1"}},
		"Empty":      {"an empty word is a word", `kubectl get -n ""`, []string{"kubectl", "get", "-n", ""}},
		"Comment":    {"a comment ends the line", "make x # y | z", []string{"make", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]markdown.Command{{Line: 7, Words: test.want}}, markdown.Split(test.line, 7)); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}

func TestProse(t *testing.T) {
	for name, test := range map[string]struct {
		reason    string
		got, want []string
	}{
		"Inline":  {"code in sentences, and none of blocks", markdown.Inline(page), []string{"make x", "[no](link)"}},
		"Links":   {"links, and none of code", markdown.Links(page), []string{"a.md#b"}},
		"Anchors": {"headings, and no comments of scripts", markdown.Anchors(page), []string{"one-page", "its-2-things-and-why"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}
