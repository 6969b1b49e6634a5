// SPDX-License-Identifier: Apache-2.0

package hack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The notes of a release are the section of its version, or what is not released, and never empty.
func TestReleaseNotes(t *testing.T) {
	const head = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- a \"new\" `thing`\n\n"
	for _, tc := range []struct {
		reason, changelog string
		notes, changes    string
		fails             bool
	}{
		{reason: "the section of the version", changelog: head + "## [1.2.3] - 2026-12-01\n\n### Fixed\n\n- old\n\n## [1.2.2]\n\n- older\n", notes: "### Fixed\n\n- old\n\n", changes: `    - {"kind":"fixed","description":"old"}` + "\n"},
		{reason: "another version begins the same", changelog: head + "## [1.2.30]\n\n- other\n", notes: "### Added\n\n- a \"new\" `thing`\n\n", changes: `    - {"kind":"added","description":"a \"new\" ` + "`thing`" + `"}` + "\n"},
		{reason: "no kind of change", changelog: "## [1.2.3]\n- x\n", notes: "- x\n", changes: `    - {"description":"x"}` + "\n"},
		{reason: "no section", changelog: "# Changelog\n", fails: true},
		{reason: "an empty section", changelog: "# Changelog\n\n## [Unreleased]\n\n## [1.2.2]\n\n- older\n", fails: true},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "CHANGELOG.md"), []byte(tc.changelog), 0o600); err != nil {
			t.Fatal(err)
		}
		parts, err := filepath.Abs("release-parts.sh")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `. "$1"; release_notes; release_changes`, "notes", parts)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "version=v1.2.3", "out="+folder)
		said, err := cmd.CombinedOutput()
		if tc.fails {
			if err == nil || !strings.Contains(string(said), `neither "## [1.2.3]" nor "## [Unreleased]"`) {
				t.Errorf("%s: %v: %s", tc.reason, err, said)
			}
			continue
		}
		notes, err := os.ReadFile(filepath.Join(folder, "NOTES.md"))
		if err != nil {
			t.Fatalf("%s: %v: %s", tc.reason, err, said)
		}
		if diff := cmp.Diff([]string{tc.notes, tc.changes}, []string{string(notes), string(said)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
