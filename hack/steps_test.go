// SPDX-License-Identifier: Apache-2.0

package hack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A scheduler is a folder in internal/scheduler, and its import and one line in cmd/plugins/plugins.go, as CONTRIBUTING.md says: the example of the
// pages builds as a fifth one. The tree stays as it is: Go is given an overlay.
func TestExampleSchedulerBuilds(t *testing.T) {
	const registration, last = "cmd/plugins/plugins.go", "\t\tyunikorn.Plugin{},\n"
	text, err := os.ReadFile(filepath.Join(root, registration))
	if err != nil {
		t.Fatal(err)
	}
	added := strings.Replace(string(text), "import (\n", "import (\n\t\"github.com/firesteel-dev/firesteel/internal/scheduler/window\"\n", 1)
	added = strings.Replace(added, last, last+"\t\twindow.Plugin{},\n", 1)
	file := filepath.Join(t.TempDir(), "plugins.go")
	if err := os.WriteFile(file, []byte(added), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(at, registration):                          file,
		filepath.Join(at, "internal/scheduler/window/window.go"): filepath.Join(at, "docs/scheduler-plugin-example/window.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(filepath.Dir(file), "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./internal/scheduler/window", "./cmd/plugins")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Count(added, "window") != 2 {
		t.Errorf("%s is not as it was: the test does not register the example", registration)
	}
}
