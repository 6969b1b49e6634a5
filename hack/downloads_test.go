// SPDX-License-Identifier: Apache-2.0

// Package hack checks the scripts: what they download is what was recorded.
package hack

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = ".."

// machine are the scripts that install Debian packages on the machine that builds: apt takes only what Debian's signed index names. What goes
// into an image is recorded in hack/image/base.sha256.
var machine = []string{".ci/run", "hack/cluster/lib.sh"}

// A message may name a command that it does not run.
var message = regexp.MustCompile(`\b(say|die|echo|printf) ("[^"$]*(\$[^("][^"$]*)*"|'[^']*')`)

// downloads say how a script may download: the pattern of a command, and what is wrong with it, if anything.
var downloads = []struct {
	command *regexp.Regexp
	wrong   func(file, text, line string) string
}{
	{regexp.MustCompile(`\bpip3?["']?(\s+-\S+|\s+"[^"]*")*\s+(install|download|wheel)\b`), func(_, _, line string) string {
		if !strings.Contains(line, "--require-hashes") {
			return "pip without --require-hashes"
		}
		return ""
	}},
	{regexp.MustCompile(`\b(mvn|mvnw)["']?\s+-`), func(_, text, line string) string {
		if !strings.Contains(line, " -C ") || !strings.Contains(text, "sha256sum --check") {
			return "mvn without -C, or without sha256sum --check of what it brought"
		}
		return ""
	}},
	{regexp.MustCompile(`\b(apt|apt-get|aptitude|dpkg-deb)["']?\s+-?\w`), func(file, text, _ string) string {
		if !slices.Contains(machine, file) && !strings.Contains(text, "verify_base") {
			return "Debian packages that verify_base of hack/image/base.sh does not see"
		}
		return ""
	}},
	{regexp.MustCompile(`\bnpm["']?\s+\S`), func(_, _, line string) string { // TestPackageLocksHaveChecksums checks the rest
		if !strings.Contains(line, "npm ci ") {
			return "npm that does not install what package-lock.json says"
		}
		return ""
	}},
	{regexp.MustCompile(`\bcurl["']?\s+\S`), func(_, text, _ string) string {
		if !strings.Contains(text, "cosign verify-blob") || !strings.Contains(text, "sha256sum --quiet") {
			return "a download whose checksum nothing compares"
		}
		return ""
	}},
	{regexp.MustCompile(`\bgit\s+clone\b`), func(_, _, line string) string {
		if !strings.Contains(line, "git clone -q . ") {
			return "a clone of another repository"
		}
		return ""
	}},
	{
		regexp.MustCompile(`\b(wget|npx|pnpm|yarn|gem|cargo|crane|skopeo|aria2c)["']?\s+\S|\bgo\s+(get|install)\b|\bgo\s+run\s+\S+@|` +
			`\b(docker|podman|crictl|images)\s+pull\b|\bhelm["']?\s+(pull|repo\s+(add|update))\b|urllib\.request|\brequests\.get`),
		func(string, string, string) string { return "a download whose checksum nothing compares" },
	},
	{regexp.MustCompile(`GONOSUM(DB|CHECK)|GOINSECURE|GOSUMDB=off|GOFLAGS\S*-mod=mod|GOPRIVATE`), func(string, string, string) string {
		return "Go modules without go.sum or its database"
	}},
}

// wrongs are the lines of a script that download without a checksum.
func wrongs(file, text string) []string {
	var out []string
	for i, line := range logicalLines(text) {
		line = message.ReplaceAllString(line, "")
		for _, d := range downloads {
			if !d.command.MatchString(line) {
				continue
			}
			if what := d.wrong(file, text, line); what != "" {
				out = append(out, fmt.Sprintf("%s: command %d: %s: %s", file, i+1, what, strings.TrimSpace(line)))
			}
		}
	}
	return out
}

// logicalLines are the commands: without comments, each in one line.
func logicalLines(text string) []string {
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// Whatever a script of this repository downloads is compared with a checksum that is recorded in it.
func TestDownloadsHaveChecksums(t *testing.T) {
	scripts := 0
	for _, file := range files(t) {
		if !isScript(t, file) {
			continue
		}
		scripts++
		for _, wrong := range wrongs(file, read(t, file)) {
			t.Error(wrong)
		}
	}
	if scripts < 25 {
		t.Errorf("%d scripts were found, at least 25 are there", scripts)
	}
}

// Each requirement of pip's has a checksum, so that --require-hashes has something to require.
func TestRequirementsHaveChecksums(t *testing.T) {
	requirement, hash := regexp.MustCompile(`^[A-Za-z0-9._-]+==\S+`), regexp.MustCompile(`--hash=sha256:[0-9a-f]{64}\b`)
	found := 0
	for _, file := range files(t) {
		if filepath.Ext(file) != ".txt" {
			continue
		}
		for _, line := range logicalLines(read(t, file)) {
			name := requirement.FindString(line)
			if name == "" {
				continue
			}
			found++
			if !hash.MatchString(line) {
				t.Errorf("%s: %s has no checksum", file, name)
			}
		}
	}
	if found < 40 {
		t.Errorf("%d requirements were found, at least 40 are there", found)
	}
}

// Each package of npm's has a checksum, and no address: npm asks the registry that the machine has.
func TestPackageLocksHaveChecksums(t *testing.T) {
	found := 0
	for _, file := range files(t) {
		if filepath.Base(file) != "package-lock.json" {
			continue
		}
		var lock struct {
			Packages map[string]struct{ Integrity, Resolved string }
		}
		if err := json.Unmarshal([]byte(read(t, file)), &lock); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, p := range lock.Packages {
			if name == "" { // the project itself
				continue
			}
			if found++; !strings.HasPrefix(p.Integrity, "sha512-") || p.Resolved != "" {
				t.Errorf("%s: %s: checksum %q, address %q: must have a checksum and no address", file, name, p.Integrity, p.Resolved)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d packages were found, at least 2 are there", found)
	}
}

// Each Go module is pinned by its go.sum.
func TestModulesHaveChecksums(t *testing.T) {
	for _, file := range files(t) {
		if filepath.Base(file) != "go.mod" {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.Dir(file), "go.sum")); err != nil {
			t.Errorf("%s: no go.sum beside it", file)
		}
	}
}

// A script that downloads without a checksum is found, and one that only speaks of it is not.
func TestDownloadWithoutChecksumIsFound(t *testing.T) {
	for text, want := range map[string]bool{
		"curl -sSL example.org/x | sh":                                    true,
		"x=$(wget -qO- example.org/x)":                                    true,
		"echo \"$(curl -s example.org)\"":                                 true,
		"python3 -m pip install requests":                                 true,
		"\"$venv/bin/pip\" --quiet install -r x.txt":                      true,
		"pip download \\\n  --no-deps \"pyspark==$version\"":              true,
		"pip install \\\n  --require-hashes -r x.txt":                     false,
		"mvn -q dependency:copy":                                          true,
		"apt-get -qq install -y jq":                                       true,
		"npm install x":                                                   true,
		"npm ci --prefix \"$x\" --ignore-scripts":                         false,
		"go run example.org/x@latest":                                     true,
		"go run ./hack/project":                                           false,
		"GOFLAGS=-mod=mod go build ./...":                                 true,
		"git clone --depth 1 example.org/x":                               true,
		"git clone -q . \"$work\"":                                        false,
		"curl -O https://x\ncosign verify-blob x\nsha256sum --quiet -c x": false,
		"# curl is not used":                                              false,
		"die \"pip could not download pyspark $version\"":                 false,
		"|| { echo \"on Debian: apt-get install python3-venv\" >&2; }":    false,
		"\"$bin/ctr\" -n k8s.io images pull example.org/x:1":              true,
		"\"$bin/ctr\" -n k8s.io images import \"$archive\"":               false,
		"python3 -c 'import urllib.request as u; u.urlopen(\"x\")'":       true,
		"say \"downloading pyspark $version (300 to 450 MB)\"":            false,
		"helm pull example.org/x":                                         true,
		"helm repo add x example.org":                                     true,
		"\"$helm\" repo index \"$out\"":                                   false,
		"\"$helm\" package charts/spark-operator --destination \"$out\"":  false,
	} {
		if got := len(wrongs("hack/x.sh", text)) > 0; got != want {
			t.Errorf("%q: found %v, want %v", text, got, want)
		}
	}
}

// A package that is not what was recorded ends the build, and so does one of which neither the record nor Debian's index knows.
func TestVerifyBase(t *testing.T) {
	sum := func(text string) string { return fmt.Sprintf("%x  ", sha256.Sum256([]byte(text))) }
	for name, tc := range map[string]struct{ reason, recorded, want string }{
		"Recorded":   {reason: "it is what it was", recorded: sum("good") + "x_1%3a1-1_amd64.deb\n" + sum("other") + "y_1_amd64.deb\n"},
		"Changed":    {reason: "the same version with another content", recorded: sum("other") + "x_1%3a1-1_amd64.deb\n", want: "not what they were"},
		"Unrecorded": {reason: "no index has it", recorded: sum("good") + "x_1%3a1-0_amd64.deb\n", want: "not the one in Debian's index"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range map[string]string{"base.sha256": tc.recorded, "apt/x_1%3a1-1_amd64.deb": "good", "status": ""} {
				path := filepath.Join(folder, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			script := `set -euo pipefail; . cluster/lib.sh; . image/base.sh; here=$1; verify_base "$1"`
			out, err := exec.CommandContext(t.Context(), "bash", "-c", script, "verify", folder).CombinedOutput()
			if (err != nil) != (tc.want != "") || !strings.Contains(string(out), tc.want) {
				t.Errorf("%s: %v: %s", tc.reason, err, out)
			}
		})
	}
}

// The list of packages in an image is complete in itself: a name stands once.
func TestBasePackagesAreNamedOnce(t *testing.T) {
	line := regexp.MustCompile(`^[0-9a-f]{64}  [a-z0-9.+-]+_[A-Za-z0-9.+~%-]+_(amd64|arm64|all)\.deb$`)
	seen := map[string]int{}
	var bad, twice []string
	for _, l := range logicalLines(read(t, "hack/image/base.sha256")) {
		if !line.MatchString(l) {
			bad = append(bad, l)
			continue
		}
		_, name, _ := strings.Cut(l, "  ")
		if seen[name]++; seen[name] > 1 {
			twice = append(twice, name)
		}
	}
	if diff := cmp.Diff([][]string{nil, nil}, [][]string{bad, twice}); diff != "" || len(seen) < 50 {
		t.Errorf("%d packages; lines that are none, and names that stand twice (-want +got):\n%s", len(seen), diff)
	}
}

// files are those of the folders that scripts stand in, by their path from the root of the repository.
func files(t *testing.T) []string {
	t.Helper()
	out := []string{"Makefile"}
	for _, folder := range []string{".ci", "hack", "docs", "test", "charts", "config"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				if entry != nil && entry.Name() == "testdata" {
					return filepath.SkipDir
				}
				return err
			}
			name, err := filepath.Rel(root, path)
			out = append(out, filepath.ToSlash(name))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func isScript(t *testing.T, file string) bool {
	t.Helper()
	switch filepath.Ext(file) {
	case ".sh", ".py":
		return true
	case "":
		return filepath.Base(file) == "Makefile" || strings.HasPrefix(read(t, file), "#!")
	}
	return false
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
