// SPDX-License-Identifier: Apache-2.0

// Package programs has the programs of this repository for tests that run them as processes.
package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The programs, by the name of their folder below cmd/.
const (
	Operator     = "spark-operator"
	KubectlSpark = "kubectl-spark"
)

// Folder is the variable that names the folder with all programs: hack/test.sh builds them once for all tests of a run.
const Folder = "FIRESTEEL_PROGRAMS"

// Path returns where a program is: in the folder that the run has made, or else built into dir as the image has it, from the
// repository at root.
func Path(ctx context.Context, root, dir, program string) (string, error) {
	if made := os.Getenv(Folder); made != "" {
		path := filepath.Join(made, program)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("find the program that %s has: %w; run hack/test.sh, or unset the variable", Folder, err)
		}
		return path, nil
	}
	path, err := filepath.Abs(filepath.Join(dir, program))
	if err != nil {
		return "", fmt.Errorf("find the folder for %s: %w", program, err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", root, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", program, err, text)
	}
	return path, nil
}
