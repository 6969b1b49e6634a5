// SPDX-License-Identifier: Apache-2.0

// Package guide runs the commands of the pages as a reader does: line by line, in a shell. Only tests use it.
package guide

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// Reader runs the commands of a page: in a folder, in a mode, and with values for the page's placeholders.
type Reader struct {
	// Root is the repository; commands are run there.
	Root string
	// Into leads into the cluster's network, if that takes a command. What builds, or has its own way, does without.
	Into []string
	// Env is added to the environment.
	Env []string
	// Fill puts in what the page leaves to the reader.
	Fill *strings.Replacer
	// Tee gets what a command prints while it runs, if someone waits for that.
	Tee io.Writer
}

// Step is a command line of a page.
type Step struct {
	markdown.Line
	// Page is its path in the repository.
	Page string
}

func (s Step) String() string { return fmt.Sprintf("%s:%d: %s", s.Page, s.Number, s.Text) }

// Steps returns the command lines of a section's blocks that are not marked as not run, or the one in a sentence.
func (r Reader) Steps(page, where string) ([]Step, error) {
	text, err := os.ReadFile(filepath.Join(r.Root, page))
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, b := range markdown.Blocks(string(text)) {
		if b.Section != where {
			continue
		}
		for _, line := range b.Lines() {
			if _, marked := b.NotRun(line.Text); !marked {
				steps = append(steps, Step{Line: line, Page: page})
			}
		}
	}
	if len(steps) == 0 && slices.Contains(markdown.Inline(string(text)), where) {
		before, _, _ := strings.Cut(string(text), "`"+where+"`")
		steps = []Step{{Line: markdown.Line{Number: 1 + strings.Count(before, "\n"), Text: where}, Page: page}}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s has neither a section nor a sentence with the commands %q", page, where)
	}
	return steps, nil
}

// Manifest is the YAML of a section.
func (r Reader) Manifest(page, section string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.Root, page))
	if err != nil {
		return "", err
	}
	for _, b := range markdown.Blocks(string(text)) {
		if b.Section == section && b.Language == "yaml" {
			return b.Text, nil
		}
	}
	return "", fmt.Errorf("%s, section %q: there is no YAML", page, section)
}

// here are the commands that need no way into the cluster's network.
var here = regexp.MustCompile(`^(make|hack/\S+) `)

// grace is the time that a program may take to end.
const grace = 10 * time.Second

// Run runs a command line, and returns its output. An output other than the page's is an error.
func (r Reader) Run(ctx context.Context, s Step) (string, error) {
	line := s.Text
	if r.Fill != nil {
		line = r.Fill.Replace(line)
	}
	words := []string{"bash", "-euo", "pipefail", "-c", line}
	if !here.MatchString(line) {
		words = append(slices.Clone(r.Into), words...)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = r.Root, append(os.Environ(), r.Env...)
	// the shell's children would outlive it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	var out bytes.Buffer
	cmd.Stdout = &out
	if r.Tee != nil {
		cmd.Stdout = io.MultiWriter(&out, r.Tee)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s\nrun as: %s\n%w\n%s", s, line, errors.Join(err, ctx.Err()), out.String())
	}
	if difference := compare(s.Shown, out.String()); difference != "" {
		return out.String(), fmt.Errorf("%s\nprints something else than the page shows:\n%s", s, difference)
	}
	return out.String(), nil
}

var (
	times  = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)`)
	ages   = regexp.MustCompile(`\b(\d+(y|d|h|m|s))+\b`)
	spaces = regexp.MustCompile(` +`)
)

// compare returns the difference between an output and the page's, by line, without times and column widths. The page may show
// the beginning only.
func compare(shown, printed string) string {
	if shown == "" {
		return ""
	}
	want, got := plain(shown), plain(printed)
	for i, line := range want {
		switch {
		case i >= len(got):
			return fmt.Sprintf("page:    %s\nprinted: nothing more\n\n%s", line, printed)
		case line != got[i]:
			return fmt.Sprintf("page:    %s\nprinted: %s\n\n%s", line, got[i], printed)
		}
	}
	return ""
}

func plain(text string) []string {
	text = spaces.ReplaceAllString(ages.ReplaceAllString(times.ReplaceAllString(text, "TIME"), "AGE"), " ")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
