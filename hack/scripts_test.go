// SPDX-License-Identifier: Apache-2.0

package hack

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a release must not be made of.
func TestReleaseRefuses(t *testing.T) {
	dir := t.TempDir()
	do := func(name string, arguments ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, arguments...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // the script is run
			t.Fatal(err)
		}
	}
	write("hack/release.sh", read(t, "hack/release.sh"))
	write("hack/release-parts.sh", read(t, "hack/release-parts.sh"))
	write(".gitignore", "dist/\n")
	for _, arguments := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		if out, err := do("git", arguments...); err != nil {
			t.Fatalf("git %s: %v: %s", arguments, err, out)
		}
	}
	for _, tc := range []struct {
		reason, version, registry, downloads, proven string
		change                                       bool
		want                                         string
	}{
		{reason: "no version", version: "1.2", want: `version "1.2": must be like v1.2.3`},
		{reason: "no registry", version: "v1.2.3", registry: "-", want: `registry "": must be a host`},
		{reason: "a URL", version: "v1.2.3", registry: "https://registry.example.com", want: "without https://"},
		{reason: "a slash at the end", version: "v1.2.3", registry: "registry.example.com/", want: "without a slash"},
		{reason: "capital letters, which no registry takes", version: "v1.2.3", registry: "registry.example.com/Team", want: "lower case"},
		{reason: "a user of Docker's registry, and no host", version: "v1.2.3", registry: "team", want: "must be a host"},
		{reason: "what a script could take for more", version: "v1.2.3", registry: "registry.example.com/a|b", want: "must be a host"},
		{reason: "a host, a port and a path", version: "v1.2.3", registry: "registry.example.com:5000/team/a_b", want: "make test-all has not passed"},
		{reason: "no URL", version: "v1.2.3", downloads: "example.com/x", want: "must be the URL of the folder"},
		{reason: "a folder of your own", version: "v1.2.3", downloads: "https://example.com/x", want: "make test-all has not passed"},
		{reason: "a host of this machine", version: "v1.2.3", registry: "localhost:5000", want: "make test-all has not passed"},
		{reason: "nobody ran make test-all here", version: "v1.2.3", want: "make test-all has not passed at this commit"},
		{reason: "it passed at another commit", version: "v1.2.3", proven: strings.Repeat("0", 40), want: "make test-all has not passed at this commit"},
		{reason: "a change that nobody has committed", version: "v1.2.3", change: true, want: "changes that are not committed"},
	} {
		if tc.proven != "" {
			write("dist/proven", tc.proven+"\n")
		}
		if tc.change {
			write("new", "")
		}
		t.Setenv("DOWNLOADS", tc.downloads)
		out, err := do("hack/release.sh", tc.version, strings.TrimPrefix(cmp.Or(tc.registry, "registry.example.com/team"), "-"))
		if err == nil || !strings.Contains(out, tc.want) {
			t.Errorf("%s: %v: %q, want %q", tc.reason, err, out, tc.want)
		}
	}
}

// A grep -q ends at the first line that it looks for. With pipefail the pipe fails when the command before it has more to say, now and then.
var earlyEnd = regexp.MustCompile(`\|\s*grep\s+(-\w+\s+)*-\w*[qm]`)

func TestPipesAreReadToTheEnd(t *testing.T) {
	for _, file := range files(t) {
		if !isScript(t, file) {
			continue
		}
		for _, line := range logicalLines(read(t, file)) {
			if earlyEnd.MatchString(line) {
				t.Errorf("%s: %q: write grep ... >/dev/null", file, line)
			}
		}
	}
	for line, want := range map[string]bool{`k logs x | grep -q y`: true, `a | grep -x -qF y`: true, `a | grep -m1 y`: true, `a | grep -x y >/dev/null`: false, `grep -q y file`: false} {
		if earlyEnd.MatchString(line) != want {
			t.Errorf("%q: want %t", line, want)
		}
	}
}
