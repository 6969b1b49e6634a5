// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// A terminal has 100 columns, and every command one group.
func TestHelpIsReadable(t *testing.T) {
	root := newCommand(genericiooptions.NewTestIOStreamsDiscard())
	var grouped []string
	for _, g := range groups {
		grouped = append(grouped, g.names...)
	}
	lines := [][]string{{"--help"}, {"options"}}
	for _, c := range everyCommand(root) {
		path := strings.Fields(c.CommandPath())[2:]
		lines = append(lines, append(path, "--help"))
		if c.Parent() == root && !slices.Contains(grouped, c.Name()) {
			t.Errorf("%s: no group of help has it", c.Name())
		}
	}
	if len(grouped) != len(root.Commands()) {
		t.Errorf("groups have %d commands, and there are %d", len(grouped), len(root.Commands()))
	}
	for _, args := range lines {
		out, errOut, code := execute(t, "", args...)
		if code != 0 || out == "" {
			t.Errorf("%s: exit code %d, %s", args, code, errOut)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
		}
	}
}

// kubectl runs the program with the words behind "kubectl spark", and takes what it prints.
func TestKubectlCompletes(t *testing.T) {
	script, errOut, code := execute(t, "", "completion", "kubectl")
	if code != 0 {
		t.Fatal(errOut)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"kubectl_complete-spark": script, "kubectl": "#!/bin/sh\nprintf '[%s]' \"$@\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := exec.CommandContext(t.Context(), "kubectl_complete-spark", "explain", "two words", "").CombinedOutput()
	if err != nil || string(out) != "[spark][__complete][explain][two words][]" {
		t.Errorf("%v: %s", err, out)
	}
}
