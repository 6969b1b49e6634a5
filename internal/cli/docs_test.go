// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// parse does with a command line what cobra does before the command runs.
func parse(args []string) error {
	root := newCommand(genericiooptions.NewTestIOStreamsDiscard())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	command, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if command == root {
		return errors.New("names no command")
	}
	command.InitDefaultHelpFlag()
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	if help, err := command.Flags().GetBool("help"); err == nil && help {
		return nil
	}
	return errors.Join(command.ValidateArgs(command.Flags().Args()), command.ValidateRequiredFlags())
}

// ours are the words behind "kubectl spark" of a command line; ok is false for other programs.
func ours(words []string) (args []string, ok bool) {
	switch {
	case len(words) > 2 && words[0] == "kubectl" && words[1] == "spark":
		return words[2:], true
	case len(words) > 1 && filepath.Base(words[0]) == "kubectl-spark":
		return words[1:], true
	}
	return nil, false
}

// Every command line of ours in the pages is one that the program takes.
func TestDocumentedCommands(t *testing.T) {
	top := filepath.Join("..", "..")
	names, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, name := range append(names, filepath.Join(top, "README.md"), filepath.Join(top, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var all []markdown.Command
		for _, b := range markdown.Blocks(string(text)) {
			all = append(all, b.Commands()...)
		}
		complete := len(all)
		for _, code := range markdown.Inline(string(text)) {
			all = append(all, markdown.Split(code, 0)...)
		}
		for i, c := range all {
			args, ok := ours(c.Words)
			if !ok || args[0] == "COMMAND" {
				continue
			}
			seen[args[0]]++
			if i >= complete && len(args) == 1 {
				args = append(args, "--help") // a sentence may name a command without its arguments
			}
			if err := parse(args); err != nil {
				t.Errorf("%s:%d: %s: %v", filepath.Base(name), c.Line, strings.Join(c.Words, " "), err)
			}
		}
	}
	for _, c := range newCommand(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		if name := c.Name(); seen[name] == 0 && name != "version" && name != "help" {
			t.Errorf("no page shows kubectl spark %s", name)
		}
	}
}

func TestParseFindsMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		reason, line string
		wrong        bool
	}{
		"Right":      {"a command with its flags", "logs pi -f --executor all", false},
		"Completion": {"cobra's own command", "completion bash", false},
		"Foreign":    {"words behind -- are not ours", "convert -- spark-submit --master k8s://x a.py", false},
		"Help":       {"help needs no arguments", "explain --help", false},
		"Command":    {"a command that does not exist", "log pi", true},
		"Flag":       {"a flag that does not exist", "logs pi --follows", true},
		"Missing":    {"an argument is missing", "explain", true},
		"Much":       {"an argument too many", "queue pi", true},
		"Required":   {"a flag is missing", "validate", true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := parse(strings.Fields(test.line)); (err != nil) != test.wrong {
				t.Errorf("%s: got %v", test.reason, err)
			}
		})
	}
}

// shortOfKubectl matches commands of kubectl that name applications without their group.
var shortOfKubectl = regexp.MustCompile("kubectl (get|describe|delete|edit|annotate|label|patch|wait|explain|auth can-i)\\b[^\n`|;]*\\b(sparkapp|sparkapplications?)([^.a-z-]|$)")

// Two families have a kind of applications, so that kubectl takes one of them if the group is not written.
func TestKubectlGetsFullNames(t *testing.T) {
	top, seen := filepath.Join("..", ".."), 0
	for _, folder := range []string{"internal", "cmd", "docs"} {
		err := filepath.WalkDir(filepath.Join(top, folder), func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".md" && filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(name)
			seen++
			for _, found := range shortOfKubectl.FindAllString(string(text), -1) {
				t.Errorf("%s: %s: write sparkapplications.sparkoperator.k8s.io", name, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 200 {
		t.Errorf("only %d files were read", seen)
	}
	if !shortOfKubectl.MatchString("kubectl wait --for=condition=Succeeded sparkapp/pi") || !shortOfKubectl.MatchString("kubectl get sparkapplication -A") {
		t.Error("the test does not see what it should")
	}
}
