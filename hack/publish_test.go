// SPDX-License-Identifier: Apache-2.0

package hack

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is published is what was released, for the registry that its manifests name.
func TestPublishRefuses(t *testing.T) {
	provenance := `{"predicate":{"buildDefinition":{"externalParameters":{"registry":"registry.example.com/team"}}}}`
	sums := fmt.Sprintf("%x  install.yaml\n", sha256.Sum256([]byte("released")))
	for _, tc := range []struct {
		reason    string
		arguments []string
		install   string
		want      string
	}{
		{"no version", []string{"", "registry.example.com/team"}, "released", "write what is published"},
		{"no registry", []string{"v1.2.3"}, "released", "write what is published"},
		{"no release", []string{"v9.9.9", "registry.example.com/team"}, "released", "dist/release/v9.9.9 has no release"},
		{"a file was changed", []string{"v1.2.3", "registry.example.com/team"}, "changed", "is not what was released"},
		{"another registry", []string{"v1.2.3", "registry.example.com/other"}, "released", `was made for the registry "registry.example.com/team"`},
	} {
		folder := t.TempDir()
		for name, text := range map[string]string{
			"hack/publish.sh":                     read(t, "hack/publish.sh"),
			"dist/release/v1.2.3/SHA256SUMS":      sums,
			"dist/release/v1.2.3/install.yaml":    tc.install,
			"dist/release/v1.2.3/provenance.json": provenance,
		} {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), "bash", append([]string{filepath.Join(folder, "hack/publish.sh")}, tc.arguments...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s: %v: %q, want %q", tc.reason, err, out, tc.want)
		}
	}
}
