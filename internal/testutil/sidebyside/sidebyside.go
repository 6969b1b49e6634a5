// SPDX-License-Identifier: Apache-2.0

// Package sidebyside runs the Ginkgo specs of a test program in several processes at once: most of a spec is waiting for timers and
// for other processes.
package sidebyside

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Run runs the calling test in as many processes as the variable <prefix>_PROCESSES says, and reports whether it did. In each of
// them, and without that variable, it returns false: the specs are to be run. The working directory is the test's folder, two
// levels below the repository's root, in either case. Serial specs come when the others are over, in one process.
func Run(t *testing.T, prefix string) bool {
	t.Helper()
	processes, folder := prefix+"_PROCESSES", prefix+"_FOLDER"
	if number := os.Getenv(processes); number != "" {
		start(t, number, processes+"=", folder+"=")
		return true
	}
	if home := os.Getenv(folder); home != "" { // Ginkgo starts its processes elsewhere
		t.Chdir(home)
	}
	return false
}

func start(t *testing.T, number, processes, folder string) {
	t.Helper()
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.CommandContext(t.Context(), filepath.Join("..", "..", "hack", "tools", "build.sh"), "ginkgo").Output()
	if err != nil {
		t.Fatalf("build ginkgo: %v", err)
	}
	// it gives up before go test does, and then tells which specs hang
	cmd := exec.CommandContext(t.Context(), filepath.Join(strings.TrimSpace(string(dir)), "ginkgo"),
		"run", "--no-color", "--procs="+number, "--timeout=40m", program, "--", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), processes, folder+home)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}
