// SPDX-License-Identifier: Apache-2.0

package guide_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/test/docs/guide"
)

const page = "# A\n\nUse `helm version --short`.\n\n    make a   # why\n    make b\n\n<!-- not run: make d: slow -->\n\n    make c\n    make d\n\n" +
	"## B\n\n<!-- not run: a cloud -->\n\n    make e\n\n```yaml\nkind: X\n```\n\n## C\n\n    $ make echo\n    NAME   AGE   AT                     SAYS\n    a      5s    2026-11-21T09:48:43Z   all is well\n"

func reader(t *testing.T) guide.Reader {
	t.Helper()
	root := t.TempDir()
	// a make that is none: no test of this package needs more than a shell
	program := "#!/bin/sh\ncase $1 in\necho) echo 'NAME AGE AT SAYS'; echo \"a 3m12s 2027-01-01T00:00:00Z $SAYS\" ;;\nfail) echo no rule; exit 2 ;;\nhang) echo $$; exec sleep 60 ;;\n*) echo \"$@\" ;;\nesac\n"
	for name, text := range map[string]string{"page.md": page, "make": program} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return guide.Reader{Root: root, Env: []string{"PATH=" + root + ":" + os.Getenv("PATH")}, Fill: strings.NewReplacer("NAME", "pi")}
}

func step(text, shown string) guide.Step {
	s := guide.Step{Page: "page.md"}
	s.Number, s.Text, s.Shown = 7, text, shown
	return s
}

func TestSteps(t *testing.T) {
	for name, test := range map[string]struct {
		reason, where string
		want          []string
		err           string
	}{
		"Section":  {"all blocks, without what is marked", "A", []string{"page.md:5: make a   # why", "page.md:6: make b", "page.md:10: make c"}, ""},
		"Marked":   {"nothing to run is a mistake of the test", "B", nil, `page.md has neither a section nor a sentence with the commands "B"`},
		"Sentence": {"a command in a sentence", "helm version --short", []string{"page.md:3: helm version --short"}, ""},
		"Missing":  {"a section that was renamed", "D", nil, `page.md has neither a section nor a sentence with the commands "D"`},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := reader(t).Steps("page.md", test.where)
			var got []string
			for _, s := range steps {
				got = append(got, s.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			if text := errorText(err); text != test.err {
				t.Errorf("%s: got error %q, want %q", test.reason, text, test.err)
			}
		})
	}
	if _, err := reader(t).Steps("no.md", "A"); err == nil {
		t.Error("a page that does not exist has steps")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestManifest(t *testing.T) {
	r := reader(t)
	if text, err := r.Manifest("page.md", "B"); text != "kind: X\n" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := r.Manifest("page.md", "A"); err == nil {
		t.Error("a section without YAML has a manifest")
	}
	if _, err := r.Manifest("no.md", "A"); err == nil {
		t.Error("a page that does not exist has a manifest")
	}
}

func TestRun(t *testing.T) {
	const table = "NAME   AGE   AT                     SAYS\na      5s    2026-11-21T09:48:43Z   all is well\n\n"
	for name, test := range map[string]struct {
		reason string
		step   guide.Step
		want   string
		errs   []string
	}{
		"Right":   {"the comment is for people, NAME for the reader", step("make see NAME # why", ""), "see pi\n", nil},
		"Shell":   {"pipes are pipes", step("make one | tr o 0", ""), "0ne\n", nil},
		"Wrong":   {"the message names page, line, command, what was run and what came", step("make fail NAME", ""), "no rule\n", []string{"page.md:7: make fail NAME", "run as: make fail pi", "exit status 2", "no rule"}},
		"Pipe":    {"a failure at the beginning of a pipe", step("make fail | cat", ""), "no rule\n", []string{"exit status 2"}},
		"Shown":   {"widths, ages and times may differ", step("make echo", table), "NAME AGE AT SAYS\na 3m12s 2027-01-01T00:00:00Z all is well\n", nil},
		"Begun":   {"a page may show the beginning", step("make echo", "NAME AGE AT SAYS\n"), "NAME AGE AT SAYS\na 3m12s 2027-01-01T00:00:00Z all is well\n", nil},
		"Other":   {"a word that differs", step("make see this", "see that\n"), "see this\n", []string{"page.md:7: make see this", "page:    see that", "printed: see this"}},
		"Less":    {"a line that does not come", step("make see this", "see this\nand that\n"), "see this\n", []string{"page:    and that", "printed: nothing more"}},
		"Nothing": {"no output where the page shows some", step("make see > /dev/null", "see\n"), "", []string{"page:    see"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t)
			r.Env = append(r.Env, "SAYS=all is well")
			out, err := r.Run(t.Context(), test.step)
			if diff := cmp.Diff(test.want, out); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			if (err != nil) != (len(test.errs) > 0) {
				t.Fatalf("%s: got error %v", test.reason, err)
			}
			for _, text := range test.errs {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %q lacks %q", test.reason, err, text)
				}
			}
		})
	}
}

// The way into the network is gone by what talks to the cluster only.
func TestInto(t *testing.T) {
	r := reader(t)
	r.Into = []string{"env", "INSIDE=yes"}
	for line, want := range map[string]string{"kubectl() { echo ${INSIDE:-no}; }; kubectl": "yes\n", "make ${INSIDE:-no}": "no\n"} {
		if out, err := r.Run(t.Context(), step(line, "")); out != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", line, out, err, want)
		}
	}
}

// Who waits for a line gets it while the command continues, which ends with its children.
func TestTee(t *testing.T) {
	r := reader(t)
	in, out := io.Pipe()
	r.Tee = out
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx, step("make open; make hang", ""))
		done <- err
	}()
	lines := bufio.NewReader(in)
	if line, err := lines.ReadString('\n'); line != "open\n" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
	child, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for end := time.Now().Add(time.Minute); runs(strings.TrimSpace(child)); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %s outlives its command", child)
		}
	}
}

// runs reports whether there is a process of that id that has not ended.
func runs(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A command that continues ends when the time is up.
func TestRunIsBounded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := reader(t).Run(ctx, step("make hang; make hang", "")); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("got %v", err)
	}
}
