// SPDX-License-Identifier: Apache-2.0

package hack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Others can require this module and compile its types, though k8s.io/kubernetes, which the operator needs, asks for v0.0.0 of its own parts; and
// they compile nothing of it.
func TestOthersCanRequireTheModule(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const goMod = "module example.com/user\n\ngo 1.26.0\n\nrequire github.com/firesteel-dev/firesteel v0.0.0\n\nreplace github.com/firesteel-dev/firesteel => "
	const program = `package main

import (
	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

func main() { println(new(v1.SparkCluster), new(v1alpha1.SparkConnect), new(v1beta2.SparkApplication)) }
`
	for name, text := range map[string]string{"go.mod": goMod + repo + "\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var compiled string
	for _, arguments := range [][]string{{"mod", "tidy"}, {"build", "-o", os.DevNull, "."}, {"list", "-deps", "."}} {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
		compiled = string(out)
	}
	for path := range strings.Lines(compiled) {
		if strings.HasPrefix(path, "k8s.io/kubernetes/") {
			t.Errorf("whoever uses the API's types compiles %s", path)
		}
	}
}
