// SPDX-License-Identifier: Apache-2.0

package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

const page = "# One page\n\nSee [this](a.md#b), `make x` and `[no](link)`.\n\n    make y    # why\n    echo\n\n    helm a \\\n      --set 'b\\.c=d e'\n\n" +
	"## It's 2 things, and why\n\n<!-- not run: why -->\n\n    kubectl a | kubectl b > c\n\nText\n    that continues\n\n```yaml\na: 1\n\nb: 2\n```\n\n" +
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

func TestLines(t *testing.T) {
	for name, test := range map[string]struct {
		reason, text string
		want         []markdown.Line
	}{
		"Whole":    {"the shell gets comments, pipes and redirections, too", "kubectl a | kubectl b > c  # why\n", []markdown.Line{{Number: 7, Text: "kubectl a | kubectl b > c  # why"}}},
		"Long":     {"a line continues behind a backslash", "helm a \\\n  --set b\n\nhelm c\n", []markdown.Line{{Number: 7, Text: "helm a   --set b"}, {Number: 10, Text: "helm c"}}},
		"Dialogue": {"what is printed belongs to the command above", "$ kubectl a\nX  Y\n\nkubectl z\n$ kubectl b\n", []markdown.Line{{Number: 7, Text: "kubectl a", Shown: "X  Y\n\nkubectl z\n"}, {Number: 11, Text: "kubectl b"}}},
		"None":     {"a drawing has no commands", "a ─► b\n", nil},
		"Bare":     {"a program without arguments", "helm\n", []markdown.Line{{Number: 7, Text: "helm"}}},
		"Other":    {"a word that begins like a program is none", "maker x\nkubectlx\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, markdown.Block{Line: 7, Text: test.text}.Lines()); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}

func TestNotRun(t *testing.T) {
	const text = "make image\nmake build\nkubectl a\n"
	for name, test := range map[string]struct {
		reason, mark, line, why string
		marked                  bool
	}{
		"Block":  {"a mark is about the whole block", "not run: it needs a cloud", "kubectl a", "it needs a cloud", true},
		"Line":   {"a mark may name a line", "not run: make image: it is slow: very", "make image", "it is slow: very", true},
		"Others": {"the other lines are run then", "not run: make image: it is slow", "make build", "it is slow", false},
		"Some":   {"the beginning of lines names several", "not run: make: slow", "make build", "slow", true},
		"Colon":  {"a reason may have a colon", "not run: no network: none", "make build", "no network: none", true},
		"None":   {"no mark", "", "make build", "", false},
		"Foreign": {"a mark about something else", "wrong: it is an example of a mistake", "make build",
			"wrong: it is an example of a mistake", false},
	} {
		t.Run(name, func(t *testing.T) {
			why, marked := markdown.Block{Mark: test.mark, Text: text}.NotRun(test.line)
			if why != test.why || marked != test.marked {
				t.Errorf("%s: got %q, %v; want %q, %v", test.reason, why, marked, test.why, test.marked)
			}
		})
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
